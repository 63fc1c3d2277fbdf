package granttest

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/snowkey-go/snowkey/idgen/grant"
)

// LostAnswers fails unless each method of a store that changes something returns what happened though its first answer is lost. Lose has the store's client lose
// the answer to the next change, and returns what is called once the method has returned: it makes a change that comes late, and reports whether an answer was
// lost. The space "default" of the store is prepared with the layout "a", and has no row.
func LostAnswers(t *testing.T, store grant.Store, lose func() (lost func() bool)) {
	t.Helper()
	first, next := grant.Row{Number: 1, Holder: "a", Until: 5}, grant.Row{Number: 1, Holder: "a", Until: 6}
	for _, call := range []struct {
		name string
		do   func(context.Context) (bool, error)
	}{
		{"Swap that adds", func(ctx context.Context) (bool, error) {
			return store.Swap(ctx, "default", grant.Row{Number: 1, Holder: grant.Absent}, first)
		}},
		{"Swap that replaces", func(ctx context.Context) (bool, error) { return store.Swap(ctx, "default", first, next) }},
		{"Record", func(ctx context.Context) (bool, error) {
			return true, store.Record(ctx, "default", grant.Loss{Number: 1})
		}},
		{"Move", func(ctx context.Context) (bool, error) { return store.Move(ctx, "default", "default~1", "a", "b", 6) }},
		{"Prepare", func(ctx context.Context) (bool, error) {
			_, err := store.Prepare(ctx, "another", "a")
			return true, err
		}},
	} {
		lost := lose()
		if done, err := call.do(t.Context()); err != nil || !done {
			t.Errorf("%s: got %t, %v, want true", call.name, done, err)
		}
		if !lost() {
			t.Errorf("%s: no answer was lost", call.name)
		}
	}
	l, err := store.List(t.Context(), "default~1", 0, math.MaxInt64)
	if err != nil || !slices.Equal(l.Rows, []grant.Row{next}) || l.Gone != 0 {
		t.Errorf("got %+v, %v, want one row", l, err)
	}
	if losses, err := store.Losses(t.Context(), "default~1"); err != nil || len(losses) != 1 {
		t.Errorf("got the losses %+v, %v, want one", losses, err)
	}
}
