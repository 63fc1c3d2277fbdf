package verify

import (
	"runtime"
	"sync/atomic"
	"time"
)

// gate lets goroutines begin their calls two by two. Without it, on few cores, each goroutine is done with its keys before the next one runs:
// of 2,000 calls of a fast source, measured on two cores, less than five were under way at the same time, so that nothing concurrent was tried.
//
// A goroutine that waits spins, so that it goes on within nanoseconds of the other one. On a machine that is busy with something else the other
// may not run for milliseconds; all goroutines together wait until the gate's end at most.
type gate struct {
	here atomic.Int64 // goroutines that have come so far
	left atomic.Int64 // goroutines that may still come
	end  time.Time
	open bool // for good: nobody waits
}

// gated is for how long a gate makes goroutines wait.
const gated = 150 * time.Millisecond

// newGate makes a gate for so many goroutines. It is open where they could not run at the same time.
func newGate(goroutines int, open bool) *gate {
	g := &gate{end: time.Now().Add(gated), open: open || runtime.GOMAXPROCS(0) < 2}
	g.left.Store(int64(goroutines))
	return g
}

// pass returns when another goroutine has come after this one, or has just waited for it, or when none can come.
func (g *gate) pass() {
	if g.open {
		return
	}
	mine := g.here.Add(1)
	if mine%2 == 0 {
		return // somebody waits for this one
	}
	for i := 1; g.here.Load() == mine && g.left.Load() > 1; i++ {
		if i%1024 == 0 && time.Now().After(g.end) {
			return
		}
	}
}

// leave tells that a goroutine does not come again.
func (g *gate) leave() { g.left.Add(-1) }
