package shard

import (
	"errors"
	"fmt"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
	"gorm.io/gorm/schema"
)

// nested fails unless what a statement has in it can be there: no join of a sharded relation, and of subqueries such as are routed to one table in the
// same database; neither when the statement goes to another database than its session's. GORM builds a subquery with the callbacks of a query that is
// not run, but its error is lost, so what is not found here, in raw SQL, is refused by the database, see refusal.
func (q *queries) nested(db *gorm.DB, c *clauses, away bool) error {
	stmt := db.Statement
	for i := range stmt.Joins {
		join := &stmt.Joins[i]
		if err := q.joined(stmt.Schema, join.Name, away); err != nil {
			return err
		}
		if err := q.within(db, away, join.Conds...); err != nil {
			return err
		}
		if join.On != nil {
			if err := q.inside(db, away, join.On.Exprs); err != nil {
				return err
			}
		}
		if join.Expression != nil {
			if err := q.within(db, away, join.Expression); err != nil {
				return err
			}
		}
	}
	if stmt.TableExpr != nil {
		if err := q.within(db, away, stmt.TableExpr.Vars...); err != nil {
			return err
		}
	}
	if selected, ok := c.selected.(clause.Expr); ok {
		if err := q.within(db, away, selected.Vars...); err != nil {
			return err
		}
	}
	return q.inside(db, away, c.exprs())
}

// valued fails for the same among the values that an UPDATE assigns.
func (q *queries) valued(db *gorm.DB, away bool) error {
	values, _ := db.Statement.Dest.(map[string]any)
	for _, v := range values {
		if err := q.one(db, away, v); err != nil {
			return err
		}
	}
	return nil
}

// joined fails when a join is one of a relation that is sharded.
func (q *queries) joined(of *schema.Schema, name string, away bool) error {
	if away {
		return fmt.Errorf("%w: the join %q in another database than the router's; use Preload", ErrUnrouted, name)
	}
	for _, part := range strings.Split(name, ".") {
		if of == nil {
			return nil
		}
		relation := of.Relationships.Relations[part]
		if relation == nil {
			return nil // SQL
		}
		m, err := q.model(relation.FieldSchema)
		if err != nil {
			return err
		}
		if m != nil {
			return fmt.Errorf("%w: a join of %s, which is sharded; use Preload", ErrUnrouted, name)
		}
		of = relation.FieldSchema
	}
	return nil
}

// inside looks for subqueries in conditions.
func (q *queries) inside(db *gorm.DB, away bool, exprs []clause.Expression) error {
	for _, e := range exprs {
		var err error
		switch e := e.(type) {
		case clause.Eq:
			err = q.one(db, away, e.Value)
		case clause.Neq:
			err = q.one(db, away, e.Value)
		case clause.Gt:
			err = q.one(db, away, e.Value)
		case clause.Gte:
			err = q.one(db, away, e.Value)
		case clause.Lt:
			err = q.one(db, away, e.Value)
		case clause.Lte:
			err = q.one(db, away, e.Value)
		case clause.IN:
			err = q.within(db, away, e.Values...)
		default:
			err = q.one(db, away, e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (q *queries) within(db *gorm.DB, away bool, values ...any) error {
	for _, v := range values {
		if err := q.one(db, away, v); err != nil {
			return err
		}
	}
	return nil
}

// one looks at a value, or an expression.
func (q *queries) one(db *gorm.DB, away bool, v any) error {
	switch v := v.(type) {
	case int64, int, string, uint64:
		return nil
	case *gorm.DB:
		return q.subquery(db, away, v)
	case []any:
		return q.within(db, away, v...)
	case clause.Expr:
		return q.within(db, away, v.Vars...)
	case clause.NamedExpr:
		return q.within(db, away, v.Vars...)
	case clause.AndConditions:
		return q.inside(db, away, v.Exprs)
	case clause.OrConditions:
		return q.inside(db, away, v.Exprs)
	case clause.NotConditions:
		return q.inside(db, away, v.Exprs)
	case brackets:
		return q.inside(db, away, v)
	case clause.Eq, clause.IN, clause.Neq, clause.Gt, clause.Gte, clause.Lt, clause.Lte:
		return q.inside(db, away, []clause.Expression{v.(clause.Expression)})
	}
	return nil
}

// subquery builds one as GORM will, for its error.
func (q *queries) subquery(outer *gorm.DB, away bool, db *gorm.DB) error {
	if away {
		return fmt.Errorf("%w: a subquery in another database than the router's", ErrUnrouted)
	}
	tx := db.Session(&gorm.Session{DryRun: true, Logger: logger.Discard, Initialized: true})
	if tx.Statement.SQL.Len() > 0 {
		return nil // raw
	}
	tx.Callback().Query().Execute(tx)
	m, err := q.model(tx.Statement.Schema)
	if err != nil || m == nil {
		return errors.Join(err, unrouted(tx.Error))
	}
	if tx.Error != nil {
		return fmt.Errorf("shard: a subquery of %s: %w", m.schema.Name, tx.Error)
	}
	if at := q.databaseOf(tx.Statement); at != q.databaseOf(outer.Statement) {
		return fmt.Errorf("%w: a subquery of %s in the database %q, in a statement for another one", ErrUnrouted, m.schema.Name, at)
	}
	return nil
}

// unrouted returns an error that is one of this package's, of a subquery in a subquery.
func unrouted(err error) error {
	if errors.Is(err, ErrUnrouted) || errors.Is(err, ErrSpan) {
		return err
	}
	return nil
}
