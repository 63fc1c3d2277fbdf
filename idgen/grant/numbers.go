package grant

import (
	"context"
	"fmt"
)

// Numbers says how many numbers of a key space are free to be acquired.
type Numbers struct {
	Of     int64 // numbers that a keeper's options leave it
	Taken  int64 // of these, numbers that nobody can acquire now: held, or without a row since rows were deleted
	Silent int64 // of these, numbers whose holders have not renewed them in time: most likely they have ended without Close
}

// Numbers asks the store how many of the keeper's numbers are taken. It reads the rows of all numbers, a thousand in the default layout.
func (k *Keeper) Numbers(ctx context.Context) (n Numbers, err error) {
	status := k.status.Load()
	terms := status.terms
	l, err := k.store.List(ctx, status.rows, terms.least, terms.most)
	if err != nil {
		return n, fmt.Errorf("grant: counting the numbers of space %q: %w", k.config.Space, err)
	}
	n.Of = terms.most - terms.least + 1
	now := k.ticks(l.Now)
	for _, row := range l.Rows {
		if row.Holder == "" || row.Until <= now {
			continue
		}
		n.Taken++
		if terms.silent(row, now) {
			n.Silent++
		}
	}
	if l.held() > now {
		n.Taken += n.Of - int64(len(l.Rows))
	}
	return n, nil
}
