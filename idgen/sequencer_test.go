package idgen_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// sharded has 3 bits of node, 5 of sequence and 2 of shard.
func sharded(t testing.TB) idgen.Layout {
	t.Helper()
	layout, err := idgen.NewLayout(noon, time.Millisecond, idgen.Time.Bits(40), idgen.Node.Bits(3), idgen.Sequence.Bits(5), idgen.Shard.Bits(2))
	if err != nil {
		t.Fatal(err)
	}
	return layout
}

func nextFor(t testing.TB, g *idgen.Snowflake, shard int64) idgen.Parts {
	t.Helper()
	id, err := g.NextFor(t.Context(), shard)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := g.Layout().Decode(id)
	if err != nil {
		t.Fatal(err)
	}
	return parts
}

func TestWithShardsRefuses(t *testing.T) {
	wide, err := idgen.NewLayout(noon, time.Millisecond, idgen.Time.Bits(40), idgen.Shard.Bits(17))
	if err != nil {
		t.Fatal(err)
	}
	for name, options := range map[string][]idgen.Option{
		"no shard field":          {idgen.WithNode(1)},
		"the same for all too":    {idgen.Sharded, idgen.WithNode(1), idgen.WithShard(3)},
		"more memory than likely": {wide, idgen.WithClock(newFakeClock(noon.Add(time.Hour)))},
	} {
		if g, err := idgen.New(append(options, idgen.WithShards())...); !errors.Is(err, idgen.ErrRange) || g != nil {
			t.Errorf("%s: got %v, %v, want ErrRange", name, g, err)
		}
	}
	if _, err := idgen.New(idgen.Sharded, idgen.WithNode(1)); !errors.Is(err, idgen.ErrNode) {
		t.Errorf("neither shard nor shards: got %v, want ErrNode", err)
	}
}

// A call of the wrong kind, or for no shard, is an error that says what to call, and takes nothing.
func TestCallsThatDoNotFitTheGenerator(t *testing.T) {
	ctx := t.Context()
	sequencers := newGenerator(t, idgen.Sharded, idgen.WithNode(1), idgen.WithShards())
	_, err := sequencers.Next(ctx)
	for _, err := range []error{err, sequencers.Fill(ctx, make([]int64, 2))} {
		if !errors.Is(err, idgen.ErrNode) || !strings.Contains(err.Error(), "call NextFor or FillFor") {
			t.Errorf("without a shard: got %v, want ErrNode that names NextFor", err)
		}
	}
	plain := newGenerator(t, idgen.WithNode(1))
	one := newGenerator(t, idgen.Sharded, idgen.WithNode(1), idgen.WithShard(3))
	for _, tt := range []struct {
		g     *idgen.Snowflake
		shard int64
		want  string
	}{
		{sequencers, -1, "0 to 1023"}, {sequencers, 1024, "0 to 1023"}, {sequencers, math.MaxInt64, "0 to 1023"}, {sequencers, math.MinInt64, "0 to 1023"},
		{sequencers, 1 << 32, "0 to 1023"}, {plain, 0, "WithShards"}, {one, 3, "WithShards"},
	} {
		_, err := tt.g.NextFor(ctx, tt.shard)
		for _, err := range []error{err, tt.g.FillFor(ctx, tt.shard, make([]int64, 2))} {
			if !errors.Is(err, idgen.ErrRange) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("shard %d: got %v, want ErrRange with %q", tt.shard, err, tt.want)
			}
		}
		if n := tt.g.Stats().Issued; n != 0 {
			t.Errorf("shard %d: counts %d ids", tt.shard, n)
		}
	}
}

// Many goroutines on many sequencers, some one by one and some in runs: no id twice, each of its shard, those of a sequencer increasing in each
// goroutine.
func TestSequencersAreUniqueAndIncrease(t *testing.T) {
	const goroutines, each = 8, 4000
	for _, preset := range []idgen.Preset{idgen.Sharded, idgen.Scattered} {
		t.Run(preset.Name(), func(t *testing.T) {
			g := newGenerator(t, preset, idgen.WithNode(5), idgen.WithShards())
			made := make([][]int64, goroutines)
			var wg sync.WaitGroup
			for i := range goroutines {
				wg.Go(func() { made[i] = fillLanes(t, g, uint64(i), each) })
			}
			wg.Wait()
			all := slices.Concat(made...)
			if n := g.Stats().Issued; n != int64(len(all)) {
				t.Errorf("counts %d ids, made %d", n, len(all))
			}
			slices.Sort(all)
			if unique := len(slices.Compact(slices.Clone(all))); unique != goroutines*each {
				t.Errorf("%d different ids, want %d", unique, goroutines*each)
			}
		})
	}
}

// fillLanes returns n ids of sequencers at random, most of them of one.
func fillLanes(t *testing.T, g *idgen.Snowflake, seed uint64, n int) (all []int64) {
	r, last := rand.New(rand.NewPCG(seed, 12)), map[int64]int64{}
	for len(all) < n {
		shard := max(0, r.Int64N(2048)-1024)
		ids := make([]int64, min(n-len(all), 1+r.IntN(2)*r.IntN(40)))
		var err error
		if len(ids) == 1 {
			ids[0], err = g.NextFor(t.Context(), shard)
		} else {
			err = g.FillFor(t.Context(), shard, ids)
		}
		if err != nil {
			t.Error(err)
			return nil
		}
		for _, id := range ids {
			if parts, err := g.Layout().Decode(id); err != nil || parts.Shard != shard || parts.Node != 5 {
				t.Errorf("got %+v, %v, want shard %d of node 5", parts, err, shard)
				return nil
			}
			if was, found := last[shard]; found && id <= was {
				t.Errorf("shard %d: got %d after %d", shard, id, was)
				return nil
			}
			last[shard] = id
		}
		all = append(all, ids...)
	}
	return all
}

// A sequencer that 20,000 ids a second are taken of, of the 16,000 that it makes, goes ahead of the clock by as many ticks as it may borrow and
// no further, and no other sequencer does.
func TestHotLane(t *testing.T) {
	const hot, borrow = 700, 1000
	ended, cancel := context.WithCancel(t.Context())
	cancel() // what would wait fails
	clock := newFakeClock(noon)
	g := newGenerator(t, idgen.Sharded, idgen.WithNode(3), idgen.WithShards(), idgen.WithClock(clock))
	refused, greatest, last := 0, int64(0), int64(-1)
	for ms := range int64(6000) {
		for range 20 {
			id, err := g.NextFor(ended, hot)
			if err != nil {
				if !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
				refused++
				continue
			}
			if id <= last {
				t.Fatalf("got %d after %d", id, last)
			}
			last = id
			greatest = max(greatest, timeOf(t, g, id).Sub(clock.Wall()).Milliseconds())
		}
		if ms == 3000 && (refused > 0 || greatest < 700 || greatest > 800) {
			t.Errorf("after three seconds: %d calls had to wait, %d ms ahead, want none and 750 ms", refused, greatest)
		}
		if parts := nextFor(t, g, ms%hot); !parts.Time.Equal(clock.Wall()) {
			t.Fatalf("an id of shard %d is of %s, the clock at %s", parts.Shard, parts.Time, clock.Wall())
		}
		clock.pass(time.Millisecond)
	}
	if greatest != borrow || refused == 0 {
		t.Errorf("at most %d ms ahead, want %d; %d calls had to wait, want some", greatest, borrow, refused)
	}
	if s := g.Stats(); s.Issued != 6000*21-int64(refused) {
		t.Errorf("counts %d ids, want %d", s.Issued, 6000*21-refused)
	}
}

// chiSquare is that of counts that should all be the same.
func chiSquare(counts []int) (sum float64) {
	all := 0
	for _, n := range counts {
		all += n
	}
	mean := float64(all) / float64(len(counts))
	for _, n := range counts {
		sum += (float64(n) - mean) * (float64(n) - mean) / mean
	}
	return sum
}

// At 50 ids a second ids are spread evenly over 16 shards, and over the sequences that a tick may start at where all are for one bucket, and
// the first ids of sequencers are.
func TestSequencersAreSpreadAtLowTraffic(t *testing.T) {
	for _, preset := range []idgen.Preset{idgen.Sharded, idgen.Scattered} {
		clock := newFakeClock(noon)
		g := newGenerator(t, preset, idgen.WithNode(1), idgen.WithShards(), idgen.WithClock(clock))
		first := make([]int, 4)
		for shard := range int64(1024) {
			first[nextFor(t, g, shard).Sequence]++
		}
		r := rand.New(rand.NewPCG(50, 16))
		shards, sequences := make([]int, 16), make([]int, 4)
		for range 50_000 {
			clock.pass(20 * time.Millisecond)
			shards[nextFor(t, g, r.Int64N(1024)).Shard%16]++
			clock.pass(20 * time.Millisecond)
			sequences[nextFor(t, g, 5).Sequence]++
		}
		// The greatest that one in a thousand has: 37.7 with 15 degrees of freedom, 16.3 with 3.
		for _, tt := range []struct {
			name   string
			counts []int
			limit  float64
		}{{"id % 16", shards, 37.8}, {"sequences of one bucket", sequences, 16.3}, {"first sequences", first, 16.3}} {
			if got := chiSquare(tt.counts); got >= tt.limit {
				t.Errorf("%s, %s: χ² %.1f of %v, want less than %.1f", preset.Name(), tt.name, got, tt.counts, tt.limit)
			}
		}
	}
}

// Seal ends all sequencers, at the greatest tick of any, borrowed or not.
func TestSealWithBorrowedLanes(t *testing.T) {
	clock := newFakeClock(noon.Add(100 * time.Millisecond))
	g := newGenerator(t, sharded(t), idgen.WithGrants(), idgen.WithShards(), idgen.WithClock(clock), idgen.BorrowFull(50))
	setGrant(t, g, 5, 100, 1000, noon)
	for shard, ticks := range []int{1, 30, 7} {
		if err := g.FillFor(t.Context(), int64(shard), make([]int64, 32*ticks)); err != nil {
			t.Fatal(err)
		}
	}
	if end := g.Seal(); end != 130 {
		t.Errorf("sealed at tick %d, want 130", end)
	}
	for shard := range int64(4) {
		_, err := g.NextFor(t.Context(), shard)
		if err := errors.Join(err, g.FillFor(t.Context(), shard, make([]int64, 2))); !errors.Is(err, idgen.ErrGrant) {
			t.Errorf("shard %d: got %v, want ErrGrant", shard, err)
		}
	}
	if n := g.Stats().Issued; n != 38*32 {
		t.Errorf("counts %d ids, want %d", n, 38*32)
	}
}

// When Seal has returned no sequencer makes an id, not even by a call that was under way, and none that was made is of the end or later.
func TestSealWithSequencersUnderWay(t *testing.T) {
	for range 25 {
		g := newGenerator(t, sharded(t), idgen.WithGrants(), idgen.WithShards(), idgen.BorrowFull(1000))
		now := int64(g.Now().Sub(noon) / time.Millisecond)
		setGrant(t, g, 1, now-5, now+100_000, g.Now())
		made := make([][]int64, 4)
		var wg sync.WaitGroup
		for i := range made {
			wg.Go(func() {
				for shard := int64(i); ; shard++ {
					id, err := g.NextFor(t.Context(), shard%4)
					if err != nil {
						return
					}
					made[i] = append(made[i], id)
				}
			})
		}
		time.Sleep(time.Duration(rand.Int64N(int64(200 * time.Microsecond)))) // somewhere among the calls
		end := g.Seal()
		wg.Wait()
		all := slices.Concat(made...)
		for _, id := range all {
			if tick := id >> 10; tick >= end {
				t.Fatalf("an id of tick %d, sealed at %d", tick, end)
			}
		}
		slices.Sort(all)
		if n := len(all); len(slices.Compact(all)) != n || g.Stats().Issued != int64(n) {
			t.Fatalf("of %d ids some came twice, or %d are counted", n, g.Stats().Issued)
		}
	}
}

// A number goes from hand to hand while a sequencer is ahead of the clock: no id comes twice, and the next holder is no further ahead than the
// one before.
func TestGrantsOfBorrowedTicks(t *testing.T) {
	const borrow = 50
	ended, cancel := context.WithCancel(t.Context())
	cancel() // what would wait fails
	clock := newFakeClock(noon.Add(100 * time.Millisecond))
	seen, last, from := map[int64]bool{}, map[int64]int64{}, int64(100)
	for range 30 {
		g := newGenerator(t, sharded(t), idgen.WithGrants(), idgen.WithShards(), idgen.WithClock(clock), idgen.BorrowFull(borrow))
		setGrant(t, g, 5, from, from+600, clock.Wall())
		for _, shard := range []int64{0, 1, 2, 0, 0, 0} {
			for i := range 400*(1-min(shard, 1)) + 3 {
				id, err := g.NextFor(ended, shard)
				if errors.Is(err, context.Canceled) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if seen[id] || id <= last[shard] {
					t.Fatalf("shard %d, call %d: got %d after %d", shard, i, id, last[shard])
				}
				seen[id], last[shard] = true, id
				if ahead := timeOf(t, g, id).Sub(clock.Wall()).Milliseconds(); ahead > borrow {
					t.Fatalf("an id is %d ms ahead, want at most %d", ahead, borrow)
				}
			}
			clock.pass(time.Millisecond)
		}
		if from = g.Seal(); from < int64(clock.Wall().Sub(noon)/time.Millisecond) {
			t.Fatal("no sequencer was ahead of the clock")
		}
	}
}

// Ids of another number begin after the last tick of any sequencer.
func TestSequencersChangeTheNumber(t *testing.T) {
	clock := newFakeClock(noon.Add(100 * time.Millisecond))
	g := newGenerator(t, sharded(t), idgen.WithGrants(), idgen.WithShards(), idgen.WithClock(clock), idgen.BorrowFull(50))
	setGrant(t, g, 5, 100, 1000, clock.Wall())
	if err := g.FillFor(t.Context(), 2, make([]int64, 32*20)); err != nil {
		t.Fatal(err)
	}
	if n := g.Number(idgen.Shard); n != (idgen.NodeNumber{}) {
		t.Errorf("got the shard %v of a generator for all", n)
	}
	setGrant(t, g, 1, 90, 1000, clock.Wall())
	for _, shard := range []int64{2, 0} {
		if parts := nextFor(t, g, shard); parts.Node != 1 || !parts.Time.Equal(noon.Add(120*time.Millisecond)) {
			t.Errorf("got %+v, want one of node 1 and tick 120", parts)
		}
	}
}

// The machine's clock has a shorter way to an id of a sequencer, which opens ticks too. That is no way around the grant.
func TestGrantOnTheShortWayOfLanes(t *testing.T) {
	layout, err := idgen.NewLayout(noon, time.Hour, idgen.Time.Bits(20), idgen.Node.Bits(3), idgen.Sequence.Bits(20), idgen.Shard.Bits(2))
	if err != nil {
		t.Fatal(err)
	}
	g := newGenerator(t, layout, idgen.WithGrants(), idgen.WithShards())
	tick := int64(g.Now().Sub(noon) / time.Hour)
	setGrant(t, g, 1, tick, tick+1, g.Now())
	nextFor(t, g, 2)
	nextFor(t, g, 2)
	setGrant(t, g, 2, tick+1, tick+100, g.Now())
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	for _, shard := range []int64{2, 0} { // one in use, and one that opens a tick
		if id, err := g.NextFor(ctx, shard); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("shard %d: got %d, %v, want no id of node 2 at a tick that was not granted", shard, id, err)
		}
	}
	g.Suspend()
	if id, err := g.NextFor(t.Context(), 3); !errors.Is(err, idgen.ErrGrant) {
		t.Errorf("suspended: got %d, %v, want ErrGrant", id, err)
	}
}

// By the machine's clock ids end with the layout's last tick.
func TestSequencersPastTheLastTick(t *testing.T) {
	const ticks = 20
	epoch := time.Now().Add(250*time.Millisecond - 1<<ticks*time.Millisecond)
	layout, err := idgen.NewLayout(epoch, time.Millisecond, idgen.Time.Bits(ticks), idgen.Sequence.Bits(20), idgen.Shard.Bits(4))
	if err != nil {
		t.Fatal(err)
	}
	g, err := idgen.New(layout, idgen.WithShards())
	for shard := int64(0); err == nil; shard++ {
		var id int64
		if id, err = g.NextFor(t.Context(), shard%16); err == nil && (id < 0 || id >= 1<<(ticks+24)) {
			t.Fatalf("got %d, above the layout's", id)
		}
	}
	if !errors.Is(err, idgen.ErrExhausted) {
		t.Errorf("got %v, want ErrExhausted", err)
	}
}

// All sequencers begin above a floor, at different sequences.
func TestFloorOfLanes(t *testing.T) {
	for _, behind := range []time.Duration{0, 50 * time.Millisecond, time.Minute} {
		clock := newFakeClock(noon.Add(time.Hour))
		before := newGenerator(t, idgen.Sharded, idgen.WithNode(3), idgen.WithShards(), idgen.WithClock(clock))
		ids := make([]int64, 16*300) // borrowed
		if err := before.FillFor(t.Context(), 9, ids); err != nil {
			t.Fatal(err)
		}
		floor, sequences := slices.Max(ids), map[int64]bool{}
		clock = newFakeClock(noon.Add(time.Hour - behind))
		after := newGenerator(t, idgen.Sharded, idgen.WithNode(3), idgen.WithShards(), idgen.WithClock(clock), idgen.WithFloor(floor))
		for shard := range int64(1024) {
			id, err := after.NextFor(t.Context(), shard)
			if err != nil || id <= floor {
				t.Fatalf("%s behind: got %d, %v, want more than %d", behind, id, err, floor)
			}
			sequences[id>>10&15] = true
		}
		if len(sequences) != 4 {
			t.Errorf("%s behind: the first ids are at the sequences %v", behind, sequences)
		}
		if n := after.Stats().Issued; n != 1024 {
			t.Errorf("%s behind: counts %d ids, want 1024", behind, n)
		}
	}
	if _, err := idgen.New(idgen.Scattered, idgen.WithNode(3), idgen.WithShards(), idgen.WithFloor(5)); !errors.Is(err, idgen.ErrLayout) {
		t.Errorf("got %v, want ErrLayout: the greatest id of the scattered layout is not the latest", err)
	}
}

// Each sequencer gives the ids that a generator in the plain way would, an oracle for each, whatever the others do.
func TestSequencersAgreeWithOracles(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel() // what would wait fails
	layout, err := idgen.NewLayout(noon, time.Millisecond, idgen.Time.Bits(14), idgen.Node.Bits(3), idgen.Sequence.Bits(4), idgen.Shard.Bits(3))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range plans() {
		if p.back != "ride" || p.start == "random" {
			continue // the clock and the random numbers are those of all sequencers
		}
		t.Run(p.String(), func(t *testing.T) {
			for seed := range uint64(20) {
				r := rand.New(rand.NewPCG(seed, 17))
				clock := newFakeClock(noon.Add(time.Second + time.Duration(seed)*time.Microsecond))
				g := newGenerator(t, append(p.options(), layout, idgen.WithNode(1), idgen.WithShards(), idgen.WithClock(clock))...)
				oracles := map[int64]*oracle{}
				for step := range 400 {
					shard := r.Int64N(8)
					clock.pass(time.Duration(r.Int64N(int64(2*time.Millisecond)) * r.Int64N(2)))
					got := make([]int64, 1+r.IntN(20)*r.IntN(2))
					gotErr := g.FillFor(ended, shard, got)
					o := oracles[shard]
					if o == nil {
						// Where the spread begins is the generator's affair.
						o = newOracle(layout, clock, p, got[0]>>3&15, nil)
						oracles[shard] = o
					}
					want := make([]int64, len(got))
					wantErr := o.fill(want)
					if wantErr == errWait {
						wantErr = context.Canceled
					}
					for i := range want {
						if wantErr == nil {
							want[i] |= shard
						}
					}
					if !errors.Is(gotErr, wantErr) || wantErr == nil && !slices.Equal(got, want) {
						t.Fatalf("seed %d, step %d, shard %d: got %v, %v, want %v, %v", seed, step, shard, got, gotErr, want, wantErr)
					}
				}
				issued := int64(0)
				for _, o := range oracles {
					issued += o.issued
				}
				if n := g.Stats().Issued; n != issued {
					t.Fatalf("seed %d: counts %d ids, want %d", seed, n, issued)
				}
			}
		})
	}
}

func ExampleSnowflake_NextFor() {
	gen, err := idgen.New(idgen.Sharded, idgen.WithNode(7), idgen.WithShards())
	if err != nil {
		fmt.Println(err)
		return
	}
	id, err := gen.NextFor(context.Background(), 900) // the shard of the row
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(id&1023, id%16, 900%16)
	// Output:
	// 900 4 4
}
