package plan_test

import (
	"fmt"
	"testing"

	"github.com/snowkey-go/snowkey/migrate/inspect"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// counts are what Count steps have found: by title, and by what each is about.
type counts map[[2]string]int64

// ask does a Count or an Expect, with a function that asks a query.
func (c counts) ask(title string, a plan.Action, one func(string) (int64, error)) error {
	if err := a.Asks(); err != nil {
		return err
	}
	for i, query := range a.SQL {
		n, err := one(query)
		if err != nil {
			return err
		}
		if a.Kind == plan.Count {
			c[[2]string{title, a.Each[i]}] = n
			continue
		}
		want := a.Want
		if a.Like != "" {
			var known bool
			if want, known = c[[2]string{a.Like, a.Each[i]}]; !known {
				return fmt.Errorf("the step %q has not counted the %s", a.Like, a.Each[i])
			}
		}
		if n != want {
			return fmt.Errorf("%s: got %d, want %d: %s: %s", a.Each[i], n, want, a.Otherwise, query)
		}
	}
	return nil
}

func TestNumbers(t *testing.T) {
	a := plan.Action{Kind: plan.Count, SQL: []string{"SELECT 1", "SELECT 2"}, Each: []string{"ones", "twos"}}
	found, err := plan.Found([]int64{-1, 1 << 62})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := a.Numbers(found); err != nil || len(got) != 2 || got["ones"] != -1 || got["twos"] != 1<<62 {
		t.Errorf("got %v, %v", got, err)
	}
	for _, text := range []string{"", "7", "[1]", "[1, 2, 3]", `["1", "2"]`} {
		if got, err := a.Numbers(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
}

func TestAsks(t *testing.T) {
	good := plan.Action{SQL: []string{"x", "y"}, Each: []string{"a", "b"}, Remedy: []string{"", "z"}}
	if err := good.Asks(); err != nil {
		t.Error(err)
	}
	for _, a := range []plan.Action{
		{}, {SQL: []string{"x"}}, {SQL: []string{"x"}, Each: []string{""}}, {SQL: []string{"x", "y"}, Each: []string{"a", "a"}},
		{SQL: []string{"x", "y"}, Each: []string{"a", "b"}, Remedy: []string{"z"}},
	} {
		if err := a.Asks(); err == nil {
			t.Errorf("%+v: want an error", a)
		}
	}
}

// No two references of a plan have one name.
func TestOrphansOf(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range []inspect.Reference{
		{Table: "a", Column: "b", To: "c"}, {Table: "a", Column: "b", To: "d"}, {Table: "a", Column: "b", Path: "$.x", To: "c"},
		{Table: "a", Column: "b", OwnerType: "t", Owner: "C", To: "c"}, {Table: "a", Column: "b", OwnerType: "t", Owner: "", To: "c"},
	} {
		each := plan.OrphansOf(plan.Reference{Reference: r})
		if seen[each] {
			t.Errorf("%q is two references'", each)
		}
		seen[each] = true
	}
}
