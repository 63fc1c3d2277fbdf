package monitor

import (
	"context"
	"sync"
	"time"

	"github.com/snowkey-go/snowkey/idgen/grant"
)

// every is how often a table of node numbers is read at most, and within how long.
const every, within = time.Minute, 5 * time.Second

// Numbers is a source with how many node numbers of a keeper's key space are taken. It reads the table of node numbers, a thousand rows in the
// default layout, at most once a minute, so it need not be in every process.
type Numbers struct {
	keeper *grant.Keeper

	mu     sync.Mutex // guards all below
	read   time.Time
	last   grant.Numbers
	err    error // of the last reading
	errors int64
}

// NewNumbers returns the source for a keeper.
func NewNumbers(of *grant.Keeper) *Numbers { return &Numbers{keeper: of} }

func (n *Numbers) samples(ctx context.Context, r reader) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.read.IsZero() || time.Since(n.read) >= every {
		ctx, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		n.last, n.err = n.keeper.Numbers(ctx)
		if n.read = time.Now(); n.err != nil {
			n.errors++
		}
	}
	r.add(numbersErrors, float64(n.errors))
	if n.err == nil {
		r.add(numbersAll, float64(n.last.Of))
		r.add(numbersTaken, float64(n.last.Taken))
		r.add(numbersSilent, float64(n.last.Silent))
	}
}
