package run_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	gomysql "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/internal/journal"
	"github.com/snowkey-go/snowkey/migrate/internal/run"
	"github.com/snowkey-go/snowkey/migrate/plan"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// A transaction that fails in its second statement leaves nothing of its first, and no open transaction in the pool.
func TestTogetherFails(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		if w.dialect == dialect.SQLite {
			w.db.SetMaxOpenConns(1)
		}
		before := w.contents(t)
		w.plan.Steps = []plan.Step{{Title: "both", Do: plan.Action{Kind: plan.Transactional, RowsOnly: true, SQL: []string{"UPDATE child SET visits = 7", "UPDATE nowhere SET visits = 7"}}}}
		for range 2 {
			_, err := run.Plan(t.Context(), w.db, w.plan, fast)
			if err == nil || !strings.Contains(err.Error(), "nowhere") || !strings.Contains(err.Error(), "run again goes on at step 1 of 1") {
				t.Errorf("got %v, want it to name the table, and how to go on", err)
			}
			w.want(t, before)
		}
		w.exec(t, "UPDATE child SET visits = 1 WHERE id = 1")
	})
}

// What an attempt that failed has left is repaired by the next run, and by a rollback; a first attempt has nothing to repair.
func TestRepair(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		dbtest.LongOn(t, w.base.Kind, "postgres")
		before := w.contents(t)
		w.plan.Steps = w.plan.Steps[:3]
		apart := &w.plan.Steps[2].Do
		apart.Repair = append(apart.Repair, "UPDATE parent SET name = 'repaired' WHERE id = 1")
		repaired := func() bool { return w.number(t, "SELECT COUNT(*) FROM parent WHERE name = 'repaired'") == 1 }
		fail := func() {
			t.Helper()
			db := w.through(t, func(query string, do func() error) error {
				if query == apart.SQL[0] {
					return errLost
				}
				return do()
			})
			if _, err := run.Plan(t.Context(), db, w.plan, fast); !errors.Is(err, errLost) {
				t.Fatalf("got %v, want the connection's", err)
			}
		}
		fail()
		if repaired() {
			t.Error("the first attempt has repaired")
		}
		finish(t, w.db, w.plan, run.Rollback)
		if !repaired() {
			t.Error("the rollback has not repaired")
		}
		_, steps := w.journal(t)
		for _, s := range steps {
			if s.State != journal.StepUndone {
				t.Errorf("got %+v, want it undone", s)
			}
		}
		w.exec(t, "UPDATE parent SET name = 'parent 1' WHERE id = 1")
		w.want(t, before)
		fail()
		w.run(t)
		if !repaired() {
			t.Error("the next run has not repaired")
		}
		finish(t, w.db, w.plan, run.Rollback)
		w.exec(t, "UPDATE parent SET name = 'parent 1' WHERE id = 1")
		w.want(t, before)
	})
}

// threeColumns returns the action of three statements that commit by themselves, and the one that undoes them.
func (w *world) threeColumns() (do, undo plan.Action) {
	do.Kind, undo.Kind = plan.Autocommit, plan.Autocommit
	for _, column := range []string{"one", "two", "three"} {
		there := strings.ReplaceAll(w.of("SELECT COUNT(*) FROM pragma_table_info('child') WHERE name = 'NAME'",
			"SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'child' AND column_name = 'NAME'",
			"SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = 'child' AND column_name = 'NAME'"), "NAME", column)
		do.SQL, do.Applied = append(do.SQL, "ALTER TABLE child ADD COLUMN "+column+" bigint"), append(do.Applied, there)
		undo.SQL, undo.Applied = append(undo.SQL, "ALTER TABLE child DROP COLUMN "+column), append(undo.Applied, "SELECT 1 - ("+there+")")
	}
	return do, undo
}

// The first of several statements that commit by themselves is fenced. A run that takes over amid them waits for the rest, and then goes on or
// undoes them; none is run twice.
func TestTakenOverAmidSeveral(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	for _, kind := range []string{"mysql", "postgres"} { // SQLite has no locks of sessions: each statement is fenced
		for name, other := range map[string]doing{"run": run.Plan, "rollback": run.Rollback} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, kind)
				before := w.contents(t)
				do, undo := w.threeColumns()
				w.plan.Steps = []plan.Step{{Title: "three columns", Do: do, Undo: &undo}}
				w.run(t)
				want := w.contents(t)
				finish(t, w.db, w.plan, run.Rollback)
				if name == "rollback" {
					want = before
				}
				altered, waits, ended := 0, make(chan struct{}, 1000), make(chan error, 1)
				o := fast
				o.Progress = func(p run.Progress) {
					if p.Waits != "" {
						waits <- struct{}{}
					}
				}
				db := w.through(t, func(query string, next func() error) error {
					if !strings.HasPrefix(query, "ALTER TABLE child ADD") {
						return next()
					}
					if altered++; altered == 2 {
						holder, err := w.dialect.LockHolder(t.Context(), w.db, dialect.RunLock)
						if err != nil || holder == 0 {
							t.Errorf("got %d, %v, want the session with the run's lock", holder, err)
						}
						w.exec(t, fmt.Sprintf(w.of("", "KILL %d", "SELECT pg_terminate_backend(%d)"), holder))
						go func() {
							_, err := other(t.Context(), w.db, w.plan, o)
							ended <- err
						}()
						select {
						case <-waits:
						case err := <-ended:
							t.Errorf("the run that takes over did not wait: %v", err)
							ended <- err
						}
					}
					return next()
				})
				if _, err := run.Plan(t.Context(), db, w.plan, fast); !errors.Is(err, journal.ErrLost) || altered != 3 {
					t.Errorf("got %d statements and %v, want 3 and ErrLost", altered, err)
				}
				if err := <-ended; err != nil {
					t.Error(err)
				}
				w.want(t, want)
			})
		}
	}
}

// Of several statements that commit by themselves, a run that goes on, and a rollback, leave out those whose effect is there; one that does
// not get its lock does not keep the others back.
func TestSeveralApart(t *testing.T) {
	dbtest.Long(t)
	everywhere(t, func(t *testing.T, w *world) {
		before := w.contents(t)
		do, undo := w.threeColumns()
		w.plan.Steps = []plan.Step{{Title: "three columns", Do: do, Undo: &undo}}
		var done []string
		var fails func(query string) error
		db := w.through(t, func(query string, next func() error) error {
			if !strings.HasPrefix(query, "ALTER TABLE child ") {
				return next()
			}
			if err := fails(query); err != nil {
				return err
			}
			done = append(done, query)
			return next()
		})
		lost := func() {
			t.Helper()
			fails = func(query string) error {
				if query == do.SQL[1] {
					return errLost
				}
				return nil
			}
			if _, err := run.Plan(t.Context(), db, w.plan, fast); !errors.Is(err, errLost) {
				t.Fatalf("got %v, want the connection's", err)
			}
			done, fails = nil, func(string) error { return nil }
		}
		lost()
		finish(t, db, w.plan, run.Rollback)
		if want := undo.SQL[:1]; !slices.Equal(done, want) {
			t.Errorf("the rollback did %q, want %q", done, want)
		}
		w.want(t, before)
		lost()
		finish(t, db, w.plan, run.Plan)
		if want := do.SQL[1:]; !slices.Equal(done, want) {
			t.Errorf("the next run did %q, want %q", done, want)
		}
		done = nil
		finish(t, db, w.plan, run.Rollback)
		w.want(t, before)
		waits := map[dialect.Dialect]error{dialect.MySQL: &gomysql.MySQLError{Number: 1205}, dialect.Postgres: &pgconn.PgError{Code: "55P03"}}[w.dialect]
		if waits == nil { // SQLite has one lock
			return
		}
		done = nil
		fails = func(query string) error {
			if query == do.SQL[0] && len(done) < 2 {
				return waits
			}
			return nil
		}
		finish(t, db, w.plan, run.Plan)
		if want := []string{do.SQL[1], do.SQL[2], do.SQL[0]}; !slices.Equal(done, want) {
			t.Errorf("beside a lock the run did %q, want %q", done, want)
		}
	})
}
