package shard

import (
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// brackets are conditions that are one, whatever Or is in them.
type brackets []clause.Expression

// Build writes them.
func (b brackets) Build(builder clause.Builder) {
	_ = builder.WriteByte('(')
	clause.Where{Exprs: slices.Clone(b)}.Build(builder) // which may change their order in place
	if stmt, ok := builder.(*gorm.Statement); ok {
		if sql := stmt.SQL.String(); strings.Contains(sql, "--") || strings.Contains(sql, "#") {
			_ = builder.WriteByte('\n') // the end of a comment
		}
	}
	_ = builder.WriteByte(')')
}

// tidy arranges the conditions of WHERE, so that those that route hold beside all others also when they are written: the statement's own
// scopes first, and the others as operands of AND. GORM knows an Or only in SQL with " OR " in it.
func (d *demand) tidy() {
	if !d.untidy {
		return
	}
	where := d.stmt.Clauses["WHERE"]
	own, others := d.lift(exprsOf(d.stmt))
	where.Expression = clause.Where{Exprs: append(own, operands(others)...)}
	d.stmt.Clauses["WHERE"] = where
	rest := slices.Clone(d.held[d.walked:])
	d.held = d.held[:0]
	d.walk(exprsOf(d.stmt), true) // in the order in which they are now, which is that of only
	d.walked = len(d.held)
	d.held = append(d.held, rest...)
	d.untidy = false
}

// operands makes conditions such that an AND may stand beside them.
func operands(exprs []clause.Expression) []clause.Expression {
	if hasOr(exprs) {
		return []clause.Expression{brackets(exprs)}
	}
	for i, e := range exprs {
		if and, is := e.(clause.AndConditions); is {
			exprs[i] = clause.AndConditions{Exprs: operands(slices.Clone(and.Exprs))}
		} else if !bounded(e) {
			exprs[i] = brackets{e}
		}
	}
	return exprs
}

// bounded tells whether a condition is an operand as GORM writes it, whatever SQL is in it: several beside each other are, when each of them is.
func bounded(e clause.Expression) bool {
	switch e := e.(type) {
	case clause.Eq:
		return isName(e.Column) && !isExpression(e.Value)
	case clause.IN:
		return selectionOf(e) != nil || isName(e.Column) && !slices.ContainsFunc(e.Values, isExpression)
	case clause.Neq:
		return isName(e.Column) && !isExpression(e.Value)
	case clause.Gt:
		return isName(e.Column) && !isExpression(e.Value)
	case clause.Gte:
		return isName(e.Column) && !isExpression(e.Value)
	case clause.Lt:
		return isName(e.Column) && !isExpression(e.Value)
	case clause.Lte:
		return isName(e.Column) && !isExpression(e.Value)
	case clause.Like:
		return isName(e.Column) && !isExpression(e.Value)
	case clause.AndConditions, brackets, exact:
		return true
	}
	return false
}

// isName tells whether a column of a condition is written as a name, in quotes.
func isName(column any) bool {
	switch c := column.(type) {
	case string:
		return true
	case clause.Column:
		return !c.Raw
	case []clause.Column:
		return !slices.ContainsFunc(c, func(c clause.Column) bool { return c.Raw })
	}
	return false
}

// lift takes the statement's own scopes out of the conditions.
func (d *demand) lift(exprs []clause.Expression) (own, others []clause.Expression) {
	for _, e := range exprs {
		switch e := e.(type) {
		case clause.IN:
			if s := selectionOf(e); s != nil && s.of == d.stmt {
				own = append(own, e)
				continue
			}
		case clause.AndConditions:
			inner, rest := d.lift(e.Exprs)
			if len(inner) > 0 {
				own = append(own, inner...)
				if len(rest) > 0 {
					others = append(others, clause.And(rest...))
				}
				continue
			}
		}
		others = append(others, e)
	}
	return own, others
}

// only returns the conditions of WHERE with those that route restricted to some of their values, in the order in which walk has found them.
func (d *demand) only(exprs []clause.Expression, holds bool, next *int, keep func(held int) []any) []clause.Expression {
	if hasOr(exprs) {
		holds = false
	}
	exprs = slices.Clone(exprs)
	for i, e := range exprs {
		switch e := e.(type) {
		case clause.Eq:
			if _, ok := d.of.routes(d.stmt, e.Column); holds && ok && !isExpression(e.Value) {
				exprs[i] = clause.IN{Column: e.Column, Values: keep(*next)}
				*next++
			}
		case clause.IN:
			if s := selectionOf(e); s != nil && (holds || s.of == d.stmt) {
				e.Values = keep(*next)
				exprs[i] = e
				*next++
			} else if s == nil && holds {
				exprs[i] = d.onlyIn(e, next, keep)
			}
		case clause.AndConditions:
			exprs[i] = clause.AndConditions{Exprs: d.only(e.Exprs, holds, next, keep)}
		}
	}
	return exprs
}

func (d *demand) onlyIn(e clause.IN, next *int, keep func(held int) []any) clause.IN {
	columns, tuples := e.Column.([]clause.Column)
	if !tuples {
		if _, ok := d.of.routes(d.stmt, e.Column); ok && !slices.ContainsFunc(e.Values, isExpression) {
			e.Values = keep(*next)
			*next++
		}
		return e
	}
	for _, c := range columns {
		if _, ok := d.of.routes(d.stmt, c); ok {
			e.Values = keep(*next) // of tuples that two columns route, the last one's: the others do no harm
			*next++
		}
	}
	return e
}

// requalify has columns that are named with the model's table named with the statement's, which is another one.
func requalify(exprs []clause.Expression, table string) []clause.Expression {
	column := func(of any) any {
		switch c := of.(type) {
		case clause.Column:
			if c.Table == table {
				c.Table = clause.CurrentTable
			}
			return c
		case []clause.Column:
			c = slices.Clone(c)
			for i := range c {
				if c[i].Table == table {
					c[i].Table = clause.CurrentTable
				}
			}
			return c
		case string:
			if before, name, cut := strings.Cut(c, "."); cut && before == table {
				return clause.Column{Table: clause.CurrentTable, Name: name}
			}
		}
		return of
	}
	exprs = slices.Clone(exprs)
	for i, e := range exprs {
		switch e := e.(type) {
		case clause.Eq:
			e.Column = column(e.Column)
			exprs[i] = e
		case clause.Neq:
			e.Column = column(e.Column)
			exprs[i] = e
		case clause.Gt:
			e.Column = column(e.Column)
			exprs[i] = e
		case clause.Gte:
			e.Column = column(e.Column)
			exprs[i] = e
		case clause.Lt:
			e.Column = column(e.Column)
			exprs[i] = e
		case clause.Lte:
			e.Column = column(e.Column)
			exprs[i] = e
		case clause.Like:
			e.Column = column(e.Column)
			exprs[i] = e
		case clause.IN:
			e.Column = column(e.Column)
			exprs[i] = e
		case clause.AndConditions:
			exprs[i] = clause.AndConditions{Exprs: requalify(e.Exprs, table)}
		case clause.OrConditions:
			exprs[i] = clause.OrConditions{Exprs: requalify(e.Exprs, table)}
		case clause.NotConditions:
			exprs[i] = clause.NotConditions{Exprs: requalify(e.Exprs, table)}
		case brackets:
			exprs[i] = brackets(requalify(e, table))
		}
	}
	return exprs
}
