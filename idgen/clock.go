package idgen

import (
	"sync/atomic"
	"time"
)

// Clock is where a generator reads the time. Both methods must be safe for concurrent use.
type Clock interface {
	// Wall returns the time of day, which may step in either direction.
	Wall() time.Time
	// Elapsed returns the time since some fixed instant by a clock that does not step back. It may stand still while the machine
	// is suspended.
	Elapsed() time.Duration
}

// systemClock reads the machine's clocks.
type systemClock struct{ start time.Time }

func (systemClock) Wall() time.Time { return time.Now() }

func (c systemClock) Elapsed() time.Duration { return time.Since(c.start) }

// recheck is how often the anchored clock is compared with the wall clock: after a suspended machine goes on, ids carry times of
// before the suspension for at most this long.
const recheck = 100 * time.Millisecond

// anchored is a clock that never steps back: the wall clock's reading when it was made plus the time elapsed since, moved forward
// to the wall clock when that is ahead.
type anchored struct {
	clock  Clock
	zero   int64        // the wall clock's nanoseconds that count as 0: the layout's epoch
	offset atomic.Int64 // nanoseconds since zero at elapsed 0; only grows
	next   atomic.Int64 // elapsed at which the wall clock is read next
}

func newAnchored(clock Clock, zero int64) *anchored {
	a := &anchored{clock: clock, zero: zero}
	// Elapsed is read after Wall, so that a pause between the two makes the sum late rather than early.
	wall := clock.Wall().UnixNano() - zero
	elapsed := int64(clock.Elapsed())
	a.offset.Store(wall - elapsed)
	a.next.Store(elapsed + int64(recheck))
	return a
}

// now returns the nanoseconds since zero; negative when the clock is before it.
func (a *anchored) now() int64 {
	elapsed := int64(a.clock.Elapsed())
	if next := a.next.Load(); elapsed >= next && a.next.CompareAndSwap(next, elapsed+int64(recheck)) {
		a.catchUp()
	}
	return a.offset.Load() + elapsed
}

// catchUp moves the offset forward to the wall clock.
func (a *anchored) catchUp() {
	wall := a.clock.Wall().UnixNano() - a.zero
	ahead := wall - int64(a.clock.Elapsed())
	for {
		offset := a.offset.Load()
		if ahead <= offset || a.offset.CompareAndSwap(offset, ahead) {
			return
		}
	}
}
