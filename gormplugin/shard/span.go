package shard

import (
	"fmt"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	idshard "github.com/snowkey-go/snowkey/idgen/shard"
)

// spanning is what a query wants that is made of one for each of several tables.
type spanning struct {
	demand *demand
	in     *idshard.Map
	shards []int

	count  bool // the rows are to be counted
	column *schema.Field
	order  int // 1 for ascending ids, -1 for descending, 0 for none that is asked for
	limit  int // -1 for none
	offset int
}

// readAll reads several tables one after another, and gives their rows as if they were of one, ordered by the id.
func (q *queries) readAll(db *gorm.DB, d *demand, in *idshard.Map, shards []int, next func(*gorm.DB)) error {
	s := &spanning{demand: d, in: in, shards: shards, limit: -1}
	if err := s.plan(db); err != nil {
		return err
	}
	parts := make([]*table, len(shards))
	for i, shard := range shards {
		p, err := q.table(db.Statement, d.of, in, shard)
		if err == nil && p.pool != nil {
			err = q.nested(db, &d.clauses, true)
		}
		if err != nil {
			return err
		}
		parts[i] = p
	}
	rows, err := s.begin(db.Statement)
	if err != nil {
		return err
	}
	shared := d.shared(in)
	for _, p := range parts {
		tx := s.session(db, p.part)
		p.enter(tx.Statement)
		if shared {
			q.owners.add(tx.Statement, in, p.index, d.of)
		}
		rows.into(tx.Statement)
		run(tx, next)
		if tx.Error != nil {
			_ = db.AddError(tx.Error)
			return nil
		}
		if rows.take(tx) {
			break
		}
	}
	rows.end(db)
	return nil
}

// errSpan says what cannot be made of several statements.
func (s *spanning) errSpan(what string) error {
	return fmt.Errorf("%w: %s over %d tables of %s; route it to one table, or read the rows and do it in Go", ErrSpan, what, len(s.shards), s.demand.of.schema.Name)
}

// plan finds out what the statement wants, and fails for what would be another thing when it is made of several.
func (s *spanning) plan(db *gorm.DB) error {
	stmt := db.Statement
	_, grouped := stmt.Clauses["GROUP BY"]
	from, _ := stmt.Clauses["FROM"].Expression.(clause.From)
	switch {
	case db.DryRun:
		return s.errSpan("a subquery, or a statement that is not run,")
	case grouped:
		return s.errSpan("Group or Having")
	case stmt.Distinct:
		return s.errSpan("Distinct")
	case len(from.Joins) > 0 || len(from.Tables) > 0:
		return s.errSpan("a join in SQL")
	}
	for _, join := range stmt.Joins {
		if join.Expression != nil || join.JoinType == clause.RightJoin || !isRelation(stmt.Schema, join.Name) {
			return s.errSpan("a join in SQL")
		}
	}
	if err := s.planSelect(stmt); err != nil {
		return err
	}
	if err := s.planOrder(stmt); err != nil {
		return err
	}
	if limit, has := stmt.Clauses["LIMIT"]; has {
		l, ok := limit.Expression.(clause.Limit)
		if !ok {
			return s.errSpan("a limit in SQL")
		}
		if s.offset = max(l.Offset, 0); l.Limit != nil && *l.Limit >= 0 {
			s.limit = *l.Limit
		}
	}
	if _, locking := stmt.Clauses["FOR"]; locking && s.limit >= 0 {
		return s.errSpan("a lock with a limit") // it would lock more rows
	}
	if s.count && s.offset > 0 {
		return s.errSpan("Count with an Offset")
	}
	return nil
}

func isRelation(of *schema.Schema, name string) bool {
	for _, part := range strings.Split(name, ".") {
		if of == nil || of.Relationships.Relations[part] == nil {
			return false
		}
		of = of.Relationships.Relations[part].FieldSchema
	}
	return true
}

// planSelect takes columns of the model, all or some, and the count of Count. Anything else may be an aggregate.
func (s *spanning) planSelect(stmt *gorm.Statement) error {
	of := s.demand.of
	switch selected := stmt.Clauses["SELECT"].Expression.(type) {
	case nil:
		for _, name := range stmt.Selects {
			if name != "*" && of.schema.LookUpField(name) == nil {
				return s.errSpan(fmt.Sprintf("Select(%q), which is not the name of one column,", name))
			}
		}
	case clause.Expr:
		if _, number := stmt.Dest.(*int64); !number || !isCount(selected) {
			return s.errSpan("a Select in SQL")
		}
		s.count = true
	case clause.Select:
		if len(selected.Columns) == 1 && !selected.Distinct && selected.Expression == nil && !selected.Columns[0].Raw {
			s.column = of.schema.LookUpField(selected.Columns[0].Name)
		}
		if s.column == nil {
			return s.errSpan("Pluck of what is not one column")
		}
	default:
		return s.errSpan("a Select in SQL")
	}
	return nil
}

// isCount tells whether a Select is one that Count has made.
func isCount(selected clause.Expr) bool {
	if selected.SQL == "COUNT(?)" && len(selected.Vars) == 1 {
		column, ok := selected.Vars[0].(clause.Column)
		return ok && !column.Raw
	}
	return selected.SQL == "count(*)"
}

// planOrder takes the order by the id.
func (s *spanning) planOrder(stmt *gorm.Statement) error {
	ordered, has := stmt.Clauses["ORDER BY"]
	if !has || s.count {
		return nil
	}
	by, ok := ordered.Expression.(clause.OrderBy)
	if !ok || by.Expression != nil || len(by.Columns) == 0 {
		return s.errSpan("an Order in SQL")
	}
	column := by.Columns[0].Column
	desc := by.Columns[0].Desc
	key := s.demand.of.key.DBName
	if column.Raw {
		switch strings.ToLower(column.Name) {
		case key, key + " asc":
		case key + " desc":
			desc = true
		default:
			return s.errSpan(fmt.Sprintf("the order %q, which is not the id's,", column.Name))
		}
	} else if isKey, ok := s.demand.of.routes(stmt, column); !ok || isKey {
		return s.errSpan(fmt.Sprintf("the order by %q, which is not the id's,", column.Name))
	}
	// What comes after the id decides nothing.
	if s.order = 1; desc {
		s.order = -1
	}
	return nil
}

// session returns a copy of the statement for one table, with just its values in the conditions.
func (s *spanning) session(db *gorm.DB, p part) *gorm.DB {
	tx := db.Session(&gorm.Session{Initialized: true})
	stmt := tx.Statement
	stmt.BuildClauses = db.Statement.BuildClauses
	stmt.RaiseErrorOnNotFound = false
	stmt.Result = nil
	if where, has := stmt.Clauses["WHERE"]; has {
		next := 0
		where.Expression = clause.Where{Exprs: s.demand.only(exprsOf(db.Statement), true, &next, func(held int) []any {
			return s.demand.leading(s.in, held, p.index)
		})}
		stmt.Clauses["WHERE"] = where
	}
	if s.limit >= 0 || s.offset > 0 {
		var l clause.Limit
		if s.limit >= 0 {
			all := s.limit + s.offset
			l.Limit = &all
		}
		stmt.Clauses["LIMIT"] = clause.Clause{Expression: l}
		if l.Limit == nil {
			delete(stmt.Clauses, "LIMIT")
		}
	}
	return tx
}

// run executes a statement for one table, which GORM's own callbacks around it are not for, and has it logged.
func run(tx *gorm.DB, next func(*gorm.DB)) {
	begin := time.Now()
	next(tx)
	stmt := tx.Statement
	if stmt.SQL.Len() == 0 {
		return
	}
	tx.Logger.Trace(stmt.Context, begin, func() (string, int64) {
		text, vars := stmt.SQL.String(), stmt.Vars
		if filter, ok := tx.Logger.(gorm.ParamsFilter); ok {
			text, vars = filter.ParamsFilter(stmt.Context, text, vars...)
		}
		return tx.Dialector.Explain(text, vars...), tx.RowsAffected
	}, tx.Error)
}
