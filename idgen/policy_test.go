package idgen_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

func TestPoliciesRefuseWhatDoesNotFit(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options []idgen.Option
		want    error
	}{
		{"no bound", []idgen.Option{idgen.WaitBack(0)}, idgen.ErrRange},
		{"negative bound", []idgen.Option{idgen.WaitBack(-1)}, idgen.ErrRange},
		{"borrow nothing", []idgen.Option{idgen.BorrowFull(0)}, idgen.ErrRange},
		{"borrow more than a minute", []idgen.Option{idgen.BorrowFull(60_001)}, idgen.ErrRange},
		{"spread by no power of two", []idgen.Option{idgen.StartSpread(6)}, idgen.ErrRange},
		{"negative spread", []idgen.Option{idgen.StartSpread(-8)}, idgen.ErrRange},
		{"spread beyond the sequence", []idgen.Option{idgen.StartSpread(8192)}, idgen.ErrRange},
		{"random below less than nothing", []idgen.Option{idgen.StartRandom(-1)}, idgen.ErrRange},
		{"random beyond the sequence", []idgen.Option{idgen.StartRandom(4097)}, idgen.ErrRange},
		{"no spare node", []idgen.Option{idgen.SwitchBack()}, idgen.ErrRange},
		{"no spare node to wait before", []idgen.Option{idgen.WaitSwitchBack(time.Second)}, idgen.ErrRange},
		{"no time to wait before a spare node", []idgen.Option{idgen.WaitSwitchBack(0, 9)}, idgen.ErrRange},
		{"spare node too great", []idgen.Option{idgen.SwitchBack(1024)}, idgen.ErrRange},
		{"spare node below its own", []idgen.Option{idgen.SwitchBack(6)}, idgen.ErrRange},
		{"spare node its own", []idgen.Option{idgen.SwitchBack(7)}, idgen.ErrRange},
		{"spare node twice", []idgen.Option{idgen.SwitchBack(8, 8)}, idgen.ErrRange},
		{"node below the sequence", []idgen.Option{idgen.Sonyflake, idgen.SwitchBack(8)}, idgen.ErrLayout},
		{"nil random", []idgen.Option{idgen.WithRandom(nil)}, idgen.ErrRange},
		{"nil source", []idgen.Option{idgen.WithNodeFrom(nil)}, idgen.ErrNode},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := idgen.New(append(tt.options, idgen.WithNode(7))...); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
	for name, options := range map[string][]idgen.Option{
		"borrow a minute": {idgen.BorrowFull(60_000)}, "whole spread": {idgen.StartSpread(4096)}, "whole random": {idgen.StartRandom(4096)},
		"a quarter at random": {idgen.StartRandom(0)},
	} {
		if _, err := idgen.New(append(options, idgen.WithNode(7))...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A preset brings its maker's policies: what Twitter's, Leaf's and Sony's generators do when the clock steps back by 3 and by 8 ms.
func TestPresetsBringTheirPolicies(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		preset         idgen.Preset
		little, lot    error
		startsAtZero   bool
		startsBelow100 bool
	}{
		{preset: idgen.Twitter, little: idgen.ErrClockBack, lot: idgen.ErrClockBack, startsAtZero: true},
		{preset: idgen.ShardingJDBC, little: idgen.ErrClockBack, lot: idgen.ErrClockBack, startsBelow100: true},
		{preset: idgen.Leaf, little: context.Canceled, lot: idgen.ErrClockBack, startsBelow100: true},
		{preset: idgen.Sonyflake, startsAtZero: true},
		{preset: idgen.Snowkey},
	} {
		t.Run(tt.preset.Name(), func(t *testing.T) {
			clock := newFakeClock(noon)
			g := newGenerator(t, append(numbered(tt.preset, 1), idgen.WithClock(clock))...)
			most := int64(0)
			for range 200 {
				clock.pass(20 * time.Millisecond)
				parts, err := tt.preset.Decode(next(t, g))
				if err != nil {
					t.Fatal(err)
				}
				most = max(most, parts.Sequence)
			}
			if tt.startsAtZero && most != 0 || tt.startsBelow100 && (most == 0 || most >= 100) || !tt.startsAtZero && !tt.startsBelow100 && most < 100 {
				t.Errorf("sequences start at up to %d", most)
			}
			clock.step(-3 * time.Millisecond)
			if _, err := g.Next(ended); !errors.Is(err, tt.little) {
				t.Errorf("3 ms back: got %v, want %v", err, tt.little)
			}
			clock.step(-5 * time.Millisecond)
			if _, err := g.Next(ended); !errors.Is(err, tt.lot) {
				t.Errorf("8 ms back: got %v, want %v", err, tt.lot)
			}
			clock.pass(time.Second)
			if _, err := g.Next(ended); err != nil {
				t.Errorf("after the clock has caught up: %v", err)
			}
		})
	}
}

func TestClockErrorSaysByHowMuch(t *testing.T) {
	clock := newFakeClock(noon)
	g := newGenerator(t, idgen.RefuseBack(), idgen.WithNode(1), idgen.WithClock(clock))
	next(t, g)
	clock.step(-90 * time.Second)
	_, err := g.Next(t.Context())
	var back *idgen.ClockError
	if !errors.As(err, &back) || back.By != 90*time.Second || !back.Last.Equal(noon) {
		t.Fatalf("got %v, want a ClockError by 1m30s from %s", err, noon)
	}
	if want := "idgen: the clock stepped back by 1m30s; no ids until it reaches 2026-06-01T12:00:00Z again"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

// A call under WaitBack returns when the clock has caught up, and gives up at the bound when it does not.
func TestWaitBack(t *testing.T) {
	clock := newFakeClock(noon)
	g := newGenerator(t, idgen.WaitBack(30*time.Second), idgen.WithNode(1), idgen.WithClock(clock))
	before := next(t, g)
	clock.step(-20 * time.Second)
	done := make(chan int64)
	go func() {
		id, err := g.Next(t.Context())
		if err != nil {
			t.Error(err)
		}
		done <- id
	}()
	clock.pass(20 * time.Second)
	if id := <-done; id <= before {
		t.Errorf("got %d after %d", id, before)
	}
	if s := g.Stats(); s.StepsBack > 1 {
		t.Errorf("got %+v, want one step back at most", s)
	}
	still := newGenerator(t, idgen.WaitBack(20*time.Millisecond), idgen.WithNode(1), idgen.WithClock(clock))
	next(t, still)
	clock.step(-20 * time.Millisecond) // and it stands still there
	if _, err := still.Next(t.Context()); !errors.Is(err, idgen.ErrClockBack) {
		t.Errorf("a clock that stays behind: got %v, want ErrClockBack", err)
	}
}

func TestSwitchBackUsesSpareNodes(t *testing.T) {
	layout, err := idgen.NewLayout(noon, time.Millisecond, idgen.Time.Bits(40), idgen.Node.Bits(4), idgen.Sequence.Bits(2))
	if err != nil {
		t.Fatal(err)
	}
	clock := newFakeClock(noon.Add(time.Hour))
	g := newGenerator(t, layout, idgen.SwitchBack(9, 6), idgen.StartZero(), idgen.RefuseFull(), idgen.WithNode(5), idgen.WithClock(clock))
	last := next(t, g)
	clock.step(-time.Minute)
	var nodes []int64
	for {
		id, err := g.Next(t.Context())
		if errors.Is(err, idgen.ErrFull) {
			break
		}
		parts, decodeErr := layout.Decode(id)
		if err != nil || decodeErr != nil || id <= last || !parts.Time.Equal(noon.Add(time.Hour)) {
			t.Fatalf("got %d, %v, %+v after %d", id, err, parts, last)
		}
		last = id
		nodes = append(nodes, parts.Node)
	}
	if want := []int64{5, 5, 5, 6, 6, 6, 6, 9, 9, 9, 9}; !equal(nodes, want) {
		t.Errorf("got ids of the nodes %v, want %v", nodes, want)
	}
	clock.pass(2 * time.Minute)
	if parts, err := layout.Decode(next(t, g)); err != nil || parts.Node != 5 {
		t.Errorf("after the clock has caught up: got %+v, %v, want node 5", parts, err)
	}
}

// WaitSwitchBack waits for a small step back, and has spare nodes for a great one, and for a small one that does not end.
func TestWaitSwitchBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const bound = 5 * time.Millisecond
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		layout, err := idgen.NewLayout(noon, time.Millisecond, idgen.Time.Bits(40), idgen.Node.Bits(4), idgen.Sequence.Bits(2))
		if err != nil {
			t.Fatal(err)
		}
		clock := newFakeClock(noon.Add(time.Hour))
		g := newGenerator(t, layout, idgen.WaitSwitchBack(bound, 6), idgen.StartZero(), idgen.RefuseFull(), idgen.WithNode(5), idgen.WithClock(clock))
		last := next(t, g)
		after := func(trouble string, wantNode int64, wantWaited time.Duration) {
			t.Helper()
			began := time.Now()
			id, err := g.Next(t.Context())
			parts, decodeErr := layout.Decode(id)
			if err != nil || decodeErr != nil || id <= last || parts.Node != wantNode || time.Since(began) != wantWaited {
				t.Fatalf("%s: got %d, %v, %+v after %s, want node %d after %s, and an id above %d", trouble, id, err, parts, time.Since(began), wantNode, wantWaited, last)
			}
			last = id
		}
		clock.step(-4 * time.Millisecond)
		if id, err := g.Next(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("back by 4 ms: got %d, %v, want to wait", id, err)
		}
		after("the clock stays 4 ms behind", 5, bound)
		clock.pass(4 * time.Millisecond)
		after("the clock is where it was", 5, 0)
		clock.step(-time.Minute)
		after("back by a minute", 5, 0)
		after("no sequence of the own node is left", 6, 0)
		clock.pass(time.Minute + time.Millisecond)
		after("a millisecond later", 5, 0)
	})
}

// The last of two policies for a step back holds alone: nothing is left of the bound of the one before, such as a preset's.
func TestLastBackPolicyHolds(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		option idgen.Option
		want   error
	}{"switch": {idgen.SwitchBack(9), nil}, "refuse": {idgen.RefuseBack(), idgen.ErrClockBack}, "ride": {idgen.IgnoreBack(), nil}} {
		clock := newFakeClock(noon.Add(time.Hour))
		g := newGenerator(t, idgen.WaitBack(time.Second), c.option, idgen.WithNode(1), idgen.WithClock(clock))
		last := next(t, g)
		clock.step(-5 * time.Millisecond)
		if id, err := g.Next(ended); !errors.Is(err, c.want) || err == nil && id <= last {
			t.Errorf("%s: got %d, %v after %d, want %v", name, id, err, last, c.want)
		}
	}
}

// A step back between New and the first id is one too: the time that New read is where the generator stays.
func TestSwitchBackFromTheStart(t *testing.T) {
	options := func(c *fakeClock) []idgen.Option {
		return []idgen.Option{idgen.SwitchBack(9), idgen.StartZero(), idgen.WithNode(1), idgen.WithClock(c)}
	}
	for name, by := range map[string]time.Duration{"an hour": time.Hour, "before the epoch": 10 * 365 * 24 * time.Hour} {
		clock := newFakeClock(noon)
		before := next(t, newGenerator(t, options(clock)...))
		clock.pass(time.Hour)
		g := newGenerator(t, options(clock)...)
		clock.step(-by)
		if id := next(t, g); id <= before || !timeOf(t, g, id).Equal(noon.Add(time.Hour)) {
			t.Errorf("%s: got %d of %s, want one of %s", name, id, timeOf(t, g, id), noon.Add(time.Hour))
		}
	}
}

// The bound of WaitBack holds for a whole call of Fill, whose ticks may meet a step back each.
func TestWaitBackBoundsAWholeFill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		layout, err := idgen.NewLayout(time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond, idgen.Time.Bits(41), idgen.Sequence.Bits(2))
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		clock := idgen.ClockFunc(func() time.Time { // steps back by 40 ms every 45 ms
			since := time.Since(start)
			return start.Add(since - since/(45*time.Millisecond)*40*time.Millisecond).Round(0)
		})
		g := newGenerator(t, layout, idgen.WaitBack(50*time.Millisecond), idgen.WithClock(clock))
		if err := g.Fill(t.Context(), make([]int64, 4*200)); !errors.Is(err, idgen.ErrClockBack) {
			t.Errorf("got %v, want ErrClockBack", err)
		}
	})
}

// A clock that is absurdly far away for a moment is an error or nothing, and over when it is right again.
func TestClockFarAway(t *testing.T) {
	for policy, option := range map[string]idgen.Option{
		"ride": idgen.IgnoreBack(), "wait": idgen.WaitBack(time.Second), "refuse": idgen.RefuseBack(), "switch": idgen.SwitchBack(9),
	} {
		clock := &wildClock{fakeClock: newFakeClock(noon)}
		g := newGenerator(t, option, idgen.WithNode(1), idgen.WithClock(clock))
		next(t, g)
		for _, wild := range []time.Time{{}, time.Unix(-1<<60, 0), time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)} {
			clock.pass(time.Second)
			clock.wild = wild
			_, err := g.Next(t.Context())
			wantErr := policy == "wait" || policy == "refuse"
			if wantErr != errors.Is(err, idgen.ErrClockBack) || !wantErr && err != nil {
				t.Errorf("%s, %s: got %v", policy, wild, err)
			}
			clock.tame = true
			clock.pass(time.Second)
			if got := timeOf(t, g, next(t, g)); !got.Equal(clock.Wall()) {
				t.Errorf("%s, after %s: got an id of %s, want %s", policy, wild, got, clock.Wall())
			}
			clock.tame = false
		}
		clock.wild = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
		clock.pass(time.Second)
		for range 3 {
			if _, err := g.Next(t.Context()); !errors.Is(err, idgen.ErrExhausted) {
				t.Errorf("%s, year 9999: got %v, want ErrExhausted", policy, err)
			}
		}
	}
	far := newFakeClock(noon)
	for _, fields := range [][]idgen.Field{{idgen.Time.Bits(63)}, {idgen.Time.Bits(47), idgen.Sequence.Bits(16)}} {
		unit := time.Nanosecond
		if len(fields) > 1 {
			unit = time.Millisecond
		}
		layout, err := idgen.NewLayout(noon, unit, fields...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := idgen.New(layout, idgen.WithClock(&wildClock{fakeClock: far, wild: time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC)})); !errors.Is(err, idgen.ErrExhausted) {
			t.Errorf("%s in 2300: got %v, want ErrExhausted", layout, err)
		}
	}
}

// A leap second for which the system's clock shows the last second of the day twice is a step back by a second. No policy makes an id twice then.
func TestLeapSecond(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for policy, option := range map[string]idgen.Option{
		"ride": idgen.IgnoreBack(), "wait": idgen.WaitBack(2 * time.Second), "refuse": idgen.RefuseBack(), "switch": idgen.SwitchBack(9),
		"wait, then switch": idgen.WaitSwitchBack(2*time.Second, 9), "switch beyond": idgen.WaitSwitchBack(time.Microsecond, 9),
	} {
		clock := newFakeClock(time.Date(2026, 12, 31, 23, 59, 59, 0, time.UTC))
		g := newGenerator(t, option, idgen.WithNode(1), idgen.WithClock(clock))
		last, refused := int64(0), 0
		for ms := range 3000 {
			if ms == 1000 {
				clock.step(-time.Second)
			}
			id, err := g.Next(ended) // which does not wait
			switch {
			case err != nil:
				refused++
			case id <= last:
				t.Fatalf("%s, after %d ms: got %d after %d", policy, ms, id, last)
			default:
				last = id
			}
			clock.pass(time.Millisecond)
		}
		if held := strings.HasPrefix(policy, "wait") || policy == "refuse"; held && (refused < 998 || refused > 1000) || !held && refused > 0 {
			t.Errorf("%s: %d of 3000 calls came to nothing", policy, refused)
		}
	}
}

// wildClock shows another wall clock's time unless it is tame.
type wildClock struct {
	*fakeClock
	wild time.Time
	tame bool
}

func (c *wildClock) Wall() time.Time {
	if c.tame || c.wild.IsZero() && c.elapsed.Load() == 0 {
		return c.fakeClock.Wall()
	}
	return c.wild
}

// A call that gave up waiting for the next tick takes nothing from the spare nodes when the clock steps back after it.
func TestSwitchBackAfterACallGaveUp(t *testing.T) {
	layout, err := idgen.NewLayout(noon, time.Millisecond, idgen.Time.Bits(40), idgen.Node.Bits(4), idgen.Sequence.Bits(1))
	if err != nil {
		t.Fatal(err)
	}
	clock := newFakeClock(noon.Add(time.Hour))
	g := newGenerator(t, layout, idgen.SwitchBack(6, 7), idgen.StartZero(), idgen.WithNode(5), idgen.WithClock(clock))
	if err := g.Fill(t.Context(), make([]int64, 2)); err != nil {
		t.Fatal(err)
	}
	short := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	if _, err := g.Next(short()); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a used up tick: got %v, want to wait", err)
	}
	clock.step(-time.Minute)
	for range 4 {
		next(t, g)
	}
	if _, err := g.Next(short()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("all spare nodes used up: got %v, want to wait", err)
	}
}

func equal(a, b []int64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestBorrowFull(t *testing.T) {
	layout, err := idgen.NewLayout(noon, time.Millisecond, idgen.Time.Bits(40), idgen.Sequence.Bits(2))
	if err != nil {
		t.Fatal(err)
	}
	clock := newFakeClock(noon.Add(time.Hour))
	g := newGenerator(t, layout, idgen.BorrowFull(3), idgen.StartZero(), idgen.WithClock(clock))
	ids := make([]int64, 4*4) // of this tick and three to come
	if err := g.Fill(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
	if got, want := timeOf(t, g, ids[15]), noon.Add(time.Hour+3*time.Millisecond); !got.Equal(want) {
		t.Errorf("the last is of %s, want %s", got, want)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.Next(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("beyond the bound: got %v, want to wait", err)
	}
	if s := g.Stats(); s.Borrowed != 3 || s.Issued != 16 {
		t.Errorf("got %+v, want 16 ids and 3 ticks borrowed", s)
	}
	clock.pass(time.Millisecond)
	if got, want := timeOf(t, g, next(t, g)), noon.Add(time.Hour+4*time.Millisecond); !got.Equal(want) {
		t.Errorf("a tick later: got %s, want %s", got, want)
	}
}

// What the table in the package's documentation says about each kind of clock trouble.
func TestClockTable(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	const year = 365 * 24 * time.Hour
	late := 200 * time.Millisecond
	for _, tt := range []struct {
		trouble string
		do      func(*fakeClock)
		// By policy: how much later than the id before the next one is, or what error comes instead.
		ride, wait, refuse, spare any
	}{
		{"suspended for an hour", func(c *fakeClock) { c.suspend(time.Hour); c.pass(late) }, time.Hour + late, time.Hour + late, time.Hour + late, time.Hour + late},
		{"back by an hour", func(c *fakeClock) { c.step(-time.Hour); c.pass(late) }, late, idgen.ErrClockBack, idgen.ErrClockBack, time.Duration(0)},
		{"back by 4 ms", func(c *fakeClock) { c.step(-4 * time.Millisecond) }, time.Duration(0), context.Canceled, idgen.ErrClockBack, time.Duration(0)},
		{"forward by a year", func(c *fakeClock) { c.step(year); c.pass(late) }, year + late, year + late, year + late, year + late},
		{"forward by a year and back", func(c *fakeClock) {
			c.step(year)
			c.pass(late)
			c.seen()
			c.seen()
			c.step(-year)
			c.pass(late)
		},
			2*late + year, idgen.ErrClockBack, idgen.ErrClockBack, year + late},
		{"frozen", func(*fakeClock) {}, time.Duration(0), time.Duration(0), time.Duration(0), time.Duration(0)},
	} {
		for policy, want := range map[string]any{"ride": tt.ride, "wait": tt.wait, "refuse": tt.refuse, "switch": tt.spare} {
			t.Run(tt.trouble+"/"+policy, func(t *testing.T) {
				option := map[string]idgen.Option{
					"ride": idgen.IgnoreBack(), "wait": idgen.WaitBack(5 * time.Millisecond), "refuse": idgen.RefuseBack(), "switch": idgen.SwitchBack(9),
				}[policy]
				clock := newFakeClock(noon)
				g := newGenerator(t, option, idgen.WithNode(1), idgen.WithClock(clock))
				clock.pass(time.Second)
				before := timeOf(t, g, next(t, g))
				clock.seen = func() { next(t, g) }
				tt.do(clock)
				_, _ = g.Next(ended) // a generator that rides notices with the first call
				id, err := g.Next(ended)
				if wantErr, ok := want.(error); ok {
					if !errors.Is(err, wantErr) {
						t.Errorf("got %v, want %v", err, wantErr)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if got := timeOf(t, g, id).Sub(before); got != want {
					t.Errorf("got an id %s later, want %s", got, want)
				}
			})
		}
	}
}

func TestStepsAreCounted(t *testing.T) {
	clock := newFakeClock(noon)
	ride := newGenerator(t, idgen.WithNode(1), idgen.WithClock(clock))
	follow := newGenerator(t, idgen.WithNode(1), idgen.RefuseBack(), idgen.WithClock(clock))
	both := func() {
		clock.pass(150 * time.Millisecond)
		for range 3 {
			_, _ = ride.Next(t.Context())
			_, _ = follow.Next(t.Context())
		}
	}
	for range 3 {
		both()
	}
	if a, b := ride.Stats(), follow.Stats(); a.StepsBack+a.StepsForward+b.StepsBack != 0 {
		t.Errorf("without a step: got %+v and %+v", a, b)
	}
	clock.step(-time.Hour)
	both()
	both()
	clock.step(time.Hour)
	both()
	both()
	clock.step(-time.Minute)
	both()
	if a, b := ride.Stats(), follow.Stats(); a.StepsBack != 2 || a.StepsForward != 1 || b.StepsBack != 2 {
		t.Errorf("back, forward, back: got %+v and %+v", a, b)
	}
}

func TestExhaustionWarning(t *testing.T) {
	end := idgen.Snowkey.ExhaustsAt()
	var warned []time.Time
	option := idgen.WithExhaustion(func(at time.Time) { warned = append(warned, at) })
	clock := newFakeClock(end.Add(-366 * 24 * time.Hour))
	g := newGenerator(t, idgen.WithNode(1), idgen.WithClock(clock), option)
	next(t, g)
	if len(warned) != 0 {
		t.Error("warned more than a year before")
	}
	for range 3 {
		clock.pass(25 * time.Hour)
		next(t, g)
	}
	if len(warned) != 1 || !warned[0].Equal(end) {
		t.Errorf("got the warnings %v, want one of %s", warned, end)
	}
	newGenerator(t, idgen.WithNode(1), idgen.WithClock(clock), option)
	if len(warned) != 2 {
		t.Error("no warning by New in the last year")
	}
}

// In a bubble of testing/synctest, where only timers move the clock, a saturated generator goes on.
func TestSynctest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// The bubble's clock starts in 2000.
		layout, err := idgen.NewLayout(time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond, idgen.Time.Bits(41), idgen.Sequence.Bits(4))
		if err != nil {
			t.Fatal(err)
		}
		g := newGenerator(t, layout)
		start := time.Now()
		if err := g.Fill(t.Context(), make([]int64, 16*100)); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took < 98*time.Millisecond || took > 110*time.Millisecond {
			t.Errorf("1,600 ids at 16 a millisecond took %s of the bubble's time, want about 100ms", took)
		}
	})
}

func TestClockFunc(t *testing.T) {
	at := noon
	g := newGenerator(t, idgen.WithNode(1), idgen.WithClock(idgen.ClockFunc(func() time.Time { return at })))
	for range 3 {
		at = at.Add(time.Minute)
		if got := timeOf(t, g, next(t, g)); !got.Equal(at) {
			t.Errorf("got an id of %s, want %s", got, at)
		}
	}
}
