package verify

import (
	"sync"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// clock is a clock that goes on like the machine's, and is moved besides. It is safe for concurrent use.
type clock struct {
	mu      sync.Mutex
	wall    time.Time // at the machine's instant at
	elapsed time.Duration
	at      time.Time
}

var _ idgen.Clock = (*clock)(nil)

// newClock begins at a time of day.
func newClock(wall time.Time) *clock { return &clock{wall: wall.Round(0), at: time.Now()} }

// Wall is the time of day.
func (c *clock) Wall() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flow()
	return c.wall
}

// Elapsed never steps back.
func (c *clock) Elapsed() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flow()
	return c.elapsed
}

// flow brings both readings up to the machine's present. The caller has locked.
func (c *clock) flow() {
	now := time.Now()
	d := now.Sub(c.at)
	c.wall, c.elapsed, c.at = c.wall.Add(d), c.elapsed+d, now
}

// forward lets time pass for both readings.
func (c *clock) forward(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flow()
	c.wall, c.elapsed = c.wall.Add(d), c.elapsed+d
}

// until lets time pass until the wall clock shows an instant, if it is not past it.
func (c *clock) until(instant time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flow()
	if d := instant.Sub(c.wall); d > 0 {
		c.wall, c.elapsed = c.wall.Add(d), c.elapsed+d
	}
}

// step sets the wall clock alone.
func (c *clock) step(instant time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flow()
	c.wall = instant
}
