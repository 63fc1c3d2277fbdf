package idgen_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// fakeClock is a wall clock and a monotonic clock that tests move apart.
type fakeClock struct {
	wall, elapsed atomic.Int64
	seen          func() // has the generator look at the clock
}

func newFakeClock(at time.Time) *fakeClock {
	c := new(fakeClock)
	c.wall.Store(at.UnixNano())
	return c
}

func (c *fakeClock) Wall() time.Time        { return time.Unix(0, c.wall.Load()) }
func (c *fakeClock) Elapsed() time.Duration { return time.Duration(c.elapsed.Load()) }

// pass lets time pass on both clocks, step only changes the wall clock, suspend stops the monotonic one.
func (c *fakeClock) pass(d time.Duration)    { c.wall.Add(int64(d)); c.elapsed.Add(int64(d)) }
func (c *fakeClock) step(d time.Duration)    { c.wall.Add(int64(d)) }
func (c *fakeClock) suspend(d time.Duration) { c.wall.Add(int64(d)) }

func (c *fakeClock) set(at time.Time) { c.wall.Store(at.UnixNano()) }

var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func newGenerator(t testing.TB, options ...idgen.Option) *idgen.Snowflake {
	t.Helper()
	g, err := idgen.New(options...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// numbered returns a preset with all the numbers that it needs.
func numbered(preset idgen.Preset, node int64) []idgen.Option {
	options := []idgen.Option{preset}
	for kind, option := range map[idgen.Kind]func(int64) idgen.Option{
		idgen.Datacenter: idgen.WithDatacenter, idgen.Node: idgen.WithNode, idgen.Shard: idgen.WithShard,
	} {
		if preset.Bits(kind) > 0 {
			options = append(options, option(node))
		}
	}
	return options
}

func next(t testing.TB, g *idgen.Snowflake) int64 {
	t.Helper()
	id, err := g.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func timeOf(t testing.TB, g *idgen.Snowflake, id int64) time.Time {
	t.Helper()
	parts, err := g.Layout().Decode(id)
	if err != nil {
		t.Fatal(err)
	}
	return parts.Time
}

func TestNewRefuses(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options []idgen.Option
		want    error
	}{
		{"no node", nil, idgen.ErrNode},
		{"no datacenter", []idgen.Option{idgen.Twitter, idgen.WithNode(1)}, idgen.ErrNode},
		{"node too great", []idgen.Option{idgen.WithNode(1024)}, idgen.ErrRange},
		{"node negative", []idgen.Option{idgen.WithNode(-1)}, idgen.ErrRange},
		{"number without a field", []idgen.Option{idgen.WithNode(1), idgen.WithDatacenter(0)}, idgen.ErrRange},
		{"zero layout", []idgen.Option{idgen.Layout{}}, idgen.ErrLayout},
		{"nil clock", []idgen.Option{idgen.WithClock(nil)}, idgen.ErrRange},
		{"before the epoch", []idgen.Option{idgen.WithNode(1), idgen.WithClock(newFakeClock(time.Date(2024, 12, 31, 0, 0, 0, 0, time.UTC)))}, idgen.ErrBeforeEpoch},
		{"past the end", []idgen.Option{idgen.WithNode(1), idgen.WithClock(newFakeClock(time.Date(2095, 1, 1, 0, 0, 0, 0, time.UTC)))}, idgen.ErrExhausted},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if g, err := idgen.New(tt.options...); !errors.Is(err, tt.want) || g != nil {
				t.Errorf("got %v, %v, want %v", g, err, tt.want)
			}
		})
	}
}

func TestNextCarriesItsParts(t *testing.T) {
	clock := newFakeClock(noon.Add(123456789))
	g := newGenerator(t, idgen.Twitter, idgen.WithDatacenter(3), idgen.WithNode(17), idgen.WithClock(clock))
	parts, err := g.Layout().Decode(next(t, g))
	if err != nil {
		t.Fatal(err)
	}
	if parts.Datacenter != 3 || parts.Node != 17 || !parts.Time.Equal(noon.Add(123e6)) {
		t.Errorf("got %+v, want datacenter 3, node 17, %s", parts, noon.Add(123e6))
	}
}

// Many goroutines on one generator, some one by one and some in runs: no id twice, each goroutine's own in increasing order.
func TestConcurrentIDsAreUniqueAndIncrease(t *testing.T) {
	const goroutines, each = 16, 20000
	for _, preset := range []idgen.Preset{idgen.Snowkey, idgen.Twitter, idgen.Leaf, idgen.ShardingJDBC} {
		t.Run(preset.Name(), func(t *testing.T) {
			g := newGenerator(t, numbered(preset, 5)...)
			ids := make([]int64, goroutines*each)
			var wg sync.WaitGroup
			for i := range goroutines {
				own := ids[i*each : (i+1)*each]
				wg.Go(func() {
					if i%2 == 0 {
						for j := range own {
							id, err := g.Next(t.Context())
							if err != nil {
								t.Error(err)
								return
							}
							own[j] = id
						}
					} else {
						for run := range slices.Chunk(own, 1+i*37) {
							if err := g.Fill(t.Context(), run); err != nil {
								t.Error(err)
								return
							}
						}
					}
					if !slices.IsSortedFunc(own, func(a, b int64) int {
						if a < b {
							return -1
						}
						return 1 // equal is out of order too
					}) {
						t.Errorf("goroutine %d got ids that do not increase", i)
					}
				})
			}
			wg.Wait()
			slices.Sort(ids)
			if unique := len(slices.Compact(ids)); unique != goroutines*each {
				t.Errorf("got %d different ids, want %d", unique, goroutines*each)
			}
		})
	}
}

func TestWallClockStepsBack(t *testing.T) {
	clock := newFakeClock(noon)
	g := newGenerator(t, idgen.WithNode(1), idgen.WithClock(clock))
	before := next(t, g)
	clock.step(-time.Hour)
	clock.pass(time.Second)
	after := next(t, g)
	if got, want := timeOf(t, g, after), noon.Add(time.Second); after <= before || !got.Equal(want) {
		t.Errorf("got %d of %s after %d, want a greater id of %s", after, got, before, want)
	}
}

func TestWallClockAheadIsFollowed(t *testing.T) {
	for name, move := range map[string]func(*fakeClock, time.Duration){"step": (*fakeClock).step, "suspend": (*fakeClock).suspend} {
		t.Run(name, func(t *testing.T) {
			clock := newFakeClock(noon)
			g := newGenerator(t, idgen.WithNode(1), idgen.WithClock(clock))
			next(t, g)
			move(clock, time.Hour)
			clock.pass(150 * time.Millisecond)
			next(t, g) // the call that notices
			if got, want := timeOf(t, g, next(t, g)), noon.Add(time.Hour+150*time.Millisecond); !got.Equal(want) {
				t.Errorf("got an id of %s, want %s", got, want)
			}
		})
	}
}

// A clock that stands still gives one tick's ids; the next call waits, and ends with its context.
func TestFullTickWaits(t *testing.T) {
	layout, err := idgen.NewLayout(noon, time.Millisecond, idgen.Time.Bits(41), idgen.Sequence.Bits(4))
	if err != nil {
		t.Fatal(err)
	}
	clock := newFakeClock(noon.Add(time.Hour))
	g := newGenerator(t, layout, idgen.WithClock(clock))
	clock.pass(time.Millisecond)
	if err := g.Fill(t.Context(), make([]int64, 16)); err != nil {
		t.Fatalf("a whole tick in one run: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if id, err := g.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %d, %v from a used up tick, want the context's error", id, err)
	}
	if err := g.Fill(ctx, make([]int64, 3)); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v from a used up tick, want the context's error", err)
	}
	// Another goroutine waits; the clock goes on; it gets the first id of the next tick: the calls that gave up have taken none.
	got := make(chan int64)
	go func() {
		id, err := g.Next(context.WithoutCancel(ctx))
		if err != nil {
			t.Error(err)
		}
		got <- id
	}()
	clock.pass(time.Millisecond)
	parts, err := layout.Decode(<-got)
	if want := noon.Add(time.Hour + 2*time.Millisecond); err != nil || !parts.Time.Equal(want) || parts.Sequence != 0 {
		t.Errorf("got %+v, %v, want sequence 0 of %s", parts, err, want)
	}
}

// A run that fits in a tick gets it, wherever the sequence would have started.
func TestFillStartsAsLowAsItNeedsTo(t *testing.T) {
	layout, err := idgen.NewLayout(noon, time.Millisecond, idgen.Time.Bits(41), idgen.Sequence.Bits(6))
	if err != nil {
		t.Fatal(err)
	}
	clock := newFakeClock(noon)
	g := newGenerator(t, layout, idgen.WithClock(clock))
	for n := range 64 {
		clock.pass(time.Millisecond)
		next(t, g)
		clock.pass(time.Millisecond)
		ids := make([]int64, 64-n)
		if err := g.Fill(t.Context(), ids); err != nil {
			t.Fatal(err)
		}
		if first, last := timeOf(t, g, ids[0]), timeOf(t, g, ids[len(ids)-1]); !first.Equal(last) {
			t.Fatalf("%d ids: got the first of %s and the last of %s", len(ids), first, last)
		}
	}
}

func TestFillSpansTicks(t *testing.T) {
	g := newGenerator(t, idgen.WithNode(1))
	ids := make([]int64, 3*4096+5)
	if err := g.Fill(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
	for i := 1; i < len(ids); i++ {
		if ids[i] <= ids[i-1] {
			t.Fatalf("id %d is %d after %d", i, ids[i], ids[i-1])
		}
	}
	if err := g.Fill(t.Context(), nil); err != nil {
		t.Errorf("no ids: %v", err)
	}
}

func TestExhaustion(t *testing.T) {
	layout, err := idgen.NewLayout(noon, time.Second, idgen.Time.Bits(2), idgen.Sequence.Bits(1))
	if err != nil {
		t.Fatal(err)
	}
	clock := newFakeClock(noon.Add(3 * time.Second))
	g := newGenerator(t, layout, idgen.WithClock(clock))
	for {
		id, err := g.Next(t.Context())
		if errors.Is(err, idgen.ErrExhausted) {
			break // the last tick is used up: there is none to wait for
		}
		if err != nil || id < 0 || id > 7 {
			t.Fatalf("got %d, %v, want ids up to 7 and then ErrExhausted", id, err)
		}
	}
	clock.pass(time.Second)
	if _, err := g.Next(t.Context()); !errors.Is(err, idgen.ErrExhausted) {
		t.Errorf("past the last tick: got %v, want ErrExhausted", err)
	}
}

// The last id of a layout that uses all 63 bits is followed by an error, not by a negative id.
func TestLastTickOf63Bits(t *testing.T) {
	for _, fields := range [][]idgen.Field{
		{idgen.Time.Bits(63)},
		{idgen.Time.Bits(43), idgen.Sequence.Bits(20)},
		{idgen.Time.Bits(1), idgen.Sequence.Bits(62)},
		{idgen.Sequence.Bits(20), idgen.Time.Bits(43)},
	} {
		layout, err := idgen.NewLayout(noon, time.Nanosecond, fields...)
		if err != nil {
			t.Fatal(err)
		}
		for _, policy := range []idgen.Option{idgen.WaitFull(), idgen.BorrowFull(1000), idgen.RefuseFull()} {
			clock := newFakeClock(noon)
			g := newGenerator(t, layout, policy, idgen.WithClock(clock))
			last := int64(-1)
			if layout.Max(idgen.Time) > 1<<62 { // further than a clock can read
				continue
			}
			clock.pass(time.Duration(layout.Max(idgen.Time)))
			for range 3 {
				ids := make([]int64, 1<<19)
				if err := g.Fill(t.Context(), ids); err != nil {
					if !errors.Is(err, idgen.ErrExhausted) {
						t.Errorf("%s: got %v, want ErrExhausted", layout, err)
					}
					break
				}
				if ids[0] <= last && layout.Fields()[0].Kind == idgen.Time || ids[0] < 0 || ids[len(ids)-1] < 0 {
					t.Fatalf("%s: got %d to %d after %d", layout, ids[0], ids[len(ids)-1], last)
				}
				last = ids[len(ids)-1]
			}
		}
	}
}

// Tick 0 of a layout without a sequence has its one id.
func TestFirstTick(t *testing.T) {
	layout, err := idgen.NewLayout(noon, time.Hour, idgen.Time.Bits(10))
	if err != nil {
		t.Fatal(err)
	}
	if id := next(t, newGenerator(t, layout, idgen.RefuseFull(), idgen.WithClock(newFakeClock(noon)))); id != 0 {
		t.Errorf("got %d, want 0", id)
	}
}

// At 50 ids a second, and with processes that make one id each, id % shards is uniform: χ² below the critical value at 0.001.
func TestLowTrafficFillsAllShards(t *testing.T) {
	critical := map[int64]float64{2: 10.8, 8: 24.3, 16: 37.7, 64: 103.4, 256: 330.5, 1024: 1168.5}
	chi2 := func(ids []int64, shards int64) float64 {
		counts := make([]int, shards)
		for _, id := range ids {
			counts[id%shards]++
		}
		return chiSquare(counts)
	}
	const n = 100_000
	clock := newFakeClock(noon)
	g := newGenerator(t, idgen.WithNode(1), idgen.WithClock(clock))
	one, many := make([]int64, n), make([]int64, n)
	for i := range n {
		clock.pass(20*time.Millisecond + time.Duration(i%7)*time.Microsecond)
		one[i] = next(t, g)
		many[i] = next(t, newGenerator(t, idgen.WithNode(1), idgen.WithClock(clock)))
	}
	for shards, limit := range critical {
		t.Run(fmt.Sprintf("shards=%d", shards), func(t *testing.T) {
			if got := chi2(one, shards); got > limit {
				t.Errorf("one generator: χ² %.0f, want at most %.1f", got, limit)
			}
			if got := chi2(many, shards); got > limit {
				t.Errorf("a generator an id: χ² %.0f, want at most %.1f", got, limit)
			}
		})
	}
}

// Under StartRandom(0) the ticks of a generator start where the random numbers say, modulo a quarter of the sequence, and at one id a tick
// id % shards is uniform: χ² below the critical value at 0.001.
func TestRandomStartsFillAllShards(t *testing.T) {
	const n = 100_000
	seeded := func() func() uint64 { return rand.New(rand.NewPCG(20, 26)).Uint64 }
	clock, numbers := newFakeClock(noon), seeded()
	g := newGenerator(t, idgen.WithNode(1), idgen.WithClock(clock), idgen.StartRandom(0), idgen.WithRandom(seeded()))
	critical := map[int64]float64{2: 10.8, 8: 24.3, 16: 37.7, 64: 103.4, 256: 330.5, 1024: 1168.5}
	counts := map[int64][]int{}
	for shards := range critical {
		counts[shards] = make([]int, shards)
	}
	for range n {
		clock.pass(time.Millisecond)
		id := next(t, g)
		if want := int64(numbers() % 1024); id&4095 != want {
			t.Fatalf("a tick starts at the sequence %d, want %d", id&4095, want)
		}
		for shards := range critical {
			counts[shards][id%shards]++
		}
	}
	for shards, limit := range critical {
		if got := chiSquare(counts[shards]); got > limit {
			t.Errorf("id %% %d: χ² %.0f, want at most %.1f", shards, got, limit)
		}
	}
}

// Ticks that follow one that was used up have all their ids, wherever the random numbers would have them start, and so has one of which a
// Fill wants all.
func TestRandomStartsLoseNothingOfFullTicks(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel() // what would wait fails
	clock := newFakeClock(noon)
	greatest := func() uint64 { return 1<<64 - 1 }
	g := newGenerator(t, idgen.WithNode(1), idgen.WithClock(clock), idgen.StartRandom(0), idgen.WithRandom(greatest))
	for tick, want := range []int{4096 - 1023, 4096, 4096, 4096} {
		made := 0
		for {
			if _, err := g.Next(ended); err != nil {
				break
			}
			made++
		}
		if made != want {
			t.Errorf("got %d ids of the tick %d, want %d", made, tick, want)
		}
		clock.pass(time.Millisecond)
	}
	clock.pass(time.Millisecond) // one goes by unused
	if err := g.Fill(ended, make([]int64, 4096)); err != nil {
		t.Errorf("a run of all of a tick: %v", err)
	}
}

func TestNothingIsAllocated(t *testing.T) {
	g := newGenerator(t, idgen.WithNode(1))
	if got := testing.AllocsPerRun(1000, func() { _, _ = g.Next(t.Context()) }); got != 0 {
		t.Errorf("Next: %v allocations, want 0", got)
	}
	ids := make([]int64, 100)
	if got := testing.AllocsPerRun(100, func() { _ = g.Fill(t.Context(), ids) }); got != 0 {
		t.Errorf("Fill: %v allocations, want 0", got)
	}
	sequencers, shard := newGenerator(t, idgen.Sharded, idgen.WithNode(1), idgen.WithShards()), int64(0)
	if got := testing.AllocsPerRun(1000, func() { _, _ = sequencers.NextFor(t.Context(), shard%1024); shard++ }); got != 0 {
		t.Errorf("NextFor: %v allocations, want 0", got)
	}
	if got := testing.AllocsPerRun(100, func() { _ = sequencers.FillFor(t.Context(), 5, ids) }); got != 0 {
		t.Errorf("FillFor: %v allocations, want 0", got)
	}
}
