package strategy

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/shard"
)

// The rows of sharded strategies are those of tenants 1 to 10,000. Which tenant a row is of was drawn with the probability of rank^-1.1, the
// tenant's number being the rank, for 16,384 rows; the next ones repeat them. Drawing costs more than a key, so it is done beforehand.
const (
	tenants  = 10_000
	exponent = 1.1
	draws    = 1 << 14
	drawSeed = 1
	// hop is how many rows later each process begins than the one before.
	hop = 1009
)

// sharded has the bucket in the low bits.
func sharded() Strategy {
	return shardedBy(idgen.Sharded, Ticks, "in the low 10", "41 bits of milliseconds, 8 of node, 4 of sequence, 10 of bucket",
		"the index ends in 1,024 buckets each millisecond, whose keys come in no order")
}

// scattered has the bucket on top.
func scattered() Strategy {
	return shardedBy(idgen.Scattered, Unordered, "in the top 10", "10 bits of bucket, 41 of milliseconds, 8 of node, 4 of sequence",
		"the index grows in 1,024 places, and no range of keys is one of time")
}

func shardedBy(preset idgen.Preset, order Ordering, place, fields, cost string) Strategy {
	info := Info{
		Name: "snowkey-" + preset.Name(),
		About: fmt.Sprintf("64-bit snowflake keys of this module for sharded tables, with the bucket of a sharding key %s bits: %s. The sharding keys are "+
			"10,000 made-up tenants, whose rows come by Zipf(1.1); the node number is granted as snowkey's is.", place, fields),
		Origin: "packages idgen and shard of this module, after the logical shards of Instagram's ids, 2012",
		Needs:  "a sharding key in each row; a table of grants in the database, which it makes; at most 256 processes at once; a clock within five minutes of it",
		Cost: cost + "; a bucket makes 16 keys a millisecond and process, and in a burst takes those of up to a second ahead, out of the order of the others; " +
			"all rows of a tenant have one bucket, and no hash mends a hot one",
		Coordination: "the node number: through the database, by compare and swap, without anybody's doing",
		Decodes:      "when it was made, to the millisecond, by which node, with which sequence, and the bucket of its sharding key",
		Guess:        "about when others were made, and which rows can be of one tenant",
		Order:        order,
		Unit:         preset.Unit(),
		Ahead:        time.Second,
		Clock:        true,
		Granted:      true,
		Sharding:     &Sharding{Layout: preset.Layout, Tenants: tenants, Drawn: "10,000 tenants by Zipf(1.1), the first with 15 % of the rows"},
	}
	rows, err := drawn()
	if err == nil {
		info.Limit = preset.PerSecond() / rows.hottest // the other buckets wait with it
	}
	return New(info, func(ctx context.Context, at Environment) (idgen.Source[int64], error) {
		if err != nil {
			return nil, err
		}
		made, err := at.granted(ctx, preset.Name()+"_nodes", preset, idgen.WithShards())
		if err != nil {
			return nil, err
		}
		t := &tenanted{made: made, buckets: rows.buckets}
		t.turn.Store(uint64(at.Process) * hop)
		return t, nil
	})
}

// draw is the buckets of rows in the order in which they come, and the share of them that the hottest bucket has.
type draw struct {
	buckets []int64
	hottest float64
}

// drawn is the same for both layouts, which have as many buckets.
var drawn = sync.OnceValues(func() (d draw, err error) {
	ranks := rand.NewZipf(rand.New(rand.NewPCG(drawSeed, 1)), exponent, 1, tenants-1)
	counts := map[int64]int{}
	for range draws {
		bucket, err := shard.Bucket(idgen.Sharded.Layout, ranks.Uint64()+1)
		if err != nil {
			return draw{}, err
		}
		d.buckets = append(d.buckets, bucket)
		counts[bucket]++
		d.hottest = max(d.hottest, float64(counts[bucket])/draws)
	}
	return d, nil
})

// tenanted makes the keys of rows of tenants.
type tenanted struct {
	made    maker
	turn    atomic.Uint64
	buckets []int64
}

// Close gives the node number back.
func (t *tenanted) Close() error { return closed(t.made) }

func (t *tenanted) Next(ctx context.Context) (int64, error) {
	return t.made.NextFor(ctx, t.buckets[t.turn.Add(1)%draws])
}

// Fill makes a key a row, as the rows of a statement are of many buckets.
func (t *tenanted) Fill(ctx context.Context, ids []int64) (err error) {
	for i := range ids {
		if ids[i], err = t.Next(ctx); err != nil {
			return err
		}
	}
	return nil
}
