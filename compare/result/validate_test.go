package result_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/compare/result"
)

func TestValidate(t *testing.T) {
	brief := sample()
	for i := range brief.Databases {
		d := &brief.Databases[i]
		d.Strategies = d.Strategies[:2]
		for j := range d.Strategies {
			d.Strategies[j].Latency.Samples = d.Strategies[j].Latency.Samples[:min(3, len(d.Strategies[j].Latency.Samples))]
		}
	}
	text := written(t, brief)
	type strategy = result.Strategy
	bad := result.Measured(1, -2)
	for _, c := range []struct {
		says   string
		change func(r *result.Document, s *strategy)
	}{
		{"plan.profile: minLength: got 0, want 1", func(r *result.Document, _ *strategy) { r.Plan.Profile = "" }},
		{"plan.strategies: minItems: got 0, want 1", func(r *result.Document, _ *strategy) { r.Plan.Strategies = nil }},
		{"plan.rows: minimum: got 0, want 1", func(r *result.Document, _ *strategy) { r.Plan.Rows = 0 }},
		{"plan.batch: minimum: got -1, want 1", func(r *result.Document, _ *strategy) { r.Plan.Batch = -1 }},
		{"plan.rounds: minimum: got 0, want 1", func(r *result.Document, _ *strategy) { r.Plan.Rounds = 0 }},
		{"plan.budget_seconds: minimum: got -1, want 0", func(r *result.Document, _ *strategy) { r.Plan.Budget = -1 }},
		{"NaN", func(r *result.Document, _ *strategy) { r.Seconds = math.NaN() }},
		{"machine.cpus: minimum", func(r *result.Document, _ *strategy) { r.Machine.CPUs = -1 }},
		{"machine.memory_bytes: minimum", func(r *result.Document, _ *strategy) { r.Machine.Memory = -1 }},
		{"databases[1].kind: value must be one of", func(r *result.Document, _ *strategy) { r.Databases[1].Kind = "oracle" }},
		{"databases[1].cache.samples[1]: minimum: got -2, want 0", func(r *result.Document, _ *strategy) { r.Databases[1].Cache = bad }},
		{"strategies[1].name: minLength", func(_ *result.Document, s *strategy) { s.Name = "" }},
		{"strategies[1].name: \"other\" is not in the plan", func(_ *result.Document, s *strategy) { s.Name = "other" }},
		{"strategies[1].name: \"autoincrement\" is there twice", func(_ *result.Document, s *strategy) { s.Name = "autoincrement" }},
		{"verify.checks[0].state: value must be one of", func(_ *result.Document, s *strategy) { s.Verify.Checks[0].State = "fine" }},
		{"verify.checks[0].keys: minimum", func(_ *result.Document, s *strategy) { s.Verify.Checks[0].Keys = -1 }},
		{"key.bytes: minimum", func(_ *result.Document, s *strategy) { s.Key.Bytes = -1 }},
		{"key.text_length: minimum", func(_ *result.Document, s *strategy) { s.Key.Text = -1 }},
		{"+Inf", func(_ *result.Document, s *strategy) { s.Key.Gap = result.Measured(math.Inf(1)) }},
		{"generation.limit_keys_per_second", func(_ *result.Document, s *strategy) { s.Generation.Limit = -1 }},
		{"generation.floor", func(_ *result.Document, s *strategy) { s.Generation.Floor = bad }},
		{"generation.capped[1].goroutines: minimum", func(_ *result.Document, s *strategy) { s.Generation.Capped[1].Goroutines = 0 }},
		{"generation.uncapped[0].keys_per_call: minimum", func(_ *result.Document, s *strategy) { s.Generation.Uncapped[0].Keys = 0 }},
		{"generation.batch[0].ns_per_key", func(_ *result.Document, s *strategy) { s.Generation.Batch[0].Time = bad }},
		{"latency.rate_per_second", func(_ *result.Document, s *strategy) { s.Latency.Rate = -1 }},
		{"latency.goroutines", func(_ *result.Document, s *strategy) { s.Latency.Goroutines = -1 }},
		{"latency.achieved_per_second", func(_ *result.Document, s *strategy) { s.Latency.Achieved = -1 }},
		{"latency.ns[2]: minimum", func(_ *result.Document, s *strategy) { s.Latency.Samples[2] = -1 }},
		{"growth.rows: minimum", func(_ *result.Document, s *strategy) { s.Growth.Rows = -1 }},
		{"growth.rows: 0, but there are batches", func(_ *result.Document, s *strategy) { s.Growth.Rows = 0 }},
		{"growth.tenths: minItems: got 9, want 10", func(_ *result.Document, s *strategy) { s.Growth.Tenths = s.Growth.Tenths[:9] }},
		{"growth.batches_us: 5 rounds of a plan of 4", func(r *result.Document, s *strategy) {
			r.Plan.Rounds = 4
			r.Databases[0].Strategies = nil
		}},
		{"growth.batches_us[2]: minItems", func(_ *result.Document, s *strategy) { s.Growth.Batches[2] = nil }},
		{"growth.batches_us: 200 batches at least, but 199 rows", func(_ *result.Document, s *strategy) { s.Growth.Rows = 199 }},
		{"growth.batches_us[1][5]: minimum", func(_ *result.Document, s *strategy) { s.Growth.Batches[1][5] = -1 }},
		{"growth.tenths[3]: 6 samples of 5 rounds", func(_ *result.Document, s *strategy) { s.Growth.Tenths[3].RowsPerSecond.Add(1) }},
		{"growth.tenths[9].p99_us.samples[1]: minimum", func(_ *result.Document, s *strategy) { s.Growth.Tenths[9].P99 = bad }},
		{"storage.table_bytes_per_row", func(_ *result.Document, s *strategy) { s.Storage.Table = bad }},
		{"storage.index_bytes_per_row", func(_ *result.Document, s *strategy) { s.Storage.Index = bad }},
		{"storage.page_splits", func(_ *result.Document, s *strategy) { s.Storage.Splits = bad }},
		{"storage.leaf_fill", func(_ *result.Document, s *strategy) { s.Storage.Fill = bad }},
		{"storage.log_bytes_per_row", func(_ *result.Document, s *strategy) { s.Storage.Log = bad }},
		{"storage.written_bytes_per_row", func(_ *result.Document, s *strategy) { s.Storage.Pages = bad }},
		{"storage.index_to_cache", func(_ *result.Document, s *strategy) { s.Storage.CacheUsed = bad }},
		{"read.ordered_us_per_1000", func(_ *result.Document, s *strategy) { s.Read.Ordered = bad }},
		{"read.recent_us_per_1000", func(_ *result.Document, s *strategy) { s.Read.Recent = bad }},
		{"read.buffers_per_1000", func(_ *result.Document, s *strategy) { s.Read.Buffers = bad }},
		{"shards.keys", func(_ *result.Document, s *strategy) { s.Shards.Keys = -1 }},
		{"shards.counts: minItems: got 15, want 16", func(_ *result.Document, s *strategy) { s.Shards.Counts = s.Shards.Counts[1:] }},
		{"shards.counts[4]: minimum", func(_ *result.Document, s *strategy) { s.Shards.Counts[4] = -1 }},
		{"shards.uniform_counts: minItems: got 15, want 16", func(_ *result.Document, s *strategy) { s.Shards.Uniform = make([]int64, 15) }},
		{"shards.uniform_counts[1]: minimum", func(_ *result.Document, s *strategy) { s.Shards.Uniform = append([]int64{1, -1}, make([]int64, 14)...) }},
		{"shards.hot_buckets[0].bucket", func(_ *result.Document, s *strategy) { s.Shards.Hot = []result.Bucket{{Bucket: -1}} }},
		{"shards.hot_buckets[0].tenants", func(_ *result.Document, s *strategy) { s.Shards.Hot = []result.Bucket{{Tenants: -1}} }},
		{"shards.hot_buckets[0].share: maximum", func(_ *result.Document, s *strategy) { s.Shards.Hot = []result.Bucket{{Share: 1.5}} }},
		{"shards.hot_buckets[1].share: 0.5 is above", func(_ *result.Document, s *strategy) { s.Shards.Hot = []result.Bucket{{Share: 0.4}, {Share: 0.5}} }},
		{"shards.chi_square[0].shards: minimum", func(_ *result.Document, s *strategy) { s.Shards.Chi[0].Shards = 1 }},
		{"shards.chi_square[2].shards: 4 does not ascend", func(_ *result.Document, s *strategy) { s.Shards.Chi[2].Shards = 4 }},
		{"shards.chi_square[0].chi_square", func(_ *result.Document, s *strategy) { s.Shards.Chi[0].Value = -1 }},
		{"shards.chi_square[0].p: maximum", func(_ *result.Document, s *strategy) { s.Shards.Chi[0].P = 1.5 }},
		{"crash.issued_twice", func(_ *result.Document, s *strategy) { s.Crash.Twice = bad }},
		{"crash.lost", func(_ *result.Document, s *strategy) { s.Crash.Lost = bad }},
		{"crash.outage_ms", func(_ *result.Document, s *strategy) { s.Crash.Outage = bad }},
		{"crash.down_ms", func(_ *result.Document, s *strategy) { s.Crash.Down = bad }},
	} {
		r, err := result.Load(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		c.change(&r, &r.Databases[1].Strategies[1])
		err = r.Validate()
		if !errors.Is(err, result.ErrDocument) || !strings.Contains(err.Error(), ": "+c.says) && !strings.Contains(err.Error(), "."+c.says) {
			t.Errorf("got %v, want %s", err, c.says)
		}
	}
	r := brief
	r.Schema = 1
	if err := r.Validate(); !errors.Is(err, result.ErrSchema) {
		t.Errorf("another schema: got %v", err)
	}
}
