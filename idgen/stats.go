package idgen

import (
	"sync/atomic"
	"time"
)

// Stats are the counters of a generator since it was made. They only grow.
type Stats struct {
	Issued       int64         // ids taken; off by the ids of calls under way
	Borrowed     int64         // ticks opened before their time came
	Waits        int64         // times that a call waited, for a tick or for the clock
	Waited       time.Duration // all the time that calls waited
	StepsBack    int64         // steps back of the wall clock that were seen
	StepsForward int64         // steps forward of the wall clock that were seen, by generators that ride through steps back
}

// counters are changed where a tick is opened and where a call waits, and never for each id.
type counters struct {
	// The ids of all ticks but the last one: for each tick what its last sequence was, counted from 1, less where the next one started.
	// With the last sequence of the last tick added, that is how many were issued.
	opened   atomic.Int64
	borrowed atomic.Int64
	waits    atomic.Int64
	waited   atomic.Int64 // nanoseconds
}

// position returns how many words of its tick a word has up to itself.
func (g *Snowflake) position(word int64) int64 { return word&(1<<(g.tickBits&63)-1) + 1 }

// open counts the ids of the tick of last, which the tick of first has followed while the clock was at now.
func (g *Snowflake) open(last, first, now int64) {
	g.opened.Add(g.position(last) - (g.position(first) - 1))
	if first>>(g.tickBits&63) > now {
		g.borrowed.Add(1)
	}
}

// Stats returns the counters. It locks nothing and may be called at any time.
func (g *Snowflake) Stats() Stats {
	return Stats{
		Issued:       g.opened.Load() + g.position(g.last.Load()),
		Borrowed:     g.borrowed.Load(),
		Waits:        g.waits.Load(),
		Waited:       time.Duration(g.waited.Load()),
		StepsBack:    g.clock.back.Load(),
		StepsForward: g.clock.ahead.Load(),
	}
}
