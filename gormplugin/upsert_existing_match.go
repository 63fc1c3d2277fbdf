package gormplugin

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/internal/table"
)

// reselect asks the database which rows are there. It does so on the statement's own connection, and so in its transaction.
func (u *upsert) reselect(db *gorm.DB) error {
	stmt := db.Statement
	if err := u.lookupOwn(db); err != nil {
		return err
	}
	var rest []*upsertRow
	written, made := 0, 0
	for _, m := range u.rows {
		if m.made != 0 {
			made++
		}
		switch {
		case m.found == nil && u.doNothing && m.made == 0: // its key is not touched
		case m.found == nil:
			rest = append(rest, m)
		default:
			written++
			if err := u.give(stmt, m); err != nil {
				return err
			}
		}
	}
	affected := db.RowsAffected
	if u.doNothing && made == len(u.rows) {
		db.RowsAffected = int64(written)
	}
	if u.doNothing && !u.isAssociation {
		for _, m := range rest {
			u.of.takeBackFrom(m.number)
		}
		return nil
	}
	if len(rest) == 0 {
		return nil
	}
	if err := u.lookupExisting(db, rest); err != nil {
		return err
	}
	lost := slices.DeleteFunc(slices.Clone(rest), func(m *upsertRow) bool { return m.found != nil })
	unwritten := u.route == routeReturning && int64(len(u.rows))-affected == int64(len(lost))
	for _, m := range rest {
		switch {
		case m.found != nil:
			if err := u.give(stmt, m); err != nil {
				return err
			}
		case unwritten:
			u.of.takeBackFrom(m.number)
		default:
			return u.unknown(db, m)
		}
	}
	return nil
}

// give sets what was found: the keys, and in a struct the fields that were read with them.
func (u *upsert) give(stmt *gorm.Statement, m *upsertRow) error {
	n := len(u.plan.keys)
	if !u.doNothing || m.made != 0 {
		for i, k := range u.plan.keys {
			k.assign(stmt.Context, m.row, m.found[i])
		}
	}
	if m.columns() != nil {
		return nil
	}
	for i, field := range u.reread {
		if err := field.Set(stmt.Context, m.value, m.found[n+i].Interface()); err != nil {
			return err
		}
	}
	return nil
}

// same reports whether two keys are equal; some are slices.
func same(a, b reflect.Value) bool { return reflect.DeepEqual(a.Interface(), b.Interface()) }

// lookupOwn finds the rows that are there under the keys they had before the INSERT. Of keys that were made these are the rows that were
// inserted. A key that was set may be another row's, which was not met: MySQL looks there first, unless the batch has it again.
func (u *upsert) lookupOwn(db *gorm.DB) error {
	mysql := db.Name() == "mysql"
	set := map[string]int{}
	for _, m := range u.rows {
		if m.made == 0 && m.before[0].IsValid() {
			set[fmt.Sprint(m.before[0].Interface())]++
		}
	}
	groups := map[string][]*upsertRow{}
	for _, m := range u.rows {
		switch {
		case m.made != 0:
		case u.doNothing && len(u.reread) == 0:
			continue // its key is not touched
		case u.doNothing:
		case !mysql || !m.before[0].IsValid() || set[fmt.Sprint(m.before[0].Interface())] > 1:
			continue
		}
		columns := u.ownColumns(m)
		name := strings.Join(columns, "\x00")
		groups[name] = append(groups[name], m)
	}
	for _, rows := range groups {
		if err := u.lookupBy(db, rows, u.ownColumns(rows[0])); err != nil {
			return err
		}
	}
	return nil
}

// lookupBy finds rows by the columns of their own keys.
func (u *upsert) lookupBy(db *gorm.DB, rows []*upsertRow, columns []string) error {
	own := &uniqueTable{Table: &table.Table{}} // a single key needs no types of its columns, a composite one does: a column may cut a time
	if len(columns) > 1 {
		var err error
		if own, err = u.plan.uniqueTable(db); err != nil {
			return fmt.Errorf("%w: %w", ErrUpsert, err)
		}
	}
	var of []clause.Column
	for _, column := range columns {
		of = append(of, clause.Column{Name: column})
	}
	return u.lookup(db, rows, own.named(of...))
}

// made returns the keys that a row was given.
func (u *upsert) made(m *upsertRow) (keys []*key) {
	for i, k := range u.plan.keys {
		if m.made.has(i) {
			keys = append(keys, k)
		}
	}
	return keys
}

// ownColumns are those of the primary key, or that of a key that was made when the primary one was not.
func (u *upsert) ownColumns(m *upsertRow) []string {
	s := u.plan.schema
	if s == nil {
		return []string{u.plan.keys[0].column}
	}
	made := u.made(m)
	if len(made) > 0 && !slices.ContainsFunc(made, func(k *key) bool { return k.field.PrimaryKey }) {
		return []string{made[0].column}
	}
	return s.PrimaryFieldDBNames
}

// lookupExisting finds the rows in the table that the INSERT met, by all unique indexes that may have been violated. A row for which two
// indexes find different rows stays unknown.
func (u *upsert) lookupExisting(db *gorm.DB, rest []*upsertRow) error {
	uniques, err := u.uniques(db)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUpsert, err)
	}
	c, _, _ := conflict(db.Statement)
	for _, unique := range uniques {
		columns := unique.columns()
		keyed := slices.ContainsFunc(u.plan.keys, func(k *key) bool { return slices.Contains(columns, k.column) })
		if !keyed && changes(c, columns) { // a key is set to itself
			for _, m := range rest { // what is found by them now was perhaps not met
				m.reason = "the update writes other values to " + strings.Join(columns, ", ")
			}
			return nil
		}
	}
	type match struct {
		found []reflect.Value
		by    uniqueIndex
	}
	matches := map[*upsertRow]match{}
	for _, unique := range uniques {
		var rows []*upsertRow
		for _, m := range rest {
			if m.found = nil; !slices.ContainsFunc(u.made(m), func(k *key) bool { return slices.Contains(unique.columns(), k.column) }) {
				rows = append(rows, m) // else it is known not to be there
			}
		}
		if err := u.lookup(db, rows, unique); err != nil {
			return err
		}
		for _, m := range rows {
			was, is := matches[m]
			switch {
			case m.found == nil:
			case is && !same(m.found[0], was.found[0]):
				m.reason = fmt.Sprintf("one row has its %s, another its %s", u.describe(db, m, was.by), u.describe(db, m, unique))
			default:
				matches[m] = match{m.found, unique}
			}
		}
	}
	var set []*upsertRow
	for _, m := range rest {
		if m.found = matches[m].found; m.reason != "" {
			m.found = nil
		} else if m.found == nil && m.made == 0 {
			set = append(set, m) // NULL in all of these columns met nothing
		}
	}
	if len(set) > 0 {
		err = u.lookupBy(db, set, u.ownColumns(set[0]))
	}
	for _, m := range rest {
		if m.found == nil && m.reason == "" {
			m.reason = "the catalog has no unique index of the table"
			if len(uniques) > 0 {
				m.reason = "no row has its " + u.describe(db, m, uniques...)
			}
		}
	}
	return err
}

// describe says which values a row has in some indexes.
func (u *upsert) describe(db *gorm.DB, m *upsertRow, indexes ...uniqueIndex) string {
	values, texts := u.values(db.Statement), []string(nil)
	for _, index := range indexes {
		var parts []string
		for _, part := range index.parts {
			var uses []string
			for _, column := range part.uses {
				text := "what the database fills in"
				if value, known := values(m, column.name); known {
					text = logger.ExplainSQL("?", nil, "'", value)
				}
				uses = append(uses, column.name+" = "+text)
			}
			text := strings.Join(uses, ", ")
			if part.expression != "" {
				text = fmt.Sprintf("%s (%s)", part.expression, text)
			}
			parts = append(parts, text)
		}
		texts = append(texts, strings.Join(parts, ", "))
	}
	return strings.Join(texts, ", nor its ")
}

// unknown is the error of a row that was not found.
func (u *upsert) unknown(db *gorm.DB, m *upsertRow) error {
	help := "save the rows one by one"
	if c, _, _ := conflict(db.Statement); db.Name() != "mysql" && len(c.Columns) == 0 {
		help = "name the columns in OnConflict.Columns, or " + help
	}
	if !u.isAssociation {
		help += ", or add gormplugin.WithoutKeys() where nobody reads their keys"
	}
	return fmt.Errorf("%w: row %d of %d is not there under its own key, and %s; %s", ErrUpsert, slices.Index(u.rows, m)+1, len(u.rows), m.reason, help)
}

// changes reports whether an update gives some columns other values than those of the row that was to be inserted.
func changes(c clause.OnConflict, columns []string) bool {
	return slices.ContainsFunc(c.DoUpdates, func(a clause.Assignment) bool {
		excluded, ok := a.Value.(clause.Column)
		return slices.Contains(columns, a.Column.Name) && !(ok && excluded.Table == "excluded" && excluded.Name == a.Column.Name)
	})
}

// uniques returns the unique indexes that rows may have violated: on MySQL all of the table, elsewhere the one that the statement names, or
// all when it names none.
func (u *upsert) uniques(db *gorm.DB) ([]uniqueIndex, error) {
	t, err := u.plan.uniqueTable(db)
	if err != nil {
		return nil, err
	}
	c, _, _ := conflict(db.Statement)
	switch {
	case db.Name() == "mysql":
	case len(c.Columns) > 0:
		named := t.named(c.Columns...)
		named.where = c.TargetWhere.Exprs
		return []uniqueIndex{named}, nil
	case c.OnConstraint != "":
		return slices.DeleteFunc(slices.Clone(t.indexes), func(i uniqueIndex) bool { return i.name != strings.Trim(c.OnConstraint, `"`) }), nil
	}
	return t.indexes, nil
}
