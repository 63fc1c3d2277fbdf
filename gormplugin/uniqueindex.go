package gormplugin

import (
	"database/sql"
	"fmt"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
)

// taggedIndexes returns the columns of the unique indexes in a model's tags.
func taggedIndexes(s *schema.Schema) (all [][]string) {
	own := &schema.Schema{} // ParseIndexes writes into the fields that it finds
	s.Relationships.Mux.RLock()
	for _, name := range s.DBNames {
		field := *s.FieldsByDBName[name]
		own.Fields = append(own.Fields, &field)
		if field.Unique {
			all = append(all, []string{name})
		}
	}
	s.Relationships.Mux.RUnlock()
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

// tableIndexes returns the columns of all unique indexes that a table of MySQL has, that of its primary key among them. It asks once a
// table. The error wraps [ErrUpsert] for an index of expressions or of parts of columns.
func (p *plan) tableIndexes(db *gorm.DB) (all [][]string, err error) {
	stmt := db.Statement
	query := &gorm.Statement{DB: db, Context: stmt.Context, ConnPool: stmt.ConnPool, Table: stmt.Table, TableExpr: stmt.TableExpr}
	query.SQL.WriteString("SHOW INDEX FROM ")
	query.WriteQuoted(clause.Table{Name: clause.CurrentTable})
	if cached, ok := p.indexes.Load(query.SQL.String()); ok {
		return cached.([][]string), nil
	}
	rows, done, err := run(db, query)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUpsert, err)
	}
	defer func() { err = done(err) }()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	last := ""
	for rows.Next() {
		values := map[string]*sql.NullString{} // servers differ in the columns that they tell
		to := make([]any, len(names))
		for i, name := range names {
			value := new(sql.NullString)
			values[strings.ToLower(name)], to[i] = value, value
		}
		if err := rows.Scan(to...); err != nil {
			return nil, err
		}
		index, column := values["key_name"], values["column_name"]
		if values["non_unique"].String != "0" {
			continue
		}
		if !column.Valid || values["sub_part"].Valid {
			return nil, fmt.Errorf("%w: the unique index %s is not of whole columns, so it cannot be known which row a batch meets; save the rows one by one", ErrUpsert, index.String)
		}
		if index.String != last {
			all, last = append(all, nil), index.String
		}
		all[len(all)-1] = append(all[len(all)-1], column.String)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	p.indexes.Store(query.SQL.String(), all)
	return all, nil
}
