package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/migrate/plan"
)

// flipShop is tables whose keys the database makes, on MySQL and PostgreSQL.
func flipShop(kind string) []string {
	key := map[string]string{"mysql": "INT NOT NULL AUTO_INCREMENT PRIMARY KEY", "postgres": "serial PRIMARY KEY", "sqlite": "INTEGER PRIMARY KEY AUTOINCREMENT"}[kind]
	at := map[string]string{"mysql": "TIMESTAMP NOT NULL DEFAULT '2025-06-01 00:00:00'", "postgres": "timestamptz NOT NULL DEFAULT '2025-06-01Z'", "sqlite": "TIMESTAMP NOT NULL DEFAULT '2025-06-01 00:00:00+00:00'"}[kind]
	return []string{
		"CREATE TABLE customers (id " + key + ", created_at " + at + ")",
		"CREATE TABLE orders (id " + key + ", created_at " + at + ", customer_id INT, CONSTRAINT fk_customer FOREIGN KEY (customer_id) REFERENCES customers (id))",
		"CREATE TABLE parcels (id " + key + ", created_at " + at + ", order_id INT, CONSTRAINT fk_order FOREIGN KEY (order_id) REFERENCES orders (id))",
		"CREATE TABLE reviews (id " + key + ", created_at " + at + ")",
	}
}

// TestOneWindow wants one look for writers that leave keys to the database, whatever the number of tables, right before the one step that ends
// these keys, and what is refused of writers as data and in words.
func TestOneWindow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind   string
		mode   plan.Mode
		window time.Duration
		filled bool // writers that fill keys are refused for a while
	}{
		{"mysql", plan.Widen, 2 * time.Second, true}, {"mysql", plan.Rekey, 2 * time.Second, true},
		{"postgres", plan.Widen, 10 * time.Second, false}, {"postgres", plan.Rekey, 10 * time.Second, false}, {"postgres", plan.Shadow, 10 * time.Second, false},
		{"sqlite", plan.Rekey, 10 * time.Second, false},
	} {
		t.Run(fmt.Sprintf("%s/%s", c.kind, c.mode), func(t *testing.T) {
			t.Parallel()
			p := open(t, c.kind, flipShop(c.kind)...).plan(plan.Options{Mode: c.mode, Zone: "UTC"})
			text, err := p.Text()
			if err != nil {
				t.Fatal(err)
			}
			steady := slices.IndexFunc(p.Steps, func(s plan.Step) bool { return s.Do.Kind == plan.AssertStable })
			for i, s := range p.Steps {
				if s.Do.Kind == plan.AssertStable && i != steady {
					t.Errorf("step %d (%s) looks once more", i+1, s.String())
				}
			}
			look := p.Steps[steady].Do
			if want := []string{"customers.id", "orders.id", "parcels.id", "reviews.id"}; !slices.Equal(slices.Sorted(slices.Values(abouts(look))), want) {
				t.Errorf("got a look at %q, want %q", abouts(look), want)
			}
			if look.Window != c.window || p.Steps[steady-1].Do.Kind != plan.Hold {
				t.Errorf("got the window %s after %q, want %s after a hold", look.Window, p.Steps[steady-1].String(), c.window)
			}
			if c.kind == "sqlite" { // which numbers rows whatever comes
				return
			}
			flip := steady + 2 // from 1
			ends := strings.Join(p.Steps[flip-1].Do.SQL, "\n")
			for _, table := range []string{"customers", "orders", "parcels", "reviews"} {
				if !strings.Contains(ends, table) {
					t.Errorf("the step after it does not end the keys of %s:\n%s", table, ends)
				}
			}
			want := []plan.Refusal{{Writers: plan.Keyless, From: flip}}
			var says []string
			if c.filled {
				gates := 1
				if c.mode == plan.Rekey { // whose node is taken first
					gates = 2
				}
				want = append(want, plan.Refusal{Writers: plan.Filling, From: gates, To: flip, Hold: steady, Most: 2200 * time.Millisecond})
				says = []string{"for about 2.2s of that run", fmt.Sprintf("until a run with --continue=deploy-writers has done step %d; deploy their writers at the hold of step", flip), "then for about 2.2s"}
			}
			if c.kind == "postgres" && c.mode != plan.Shadow {
				says = []string{"No insert that fills keys is refused. Those that leave keys to the database are, for good, once the run that goes on from here has looked for them for 10s.",
					"wait while it is written anew with wide columns: of ", "Where that is too long, --mode shadow is the way without"}
			}
			lines := strings.NewReplacer("\n--     ", " ").Replace(string(text))
			for _, words := range says {
				if !strings.Contains(lines, words) {
					t.Errorf("the plan does not say %q:\n%s", words, lines)
				}
			}
			if !slices.Equal(p.Refusals, want) {
				t.Errorf("got %+v, want %+v", p.Refusals, want)
			}
		})
	}
}

// TestGateOpensWithTheFlip tries to insert rows with keys, and without, before and after each statement that commits by itself: always one of the
// two comes in, and never both, for a snowflake beside the counter would move it. So it is when the plan is undone, up to the counter's return.
func TestGateOpensWithTheFlip(t *testing.T) {
	t.Parallel()
	s := open(t, "mysql", flipShop("mysql")...)
	p := s.plan(plan.Options{})
	tables := []string{"customers", "orders", "parcels", "reviews"}
	try := func(when string) {
		t.Helper()
		for _, table := range tables {
			in := func(statement string) bool {
				tx, err := s.Begin()
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = tx.Rollback() }()
				_, err = tx.Exec(statement)
				if err != nil && !strings.Contains(err.Error(), "no snowflakes in "+table) && !strings.Contains(err.Error(), "1364") && !strings.Contains(err.Error(), "1264") { // no default, and too great for 32 bits
					t.Errorf("%s: %s: %v", when, statement, err)
				}
				return err == nil
			}
			if keyless, filled := in("INSERT INTO "+table+" () VALUES ()"), in("INSERT INTO "+table+" (id) VALUES ("+snowflake+")"); keyless == filled {
				t.Errorf("%s: rows of %s come in without keys: %t, and with keys: %t", when, table, keyless, filled)
			}
		}
	}
	e := s.executor(p)
	tried := 0
	e.each = func(statement string) {
		if !strings.HasPrefix(statement, "CREATE TRIGGER") { // until the last gate is there a snowflake comes in anywhere
			try("after " + statement)
			tried++
		}
	}
	e.run(len(p.Steps))
	if tried < 2*len(tables) {
		t.Errorf("tried after %d statements", tried)
	}
	// The counter goes on where it was: no snowflake has moved it.
	s = open(t, "mysql", flipShop("mysql")...)
	p = s.plan(plan.Options{})
	e = s.executor(p)
	e.run(slices.IndexFunc(p.Steps, func(step plan.Step) bool { return step.Do.Kind == plan.AssertStable }) + 2)
	try("before the triggers are dropped")
	e.each = func(string) {}
	e.undo(len(p.Steps) - 1)
	for _, table := range tables {
		s.exec("INSERT INTO " + table + " () VALUES ()")
		same(t, "the next id of "+table, s.text("SELECT MAX(id) < 1000 FROM "+table), "1")
	}
}

// TestFlipHalfway ends some of the counters, as a run that was killed leaves them, and wants the step to be done, and to be undone, from there.
func TestFlipHalfway(t *testing.T) {
	t.Parallel()
	for _, undo := range []bool{false, true} {
		s := open(t, "mysql", flipShop("mysql")...)
		p := s.plan(plan.Options{})
		n := slices.IndexFunc(p.Steps, func(step plan.Step) bool { return step.Do.Kind == plan.AssertStable }) + 1
		flip := p.Steps[n]
		e := s.executor(p)
		e.run(n)
		for _, i := range []int{1, 3} {
			s.exec(flip.Do.SQL[i])
		}
		action := flip.Do
		if undo {
			action = *flip.Undo
		}
		var done []string
		e.each = func(statement string) { done = append(done, statement) }
		if err := e.do(flip.String(), action); err != nil {
			t.Fatal(err)
		}
		if len(done) != 2 {
			t.Errorf("undo %t: got the statements %q, want the two that are left", undo, done)
		}
		for i, query := range action.Applied {
			same(t, action.SQL[i], s.text(query), "1")
		}
	}
}
