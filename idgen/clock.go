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

// ClockFunc makes a [Clock] of a function that returns the time, such as a fake clock's. When its times carry readings of the monotonic
// clock, as those of [time.Now] do, Elapsed goes by these; else by the times themselves, and a step back of them makes the generator's
// time stand still, under IgnoreBack too, until they have caught up.
func ClockFunc(now func() time.Time) Clock { return funcClock{now: now, start: now()} }

type funcClock struct {
	now   func() time.Time
	start time.Time
}

func (c funcClock) Wall() time.Time { return c.now() }

func (c funcClock) Elapsed() time.Duration { return c.now().Sub(c.start) }

const (
	// recheck is how often the monotonic clock is compared with the wall clock: after a suspended machine goes on, ids carry times of
	// before the suspension for at most this long.
	recheck = 100 * time.Millisecond
	// stepped is the least change of the difference between the two that counts as a step; less is the drift of a clock that is slewed.
	stepped = 10 * time.Millisecond

	// A generator's time is counted in nanoseconds from the layout's epoch. A wall clock further away than these, 256 years after and
	// 18 before, is taken for one there, so that no sum of times overflows; at the farthest there are no ids.
	farthest = 1<<63 - 1 - 1<<60
	earliest = -1 << 59
)

// timeline is the time of a generator, in nanoseconds since its layout's epoch. It has three ways to read it. Anchored, it is the wall
// clock's reading at the start plus the time elapsed since, moved forward to the wall clock when that is ahead, so it never steps back.
// Following, it is the wall clock, with the latest reading kept so that a step back is seen. Told, it is the time of whoever grants the
// generator its numbers, plus the time elapsed since it was told; the wall clock is looked at for steps alone.
type timeline struct {
	clock  Clock // nil: the machine's
	start  time.Time
	zero   time.Time // the layout's epoch
	follow bool
	told   bool

	offset atomic.Int64 // nanoseconds since zero at elapsed 0; grows, unless the time is told
	next   atomic.Int64 // when the wall clock is compared next: elapsed, or following, nanoseconds since zero
	gap    atomic.Int64 // anchored: how far the wall clock was ahead at the last comparison
	// Of a followed clock, the first reading in the latest tick; of an injected one that is anchored, the latest reading.
	latest  atomic.Int64
	behind  atomic.Bool   // following: the last reading was before the latest
	back    atomic.Int64  // steps back seen
	forward atomic.Int64  // steps forward seen
	leapt   chan struct{} // has an element after a step forward that was seen
}

func newTimeline(clock Clock, zero time.Time, follow, told bool) *timeline {
	t := &timeline{clock: clock, start: time.Now(), zero: zero, follow: follow && !told, told: told, leapt: make(chan struct{}, 1)}
	// Elapsed is read after the wall clock, so that a pause between the two makes the sum late rather than early.
	wall := t.wall()
	elapsed := t.elapsed()
	t.offset.Store(wall - elapsed)
	if told {
		t.gap.Store(wall - elapsed)
	}
	t.latest.Store(wall)
	t.next.Store(elapsed + int64(recheck))
	if t.follow {
		t.next.Store(wall + int64(recheck))
	}
	return t
}

// wall returns the wall clock's time.
func (t *timeline) wall() int64 {
	now := time.Now
	if t.clock != nil {
		now = t.clock.Wall
	}
	// By the wall clock, for zero has no reading of the monotonic one.
	return min(max(int64(now().Sub(t.zero)), earliest), farthest)
}

// set makes a time the present one, from which a clock that does not follow the wall clock goes on.
func (t *timeline) set(to int64) {
	t.offset.Store(to - t.elapsed())
	t.latest.Store(to)
}

func (t *timeline) elapsed() int64 {
	if t.clock == nil {
		return int64(time.Since(t.start))
	}
	return int64(t.clock.Elapsed())
}

// now returns the time, and whether a recheck is due, which is so for one caller each interval.
func (t *timeline) now() (now int64, due bool) {
	if t.follow {
		now = t.wall()
		next := t.next.Load()
		return now, now >= next && t.next.CompareAndSwap(next, now+int64(recheck))
	}
	elapsed := t.elapsed()
	if next := t.next.Load(); elapsed >= next && t.next.CompareAndSwap(next, elapsed+int64(recheck)) {
		t.catchUp()
		due = true
	}
	now = t.offset.Load() + elapsed
	if t.clock != nil {
		now = t.raise(now)
	}
	return now, due
}

// raise makes a reading the latest if it is, and returns the latest.
func (t *timeline) raise(now int64) int64 {
	for {
		latest := t.latest.Load()
		if now <= latest {
			return latest
		}
		if t.latest.CompareAndSwap(latest, now) {
			return now
		}
	}
}

// undisturbed returns the time of the machine's clock, anchored, when no recheck is due.
func (t *timeline) undisturbed() (now int64, ok bool) {
	if t.clock != nil || t.follow {
		return 0, false
	}
	elapsed := int64(time.Since(t.start))
	return t.offset.Load() + elapsed, elapsed < t.next.Load()
}
