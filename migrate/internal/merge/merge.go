// Package merge copies databases with one schema, whose rows were numbered apart, into one.
//
// # What it does
//
//	compare schemas ──▶ prove ──▶ no key twice: copy, parents first ──▶ look at every row again
//	                      └─────▶ a key twice: plan new keys, and copy nothing
//
// The proof reads the keys of all databases in their order, page by page, so that memory does not grow with the tables. Other unique values are looked
// for in the other databases, by their own rules of what is equal.
//
// # What is kept
//
// Into gets a small table, snowkey_merges, which says of each database and table how far it was copied. It changes in the transactions that rows
// are copied in, so a merge that was killed goes on with the next, and what it finds of its own copies is no clash. It stays when
// all is done: with it, a merge that is run once more copies nothing twice.
//
// It is not the table of package journal, whose states are others: a plan has steps that are begun, done and undone, holds, and a way back. A merge has
// neither steps nor a way back, but a cursor for each table of each database.
//
// # What is not protected
//
// Writers of the databases that are merged have to be at rest. A row that comes meanwhile is copied when it is seen, one that changes after it was
// copied is an error, and one that is deleted stays in Into. Into may have readers, which see rows come.
package merge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/migrate/inspect"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// Errors of this package.
var (
	ErrOption  = errors.New("merge: invalid option")                  // no database to merge, one given twice, a table that is not there
	ErrSchema  = errors.New("merge: the databases cannot be merged")  // the message has all that differs or stands in the way
	ErrClash   = errors.New("merge: two databases have the same key") // ids, or other unique values, are in several of the databases
	ErrRunning = errors.New("merge: another merge is at work")
	ErrCopied  = errors.New("merge: a copied row is not what it should be") // it differs, or what it refers to is not there
)

// Options say how to merge.
type Options struct {
	Tables   []string        // default: all that Into has; those of snowkey itself are left out
	Layout   idgen.Layout    // of the keys; default idgen.Snowkey's
	Target   time.Duration   // that a batch aims at; default 500 ms
	Dry      bool            // prove only, and write nothing
	Plan     plan.Options    // of the rekeys, where ids clash; Tables, Mode, Node and Layout are set by Merge
	Inspect  inspect.Options // that these are made from: models, and references that nothing declares
	Progress func(Progress)
}

// Progress is how far a merge is.
type Progress struct {
	Doing string // compare ids of users; copy users from …
	Rows  int64
	Total int64 // -1 when unknown
	Rate  float64
	Left  time.Duration // -1 when unknown
}

// Outcome is what a merge came to.
type Outcome struct {
	Proof  []Proof      `json:"proof"`
	Copied int64        `json:"copied"` // rows, by this call
	Notes  []string     `json:"notes"`  // what is left to do
	Rekeys []*plan.Plan `json:"-"`      // one for each of from whose ids clash, nil for others: to be run before the merge is tried again
	Widen  *plan.Plan   `json:"-"`      // of Into, where its columns are too narrow for these new ids: to be run before, too
}

// Proof is what was found of a table's ids.
type Proof struct {
	Table   string    `json:"table"`
	Rows    []int64   `json:"rows"`            // of Into, then of each of from
	Nodes   [][]int64 `json:"nodes"`           // that their ids have, where all ids are snowflakes of the layout; none for keys that are no integer
	Clashes int64     `json:"clashes"`         // keys that two of them have; those that a merge before has copied are none
	First   int64     `json:"first,omitempty"` // the least of these, of an integer key
	Text    string    `json:"text"`            // what is proved, in a sentence
}

const defaultBelow = 1 << 42 // as package plan has it

// Run proves that no id of from is in into or in another of from, and copies their rows. It can be killed and called again, as often as
// need be. When the context ends it stops after the batch that it is in, or without it; the error is the context's then.
//
// Where keys clash nothing is copied, the error wraps [ErrClash], and the Outcome has the plans that make them disjoint, or the error says why there
// is none. Otherwise the error wraps [ErrOption], [ErrSchema] or [ErrCopied], or is a database's. The Outcome holds what was found and done
// before the error.
//
// It is not for two calls at once: the second fails in its first batch.
func Run(ctx context.Context, into *gorm.DB, from []*gorm.DB, o Options) (Outcome, error) {
	m := &merger{options: o}
	clashing, err := m.merge(ctx, into, from)
	m.close() // before plans are made: a pool may have one connection alone
	if err == nil && clashing != nil {
		err = m.plan(ctx, into, from, clashing)
		err = errors.Join(clashing.err(m.outcome.Proof), err)
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return m.outcome, err
}

// merger is one call of Merge.
type merger struct {
	options Options
	layout  idgen.Layout
	below   int64   // ids from here on are snowflakes
	sides   []*side // Into first
	tables  []*table
	journal journal
	outcome Outcome
	size    int // rows of a batch
}

// merge does all but planning; clashing is not nil when keys clash.
func (m *merger) merge(ctx context.Context, into *gorm.DB, from []*gorm.DB) (*clashing, error) {
	if err := m.prepare(ctx, into, from); err != nil {
		return nil, err
	}
	found, err := m.prove(ctx)
	if err != nil || found.any() {
		return found, err
	}
	if m.options.Dry {
		return nil, nil
	}
	return nil, m.copy(ctx)
}

// prepare checks the options, opens the databases and compares their schemas.
func (m *merger) prepare(ctx context.Context, into *gorm.DB, from []*gorm.DB) error {
	o := &m.options
	if into == nil || len(from) == 0 {
		return fmt.Errorf("%w: a merge needs a database to merge into, and one or more to merge", ErrOption)
	}
	if o.Target < 0 {
		return fmt.Errorf("%w: the target %s is negative", ErrOption, o.Target)
	}
	o.Target, m.layout, m.below = cmp.Or(o.Target, 500*time.Millisecond), cmp.Or(o.Layout, idgen.Snowkey.Layout), cmp.Or(o.Plan.Below, defaultBelow)
	for i, db := range append([]*gorm.DB{into}, from...) {
		s, err := open(ctx, i, db)
		if err != nil {
			return err
		}
		m.sides = append(m.sides, s)
	}
	if err := m.apart(); err != nil {
		return err
	}
	for _, s := range m.sides {
		if err := s.prepare(ctx); err != nil {
			return err
		}
	}
	if err := m.schema(ctx); err != nil {
		return err
	}
	return m.journal.open(ctx, m.sides[0], m.options.Dry)
}

// apart refuses databases of several dialects, and one that is given twice.
func (m *merger) apart() error {
	for i, s := range m.sides {
		if s.dialect != m.sides[0].dialect {
			return fmt.Errorf("%w: %s is of %s and %s of %s: only databases of one kind are merged", ErrOption, m.sides[0].label, m.sides[0].dialect, s.label, s.dialect)
		}
		for _, other := range m.sides[:i] {
			if s.source == other.source || s.pool == other.pool {
				return fmt.Errorf("%w: %s is the same database as %s", ErrOption, s.label, other.label)
			}
		}
	}
	return nil
}

// close gives the connections back.
func (m *merger) close() {
	for _, s := range m.sides {
		s.close()
	}
}

// report tells how far something is.
func (m *merger) report(doing string, rows, total int64, since time.Time) {
	if m.options.Progress == nil {
		return
	}
	p := Progress{Doing: doing, Rows: rows, Total: total, Left: -1}
	if took := time.Since(since).Seconds(); took > 0 {
		p.Rate = float64(rows) / took
	}
	if total >= rows && p.Rate > 0 {
		p.Left = time.Duration(float64(total-rows) / p.Rate * float64(time.Second))
	}
	m.options.Progress(p)
}

// list joins words as a sentence has them.
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
