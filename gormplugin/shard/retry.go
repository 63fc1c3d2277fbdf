package shard

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// The waits of [Retry]: the first, the longest, and all together.
const (
	firstRetry = 5 * time.Millisecond
	longRetry  = time.Second
	allRetries = 30 * time.Second
)

// Retry calls a function, a whole transaction, until its error is no [ErrMoved], the context ends, or resharding takes longer than half a minute. It waits a
// little longer each time, and for the map that the router has asked for. The error of the last call is in the one that is returned.
func Retry(ctx context.Context, do func() error) error {
	deadline := time.Now().Add(allRetries)
	for wait := firstRetry; ; wait = min(2*wait, longRetry) {
		err := do()
		if !errors.Is(err, ErrMoved) {
			return err
		}
		// Without this the transaction may take the only connection again, and again, before the question gets it.
		if asked := (*askedError)(nil); errors.As(err, &asked) {
			select {
			case <-asked.asked.done: // within a limited time
			case <-ctx.Done():
			}
		}
		pause := wait/2 + rand.N(wait/2+1) // so that those who were refused at once do not come back at once
		if time.Until(deadline) < pause {
			return fmt.Errorf("shard: tried for %s: %w", allRetries, err)
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("%w, after: %w", ctx.Err(), err)
		case <-timer.C:
		}
	}
}
