package run_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/migrate/internal/journal"
	"github.com/snowkey-go/snowkey/migrate/internal/run"
)

// points is at how many statements of a run something happens.
func (w *world) points() int64 {
	return map[string]int64{"sqlite": 20, "mysql": 3, "postgres": 2}[w.dialect.String()]
}

// disturbed runs and rolls back again and again. In each round something happens at a later statement of the run, and of the rollback,
// which may end before; both are then run again to their end.
func disturbed(t *testing.T, w *world, disturb func(cancel context.CancelFunc, after bool, do func() error) error, check func(*testing.T, error)) {
	t.Helper()
	before := w.contents(t)
	var total atomic.Int64
	finish(t, w.through(t, func(_ string, do func() error) error {
		total.Add(1)
		return do()
	}), w.plan, run.Plan)
	after := w.contents(t)
	finish(t, w.db, w.plan, run.Rollback)
	for i := range w.points() {
		n := 1 + (2*i+1)*total.Load()/(2*w.points())
		for _, undo := range []bool{false, true} {
			do, want := run.Plan, after
			if undo {
				do, want = run.Rollback, before
			}
			ctx, cancel := context.WithCancel(t.Context())
			var count atomic.Int64
			db := w.through(t, func(query string, do func() error) error {
				if count.Add(1) != n {
					return do()
				}
				return disturb(cancel, (i%2 == 1) != undo, do)
			})
			outcome, err := passing(do)(ctx, db, w.plan, fast)
			cancel()
			if err != nil {
				check(t, err)
			}
			if err == nil && !outcome.Done {
				t.Fatalf("statement %d: got %+v, want it done", n, outcome)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			finish(t, w.db, w.plan, do)
			w.want(t, want)
		}
	}
}

// A context may end before any statement, or after it.
func TestCanceled(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing is disturbed at every statement with -short")
	}
	everywhere(t, func(t *testing.T, w *world) {
		dbtest.LongOn(t, w.base.Kind, "sqlite")
		dbtest.LongOn(t, w.base.Kind, "postgres")
		disturbed(t, w, func(cancel context.CancelFunc, after bool, do func() error) error {
			if after {
				err := do()
				cancel()
				return err
			}
			cancel()
			return do()
		}, func(t *testing.T, err error) {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want the context's", err)
			}
			if strings.Contains(err.Error(), "run: step") && !strings.Contains(err.Error(), " again goes on at step ") {
				t.Errorf("got %v, want it to say how to go on", err)
			}
		})
	})
}

// A connection may be lost before any statement, or after it, COMMIT among them: whether it was written the next run reads in the journal.
func TestConnectionLost(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing is disturbed at every statement with -short")
	}
	everywhere(t, func(t *testing.T, w *world) {
		dbtest.LongOn(t, w.base.Kind, "postgres")
		disturbed(t, w, func(_ context.CancelFunc, after bool, do func() error) error {
			if after {
				if err := do(); err != nil {
					return err
				}
			}
			return errLost
		}, func(t *testing.T, err error) {
			if !errors.Is(err, errLost) && !errors.Is(err, driver.ErrBadConn) && !errors.Is(err, journal.ErrLost) {
				t.Errorf("got %v, want the connection's", err)
			}
		})
	})
}

var errLost = errors.New("the connection was lost")

// A second run of the same plan, or its rollback, finds the first at work.
func TestTwoRunners(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		dbtest.LongOn(t, w.base.Kind, "postgres")
		asked := false
		o := fast
		o.Progress = func(run.Progress) {
			if asked {
				return
			}
			asked = true
			if _, err := run.Plan(t.Context(), w.db, w.plan, fast); !errors.Is(err, journal.ErrRunning) {
				t.Errorf("got %v, want ErrRunning", err)
			}
			if _, err := run.Rollback(t.Context(), w.db, w.plan, fast); !errors.Is(err, journal.ErrRunning) {
				t.Errorf("got %v, want ErrRunning", err)
			}
		}
		if _, err := run.Plan(t.Context(), w.db, w.plan, o); err != nil || !asked {
			t.Errorf("got %v, asked %t", err, asked)
		}
	})
}

// A runner that was taken over writes nothing from then on, whichever transaction it begins.
func TestTakenOver(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing is disturbed at every statement with -short")
	}
	everywhere(t, func(t *testing.T, w *world) {
		dbtest.LongOn(t, w.base.Kind, "sqlite")
		dbtest.LongOn(t, w.base.Kind, "postgres")
		before := w.contents(t)
		w.run(t)
		after := w.contents(t)
		finish(t, w.db, w.plan, run.Rollback)
		for n, met := 1, true; met; n += int(40 / w.points()) {
			met = false
			count, held := 0, ""
			db := w.through(t, func(query string, do func() error) error {
				if query == w.dialect.BeginWrite() {
					if !w.has(t, journal.PlansTable) || w.number(t, "SELECT COUNT(*) FROM "+journal.PlansTable+" WHERE state = 'running'") == 0 {
						return do()
					}
					if count++; count == n {
						met = true
						w.exec(t, "UPDATE "+journal.PlansTable+" SET runner = 'another:1:0-0'")
						held = w.contents(t)
					}
				}
				return do()
			})
			_, err := passing(run.Plan)(t.Context(), db, w.plan, fast)
			if met {
				if !errors.Is(err, journal.ErrLost) && !errors.Is(err, journal.ErrRunning) { // the second: in the transaction that takes over, behind a hold
					t.Errorf("transaction %d: got %v, want ErrLost or ErrRunning", n, err)
				}
				w.want(t, held)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			w.run(t)
			w.want(t, after)
			finish(t, w.db, w.plan, run.Rollback)
			w.want(t, before)
		}
	})
}

// The connection may be lost in any COMMIT, of which nobody then knows whether it was made.
func TestCommitLost(t *testing.T) {
	dbtest.Long(t)
	if testing.Short() {
		t.Skip("nothing is disturbed at every statement with -short")
	}
	t.Parallel()
	w := newWorld(t, "sqlite")
	w.plan.Steps = w.plan.Steps[:10] // without the table of grants, whose transactions are its own
	before := w.contents(t)
	w.run(t)
	after := w.contents(t)
	finish(t, w.db, w.plan, run.Rollback)
	for n, met := 1, true; met; n++ {
		met = false
		for _, made := range []bool{false, true} {
			commits := 0
			db := w.through(t, func(query string, do func() error) error {
				if !strings.HasPrefix(query, "COMMIT") {
					return do()
				}
				if commits++; commits != n {
					return do()
				}
				met = true
				if made {
					if err := do(); err != nil {
						return err
					}
				}
				return errLost
			})
			if _, err := passing(run.Plan)(t.Context(), db, w.plan, fast); met != (err != nil) || met && !strings.Contains(err.Error(), "the journal knows") {
				t.Errorf("commit %d: got %v", n, err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			w.run(t)
			w.want(t, after)
			finish(t, w.db, w.plan, run.Rollback)
			w.want(t, before)
		}
	}
	if plans, _ := w.journal(t); len(plans) != 1 {
		t.Errorf("got %+v", plans)
	}
}
