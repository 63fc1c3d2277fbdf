package run_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/migrate/internal/journal"
	"github.com/snowkey-go/snowkey/migrate/internal/mapping"
	"github.com/snowkey-go/snowkey/migrate/internal/run"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// A run passes the hold that it stands at, and no other: not one that it has not reached, or that it reaches itself. What it refuses it refuses
// before it writes.
func TestContinue(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		dbtest.LongOn(t, w.base.Kind, "postgres")
		hold := func(name string) plan.Step {
			return plan.Step{Title: name, Do: plan.Action{Kind: plan.Hold, Name: name, Text: "Do " + name + "."}}
		}
		stops := plan.Step{Title: "stops", Do: plan.Action{Kind: plan.Assert, Queries: []plan.Query{{About: "words", SQL: "SELECT COUNT(*) FROM parent WHERE name = 'go'"}}, Want: 1, OnFailure: "Say it."}}
		w.plan.Steps = []plan.Step{hold("first"), hold("second"), stops, hold("third"), stops}
		do := func(name string) (run.Outcome, error) {
			t.Helper()
			o := fast
			o.Continue = name
			return run.Plan(t.Context(), w.db, w.plan, o)
		}
		refused := func(name, stands, reason string) {
			t.Helper()
			before := w.everything(t)
			_, err := do(name)
			var hold *run.HoldError
			if !errors.As(err, &hold) || hold.Stands != stands || !errors.Is(err, run.ErrOption) || !strings.Contains(err.Error(), reason) || strings.Contains(err.Error(), "Continue") {
				t.Errorf("Continue %q: got %v, want that it stands at %q, %q, in words that a command has, too", name, err, stands, reason)
			}
			if now := w.everything(t); now != before {
				t.Errorf("Continue %q: got %s, want that nothing was written, %s", name, now, before)
			}
		}
		held := func(name, want string) {
			t.Helper()
			outcome, err := do(name)
			if err != nil || outcome.Hold != want || outcome.Held != "Do "+want+"." {
				t.Errorf("Continue %q: got %+v, %v, want it held at %q", name, outcome, err, want)
			}
		}
		stopped := func(name string) {
			t.Helper()
			if _, err := do(name); !errors.Is(err, run.ErrAssertion) {
				t.Errorf("Continue %q: got %v, want ErrAssertion", name, err)
			}
		}
		refused(plan.Here, "", "it was not begun")
		refused("first", "", "it was not begun")
		refused("fourth", "", `no hold "fourth", it has first, second, third`)
		held("", "first")
		held("", "first") // it does not go on by itself
		refused("second", "first", `stands at the hold "first", step 1 of 5, and not at "second". Do first. Once that is done, continue with its name`)
		held("first", "second")
		refused("first", "second", `and not at "first"`)
		stopped(plan.Here) // which has passed the second, and reached no other
		refused(plan.Here, "", "ended before step 3 of 5 (stops)")
		refused("third", "", "ended before step 3 of 5 (stops)")
		refused("second", "", "ended before step 3 of 5 (stops)") // not what is passed either
		stopped("")
		w.exec(t, "UPDATE parent SET name = 'go' WHERE id = 1")
		held("", "third")
		w.exec(t, "UPDATE parent SET name = 'stay' WHERE id = 1")
		stopped("third")
		w.exec(t, "UPDATE parent SET name = 'go' WHERE id = 1")
		refused("third", "", "ended before step 5 of 5 (stops)")
		if outcome, err := do(""); err != nil || !outcome.Done {
			t.Errorf("got %+v, %v, want it done", outcome, err)
		}
		finish(t, w.db, w.plan, run.Rollback)
		refused("first", "", "it was not begun") // anew: what was passed before the rollback is not
		held("", "first")
	})
}

// everything returns all of the journal, and the contents.
func (w *world) everything(t *testing.T) string {
	t.Helper()
	text := w.contents(t)
	if w.has(t, journal.PlansTable) {
		plans, steps := w.journal(t)
		text = fmt.Sprint(plans, steps, text)
	}
	return text
}

// What is expected is looked at again by the next run.
func TestExpect(t *testing.T) {
	w := newWorld(t, "sqlite")
	w.plan.Steps = []plan.Step{
		{Title: "count", Do: plan.Action{Kind: plan.Count, Queries: []plan.Query{asks("children", "SELECT COUNT(*) FROM child"), asks("fours", "SELECT 4"), asks("fives", "SELECT 5")}}},
		{Title: "nobody", Do: plan.Action{Kind: plan.Assert, Queries: []plan.Query{
			{About: "parents of the number …", Names: []string{"5"}, SQL: "SELECT COUNT(*) FROM parent WHERE id = 5", Remedy: "DELETE FROM parent"}, {About: "none", SQL: "SELECT 0"},
			{About: "parents of the numbers 5 and 6", SQL: "SELECT COUNT(*) FROM parent WHERE id IN (5, 6)"}}, OnFailure: "Take them away."}},
		{Title: "as many", Do: plan.Action{Kind: plan.Assert, Queries: []plan.Query{asks("fives", "SELECT 5"), asks("children", "SELECT COUNT(*) FROM child")}, Baseline: 1}},
		{Title: "as many again", Do: plan.Action{Kind: plan.Assert, Queries: []plan.Query{asks("fours", "SELECT 4"), asks("fives", "SELECT 4")}, Baseline: 1}},
	}
	_, err := run.Plan(t.Context(), w.db, w.plan, fast)
	const differ = "parents of the number 5: got 1, want 0 (DELETE FROM parent); parents of the numbers 5 and 6: got 2, want 0. Take them away."
	if !errors.Is(err, run.ErrAssertion) || !strings.Contains(err.Error(), differ) || !strings.Contains(err.Error(), "run again goes on at step 2 of 4") {
		t.Errorf("got %v, want ErrAssertion, all that differs, and how to go on", err)
	}
	w.exec(t, "DELETE FROM parent WHERE id IN (5, 6)")
	outcome, err := run.Plan(t.Context(), w.db, w.plan, fast)
	if !errors.Is(err, run.ErrAssertion) || !strings.Contains(err.Error(), "fives: got 4, want 5") || outcome.Step != 3 {
		t.Errorf("got %+v, %v, want ErrAssertion after step 3", outcome, err)
	}
}

// A value that changes within the window stops the run.
func TestSteady(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		const query = "SELECT COUNT(*) FROM parent"
		w.plan.Steps = []plan.Step{{Title: "steady", Do: plan.Action{Kind: plan.AssertStable, Window: 50 * time.Millisecond, OnFailure: "Somebody writes.",
			Queries: []plan.Query{asks("children", "SELECT COUNT(*) FROM child"), asks("parents", query), asks("parent.id", "SELECT MAX(id) FROM parent")}}}}
		asked := 0
		db := w.through(t, func(text string, do func() error) error {
			if text == query {
				if asked++; asked == 2 {
					if _, err := w.db.Exec("INSERT INTO parent VALUES (100000, 'late')"); err != nil {
						return err
					}
				}
			}
			return do()
		})
		_, err := run.Plan(t.Context(), db, w.plan, fast)
		if !errors.Is(err, run.ErrAssertion) || !strings.Contains(err.Error(), "Somebody writes.") || !strings.Contains(err.Error(), "parents moved from 900 to 901, about ") ||
			!strings.Contains(err.Error(), "; parent.id moved from 900 to 100000, about ") || strings.Contains(err.Error(), "children") {
			t.Errorf("got %v, want ErrAssertion with each value that moved", err)
		}
		w.run(t)
	})
}

// The window of a run that passes a hold begins before the run looks whether it may: what is written from then on is seen, and what the looks take is
// not waited for once more. On SQLite it does, too, but nobody can write while the run takes the plan.
func TestSteadyBeginsWithTheRun(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"mysql", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			const query = "SELECT COUNT(*) FROM parent"
			const window = 200 * time.Millisecond
			w := newWorld(t, kind)
			w.plan.Steps = []plan.Step{
				{Title: "hold", Do: plan.Action{Kind: plan.Hold, Name: plan.DeployWriters, Text: "Deploy now."}},
				{Title: "steady", Do: plan.Action{Kind: plan.AssertStable, Window: window, OnFailure: "Somebody writes.", Queries: []plan.Query{asks("parents", query)}}},
			}
			if outcome, err := run.Plan(t.Context(), w.db, w.plan, fast); err != nil || outcome.Hold != plan.DeployWriters {
				t.Fatalf("got %+v, %v, want the hold", outcome, err)
			}
			passes := fast
			passes.Continue = plan.DeployWriters
			looks := 0
			through := func(meanwhile func()) error { // what is done when the run takes the plan
				looks = 0
				_, err := run.Plan(t.Context(), w.through(t, func(text string, do func() error) error {
					if text == query {
						looks++
					}
					if strings.HasPrefix(text, "UPDATE snowkey_migrate SET runner = ") {
						meanwhile()
					}
					return do()
				}), w.plan, passes)
				return err
			}
			err := through(func() { w.exec(t, "INSERT INTO parent VALUES (100000, 'early')") })
			if !errors.Is(err, run.ErrAssertion) || !strings.Contains(err.Error(), "parents moved from 900 to 901") {
				t.Errorf("got %v, want ErrAssertion for a row that came while the run began", err)
			}
			passes.Continue = "" // the hold is passed
			if err := through(func() { time.Sleep(window) }); err != nil || looks != 2 {
				t.Errorf("got %d looks and %v, want one before the run took the plan, and one after it", looks, err)
			}
		})
	}
}

// Rows that come behind a range are found by another pass; where they never end, the run stops.
func TestAgain(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		dbtest.LongOn(t, w.base.Kind, "sqlite")
		dbtest.LongOn(t, w.base.Kind, "postgres")
		w.plan.Steps = w.plan.Steps[:4]
		w.exec(t, "DELETE FROM parent WHERE id = 3")
		came := false
		db := w.through(t, func(text string, do func() error) error {
			if err := do(); err != nil || !strings.HasPrefix(text, "COMMIT") || came || !w.has(t, "map_parent") || w.number(t, "SELECT COUNT(*) FROM map_parent") == 0 {
				return err
			}
			came = true
			_, err := w.db.Exec("INSERT INTO parent VALUES (3, 'late')")
			return err
		})
		if _, err := run.Plan(t.Context(), db, w.plan, fast); err != nil || !came {
			t.Fatalf("got %v", err)
		}
		_, steps := w.journal(t)
		if got := w.number(t, "SELECT COUNT(*) FROM map_parent"); got != rowCount || steps[3].Pass != 1 {
			t.Errorf("got %d rows mapped and %+v, want %d rows in two passes", got, steps[3], rowCount)
		}
		finish(t, w.db, w.plan, run.Rollback)
		w.plan.Steps[3].Do.Remaining = "SELECT 1"
		_, err := run.Plan(t.Context(), w.db, w.plan, run.Options{})
		if !errors.Is(err, run.ErrAssertion) || !strings.Contains(err.Error(), "after 10 passes") {
			t.Errorf("got %v, want ErrAssertion", err)
		}
	})
}

// Maps are filled in ranges, after the rows were surveyed; rows that cannot be mapped stop the run before anything is written.
func TestMap(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		dbtest.LongOn(t, w.base.Kind, "postgres")
		w.exec(t, "CREATE TABLE dated (id bigint NOT NULL PRIMARY KEY, created_at "+w.of("datetime", "datetime(3)", "timestamptz")+" NULL)")
		var values []string
		for i := 1; i <= rowCount; i++ {
			values = append(values, fmt.Sprintf("(%d, '2026-03-01 10:%02d:%02d')", i, i/60, i%60))
		}
		w.exec(t, "INSERT INTO dated VALUES "+strings.Join(values, ","), "INSERT INTO dated VALUES (100000, NULL)")
		makeMap, dropMap := w.makeMap()
		w.plan.Keys = []plan.Key{{Table: "dated", Column: "id", Created: "created_at", Zone: "UTC", Unit: time.Second, Below: 1 << 42, Map: "map_parent"}}
		w.plan.Steps = []plan.Step{{Title: "make the map", Do: makeMap, Undo: &dropMap}, {Title: "fill the map", Do: plan.Action{Kind: plan.FillMap, Table: "dated"}, Kept: "The map goes."}}
		before := w.contents(t)
		if _, err := run.Plan(t.Context(), w.db, w.plan, fast); !errors.Is(err, mapping.ErrRefused) {
			t.Errorf("got %v, want ErrRefused", err)
		}
		w.untouched(t, before)
		w.exec(t, "DELETE FROM dated WHERE id = 100000")
		// The second range is not committed at first.
		commits := 0
		db := w.through(t, func(text string, do func() error) error {
			if strings.HasPrefix(text, "COMMIT") {
				if commits++; commits == 6 {
					return errLost
				}
			}
			return do()
		})
		if _, err := run.Plan(t.Context(), db, w.plan, fast); !errors.Is(err, errLost) {
			t.Errorf("got %v, want the connection's", err)
		}
		w.run(t)
		if got := w.number(t, "SELECT COUNT(*) FROM dated AS d JOIN map_parent AS m ON m.old_id = d.id"); got != rowCount {
			t.Errorf("got %d rows mapped, want %d", got, rowCount)
		}
		_, steps := w.journal(t)
		if len(steps) != 2 || steps[1].Rows != rowCount || steps[1].Cursor != rowCount {
			t.Errorf("got %+v, want %d rows", steps, rowCount)
		}
		finish(t, w.db, w.plan, run.Rollback)
		w.want(t, before)
	})
}
