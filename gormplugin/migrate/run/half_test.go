package run_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/gormplugin/migrate/journal"
	"github.com/snowkey-go/snowkey/gormplugin/migrate/plan"
	"github.com/snowkey-go/snowkey/gormplugin/migrate/run"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// A transaction that fails in its second statement leaves nothing of its first, and no open transaction in the pool.
func TestTogetherFails(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		if w.dialect == dialect.SQLite {
			w.db.SetMaxOpenConns(1)
		}
		before := w.contents(t)
		w.plan.Steps = []plan.Step{{Title: "both", Do: plan.Action{Kind: plan.Together, SQL: []string{"UPDATE child SET visits = 7", "UPDATE nowhere SET visits = 7"}}}}
		for range 2 {
			_, err := run.Run(t.Context(), w.db, w.plan, fast)
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
			if _, err := run.Run(t.Context(), db, w.plan, fast); !errors.Is(err, errLost) {
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
