package idgen_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// oracle is a generator in the plain way, with a mutex around separate variables, that says what it would wait for instead of waiting.
type oracle struct {
	mu     sync.Mutex
	layout idgen.Layout
	clock  *fakeClock
	nodes  []int64 // own and spare
	plan   plan
	random func() uint64

	offset, recheck time.Duration // of the anchored clock
	latest          time.Time     // of the followed one
	tick            int64
	node            int   // of the tick: index into nodes
	used            int64 // sequences of the tick and node that are used
	start           int64 // of the spread
	issued          int64
}

// plan is a combination of policies.
type plan struct {
	back, full, start string
	bound             time.Duration
	borrow, below     int64
	spare             []int64
}

// switches reports whether the generator has spare nodes.
func (p plan) switches() bool { return strings.HasSuffix(p.back, "switch") }

func (p plan) String() string { return p.back + "/" + p.full + "/" + p.start }

func (p plan) options() []idgen.Option {
	return []idgen.Option{
		map[string]idgen.Option{
			"ride": idgen.IgnoreBack(), "wait": idgen.WaitBack(p.bound), "refuse": idgen.RefuseBack(), "switch": idgen.SwitchBack(p.spare...), "waitswitch": idgen.WaitSwitchBack(p.bound, p.spare...),
		}[p.back],
		map[string]idgen.Option{"wait": idgen.WaitFull(), "borrow": idgen.BorrowFull(p.borrow), "refuse": idgen.RefuseFull()}[p.full],
		map[string]idgen.Option{"spread": idgen.StartSpread(p.below), "random": idgen.StartRandom(p.below), "zero": idgen.StartZero()}[p.start],
	}
}

// plans returns all combinations of policies.
func plans() []plan {
	var all []plan
	for _, back := range []string{"ride", "wait", "refuse", "switch", "waitswitch"} {
		for _, full := range []string{"wait", "borrow", "refuse"} {
			for _, start := range []string{"spread", "random", "zero"} {
				all = append(all, plan{back: back, full: full, start: start, bound: 3 * time.Millisecond, borrow: 2, below: 4, spare: []int64{5, 3}})
			}
		}
	}
	return all
}

var errWait = errors.New("would wait")

// newOracle begins like a generator that was made at the same reading of the clock; first is the sequence that its spread begins with.
func newOracle(layout idgen.Layout, clock *fakeClock, p plan, first int64, random func() uint64) *oracle {
	o := &oracle{layout: layout, clock: clock, plan: p, random: random, nodes: []int64{1}, tick: -1, start: first}
	if p.switches() {
		o.nodes = append(o.nodes, slices.Sorted(slices.Values(p.spare))...)
	}
	o.offset = clock.Wall().Sub(layout.Epoch()) - clock.Elapsed()
	o.recheck = clock.Elapsed() + 100*time.Millisecond
	o.latest = clock.Wall()
	return o
}

func (o *oracle) fill(ids []int64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(ids) > 0 {
		n, err := o.run(ids)
		if err != nil {
			return err
		}
		ids = ids[n:]
	}
	return nil
}

// run gives as many ids as one tick and node have.
func (o *oracle) run(ids []int64) (int, error) {
	since, behind := o.now()
	if int64(since/o.layout.Unit()) > o.layout.Max(idgen.Time) {
		return 0, idgen.ErrExhausted
	}
	if behind > 0 && o.plan.back == "refuse" || behind > o.plan.bound && o.plan.back == "wait" {
		return 0, idgen.ErrClockBack
	}
	if behind > 0 && (o.plan.back == "wait" || o.plan.back == "waitswitch" && behind <= o.plan.bound) {
		return 0, errWait
	}
	if since < 0 {
		return 0, idgen.ErrBeforeEpoch
	}
	now, room := int64(since/o.layout.Unit()), o.layout.Max(idgen.Sequence)+1
	switch {
	case now > o.tick:
		first := int64(0)
		switch o.plan.start {
		case "spread":
			first = o.start
		case "random":
			if !(o.tick == now-1 && o.used == room || o.tick == -1 && now == 0) {
				first = int64(o.random() % uint64(o.plan.below))
			}
		}
		o.tick, o.node, o.used = now, 0, max(0, min(first, room-int64(len(ids))))
	case o.used < room:
	case behind > 0 && o.node+1 < len(o.nodes):
		o.node, o.used = o.node+1, 0
	case o.tick == o.layout.Max(idgen.Time):
		return 0, idgen.ErrExhausted
	case o.plan.full == "refuse":
		return 0, idgen.ErrFull
	case o.plan.full == "borrow" && o.tick+1-now <= o.plan.borrow:
		o.tick, o.node, o.used = o.tick+1, 0, 0
	default:
		return 0, errWait
	}
	n := int(min(int64(len(ids)), room-o.used))
	for i := range ids[:n] {
		id, err := o.layout.Compose(idgen.Parts{
			Time: o.layout.Epoch().Add(time.Duration(o.tick) * o.layout.Unit()), Node: o.nodes[o.node], Sequence: o.used,
		})
		if err != nil {
			return 0, err
		}
		ids[i] = id
		o.used++
		o.issued++
	}
	o.start = o.used % o.plan.below
	return n, nil
}

func (o *oracle) now() (since, behind time.Duration) {
	if o.plan.back == "ride" {
		if elapsed := o.clock.Elapsed(); elapsed >= o.recheck {
			o.recheck = elapsed + 100*time.Millisecond
			o.offset = max(o.offset, o.clock.Wall().Sub(o.layout.Epoch())-elapsed)
		}
		return o.offset + o.clock.Elapsed(), 0
	}
	wall := o.clock.Wall()
	if !wall.Before(o.latest) {
		if unit := o.layout.Unit(); wall.Sub(o.layout.Epoch())/unit != o.latest.Sub(o.layout.Epoch())/unit {
			o.latest = wall
		}
		return wall.Sub(o.layout.Epoch()), 0
	}
	since, latest := wall.Sub(o.layout.Epoch()), o.latest.Sub(o.layout.Epoch())
	if since >= 0 && since/o.layout.Unit() == latest/o.layout.Unit() {
		return latest, 0
	}
	return latest, o.latest.Sub(wall) // it stays where it was
}

// walk moves the clock at random: on, not at all, or by a jump of either clock.
func walk(r *rand.Rand, clock *fakeClock) {
	switch r.IntN(10) {
	case 0: // it stands still
	case 1:
		clock.step(-time.Duration(r.Int64N(int64(6 * time.Millisecond))))
	case 2:
		clock.step(time.Duration(r.Int64N(int64(6 * time.Millisecond))))
	case 3:
		clock.step(time.Duration(r.Int64N(int64(time.Second))) - time.Second/2)
	case 4:
		clock.pass(time.Duration(r.Int64N(int64(200 * time.Millisecond))))
	default:
		clock.pass(time.Duration(r.Int64N(int64(2 * time.Millisecond))))
	}
}

// The generator and the oracle give the same ids, and fail for the same reasons, on random walks of the clock with every combination of
// policies.
func TestAgreesWithOracle(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel() // what would wait fails
	for _, p := range plans() {
		t.Run(p.String(), func(t *testing.T) {
			for seed := range uint64(40) {
				r := rand.New(rand.NewPCG(seed, 7))
				fields := []idgen.Field{idgen.Time.Bits(13), idgen.Node.Bits(3), idgen.Sequence.Bits(4)}
				if seed%2 == 1 && !p.switches() { // who comes alone has the lowest stream each time
					fields = []idgen.Field{idgen.Time.Bits(4), idgen.Node.Bits(3), idgen.Stream.Bits(2), idgen.Time.Bits(9), idgen.Sequence.Bits(4)}
				}
				layout, err := idgen.NewLayout(noon, time.Millisecond, fields...)
				if err != nil {
					t.Fatal(err)
				}
				clock := newFakeClock(noon.Add(time.Second + time.Duration(seed)*time.Microsecond))
				numbers := func() func() uint64 { return rand.New(rand.NewPCG(seed, 8)).Uint64 }
				g := newGenerator(t, append(p.options(), layout, idgen.WithNode(1), idgen.WithClock(clock), idgen.WithRandom(numbers()))...)
				var o *oracle
				for step := range 400 {
					if step > 0 {
						walk(r, clock)
					}
					got := make([]int64, 1+r.IntN(20)*r.IntN(2))
					gotErr := g.Fill(ended, got)
					if o == nil {
						// Where the spread begins is the generator's affair.
						parts, err := layout.Decode(got[0])
						if err != nil {
							t.Fatal(err)
						}
						o = newOracle(layout, clock, p, parts.Sequence, numbers())
					}
					want := make([]int64, len(got))
					wantErr := o.fill(want)
					if wantErr == errWait {
						wantErr = context.Canceled
					}
					if !errors.Is(gotErr, wantErr) || !slices.Equal(got, want) {
						t.Fatalf("seed %d, step %d: got %v, %v, want %v, %v", seed, step, got, gotErr, want, wantErr)
					}
					if issued := g.Stats().Issued; issued != o.issued {
						t.Fatalf("seed %d, step %d: counts %d ids, want %d", seed, step, issued, o.issued)
					}
				}
			}
		})
	}
}

// source is what the rivals, one word and mutex, have in common.
type source func(ctx context.Context, ids []int64) error

// No rival gives an id twice, or to one goroutine a smaller one than before, with many goroutines on a clock that walks at random, with
// every combination of policies.
func TestNoIDTwiceOnAWalkingClock(t *testing.T) {
	layout, err := idgen.NewLayout(noon, time.Millisecond, idgen.Time.Bits(40), idgen.Node.Bits(3), idgen.Sequence.Bits(5))
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range plans() {
		if testing.Short() && i%8 != 0 {
			continue
		}
		clock := newFakeClock(noon.Add(time.Hour))
		g := newGenerator(t, append(p.options(), layout, idgen.WithNode(1), idgen.WithClock(clock))...)
		t.Run(p.String()+"/word", func(t *testing.T) { hammer(t, clock, g.Fill) })
		slow := newFakeClock(noon.Add(time.Hour))
		o := newOracle(layout, slow, p, 0, rand.Uint64)
		t.Run(p.String()+"/mutex", func(t *testing.T) {
			hammer(t, slow, func(_ context.Context, ids []int64) error { return o.fill(ids) })
		})
	}
}

func hammer(t *testing.T, clock *fakeClock, fill source) {
	const goroutines = 8
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	all := make([][]int64, goroutines)
	var made atomic.Bool
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 9))
			for last := int64(-1); ctx.Err() == nil; {
				ids := make([]int64, 1+r.IntN(3)*r.IntN(15))
				if fill(ctx, ids) != nil {
					time.Sleep(10 * time.Microsecond)
					continue // refused, or ended: what was taken is lost
				}
				for _, id := range ids {
					if id <= last {
						t.Errorf("goroutine %d got %d after %d", i, id, last)
						return
					}
					last = id
				}
				all[i] = append(all[i], ids...)
				made.Store(true)
			}
		})
	}
	r := rand.New(rand.NewPCG(3, 4))
	for step := 0; step < 200 || !made.Load() && step < 100_000; step++ { // a busy machine may keep the goroutines from their first ids
		walk(r, clock)
		if r.IntN(10) == 0 {
			clock.set(noon.Add(time.Hour)) // far back, and on from there
		}
		time.Sleep(20 * time.Microsecond) // lets the goroutines in; nothing depends on how long
	}
	cancel()
	wg.Wait()
	ids := slices.Concat(all...)
	n := len(ids)
	slices.Sort(ids)
	if n == 0 {
		t.Error("not one id")
	}
	if unique := len(slices.Compact(ids)); unique != n {
		t.Errorf("%d of %d ids came twice", n-unique, n)
	}
}

func ExampleSnowflake_Stats() {
	gen, err := idgen.New(idgen.WithNode(7))
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		if _, err := gen.Next(context.Background()); err != nil {
			fmt.Println(err)
		}
	}
	stats := gen.Stats() // a metrics library asks for these when it is scraped, for instance in a prometheus.CounterFunc
	fmt.Println("snowkey_ids_issued_total", stats.Issued)
	fmt.Println("snowkey_clock_steps_back_total", stats.StepsBack)
	// Output:
	// snowkey_ids_issued_total 3
	// snowkey_clock_steps_back_total 0
}
