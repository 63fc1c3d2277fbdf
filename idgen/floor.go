package idgen

import (
	"fmt"
	"time"
)

// floorLimit is the most that a generator's clock may be behind its floor.
const floorLimit = time.Hour

// WithFloor makes all ids of the generator greater than the one given, which is the greatest that was made before, by any node: for
// instance that of SELECT MAX(id). It protects a node with a number of its own from repeating ids when it starts again after its clock
// was set back. Where the clock is behind the floor, the generator begins as if it had stepped back from there: under [IgnoreBack] it goes
// on from the floor's time, under the other policies they decide.
//
// The layout must have the time on top. Where it stands in two places the generator begins with the band after the floor's. [New] returns a
// [ClockError] when the clock is more than an hour behind the floor, since such an id was made by a clock that was ahead, or not with this layout; and an error that wraps [ErrRange] when the floor is no id of the layout.
func WithFloor(id int64) Option {
	return optionFunc(func(c *config) error {
		c.floor, c.floored = id, true
		return nil
	})
}

// startAbove makes the generator, whose clock is at now, begin after the tick of an id.
func (g *Snowflake) startAbove(id, now int64) error {
	if _, err := g.layout.Decode(id); err != nil {
		return fmt.Errorf("the floor: %w", err)
	}
	if g.layout.fields[0].kind != Time {
		return fmt.Errorf("%w: a floor needs the time on top, %s has it below", ErrLayout, g.layout)
	}
	tick := g.layout.tick(id) | g.layout.low.max() // of the last one of its band
	word := tick<<g.tickBits | (1<<g.tickBits - 1)
	if tick < now/g.unit.d {
		if g.held.Load().kind == granted { // which may set the clock back
			g.beginAfter(word)
		}
		return nil
	}
	if tick >= g.lastTick {
		return g.layout.errExhausted(g.layout.ExhaustsAt())
	}
	if past := tick - now/g.unit.d; past > int64(floorLimit/g.layout.unit) {
		ahead := g.layout.timeOf(uint64(tick))
		return fmt.Errorf("the floor, id %d: %w", id, &ClockError{By: ahead.Sub(g.Now()), Last: ahead})
	}
	g.beginAfter(word)
	if to := (tick + 1) * g.unit.d; !g.clock.follow {
		g.clock.set(to)
	} else {
		g.clock.latest.Store(to)
	}
	return nil
}
