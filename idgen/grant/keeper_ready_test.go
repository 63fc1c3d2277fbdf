package grant_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/idgen/grant"
)

// A keeper is ready while its grant lasts, also when renewals fail; then it is not, with the cause; and again when the store is back, and never after
// Close.
func TestReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFlaky()
		k := open(t, store, grant.Config{Generator: with()})
		time.Sleep(25 * time.Minute)
		store.set(errDown, false, 0)
		until := k.State().Until
		time.Sleep(time.Until(until) - time.Millisecond)
		if err := k.Ready(t.Context()); err != nil || k.State().Failures == 0 {
			t.Errorf("in the grant's last tick: got %v after %d failures, want it ready", err, k.State().Failures)
		}
		time.Sleep(time.Millisecond)
		var ended *grant.EndedError
		if err := k.Ready(t.Context()); !errors.As(err, &ended) || !errors.Is(err, errDown) || !ended.Until.Equal(until) {
			t.Errorf("after the grant: got %v, want an EndedError of %s with the cause", err, until)
		}
		store.set(nil, false, 0)
		time.Sleep(6 * time.Second)
		if err := k.Ready(t.Context()); err != nil {
			t.Errorf("with the store back: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := k.Ready(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the context's error", err)
		}
		if err := k.Close(); err != nil {
			t.Fatal(err)
		}
		if err := k.Ready(t.Context()); !errors.Is(err, grant.ErrClosed) {
			t.Errorf("after Close: got %v, want ErrClosed", err)
		}
	})
}

// slowStore answers no call until it is let go.
type slowStore struct {
	grant.Store
	held atomic.Pointer[chan struct{}] // nil: it answers
}

func (s *slowStore) Prepare(ctx context.Context, space, layout string) (string, error) {
	if held := s.held.Load(); held != nil {
		select {
		case <-*held:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	return s.Store.Prepare(ctx, space, layout)
}

// A process that was paused for longer than its grant is ready as soon as that is renewed, and Ready waits for it no longer than its context lasts.
func TestReadyAfterAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{Store: newFlaky()}
		k := open(t, store, grant.Config{Generator: with(), For: time.Minute, Every: 30 * time.Second, Timeout: time.Hour})
		time.Sleep(10 * time.Minute)
		held := make(chan struct{})
		store.held.Store(&held)
		time.Sleep(2 * time.Minute) // nothing has failed: the renewal is under way
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := k.Ready(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("while the store hangs: got %v, want the context's error", err)
		}
		close(held)
		if err := k.Ready(t.Context()); err != nil {
			t.Errorf("when the store answers: %v", err)
		}
	})
}
