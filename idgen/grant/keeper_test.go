package grant_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
)

// flaky is a store that can be made to fail, and whose clock can be set.
type flaky struct {
	grant.Store
	mu     sync.Mutex
	err    error
	after  bool // the change is made before the error
	offset time.Duration
	calls  int
}

func newFlaky() *flaky {
	f := &flaky{}
	f.Store = grant.Memory(func() time.Time {
		return time.Now().Add(f.offset) // List holds mu
	})
	return f
}

func (f *flaky) set(err error, after bool, offset time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err, f.after, f.offset = err, after, offset
}

func (f *flaky) Prepare(ctx context.Context, space, layout string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return "", f.err
	}
	return f.Store.Prepare(ctx, space, layout)
}

func (f *flaky) List(ctx context.Context, space string, least, most int64) (grant.Listing, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	if f.err != nil && !f.after {
		return grant.Listing{}, f.err
	}
	return f.Store.List(ctx, space, least, most)
}

func (f *flaky) Swap(ctx context.Context, space string, old, new grant.Row) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil && !f.after {
		return false, f.err
	}
	done, err := f.Store.Swap(ctx, space, old, new)
	if f.err != nil {
		return false, f.err
	}
	return done, err
}

var errDown = errors.New("the database is down")

// small has 4 node bits, and few sequences.
func small(t testing.TB) idgen.Layout {
	t.Helper()
	layout, err := idgen.NewLayout(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond,
		idgen.Time.Bits(41), idgen.Node.Bits(4), idgen.Sequence.Bits(6))
	if err != nil {
		t.Fatal(err)
	}
	return layout
}

// wide is the default layout but for its epoch: the clock of a synctest bubble begins in the year 2000.
var wide, _ = idgen.NewLayout(time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond,
	idgen.Time.Bits(41), idgen.Node.Bits(10), idgen.Sequence.Bits(12))

// with returns the options of a generator of that layout.
func with(options ...idgen.Option) []idgen.Option { return append([]idgen.Option{wide}, options...) }

func open(t testing.TB, store grant.Store, config grant.Config) *grant.Keeper {
	t.Helper()
	k, err := grant.Open(t.Context(), store, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.Close() }) // again
	return k
}

func next(t testing.TB, k *grant.Keeper) idgen.Parts {
	t.Helper()
	id, err := k.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	parts, err := k.Layout().Decode(id)
	if err != nil {
		t.Fatal(err)
	}
	return parts
}

// Ids flow for all the time that was granted while the store is down, to the last tick; then calls fail with the cause; and when
// the store is back they flow again.
func TestTheStoreIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFlaky()
		k := open(t, store, grant.Config{Generator: with()})
		time.Sleep(25*time.Minute + 7*time.Second)
		until := k.State().Until
		if left := time.Until(until); left < 8*time.Minute || left > 10*time.Minute {
			t.Fatalf("granted for %s more, want nearly ten minutes", left)
		}
		store.set(errDown, false, 0)
		var last time.Time
		for range 700 {
			id, err := k.Next(t.Context())
			if err != nil {
				break
			}
			parts, _ := k.Layout().Decode(id)
			last = parts.Time
			time.Sleep(min(time.Second, max(time.Until(until)-time.Millisecond, time.Millisecond)))
		}
		if want := until.Add(-time.Millisecond); !last.Equal(want) {
			t.Errorf("the last id is of %s, want %s", last, want)
		}
		_, err := k.Next(t.Context())
		var ended *grant.EndedError
		if !errors.As(err, &ended) || !errors.Is(err, errDown) || !errors.Is(err, grant.ErrEnded) || !ended.Until.Equal(until) {
			t.Errorf("got %v, want an EndedError of %s with the cause", err, until)
		}
		time.Sleep(time.Hour)
		store.set(nil, false, 0)
		time.Sleep(6 * time.Second)
		if parts := next(t, k); time.Since(parts.Time) > time.Millisecond {
			t.Errorf("got an id of %s, want one of now", parts.Time)
		}
		if s := k.State(); s.Err != nil || s.Acquired != 1 || !s.Held {
			t.Errorf("got the state %+v, want the same number renewed", s)
		}
	})
}

// A call that finds the grant ended, as after a suspended machine, has it renewed and goes on.
func TestSuspended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := &steppedClock{}
		k := open(t, newFlaky(), grant.Config{Generator: with(idgen.WithClock(clock))})
		next(t, k)
		clock.step(time.Hour)
		time.Sleep(time.Second)
		_ = next(t, k)
		if s := k.State(); s.Acquired != 1 || s.Err != nil {
			t.Errorf("got the state %+v, want all well", s)
		}
	})
}

// steppedClock is the machine's clock, and steps.
type steppedClock struct {
	mu sync.Mutex
	by time.Duration
}

func (c *steppedClock) step(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.by += by
}

func (c *steppedClock) Wall() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.by)
}

func (c *steppedClock) Elapsed() time.Duration { return time.Since(start) }

var start = time.Now()

// A clock that is off by less than the limit works from the first id on, and one that is off by more is refused with both figures.
func TestSkewAtTheStart(t *testing.T) {
	for _, off := range []time.Duration{0, -time.Millisecond, -3 * time.Second, -4 * time.Minute, 3 * time.Second, 4 * time.Minute, -6 * time.Minute, 6 * time.Minute, -1000 * time.Hour, 1000 * time.Hour} {
		t.Run(off.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := &steppedClock{by: off}
				config := grant.Config{Generator: with(idgen.WithClock(clock))}
				k, err := grant.Open(t.Context(), newFlaky(), config)
				if off.Abs() > (5 * time.Minute) {
					var skew *grant.SkewError
					if !errors.As(err, &skew) || !errors.Is(err, grant.ErrSkew) || skew.By != off {
						t.Fatalf("got %v, want a SkewError of %s", err, off)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				for range 1000 {
					if parts := next(t, k); time.Until(parts.Time) > time.Millisecond || time.Since(parts.Time) > 2*time.Millisecond {
						t.Fatalf("got an id of %s from now", time.Until(parts.Time))
					}
					time.Sleep(time.Second)
				}
				if err := k.Close(); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// Clocks that step while the keeper runs, its own or the store's, stop no ids for longer than it takes to renew the grant.
func TestClocksStep(t *testing.T) {
	type steps struct {
		name       string
		own, store []time.Duration
	}
	for _, tt := range []steps{
		{"own back", []time.Duration{-time.Hour}, nil},
		{"own ahead", []time.Duration{time.Hour}, nil},
		{"own ahead a little, twice", []time.Duration{9 * time.Minute, 9 * time.Minute}, nil},
		{"own ahead and back", []time.Duration{20 * time.Minute, -20 * time.Minute, 20 * time.Minute}, nil},
		{"own ahead by ten years", []time.Duration{87600 * time.Hour}, nil},
		{"store back", nil, []time.Duration{-time.Hour}},
		{"store ahead and back", nil, []time.Duration{time.Hour, -time.Hour}},
		{"store ahead by a year and back", nil, []time.Duration{8760 * time.Hour, -8760 * time.Hour}},
		{"both", []time.Duration{time.Hour}, []time.Duration{-time.Hour}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock, store := &steppedClock{}, newFlaky()
				k := open(t, store, grant.Config{Generator: with(idgen.WithClock(clock))})
				last := int64(0)
				run := func() {
					for range 30 * 60 {
						id, err := k.Next(t.Context())
						if err != nil || id <= last {
							t.Fatalf("got %d after %d, %v, state %+v", id, last, err, k.State())
						}
						last = id
						time.Sleep(time.Second)
					}
				}
				run()
				for _, by := range tt.own {
					clock.step(by)
					run()
					if off := time.Until(next(t, k).Time); off.Abs() > 2*time.Millisecond {
						t.Fatalf("half an hour after a step of %s ids are of %s from now", by, off)
					}
					time.Sleep(time.Second)
				}
				offset := time.Duration(0)
				for _, by := range tt.store {
					offset += by
					store.set(nil, false, offset)
					run()
				}
			})
		})
	}
}

// All numbers held is an error that says how many and until when; a number given back is there at once, one of a crashed holder when
// its grant ends.
func TestAllNumbersTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFlaky()
		config := grant.Config{Generator: []idgen.Option{small(t)}, First: (10 * time.Minute)}
		var keepers []*grant.Keeper
		seen := map[int64]bool{}
		for range 16 {
			k := open(t, store, config)
			keepers = append(keepers, k)
			seen[next(t, k).Node] = true
		}
		if len(seen) != 16 {
			t.Errorf("got %d different numbers, want 16", len(seen))
		}
		_, err := grant.Open(t.Context(), store, config)
		var taken *grant.TakenError
		if !errors.As(err, &taken) || taken.Held != 16 || taken.Of != 16 || taken.NextFree < 9*time.Minute || taken.NextFree > 10*time.Minute {
			t.Fatalf("got %v, want 16 of 16 taken for nearly ten minutes", err)
		}
		if err := keepers[7].Close(); err != nil {
			t.Fatal(err)
		}
		again := open(t, store, config)
		if got, want := next(t, again).Node, keepers[7].State().Number; got != want {
			t.Errorf("got number %d, want %d, which was given back", got, want)
		}
	})
}

// Every start and stop gives the number back, so that 4 bits of them are enough for ten thousand.
func TestStartAndStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { startAndStop(t, newFlaky(), 10_000) })
}

// startAndStop opens and closes keepers that make an id each.
func startAndStop(t *testing.T, store grant.Store, cycles int) {
	var ids []int64
	for range cycles {
		k, err := grant.Open(t.Context(), store, grant.Config{Generator: []idgen.Option{small(t)}})
		if err != nil {
			t.Fatal(err)
		}
		id, err := k.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
		if err := k.Close(); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(ids)
	if n := len(slices.Compact(ids)); n != cycles {
		t.Errorf("%d different ids of %d", n, cycles)
	}
}

// An acquisition that was not answered is found again by its holder's name, and takes no second number.
func TestTheAnswerIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFlaky()
		store.set(nil, false, 0)
		if _, err := store.Prepare(t.Context(), "default", small(t).String()); err != nil {
			t.Fatal(err)
		}
		lost := &lossy{flaky: store}
		lost.lose.Store(2)
		k := open(t, lost, grant.Config{Generator: []idgen.Option{small(t)}})
		next(t, k)
		listing, err := store.List(t.Context(), "default", 0, 15)
		if err != nil || len(listing.Rows) != 1 {
			t.Fatalf("got %v, %v, want one row", listing.Rows, err)
		}
		lost.lose.Store(1)
		until := k.State().Until
		time.Sleep(90 * time.Second) // a renewal that is not answered, and the one after
		if s := k.State(); s.Err != nil || !s.Until.After(until) || s.Acquired != 1 {
			t.Errorf("got %+v, want the grant renewed", s)
		}
		lost.lose.Store(1)
		if err := k.Close(); err != nil {
			t.Error(err)
		}
		if listing, err = store.List(t.Context(), "default", 0, 15); err != nil || listing.Rows[0].Holder != "" {
			t.Errorf("got %v, %v, want the number given back", listing.Rows, err)
		}
	})
}

// lossy makes changes without answering.
type lossy struct {
	*flaky
	lose atomic.Int64 // changes to come
}

func (l *lossy) Swap(ctx context.Context, space string, old, new grant.Row) (bool, error) {
	done, err := l.flaky.Swap(ctx, space, old, new)
	if done && l.lose.Add(-1) >= 0 {
		return false, errDown
	}
	return done, err
}

// A keeper whose number has another holder, or none, acquires another number.
func TestForgotten(t *testing.T) {
	for name, set := range map[string]grant.Row{
		"given to another": {Holder: "other", From: 5, Until: 1 << 40},
		"given back":       {Holder: "", From: 5, Until: 6},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newFlaky()
				k := open(t, store, grant.Config{Generator: with()})
				before := next(t, k)
				listing, err := store.List(t.Context(), "default", before.Node, before.Node)
				if err != nil {
					t.Fatal(err)
				}
				set.Number = before.Node
				if done, err := store.Swap(t.Context(), "default", listing.Rows[0], set); err != nil || !done {
					t.Fatal(done, err)
				}
				time.Sleep(70 * time.Second)
				if s := k.State(); s.Lost != 1 || s.Acquired != 2 || !s.Held {
					t.Errorf("got %+v, want the number lost and another acquired", s)
				}
				next(t, k)
			})
		})
	}
}

// A number that the store has given to another while it was granted is used no more, even where there is no other to be had.
func TestForgottenNumberIsUsedNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFlaky()
		k := open(t, store, grant.Config{Generator: with(idgen.WithNode(3))})
		next(t, k)
		listing, err := store.List(t.Context(), "default", 3, 3)
		if err != nil {
			t.Fatal(err)
		}
		given := grant.Row{Number: 3, Holder: "other", From: listing.Rows[0].From + 5, Until: 1 << 40}
		if done, err := store.Swap(t.Context(), "default", listing.Rows[0], given); err != nil || !done {
			t.Fatal(done, err)
		}
		time.Sleep(70 * time.Second)
		if id, err := k.Next(t.Context()); !errors.Is(err, grant.ErrTaken) {
			t.Errorf("got %d, %v, want no id of a number that another has", id, err)
		}
	})
}

func TestLayouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFlaky()
		open(t, store, grant.Config{Generator: with()})
		_, err := grant.Open(t.Context(), store, grant.Config{Generator: []idgen.Option{small(t)}})
		var layout *grant.LayoutError
		if !errors.As(err, &layout) || layout.InForce != wide.String() || layout.Wanted != small(t).String() {
			t.Errorf("got %v, want both layouts", err)
		}
		k := open(t, store, grant.Config{Generator: []idgen.Option{small(t)}, Space: "other"})
		next(t, k)
	})
}

// Numbers that options give restrict what is acquired.
func TestGivenNumbers(t *testing.T) {
	twitter, err := idgen.NewLayout(wide.Epoch(), time.Millisecond, idgen.Time.Bits(41), idgen.Datacenter.Bits(5), idgen.Node.Bits(5), idgen.Sequence.Bits(12))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		store := newFlaky()
		k := open(t, store, grant.Config{Generator: []idgen.Option{twitter, idgen.WithDatacenter(3)}})
		if parts := next(t, k); parts.Datacenter != 3 {
			t.Errorf("got datacenter %d, want 3", parts.Datacenter)
		}
		if s := k.State(); s.Number>>5 != 3 || k.Number(idgen.Datacenter).Value != 3 || k.Number(idgen.Node).Value != s.Number&31 {
			t.Errorf("got number %d of datacenter %v and node %v", s.Number, k.Number(idgen.Datacenter), k.Number(idgen.Node))
		}
		fixed := grant.Config{Generator: []idgen.Option{twitter, idgen.WithDatacenter(4), idgen.WithNode(9)}}
		k = open(t, store, fixed)
		if parts := next(t, k); parts.Datacenter != 4 || parts.Node != 9 {
			t.Errorf("got %+v, want datacenter 4, node 9", parts)
		}
		if _, err := grant.Open(t.Context(), store, fixed); !errors.Is(err, grant.ErrTaken) {
			t.Errorf("got %v, want the number taken", err)
		}
		k = open(t, store, grant.Config{Generator: []idgen.Option{idgen.Mastodon}, Space: "m"})
		next(t, k)
	})
}

// The end of the context closes the keeper as Close does, and calls that wait return.
func TestTheContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFlaky()
		ctx, cancel := context.WithCancel(t.Context())
		k, err := grant.Open(ctx, store, grant.Config{Generator: with()})
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		synctest.Wait()
		if _, err := k.Next(t.Context()); !errors.Is(err, grant.ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
		if err := k.Fill(t.Context(), make([]int64, 3)); !errors.Is(err, grant.ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
		if err := k.Close(); err != nil {
			t.Error(err)
		}
		listing, err := store.List(t.Context(), "default", 0, 1023)
		if err != nil || len(listing.Rows) != 1 || listing.Rows[0].Holder != "" || listing.Rows[0].Until != listing.Rows[0].From {
			t.Errorf("got %v, %v, want the whole grant given back", listing.Rows, err)
		}
	})
}

func TestConfigRefused(t *testing.T) {
	for name, config := range map[string]grant.Config{
		"space":        {Space: "a b"},
		"long space":   {Space: fmt.Sprintf("%065d", 1)},
		"for":          {For: time.Millisecond},
		"negative for": {For: -time.Minute},
		"every":        {For: time.Minute, Every: 31 * time.Second},
		"neg every":    {Every: -1},
		"skew":         {MaxSkew: -1},
		"timeout":      {Timeout: -1},
		"wait":         {Wait: -1},
		"too long":     {For: 100 * 365 * 24 * time.Hour},
		"far skew":     {MaxSkew: 1 << 62},
		"ticks":        {For: time.Second, Generator: []idgen.Option{idgen.K8sIP}},
	} {
		if _, err := grant.Open(t.Context(), grant.Memory(nil), config); !errors.Is(err, grant.ErrConfig) {
			t.Errorf("%s: got %v, want ErrConfig", name, err)
		}
	}
	if _, err := grant.Open(t.Context(), nil, grant.Config{}); !errors.Is(err, grant.ErrConfig) {
		t.Errorf("got %v, want ErrConfig", err)
	}
	if _, err := grant.Open(t.Context(), grant.Memory(nil), grant.Config{Generator: []idgen.Option{idgen.Preset{}}}); !errors.Is(err, idgen.ErrLayout) {
		t.Errorf("got %v, want idgen.ErrLayout", err)
	}
	if _, err := grant.Open(t.Context(), grant.Memory(nil), grant.Config{Generator: []idgen.Option{idgen.SwitchBack(4)}}); !errors.Is(err, idgen.ErrNode) {
		t.Errorf("got %v, want idgen.ErrNode", err)
	}
}

// Where ticks are longer than the time between renewals, no more is granted than For, so that the number of a crashed process comes free
// then.
func TestLongTicks(t *testing.T) {
	for _, tt := range []struct{ unit, length time.Duration }{
		{time.Second, 2 * time.Second}, {time.Second, 5 * time.Second}, {28 * time.Second, time.Minute}, {time.Hour, 0}, {10 * time.Millisecond, 20 * time.Millisecond},
	} {
		t.Run(tt.unit.String()+" "+tt.length.String(), func(t *testing.T) {
			layout, err := idgen.NewLayout(wide.Epoch(), tt.unit, idgen.Time.Bits(40), idgen.Node.Bits(4), idgen.Sequence.Bits(6))
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				k := open(t, newFlaky(), grant.Config{Generator: []idgen.Option{layout}, For: tt.length})
				length := max(tt.length, (10 * time.Minute), 2*tt.unit)
				if tt.length > 0 {
					length = tt.length
				}
				for range 200 {
					time.Sleep(length / 7)
					if ahead := time.Until(k.State().Until); ahead > length+2*tt.unit || ahead <= 0 {
						t.Fatalf("granted for %s, want at most %s", ahead, length)
					}
				}
				next(t, k)
			})
		})
	}
}

// A row that reaches for ever is a number that is taken, and no endless wait.
func TestTakenForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFlaky()
		config := grant.Config{Generator: with(idgen.WithNode(7))}
		if err := open(t, store, config).Close(); err != nil {
			t.Fatal(err)
		}
		listing, err := store.List(t.Context(), "default", 7, 7)
		if err != nil {
			t.Fatal(err)
		}
		reserved := grant.Row{Number: 7, Holder: "reserved", Until: 1<<63 - 1}
		if done, err := store.Swap(t.Context(), "default", listing.Rows[0], reserved); err != nil || !done {
			t.Fatal(done, err)
		}
		var taken *grant.TakenError
		if _, err := grant.Open(t.Context(), store, config); !errors.As(err, &taken) || taken.NextFree < 1e18 {
			t.Errorf("got %v, want the number taken for ever", err)
		}
	})
}

// A keeper that could not be opened leaves no number behind that its swap has acquired all the same.
func TestOpenFailsAfterItsSwap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &lossy{flaky: newFlaky()}
		for range 40 {
			store.lose.Store(5) // all attempts; then the store answers again
			if _, err := grant.Open(t.Context(), store, grant.Config{Generator: []idgen.Option{small(t)}}); !errors.Is(err, errDown) {
				t.Fatalf("got %v, want the store's error", err)
			}
		}
		store.lose.Store(0)
		next(t, open(t, store, grant.Config{Generator: []idgen.Option{small(t)}}))
	})
}

// The floor counts when the generator's clock is set back too.
func TestFloorUnderAGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		floor, err := wide.MaxID(time.Now().Add(2 * time.Second))
		if err != nil {
			t.Fatal(err)
		}
		clock := &steppedClock{by: 4 * time.Minute}
		for _, c := range []*steppedClock{clock, {}} {
			k := open(t, newFlaky(), grant.Config{Generator: with(idgen.WithClock(c), idgen.WithFloor(floor)), For: time.Minute})
			if id, err := k.Next(t.Context()); err != nil || id <= floor {
				t.Errorf("got %d, %v, want more than %d", id, err, floor)
			}
		}
	})
}

// A store that has lost everything, and that another layout has taken possession of, stops the keeper at once.
func TestAnotherLayoutTakesPossession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFlaky()
		k := open(t, store, grant.Config{Generator: with()})
		next(t, k)
		fresh := newFlaky()
		open(t, fresh, grant.Config{Generator: []idgen.Option{small(t)}})
		store.mu.Lock()
		store.Store = fresh.Store
		store.mu.Unlock()
		time.Sleep(70 * time.Second)
		if id, err := k.Next(t.Context()); !errors.Is(err, grant.ErrLayout) {
			t.Errorf("got %d, %v, want ErrLayout", id, err)
		}
		if s := k.State(); s.Held || s.Lost != 1 {
			t.Errorf("got %+v, want the number lost", s)
		}
	})
}

// A store that has lost everything is given its layout again before a number is acquired.
func TestEverythingIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFlaky()
		k := open(t, store, grant.Config{Generator: with()})
		store.mu.Lock()
		store.Store = newFlaky().Store
		store.mu.Unlock()
		time.Sleep(70 * time.Second)
		next(t, k)
		if _, err := grant.Open(t.Context(), store, grant.Config{Generator: []idgen.Option{small(t)}}); !errors.Is(err, grant.ErrLayout) {
			t.Errorf("got %v, want ErrLayout", err)
		}
	})
}

// A store in which rows can be added and not changed, or that changes them, is refused at the start.
func TestStoreRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		swap func(old, new grant.Row) (grant.Row, error)
		want error
	}{
		"no right to change": {func(old, new grant.Row) (grant.Row, error) {
			if old.Holder != grant.Absent {
				return new, errDown
			}
			return new, nil
		}, errDown},
		"pads": {func(_, new grant.Row) (grant.Row, error) { new.Holder += " "; return new, nil }, grant.ErrStore},
	} {
		store := odd{grant.Memory(nil), tt.swap}
		if _, err := grant.Open(t.Context(), store, grant.Config{}); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", name, err, tt.want)
		}
	}
}

// odd is a store that makes of changes what a function says.
type odd struct {
	grant.Store
	swap func(old, new grant.Row) (grant.Row, error)
}

func (o odd) Swap(ctx context.Context, space string, old, new grant.Row) (bool, error) {
	changed, err := o.swap(old, new)
	if err != nil {
		return false, err
	}
	return o.Store.Swap(ctx, space, old, changed)
}

// A listing that is out of date costs no number.
func TestStaleListing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &stale{Store: newFlaky()}
		k := open(t, store, grant.Config{Generator: with()})
		store.on.Store(true)
		for range 30 {
			time.Sleep(time.Minute)
			next(t, k)
		}
		if s := k.State(); s.Acquired != 1 || s.Lost != 0 || s.Err != nil {
			t.Errorf("got %+v, want the number kept", s)
		}
	})
}

// stale is a store that lists what there was before it was used.
type stale struct {
	grant.Store
	on atomic.Bool
}

func (s *stale) List(ctx context.Context, space string, least, most int64) (grant.Listing, error) {
	listing, err := s.Store.List(ctx, space, least, most)
	if s.on.Load() {
		listing.Rows = nil
	}
	return listing, err
}

// After a step ahead of whatever size there are as many ids in stock as before, should the store go down.
func TestStockAfterAStepAhead(t *testing.T) {
	for _, by := range []time.Duration{time.Minute, 6 * time.Minute, 10 * time.Minute, 15*time.Minute - 5*time.Millisecond, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			clock, store := &steppedClock{}, newFlaky()
			k := open(t, store, grant.Config{Generator: with(idgen.WithClock(clock)), First: (10 * time.Minute)})
			next(t, k)
			clock.step(by)
			time.Sleep(3 * time.Minute)
			next(t, k)
			store.mu.Lock()
			calls := store.calls
			store.mu.Unlock()
			if calls > 20 {
				t.Errorf("%s: asked the store %d times", by, calls)
			}
			store.set(errDown, false, 0)
			for range 8 * 60 {
				if _, err := k.Next(t.Context()); err != nil {
					t.Fatalf("%s: %v", by, err)
				}
				time.Sleep(time.Second)
			}
		})
	}
}

// Who opens while all numbers are held waits for one that is given back, not only for one whose grant ends.
func TestOpenWaitsForANumberThatIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := grant.Memory(nil)
		config := grant.Config{Generator: forShards(t, idgen.WithNode(3))}
		first := open(t, store, config)
		time.AfterFunc(700*time.Millisecond, func() {
			if err := first.Close(); err != nil {
				t.Error(err)
			}
		})
		second, err := grant.Open(t.Context(), store, config)
		if err != nil {
			t.Fatal(err)
		}
		started := time.Now()
		if _, err := grant.Open(t.Context(), store, config); !errors.Is(err, grant.ErrTaken) || time.Since(started) < 2*time.Second {
			t.Errorf("while another holds the number: got %v after %s, want ErrTaken after Wait, 2s", err, time.Since(started))
		}
		if err := second.Close(); err != nil {
			t.Error(err)
		}
	})
}
