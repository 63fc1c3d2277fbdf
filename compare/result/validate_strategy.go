package result

import (
	"fmt"
	"math"
)

// shardCounts is the number of shards that [Shards] has counts for.
const shardCounts = 16

// database looks at one database.
func (v *validator) database(d Database, plan Plan) {
	v.oneOf("kind", d.Kind, "sqlite", "mysql", "postgres")
	v.figure("cache", d.Cache)
	planned := map[string]bool{}
	for _, name := range plan.Strategies {
		planned[name] = true
	}
	seen := map[string]bool{}
	for i, s := range d.Strategies {
		v.within(fmt.Sprintf("strategies[%d]", i), func() {
			v.check(s.Name != "", "name", "it is empty")
			v.check(planned[s.Name], "name", "%q is not in the plan", s.Name)
			v.check(!seen[s.Name], "name", "%q is there twice", s.Name)
			seen[s.Name] = true
			v.strategy(s)
		})
	}
}

// strategy looks at one strategy.
func (v *validator) strategy(s Strategy) {
	for i, c := range s.Verify.Checks {
		v.within(fmt.Sprintf("verify.checks[%d]", i), func() {
			v.oneOf("state", c.State, Passed, Failed, NotRun)
			v.amount("keys", float64(c.Keys))
		})
	}
	v.within("key", func() {
		v.amount("bytes", float64(s.Key.Bytes))
		v.amount("text_length", float64(s.Key.Text))
		v.figure("gap_bits", s.Key.Gap)
	})
	v.within("generation", func() {
		v.amount("limit_keys_per_second", s.Generation.Limit)
		v.speeds("capped", s.Generation.Capped)
		v.speeds("uncapped", s.Generation.Uncapped)
		v.speeds("batch", s.Generation.Batch)
		v.figure("floor", s.Generation.Floor)
	})
	v.within("latency", func() { v.latency(s.Latency) })
	v.within("growth", func() { v.growth(s.Growth) })
	v.within("storage", func() {
		v.figures(map[string]Figure{
			"table_bytes_per_row": s.Storage.Table, "index_bytes_per_row": s.Storage.Index, "page_splits": s.Storage.Splits,
			"leaf_fill": s.Storage.Fill, "log_bytes_per_row": s.Storage.Log, "written_bytes_per_row": s.Storage.Pages,
			"index_to_cache": s.Storage.CacheUsed,
		})
	})
	v.within("read", func() {
		v.figures(map[string]Figure{
			"ordered_us_per_1000": s.Read.Ordered, "recent_us_per_1000": s.Read.Recent, "buffers_per_1000": s.Read.Buffers,
		})
	})
	v.within("shards", func() { v.shards(s.Shards) })
	v.within("crash", func() {
		v.figures(map[string]Figure{
			"issued_twice": s.Crash.Twice, "lost": s.Crash.Lost, "outage_ms": s.Crash.Outage, "down_ms": s.Crash.Down,
		})
	})
}

// speeds are of some goroutines and keys each.
func (v *validator) speeds(field string, speeds []Speed) {
	for i, s := range speeds {
		v.within(fmt.Sprintf("%s[%d]", field, i), func() {
			v.check(s.Goroutines > 0, "goroutines", "%d is below 1", s.Goroutines)
			v.check(s.Keys > 0, "keys_per_call", "%d is below 1", s.Keys)
			v.figure("ns_per_key", s.Time)
		})
	}
}

// latency is not negative.
func (v *validator) latency(l Latency) {
	v.amount("rate_per_second", l.Rate)
	v.amount("goroutines", float64(l.Goroutines))
	v.amount("achieved_per_second", l.Achieved)
	for i, ns := range l.Samples {
		if ns < 0 { // checked here, for there are many
			v.check(false, "ns", "sample %d is negative: %d", i, ns)
			return
		}
	}
}

// growth has as many samples everywhere as charts of it take for granted.
func (v *validator) growth(g Growth) {
	v.amount("rows", float64(g.Rows))
	v.check(len(g.Tenths) == 0 || len(g.Tenths) == 10, "tenths", "%d, not 10", len(g.Tenths))
	v.check(len(g.Batches) <= v.rounds, "batches_us", "%d rounds of a plan of %d", len(g.Batches), v.rounds)
	v.check(len(g.Batches) == 0 || g.Rows > 0, "rows", "0, but there are batches")
	shortest := math.MaxInt
	for i, round := range g.Batches {
		shortest = min(shortest, len(round))
		v.check(len(round) > 0, "batches_us", "round %d is empty", i)
		for j, us := range round {
			if us < 0 {
				v.check(false, "batches_us", "batch %d of round %d is negative: %d", j, i, us)
			}
		}
	}
	v.check(len(g.Batches) == 0 || shortest <= g.Rows, "batches_us", "%d batches at least, but %d rows", shortest, g.Rows)
	for i, t := range g.Tenths {
		v.within(fmt.Sprintf("tenths[%d]", i), func() {
			v.tenth("rows_per_second", t.RowsPerSecond, len(g.Batches))
			v.tenth("p99_us", t.P99, len(g.Batches))
		})
	}
}

// tenth is a figure of a tenth.
func (v *validator) tenth(field string, f Figure, rounds int) {
	v.figure(field, f)
	v.check(len(f.Samples) <= rounds, field, "%d samples of %d rounds", len(f.Samples), rounds)
}

// shards are counted without loss.
func (v *validator) shards(s Shards) {
	v.amount("keys", float64(s.Keys))
	v.counts("counts", s.Counts)
	v.counts("uniform_counts", s.Uniform)
	for i, b := range s.Hot {
		v.within(fmt.Sprintf("hot_buckets[%d]", i), func() {
			v.amount("bucket", float64(b.Bucket))
			v.amount("tenants", float64(b.Tenants))
			v.check(b.Share >= 0 && b.Share <= 1, "share", "%v is no share", b.Share)
			v.check(i == 0 || b.Share <= s.Hot[i-1].Share, "share", "%v is above that of the bucket before", b.Share)
		})
	}
	for i, c := range s.Chi {
		v.within(fmt.Sprintf("chi_square[%d]", i), func() {
			v.check(c.Shards >= 2, "shards", "%d is below 2", c.Shards)
			v.check(i == 0 || c.Shards > s.Chi[i-1].Shards, "shards", "%d does not ascend", c.Shards)
			v.amount("chi_square", c.Value)
			v.check(c.P >= 0 && c.P <= 1, "p", "%v is no chance", c.P)
		})
	}
}

// counts are of all shards.
func (v *validator) counts(field string, counts []int64) {
	v.check(len(counts) == 0 || len(counts) == shardCounts, field, "%d, not %d", len(counts), shardCounts)
	for i, c := range counts {
		v.check(c >= 0, field, "count %d is negative: %d", i, c)
	}
}
