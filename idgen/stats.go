package idgen

import (
	"context"
	"errors"
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
	Refused      Refusals      // calls that failed
}

// Refusals counts calls that failed, by the reason. A keeper that renews its grant and calls again has one of Grant for that.
type Refusals struct {
	Full  int64 // [ErrFull]
	Clock int64 // [ErrClockBack]
	Time  int64 // [ErrExhausted] and [ErrBeforeEpoch]: the clock is outside of the layout's time
	Grant int64 // [ErrGrant]
	Ended int64 // the context ended while the call waited
}

// Add returns the counters of two generators together.
func (s Stats) Add(t Stats) Stats {
	r, q := s.Refused, t.Refused
	return Stats{
		Issued: s.Issued + t.Issued, Borrowed: s.Borrowed + t.Borrowed, Waits: s.Waits + t.Waits, Waited: s.Waited + t.Waited,
		StepsBack: s.StepsBack + t.StepsBack, StepsForward: s.StepsForward + t.StepsForward,
		Refused: Refusals{Full: r.Full + q.Full, Clock: r.Clock + q.Clock, Time: r.Time + q.Time, Grant: r.Grant + q.Grant, Ended: r.Ended + q.Ended},
	}
}

// counters are changed where a tick is opened ahead of the clock and where a call waits or fails, and never for each id.
type counters struct {
	ahead   atomic.Int64 // ticks opened ahead of the clock
	waits   atomic.Int64
	waited  atomic.Int64 // nanoseconds
	refused struct{ full, clock, time, grant, ended atomic.Int64 }
}

// refuse counts the error of a call, and returns it. Wrong use of the generator is not counted.
func (c *counters) refuse(err error) error {
	switch r := &c.refused; {
	case errors.Is(err, ErrGrant):
		r.grant.Add(1)
	case errors.Is(err, ErrFull):
		r.full.Add(1)
	case errors.Is(err, ErrClockBack):
		r.clock.Add(1)
	case errors.Is(err, ErrExhausted), errors.Is(err, ErrBeforeEpoch):
		r.time.Add(1)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		r.ended.Add(1)
	}
	return err
}

// position returns how many words of its tick a word has up to itself.
func (g *Snowflake) position(word int64) int64 { return word&(1<<(g.tickBits&63)-1) + 1 }

// swap takes count words of a sequencer from first on, if last is still the last one, and counts what opening a tick ends.
func (g *Snowflake) swap(l *sequencer, last, first, count int64, isNew bool, now int64) bool {
	if !isNew {
		return l.last.CompareAndSwap(last, first+count-1)
	}
	l.begun.Add(1)
	swapped := l.last.CompareAndSwap(last, first+count-1)
	if swapped {
		l.issued.Add(g.position(last) - (g.position(first) - 1))
	}
	l.ended.Add(1)
	if swapped && g.policy.full == fullBorrow && first>>(g.tickBits&63) > now {
		g.ahead.Add(1)
	}
	return swapped
}

// count returns how many ids of a sequencer were issued, or where ticks are opened all the time, how many it found before.
func (g *Snowflake) count(l *sequencer) int64 {
	for range 100 {
		ended := l.ended.Load()
		if l.begun.Load() != ended {
			continue
		}
		n := l.issued.Load() + g.position(l.last.Load())
		if l.begun.Load() != ended {
			continue
		}
		for {
			reported := l.reported.Load()
			if n <= reported || l.reported.CompareAndSwap(reported, n) {
				break
			}
		}
		break
	}
	return l.reported.Load()
}

// Stats returns the counters, of all shards together. It locks nothing and may be called at any time. Issued may lag behind calls under
// way.
func (g *Snowflake) Stats() Stats {
	var issued int64
	for l := range g.all {
		issued += g.count(l)
	}
	return Stats{
		Issued:       issued,
		Borrowed:     g.ahead.Load(),
		Waits:        g.waits.Load(),
		Waited:       time.Duration(g.waited.Load()),
		StepsBack:    g.clock.back.Load(),
		StepsForward: g.clock.forward.Load(),
		Refused: Refusals{
			Full: g.refused.full.Load(), Clock: g.refused.clock.Load(), Time: g.refused.time.Load(),
			Grant: g.refused.grant.Load(), Ended: g.refused.ended.Load(),
		},
	}
}
