package measure

import (
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

var (
	_ idgen.Clock = (*fastClock)(nil)
	_ idgen.Clock = (*quietClock)(nil)
)

// furthest is how far a fast clock runs ahead of the machine's. A layout that lasts for less than that has no uncapped figures, and a layout
// of 2,048 keys a second gets there after five minutes of measuring.
const furthest = 365 * 24 * time.Hour

// fastClock multiplies the time elapsed since it was made, until it is a year ahead; from there it goes on like the machine's. It is
// immutable.
type fastClock struct {
	start  time.Time
	factor int64
	turn   time.Duration // when it is a year ahead, by the machine's clock
}

// newFastClock returns a clock that makes a limit of keys a second one of at least the target.
func newFastClock(limit, target float64) *fastClock {
	factor := int64(min(target/limit+1, float64(furthest)))
	// Until the turn it gains a year at most, and no product overflows.
	return &fastClock{start: time.Now(), factor: factor, turn: furthest / time.Duration(factor)}
}

// Wall returns the time of day.
func (c *fastClock) Wall() time.Time { return c.start.Round(0).Add(c.Elapsed()) }

// Elapsed returns the multiplied time.
func (c *fastClock) Elapsed() time.Duration {
	elapsed := time.Since(c.start)
	return min(elapsed, c.turn)*time.Duration(c.factor) + max(elapsed-c.turn, 0)
}

// quietClock stands still until it is moved. It may be read by all, and moved by one.
type quietClock struct {
	start   time.Time
	pause   time.Duration // from a key to the next, on average
	elapsed atomic.Int64  // nanoseconds
	random  *rand.Rand    // of the one that moves it
}

const (
	quietPause = 20 * time.Millisecond // 50 keys a second
	// share is how many times the keys that are made a layout has at the least: a source that waits for a tick waits for a clock that stands still.
	share     = 4
	mostPause = time.Hour
)

// newQuietClock returns a clock for keys of which there are limit a second, 0: as many as one likes.
func newQuietClock(seed uint64, limit float64) *quietClock {
	c := &quietClock{start: time.Now().Round(0), pause: quietPause, random: rand.New(rand.NewPCG(seed, 2))}
	if limit > 0 {
		c.pause = max(quietPause, time.Duration(min(share*float64(time.Second)/limit, float64(mostPause))))
	}
	return c
}

// Wall returns the time of day.
func (c *quietClock) Wall() time.Time { return c.start.Add(c.Elapsed()) }

// Elapsed returns how far the clock was moved.
func (c *quietClock) Elapsed() time.Duration { return time.Duration(c.elapsed.Load()) }

// move moves it by the pause, give or take a half.
func (c *quietClock) move() {
	c.elapsed.Add(int64(c.pause/2) + c.random.Int64N(int64(c.pause)+1))
}
