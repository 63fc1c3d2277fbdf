package gormplugin

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/internal/table"
)

// reselectRows is how many rows one SELECT asks for. SQLite takes 500 in one at most.
const reselectRows = 200

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

// same tells whether two keys are equal; some are slices.
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

// changes tells whether an update gives some columns other values than those of the row that was to be inserted.
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

// lookup finds the rows in the table that have the values of rows in an index.
func (u *upsert) lookup(db *gorm.DB, rows []*upsertRow, unique uniqueIndex) error {
	for some := range slices.Chunk(rows, reselectRows) {
		query := u.query(db, some, unique)
		if query == nil {
			continue
		}
		twice, err := u.read(db, query, some)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrUpsert, err)
		}
		if twice != nil {
			twice.reason = "several rows have its " + u.describe(db, twice, unique)
			return u.unknown(db, twice)
		}
	}
	return nil
}

// query builds a SELECT of the keys of rows, each with its number, nil when none has values in all columns. The database compares, since
// it alone knows which texts are equal, and what it stores of a value.
func (u *upsert) query(db *gorm.DB, rows []*upsertRow, unique uniqueIndex) *gorm.Statement {
	stmt := db.Statement
	query := &gorm.Statement{DB: db, Context: stmt.Context, ConnPool: stmt.ConnPool, Schema: u.plan.schema, Table: stmt.Table, TableExpr: stmt.TableExpr}
	value := u.values(stmt)
	for i, m := range rows {
		values, meets := make([][]any, len(unique.parts)), true
		for j, part := range unique.parts {
			for _, column := range part.uses {
				v, known := value(m, column.name)
				values[j] = append(values[j], v)
				meets = meets && known && (part.expression != "" || !isNull(v)) // NULL meets nothing
			}
		}
		if !meets {
			continue
		}
		if query.SQL.Len() > 0 {
			query.SQL.WriteString(" UNION ALL ")
		}
		if unique.latest {
			query.SQL.WriteByte('(')
		}
		fmt.Fprintf(&query.SQL, "SELECT %d AS snowkey_row", i)
		for _, k := range u.plan.keys {
			query.SQL.WriteByte(',')
			query.WriteQuoted(clause.Column{Name: k.column})
		}
		for _, field := range u.reread {
			query.SQL.WriteByte(',')
			query.WriteQuoted(clause.Column{Name: field.DBName})
		}
		query.SQL.WriteString(" FROM ")
		query.WriteQuoted(clause.Table{Name: clause.CurrentTable})
		query.SQL.WriteString(" WHERE ")
		for j, part := range unique.parts {
			if j > 0 {
				query.SQL.WriteString(" AND ")
			}
			part.write(query, values[j])
		}
		for _, condition := range unique.where {
			query.SQL.WriteString(" AND ")
			condition.Build(query)
		}
		if unique.latest {
			query.SQL.WriteString(" FOR UPDATE)")
		}
	}
	if query.SQL.Len() == 0 {
		return nil
	}
	return query
}

// read runs the query of a lookup, and returns a row that it finds several for. It goes around GORM's callbacks, so that none of them sends
// it to a replica, but to its logger.
func (u *upsert) read(db *gorm.DB, query *gorm.Statement, rows []*upsertRow) (twice *upsertRow, err error) {
	text, begin := query.SQL.String(), time.Now()
	result, err := query.ConnPool.QueryContext(query.Context, text, query.Vars...)
	defer func() {
		if result != nil {
			err = errors.Join(err, result.Close())
		}
		db.Logger.Trace(query.Context, begin, func() (string, int64) { return db.Dialector.Explain(text, query.Vars...), -1 }, err)
	}()
	if err != nil {
		return nil, err
	}
	for result.Next() {
		number := 0
		to, found := []any{&number}, make([]reflect.Value, 0, len(u.plan.keys)+len(u.reread))
		for _, k := range u.plan.keys {
			value := reflect.New(k.of)
			to, found = append(to, value.Interface()), append(found, value.Elem())
		}
		for _, field := range u.reread {
			value := reflect.New(reflect.PointerTo(field.FieldType)) // nil for NULL
			to, found = append(to, value.Interface()), append(found, value)
		}
		if err := result.Scan(to...); err != nil {
			return nil, err
		}
		if rows[number].found != nil {
			return rows[number], nil
		}
		rows[number].found = found
	}
	return nil, result.Err()
}

// values returns what tells the value that a row had in a column when it was inserted, and whether that is known.
func (u *upsert) values(stmt *gorm.Statement) func(m *upsertRow, column string) (value any, known bool) {
	inserts := writes(stmt)
	return func(m *upsertRow, column string) (any, bool) {
		if !inserts(column) {
			return nil, false
		}
		return u.valueOf(stmt.Context, m, column)
	}
}

// valueOf is what values returns of a column that is inserted.
func (u *upsert) valueOf(ctx context.Context, m *upsertRow, column string) (value any, known bool) {
	for i, k := range u.plan.keys {
		if k.column == column {
			if !m.before[i].IsValid() {
				return nil, false
			}
			return m.before[i].Interface(), true
		}
	}
	s := u.plan.schema
	if columns := m.columns(); columns != nil {
		for name, value := range columns {
			if name == column || s != nil && s.FieldsByDBName[column] != nil && s.LookUpField(name) == s.FieldsByDBName[column] {
				return value, true
			}
		}
		return nil, false
	}
	field := s.FieldsByDBName[column]
	if field == nil || m.guessed && field == s.PrioritizedPrimaryField {
		return nil, false
	}
	value, zero := field.ValueOf(ctx, m.value)
	left := zero && field.HasDefaultValue && field.DefaultValueInterface == nil // to the database
	return value, !left
}

// isNull tells whether a value is NULL to the database.
func isNull(v any) bool {
	if value := reflect.ValueOf(v); !value.IsValid() || value.Kind() == reflect.Pointer && value.IsNil() {
		return true
	}
	if valuer, ok := v.(driver.Valuer); ok {
		value, err := valuer.Value()
		return err == nil && value == nil
	}
	return false
}
