package shard

import (
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// clauses are what a statement says by its clauses, as far as it is asked. They are found once for all that asks: looks at a map are a good part of what
// routing costs.
type clauses struct {
	where, from, selected, update, set clause.Expression // nil for none
	all                                bool              // the statement is for all shards, unless a condition says more
}

func clausesOf(stmt *gorm.Statement) clauses {
	c := clauses{where: stmt.Clauses["WHERE"].Expression}
	if n := len(stmt.Clauses); n == 0 || n == 1 && c.where != nil {
		return c // nothing else, as in most statements
	}
	c.from, c.selected = stmt.Clauses["FROM"].Expression, stmt.Clauses["SELECT"].Expression
	c.update, c.set = stmt.Clauses["UPDATE"].Expression, stmt.Clauses["SET"].Expression
	_, c.all = stmt.Clauses[everywhere]
	return c
}

// exprs returns the conditions of WHERE.
func (c *clauses) exprs() []clause.Expression {
	if where, ok := c.where.(clause.Where); ok {
		return where.Exprs
	}
	return nil
}

// named returns the name of the table that a clause made by hand has in the place of the statement's, "" for none. Beside the table of an UPDATE there
// may be others FROM which it takes values.
func (c *clauses) named(updates bool) string {
	if update, ok := c.update.(clause.Update); ok && update.Table.Name != clause.CurrentTable {
		return update.Table.Name
	}
	if updates {
		return ""
	}
	if from, ok := c.from.(clause.From); ok && len(from.Tables) > 0 && from.Tables[0].Name != clause.CurrentTable {
		return from.Tables[0].Name
	}
	return ""
}

// exprsOf returns the conditions that a statement has now.
func exprsOf(stmt *gorm.Statement) []clause.Expression {
	if where, ok := stmt.Clauses["WHERE"].Expression.(clause.Where); ok {
		return where.Exprs
	}
	return nil
}
