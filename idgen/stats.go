package idgen

import (
	"sync/atomic"
	"time"
)

// Stats are the counters of a generator since it was made. They only grow.
type Stats struct {
	Issued       int64         // ids taken, those of calls that failed later included
	Borrowed     int64         // ticks opened ahead of the clock by [BorrowFull]
	Waits        int64         // times that a call waited, for a tick or for the clock
	Waited       time.Duration // all the time that calls waited
	StepsBack    int64         // steps back of the wall clock that were seen
	StepsForward int64         // steps forward of the wall clock that were seen, by generators that ride through steps back
}

// counters are changed where a tick is opened and where a call waits, and never for each id.
type counters struct {
	// The ids of all ticks but the last one: for each tick what its last sequence was, counted from 1, less where the next one started.
	// With the last sequence of the last tick added, that is how many were issued.
	issued atomic.Int64
	// Openings of ticks begun and ended: issued and the last word belong together while the two are equal.
	begun, ended atomic.Int64
	reported     atomic.Int64 // greatest number of ids that Stats has returned

	ahead  atomic.Int64 // ticks opened ahead of the clock
	waits  atomic.Int64
	waited atomic.Int64 // nanoseconds
}

// position returns how many words of its tick a word has up to itself.
func (g *Snowflake) position(word int64) int64 { return word&(1<<(g.tickBits&63)-1) + 1 }

// swap takes count words from first on, if last is still the last one, and counts what opening a tick ends.
func (g *Snowflake) swap(last, first, count int64, isNew bool, now int64) bool {
	if !isNew {
		return g.last.CompareAndSwap(last, first+count-1)
	}
	g.begun.Add(1)
	defer g.ended.Add(1)
	if !g.last.CompareAndSwap(last, first+count-1) {
		return false
	}
	g.issued.Add(g.position(last) - (g.position(first) - 1))
	if g.policy.full == fullBorrow && first>>(g.tickBits&63) > now {
		g.ahead.Add(1)
	}
	return true
}

// count returns how many ids were issued, or where ticks are opened all the time, how many it found before.
func (g *Snowflake) count() int64 {
	for range 100 {
		ended := g.ended.Load()
		if g.begun.Load() != ended {
			continue
		}
		n := g.issued.Load() + g.position(g.last.Load())
		if g.begun.Load() != ended {
			continue
		}
		for {
			reported := g.reported.Load()
			if n <= reported || g.reported.CompareAndSwap(reported, n) {
				break
			}
		}
		break
	}
	return g.reported.Load()
}

// Stats returns the counters. It locks nothing and may be called at any time. Issued may lag behind calls under way.
func (g *Snowflake) Stats() Stats {
	return Stats{
		Issued:       g.count(),
		Borrowed:     g.ahead.Load(),
		Waits:        g.waits.Load(),
		Waited:       time.Duration(g.waited.Load()),
		StepsBack:    g.clock.back.Load(),
		StepsForward: g.clock.forward.Load(),
	}
}
