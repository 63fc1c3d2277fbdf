package shard

import (
	"errors"
	"fmt"
	"sync"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	idshard "github.com/snowkey-go/snowkey/idgen/shard"
)

// queries are the callbacks of what reads, updates and deletes.
type queries struct {
	*Router
	owners  owners
	demands sync.Pool // *demand
}

// registerQueries has the router route queries, updates and deletes. The callbacks of GORM that run a statement are replaced under their names, so what
// other plugins do before and after them stays where it is, and is seen here.
func (r *Router) registerQueries(db *gorm.DB) error {
	q := &queries{Router: r}
	q.demands.New = func() any { return &demand{} }
	callback := db.Callback()
	return errors.Join(
		callback.Query().Replace("gorm:query", q.query(callback.Query().Get("gorm:query"))),
		callback.Row().Replace("gorm:row", q.row(callback.Row().Get("gorm:row"))),
		callback.Raw().Before("*").Register("snowkey:shard", q.raw),
		callback.Update().Before("*").Register("snowkey:shard", q.prepareUpdate),
		callback.Update().Replace("gorm:update", q.update(callback.Update().Get("gorm:update"))),
		callback.Delete().Before("*").Register("snowkey:shard", q.prepareDelete),
		callback.Delete().Replace("gorm:delete", q.delete(callback.Delete().Get("gorm:delete"))),
		// GORM's last callbacks have ended the transaction then.
		callback.Update().Register("snowkey:shard_end", q.end),
		callback.Delete().Register("snowkey:shard_end", q.end),
	)
}

// refusal is what is written in the place of a subquery that is not routed: no database takes it. An error in a subquery does not reach GORM's outer
// statement.
const refusal = "refused by package shard of snowkey"

// refuse fails a statement before any SQL.
func refuse(db *gorm.DB, err error) {
	_ = db.AddError(err)
	db.Statement.SQL.Reset()
	if db.DryRun {
		_, _ = db.Statement.WriteString(refusal)
	}
}

// sharded returns the model of a statement that is to be routed, nil for others. It does what is common to all of them.
func (q *queries) sharded(db *gorm.DB, c *clauses, updates bool) (*model, error) {
	stmt := db.Statement
	m, err := q.model(stmt.Schema)
	if err != nil {
		return nil, err
	}
	if m == nil {
		if c.all {
			return nil, fmt.Errorf("%w: All in a statement of no sharded model", ErrModel)
		}
		if err := q.nested(db, c, false); err != nil {
			return nil, err
		}
		return nil, q.valued(db, false)
	}
	if stmt.SQL.Len() > 0 {
		return nil, fmt.Errorf("%w: raw SQL into %s, which is sharded: name the table in it, and scan into another struct", ErrUnrouted, m.schema.Name)
	}
	if name := c.named(updates); name != "" {
		return nil, errNamed(m, name)
	}
	if c.where != nil {
		if _, ok := c.where.(clause.Where); !ok {
			return nil, fmt.Errorf("%w: a WHERE of %s that is a %T and no clause.Where", ErrUnrouted, m.schema.Name, c.where)
		}
	}
	if stmt.TableExpr == nil && stmt.Table == m.schema.Table {
		return m, nil
	}
	if isDirect(stmt) {
		return nil, nil
	}
	if !m.plain(stmt) {
		return nil, errNamed(m, stmt.Table)
	}
	return m, nil
}

func errNamed(m *model, table string) error {
	return fmt.Errorf("%w: %s from a table that is named by hand: %q; leave it to the router", ErrUnrouted, m.schema.Name, table)
}

// plain tells whether a statement is for the table that has the model's name.
func (m *model) plain(stmt *gorm.Statement) bool {
	if stmt.TableExpr == nil {
		return stmt.Table == m.schema.Table
	}
	return len(stmt.TableExpr.Vars) == 0 && (stmt.TableExpr.SQL == stmt.Quote(m.schema.Table))
}

// several reads more tables than one.
type several func(*gorm.DB, *demand, *idshard.Map, []int, func(*gorm.DB)) error

// query returns the callback in the place of GORM's.
func (q *queries) query(next func(*gorm.DB)) func(*gorm.DB) {
	return func(db *gorm.DB) { q.route(db, next, q.readAll) }
}

// route has a statement that reads go to its tables, and tells whether it is one of a sharded model.
func (q *queries) route(db *gorm.DB, next func(*gorm.DB), more several) bool {
	if db.Error != nil || db.Statement.Schema == nil {
		next(db)
		return false
	}
	c := clausesOf(db.Statement)
	m, err := q.sharded(db, &c, false)
	switch {
	case err != nil:
		refuse(db, err)
		return false
	case m == nil:
		next(db)
		return false
	}
	d := q.demands.Get().(*demand)
	d.begin(db.Statement, m, &c)
	d.row(db.Statement.ReflectValue)
	q.read(db, d, next, more)
	q.demands.Put(d)
	q.explain(db)
	return true
}

// read has one table read, or several.
func (q *queries) read(db *gorm.DB, d *demand, next func(*gorm.DB), more several) {
	stmt := db.Statement
	in, err := q.current(stmt.Context)
	if err != nil {
		refuse(db, err)
		return
	}
	shards, err := d.target(in, d.room[:0])
	if err == nil && len(shards) > 1 {
		if err = q.nested(db, &d.clauses, false); err == nil {
			d.tidy()
			d.exactly()
			err = more(db, d, in, shards, next)
		}
		if err != nil {
			refuse(db, err)
			return
		}
		q.confirm(db, in)
		return
	}
	var p *table
	if err == nil {
		p, err = q.table(stmt, d.of, in, shards[0])
	}
	if err == nil {
		err = q.nested(db, &d.clauses, p.pool != nil)
	}
	if err == nil && p.pool != nil && db.DryRun {
		err = fmt.Errorf("%w: %s is in the database %q, so it can be no subquery, nor be shown without being run; use a session of router.DB", ErrUnrouted, p.part.table, p.shard.Database)
	}
	if err != nil {
		refuse(db, err)
		return
	}
	d.tidy()
	d.exactly()
	before := placeOf(stmt)
	p.enter(stmt)
	next(db)
	before.restore(stmt)
	q.confirm(db, in)
}

// confirm fails a statement that has ended, unless the rows were where the map says until now. That there is none may be for that alone.
func (q *queries) confirm(db *gorm.DB, in *idshard.Map) {
	none := errors.Is(db.Error, gorm.ErrRecordNotFound)
	if db.DryRun || db.Error != nil && !none {
		return
	}
	err := q.lease.still(db.Statement.Context, in)
	if err == nil {
		return
	}
	if none {
		db.Error = nil
	}
	_ = db.AddError(err)
}
