package idgen

import (
	"time"
	"unsafe"
)

// Quotient divides by a unit as generators do.
func Quotient(n int64, unit time.Duration) int64 { return newDivisor(unit).quotient(n) }

// LaneSize is how many bytes a sequencer takes.
const LaneSize = unsafe.Sizeof(sequencer{})

// Lines returns how many sequencers of a generator have a line.
func Lines(g *Snowflake) (n int) {
	for l := range g.all {
		if l.queue.Load() != nil {
			n++
		}
	}
	return n
}
