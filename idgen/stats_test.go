package idgen_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
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

// A bubble's clock has nothing come between the context and the call.
func TestWaitsAreCountedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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
		if s := g.Stats(); s.Waits != 1 || s.Waited != 250*time.Millisecond {
			t.Errorf("got %+v, want one wait of 250ms", s)
		}
		if _, err := g.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if s := g.Stats(); s.Waits != 1 {
			t.Errorf("a call whose context has ended: got %d waits, want still 1", s.Waits)
		}
	})
}

// Calls that give up cost the next one nothing: it waits for one tick, however many there were.
func TestCallsThatGiveUpCostNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		layout, err := idgen.NewLayout(time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), time.Second, idgen.Time.Bits(41), idgen.Sequence.Bits(1))
		if err != nil {
			t.Fatal(err)
		}
		g := newGenerator(t, layout)
		var impatient sync.WaitGroup
		for range 50 {
			impatient.Go(func() {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(5*time.Millisecond, cancel)
				_, _ = g.Next(ctx)
			})
		}
		impatient.Wait()
		start := time.Now()
		if _, err := g.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("a call waited %s of the bubble's time, want one tick at most", took)
		}
	})
}

// countingClock stands still and counts how often it is read.
type countingClock struct{ reads atomic.Int64 }

func (c *countingClock) Wall() time.Time { return noon }

func (c *countingClock) Elapsed() time.Duration {
	c.reads.Add(1)
	return 0
}

// A wait on a clock that stands still looks at it some ten times a second, not ever more often.
func TestWaitOnAFrozenClockIsNoPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		layout, err := idgen.NewLayout(noon.Add(-time.Hour), time.Millisecond, idgen.Time.Bits(41))
		if err != nil {
			t.Fatal(err)
		}
		clock := new(countingClock)
		g := newGenerator(t, layout, idgen.WithClock(clock))
		next(t, g)
		before := clock.reads.Load()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := g.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if reads := clock.reads.Load() - before; reads > 60*10*4 {
			t.Errorf("the clock was read %d times in a minute", reads)
		}
	})
}

// Each call that fails is counted once, by its reason, and calls that do not fail are not.
func TestRefusalsAreCounted(t *testing.T) {
	clock := newFakeClock(noon)
	layout, err := idgen.NewLayout(noon.Add(-time.Hour), time.Second, idgen.Time.Bits(13), idgen.Sequence.Bits(1))
	if err != nil {
		t.Fatal(err)
	}
	refuses := newGenerator(t, layout, idgen.WithClock(clock), idgen.RefuseBack(), idgen.RefuseFull(), idgen.StartZero())
	granted := newGenerator(t, layout, idgen.WithClock(clock), idgen.WithGrants())
	waits := newGenerator(t, layout, idgen.WithClock(clock), idgen.StartZero())
	sharded := newGenerator(t, idgen.Sharded, idgen.WithNode(1), idgen.WithShards())
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	fill := func(g *idgen.Snowflake, n int) error { return g.Fill(t.Context(), make([]int64, n)) }
	for _, step := range []struct {
		name string
		of   *idgen.Snowflake
		at   time.Duration // after noon
		call func(g *idgen.Snowflake) error
		is   error
		want idgen.Refusals
	}{
		{"a run that fits", refuses, 0, func(g *idgen.Snowflake) error { return fill(g, 2) }, nil, idgen.Refusals{}},
		{"a full tick", refuses, 0, func(g *idgen.Snowflake) error { return fill(g, 1) }, idgen.ErrFull, idgen.Refusals{Full: 1}},
		{"a step back", refuses, -time.Minute, func(g *idgen.Snowflake) error { _, err := g.Next(t.Context()); return err }, idgen.ErrClockBack, idgen.Refusals{Full: 1, Clock: 1}},
		{"past the layout", refuses, 2 * time.Hour, func(g *idgen.Snowflake) error { return fill(g, 1) }, idgen.ErrExhausted, idgen.Refusals{Full: 1, Clock: 1, Time: 1}},
		{"no grant", granted, 0, func(g *idgen.Snowflake) error { return fill(g, 1) }, idgen.ErrGrant, idgen.Refusals{Grant: 1}},
		{"a full tick that a call waits for", waits, 0, func(g *idgen.Snowflake) error { return g.Fill(ended, make([]int64, 3)) }, context.Canceled, idgen.Refusals{Ended: 1}},
		{"wrong use", sharded, 0, func(g *idgen.Snowflake) error { return fill(g, 1) }, idgen.ErrNode, idgen.Refusals{}},
	} {
		clock.wall.Store(noon.Add(step.at).UnixNano())
		if err := step.call(step.of); !errors.Is(err, step.is) {
			t.Errorf("%s: got %v, want %v", step.name, err, step.is)
		}
		if got := step.of.Stats().Refused; got != step.want {
			t.Errorf("%s: got %+v, want %+v", step.name, got, step.want)
		}
	}
}
