package idgen_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// narrow has 3 bits of node and 5 of sequence.
func narrow(t testing.TB) idgen.Layout {
	t.Helper()
	layout, err := idgen.NewLayout(noon, time.Millisecond, idgen.Time.Bits(40), idgen.Node.Bits(3), idgen.Sequence.Bits(5))
	if err != nil {
		t.Fatal(err)
	}
	return layout
}

func setGrant(t testing.TB, g *idgen.Snowflake, number, from, until int64, now time.Time) {
	t.Helper()
	if err := g.SetGrant(idgen.Grant{Number: number, From: from, Until: until, Now: now}); err != nil {
		t.Fatal(err)
	}
}

// requireIDAt fails unless the next id is of a tick and a node.
func requireIDAt(t *testing.T, g *idgen.Snowflake, tick, node int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	id, err := g.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := g.Layout().Decode(id)
	if err != nil {
		t.Fatal(err)
	}
	if got := int64(parts.Time.Sub(noon) / time.Millisecond); got != tick || parts.Node != node {
		t.Fatalf("got an id of tick %d and node %d, want %d and %d", got, parts.Node, tick, node)
	}
}

func requireNoGrant(t *testing.T, g *idgen.Snowflake) {
	t.Helper()
	if id, err := g.Next(t.Context()); !errors.Is(err, idgen.ErrGrant) {
		t.Fatalf("got %d, %v, want ErrGrant", id, err)
	}
	if err := g.Fill(t.Context(), make([]int64, 3)); !errors.Is(err, idgen.ErrGrant) {
		t.Fatalf("got %v, want ErrGrant", err)
	}
}

// A generator makes ids at the ticks of its grant and at no other.
func TestGrant(t *testing.T) {
	clock := newFakeClock(noon.Add(100 * time.Millisecond))
	g := newGenerator(t, narrow(t), idgen.WithGrants(), idgen.WithClock(clock))
	requireNoGrant(t, g)
	setGrant(t, g, 5, 100, 103, noon.Add(100*time.Millisecond))
	requireIDAt(t, g, 100, 5)
	clock.pass(2 * time.Millisecond)
	requireIDAt(t, g, 102, 5)
	clock.pass(time.Millisecond)
	requireNoGrant(t, g)
	setGrant(t, g, 5, 100, 104, noon.Add(103*time.Millisecond))
	requireIDAt(t, g, 103, 5)
	clock.pass(time.Millisecond)
	requireNoGrant(t, g)
	setGrant(t, g, 2, 104, 200, noon.Add(104*time.Millisecond))
	requireIDAt(t, g, 104, 2)
	if grant, ok := g.Grant(); !ok || grant != (idgen.Grant{Number: 2, From: 104, Until: 200}) {
		t.Errorf("got the grant %v, %v", grant, ok)
	}
	if n := g.Number(idgen.Node); n.Value != 2 {
		t.Errorf("got the number %v, want 2", n)
	}
	g.Suspend()
	requireNoGrant(t, g)
	setGrant(t, g, 2, 104, 200, noon.Add(104*time.Millisecond))
	requireIDAt(t, g, 104, 2)
}

// The machine's clock has a shorter way to an id. That is no way around the grant.
func TestGrantOnTheShortWay(t *testing.T) {
	layout, err := idgen.NewLayout(noon, time.Hour, idgen.Time.Bits(20), idgen.Node.Bits(3), idgen.Sequence.Bits(20))
	if err != nil {
		t.Fatal(err)
	}
	g := newGenerator(t, layout, idgen.WithGrants())
	tick := int64(g.Now().Sub(noon) / time.Hour)
	setGrant(t, g, 1, tick, tick+1, g.Now())
	next(t, g)
	next(t, g)
	setGrant(t, g, 2, tick+1, tick+100, g.Now())
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if id, err := g.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %d, %v, want no id of node 2 at a tick that was not granted", id, err)
	}
}

// A full tick at the end of the grant is followed by none.
func TestGrantEndsInAFullTick(t *testing.T) {
	for _, full := range []idgen.Option{idgen.WaitFull(), idgen.RefuseFull()} {
		clock := newFakeClock(noon.Add(100 * time.Millisecond))
		g := newGenerator(t, narrow(t), idgen.WithGrants(), idgen.WithClock(clock), full)
		setGrant(t, g, 5, 100, 101, noon)
		if err := g.Fill(t.Context(), make([]int64, 32)); err != nil {
			t.Fatal(err)
		}
		id, err := g.Next(t.Context())
		if !errors.Is(err, idgen.ErrGrant) && !errors.Is(err, idgen.ErrFull) {
			t.Errorf("got %d, %v, want ErrGrant", id, err)
		}
	}
}

// Ids increase over a change to a smaller number.
func TestGrantOfASmallerNumber(t *testing.T) {
	clock := newFakeClock(noon.Add(100 * time.Millisecond))
	g := newGenerator(t, narrow(t), idgen.WithGrants(), idgen.WithClock(clock))
	setGrant(t, g, 5, 100, 110, noon.Add(100*time.Millisecond))
	requireIDAt(t, g, 100, 5)
	setGrant(t, g, 2, 50, 110, noon.Add(100*time.Millisecond))
	clock.pass(time.Millisecond)
	requireIDAt(t, g, 101, 2)
}

// The time is the granter's, so that steps of the machine's clock change nothing, whatever the policy says of them.
func TestGrantWhileTheClockSteps(t *testing.T) {
	for _, back := range []idgen.Option{idgen.IgnoreBack(), idgen.RefuseBack(), idgen.WaitBack(time.Second)} {
		clock := newFakeClock(noon.Add(time.Minute))
		g := newGenerator(t, narrow(t), idgen.WithGrants(), idgen.WithClock(clock), back)
		setGrant(t, g, 5, 100, 10_000, noon.Add(100*time.Millisecond))
		requireIDAt(t, g, 100, 5)
		for at, by := range []time.Duration{time.Hour, -2 * time.Hour, time.Second} {
			clock.step(by)
			clock.pass(time.Second) // with a comparison of the clocks
			requireIDAt(t, g, int64(at+1)*1000+100, 5)
			forward := false
			select {
			case <-g.Stepped():
				forward = true
			default:
			}
			if forward != (by > 0) {
				t.Errorf("after a step of %s: Stepped %t", by, forward)
			}
		}
		if s := g.Stats(); s.StepsForward != 2 || s.StepsBack != 1 {
			t.Errorf("got %d steps forward and %d back, want 2 and 1", s.StepsForward, s.StepsBack)
		}
	}
}

// Nothing is borrowed beyond the grant.
func TestGrantEndsWhileBorrowing(t *testing.T) {
	clock := newFakeClock(noon.Add(100 * time.Millisecond))
	g := newGenerator(t, narrow(t), idgen.WithGrants(), idgen.WithClock(clock), idgen.BorrowFull(50))
	setGrant(t, g, 5, 100, 110, noon.Add(100*time.Millisecond))
	if err := g.Fill(t.Context(), make([]int64, 32*10)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if id, err := g.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %d, %v, want it to wait", id, err)
	}
	setGrant(t, g, 5, 100, 111, noon.Add(100*time.Millisecond))
	requireIDAt(t, g, 110, 5)
	clock.pass(11 * time.Millisecond)
	requireNoGrant(t, g)
}

// The granter's time counts, whatever the machine's clock says.
func TestGrantSetsTheClock(t *testing.T) {
	at := func(tick int64) time.Time { return noon.Add(time.Duration(tick) * time.Millisecond) }
	for _, back := range []idgen.Option{idgen.IgnoreBack(), idgen.RefuseBack()} {
		for _, tt := range []struct {
			name                   string
			clock, now, from, till int64 // ticks
			want                   int64
		}{
			{"inside", 150, 120, 100, 200, 120},
			{"behind", 20, 120, 100, 200, 120},
			{"behind, the granter too", 20, 30, 100, 200, 100},
			{"ahead", 5000, 120, 100, 200, 120},
			{"far ahead", 1 << 38, 120, 100, 200, 120},
		} {
			t.Run(tt.name, func(t *testing.T) {
				clock := newFakeClock(at(tt.clock))
				g := newGenerator(t, narrow(t), idgen.WithGrants(), idgen.WithClock(clock), back)
				setGrant(t, g, 1, tt.from, tt.till, at(tt.now))
				requireIDAt(t, g, tt.want, 1)
				clock.pass(40 * time.Millisecond)
				requireIDAt(t, g, tt.want+40, 1)
				clock.pass(time.Second) // with a comparison of the clocks
				setGrant(t, g, 1, tt.from, tt.till+5000, at(max(tt.now, tt.from)+1040))
				requireIDAt(t, g, tt.want+1040, 1)
			})
		}
	}
}

// A granter's time from before ids that were made goes on after them, and no further ahead with each grant.
func TestGrantAfterIDsToCome(t *testing.T) {
	for _, lead := range []int64{0, 50} {
		options := []idgen.Option{narrow(t), idgen.WithGrants(), idgen.WithClock(newFakeClock(noon))}
		if lead > 0 {
			options = append(options, idgen.BorrowFull(lead))
		}
		g := newGenerator(t, options...)
		setGrant(t, g, 1, 0, 5000, noon.Add(900*time.Millisecond))
		requireIDAt(t, g, 900, 1)
		if err := g.Fill(t.Context(), make([]int64, 32*(lead+1)-1)); err != nil { // all that there are
			t.Fatal(err)
		}
		for range 3 {
			setGrant(t, g, 1, 0, 5000, noon.Add(100*time.Millisecond))
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			if id, err := g.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("lead %d: got %d, %v, want none before the clock goes on", lead, id, err)
			}
			cancel()
		}
		if used := g.Used(); used != 901+lead || g.Lead() != lead {
			t.Errorf("got ticks used before %d and a lead of %d, want %d and %d", used, g.Lead(), 901+lead, lead)
		}
	}
}

func TestGrantRefused(t *testing.T) {
	twitter := newGenerator(t, idgen.Twitter, idgen.WithGrants(), idgen.WithDatacenter(3))
	if least, most := twitter.Grantable(); least != 3<<5 || most != 3<<5|31 {
		t.Errorf("got %d to %d, want 96 to 127", least, most)
	}
	whole := newGenerator(t, idgen.Twitter, idgen.WithGrants())
	if least, most := whole.Grantable(); least != 0 || most != 1023 {
		t.Errorf("got %d to %d, want 0 to 1023", least, most)
	}
	own := newGenerator(t, idgen.WithNode(4))
	sealed := newGenerator(t, idgen.WithGrants())
	sealed.Seal()
	for _, tt := range []struct {
		g     *idgen.Snowflake
		grant idgen.Grant
		want  error
	}{
		{twitter, idgen.Grant{Number: 95, From: 1, Until: 2}, idgen.ErrRange},
		{twitter, idgen.Grant{Number: 128, From: 1, Until: 2}, idgen.ErrRange},
		{whole, idgen.Grant{Number: -1, From: 1, Until: 2}, idgen.ErrRange},
		{whole, idgen.Grant{From: 2, Until: 2}, idgen.ErrRange},
		{whole, idgen.Grant{From: -1, Until: 2}, idgen.ErrRange},
		{whole, idgen.Grant{From: 1, Until: 1<<41 + 1}, idgen.ErrRange},
		{own, idgen.Grant{Number: 4, From: 1, Until: 2}, idgen.ErrGrant},
		{sealed, idgen.Grant{From: 1, Until: 2}, idgen.ErrGrant},
	} {
		if err := tt.g.SetGrant(tt.grant); !errors.Is(err, tt.want) {
			t.Errorf("%+v: got %v, want %v", tt.grant, err, tt.want)
		}
	}
	// The numbers with one node and any datacenter are no range.
	if _, err := idgen.New(idgen.Twitter, idgen.WithGrants(), idgen.WithNode(7)); !errors.Is(err, idgen.ErrNode) {
		t.Errorf("got %v, want ErrNode", err)
	}
	if _, err := idgen.New(idgen.WithGrants(), idgen.SwitchBack(3)); !errors.Is(err, idgen.ErrNode) {
		t.Errorf("got %v, want ErrNode", err)
	}
}

// When Seal has returned, no id is made any more, not even by a call that was under way, and none that was made is of the tick that it
// returned or later.
func TestSeal(t *testing.T) {
	for range 300 {
		g := newGenerator(t, narrow(t), idgen.WithGrants())
		now := int64(g.Now().Sub(noon) / time.Millisecond)
		setGrant(t, g, 1, now-5, now+100_000, g.Now())
		var wg sync.WaitGroup
		made := make([][]int64, 4)
		for i := range made {
			wg.Go(func() {
				ids := make([]int64, i)
				for g.Fill(t.Context(), ids) == nil {
					id, err := g.Next(t.Context())
					if err != nil {
						return
					}
					made[i] = append(append(made[i], ids...), id)
				}
			})
		}
		time.Sleep(time.Duration(rand.Int64N(int64(300 * time.Microsecond)))) // somewhere among the calls
		var ends [3]int64
		for i := range ends {
			wg.Go(func() { ends[i] = g.Seal() })
		}
		wg.Wait()
		end := ends[0]
		all := slices.Concat(made...)
		for _, id := range all {
			if tick := id >> 8; tick >= end {
				t.Fatalf("an id of tick %d, sealed at %d", tick, end)
			}
		}
		if ends[1] != end || ends[2] != end {
			t.Fatalf("got the ends %v, want the same", ends)
		}
		if stats := g.Stats(); stats.Issued < int64(len(all)) { // more: of calls that failed
			t.Fatalf("counts %d ids, made %d", stats.Issued, len(all))
		}
		requireNoGrant(t, g)
	}
}

// A call that has seen the last word before Seal and swaps after it makes no id.
func TestSealEndsACallUnderWay(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	random := func() uint64 { // called between the two
		entered <- struct{}{}
		<-leave
		return 0
	}
	clock := newFakeClock(noon.Add(100 * time.Millisecond))
	g := newGenerator(t, narrow(t), idgen.WithGrants(), idgen.WithClock(clock), idgen.StartRandom(4), idgen.WithRandom(random))
	setGrant(t, g, 1, 50, 200, noon)
	result := make(chan error)
	go func() {
		_, err := g.Next(t.Context())
		result <- err
	}()
	<-entered
	if end := g.Seal(); end > 50 {
		t.Errorf("sealed at tick %d, want none used", end)
	}
	leave <- struct{}{}
	if err := <-result; !errors.Is(err, idgen.ErrGrant) {
		t.Errorf("got %v, want ErrGrant", err)
	}
}

// registry grants two numbers, as rows of a store would.
type registry struct {
	r      *rand.Rand
	until  [2]int64
	holder [2]*mover
}

// mover is a generator whose grants move, with the clock that it reads.
type mover struct {
	g     *idgen.Snowflake
	clock *fakeClock
	grant idgen.Grant
}

// acquire grants a number, whoever has it.
func (r *registry) acquire(t *testing.T, m *mover) {
	n := r.r.Int64N(2)
	from := max(r.until[n], int64(m.g.Now().Sub(noon)/time.Millisecond)-r.r.Int64N(5))
	m.grant = idgen.Grant{Number: n, From: from, Until: from}
	r.holder[n] = m
	r.extend(t, m)
}

// extend grants more of the number, if nobody else has it meanwhile.
func (r *registry) extend(t *testing.T, m *mover) {
	n := m.grant.Number
	if r.holder[n] != m {
		r.acquire(t, m)
		return
	}
	m.grant.Until += 1 + r.r.Int64N(40)
	m.grant.Now = noon.Add(time.Duration(m.grant.Until-10) * time.Millisecond)
	r.until[n] = m.grant.Until
	if err := m.g.SetGrant(m.grant); err != nil {
		t.Error(err)
	}
}

// release takes back what the generator has not used.
func (r *registry) release(m *mover) {
	end := m.g.Seal()
	if n := m.grant.Number; r.holder[n] == m {
		r.until[n] = min(m.grant.Until, max(m.grant.From, end))
		r.holder[n] = nil
	}
}

// Generators whose grants move under them, from hand to hand and number to number, on clocks that walk at random, never make an id twice.
func TestNoIDTwiceWithGrantsMoving(t *testing.T) {
	for i, p := range plans() {
		if p.switches() {
			continue // names its numbers by hand
		}
		if testing.Short() && i%8 != 0 {
			continue
		}
		t.Run(p.String(), func(t *testing.T) { moveGrants(t, append(p.options(), narrow(t)), (*idgen.Snowflake).Fill) })
		if p.full == "borrow" {
			sequencers := append(p.options(), sharded(t), idgen.WithShards())
			t.Run(p.String()+"/sequencers", func(t *testing.T) {
				moveGrants(t, sequencers, func(g *idgen.Snowflake, ctx context.Context, ids []int64) error {
					return g.FillFor(ctx, rand.Int64N(4), ids)
				})
			})
		}
	}
}

// moveGrants moves grants among generators of the options, which ids are made of all the time.
func moveGrants(t *testing.T, options []idgen.Option, fill func(*idgen.Snowflake, context.Context, []int64) error) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var mu sync.Mutex
	var all []int64 // guarded by mu
	var some atomic.Bool
	var wg sync.WaitGroup
	noting := func(g *idgen.Snowflake, ctx context.Context, ids []int64) error {
		err := fill(g, ctx, ids)
		if err == nil {
			some.Store(true)
		}
		return err
	}
	reg := &registry{r: rand.New(rand.NewPCG(5, 6))}
	start := func() *mover {
		m := &mover{clock: newFakeClock(noon.Add(time.Hour))}
		m.g = newGenerator(t, append(slices.Clone(options), idgen.WithGrants(), idgen.WithClock(m.clock))...)
		reg.acquire(t, m)
		for range 3 {
			seed := reg.r.Uint64()
			wg.Go(func() {
				mine := fillUntilSealed(ctx, m.g, noting, seed)
				mu.Lock()
				defer mu.Unlock()
				all = append(all, mine...)
			})
		}
		return m
	}
	movers := []*mover{start(), start(), start()}
	for step := 0; step < 300 || !some.Load() && step < 100_000; step++ { // a busy machine may keep the goroutines from their first ids
		i := reg.r.IntN(len(movers))
		switch reg.r.IntN(8) {
		case 0:
			reg.release(movers[i])
			movers[i] = start()
		case 1:
			reg.acquire(t, movers[i])
		case 2, 3, 4:
			reg.extend(t, movers[i])
		default:
			walk(reg.r, movers[i].clock)
		}
		time.Sleep(20 * time.Microsecond) // lets the goroutines in; nothing depends on how long
	}
	cancel()
	wg.Wait()
	made := len(all)
	slices.Sort(all)
	if made == 0 {
		t.Error("not one id")
	}
	if unique := len(slices.Compact(all)); unique != made {
		t.Errorf("%d of %d ids came twice", made-unique, made)
	}
}

// fillUntilSealed returns the ids that a generator makes until it is sealed or the context ends.
func fillUntilSealed(
	ctx context.Context, g *idgen.Snowflake, fill func(*idgen.Snowflake, context.Context, []int64) error, seed uint64,
) (all []int64) {
	r := rand.New(rand.NewPCG(seed, 11))
	for ctx.Err() == nil {
		ids := make([]int64, 1+r.IntN(3)*r.IntN(15))
		switch err := fill(g, ctx, ids); {
		case err == nil:
			all = append(all, ids...)
		case errors.Is(err, idgen.ErrGrant):
			if _, has := g.Grant(); !has {
				return all
			}
			fallthrough
		default:
			time.Sleep(10 * time.Microsecond) // lets the others in
		}
	}
	return all
}
