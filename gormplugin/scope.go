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
// They run when the statement does, as those of db.Scopes. It takes any scopes, not only those of this package. There is no other way:
// GORM leaves out, without an error, the scopes of the db that gorm.G is given, as in gorm.G[Order](db.Scopes(scope)).
func Generic(scopes ...func(*gorm.DB) *gorm.DB) func(*gorm.Statement) {
	return func(stmt *gorm.Statement) { stmt.DB.Scopes(scopes...) }
}

// narrowed is where a statement has its conditions that narrow all others. It is not written: GORM builds the clauses that it knows.
const narrowed = "snowkey:narrowed"

// narrow adds a condition to a statement that holds beside all others, whatever they are and also when they come later.
//
// Three things make sure of it, since GORM knows an Or only in SQL with " OR " in it. The conditions of the statement are arranged at
// once, which is all that happens to a group, as in db.Where(db.Scopes(scope)). They are arranged once more before the statement runs:
// a scope that was called by itself is followed by other conditions, or by raw SQL. And when WHERE is built, which may be after hooks
// and soft deletion, all but those that narrow is put in brackets.
func narrow(db *gorm.DB, condition clause.Expression) *gorm.DB {
	tx := db.Scopes() // a statement of its own
	stmt := tx.Statement
	if refuseRaw(stmt) {
		return tx
	}
	before := narrowingsOf(stmt)
	stmt.Clauses[narrowed] = clause.Clause{Expression: append(slices.Clip(before), &narrowing{condition})}
	where := stmt.Clauses["WHERE"]
	if previous := where.Builder; previous == nil || len(before) == 0 {
		where.Builder = func(c clause.Clause, builder clause.Builder) {
			c.Builder = previous
			if stmt, ok := builder.(*gorm.Statement); ok {
				endComment(stmt)
				c.Expression = narrowingsOf(stmt).inFront(c.Expression, bracketed)
			}
			c.Build(builder)
		}
		stmt.Clauses["WHERE"] = where
	}
	return arrange(tx).Scopes(func(db *gorm.DB) *gorm.DB {
		if refuseRaw(db.Statement) {
			return db
		}
		return arrange(db)
	})
}

// refuseRaw fails a statement that is raw SQL, which takes no conditions, and reports whether it is.
func refuseRaw(stmt *gorm.Statement) bool {
	raw := stmt.SQL.Len() > 0
	if raw {
		_ = stmt.AddError(fmt.Errorf("%w: raw SQL takes no more conditions", ErrScope))
	}
	return raw
}

func arrange(db *gorm.DB) *gorm.DB {
	where := db.Statement.Clauses["WHERE"]
	where.Name = "WHERE"
	where.Expression = narrowingsOf(db.Statement).inFront(where.Expression, operand)
	db.Statement.Clauses["WHERE"] = where
	return db
}

// narrowing is a condition that narrows a statement. Its address tells it from that of a group which is one of the others.
type narrowing struct{ condition clause.Expression }

// Build writes the condition in brackets, because a Not may precede it.
func (n *narrowing) Build(builder clause.Builder) {
	_ = builder.WriteByte('(')
	n.condition.Build(builder)
	_ = builder.WriteByte(')')
}

// narrowings are those of a statement. It is copied with them, so what is added is added to a copy.
type narrowings []*narrowing

// Build writes nothing.
func (narrowings) Build(clause.Builder) {}

func narrowingsOf(stmt *gorm.Statement) narrowings {
	n, _ := stmt.Clauses[narrowed].Expression.(narrowings)
	return n
}

// inFront returns the conditions of a WHERE with those that narrow first, where no comment or bracket in raw SQL comes before them, and
// the others after them, as together makes them.
func (n narrowings) inFront(where clause.Expression, together func([]clause.Expression) []clause.Expression) clause.Where {
	var others, exprs []clause.Expression
	switch w := where.(type) {
	case nil:
	case clause.Where:
		others = slices.Clone(w.Exprs)
	default:
		others = []clause.Expression{w}
	}
	for _, own := range n {
		exprs = append(exprs, own)
		if i := slices.Index(others, clause.Expression(own)); i >= 0 {
			others = slices.Delete(others, i, i+1)
		}
	}
	return clause.Where{Exprs: append(exprs, together(others)...)}
}

// operand makes conditions such that an AND may precede them. FirstOrCreate finds the values of a row among them, in a clause.Eq and a
// clause.AndConditions, so those stay what they are.
func operand(exprs []clause.Expression) []clause.Expression {
	open := slices.ContainsFunc(exprs, isOpen)
	switch {
	case !open:
		return exprs
	case len(exprs) == 1:
		return bracketed(exprs)
	}
	// The first of a group is written without its OR, so as clause.Where does it, one that has none becomes the first.
	if i := slices.IndexFunc(exprs, func(e clause.Expression) bool { o, ok := e.(clause.OrConditions); return !ok || len(o.Exprs) > 1 }); i > 0 {
		exprs[0], exprs[i] = exprs[i], exprs[0]
	}
	return []clause.Expression{clause.AndConditions{Exprs: exprs}}
}

// isOpen reports whether a condition may be another one beside an AND: with an OR before or in it.
func isOpen(e clause.Expression) bool {
	switch e := e.(type) {
	case clause.Eq, clause.Neq, clause.Gt, clause.Gte, clause.Lt, clause.Lte, clause.Like, clause.IN, *narrowing, brackets:
		return false
	case clause.AndConditions:
		return len(e.Exprs) == 1 && isOpen(e.Exprs[0])
	case clause.OrConditions:
		return len(e.Exprs) == 1
	}
	return true
}

func bracketed(exprs []clause.Expression) []clause.Expression {
	if len(exprs) == 0 {
		return nil
	}
	if len(exprs) == 1 {
		if b, ok := exprs[0].(brackets); ok {
			return []clause.Expression{b}
		}
	}
	return []clause.Expression{brackets(exprs)}
}

// brackets are conditions that are one.
type brackets []clause.Expression

func (b brackets) Build(builder clause.Builder) {
	_ = builder.WriteByte('(')
	clause.Where{Exprs: slices.Clone(b)}.Build(builder) // which may change their order in place
	if stmt, ok := builder.(*gorm.Statement); ok {
		endComment(stmt)
	}
	_ = builder.WriteByte(')')
}

// endComment ends the line when there may be a comment in it, of raw SQL, which goes on to its end.
func endComment(stmt *gorm.Statement) {
	if sql := stmt.SQL.String(); strings.Contains(sql, "--") || strings.Contains(sql, "#") {
		_ = stmt.WriteByte('\n')
	}
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
		return fmt.Errorf("%w: %s.%s has the type %s in the column type %q", ErrKey, stmt.Schema.Name, key.Name, key.FieldType, column)
	}
	return nil
}
