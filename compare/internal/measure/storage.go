package measure

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/snowkey-go/snowkey/compare/internal/database"
	"github.com/snowkey-go/snowkey/compare/result"
)

const (
	logged = 10_000 // rows inserted after a checkpoint, at most

	// A meter is stopped after the end of a context too, as it may have changed how the database writes.
	stopTime = 30 * time.Second
	stopLate = 5 * time.Second // when the context has ended
)

// log inserts some rows more right after a checkpoint, and counts what that makes the database write.
func (g *growth) log(ctx context.Context) (writes result.Storage, err error) {
	meter, err := g.store.Meter(ctx, database.Writes)
	if err != nil {
		return writes, err
	}
	before := g.rows
	defer func() {
		counted, stopErr := stop(ctx, meter, g.rows-before)
		if err = errors.Join(err, stopErr); err == nil {
			writes, err = counted, g.verify(ctx)
		}
		g.rows = before
	}()
	for end := before + max(1, min(logged, before/tenths)); g.rows < end; {
		if _, err := g.insert(ctx, min(g.plan.Batch, end-g.rows)); err != nil {
			return writes, err
		}
	}
	return writes, nil
}

// stop stops a meter.
func stop(ctx context.Context, meter func(context.Context, int) (result.Storage, error), rows int) (result.Storage, error) {
	limit := stopTime
	if ctx.Err() != nil {
		limit = stopLate
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	return meter(ctx, rows)
}

// addStorage adds what a round's table weighs to the rounds before.
func addStorage(to *result.Storage, round result.Storage) {
	add(&to.Table, round.Table)
	add(&to.Index, round.Index)
	add(&to.Fill, round.Fill)
	add(&to.CacheUsed, round.CacheUsed)
	add(&to.Splits, round.Splits)
	add(&to.Log, round.Log)
	add(&to.Pages, round.Pages)
}

// add adds a round's figure to those of the rounds before.
func add(to *result.Figure, round result.Figure) {
	to.Samples = append(to.Samples, round.Samples...)
	to.Why = cmp.Or(round.Why, to.Why)
	to.Note = cmp.Or(round.Note, to.Note)
}
