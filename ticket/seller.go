package ticket

import (
	"context"
	"time"
)

// seller is where a stock buys its blocks: its Servers, but in tests.
type seller interface {
	// buy returns count ids, rounded up to units, or fewer, at least one unit. It tries again and again, at any server, for as long as that may help, and until the context ends.
	buy(ctx context.Context, count int64) (sale, error)
	// unavailable returns the error for somebody who was waiting for buy, and whose context has ended with that error.
	unavailable(ended error) error
	stats() []ServerStats
	// close stops what is under way, and awaits it.
	close()
}

// sale is what buy returns.
type sale struct {
	span
	took     time.Duration // by the attempt that succeeded
	troubled bool          // others failed before it, or there was a time without any server to ask
}
