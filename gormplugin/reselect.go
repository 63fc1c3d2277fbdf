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
	"gorm.io/gorm/schema"
)

// reselectRows is how many rows one SELECT asks for. SQLite takes 500 in one at most.
const reselectRows = 200

// reselect asks the database which rows are there. It does so on the statement's own connection, and so in its transaction.
func (u *upsert) reselect(db *gorm.DB) error {
	stmt := db.Statement
	if err := u.lookupOwn(db); err != nil {
		return err
	}
	var rest []*metRow
	written, made := 0, 0
	for _, m := range u.rows {
		if len(m.made) > 0 {
			made++
		}
		switch {
		case m.found == nil && u.nothing && len(m.made) == 0: // its key is not touched
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
	if u.nothing && made == len(u.rows) {
		db.RowsAffected = int64(written)
	}
	if u.nothing && !u.guest {
		for _, m := range rest {
			m.clear(stmt)
		}
		return nil
	}
	if len(rest) == 0 {
		return nil
	}
	if err := u.lookupMet(db, rest); err != nil {
		return err
	}
	lost := slices.DeleteFunc(slices.Clone(rest), func(m *metRow) bool { return m.found != nil })
	unwritten := u.route == routeReturning && int64(len(u.rows))-affected == int64(len(lost))
	for _, m := range rest {
		switch {
		case m.found != nil:
			if err := u.give(stmt, m); err != nil {
				return err
			}
		case unwritten:
			m.clear(stmt)
		default:
			return fmt.Errorf("%w: row %d of %d is not there under its own key, and the columns of unique indexes find none or several; "+
				"name the columns in OnConflict.Columns or in the model's tags, cut times to the precision of their column, or save the rows one by one",
				ErrUpsert, slices.Index(u.rows, m), len(u.rows))
		}
	}
	return nil
}

// give sets what was found.
func (u *upsert) give(stmt *gorm.Statement, m *metRow) error {
	if !u.nothing || len(m.made) > 0 {
		for j, k := range u.plan.keys {
			k.assign(stmt.Context, m.row, m.found[j])
		}
	}
	return u.plan.setMore(stmt, m, u.more)
}

// same tells whether two keys are equal; some are slices.
func same(a, b reflect.Value) bool { return reflect.DeepEqual(a.Interface(), b.Interface()) }

// setMore sets the fields of a struct that were read beside its keys.
func (p *plan) setMore(stmt *gorm.Statement, m *metRow, more []*schema.Field) error {
	if m.columns != nil {
		return nil
	}
	for i, field := range more {
		if err := field.Set(stmt.Context, m.value, m.found[len(p.keys)+i].Interface()); err != nil {
			return err
		}
	}
	return nil
}

// uniqueColumns are columns by which a row can be found, among those of a condition.
type uniqueColumns struct {
	columns []string
	where   []clause.Expression
	latest  bool // also of another transaction, whose row is locked by then
}

// lookupOwn finds the rows that are there under the keys they had before the INSERT. Of keys that were made these are the rows that were
// inserted. A key that was set may be another row's, which was not met: MySQL looks there first, unless the batch has it again.
func (u *upsert) lookupOwn(db *gorm.DB) error {
	mysql := db.Name() == "mysql"
	set := map[string]int{}
	for _, m := range u.rows {
		if len(m.made) == 0 && m.keys[0].IsValid() {
			set[fmt.Sprint(m.keys[0].Interface())]++
		}
	}
	groups := map[string][]*metRow{}
	for _, m := range u.rows {
		switch {
		case len(m.made) > 0:
		case u.nothing && len(u.more) == 0:
			continue // its key is not touched
		case u.nothing:
		case !mysql || !m.keys[0].IsValid() || set[fmt.Sprint(m.keys[0].Interface())] > 1:
			continue
		}
		name := strings.Join(u.ownColumns(m).columns, "\x00")
		groups[name] = append(groups[name], m)
	}
	for _, rows := range groups {
		if err := u.lookup(db, rows, u.ownColumns(rows[0])); err != nil {
			return err
		}
	}
	return nil
}

// ownColumns are those of the primary key, or that of a key that was made when the primary one was not.
func (u *upsert) ownColumns(m *metRow) uniqueColumns {
	s := u.plan.schema
	if s == nil {
		return uniqueColumns{columns: []string{u.plan.keys[0].column}}
	}
	if len(m.made) > 0 && !slices.ContainsFunc(m.made, func(k *key) bool { return k.field.PrimaryKey }) {
		return uniqueColumns{columns: []string{m.made[0].column}}
	}
	return uniqueColumns{columns: s.PrimaryFieldDBNames}
}

// lookupMet finds the rows that were met, by all columns by which they may have been. A row that some of them find and others find
// another one for is not known.
func (u *upsert) lookupMet(db *gorm.DB, rest []*metRow) error {
	met := map[*metRow][]reflect.Value{}
	several := map[*metRow]bool{}
	uniques, err := u.uniques(db)
	if err != nil {
		return err
	}
	c, _, _ := conflict(db.Statement)
	for _, unique := range uniques {
		keyed := slices.ContainsFunc(u.plan.keys, func(k *key) bool { return slices.Contains(unique.columns, k.column) })
		if !keyed && changes(c, unique.columns) { // a key is set to itself
			return nil // what is found by them now was perhaps not met
		}
	}
	for _, unique := range uniques {
		var rows []*metRow
		for _, m := range rest {
			if m.found = nil; !slices.ContainsFunc(m.made, func(k *key) bool { return slices.Contains(unique.columns, k.column) }) {
				rows = append(rows, m) // else it is known not to be there
			}
		}
		if err := u.lookup(db, rows, unique); err != nil {
			return err
		}
		for _, m := range rows {
			if m.found != nil && met[m] != nil && !same(m.found[0], met[m][0]) {
				several[m] = true
			}
			if m.found != nil {
				met[m] = m.found
			}
		}
	}
	var set []*metRow
	for _, m := range rest {
		if m.found = met[m]; several[m] {
			m.found = nil
		} else if m.found == nil && len(m.made) == 0 {
			set = append(set, m) // NULL in all of these columns met nothing
		}
	}
	if len(set) == 0 {
		return nil
	}
	return u.lookup(db, set, u.ownColumns(set[0]))
}

// changes tells whether an update gives some columns other values than those of the row that was to be inserted.
func changes(c clause.OnConflict, columns []string) bool {
	return slices.ContainsFunc(c.DoUpdates, func(a clause.Assignment) bool {
		excluded, ok := a.Value.(clause.Column)
		return slices.Contains(columns, a.Column.Name) && !(ok && excluded.Table == "excluded" && excluded.Name == a.Column.Name)
	})
}

// uniques returns by which columns rows can have been met: on MySQL those of all unique indexes that the table has, elsewhere those that
// the statement names or, when it names none, of the primary key and of the unique indexes in the model's tags.
func (u *upsert) uniques(db *gorm.DB) (all []uniqueColumns, err error) {
	if db.Name() == "mysql" {
		indexes, err := u.plan.tableIndexes(db)
		for _, columns := range indexes {
			all = append(all, uniqueColumns{columns: columns, latest: true})
		}
		return all, err
	}
	c, _, _ := conflict(db.Statement)
	if len(c.Columns) > 0 {
		named := uniqueColumns{where: c.TargetWhere.Exprs}
		for _, column := range c.Columns {
			named.columns = append(named.columns, column.Name)
		}
		return []uniqueColumns{named}, nil
	}
	if u.plan.schema != nil {
		all = append(all, uniqueColumns{columns: u.plan.schema.PrimaryFieldDBNames})
		for _, columns := range taggedIndexes(u.plan.schema) {
			all = append(all, uniqueColumns{columns: columns})
		}
	}
	return all, nil
}

// lookup finds the rows in the table that have the values of rows in some columns.
func (u *upsert) lookup(db *gorm.DB, rows []*metRow, unique uniqueColumns) error {
	for some := range slices.Chunk(rows, reselectRows) {
		if query := u.query(db, some, unique); query != nil {
			if err := u.read(db, query, some); err != nil {
				return fmt.Errorf("%w: %w", ErrUpsert, err)
			}
		}
	}
	return nil
}

// query builds a SELECT of the keys of rows, each with its number, nil when none has values in all columns. The database compares, since
// it alone knows which texts are equal.
func (u *upsert) query(db *gorm.DB, rows []*metRow, unique uniqueColumns) *gorm.Statement {
	stmt := db.Statement
	query := &gorm.Statement{DB: db, Context: stmt.Context, ConnPool: stmt.ConnPool, Schema: u.plan.schema, Table: stmt.Table, TableExpr: stmt.TableExpr}
	inserted, restricted := stmt.SelectAndOmitColumns(true, false)
	for i, m := range rows {
		values := make([]any, len(unique.columns))
		for j, column := range unique.columns {
			if is, named := inserted[column]; is || !named && !restricted {
				values[j] = u.valueOf(stmt.Context, m, column)
			}
		}
		if slices.ContainsFunc(values, isNull) {
			continue // NULL meets nothing
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
		for _, field := range u.more {
			query.SQL.WriteByte(',')
			query.WriteQuoted(clause.Column{Name: field.DBName})
		}
		query.SQL.WriteString(" FROM ")
		query.WriteQuoted(clause.Table{Name: clause.CurrentTable})
		query.SQL.WriteString(" WHERE ")
		for j, column := range unique.columns {
			if j > 0 {
				query.SQL.WriteString(" AND ")
			}
			query.WriteQuoted(clause.Column{Name: column})
			query.SQL.WriteString(" = ")
			query.AddVar(query, values[j])
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

// read runs the query of a lookup. It goes around GORM's callbacks, so that none of them sends it to a replica, but to its logger.
func (u *upsert) read(db *gorm.DB, query *gorm.Statement, rows []*metRow) (err error) {
	result, done, err := run(db, query)
	if err != nil {
		return err
	}
	defer func() { err = done(err) }()
	for result.Next() {
		number := 0
		to, found := []any{&number}, make([]reflect.Value, 0, len(u.plan.keys)+len(u.more))
		for _, k := range u.plan.keys {
			value := reflect.New(k.of)
			to, found = append(to, value.Interface()), append(found, value.Elem())
		}
		for _, field := range u.more {
			value := reflect.New(reflect.PointerTo(field.FieldType)) // nil for NULL
			to, found = append(to, value.Interface()), append(found, value)
		}
		if err := result.Scan(to...); err != nil {
			return err
		}
		if rows[number].found != nil {
			return errors.New("several rows have the same values in the columns")
		}
		rows[number].found = found
	}
	return result.Err()
}

// run runs a query around GORM's callbacks. Its rows are to be closed with done, which takes and returns the query's error.
func run(db *gorm.DB, query *gorm.Statement) (rows gorm.Rows, done func(error) error, err error) {
	text, begin := query.SQL.String(), time.Now()
	log := func(err error) {
		db.Logger.Trace(query.Context, begin, func() (string, int64) { return db.Dialector.Explain(text, query.Vars...), -1 }, err)
	}
	rows, err = query.ConnPool.QueryContext(query.Context, text, query.Vars...)
	if err != nil {
		log(err)
		return nil, nil, err
	}
	return rows, func(err error) error {
		err = errors.Join(err, rows.Close())
		log(err)
		return err
	}, nil
}

// valueOf returns what a row had in a column when it was inserted, nil for nothing that the database would compare.
func (u *upsert) valueOf(ctx context.Context, m *metRow, column string) any {
	for i, k := range u.plan.keys {
		if k.column == column {
			if !m.keys[i].IsValid() {
				return nil
			}
			return m.keys[i].Interface()
		}
	}
	s := u.plan.schema
	if m.columns != nil {
		for name, value := range m.columns {
			if name == column || s != nil && s.FieldsByDBName[column] != nil && s.LookUpField(name) == s.FieldsByDBName[column] {
				return value
			}
		}
		return nil
	}
	field := s.FieldsByDBName[column]
	if field == nil || m.guess && field == s.PrioritizedPrimaryField {
		return nil
	}
	value, zero := field.ValueOf(ctx, m.value)
	if zero && field.HasDefaultValue && field.DefaultValueInterface == nil {
		return nil // it was left to the database
	}
	return value
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
