package ticket

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/snowkey-go/snowkey/idgen"
)

// Tickets is a source of single tickets: each id is a round trip to a server. It is safe for concurrent use. Ids of one server increase; those of several
// interleave.
type Tickets struct {
	*Servers
	issued atomic.Int64
}

var _ idgen.Source[int64] = (*Tickets)(nil)

// Next returns a ticket. It waits for a server at most as long as the context, or [Config.Timeout] where that has no deadline. The error is an
// [*UnavailableError], or wraps [ErrClosed].
func (t *Tickets) Next(ctx context.Context) (int64, error) {
	ctx, cancel := t.config.bound(ctx, t.config.Timeout)
	defer cancel()
	return t.next(ctx)
}

func (t *Tickets) next(ctx context.Context) (int64, error) {
	allocated, err := t.allocate(ctx, 1)
	if err != nil {
		return 0, err
	}
	t.issued.Add(1)
	return allocated.first, nil
}

// Fill draws a ticket for each key, one after the other; blocks are the way to draw many. All are bound by one time, as Next is.
func (t *Tickets) Fill(ctx context.Context, keys []int64) error {
	ctx, cancel := t.config.bound(ctx, t.config.Timeout)
	defer cancel()
	for i := range keys {
		id, err := t.next(ctx)
		if err != nil {
			clear(keys)
			return fmt.Errorf("ticket %d of %d: %w", i+1, len(keys), err)
		}
		keys[i] = id
	}
	return nil
}

// Close ends the probes of servers that are under way, and awaits them. Later calls fail with [ErrClosed]. The pools stay the caller's.
func (t *Tickets) Close() error {
	t.close()
	return nil
}

// Stats are the counts of a source of tickets.
type Stats struct {
	Issued  int64 // ids that were given out
	Servers []ServerStats
}

// Stats says how the source is doing.
func (t *Tickets) Stats() Stats {
	return Stats{Issued: t.issued.Load(), Servers: t.stats()}
}
