package run

import (
	"context"
	"time"
)

// The bounds of a range's rows, and how many the first has.
const (
	leastRows = 1
	firstRows = 500
	mostRows  = 1_000_000
)

// pace is how many rows a range has, so that it takes about as long as it should.
type pace struct {
	target   time.Duration
	throttle float64
	rows     int
}

func newPace(o Options) *pace { return &pace{o.Target, o.Throttle, firstRows} }

// took says how long a range has taken. The next has at least half and at most twice as many rows.
func (p *pace) took(d time.Duration) {
	factor := 2.0
	if d > 0 {
		factor = min(max(float64(p.target)/float64(d), 0.5), 2)
	}
	p.rows = min(max(int(float64(p.rows)*factor), leastRows), mostRows)
}

// blocked says that a range met the lock of another: smaller ones hold fewer.
func (p *pace) blocked() { p.rows = max(p.rows/2, leastRows) }

// rest pauses for the throttle's share of the time, after a range that has taken d.
func (p *pace) rest(ctx context.Context, d time.Duration) error {
	if p.throttle == 0 {
		return ctx.Err()
	}
	return sleep(ctx, time.Duration(float64(d)*p.throttle/(1-p.throttle)))
}
