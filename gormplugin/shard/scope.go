package shard

import (
	"context"
	"fmt"
	"reflect"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// ByID selects the row of an id, in its one table. The id is a number of 64 bits, or a named one as sqltype.ID, or a pointer to one.
//
// This scope and the others say where a statement goes, and narrow what it selects, whatever Or it has. They go together: ByID and ByKey, of the
// same row, select it in its table; of rows of other buckets the statement fails with an [idshard.DisagreeError]. In a group, as in
// db.Where(db.Scopes(scope)), a scope is a condition like others.
//
// The statement fails before any SQL with one of package idgen/shard's errors, [idshard.ErrID] or [idshard.ErrKey], for a value that cannot be one;
// with [ErrModel] when its model is not sharded; and with [ErrUnrouted] when it is raw SQL.
func ByID(id any) func(*gorm.DB) *gorm.DB { return selection{}.add([]any{value(id)}) }

// ByIDs selects the rows of some ids, with one query for each table that has any. A slice counts as what is in it; none selects no rows.
func ByIDs(ids ...any) func(*gorm.DB) *gorm.DB { return selection{}.add(flat(ids)) }

// ByKey selects the rows of a sharding key, in its one table; of a key that is spread or may have rows from before, in each that has any. The key is
// of the sharding column's type, or what idshard.Sum takes. Keys are compared by their bytes: a text in other letters, which the database's
// collation may take for the same, is another key.
func ByKey(key any) func(*gorm.DB) *gorm.DB {
	return selection{key: true}.add(keyValues([]any{value(key)}))
}

// ByKeys selects the rows of some sharding keys, with one query for each table that has any. A slice counts as what is in it, but for bytes, which are a
// key; none selects no rows.
func ByKeys(keys ...any) func(*gorm.DB) *gorm.DB {
	return selection{key: true}.add(keyValues(flat(keys)))
}

// All is for the rows of all shards, with one query for each table. It is no condition, so an Update or Delete needs one besides.
func All() func(*gorm.DB) *gorm.DB {
	return func(db *gorm.DB) *gorm.DB {
		tx := db.Scopes() // a statement of its own
		if !refuseRaw(tx) {
			tx.Statement.Clauses[everywhere] = clause.Clause{}
		}
		return tx
	}
}

// everywhere is where a statement has noted that it is for all shards. It is not written: GORM builds the clauses that it knows.
const everywhere = "snowkey:everywhere"

// selection is one of the two columns that route, as the column of a clause.IN: a condition whose extent GORM knows, and package gormplugin.
type selection struct {
	of  *gorm.Statement // that the scope was called for: there it narrows all others. Elsewhere, in a group or a copy, it is one of them.
	key bool            // the sharding column, else the id
}

// selecting is what a scope adds to a statement, in one piece.
type selecting struct {
	selection
	column [1]any
	exprs  [1]clause.Expression
}

func (s selection) add(values []any) func(*gorm.DB) *gorm.DB {
	return func(db *gorm.DB) *gorm.DB {
		tx := db.Scopes() // a statement of its own
		if refuseRaw(tx) {
			return tx
		}
		added := &selecting{selection: selection{of: tx.Statement, key: s.key}}
		added.column[0] = &added.selection
		added.exprs[0] = clause.IN{Column: clause.Expr{SQL: "?", Vars: added.column[:]}, Values: values}
		tx.Statement.AddClause(clause.Where{Exprs: added.exprs[:]})
		return tx
	}
}

// selectionOf returns that of a condition, nil for one that no scope has made.
func selectionOf(in clause.IN) *selection {
	if column, ok := in.Column.(clause.Expr); ok && len(column.Vars) == 1 {
		s, _ := column.Vars[0].(*selection)
		return s
	}
	return nil
}

// Build writes the column.
func (s *selection) Build(builder clause.Builder) {
	stmt, ok := builder.(*gorm.Statement)
	var m *model
	if ok && stmt.Schema != nil {
		if router, is := stmt.Plugins[(*Router)(nil).Name()].(*Router); is {
			m, _ = router.model(stmt.Schema)
		}
	}
	if m == nil {
		_ = builder.AddError(fmt.Errorf("%w: a scope of package shard in a statement of no sharded model", ErrModel))
		_, _ = builder.WriteString(refusal)
		return
	}
	if s.key {
		builder.WriteQuoted(m.byColumn)
		return
	}
	builder.WriteQuoted(m.keyColumn)
}

// refuseRaw fails a statement that is raw SQL, which takes no conditions, and tells whether it is.
func refuseRaw(tx *gorm.DB) bool {
	raw := tx.Statement.SQL.Len() > 0
	if raw {
		refuse(tx, fmt.Errorf("%w: raw SQL takes no scope; name the table in it, and scan into a struct that is no sharded model", ErrUnrouted))
	}
	return raw
}

// value returns what a pointer points to, nil for none.
func value(v any) any {
	switch v.(type) {
	case int64, int, uint64, string:
		return v
	}
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Pointer {
		return v
	}
	for rv.Kind() == reflect.Pointer {
		if rv.IsNil() {
			return nil
		}
		rv = rv.Elem()
	}
	return rv.Interface()
}

// flat returns values with those of slices in their place. Bytes are one.
func flat(values []any) []any {
	all := make([]any, 0, len(values))
	for _, v := range values {
		v = value(v)
		if rv := reflect.ValueOf(v); rv.Kind() == reflect.Slice && rv.Type().Elem().Kind() != reflect.Uint8 {
			for i := range rv.Len() {
				all = append(all, value(rv.Index(i).Interface()))
			}
			continue
		}
		all = append(all, v)
	}
	return all
}

// keyValue is a sharding key that is compared as the sharding column has it: SQLite's text is not equal to its bytes.
type keyValue struct{ of any }

// GormValue returns what is written in the condition.
func (k keyValue) GormValue(ctx context.Context, db *gorm.DB) clause.Expr {
	v := k.of
	if router, is := db.Plugins[(*Router)(nil).Name()].(*Router); is && db.Statement.Schema != nil {
		if m, err := router.model(db.Statement.Schema); err == nil && m != nil && reflect.TypeOf(v) != m.by.IndirectFieldType {
			if set, err := convert(ctx, m.schema, m.by, v); err == nil {
				v = set
			}
		}
	}
	return clause.Expr{SQL: "?", Vars: []any{v}}
}

// keyValues has all but numbers, which are equal in every width, compared so. It changes the slice.
func keyValues(values []any) []any {
	for i, v := range values {
		if v != nil && kindOf(reflect.TypeOf(v)) != numbers {
			values[i] = keyValue{v}
		}
	}
	return values
}
