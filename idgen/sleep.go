package idgen

import (
	"context"
	"time"
)

const (
	// shortest is the shortest wait.
	shortest = 50 * time.Microsecond
	// precise is below what a wait is slept by the thread: Go's timers on Linux wake an idle program up to a millisecond late
	// (measured: 1.08 ms for 0.1 ms asked), which would lose every sixth tick of a millisecond.
	precise = 1100 * time.Microsecond
)

// sleep returns after about a time or when it is woken, when the clock is worth looking at again, or with an error when the context ends.
func (g *Snowflake) sleep(ctx context.Context, wake <-chan struct{}, d time.Duration) error {
	// Not longer than the interval at which the clock is compared with the wall clock, so that a step forward ends the wait.
	d = min(max(d, shortest), recheck)
	started := time.Now()
	defer func() { g.waited.Add(int64(time.Since(started))) }()
	// One goroutine at a time, so that waiting takes one thread; it is late for the end of a context by a millisecond at most.
	if d < precise && g.clock.clock == nil && g.sleeping.CompareAndSwap(false, true) {
		slept := sleepPrecisely(d)
		g.sleeping.Store(false)
		if slept {
			return nil
		}
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return errEnded(ctx)
	case <-wake:
		return nil
	case <-timer.C:
		return nil
	}
}
