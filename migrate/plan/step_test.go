package plan_test

import (
	"fmt"
	"testing"

	"github.com/snowkey-go/snowkey/migrate/inspect"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// queries and abouts return the queries of an action, and what each is about.
func queries(a plan.Action) (all []string) {
	for _, q := range a.Queries {
		all = append(all, q.SQL)
	}
	return all
}

func abouts(a plan.Action) (all []string) {
	for _, q := range a.Queries {
		all = append(all, q.String())
	}
	return all
}

// counts are what Count steps have found, by their subjects.
type counts map[plan.Subject]int64

// ask does a Count or an Assert, with a function that asks a query.
func (c counts) ask(a plan.Action, one func(string) (int64, error)) error {
	for _, q := range a.Queries {
		n, err := one(q.SQL)
		if err != nil {
			return err
		}
		if a.Kind == plan.Count {
			c[q.Subject] = n
			continue
		}
		want := a.Want
		if a.Baseline > 0 {
			var known bool
			if want, known = c[q.Subject]; !known {
				return fmt.Errorf("step %d has not counted the %s", a.Baseline, q)
			}
		}
		if n != want {
			return fmt.Errorf("%s: got %d, want %d: %s: %s", q, n, want, a.OnFailure, q.SQL)
		}
	}
	return nil
}

func TestNumbers(t *testing.T) {
	a := plan.Action{Kind: plan.Count, Queries: []plan.Query{{About: "ones"}, {About: "twos"}}}
	found, err := plan.Found([]int64{-1, 1 << 62})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := a.Numbers(found); err != nil || len(got) != 2 || got[0] != -1 || got[1] != 1<<62 {
		t.Errorf("got %v, %v", got, err)
	}
	for _, text := range []string{"", "7", "[1]", "[1, 2, 3]", `["1", "2"]`} {
		if got, err := a.Numbers(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
}

func TestValidate(t *testing.T) {
	if err := (&plan.Plan{}).Validate(); err != nil {
		t.Errorf("got %v for no steps", err)
	}
	if err := every().Validate(); err != nil {
		t.Errorf("got %v for a step of each kind", err)
	}
	good := plan.Action{Kind: plan.Hold, Name: "good"}
	rows := plan.Query{About: "rows", SQL: "x", Subject: plan.RowsOf("t")}
	for _, a := range []plan.Action{
		{}, {Kind: plan.Transactional}, {Kind: plan.Autocommit, SQL: []string{"x"}}, {Kind: plan.Autocommit, SQL: []string{"x", "y"}, Applied: []string{"z"}},
		{Kind: plan.Autocommit, SQL: []string{"x", "y"}, Applied: []string{"z", ""}}, {Kind: plan.Autocommit, SQL: []string{"x", "y"}, Applied: []string{"z", "z"}, Repair: []string{"r"}},
		{Kind: plan.Batch, SQL: []string{"x"}}, {Kind: plan.Batch, Cursor: "x"}, {Kind: plan.FillMap, Table: "t"}, {Kind: plan.Count}, {Kind: plan.Assert}, {Kind: plan.AssertStable},
		{Kind: plan.Count, Queries: []plan.Query{{SQL: "x"}}}, {Kind: plan.Count, Queries: []plan.Query{{About: "a"}}}, {Kind: plan.Assert, Queries: []plan.Query{rows, rows}},
		{Kind: plan.Assert, Queries: []plan.Query{rows}, Baseline: 1}, {Kind: plan.Assert, Queries: []plan.Query{rows}, Baseline: 9}, {Kind: plan.Assert, Queries: []plan.Query{rows}, Baseline: -1},
		{Kind: plan.Assert, Queries: []plan.Query{rows}, Baseline: 2}, {Kind: plan.Assert, Queries: []plan.Query{{About: "no subject", SQL: "x"}}, Baseline: 2},
		{Kind: plan.Hold}, {Kind: plan.Hold, Name: plan.Here}, {Kind: plan.Hold, Name: "good"},
	} {
		count := plan.Action{Kind: plan.Count, Queries: []plan.Query{{About: "other", SQL: "x", Subject: plan.RowsOf("u")}}}
		if err := (&plan.Plan{Steps: []plan.Step{{Do: good}, {Do: count}, {Do: a}}}).Validate(); err == nil {
			t.Errorf("%+v: want an error", a)
		}
		if err := (&plan.Plan{Steps: []plan.Step{{Do: good}, {Do: count, Undo: &a}}}).Validate(); err == nil {
			t.Errorf("%+v to undo: want an error", a)
		}
	}
}

// No two references of a plan have one subject.
func TestOrphansOf(t *testing.T) {
	seen := map[plan.Subject]bool{}
	for _, r := range []inspect.Reference{
		{Table: "a", Column: "b", To: "c"}, {Table: "a", Column: "b", To: "d"}, {Table: "a", Column: "b", Path: "$.x", To: "c"},
		{Table: "a", Column: "b", OwnerType: "t", Owner: "C", To: "c"}, {Table: "a", Column: "b", OwnerType: "t", Owner: "", To: "c"},
	} {
		subject := plan.OrphansOf(plan.Reference{Reference: r})
		if seen[subject] {
			t.Errorf("%+v is two references'", subject)
		}
		seen[subject] = true
	}
}
