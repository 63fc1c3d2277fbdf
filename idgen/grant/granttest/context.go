package granttest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen/grant"
)

// ReturnsWithContext fails unless each method of a store returns with its context, by its deadline and by its cancellation, while the server stands still. The
// space "default" of the store is prepared with the layout "a", and has no row. Number 1 may have a row when the server goes on, with the until 5.
func ReturnsWithContext(t *testing.T, store grant.Store) {
	t.Helper()
	calls := map[string]func(context.Context) error{
		"Prepare": func(ctx context.Context) error { _, err := store.Prepare(ctx, "default", "a"); return err },
		"List":    func(ctx context.Context) error { _, err := store.List(ctx, "default", 0, 9); return err },
		"Swap": func(ctx context.Context) error {
			_, err := store.Swap(ctx, "default", grant.Row{Number: 1, Holder: grant.Absent}, grant.Row{Number: 1, Until: 5})
			return err
		},
		"Move": func(ctx context.Context) error {
			_, err := store.Move(ctx, "default", "default~1", "b", "c", 1)
			return err
		},
		"Record": func(ctx context.Context) error { return store.Record(ctx, "default", grant.Loss{}) },
		"Losses": func(ctx context.Context) error { _, err := store.Losses(ctx, "default"); return err },
	}
	if listed, ok := store.(interface {
		Spaces(context.Context) ([]grant.Space, error)
	}); ok {
		calls["Spaces"] = func(ctx context.Context) error { _, err := listed.Spaces(ctx); return err }
	}
	for name, call := range calls {
		for _, want := range []error{context.Canceled, context.DeadlineExceeded} {
			limit := time.Minute
			if want == context.DeadlineExceeded {
				limit = 100 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			answer := make(chan error, 1)
			go func() { answer <- call(ctx) }()
			if want == context.Canceled {
				select {
				case err := <-answer:
					t.Errorf("%s: got %v from a server that stands still", name, err)
					cancel()
					continue
				case <-time.After(50 * time.Millisecond): // most likely it waits for the answer now
				}
				cancel()
			}
			select {
			case err := <-answer:
				if !errors.Is(err, want) {
					t.Errorf("%s: got the error %v, want %v", name, err, want)
				}
			case <-time.After(10 * time.Second):
				t.Errorf("%s does not return", name)
			}
			cancel()
		}
	}
}
