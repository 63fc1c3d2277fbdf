package idgen_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// The number of ids never shrinks while many are made, and is exact afterwards.
func TestIssuedOnlyGrows(t *testing.T) {
	const goroutines, each = 3, 30_000
	g := newGenerator(t, idgen.WithNode(1), idgen.StartZero())
	if n := g.Stats().Issued; n != 0 {
		t.Errorf("got %d ids of a new generator, want 0", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var makers, watcher sync.WaitGroup
	watcher.Go(func() {
		for last := int64(0); ctx.Err() == nil; {
			n := g.Stats().Issued
			if n < last || n > goroutines*each {
				t.Errorf("got %d ids after %d, and there are never more than %d", n, last, goroutines*each)
				return
			}
			last = n
		}
	})
	for range goroutines {
		makers.Go(func() {
			for range each {
				if _, err := g.Next(ctx); err != nil {
					t.Error(err)
				}
			}
		})
	}
	makers.Wait()
	cancel()
	watcher.Wait()
	if n := g.Stats().Issued; n != goroutines*each {
		t.Errorf("got %d ids, want %d", n, goroutines*each)
	}
}

func TestWaitsAreCountedOnce(t *testing.T) {
	layout, err := idgen.NewLayout(noon, time.Hour, idgen.Time.Bits(20))
	if err != nil {
		t.Fatal(err)
	}
	g := newGenerator(t, layout, idgen.WithClock(newFakeClock(noon)))
	next(t, g)
	ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
	defer cancel()
	if _, err := g.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	if s := g.Stats(); s.Waits != 1 || s.Waited < 200*time.Millisecond {
		t.Errorf("got %+v, want one wait of 250ms", s)
	}
	if _, err := g.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	if s := g.Stats(); s.Waits != 1 {
		t.Errorf("a call whose context has ended: got %d waits, want still 1", s.Waits)
	}
}

// Calls that wait get their ids in the order they came, so none is left behind by others that ask for more and more.
func TestWaitersAreServedInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		layout, err := idgen.NewLayout(time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond, idgen.Time.Bits(41), idgen.Sequence.Bits(4))
		if err != nil {
			t.Fatal(err)
		}
		g := newGenerator(t, layout)
		ctx, cancel := context.WithCancel(t.Context())
		var greedy sync.WaitGroup
		for range 4 {
			greedy.Go(func() {
				for ids := make([]int64, 16); g.Fill(ctx, ids) == nil; {
				}
			})
		}
		for range 200 {
			start := time.Now()
			if _, err := g.Next(t.Context()); err != nil {
				t.Error(err)
			}
			// Four others are before it at most, a tick each.
			if took := time.Since(start); took > 6*time.Millisecond {
				t.Errorf("a call waited %s of the bubble's time", took)
			}
			time.Sleep(3 * time.Millisecond)
		}
		cancel()
		greedy.Wait()
	})
}
