package gormplugin

import (
	"context"
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

// reselect asks the database which rows are there. It does so on the statement's own connection, and so in its transaction.
func (u *upsert) reselect(db *gorm.DB, nothing bool) error {
	var rows []row
	if nothing && len(u.more) == 0 {
		rows = u.filledRows()
	} else {
		_ = eachRow(db.Statement, func(r row) error {
			if r.canSet() {
				rows = append(rows, r)
			}
			return nil
		})
	}
	found, err := u.lookup(db, rows, u.primary())
	if err != nil {
		return err
	}
	if nothing {
		return u.settleNothing(db, rows, found)
	}
	for _, unique := range u.unique(db.Statement) {
		if err := u.lookupRest(db, rows, found, unique); err != nil {
			return err
		}
	}
	for i, r := range rows {
		if found[i] == nil {
			return fmt.Errorf("%w: row %d of %d is not there under its own key, and not to be found by the columns of a unique index; "+
				"name them in OnConflict.Columns, or in the model's tags", ErrUpsert, i, len(rows))
		}
		for j, k := range u.plan.keys {
			k.assign(db.Statement.Context, r, found[i][j])
		}
	}
	return nil
}

// filledRows returns the rows that were given a key, each once.
func (u *upsert) filledRows() (rows []row) {
	seen := map[any]bool{}
	for _, f := range u.filled {
		if id := f.row.identity(); !seen[id] {
			seen[id] = true
			rows = append(rows, f.row)
		}
	}
	return rows
}

// settleNothing takes the keys from the rows that were not written, and gives the others what was to be returned of them.
func (u *upsert) settleNothing(db *gorm.DB, rows []row, found [][]reflect.Value) error {
	stmt := db.Statement
	mine := map[any][]*key{}
	for _, f := range u.filled {
		mine[f.row.identity()] = append(mine[f.row.identity()], f.key)
	}
	all, written := 0, 0
	_ = eachRow(stmt, func(row) error { all++; return nil })
	for i, r := range rows {
		there := found[i] != nil
		for _, k := range mine[r.identity()] {
			there = there && k.holds(stmt.Context, r, found[i][slices.Index(u.plan.keys, k)])
		}
		if !there {
			for _, k := range mine[r.identity()] {
				k.clear(stmt.Context, r)
			}
			continue
		}
		written++
		for j, field := range u.more {
			if err := field.Set(stmt.Context, r.value, found[i][len(u.plan.keys)+j].Interface()); err != nil {
				return err
			}
		}
	}
	if len(mine) == all {
		db.RowsAffected = int64(written)
	}
	return nil
}

// uniqueColumns are columns by which a row can be found, among those of a condition.
type uniqueColumns struct {
	columns []string
	where   []clause.Expression
	latest  bool
}

func (u *upsert) primary() uniqueColumns {
	if s := u.plan.schema; s != nil && len(s.PrimaryFieldDBNames) > 0 {
		return uniqueColumns{columns: s.PrimaryFieldDBNames}
	}
	return uniqueColumns{columns: []string{u.plan.keys[0].column}}
}

// unique returns by which columns the rows can be found that were met: those that the statement names and, as MySQL heeds all of them and
// other databases do when none is named, those of the unique indexes in the model's tags.
func (u *upsert) unique(stmt *gorm.Statement) (all []uniqueColumns) {
	c, _, _ := conflict(stmt)
	// Of MySQL the latest version of the row is read, which is locked already: a transaction with an older view of the table would
	// not see it otherwise.
	mysql := stmt.Dialector.Name() == "mysql"
	if len(c.Columns) > 0 {
		named := uniqueColumns{where: c.TargetWhere.Exprs, latest: mysql}
		for _, column := range c.Columns {
			named.columns = append(named.columns, column.Name)
		}
		all = append(all, named)
		if !mysql {
			return all
		}
	}
	if u.plan.schema == nil {
		return all
	}
	for _, columns := range uniqueIndexes(u.plan.schema) {
		all = append(all, uniqueColumns{columns: columns, latest: mysql})
	}
	return all
}

// uniqueIndexes returns the columns of the unique indexes in a model's tags.
func uniqueIndexes(s *schema.Schema) (all [][]string) {
	own := &schema.Schema{} // ParseIndexes writes into the fields that it finds
	for _, name := range s.DBNames {
		field := *s.FieldsByDBName[name]
		own.Fields = append(own.Fields, &field)
		if field.Unique {
			all = append(all, []string{name})
		}
	}
	for _, index := range own.ParseIndexes() {
		if index.Class != "UNIQUE" {
			continue
		}
		var columns []string
		for _, option := range index.Fields {
			if option.Expression != "" {
				columns = nil
				break
			}
			columns = append(columns, option.DBName)
		}
		if len(columns) > 0 {
			all = append(all, columns)
		}
	}
	return all
}

// lookupRest finds rows that are not found yet by other columns.
func (u *upsert) lookupRest(db *gorm.DB, rows []row, found [][]reflect.Value, unique uniqueColumns) error {
	var rest []row
	var at []int
	for i, r := range rows {
		if found[i] == nil {
			rest, at = append(rest, r), append(at, i)
		}
	}
	more, err := u.lookup(db, rest, unique)
	for i := range more {
		found[at[i]] = more[i]
	}
	return err
}

// lookup returns for each row the keys of the row in the table that has its values in the columns, nil where there is none.
func (u *upsert) lookup(db *gorm.DB, rows []row, unique uniqueColumns) (found [][]reflect.Value, err error) {
	found = make([][]reflect.Value, len(rows))
	for from := 0; from < len(rows) && err == nil; from += reselectRows {
		to := min(from+reselectRows, len(rows))
		if query := u.query(db, rows[from:to], unique); query != nil {
			err = u.read(db, query, found[from:to])
		}
	}
	return found, err
}

// query builds a SELECT of the keys of rows, each with its number, nil when none has values in all columns. The database compares, since
// it alone knows which texts are equal.
func (u *upsert) query(db *gorm.DB, rows []row, unique uniqueColumns) *gorm.Statement {
	stmt := db.Statement
	query := &gorm.Statement{DB: db, Context: stmt.Context, ConnPool: stmt.ConnPool, Schema: u.plan.schema, Table: stmt.Table, TableExpr: stmt.TableExpr}
	for i, r := range rows {
		values := make([]any, len(unique.columns))
		for j, column := range unique.columns {
			values[j] = r.columnValue(stmt.Context, u.plan.schema, column)
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
func (u *upsert) read(db *gorm.DB, query *gorm.Statement, found [][]reflect.Value) (err error) {
	text, count := query.SQL.String(), int64(0)
	begin := time.Now()
	defer func() {
		db.Logger.Trace(query.Context, begin, func() (string, int64) { return db.Dialector.Explain(text, query.Vars...), count }, err)
		if err != nil {
			err = fmt.Errorf("%w: %w", ErrUpsert, err)
		}
	}()
	rows, err := query.ConnPool.QueryContext(query.Context, text, query.Vars...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for ; rows.Next(); count++ {
		var number int
		to := []any{&number}
		keys := make([]reflect.Value, len(u.plan.keys))
		for i, k := range u.plan.keys {
			value := reflect.New(k.of)
			to, keys[i] = append(to, value.Interface()), value.Elem()
		}
		for _, field := range u.more {
			value := reflect.New(reflect.PointerTo(field.FieldType)) // nil for NULL
			to, keys = append(to, value.Interface()), append(keys, value)
		}
		if err := rows.Scan(to...); err != nil {
			return err
		}
		if found[number] != nil {
			return errors.New("several rows have the same values in the columns")
		}
		found[number] = keys
	}
	return rows.Err()
}

// columnValue returns what a row has in a column, nil for nothing that the database would compare.
func (r row) columnValue(ctx context.Context, s *schema.Schema, column string) any {
	if r.columns != nil {
		for name, value := range r.columns {
			if name == column || s != nil && s.FieldsByDBName[column] != nil && s.LookUpField(name) == s.FieldsByDBName[column] {
				return value
			}
		}
		return nil
	}
	field := s.FieldsByDBName[column]
	if field == nil {
		return nil
	}
	value, zero := field.ValueOf(ctx, r.value)
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
