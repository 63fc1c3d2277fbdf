package idgen

import (
	"context"
	"fmt"
	"time"
)

const (
	// shortest is the shortest wait.
	shortest = 50 * time.Microsecond
	// precise is below what a wait is slept by the thread: Go's timers on Linux wake an idle program up to a millisecond late
	// (measured: 1.08 ms for 0.1 ms asked), which would lose every sixth tick of a millisecond.
	precise = 1100 * time.Microsecond
)

// waitFor waits until the clock has reached a tick, or the generator has another tenure, or the context ends, or a clock that stepped
// back makes the policy give up.
func (g *Snowflake) waitFor(ctx context.Context, held *tenure, tick int64, waited *time.Duration) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("idgen: waiting for the clock: %w", err)
	}
	counted := false
	for pause, seen := shortest, int64(-1); ; {
		now, behind, err := g.read()
		if err != nil {
			return err
		}
		if behind > 0 && g.policy.back != backSwitch {
			if err := g.waitBack(ctx, behind, waited); err != nil {
				return err
			}
			continue
		}
		if now >= tick || g.held.Load() != held {
			return nil
		}
		if !counted {
			g.waits.Add(1)
			counted = true
		}
		at, _ := g.clock.now()
		if at == seen {
			pause = min(2*pause, recheck) // it stands still
		} else {
			pause, seen = shortest, at
		}
		if err := g.sleep(ctx, max(time.Duration(tick*g.unit.d-at), pause)); err != nil {
			return err
		}
	}
}

// waitBack does what the policy says about a clock that is behind where it was.
func (g *Snowflake) waitBack(ctx context.Context, behind int64, waited *time.Duration) error {
	if by := time.Duration(behind); g.policy.back == backRefuse || by > g.policy.bound || *waited >= g.policy.bound {
		return &ClockError{By: by, Last: g.layout.Epoch().Add(time.Duration(g.clock.latest.Load()))}
	}
	if *waited == 0 {
		g.waits.Add(1)
	}
	started := time.Now()
	err := g.sleep(ctx, min(time.Duration(behind), g.policy.bound-*waited))
	*waited += max(time.Since(started), 1)
	return err
}

// sleep returns after about a time, when the clock is worth looking at again, or with an error when the context ends.
func (g *Snowflake) sleep(ctx context.Context, d time.Duration) error {
	// Not longer than the interval at which the clock is compared with the wall clock, so that a step forward ends the wait.
	d = min(max(d, shortest), recheck)
	started := time.Now()
	defer func() { g.waited.Add(int64(time.Since(started))) }()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("idgen: waiting for the clock: %w", err)
	}
	// One goroutine at a time, so that waiting takes one thread; it is late for the end of a context by a millisecond at most.
	if d < precise && g.clock.clock == nil && g.sleeping.CompareAndSwap(false, true) {
		slept := sleepPrecisely(d)
		g.sleeping.Store(false)
		// Where the clock did not move meanwhile it is a simulated one, which only a timer moves on.
		if slept && time.Since(started) > 0 {
			return nil
		}
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return fmt.Errorf("idgen: waiting for the clock: %w", ctx.Err())
	case <-timer.C:
		return nil
	}
}
