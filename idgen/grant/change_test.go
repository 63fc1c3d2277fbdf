package grant_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
)

// widePacked is the layout packed but for its epoch, which is that of wide.
var widePacked, _ = idgen.NewLayout(wide.Epoch(), idgen.Packed.Unit(), idgen.Packed.Fields()...)

// both returns the configuration of a keeper that knows two layouts.
func both(options ...idgen.Option) grant.Config {
	return grant.Config{
		Generator: append([]idgen.Option{idgen.Packed, widePacked}, options...), Before: append([]idgen.Option{wide}, options...),
	}
}

func plan(t testing.TB, store grant.Store, to idgen.Layout) *grant.Change {
	t.Helper()
	change, err := grant.PlanChange(t.Context(), store, grant.DefaultSpace, to)
	if err != nil {
		t.Fatal(err)
	}
	return change
}

func announce(t testing.TB, store grant.Store, to idgen.Layout) *grant.Change {
	t.Helper()
	change := plan(t, store, to)
	if err := change.Announce(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	return change
}

// made are keys, of which none may come twice, and those of one keeper increase.
type made struct {
	keys map[int64]string
	last map[string]int64
}

func (m *made) add(t testing.TB, name string, p idgen.Phases, key int64) {
	t.Helper()
	if by, found := m.keys[key]; found {
		t.Fatalf("%s made the key %d, and so did %s", name, key, by)
	}
	if key <= m.last[name] {
		t.Fatalf("%s made the key %d after %d", name, key, m.last[name])
	}
	parts, err := p.Of(key).Decode(key)
	if err != nil || p.At(parts.Time).Layout != p.Of(key) || parts.Time.After(time.Now().Add(time.Second+2*time.Millisecond)) || time.Since(parts.Time) > 3*time.Millisecond {
		t.Fatalf("%s made the key %d, which is of %s and of %s, %v, at %s", name, key, p.Of(key), parts.Time, err, time.Now().UTC())
	}
	m.keys[key], m.last[name] = name, key
}

// Keepers of both layouts go from one to the other while they make keys, and back, without a call that fails; those of one layout make keys until their
// grants end, or from the change on.
func TestChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFlaky()
		all := made{map[int64]string{}, map[string]int64{}}
		former := open(t, store, grant.Config{Generator: with(), Name: "former"})
		keepers := map[string]*grant.Keeper{}
		start := func(name string) {
			config := both()
			config.Name = name
			keepers[name] = open(t, store, config)
		}
		start("a")
		start("b")
		time.Sleep(20 * time.Minute)
		use := func(p idgen.Phases) {
			for _, name := range []string{"a", "b", "c", "d"} {
				k := keepers[name]
				if k == nil {
					continue
				}
				stream := k.TakeStream()
				keys := make([]int64, 3)
				if err := k.FillIn(t.Context(), stream, keys[:2]); err != nil {
					t.Fatalf("%s at %s: %v", name, time.Now(), err)
				}
				k.ReturnStream(stream)
				keys[2] = keys[1]
				for _, key := range keys[:2] {
					all.add(t, fmt.Sprint(name, stream), p, key)
				}
			}
		}
		change := plan(t, store, widePacked)
		if len(change.Unaware) != 1 || !strings.HasPrefix(change.Unaware[0].Holder, "former#") {
			t.Errorf("got the unaware holders %+v, want the former one", change.Unaware)
		}
		if err := change.Announce(t.Context(), false); !errors.Is(err, grant.ErrChange) || !strings.Contains(err.Error(), "former") {
			t.Errorf("with an unaware holder: got %v, want ErrChange that names it", err)
		}
		use(change.Phases)
		if err := change.Announce(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		at := change.At()
		if ahead := time.Until(at); ahead < 9*time.Minute || ahead > 10*time.Minute+2*widePacked.Band() || at.Sub(wide.Epoch())%widePacked.Band() != 0 {
			t.Errorf("got a change in %s, want ten minutes and the begin of a band", ahead)
		}
		if _, err := grant.PlanChange(t.Context(), store, grant.DefaultSpace, wide); !errors.Is(err, grant.ErrChange) {
			t.Errorf("another change: got %v, want ErrChange", err)
		}
		start("c")
		if _, err := grant.Open(t.Context(), store, grant.Config{Generator: with()}); !errors.Is(err, grant.ErrLayout) {
			t.Errorf("a keeper of the former layout: got %v, want ErrLayout", err)
		}
		if _, err := grant.Open(t.Context(), store, grant.Config{Generator: []idgen.Option{widePacked}}); !errors.Is(err, grant.ErrLayout) {
			t.Errorf("a keeper of the new layout before the change: got %v, want ErrLayout", err)
		}
		held := keepers["a"].TakeStream() // of a statement that lasts from before the change until after it
		var until time.Time               // the end of the former keeper's keys
		for time.Until(at) > -5*time.Minute {
			if key, err := former.Next(t.Context()); err == nil {
				all.add(t, "former", change.Phases, key)
			} else if until.IsZero() {
				until = time.Now()
				if !errors.Is(err, grant.ErrEnded) || !errors.Is(err, grant.ErrLayout) {
					t.Errorf("the former keeper fails with %v, want ErrEnded and ErrLayout", err)
				}
			}
			use(change.Phases)
			left := time.Until(at)
			if left > 0 {
				time.Sleep(min(left, time.Second))
			} else {
				time.Sleep(time.Second)
			}
			if left < 3*time.Second && left > -3*time.Second {
				for range 20 {
					use(change.Phases)
					time.Sleep(time.Millisecond)
				}
			}
		}
		if until.IsZero() || until.After(at) || at.Sub(until) > 3*time.Minute {
			t.Errorf("the former keeper made keys until %s, want until its grant's end shortly before %s", until, at)
		}
		if s := former.State(); len(s.Losses) != 0 || s.Lost != 0 || s.Held {
			t.Errorf("got the state %+v of the former keeper, want no loss", s)
		}
		keys := make([]int64, 5)
		if err := keepers["a"].FillIn(t.Context(), held, keys); err != nil || widePacked != keepers["a"].Layout() {
			t.Errorf("with a stream of before: %v, layout %s", err, keepers["a"].Layout())
		}
		keepers["a"].ReturnStream(held)
		if got := keepers["a"].TakeStream() & 0xffff; got != 0 {
			t.Errorf("got stream %d after all were returned, want 0", got)
		}
		for name, k := range keepers {
			if s := k.State(); s.Acquired != 1 || s.Lost != 0 || s.Err != nil || s.Phases.String() != change.Phases.String() {
				t.Errorf("%s: got the state %+v, want one number all the time", name, s)
			}
			if stats := k.Stats(); stats.Issued < 100 {
				t.Errorf("%s: got %d keys by its counters", name, stats.Issued)
			}
		}
		if err := errors.Join(former.Close(), keepers["b"].Close()); err != nil {
			t.Errorf("closing: %v", err)
		}
		delete(keepers, "b")
		start("d")
		last := open(t, store, grant.Config{Generator: []idgen.Option{idgen.Packed, widePacked}, Name: "last"})
		if key, err := last.Next(t.Context()); err != nil {
			t.Error(err)
		} else {
			all.add(t, "last", change.Phases, key)
		}

		// And back, by keepers that know both in the other order.
		if err := errors.Join(last.Close(), keepers["a"].Close(), keepers["c"].Close()); err != nil {
			t.Fatal(err)
		}
		delete(keepers, "a")
		delete(keepers, "c")
		config := both()
		config.Generator, config.Before, config.Name = config.Before, config.Generator, "c"
		keepers["c"] = open(t, store, config)
		all.last = map[string]int64{}
		back := announce(t, store, wide)
		keepers["c"].TakeStream()
		held = keepers["c"].TakeStream()
		for time.Until(back.At()) > -2*time.Minute {
			use(back.Phases)
			time.Sleep(time.Second)
		}
		if k := keepers["c"]; k.Layout() != wide || k.State().Acquired != 1 || len(k.Phases()) != 3 {
			t.Errorf("got the layout %s after the way back, state %+v", k.Layout(), k.State())
		}
		if err := keepers["c"].FillIn(t.Context(), held, keys); err != nil {
			t.Errorf("with a stream of the layout before, where this one has none: %v", err)
		}
		if l, err := store.List(t.Context(), grant.DefaultSpace+"~2", 0, 1023); err != nil || l.Gone != 0 || len(l.Rows) < 3 {
			t.Errorf("got %+v, %v of the rows", l, err)
		}
		if _, err := grant.PlanChange(t.Context(), store, grant.DefaultSpace, widePacked); !errors.Is(err, grant.ErrChange) || !strings.Contains(err.Error(), "characters") {
			t.Errorf("a third change: got %v, want that there is no room", err)
		}
	})
}

// atCall is a store that announces a change before a call.
type atCall struct {
	grant.Store
	when     string
	announce atomic.Pointer[func()]
}

func (a *atCall) before(call string) {
	if call != a.when {
		return
	}
	if f := a.announce.Swap(nil); f != nil {
		(*f)()
	}
}

func (a *atCall) List(ctx context.Context, space string, least, most int64) (grant.Listing, error) {
	a.before("List")
	return a.Store.List(ctx, space, least, most)
}

func (a *atCall) Swap(ctx context.Context, space string, old, new grant.Row) (bool, error) {
	a.before("Swap")
	return a.Store.Swap(ctx, space, old, new)
}

// A change that is announced between two calls of a keeper, whatever it is doing, is no loss, and costs no key.
func TestChangeMeanwhile(t *testing.T) {
	for _, when := range []string{"List", "Swap"} {
		for _, doing := range []string{"acquiring", "renewing", "releasing"} {
			for _, knows := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s before %s, knows=%t", doing, when, knows), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						memory := grant.Memory(nil)
						store := &atCall{Store: memory, when: when}
						config := both()
						if !knows {
							config = grant.Config{Generator: with()}
						}
						first := open(t, memory, grant.Config{Generator: with()}) // makes the space
						if err := first.Close(); err != nil {
							t.Fatal(err)
						}
						change := func() { announce(t, memory, widePacked) }
						if doing == "acquiring" {
							store.announce.Store(&change)
							k, err := grant.Open(t.Context(), store, config)
							if !knows {
								if !errors.Is(err, grant.ErrLayout) {
									t.Errorf("got %v, want ErrLayout", err)
								}
								return
							}
							if err != nil {
								t.Fatal(err)
							}
							next(t, k)
							if err := k.Close(); err != nil {
								t.Fatal(err)
							}
							return
						}
						var failed error
						if knows {
							config.Notify = func(s grant.State) {
								if s.Err != nil && !errors.Is(s.Err, grant.ErrClosed) {
									failed = s.Err
								}
							}
						}
						k := open(t, store, config)
						next(t, k)
						time.Sleep(30 * time.Minute)
						store.announce.Store(&change)
						if doing == "renewing" {
							time.Sleep(2 * time.Minute)
							next(t, k)
							if s := k.State(); s.Lost != 0 || len(s.Losses) != 0 || (s.Err == nil) != knows {
								t.Errorf("got the state %+v", s)
							}
						}
						if err := k.Close(); err != nil && (when != "List" || doing != "releasing") {
							t.Errorf("closing: %v", err)
						}
						if failed != nil {
							t.Errorf("a renewal failed: %v", failed)
						}
						if s := k.State(); len(s.Losses) != 0 {
							t.Errorf("got the losses %+v, want none", s.Losses)
						}
						if when == "Swap" || doing == "renewing" {
							l, err := memory.List(t.Context(), grant.DefaultSpace+"~1", 0, 1023)
							if err != nil || slices.ContainsFunc(l.Rows, func(r grant.Row) bool { return r.Holder != "" }) {
								t.Errorf("got the rows %+v, %v, want all given back", l.Rows, err)
							}
						}
					})
				})
			}
		}
	}
}

// A keeper whose number another one has had since its grant ended looks for its row while a change moves the rows: that is no loss.
func TestChangeWhileLooking(t *testing.T) {
	for _, closing := range []bool{false, true} {
		t.Run(fmt.Sprintf("closing=%t", closing), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				memory := grant.Memory(nil)
				store := &atCall{Store: memory, when: "List"}
				first := open(t, memory, grant.Config{Generator: with()}) // makes the space
				if err := first.Close(); err != nil {
					t.Fatal(err)
				}
				k := open(t, store, both())
				next(t, k)
				time.Sleep(time.Minute)
				seize := func() { // its grant has ended, for all that it knows, and another one has the number
					l, err := memory.List(t.Context(), grant.DefaultSpace, k.State().Number, k.State().Number)
					if err != nil || len(l.Rows) != 1 {
						t.Fatalf("got the rows %+v, %v", l.Rows, err)
					}
					old := l.Rows[0]
					_, marks, _ := strings.Cut(old.Holder, ".")
					stamp, _, _ := strings.Cut(marks, "<")
					taken := grant.Row{Number: old.Number, Holder: "another#1.11<" + stamp, From: old.Until, Until: old.Until + 1000}
					if done, err := memory.Swap(t.Context(), grant.DefaultSpace, old, taken); err != nil || !done {
						t.Fatalf("got %t, %v", done, err)
					}
					change := func() { announce(t, memory, widePacked) }
					store.announce.Store(&change)
				}
				if closing {
					seize()
				} else {
					store.announce.Store(&seize) // the next List is that of the renewal; the one after it asks who has the row
					time.Sleep(2 * time.Minute)
				}
				_ = k.Close()
				if s := k.State(); s.Lost != 1 && !closing || len(s.Losses) != 0 {
					t.Errorf("got %d lost, the losses %+v, want none", s.Lost, s.Losses)
				}
			})
		})
	}
}

// The store's clock steps back across the change: keys go on where they were. No generator takes its turn before its tick.
func TestChangeAndBack(t *testing.T) {
	for _, used := range []bool{true, false} {
		t.Run(fmt.Sprintf("keys of the new layout=%t", used), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { changeAndBack(t, used) })
		})
	}
}

func changeAndBack(t *testing.T, used bool) {
	store := newFlaky()
	former := open(t, store, grant.Config{Generator: with()})
	if err := former.Close(); err != nil {
		t.Fatal(err)
	}
	k := open(t, store, both())
	next(t, k)
	time.Sleep(time.Minute)
	change := announce(t, store, widePacked)
	time.Sleep(time.Until(change.At()) - time.Second)
	if grant.Turn(k) || k.Layout() != wide {
		t.Fatal("the new layout has its turn a second before the change")
	}
	time.Sleep(time.Minute)
	if used {
		next(t, k)
	}
	for _, back := range []time.Duration{-time.Hour, -time.Minute} {
		store.set(nil, false, back)
		time.Sleep(time.Minute) // the grant is renewed, with that time
		for range 100 {
			if key, err := k.Next(t.Context()); err != nil || key < change.Phases[1].FirstID() || change.Phases.At(decode(t, widePacked, key).Time).Layout != widePacked {
				t.Fatalf("after a step of %s back: got the key %d, %v, want one of %s", back, key, err, widePacked)
			}
			time.Sleep(10 * time.Second)
		}
	}
}

func decode(t *testing.T, l idgen.Layout, key int64) idgen.Parts {
	t.Helper()
	parts, err := l.Decode(key)
	if err != nil {
		t.Fatal(err)
	}
	return parts
}

// A keeper that has made keys of the new layout does not go back when the space has forgotten the change.
func TestChangeForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFlaky()
		k := open(t, store, both())
		if next(t, k); k.Layout() == wide {
			t.Fatal("a new space has the former layout, want that of Generator")
		}
		if err := k.Close(); err != nil {
			t.Fatal(err)
		}
		store = newFlaky()
		former := open(t, store, grant.Config{Generator: with()})
		if err := former.Close(); err != nil {
			t.Fatal(err)
		}
		k = open(t, store, both())
		at := announce(t, store, widePacked).At()
		time.Sleep(time.Until(at) + time.Minute)
		if next(t, k); k.Layout() != widePacked {
			t.Fatalf("got the layout %s after the change", k.Layout())
		}
		alone := open(t, store, grant.Config{Generator: []idgen.Option{widePacked}}) // Before is dropped
		next(t, alone)
		store.mu.Lock()
		store.Store = grant.Memory(nil)
		store.mu.Unlock()
		former = open(t, store, grant.Config{Generator: with()})
		time.Sleep(10 * time.Minute)
		for _, k := range []*grant.Keeper{k, alone} {
			if _, err := k.Next(t.Context()); !errors.Is(err, grant.ErrLayout) {
				t.Errorf("got %v, want ErrLayout", err)
			}
		}
		if _, err := grant.Open(t.Context(), store, grant.Config{Generator: []idgen.Option{widePacked}}); !errors.Is(err, grant.ErrLayout) {
			t.Errorf("opened: got %v, want ErrLayout", err)
		}
		if s := k.State(); len(s.Losses) != 1 {
			t.Errorf("got %d losses, want one", len(s.Losses))
		}
		if losses, err := store.Losses(t.Context(), grant.DefaultSpace); err != nil || len(losses) != 2 {
			t.Errorf("got the losses %v, %v, want two in the space that was restored", losses, err)
		}
		next(t, former)
		if err := former.Close(); err != nil {
			t.Fatal(err)
		}
		// When the change is announced again it goes on, from the new time on.
		at = announce(t, store, widePacked).At()
		time.Sleep(time.Until(at) - time.Millisecond)
		if _, err := k.Next(t.Context()); !errors.Is(err, grant.ErrLayout) {
			t.Errorf("got %v before the change, want ErrLayout", err)
		}
		time.Sleep(time.Minute)
		for _, k := range []*grant.Keeper{k, alone} {
			if made := next(t, k); made.Time.Before(at) {
				t.Errorf("got a key of %s after the change of %s", made.Time, at)
			}
		}
		if losses, err := store.Losses(t.Context(), grant.DefaultSpace+"~1"); err != nil || len(losses) != 2 {
			t.Errorf("got the losses %v, %v, want those from before the change", losses, err)
		}
	})
}

// After a restore that has lost a change, keys that are made from the time of the next one on are above all that were made before, as the documentation has it.
func TestChangeRestored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		last := int64(0)
		for range 2 { // the second time on a space that has forgotten the first
			store := newFlaky()
			if err := open(t, store, grant.Config{Generator: with()}).Close(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Until(announce(t, store, widePacked).At()))
			k := open(t, store, both(idgen.WithNode(40)))
			keys := make([]int64, 3000)
			if err := k.Fill(t.Context(), keys); err != nil {
				t.Fatal(err)
			}
			if least := slices.Min(keys); least <= last {
				t.Errorf("got the key %d after the restore, and %d before", least, last)
			}
			last = slices.Max(keys)
			if err := k.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestChangeRefused(t *testing.T) {
	narrow, err := idgen.NewLayout(wide.Epoch(), time.Millisecond, idgen.Time.Bits(41), idgen.Node.Bits(9), idgen.Sequence.Bits(13))
	if err != nil {
		t.Fatal(err)
	}
	other, err := idgen.NewLayout(wide.Epoch(), 2*time.Millisecond, idgen.Time.Bits(41), idgen.Node.Bits(10), idgen.Sequence.Bits(12))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		for name, config := range map[string]grant.Config{
			"other numbers":   {Generator: []idgen.Option{narrow}, Before: with()},
			"another unit":    {Generator: []idgen.Option{other}, Before: with()},
			"the same layout": {Generator: with(), Before: with()},
			"one number":      {Generator: []idgen.Option{widePacked, idgen.WithNode(3)}, Before: with()},
		} {
			if _, err := grant.Open(t.Context(), grant.Memory(nil), config); !errors.Is(err, grant.ErrConfig) {
				t.Errorf("%s: got %v, want ErrConfig", name, err)
			}
		}
		store := grant.Memory(nil)
		if _, err := grant.PlanChange(t.Context(), store, "none", widePacked); !errors.Is(err, grant.ErrChange) {
			t.Errorf("no space: got %v, want ErrChange", err)
		}
		if l, err := store.List(t.Context(), "none", 0, 0); err != nil || l.ID != "" {
			t.Errorf("a plan has made the space: %+v, %v", l, err)
		}
		long := strings.Repeat("x", 63)
		for _, space := range []string{grant.DefaultSpace, long} {
			k := open(t, store, grant.Config{Generator: with(), Space: space})
			if err := k.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := grant.PlanChange(t.Context(), store, long, widePacked); !errors.Is(err, grant.ErrChange) {
			t.Errorf("a long name: got %v, want ErrChange", err)
		}
		if _, err := grant.PlanChange(t.Context(), store, grant.DefaultSpace, other); !errors.Is(err, grant.ErrChange) || !errors.Is(err, idgen.ErrLayout) {
			t.Errorf("another unit: got %v, want ErrChange and idgen.ErrLayout", err)
		}
		if _, err := grant.PlanChange(t.Context(), store, grant.DefaultSpace, narrow); !errors.Is(err, grant.ErrChange) || !strings.Contains(err.Error(), "numbers of 10 bits") {
			t.Errorf("other numbers: got %v, want ErrChange", err)
		}
		halves, err := idgen.NewLayout(wide.Epoch(), time.Millisecond, idgen.Time.Bits(41), idgen.Datacenter.Bits(5), idgen.Node.Bits(5), idgen.Sequence.Bits(12))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := grant.PlanChange(t.Context(), store, grant.DefaultSpace, halves); err != nil {
			t.Errorf("the same numbers in two fields: got %v", err)
		}
		forGood := grant.Row{Number: 1000, Holder: "a program", From: grant.Forever, Until: grant.Forever}
		if done, err := store.Swap(t.Context(), grant.DefaultSpace, grant.Row{Number: 1000, Holder: grant.Absent}, forGood); err != nil || !done {
			t.Fatal(done, err)
		}
		change := plan(t, store, widePacked)
		if len(change.Unaware) != 1 || change.Unaware[0] != forGood {
			t.Errorf("got the unaware holders %+v, want the number that is taken for good", change.Unaware)
		}
		// Grants that come after the plan have it made again.
		config := both()
		config.First = 10 * time.Minute
		k := open(t, store, config)
		was := change.At()
		if err := change.Announce(t.Context(), true); err != nil || !change.At().After(was) || change.At().Before(k.State().Until) {
			t.Errorf("got a change at %s, %v, want it after the grant until %s", change.At(), err, k.State().Until)
		}
	})
}
