package shard

import (
	"reflect"
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
)

// condition is one on a column that routes, which holds beside all others of its statement.
type condition struct {
	key    bool // on the sharding column, else on the id
	one    any  // its value, unless it is a list or a number
	number bool // it is id, of a row: an any of it would be an allocation
	id     int64
	list   bool
	many   []any
	tuple  int // 1 + the place of the column among those of a list of tuples, 0 for one of values
}

func (c *condition) len() int {
	if !c.list {
		return 1
	}
	return len(c.many)
}

func (c *condition) at(i int) any {
	if c.number {
		return c.id
	}
	if !c.list {
		return c.one
	}
	if c.tuple > 0 {
		if of, ok := c.many[i].([]any); ok && c.tuple <= len(of) {
			return of[c.tuple-1]
		}
		return nil
	}
	return c.many[i]
}

// demand is what a statement asks for: the conditions that route it.
type demand struct {
	of      *model
	stmt    *gorm.Statement
	clauses clauses // as they were when it began
	untidy  bool    // some of its conditions could reach beyond themselves when they are written as they are
	held    []condition
	walked  int          // how many of them walk has found
	few     [4]condition // where held begins
	room    [8]int       // where the shards begin
	parts   [1]*table    // the table of an UPDATE or DELETE for one
}

// begin collects the conditions of WHERE.
func (d *demand) begin(stmt *gorm.Statement, of *model, c *clauses) {
	d.stmt, d.of, d.clauses, d.untidy = stmt, of, *c, false
	d.held = d.few[:0]
	d.walk(d.clauses.exprs(), true)
	d.walked = len(d.held)
}

// id returns a value of a condition that is one on the id. The error wraps idshard.ErrID.
func (d *demand) id(c *condition, i int) (int64, error) {
	if c.number {
		return c.id, nil
	}
	return d.of.idOf(d.stmt.Context, c.at(i))
}

// key returns a value of a condition that is one on the sharding column. The error wraps idshard.ErrKey.
func (d *demand) key(c *condition, i int) (any, error) { return d.of.keyOf(d.stmt.Context, c.at(i)) }

// hasOr tells whether one of some conditions stands beside the others with an OR, as GORM writes them.
func hasOr(exprs []clause.Expression) bool {
	for _, e := range exprs {
		if or, ok := e.(clause.OrConditions); ok && len(or.Exprs) == 1 {
			return true
		}
	}
	return false
}

// walk collects the conditions that hold: those joined by AND alone. The scopes of the statement itself do wherever they are, see tidy.
func (d *demand) walk(exprs []clause.Expression, holds bool) {
	if hasOr(exprs) {
		holds, d.untidy = false, true
	}
	for _, e := range exprs {
		d.untidy = d.untidy || !bounded(e)
		switch e := e.(type) {
		case clause.Eq:
			if holds {
				d.eq(e)
			}
		case clause.IN:
			if s := selectionOf(e); s != nil && (holds || s.of == d.stmt) {
				d.hold(condition{key: s.key, list: true, many: e.Values})
			} else if s == nil && holds {
				d.in(e)
			}
		case clause.AndConditions:
			d.walk(e.Exprs, holds)
		}
	}
}

func (d *demand) hold(c condition) {
	if c.list && c.tuple == 0 && len(c.many) == 1 {
		c.list, c.one = false, c.many[0]
	}
	d.held = append(d.held, c)
}

func (d *demand) eq(e clause.Eq) {
	key, ok := d.of.routes(d.stmt, e.Column)
	if !ok || isExpression(e.Value) {
		return
	}
	switch v := e.Value.(type) {
	case []string, []int, []int32, []int64, []uint, []uint32, []uint64, []any: // those that GORM writes as a list
		d.hold(condition{key: key, list: true, many: flat([]any{v})})
	default:
		d.hold(condition{key: key, one: value(v)})
	}
}

func (d *demand) in(e clause.IN) {
	if columns, ok := e.Column.([]clause.Column); ok {
		for i, c := range columns {
			if key, ok := d.of.routes(d.stmt, c); ok {
				d.hold(condition{key: key, list: true, many: e.Values, tuple: i + 1})
			}
		}
		return
	}
	if key, ok := d.of.routes(d.stmt, e.Column); ok && !slices.ContainsFunc(e.Values, isExpression) {
		d.hold(condition{key: key, list: true, many: e.Values})
	}
}

// isExpression tells whether a value is SQL.
func isExpression(v any) bool {
	switch v.(type) {
	case int64, int, string, uint64:
		return false
	case clause.Expression, clause.Column, clause.Table, *gorm.DB, gorm.Valuer:
		return true
	}
	return false
}

// routes tells whether a column of a condition is one that routes, and which.
func (m *model) routes(stmt *gorm.Statement, column any) (key, ok bool) {
	var table, name string
	switch c := column.(type) {
	case clause.Column:
		if c.Raw {
			return false, false
		}
		table, name = c.Table, c.Name
		if name == clause.PrimaryKey && stmt.Schema.PrioritizedPrimaryField != nil {
			name = stmt.Schema.PrioritizedPrimaryField.DBName
		}
	case string:
		name = c
		if before, after, cut := strings.Cut(c, "."); cut {
			table, name = before, after
		}
	}
	if table != "" && table != clause.CurrentTable && table != stmt.Table {
		return false, false
	}
	return name == m.by.DBName, name == m.key.DBName || name == m.by.DBName
}

// row holds what GORM will make of the primary key of a struct.
func (d *demand) row(row reflect.Value) {
	if row.Kind() != reflect.Struct || row.Type() != d.of.schema.ModelType {
		return
	}
	for _, field := range d.of.schema.PrimaryFields {
		if field != d.of.key && field != d.of.by {
			continue
		}
		if field == d.of.key && d.of.inside {
			if id := row.FieldByIndex(field.StructField.Index).Int(); id != 0 {
				d.held = append(d.held, condition{number: true, id: id})
			}
			continue
		}
		if v, zero := field.ValueOf(d.stmt.Context, row); !zero {
			d.held = append(d.held, condition{key: field == d.of.by, one: value(v)})
		}
	}
}

// rows holds the same of a slice, or of a struct. Those without a key are no part of the condition, and none is when there are no others.
func (d *demand) rows(rows reflect.Value) {
	rows = reflect.Indirect(rows)
	if rows.Kind() != reflect.Slice && rows.Kind() != reflect.Array {
		d.row(rows)
		return
	}
	for _, field := range []*schema.Field{d.of.key, d.of.by} {
		if !slices.Contains(d.of.schema.PrimaryFields, field) {
			continue
		}
		var values []any
		for i := range rows.Len() {
			if row := reflect.Indirect(rows.Index(i)); row.IsValid() && row.Type() == d.of.schema.ModelType {
				if v, zero := field.ValueOf(d.stmt.Context, row); !zero {
					values = append(values, value(v))
				}
			}
		}
		if len(values) > 0 {
			d.held = append(d.held, condition{key: field == d.of.by, list: true, many: values})
		}
	}
}
