package gormplugin

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/shard"
)

// The way of a statement that creates rows. Each step finds in its *statement what the steps before have found.
//
//	begin   first               opens the statement if it may save associations; with BeforeHooks it fills the keys
//	        GORM                BeforeSave and BeforeCreate; saves the rows that the model belongs to
//	fill    before the INSERT   reads the rows once; for each key takes what is missing from the source and sets it; checks
//	                            sharded rows; chooses the schema of the INSERT and what an upsert needs
//	        GORM                INSERT
//	settle  after the INSERT    returns streams of keys; puts GORM's schema back; gives rows that an upsert met the keys that they have
//	        GORM                saves the other associations; AfterCreate and AfterSave
//	end     last                calls GORM's COMMIT or ROLLBACK; takes keys back from rows that are not in the table
//
// An error or a panic may lead from each step to the end. An UPDATE that may save associations has begin and end alone.

// register registers the callbacks: at the beginning of a statement, before and after its INSERT, and at its end.
func (p *Plugin) register(db *gorm.DB) error {
	was := db.Config.Logger // which would tell of each callback that is wrapped
	db.Config.Logger = logger.Discard
	defer func() { db.Config.Logger = was }()
	p.watchUpdates(db)
	create, update := db.Callback().Create(), db.Callback().Update()
	first := p.begin
	if p.beforeHooks {
		first = p.fillFirst
	}
	return errors.Join(
		create.Before("gorm:before_create").Register("snowkey:begin", first),
		create.Before("gorm:create").Register("snowkey:fill", p.guard(p.fill)),
		create.After("gorm:create").Before("gorm:save_after_associations").Register("snowkey:settle", p.settle),
		wrap(create, p.guard, "gorm:before_create", "gorm:save_before_associations", "gorm:create", "gorm:save_after_associations", "gorm:after_create"),
		wrapEnd(create, create.After("gorm:after_create"), p.end),
		update.Before("gorm:before_update").Register("snowkey:begin", p.begin),
		wrap(update, p.guard, "gorm:before_update", "gorm:save_before_associations", "gorm:update", "gorm:save_after_associations", "gorm:after_update"),
		wrapEnd(update, update.After("gorm:after_update"), p.end),
	)
}

// begin is the callback before all others. The statement is there for the associations, which are undone with it.
func (p *Plugin) begin(db *gorm.DB) {
	if savesOthers(db.Statement.Schema) {
		beginStatement(db.Statement)
	}
}

// fillFirst is begin with [BeforeHooks]. The callback fill, after the hooks, fills what they have lost.
func (p *Plugin) fillFirst(db *gorm.DB) {
	s := beginStatement(db.Statement)
	plan := p.planOf(db)
	if plan != nil && s.fill(db, plan) {
		s.keepMade()
	}
	if plan != nil && db.Error != nil {
		p.failures.add(s.of)
	}
}

// fill is the callback before the INSERT.
func (p *Plugin) fill(db *gorm.DB) {
	plan := p.planOf(db)
	if plan == nil {
		return
	}
	s := (*statement)(nil)
	if p.beforeHooks || savesOthers(plan.schema) {
		s = currentStatement(db.Statement)
	}
	if s == nil {
		s = beginStatement(db.Statement)
	}
	if s.fill(db, plan) && s.checkSharded(db) {
		s.prepareInsert(db)
	}
	if db.Error != nil {
		p.failures.add(s.of)
		return
	}
	p.warnRounded(s)
	p.watchCounter(db, s)
}

// fill reads the rows and sets the keys that they lack, and reports whether that went well.
func (s *statement) fill(db *gorm.DB, plan *plan) bool {
	s.plan, s.ctx = plan, s.of.Context
	k := plan.keys[0]
	written, err := s.read()
	for i := 0; err == nil && i < len(plan.keys); i++ {
		k = plan.keys[i]
		if err = context.Cause(s.ctx); err == nil {
			err = s.fillKey(i, written.has(i))
		}
	}
	if err != nil {
		_ = db.AddError(fmt.Errorf("gormplugin: key %s of %s: %w", k.column, s.of.Table, err))
	}
	return err == nil
}

// read is the one walk over the rows. It finds which keys each row lacks of those that the statement writes, and returns these.
func (s *statement) read() (written keySet, err error) {
	for i, k := range s.plan.keys {
		if k.selected(s.of) {
			written.add(i)
		}
	}
	before, buffer := s.rows, s.few[:0]
	if before != nil { // the second time, after the hooks
		buffer = nil
	}
	rows, err := readRows(buffer, s.of.Dest, s.of.ReflectValue)
	if err != nil {
		return 0, err
	}
	for number := range rows {
		r := &rows[number]
		if number < len(before) {
			r.made = before[number].made
		}
		for i, k := range s.plan.keys {
			switch {
			case !written.has(i) && !r.made.has(i):
			case !k.isMissing(s.ctx, r):
				if r.made.has(i) && !same(k.current(s.ctx, r), s.beforeHooks[s.index(number, i)]) {
					r.made.remove(i) // it is a hook's
				}
			case written.has(i):
				r.missing.add(i)
			}
		}
	}
	s.rows = rows
	return written, nil
}

// fillKey sets a key in the rows that lack it, all in one call of the source, or of a sharded one in a call for each bucket.
func (s *statement) fillKey(i int, written bool) error {
	k, n, buckets := s.plan.keys[i], 0, []int64(nil)
	listed := len(s.of.Selects) > 0 || len(s.of.Omits) > 0
	if k.by != nil && (!written || listed && !writes(s.of)(k.by.DBName)) {
		return fmt.Errorf("%w: a sharded row needs its key and its sharding column %s; leave both in what is selected, and out of Omit", shard.ErrKey, k.by.Name)
	}
	for number := range s.rows {
		r := &s.rows[number]
		if !r.missing.has(i) {
			continue
		}
		if k.by != nil {
			bucket, ok, err := k.bucket(s.ctx, r)
			if err != nil {
				return fmt.Errorf("row %d: %w", number, err)
			}
			if !ok {
				r.missing.remove(i) // the hooks that follow may set the sharding key
				continue
			}
			buckets = append(buckets, bucket)
		}
		if n++; !r.canSet() {
			return fmt.Errorf("%w: the type %s was passed by value, so its key cannot be set; pass a pointer", gorm.ErrInvalidValue, r.value.Type())
		}
	}
	if n == 0 {
		return nil
	}
	keys, err := k.source.batch(s.ctx, n, buckets, s.stream(k.source))
	defer k.source.free(keys)
	if err != nil {
		return err
	}
	return s.setKeys(i, keys)
}

// setKeys sets the keys of a batch in the rows that lack one, in their order. A pointer that is there twice is one row. Two rows that keep their
// keys in one place, an embedded struct or one map, are an error: they would have one key.
func (s *statement) setKeys(i int, keys *batch) error {
	k, pointers := s.plan.keys[i], isPointers(s.of.ReflectValue)
	next, again, seen := 0, []int(nil), map[any]bool(nil)
	for number := range s.rows {
		r := &s.rows[number]
		if !r.missing.has(i) {
			continue
		}
		if next > 0 && (pointers || k.embedded || r.columns() != nil) && !k.isMissing(s.ctx, r) { // a row before has set it
			if !pointers || k.embedded && !seen[r.value.Addr().Interface()] {
				return fmt.Errorf("%w: row %d of %d has the same map or embedded struct as a row before it, so both would have one key; give it its own",
					gorm.ErrInvalidData, number+1, len(s.rows))
			}
			again = append(again, number)
			continue
		}
		if pointers && k.embedded {
			if seen == nil {
				seen = map[any]bool{}
			}
			seen[r.value.Addr().Interface()] = true
		}
		if restore := k.restorer(s.ctx, r); restore != nil {
			if s.restore == nil {
				s.restore = make([]func(), len(s.rows)*len(s.plan.keys))
			}
			s.restore[s.index(number, i)] = restore
		}
		r.made.add(i)
		if err := k.set(s.ctx, r, keys, next); err != nil {
			return err
		}
		next++
	}
	if len(again) > 0 {
		s.leaveOut(again)
	}
	return nil
}

// leaveOut has the statement go on without some rows, which are others' pointers again.
func (s *statement) leaveOut(numbers []int) {
	from := s.of.ReflectValue
	kept := reflect.New(reflect.SliceOf(from.Type().Elem())).Elem()
	number := 0
	for i := range from.Len() {
		element := from.Index(i)
		is := structOf(element).IsValid() // GORM refuses others
		if !is || !slices.Contains(numbers, number) {
			kept.Set(reflect.Append(kept, element))
		}
		if is {
			number++
		}
	}
	for _, number := range slices.Backward(numbers) {
		s.rows = slices.Delete(s.rows, number, number+1)
		if s.restore != nil {
			s.restore = slices.Delete(s.restore, s.index(number, 0), s.index(number+1, 0))
		}
	}
	s.of.ReflectValue = kept
}

// checkSharded fails the statement when a row has no sharding key, or a key that does not fit it, and reports whether all are well.
func (s *statement) checkSharded(db *gorm.DB) bool {
	k := s.plan.sharded
	if k == nil {
		return true
	}
	for number := range s.rows {
		if err := k.checkRow(s.ctx, number, &s.rows[number]); err != nil {
			_ = db.AddError(fmt.Errorf("gormplugin: key %s of %s: %w", k.column, s.of.Table, err))
			return false
		}
	}
	return true
}

// prepareInsert has the statement insert the rows as they are to be.
func (s *statement) prepareInsert(db *gorm.DB) {
	if s.plan.schema != nil {
		s.setSchema(s.plan.insertSchema(s.of))
	}
	if err := s.prepareUpsert(); err != nil {
		_ = db.AddError(fmt.Errorf("gormplugin: key of %s: %w", s.of.Table, err))
		return
	}
	s.sent = true
}

// settle is the callback after the INSERT.
func (p *Plugin) settle(db *gorm.DB) {
	if db.Error != nil {
		p.explainColumn(db)
	}
	s := currentStatement(db.Statement)
	if s == nil || s.plan == nil {
		return
	}
	s.returnStreams()
	p.warnCounter(db, s)
	s.restoreSchema()
	if s.plan.schema == nil && s.plan.keys[0].selected(s.of) {
		for i := range s.rows {
			delete(s.rows[i].columns(), "@id") // GORM's name for LastInsertId without a model, which is no key of these rows
		}
	}
	if err := s.settleUpsert(db); err != nil {
		_ = db.AddError(fmt.Errorf("gormplugin: key of %s: %w", s.of.Table, err))
	}
	if s.written = db.Error == nil && !db.DryRun; db.Error != nil {
		s.takeBackUnwritten(isLost(db)) // a callback may forgive the error
	}
}

// end takes the place of the callback that commits or rolls back, which it calls.
func (p *Plugin) end(commit func(*gorm.DB)) func(*gorm.DB) {
	return func(db *gorm.DB) {
		s := currentStatement(db.Statement)
		if s == nil {
			commit(db)
			return
		}
		// A context that has ended has rolled back already: then COMMIT is not sent.
		rollsBack := db.Error != nil || s.of.Context.Err() != nil
		switch commit(db); {
		case db.Error != nil:
			s.fail(ownsTransaction(db) && (rollsBack || !isLost(db)), isLost(db))
		case db.DryRun && s.parent == nil:
			s.takeBackAll()
			s.end()
		default:
			s.end()
		}
	}
}

// guard calls a callback, and ends the statement when that panics or ends the goroutine. GORM leaves the statement's own transaction open
// then, so it is never committed.
func (p *Plugin) guard(next func(*gorm.DB)) func(*gorm.DB) {
	return func(db *gorm.DB) {
		done := false
		defer func() {
			if s := currentStatement(db.Statement); !done && s != nil {
				s.fail(ownsTransaction(db), false)
			}
		}()
		next(db)
		done = true
	}
}

// callbacks are those of GORM that create or update.
type callbacks interface {
	Get(name string) func(*gorm.DB)
	Replace(name string, fn func(*gorm.DB)) error
}

// wrap replaces callbacks of GORM's by ones that call them. A callback that GORM has left out is left out.
func wrap(of callbacks, by func(func(*gorm.DB)) func(*gorm.DB), names ...string) (err error) {
	for _, name := range names {
		if next := of.Get(name); next != nil {
			err = errors.Join(err, of.Replace(name, by(next)))
		}
	}
	return err
}

// wrapEnd wraps the callback that ends a transaction. Where GORM has left that out, the last one does nothing but what is wrapped around it.
func wrapEnd(of callbacks, last interface {
	Register(string, func(*gorm.DB)) error
}, by func(func(*gorm.DB)) func(*gorm.DB)) error {
	const name = "gorm:commit_or_rollback_transaction"
	if of.Get(name) == nil {
		return last.Register("snowkey:end", by(func(*gorm.DB) {}))
	}
	return wrap(of, by, name)
}
