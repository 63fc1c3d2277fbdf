package gormplugin

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
)

// Generic makes scopes one for GORM's generic interface, whose scopes are of another type:
//
//	orders, err := gorm.G[Order](db).Scopes(gormplugin.Generic(gormplugin.After(last))).Limit(20).Find(ctx)
//
// They run when the statement does, as those of db.Scopes. It takes any scopes, not only those of this package.
func Generic(scopes ...func(*gorm.DB) *gorm.DB) func(*gorm.Statement) {
	return func(stmt *gorm.Statement) { stmt.DB.Scopes(scopes...) }
}

// narrow adds a condition to all others of a statement. Those with an Or are put in brackets first, as GORM does it for soft deletes.
func narrow(stmt *gorm.Statement, condition clause.Expression) {
	if stmt.SQL.Len() > 0 {
		_ = stmt.AddError(fmt.Errorf("%w: raw SQL takes no more conditions", ErrScope))
		return
	}
	where := stmt.Clauses["WHERE"]
	if w, ok := where.Expression.(clause.Where); ok && slices.ContainsFunc(w.Exprs, isOr) {
		where.Expression = clause.Where{Exprs: []clause.Expression{brackets(w.Exprs)}}
		stmt.Clauses["WHERE"] = where
	}
	stmt.AddClause(clause.Where{Exprs: []clause.Expression{condition}})
}

func isOr(e clause.Expression) bool {
	_, or := e.(clause.OrConditions)
	return or
}

// brackets are conditions that are one.
type brackets []clause.Expression

func (b brackets) Build(builder clause.Builder) {
	_ = builder.WriteByte('(')
	clause.Where{Exprs: slices.Clone(b)}.Build(builder) // which may change their order in place
	_ = builder.WriteByte(')')
}

// refuse fails the statement that is built. An error in a subquery does not reach GORM's outer statement, so what is written in place
// of the condition is nothing that a database takes.
func refuse(builder clause.Builder, err error) {
	_ = builder.AddError(err)
	builder.WriteQuoted(clause.Column{Name: "refused by gormplugin"})
}

// statementOf returns the statement that is built, which has a model.
func statementOf(builder clause.Builder) (*gorm.Statement, error) {
	stmt, ok := builder.(*gorm.Statement)
	if !ok || stmt.Schema == nil {
		return nil, fmt.Errorf("gormplugin: no key to ask for: %w; name it with db.Model, and leave conditions of a join to its own columns", gorm.ErrModelValueRequired)
	}
	return stmt, nil
}

// requireNumber fails unless the order of a key's values is the same in Go and in the database. A key that is nil is none.
func requireNumber(stmt *gorm.Statement, key *schema.Field) error {
	if key == nil {
		return fmt.Errorf("%w: %s has none, or several of which none is named ID", ErrKey, stmt.Schema.Name)
	}
	column := string(key.DataType)
	if t, ok := reflect.New(key.IndirectFieldType).Interface().(interface {
		GormDBDataType(*gorm.DB, *schema.Field) string
	}); ok {
		column = t.GormDBDataType(stmt.DB, key)
	}
	number := key.IndirectFieldType.Kind() >= reflect.Int && key.IndirectFieldType.Kind() <= reflect.Uint64 && key.Serializer == nil
	for _, text := range []string{"string", "char", "text", "bytes", "blob", "binary"} {
		number = number && !strings.Contains(strings.ToLower(column), text)
	}
	if !number {
		return fmt.Errorf("%w: %s.%s is a %s in the column type %q", ErrKey, stmt.Schema.Name, key.Name, key.FieldType, column)
	}
	return nil
}
