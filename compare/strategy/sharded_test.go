package strategy_test

import (
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/snowkey-go/snowkey/compare/strategy"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/shard"
)

// TestShardedTenants shows that the keys carry the buckets of tenants who come by Zipf's law, the same in both layouts and for every seed of a run.
func TestShardedTenants(t *testing.T) {
	const rows = 16_384
	sum := 0.0
	for rank := 1.0; rank <= 10_000; rank++ {
		sum += math.Pow(rank, -1.1)
	}
	low, top := opened(t, "snowkey-sharded", 0, nil), opened(t, "snowkey-scattered", 0, nil)
	counts := map[int64]int{}
	for i := range rows {
		number, _ := low.Number(next(t, low))
		bucket := number & 1023
		if number, _ := top.Number(next(t, top)); number>>53 != bucket {
			t.Fatalf("row %d: got the buckets %d and %d, want the same", i, bucket, number>>53)
		}
		counts[bucket]++
	}
	want := map[int64]float64{}
	for rank := 1; rank <= 10_000; rank++ {
		bucket, err := shard.Bucket(idgen.Sharded.Layout, rank)
		if err != nil {
			t.Fatal(err)
		}
		want[bucket] += rows * math.Pow(float64(rank), -1.1) / sum
	}
	hottest := 0
	for bucket, expected := range want {
		hottest = max(hottest, counts[bucket])
		if off := float64(counts[bucket]) - expected; math.Abs(off) > 5*math.Sqrt(expected)+1 {
			t.Errorf("bucket %d has %d rows, want about %.0f", bucket, counts[bucket], expected)
		}
	}
	for _, name := range []string{"snowkey-sharded", "snowkey-scattered"} {
		info := byName(t, name).Info()
		if got, want := info.Limit, 16_000*rows/float64(hottest); math.Abs(got-want) > 1e-6*want || info.Sharding == nil || info.Sharding.Tenants != 10_000 {
			t.Errorf("%s: got a limit of %v keys a second, want %v, that of the hottest bucket; %+v", name, got, want, info.Sharding)
		}
	}
}

// TestShardedBesideEachOther has keys of two processes, made by many goroutines at full speed, all differ; the grants of both layouts are in tables
// of their own, as a number of one layout says nothing in the other.
func TestShardedBesideEachOther(t *testing.T) {
	t.Parallel()
	pool := open(t, dbtest.SQLite(t))
	for _, name := range []string{"sharded", "scattered"} {
		var work sync.WaitGroup
		made := make([][]strategy.Key, 4)
		for process := range 2 {
			at := strategy.Environment{DB: pool, Kind: "sqlite", Prefix: prefix, Process: process, Processes: 2}
			keys, err := byName(t, "snowkey-"+name).Open(t.Context(), at)
			if err != nil {
				t.Fatal(err)
			}
			defer keys.Close()
			for i := range 2 {
				work.Go(func() {
					var err error
					if made[2*process+i], err = keys.Fill(t.Context(), 20_000); err != nil {
						t.Error(err)
					}
				})
			}
		}
		work.Wait()
		seen := map[strategy.Key]bool{}
		for _, keys := range made {
			for _, key := range keys {
				seen[key] = true
			}
		}
		if len(seen) != 80_000 {
			t.Errorf("%s: %d different keys of 80,000", name, len(seen))
		}
		var held int
		if err := pool.QueryRow(fmt.Sprintf("SELECT count(*) FROM %s_%s_nodes WHERE node >= 0 AND holder <> ''", prefix, name)).Scan(&held); err != nil || held != 2 {
			t.Errorf("%s: %d numbers are held, %v, want 2", name, held, err)
		}
	}
}
