package ticket

import (
	"math"
	"math/rand/v2"
	"time"
)

const (
	// bufferSteps is how many times MaxStep the buffer is at most, but for ids that a Fill waits for.
	bufferSteps = 16
	// latencyMargin is added to what a refill is expected to take.
	latencyMargin = 50 * time.Millisecond
)

// rateMeter measures how fast ids are taken, and says when to allocate how many.
//
// An allocation ends a window, in which ids were taken and time has passed. The rate is an average of all windows, in which one weighs less
// the longer ago it was: by a factor of e for each horizon. Time in which calls waited says nothing about how many ids they would have
// taken, and so it makes the rate no less. Neither does a window with trouble. At most a factor of two an allocation keeps a single large
// Fill from being taken for a rate.
type rateMeter struct {
	config BlockConfig
	rate   float64 // ids a second
	step   int64

	latencies latencies // of allocations

	// The window.
	since   time.Time
	issued  int64         // at its beginning, of all times
	blocked time.Duration // for how long calls waited, until blockedAt
	at      time.Time     // since when calls wait; zero while none does
	waited  bool          // one did, at any time of the window
}

func newRateMeter(config BlockConfig, now time.Time) rateMeter {
	p := rateMeter{config: config, rate: float64(config.Rate), since: now}
	p.step = p.clamp(p.rate * p.horizon())
	return p
}

// horizon is for how many seconds ids are allocated ahead: the reserve, and no less than twice what a slow refill takes, as smaller steps
// could not keep up.
func (p *rateMeter) horizon() float64 {
	return max(p.config.Reserve, 2*p.latencies.longest()+latencyMargin).Seconds()
}

// clamp returns a step within the configured ones. It is called with what may be beyond an int64.
func (p *rateMeter) clamp(step float64) int64 {
	return int64(min(max(step, float64(p.config.MinStep)), float64(p.config.MaxStep)))
}

// block notes that a call waits, and no other does.
func (p *rateMeter) block(now time.Time) { p.at, p.waited = now, true }

// unblock notes that no call waits.
func (p *rateMeter) unblock(now time.Time) {
	if !p.at.IsZero() {
		p.blocked += now.Sub(p.at)
		p.at = time.Time{}
	}
}

// allocated notes an allocation. Issued are the ids of all times, those for the waiters it has served included.
func (p *rateMeter) allocated(now time.Time, issued int64, took time.Duration, troubled bool) {
	waiting := !p.at.IsZero()
	if waiting {
		p.blocked, p.at = p.blocked+now.Sub(p.at), now
	}
	first := p.latencies.count == 0
	p.latencies.add(took)
	p.measure(float64(issued-p.issued), now.Sub(p.since), p.blocked, troubled)

	aim, step := p.rate*p.horizon(), float64(p.step)
	if p.waited || troubled {
		aim = max(aim, step)
	}
	if p.waited && !troubled && !first { // an empty buffer at the start is not the step's fault
		aim = 2 * step
	}
	p.step = p.clamp(min(max(aim, step/2), 2*step))

	p.since, p.issued, p.blocked, p.waited = now, issued, 0, waiting
}

// measure makes a window part of the rate.
func (p *rateMeter) measure(taken float64, elapsed, blocked time.Duration, troubled bool) {
	if rate := p.mean(taken, elapsed); rate > p.rate {
		p.rate = min(rate, 2*max(p.rate, float64(p.config.MinStep)/p.horizon()))
	} else if !troubled {
		p.rate = max(min(p.rate, p.mean(taken, elapsed-blocked)), float64(p.config.Rate))
	}
}

// mean returns the rate after a window of that length.
func (p *rateMeter) mean(taken float64, window time.Duration) float64 {
	past := window.Seconds() / p.horizon()
	if past < 1e-9 {
		return p.rate + taken/p.horizon() // what the rest comes to for short windows
	}
	weight := -math.Expm1(-past)
	return p.rate*(1-weight) + taken/window.Seconds()*weight
}

// reserve returns what should be in the buffer at the rate. With the step on top that is no more than the buffer may have.
func (p *rateMeter) reserve() int64 {
	ids := max(p.rate*p.horizon(), float64(p.config.MinStep))
	return int64(min(ids, float64((bufferSteps-1)*p.config.MaxStep)))
}

// low returns how many ids in the buffer a refill is to start at. It is another number each time, give or take a tenth, lest processes that
// started together allocate together.
func (p *rateMeter) low() int64 {
	ids := max(p.rate*p.horizon(), float64(p.step/2)) * (0.9 + rand.Float64()/5)
	return int64(min(ids, float64((bufferSteps-1)*p.config.MaxStep)))
}
