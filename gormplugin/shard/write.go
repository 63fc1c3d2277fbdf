package shard

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	idshard "github.com/snowkey-go/snowkey/idgen/shard"
)

// ahead is where a statement notes the pool that it had before it was sent to another database, for the statement alone.
type ahead struct{ of *gorm.Statement }

// demandOf finds out what an UPDATE or DELETE asks for, with the conditions that GORM makes of rows with their keys; it is false for one that is not to
// be routed.
func (q *queries) demandOf(db *gorm.DB, d *demand, deletes bool) (bool, error) {
	c := clausesOf(db.Statement)
	m, err := q.sharded(db, &c, !deletes)
	if err != nil || m == nil {
		return false, err
	}
	d.begin(db.Statement, m, &c)
	stmt := db.Statement
	if deletes {
		d.rows(stmt.ReflectValue)
		if stmt.ReflectValue.IsValid() && stmt.ReflectValue.CanAddr() && stmt.Dest != stmt.Model && stmt.Model != nil {
			d.rows(reflect.ValueOf(stmt.Model))
		}
		return true, nil
	}
	rows := reflect.ValueOf(stmt.Model)
	for rows.Kind() == reflect.Pointer {
		rows = rows.Elem()
	}
	if kind := rows.Kind(); (kind == reflect.Slice || kind == reflect.Array) && rows.Len() > 0 {
		// GORM takes the keys of all when the last one has one.
		if last := reflect.Indirect(rows.Index(rows.Len() - 1)); !last.IsValid() || !hasKey(stmt, m, last) {
			return true, nil
		}
	}
	d.rows(rows)
	return true, nil
}

func hasKey(stmt *gorm.Statement, m *model, row reflect.Value) bool {
	if row.Type() != m.schema.ModelType {
		return false
	}
	return slices.ContainsFunc(m.schema.PrimaryFields, func(f *schema.Field) bool { _, zero := f.ValueOf(stmt.Context, row); return !zero })
}

// prepareUpdate is the callback before all others of an UPDATE: what is refused is so before a transaction has begun, and that begins in the right database.
func (q *queries) prepareUpdate(db *gorm.DB) { q.prepare(db, false) }

// prepareDelete is that of a DELETE.
func (q *queries) prepareDelete(db *gorm.DB) { q.prepare(db, true) }

func (q *queries) prepare(db *gorm.DB, deletes bool) {
	if db.Error != nil || db.Statement.Schema == nil {
		return
	}
	d := q.demands.Get().(*demand)
	defer q.demands.Put(d)
	routed, err := q.demandOf(db, d, deletes)
	if err == nil && routed {
		var in *idshard.Map
		var parts []*table
		if in, parts, err = q.parts(db, d); err == nil && !deletes {
			err = q.checkAssignments(db, d, in, parts[0].pool != nil)
		}
		if err == nil && len(q.pools) > 1 {
			db.Statement.Settings.Store(placedBy, in.Version())
		}
		if err == nil && parts[0].pool != nil {
			if db.DryRun {
				err = fmt.Errorf("%w: %s is in the database %q; show the statement in a session of router.DB", ErrUnrouted, parts[0].part.table, parts[0].shard.Database)
			} else {
				db.Statement.Settings.Store(ahead{db.Statement}, db.Statement.ConnPool)
				db.Statement.ConnPool = parts[0].pool
			}
		}
	}
	if err != nil {
		refuse(db, err)
	}
}

// parts returns the tables of an UPDATE or DELETE, all in one database.
func (q *queries) parts(db *gorm.DB, d *demand) (*idshard.Map, []*table, error) {
	in, err := q.current(db.Statement.Context)
	if err != nil {
		return nil, nil, err
	}
	shards, err := d.target(in, d.room[:0])
	if err != nil {
		return nil, nil, err
	}
	parts := d.parts[:]
	if len(shards) > 1 {
		parts = make([]*table, len(shards))
	}
	away := false
	for i, shard := range shards {
		if parts[i], err = q.table(db.Statement, d.of, in, shard); err != nil {
			return nil, nil, err
		}
		if at := parts[i].shard.Database; at != parts[0].shard.Database {
			return nil, nil, fmt.Errorf("%w: tables of %s in the databases %q and %q, which share no transaction; route it to one after another",
				ErrSpan, d.of.schema.Name, parts[0].shard.Database, at)
		}
		away = away || parts[i].pool != nil
	}
	if len(parts) > 1 {
		if len(d.held) == 0 && len(d.clauses.exprs()) == 0 && !db.AllowGlobalUpdate {
			return nil, nil, gorm.ErrMissingWhereClause
		}
		if db.DryRun {
			return nil, nil, fmt.Errorf("%w: a statement for %d tables of %s is shown by running it", ErrSpan, len(parts), d.of.schema.Name)
		}
		for _, name := range []string{"LIMIT", "RETURNING"} {
			if _, has := db.Statement.Clauses[name]; has {
				return nil, nil, fmt.Errorf("%w: %s in a statement for %d tables of %s", ErrSpan, name, len(parts), d.of.schema.Name)
			}
		}
	}
	return in, parts, q.nested(db, &d.clauses, away)
}

// update returns the callback in the place of GORM's.
func (q *queries) update(next func(*gorm.DB)) func(*gorm.DB) {
	return func(db *gorm.DB) { q.write(db, next, false) }
}

// delete returns the callback in the place of GORM's.
func (q *queries) delete(next func(*gorm.DB)) func(*gorm.DB) {
	return func(db *gorm.DB) { q.write(db, next, true) }
}

// write looks at the statement again, since hooks may have changed it, and executes it.
func (q *queries) write(db *gorm.DB, next func(*gorm.DB), deletes bool) {
	if db.Error != nil || db.Statement.Schema == nil {
		next(db)
		return
	}
	d := q.demands.Get().(*demand)
	defer q.demands.Put(d)
	routed, err := q.demandOf(db, d, deletes)
	if err != nil || !routed {
		if err != nil {
			refuse(db, err)
		}
		next(db)
		return
	}
	in, parts, err := q.parts(db, d)
	if err == nil && !deletes {
		err = q.checkAssignments(db, d, in, parts[0].pool != nil)
	}
	if err == nil && parts[0].pool != nil {
		err = moreRecent(db.Statement, in, fmt.Errorf("%w: a hook has sent the statement to another database", ErrTransaction))
	}
	if err != nil {
		refuse(db, err)
		return
	}
	d.tidy()
	d.exactly()
	if len(parts) > 1 {
		if err := q.writeAll(db, d, in, parts, next, deletes); err != nil {
			_ = db.AddError(err)
		}
		return
	}
	defer q.confirmWrite(db, in)
	before := placeOf(db.Statement)
	where, has := db.Statement.Clauses["WHERE"]
	if deletes {
		parts[0].enterPlain(db.Statement)
	} else {
		parts[0].enter(db.Statement)
	}
	next(db)
	before.restore(db.Statement)
	if deletes && has {
		db.Statement.Clauses["WHERE"] = where
	}
}

// confirmWrite is confirm for an UPDATE or DELETE of one table. Rows that are there and have moved a fence refuses; there may have been others that were
// removed before. What was written without a transaction stays, and that is no ErrMoved, which says that nothing was written.
func (q *queries) confirmWrite(db *gorm.DB, in *idshard.Map) {
	q.confirm(db, in)
	if _, begun := db.Statement.ConnPool.(gorm.TxCommitter); !begun && db.RowsAffected > 0 && errors.Is(db.Error, ErrMoved) {
		db.Error = fmt.Errorf("shard: %d rows were written, without a transaction, and others may have moved before: %s", db.RowsAffected, db.Error)
	}
}

// writeAll executes a statement for each table, in one transaction.
func (q *queries) writeAll(db *gorm.DB, d *demand, in *idshard.Map, parts []*table, next func(*gorm.DB), deletes bool) (err error) {
	if _, begun := db.Statement.ConnPool.(gorm.TxCommitter); !begun { // SkipDefaultTransaction
		tx := db.Session(&gorm.Session{NewDB: true}).Begin()
		if tx.Error != nil {
			return tx.Error
		}
		pool := db.Statement.ConnPool
		db.Statement.ConnPool = tx.Statement.ConnPool
		done := false
		defer func() {
			db.Statement.ConnPool = pool
			if !done || err != nil || db.Error != nil {
				err = errors.Join(err, tx.Rollback().Error)
				return
			}
			err = tx.Commit().Error
		}()
		defer func() { done = recover() == nil }()
	}
	s := &spanning{demand: d, in: in, limit: -1}
	shared := d.shared(in)
	var total int64
	for _, p := range parts {
		tx := s.session(db, p.part)
		if deletes {
			p.enterPlain(tx.Statement)
		} else {
			p.enter(tx.Statement)
		}
		if shared {
			q.owners.add(tx.Statement, in, p.index, d.of)
		}
		q.restrict(tx.Statement, d, in, p.index, deletes)
		run(tx, next)
		if tx.Error != nil {
			return tx.Error
		}
		total += tx.RowsAffected
	}
	if err := q.lease.still(db.Statement.Context, in); err != nil {
		return err
	}
	db.RowsAffected = total
	if db.Statement.Result != nil {
		db.Statement.Result.RowsAffected = total
	}
	return nil
}

// restrict has a statement that has its keys of a slice of rows see those of one shard alone.
func (q *queries) restrict(stmt *gorm.Statement, d *demand, in *idshard.Map, shard int, deletes bool) {
	rows := stmt.ReflectValue
	if kind := rows.Kind(); kind != reflect.Slice && kind != reflect.Array {
		return
	}
	some := reflect.MakeSlice(reflect.SliceOf(reflect.PointerTo(d.of.schema.ModelType)), 0, rows.Len())
	for i := range rows.Len() {
		row := reflect.Indirect(rows.Index(i))
		if !row.IsValid() || row.Type() != d.of.schema.ModelType || !row.CanAddr() {
			continue
		}
		v, _ := d.of.key.ValueOf(stmt.Context, row)
		id, err := d.of.idOf(stmt.Context, value(v))
		if err != nil {
			continue
		}
		if at, err := in.OfID(id); err == nil && at == shard {
			some = reflect.Append(some, row.Addr())
		}
	}
	if some.Len() == 0 {
		return
	}
	to := reflect.New(some.Type())
	to.Elem().Set(some)
	stmt.ReflectValue = to.Elem()
	if deletes {
		stmt.Dest = to.Interface()
	}
}

// end is the last callback: it gives a statement the pool back that it had, and says what a fence means.
func (q *queries) end(db *gorm.DB) {
	if db.Statement.Schema == nil {
		return
	}
	if len(q.pools) > 1 {
		if pool, moved := db.Statement.Settings.LoadAndDelete(ahead{db.Statement}); moved {
			db.Statement.ConnPool = pool.(gorm.ConnPool)
		}
	}
	if db.Error == nil {
		return
	}
	if m, err := q.model(db.Statement.Schema); err == nil && m != nil {
		q.explain(db)
	}
}
