package run

import (
	"context"
	"time"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// The bounds of a range's rows, and how many the first has.
const (
	minRows   = 1
	firstRows = 500
	maxRows   = 1_000_000
)

// batchSize is how many rows a range has, so that it takes about as long as it should.
type batchSize struct {
	target   time.Duration
	throttle float64
	rows     int
}

func newBatchSize(o Options) *batchSize { return &batchSize{o.Target, o.Throttle, firstRows} }

// took says how long a range has taken. The next has at least half and at most twice as many rows.
func (b *batchSize) took(d time.Duration) {
	factor := 2.0
	if d > 0 {
		factor = min(max(float64(b.target)/float64(d), 0.5), 2)
	}
	b.rows = min(max(int(float64(b.rows)*factor), minRows), maxRows)
}

// blocked says that a range met the lock of another: smaller ones hold fewer.
func (b *batchSize) blocked() { b.rows = max(b.rows/2, minRows) }

// rest pauses for the throttle's share of the time, after a range that has taken d.
func (b *batchSize) rest(ctx context.Context, d time.Duration) error {
	if b.throttle == 0 {
		return ctx.Err()
	}
	return dialect.Sleep(ctx, time.Duration(float64(d)*b.throttle/(1-b.throttle)))
}
