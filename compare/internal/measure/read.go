package measure

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/compare/strategy"
)

// keyColumn is the name of the key's column in the tables of all strategies.
const keyColumn = "id"

// read reads the full table.
func (g *growth) read(ctx context.Context) (reads result.Read, err error) {
	if reads.Ordered, err = g.readOrdered(ctx); err != nil {
		return reads, err
	}
	if reads.Recent, err = g.readRecent(ctx); err != nil {
		return reads, err
	}
	reads.Buffers, err = g.store.Buffers(ctx, g.name, keyColumn)
	return reads, err
}

func (g *growth) readOrdered(ctx context.Context) (result.Figure, error) {
	want, got := min(ordered, g.rows), 0
	var before strategy.Key
	start := time.Now()
	err := g.table.Ordered(ctx, want, func(key strategy.Key, _ strategy.Order) error {
		if key == before {
			return fmt.Errorf("%w: two rows with the key %x followed each other", ErrVerify, key)
		}
		before = key
		got++
		return nil
	})
	took := time.Since(start)
	if err != nil {
		return result.Figure{}, err
	}
	if got != want {
		return result.Figure{}, fmt.Errorf("%w: reading in order gave %d of %d", ErrVerify, got, want)
	}
	return result.Measured(perThousand(took, want)), nil
}

func (g *growth) readRecent(ctx context.Context) (result.Figure, error) {
	rows := g.last
	shuffled := rand.New(rand.NewPCG(g.plan.Seed, 3)).Perm(len(rows))
	var took time.Duration
	for _, i := range shuffled {
		start := time.Now()
		key, order, err := g.table.Find(ctx, rows[i].key)
		took += time.Since(start)
		if err != nil {
			return result.Figure{}, err
		}
		if want := rows[i]; key != want.key || order.Total != want.order.Total || order.CustomerID != want.order.CustomerID {
			return result.Figure{}, fmt.Errorf("%w: the row of %x came back as that of %x: total %d, customer %d, want %d, %d",
				ErrVerify, want.key, key, order.Total, order.CustomerID, want.order.Total, want.order.CustomerID)
		}
	}
	return result.Measured(perThousand(took, len(rows))), nil
}

// perThousand returns microseconds for 1,000 rows.
func perThousand(took time.Duration, rows int) float64 {
	return float64(took.Nanoseconds()) / float64(rows)
}

// addRead adds a round's reads to those before.
func addRead(to *result.Read, reads result.Read) {
	add(&to.Ordered, reads.Ordered)
	add(&to.Recent, reads.Recent)
	add(&to.Buffers, reads.Buffers)
}
