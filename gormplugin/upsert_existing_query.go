package gormplugin

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
)

// reselectRows is how many rows one SELECT asks for. SQLite takes 500 in one at most.
const reselectRows = 200

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
	inserts, s := writes(stmt), u.plan.schema
	return func(m *upsertRow, column string) (value any, known bool) {
		if !inserts(column) {
			return nil, false
		}
		if i := slices.IndexFunc(u.plan.keys, func(k *key) bool { return k.column == column }); i >= 0 {
			if !m.before[i].IsValid() {
				return nil, false
			}
			return m.before[i].Interface(), true
		}
		var field *schema.Field
		if s != nil {
			field = s.FieldsByDBName[column]
		}
		if columns := m.columns(); columns != nil {
			for name, value := range columns {
				if name == column || field != nil && s.LookUpField(name) == field {
					return value, true
				}
			}
			return nil, false
		}
		if field == nil || m.guessed && field == s.PrioritizedPrimaryField {
			return nil, false
		}
		value, zero := field.ValueOf(stmt.Context, m.value)
		left := zero && field.HasDefaultValue && field.DefaultValueInterface == nil // to the database
		return value, !left
	}
}

// isNull reports whether a value is NULL to the database.
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
