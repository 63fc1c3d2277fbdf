package snowkeytest

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// Start is when the clock of [Generator] begins.
var Start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Generator returns a generator of node 1 with the default layout, whose ids are the same in each run: its [Clock] begins at [Start] and moves on by a
// millisecond with each reading, so each call has a millisecond of its own, and no call waits long. Options change it, such as idgen.WithNode(7),
// idgen.WithClock(clock) or a layout. The test fails where they do not fit.
func Generator(t testing.TB, options ...idgen.Option) *idgen.Snowflake {
	t.Helper()
	generator, err := idgen.New(append([]idgen.Option{idgen.WithNode(1), idgen.StartZero(), idgen.WithClock(NewClock(Start, time.Millisecond))}, options...)...)
	if err != nil {
		t.Fatalf("snowkeytest: %v", err)
	}
	return generator
}

// Clock is a fake clock for [idgen.WithClock] and for what an application asks the time. It is safe for concurrent use.
type Clock struct {
	start   time.Time
	step    time.Duration
	elapsed atomic.Int64
}

var _ idgen.Clock = (*Clock)(nil)

// NewClock returns a clock that begins at a time and moves on by a step with each reading. A step of at least the layout's tick keeps a generator from
// waiting; with the step 0 the clock stands still, and a generator that has used up its tick waits until Advance.
func NewClock(start time.Time, step time.Duration) *Clock { return &Clock{start: start, step: step} }

// Wall moves the clock on by its step, and returns the time.
func (c *Clock) Wall() time.Time { return c.start.Add(c.Elapsed()) }

// Elapsed moves the clock on by its step, and returns how far it is from its start.
func (c *Clock) Elapsed() time.Duration { return time.Duration(c.elapsed.Add(int64(c.step))) }

// Now returns the time, and does not move the clock.
func (c *Clock) Now() time.Time { return c.start.Add(time.Duration(c.elapsed.Load())) }

// Advance moves the clock on, or back where d is negative.
func (c *Clock) Advance(d time.Duration) { c.elapsed.Add(int64(d)) }
