package run_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"testing"

	"github.com/snowkey-go/snowkey/migrate/internal/journal"
	"github.com/snowkey-go/snowkey/migrate/internal/run"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// A run ends at the hold, goes on past it with Continue, and is undone to what was there before.
func TestRunAndRollback(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		before := w.contents(t)
		for range 2 { // the second finds the hold again
			outcome, err := run.Plan(t.Context(), w.db, w.plan, fast)
			if err != nil || outcome.Done || outcome.Hold != plan.DeployWriters || outcome.Held != "Deploy now." || outcome.Step != 8 {
				t.Fatalf("got %+v, %v, want it held after step 8", outcome, err)
			}
		}
		if got := w.number(t, "SELECT SUM(visits) FROM child"); got != rowCount {
			t.Fatalf("got %d visits, want %d", got, rowCount)
		}
		if got := w.number(t, "SELECT COUNT(*) FROM parent AS p JOIN map_parent AS m ON m.new_id = p.id"); got != rowCount {
			t.Fatalf("got %d parents with new ids, want %d", got, rowCount)
		}
		w.wantText(t)
		if _, steps := w.journal(t); len(steps) != 9 || steps[8].State != journal.StepHeld {
			t.Errorf("got steps %+v, want the last of nine held", steps)
		}
		outcome := w.run(t)
		if outcome.Step != len(w.plan.Steps) || outcome.Rows != 2*rowCount {
			t.Errorf("got %+v, want the last step and %d rows", outcome, 2*rowCount)
		}
		if outcome := w.run(t); outcome.Rows != 0 {
			t.Errorf("got %+v of a plan that was done, want nothing changed", outcome)
		}
		plans, steps := w.journal(t)
		if len(plans) != 1 || plans[0].State != journal.Done || len(steps) != len(w.plan.Steps) || plans[0].Fingerprint != w.fingerprint(t) || steps[0].Found != "[7,1]" {
			t.Errorf("got plans %+v, steps %+v", plans, steps)
		}
		finish(t, w.db, w.plan, run.Rollback)
		w.want(t, before)
		if plans, _ := w.journal(t); plans[0].State != journal.Undone {
			t.Errorf("got %+v, want it undone", plans)
		}
		finish(t, w.db, w.plan, run.Rollback) // there is nothing left to do
		w.run(t)                              // and the plan may be run anew
		if plans, steps := w.journal(t); len(plans) != 1 || len(steps) != len(w.plan.Steps) {
			t.Errorf("got plans %+v, steps %+v", plans, steps)
		}
	})
}

// A plan for a schema that needs nothing has no steps: it is done at once, undone at once, and leaves nothing. It is still for one database.
func TestNothingToDo(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		before := w.contents(t)
		w.plan.Steps = nil
		for _, do := range []doing{run.Plan, run.Rollback, run.Plan} {
			if outcome := finish(t, w.db, w.plan, do); outcome.Step != 0 || outcome.Rows != 0 {
				t.Errorf("got %+v, want no step", outcome)
			}
		}
		w.untouched(t, before)
		w.plan.Database.ID += "x"
		for _, do := range []doing{run.Plan, run.Rollback} {
			if _, err := do(t.Context(), w.db, w.plan, fast); !errors.Is(err, run.ErrDatabase) {
				t.Errorf("got %v for another database, want ErrDatabase", err)
			}
		}
	})
}

type doing = func(context.Context, *sql.DB, *plan.Plan, run.Options) (run.Outcome, error)

// Each step is reported as it begins, and what SQLite says of the rows of a CREATE, which is that of the statement before, is not counted.
func TestEachStepIsReported(t *testing.T) {
	w := newWorld(t, "sqlite")
	var want, got []int
	for i := range w.plan.Steps {
		want = append(want, i+1)
	}
	const create, drop = "CREATE TABLE besides (id INTEGER)", "DROP TABLE besides"
	w.plan.Steps[5].Do.Before, w.plan.Steps[5].Do.After = []string{create}, []string{drop}
	w.plan.Steps[1].Do.SQL = append(w.plan.Steps[1].Do.SQL, create, drop)
	o := fast
	o.Progress = func(p run.Progress) {
		if len(got) == 0 || got[len(got)-1] != p.Step {
			got = append(got, p.Step)
		}
	}
	outcome, err := passing(run.Plan)(t.Context(), w.db, w.plan, o)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want a report of each of %v", got, err, want)
	}
	_, steps := w.journal(t)
	if steps[1].Rows != 0 || steps[5].Rows != rowCount || steps[9].Rows != 2*rowCount {
		t.Errorf("got %d, %d and %d rows of steps 2, 6 and 10, of %d in all, want 0, %d and %d", steps[1].Rows, steps[5].Rows, steps[9].Rows, outcome.Rows, rowCount, 2*rowCount)
	}
}

// wantText compares the journal's text of the plan with the plan.
func (w *world) wantText(t *testing.T) {
	t.Helper()
	hash, err := w.plan.Hash()
	if err != nil {
		t.Fatal(err)
	}
	want, err := w.plan.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := journal.Text(t.Context(), w.db, w.dialect, hash); err != nil || got != string(want) {
		t.Errorf("got %.100q, %v, want the plan's text", got, err)
	}
}

func (w *world) journal(t *testing.T) ([]journal.Plan, []journal.Step) {
	t.Helper()
	hash, err := w.plan.Hash()
	if err != nil {
		t.Fatal(err)
	}
	plans, steps, err := journal.Read(t.Context(), w.db, w.dialect, hash)
	if err != nil {
		t.Fatal(err)
	}
	return plans, steps
}

// A rollback of what was never run, and one past a final step, are refused.
func TestRollbackRefused(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		if _, err := run.Rollback(t.Context(), w.db, w.plan, fast); !errors.Is(err, journal.ErrState) {
			t.Errorf("got %v, want ErrState", err)
		}
		w.plan.Steps[9].Final, w.plan.Steps[9].Undo, w.plan.Steps[9].Kept = true, nil, "The old names are gone."
		w.run(t)
		after := w.contents(t)
		if _, err := run.Rollback(t.Context(), w.db, w.plan, fast); !errors.Is(err, run.ErrFinal) {
			t.Errorf("got %v, want ErrFinal", err)
		}
		w.want(t, after)
	})
}
