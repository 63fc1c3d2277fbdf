package idgen

import (
	"time"
	"unsafe"
)

// Quotient divides by a unit as generators do.
func Quotient(n int64, unit time.Duration) int64 { return newDivisor(unit).quotient(n) }

// LaneSize is how many bytes a lane takes.
const LaneSize = unsafe.Sizeof(lane{})

// Lines returns how many lanes of a generator have a line.
func Lines(g *Snowflake) (n int) {
	for l := range g.all {
		if l.line.Load() != nil {
			n++
		}
	}
	return n
}
