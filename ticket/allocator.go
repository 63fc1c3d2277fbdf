package ticket

import (
	"context"
	"time"
)

// allocator gives a Buffer its blocks.
type allocator interface {
	// allocate returns count ids, rounded up to units, or fewer, at least one unit. It tries again and again, at any server, for as long as that may help, and until the context ends.
	allocate(ctx context.Context, count int64) (allocation, error)
	// unavailable returns the error for a caller whose context has ended with that error while it waited for ids.
	unavailable(ended error) error
	// recheck returns why others may get ids that were allocated: what they came from was set back or emptied since, or is quarantined. It says so once for each time.
	recheck(ctx context.Context) error
	stats() []ServerStats
	// close stops what is under way, and awaits it.
	close()
}

// allocation is what allocate returns.
type allocation struct {
	span
	took     time.Duration // by the attempt that succeeded
	troubled bool          // others failed before it, or there was a time without any server to ask
}
