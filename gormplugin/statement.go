package gormplugin

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// statement is what the plugin knows of one INSERT from its first callback to its last: which rows it has given a key, so that it can take
// the keys back when the rows are not written. An UPDATE has one too when it may save associations. It belongs to the statement's goroutine.
//
//	begin → fill → INSERT → settle → end
//
// An error or a panic may lead from each to the end. A row keeps its key when it is in the table at the end.
type statement struct {
	of     *gorm.Statement
	parent *statement   // whose association this statement saves, nil for none
	saved  []*statement // of associations: they have ended, and are undone with this one's transaction
	guest  bool         // GORM saves an association by it

	ctx      context.Context
	plan     *plan // nil before the rows are filled
	rows     rows
	given    []given // by key of the plan
	upsert   *upsert // nil unless it may meet rows
	replaced bool    // the statement has a derived schema until the INSERT is done
	sent     bool    // the INSERT may have reached the database
	written  bool    // the rows are in the table

	one   [1]given // given of most statements
	flags [4]bool  // given.rows of most statements
}

// given are the rows that were given a key, by their numbers, and what puts back what they had in its place when that was not just zero.
type given struct {
	rows    []bool
	restore []func()
	keys    []reflect.Value // with BeforeHooks
}

// statementSetting is the key of a statement among a GORM statement's settings, which GORM copies to the statements of associations.
type statementSetting struct{}

// currentStatement returns the statement that has begun, nil for none.
func currentStatement(stmt *gorm.Statement) *statement {
	if found, ok := stmt.Settings.Load(statementSetting{}); ok && found.(*statement).of == stmt {
		return found.(*statement)
	}
	return nil
}

func beginStatement(stmt *gorm.Statement) *statement {
	s := &statement{of: stmt}
	if found, ok := stmt.Settings.Load(statementSetting{}); ok && found.(*statement).of != stmt {
		s.parent = found.(*statement)
		// GORM's own mark. The statement of an association has it from the start. Others get it when they save theirs, and keep it when they are
		// used again, but have no parent.
		_, s.guest = stmt.Settings.Load("gorm:saved_association_map")
	}
	stmt.Settings.Store(statementSetting{}, s)
	return s
}

// savesOthers tells whether statements of a schema may save associations.
func savesOthers(s *schema.Schema) bool {
	if s == nil {
		return false
	}
	of := &s.Relationships
	return len(of.BelongsTo) > 0 || len(of.HasOne) > 0 || len(of.HasMany) > 0 || len(of.Many2Many) > 0
}

// begin is the callback before all others that may save an association.
func (p *Plugin) begin(db *gorm.DB) {
	if savesOthers(db.Statement.Schema) {
		beginStatement(db.Statement)
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

// ownsTransaction tells whether GORM has begun a transaction for a statement.
func ownsTransaction(db *gorm.DB) bool {
	if db.SkipDefaultTransaction {
		return false
	}
	_, owns := db.InstanceGet("gorm:started_transaction")
	return owns
}

// isLost tells whether the error of a statement leaves open what the database has done.
func isLost(db *gorm.DB) bool {
	d, _ := dialect.Lookup(db.Name())
	return db.Error != nil && d.Unanswered(db.Error)
}

// fail ends a statement with an error, and takes back the keys of rows that are not in the table: its own, and when its transaction was rolled
// back those of its associations too. A key stays when the answer to an INSERT without a transaction was lost, since the row may be there: to
// create it again is a duplicate then, and not a second row.
func (s *statement) fail(rolledBack, lost bool) {
	if rolledBack {
		s.takeBackAll()
	} else {
		s.takeBackUnwritten(lost)
	}
	s.end()
}

func (s *statement) takeBackUnwritten(lost bool) {
	_, within := s.of.ConnPool.(gorm.TxCommitter)
	if !s.written && !(lost && s.sent && !within) {
		s.takeBack()
	}
}

// end leaves what is to be taken back with the statement around it.
func (s *statement) end() {
	s.of.Settings.Delete(statementSetting{})
	if s.parent != nil {
		s.parent.saved = append(s.parent.saved, s)
	}
}

func (s *statement) takeBackAll() {
	for _, saved := range s.saved {
		saved.takeBackAll()
	}
	s.takeBack()
}

func (s *statement) takeBack() {
	_ = s.rows.each(func(number int, r row) error {
		s.takeBackFrom(number, r)
		return nil
	})
}

// takeBackFrom puts back what a row had in the place of the keys that it was given.
func (s *statement) takeBackFrom(number int, r row) {
	for i, g := range s.given {
		switch {
		case number >= len(g.rows) || !g.rows[number]:
		case g.restore != nil && g.restore[number] != nil:
			g.restore[number]()
		default:
			s.plan.keys[i].clear(s.ctx, r)
		}
	}
}

// remember keeps the keys that were given before the hooks.
func (s *statement) remember() {
	for i, k := range s.plan.keys {
		g := &s.given[i]
		_ = s.rows.each(func(number int, r row) error {
			if g.rows != nil {
				g.keys = append(g.keys, k.current(s.ctx, r))
			}
			return nil
		})
	}
}

// recall forgets what was given to rows that have another key since: a hook's.
func (s *statement) recall() {
	for i, k := range s.plan.keys {
		g := &s.given[i]
		_ = s.rows.each(func(number int, r row) error {
			if number < len(g.keys) && g.rows[number] && !k.isMissing(s.ctx, r) && !same(k.current(s.ctx, r), g.keys[number]) {
				g.rows[number] = false
			}
			return nil
		})
		g.keys = nil
	}
}

// give sets the keys of a batch in the rows that lack one, in their order. A pointer that is there twice is one row. Two rows that keep their
// keys in one place, an embedded struct or one map, are an error: they would have one key.
func (s *statement) give(k *key, missing []bool, keys *batch) (err error) {
	g := &s.given[slices.Index(s.plan.keys, k)]
	again := g.rows // before the hooks
	g.rows = missing
	next, shared, twice, seen := 0, s.rows.shared(), []int(nil), map[any]bool(nil)
	_ = s.rows.each(func(number int, r row) error {
		had := number < len(again) && again[number]
		switch {
		case !missing[number] || err != nil:
			missing[number] = had
			return nil
		case next == 0 || !shared && !k.embedded && r.columns == nil || k.isMissing(s.ctx, r):
		case shared && (!k.embedded || seen[r.value.Addr().Interface()]):
			twice = append(twice, number)
			return nil
		default:
			missing[number] = had
			err = fmt.Errorf("%w: row %d of %d has the same map or embedded struct as a row before it, so both would have one key; give it its own",
				gorm.ErrInvalidData, number+1, len(missing))
			return nil
		}
		if shared && k.embedded {
			if seen == nil {
				seen = map[any]bool{}
			}
			seen[r.value.Addr().Interface()] = true
		}
		if restore := k.restorer(s.ctx, r); restore != nil {
			if g.restore == nil {
				g.restore = make([]func(), len(missing))
			}
			g.restore[number] = restore
		}
		next++
		err = k.set(s.ctx, r, keys, next-1)
		return nil
	})
	if len(twice) > 0 {
		s.leaveOut(twice)
	}
	return err
}

// leaveOut has the statement go on without some rows, which are others' pointers again.
func (s *statement) leaveOut(numbers []int) {
	from := s.rows.value
	kept := reflect.New(reflect.SliceOf(from.Type().Elem())).Elem()
	number := 0
	for i := range from.Len() {
		element := from.Index(i)
		if !structOf(element).IsValid() {
			kept.Set(reflect.Append(kept, element)) // which GORM refuses
			continue
		}
		if !slices.Contains(numbers, number) {
			kept.Set(reflect.Append(kept, element))
		}
		number++
	}
	for i, g := range s.given {
		for _, number := range slices.Backward(numbers) {
			if g.rows != nil {
				g.rows = slices.Delete(g.rows, number, number+1)
			}
			if g.restore != nil {
				g.restore = slices.Delete(g.restore, number, number+1)
			}
		}
		s.given[i] = g
	}
	s.of.ReflectValue = kept
	s.rows.value = kept
}

// made returns the keys that a row was given.
func (s *statement) made(number int) (keys []*key) {
	for i, g := range s.given {
		if number < len(g.rows) && g.rows[number] {
			keys = append(keys, s.plan.keys[i])
		}
	}
	return keys
}

// setSchema puts a derived schema in the place of a plan's until the INSERT is done. Should maps have names that only GORM's naming strategy
// knows, it is one of this statement alone that knows them too.
func (s *statement) setSchema(derived *schema.Schema) {
	of := s.plan.schema
	if derived != of && isMaps(s.of) {
		own := derived
		_ = s.rows.each(func(_ int, r row) error {
			for name := range r.columns {
				field := of.LookUpField(name)
				if field == nil || own.LookUpField(name) != nil {
					continue
				}
				if own == derived {
					own = derive(derived)
				}
				own.FieldsByName[name] = own.FieldsByDBName[field.DBName]
			}
			return nil
		})
		derived = own
	}
	s.of.Schema, s.replaced = derived, derived != of
}

// restoreSchema puts GORM's schema back.
func (s *statement) restoreSchema() {
	if s.replaced {
		s.of.Schema, s.replaced = s.plan.schema, false
	}
}

// wrap replaces a callback of GORM's by one that calls it. A callback that GORM has left out is left out.
func wrap(callbacks interface {
	Get(name string) func(*gorm.DB)
	Replace(name string, fn func(*gorm.DB)) error
}, by func(func(*gorm.DB)) func(*gorm.DB), names ...string) (err error) {
	for _, name := range names {
		if next := callbacks.Get(name); next != nil {
			err = errors.Join(err, callbacks.Replace(name, by(next)))
		}
	}
	return err
}

// wrapEnd wraps the callback that ends a transaction. Where GORM has left that out, the last one does nothing but what is wrapped around it.
func wrapEnd(callbacks interface {
	Get(name string) func(*gorm.DB)
	Replace(name string, fn func(*gorm.DB)) error
}, last interface {
	Register(string, func(*gorm.DB)) error
}, by func(func(*gorm.DB)) func(*gorm.DB)) error {
	const name = "gorm:commit_or_rollback_transaction"
	if callbacks.Get(name) == nil {
		return last.Register("snowkey:end", by(func(*gorm.DB) {}))
	}
	return wrap(callbacks, by, name)
}
