package idgen_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// call is a call of Fill that another goroutine makes.
type call struct {
	ids  []int64
	err  error
	done bool
}

// begin has calls made, one after the other, that are in the queue in this order when it returns, unless they have returned themselves. They are
// of n ids each. It must be called in a bubble, whose time stands still meanwhile.
func begin(ctx context.Context, calls, n int, fill func(context.Context, []int64) error) []*call {
	all := make([]*call, calls)
	for i := range all {
		c := &call{ids: make([]int64, n)}
		all[i] = c
		go func() {
			c.err = fill(ctx, c.ids)
			c.done = true
		}()
		synctest.Wait()
	}
	return all
}

// look lets the head of a line look at the clock, which it does ten times a second at least.
func look() {
	time.Sleep(200 * time.Millisecond)
	synctest.Wait()
}

// requireServed fails unless the calls have returned ids, all of which are one more than the one before, in the order of the calls, and
// returns the first.
func requireServed(t *testing.T, calls []*call) int64 {
	t.Helper()
	var ids []int64
	for i, c := range calls {
		if !c.done || c.err != nil {
			t.Fatalf("call %d of %d: got returned %v, %v, want ids", i, len(calls), c.done, c.err)
		}
		ids = append(ids, c.ids...)
	}
	for i, id := range ids {
		if id != ids[0]+int64(i) {
			t.Fatalf("got the ids %v, want each one more than the one before", ids)
		}
	}
	return ids[0]
}

// requireInLine fails if one of the calls has returned.
func requireInLine(t *testing.T, calls []*call) {
	t.Helper()
	for i, c := range calls {
		if c.done {
			t.Fatalf("call %d of %d has returned %v, %v, want it in the queue", i, len(calls), c.ids, c.err)
		}
	}
}

// requireFailed fails unless the calls have returned an error.
func requireFailed(t *testing.T, calls []*call, want error) {
	t.Helper()
	for i, c := range calls {
		if !c.done || !errors.Is(c.err, want) {
			t.Fatalf("call %d of %d: got returned %v, %v, want %v", i, len(calls), c.done, c.err, want)
		}
	}
}

// requireNoLine fails if calls are in the queue, or were not counted.
func requireNoLine(t *testing.T, g *idgen.Snowflake, issued int64) {
	t.Helper()
	if n := idgen.Lines(g); n != 0 {
		t.Errorf("%d sequencers have a line when no calls wait", n)
	}
	if n := g.Stats().Issued; n != issued {
		t.Errorf("counts %d ids, want %d", n, issued)
	}
}

// sixteen has 16 ids a tick, and fields for nothing else.
func sixteen(t testing.TB) idgen.Layout {
	t.Helper()
	layout, err := idgen.NewLayout(noon, time.Millisecond, idgen.Time.Bits(40), idgen.Sequence.Bits(4))
	if err != nil {
		t.Fatal(err)
	}
	return layout
}

// usedUp returns a generator of sixteen ids a tick, those of the present one used up, and its clock.
func usedUp(t testing.TB, options ...idgen.Option) (*idgen.Snowflake, *fakeClock) {
	t.Helper()
	clock := newFakeClock(noon.Add(time.Hour))
	g := newGenerator(t, append([]idgen.Option{sixteen(t), idgen.WithClock(clock)}, options...)...)
	if err := g.Fill(t.Context(), make([]int64, 16)); err != nil {
		t.Fatal(err)
	}
	return g, clock
}

// Calls get ids in the order they came, as many in each tick as it has.
func TestLineIsServedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, clock := usedUp(t)
		calls := begin(t.Context(), 40, 1, g.Fill)
		for _, served := range [][]*call{calls[:16], calls[16:32], calls[32:]} {
			look()
			requireInLine(t, served)
			clock.pass(time.Millisecond)
			look()
			if first := requireServed(t, served); first&15 != 0 {
				t.Errorf("a tick after a used up one begins at sequence %d", first&15)
			}
		}
		requireNoLine(t, g, 16+40)
	})
}

// Calls that come when the tick has come, before the head of the line has woken, get what the line leaves, in whichever way they came.
// The clock is the machine's, which has shorter ways: the head sleeps for ten of its ticks.
func TestLateCallDoesNotOvertake(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel() // what would wait fails
	for _, way := range []string{"Next", "Fill", "NextFor", "FillFor"} {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				layout, err := idgen.NewLayout(time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), 5*time.Microsecond,
					idgen.Time.Bits(49), idgen.Shard.Bits(2), idgen.Sequence.Bits(2))
				if err != nil {
					t.Fatal(err)
				}
				shards := idgen.WithShards()
				if way == "Next" || way == "Fill" {
					shards = idgen.WithShard(2)
				}
				g := newGenerator(t, layout, shards)
				fill := func(ctx context.Context, ids []int64) error {
					var err error
					switch way {
					case "Next":
						ids[0], err = g.Next(ctx)
					case "Fill":
						err = g.Fill(ctx, ids)
					case "NextFor":
						ids[0], err = g.NextFor(ctx, 2)
					case "FillFor":
						err = g.FillFor(ctx, 2, ids)
					}
					return err
				}
				for range 4 {
					if err := fill(ended, make([]int64, 1)); err != nil {
						break // the first tick has begun above its sequence 0
					}
				}
				calls, before := begin(t.Context(), 6, 1, fill), g.Stats().Issued
				requireInLine(t, calls)
				time.Sleep(20 * time.Microsecond)
				late := make([]int64, 1)
				if err := fill(ended, late); !errors.Is(err, context.Canceled) {
					t.Errorf("a tick has room for four of the six in the queue, got %d, %v for a late call", late, err)
				}
				synctest.Wait()
				requireServed(t, calls[:4])
				requireInLine(t, calls[4:])
				time.Sleep(10 * time.Microsecond)
				if err := fill(ended, late); err != nil {
					t.Errorf("a tick has room for four, two are in the queue: got %v for a late call", err)
				}
				synctest.Wait()
				requireServed(t, append(calls[4:], &call{ids: late, done: true}))
				time.Sleep(time.Millisecond)
				requireNoLine(t, g, before+7)
			})
		})
	}
}

// Calls that leave the line before the tick comes, its head too, take nothing with them.
func TestCancelBeforeTheHandOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, clock := usedUp(t)
		ctx, cancel := context.WithCancel(t.Context())
		var stay, leave []*call
		for i := range 20 {
			if i%5 == 0 {
				leave = append(leave, begin(ctx, 1, 1, g.Fill)...)
			} else {
				stay = append(stay, begin(t.Context(), 1, 1, g.Fill)...)
			}
		}
		cancel()
		look()
		requireFailed(t, leave, context.Canceled)
		requireInLine(t, stay)
		clock.pass(time.Millisecond)
		look()
		if first := requireServed(t, stay); first&15 != 0 {
			t.Errorf("got the sequences from %d on, want all 16", first&15)
		}
		requireNoLine(t, g, 32)
	})
}

// cancelled is a context that does something when it is asked why it has ended.
type cancelled struct {
	context.Context
	done  chan struct{}
	asked func()
}

func (c cancelled) Done() <-chan struct{} { return c.done }

func (c cancelled) Err() error {
	select {
	case <-c.done:
		c.asked()
		return context.Canceled
	default:
		return nil
	}
}

// A call whose context ends while it is handed an id returns it, made with the number that it was taken under: of the tick's ids none is lost.
func TestCancelAfterTheHandOver(t *testing.T) {
	for _, position := range []int{0, 2} { // the head, and one behind it
		synctest.Test(t, func(t *testing.T) {
			clock := newFakeClock(noon.Add(100 * time.Millisecond))
			g := newGenerator(t, narrow(t), idgen.WithGrants(), idgen.WithClock(clock))
			setGrant(t, g, 5, 50, 1000, clock.Wall())
			if err := g.Fill(t.Context(), make([]int64, 32)); err != nil {
				t.Fatal(err)
			}
			var last int64
			var once sync.Once
			ctx := cancelled{t.Context(), make(chan struct{}), func() {
				once.Do(func() { // the call was woken by its context, and is still in the queue
					clock.pass(time.Millisecond)
					last = next(t, g)
					setGrant(t, g, 2, 50, 1000, clock.Wall())
				})
			}}
			var calls []*call
			for i := range 4 {
				if i == position {
					calls = append(calls, begin(ctx, 1, 1, g.Fill)...)
				} else {
					calls = append(calls, begin(t.Context(), 1, 1, g.Fill)...)
				}
			}
			close(ctx.done)
			synctest.Wait()
			calls = append(calls, &call{ids: []int64{last}, done: true})
			if first := requireServed(t, calls); first&31 != 0 || first>>5&7 != 5 {
				t.Errorf("got the first sequence %d of the number %d, want 0 of 5", first&31, first>>5&7)
			}
			requireNoLine(t, g, 32+5)
		})
	}
}

// What ends or changes the grant ends or changes it for calls in the queue.
func TestGrantChangesForCallsInLine(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(t *testing.T, g *idgen.Snowflake, now time.Time)
		number int64 // of the ids that the calls get; 0: none
	}{
		{"Suspend", func(_ *testing.T, g *idgen.Snowflake, _ time.Time) { g.Suspend() }, 0},
		{"Seal", func(t *testing.T, g *idgen.Snowflake, _ time.Time) {
			if end := g.Seal(); end != 101 {
				t.Errorf("sealed at tick %d, want 101", end)
			}
		}, 0},
		{"another number", func(t *testing.T, g *idgen.Snowflake, now time.Time) { setGrant(t, g, 2, 50, 1000, now) }, 2},
		{"the same for longer", func(t *testing.T, g *idgen.Snowflake, now time.Time) { setGrant(t, g, 5, 50, 2000, now) }, 5},
		{"ends", func(t *testing.T, g *idgen.Snowflake, now time.Time) { setGrant(t, g, 5, 50, 101, now) }, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := newFakeClock(noon.Add(100 * time.Millisecond))
				g := newGenerator(t, narrow(t), idgen.WithGrants(), idgen.WithClock(clock))
				setGrant(t, g, 5, 50, 1000, clock.Wall())
				if err := g.Fill(t.Context(), make([]int64, 32)); err != nil {
					t.Fatal(err)
				}
				calls := begin(t.Context(), 20, 1, g.Fill)
				tt.change(t, g, clock.Wall())
				look()
				if tt.number == 0 {
					requireFailed(t, calls, idgen.ErrGrant)
					requireNoLine(t, g, 32)
					return
				}
				requireInLine(t, calls)
				clock.pass(time.Millisecond)
				look()
				if first := requireServed(t, calls); first>>5 != 101<<3|tt.number {
					t.Errorf("got tick %d and number %d, want 101 and %d", first>>8, first>>5&7, tt.number)
				}
				requireNoLine(t, g, 32+20)
			})
		})
	}
}

// Calls that wait for the end of a grant, since nothing is borrowed beyond it, go on when it is granted for longer.
func TestLineAtTheEndOfAGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := newFakeClock(noon.Add(100 * time.Millisecond))
		g := newGenerator(t, narrow(t), idgen.WithGrants(), idgen.WithClock(clock), idgen.BorrowFull(50))
		setGrant(t, g, 5, 100, 110, clock.Wall())
		if err := g.Fill(t.Context(), make([]int64, 32*10)); err != nil {
			t.Fatal(err)
		}
		calls := begin(t.Context(), 70, 1, g.Fill) // of three ticks
		look()
		requireInLine(t, calls)
		setGrant(t, g, 5, 100, 200, clock.Wall())
		look()
		for i, chunk := range [][]*call{calls[:32], calls[32:64], calls[64:]} {
			if first := requireServed(t, chunk); first>>8 != 110+int64(i) {
				t.Errorf("got tick %d, want %d", first>>8, 110+i)
			}
		}
		requireNoLine(t, g, 32*10+70)
	})
}

// A tick is divided among calls of which some want more than it has: who wants little is not held up, and nothing of the tick is left.
func TestFillInLine(t *testing.T) {
	for _, tt := range []struct {
		wanted []int   // by each call in the queue
		ticks  [][]int // how many ids each has of the ticks that come
	}{
		{[]int{40, 1, 1, 1}, [][]int{{13, 1, 1, 1}, {16, 0, 0, 0}, {11, 0, 0, 0}}},
		{[]int{40, 40, 1}, [][]int{{10, 5, 1}, {8, 8, 0}, {8, 8, 0}, {8, 8, 0}, {6, 10, 0}, {0, 1, 0}}},
		{[]int{3, 5, 8}, [][]int{{3, 5, 8}}},
		{[]int{3, 5, 7}, [][]int{{3, 5, 7}}},
		{[]int{3, 5, 9}, [][]int{{3, 5, 8}, {0, 0, 1}}},
	} {
		t.Run(fmt.Sprint(tt.wanted), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, clock := usedUp(t)
				var calls []*call
				issued := int64(16)
				for _, n := range tt.wanted {
					calls = append(calls, begin(t.Context(), 1, n, g.Fill)...)
					issued += int64(n)
				}
				for range tt.ticks {
					clock.pass(time.Millisecond)
					look()
				}
				seen := map[int64]bool{}
				for i, c := range calls {
					if !c.done || c.err != nil || !slices.IsSorted(c.ids) {
						t.Fatalf("call %d: got returned %v, %v, %v", i, c.done, c.err, c.ids)
					}
					got := make([]int, len(tt.ticks))
					for j, id := range c.ids {
						if j > 0 && id>>4 == c.ids[j-1]>>4 && id != c.ids[j-1]+1 {
							t.Errorf("call %d: got %d after %d, want one run of a tick", i, id, c.ids[j-1])
						}
						got[id>>4-int64(time.Hour/time.Millisecond)-1]++
						seen[id] = true
					}
					for tick := range tt.ticks {
						if got[tick] != tt.ticks[tick][i] {
							t.Fatalf("call %d: got %v ids of the ticks, want those of %v", i, got, tt.ticks)
						}
					}
				}
				if int64(len(seen)) != issued-16 {
					t.Errorf("got %d different ids, want %d", len(seen), issued-16)
				}
				requireNoLine(t, g, issued)
			})
		})
	}
}

// A Fill that a tick has not room for goes to the end of the line with the rest.
func TestFillTakesTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, clock := usedUp(t)
		fill := begin(t.Context(), 1, 3, g.Fill)
		calls := begin(t.Context(), 31, 1, g.Fill)
		clock.pass(time.Millisecond)
		look()
		requireServed(t, calls[:15])
		requireInLine(t, append(fill, calls[15:]...))
		clock.pass(time.Millisecond)
		look()
		requireServed(t, calls[15:])
		requireInLine(t, fill)
		clock.pass(time.Millisecond)
		look()
		if c := fill[0]; !c.done || c.ids[1]&15 != 0 || c.ids[2] != c.ids[1]+1 {
			t.Errorf("got %+v", c)
		}
		requireNoLine(t, g, 16+3+31)
	})
}

// Each sequencer has a line of its own, and none takes more memory for it.
func TestLinesOfLanes(t *testing.T) {
	if idgen.LaneSize != 64 {
		t.Errorf("a sequencer takes %d bytes, want 64", idgen.LaneSize)
	}
	synctest.Test(t, func(t *testing.T) {
		clock := newFakeClock(noon.Add(time.Hour))
		g := newGenerator(t, sharded(t), idgen.WithNode(1), idgen.WithShards(), idgen.WithClock(clock))
		of := func(shard int64) func(context.Context, []int64) error {
			return func(ctx context.Context, ids []int64) error { return g.FillFor(ctx, shard, ids) }
		}
		for shard := range int64(2) {
			if err := of(shard)(t.Context(), make([]int64, 32)); err != nil {
				t.Fatal(err)
			}
		}
		first, second := begin(t.Context(), 32, 1, of(0)), begin(t.Context(), 40, 1, of(1))
		if n := idgen.Lines(g); n != 2 {
			t.Errorf("got %d lines, want 2", n)
		}
		nextFor(t, g, 2) // is in no line
		clock.pass(time.Millisecond)
		look()
		for shard, calls := range [][]*call{first, second[:32]} {
			for i, c := range calls {
				if !c.done || c.err != nil || c.ids[0]&3 != int64(shard) || c.ids[0]>>2&31 != int64(i) {
					t.Fatalf("shard %d, call %d: got %+v", shard, i, c)
				}
			}
		}
		requireInLine(t, second[32:])
		clock.pass(time.Millisecond)
		look()
		requireNoLine(t, g, 64+72+1)
	})
}

// hookedClock does something when it is read, if it is told what.
type hookedClock struct {
	*fakeClock
	hook func()
}

func (c *hookedClock) Elapsed() time.Duration {
	if hook := c.hook; hook != nil {
		c.hook = nil
		hook()
	}
	return c.fakeClock.Elapsed()
}

// Calls that join the line while a call that has seen none opens the tick are served after it, out of the same tick.
func TestJoiningWhileATickIsOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := &hookedClock{fakeClock: newFakeClock(noon.Add(time.Hour))}
		g := newGenerator(t, sixteen(t), idgen.WithClock(clock))
		if err := g.Fill(t.Context(), make([]int64, 16)); err != nil {
			t.Fatal(err)
		}
		var calls []*call
		clock.hook = func() { // the call has looked for a line
			calls = begin(t.Context(), 4, 1, g.Fill)
			requireInLine(t, calls)
			clock.pass(time.Millisecond)
		}
		opener := &call{ids: []int64{next(t, g)}, done: true}
		synctest.Wait()
		requireServed(t, append([]*call{opener}, calls...))
		requireNoLine(t, g, 16+5)
	})
}

// A call that began after the number had changed gets no id of the one before, from a call that serves the line and began earlier either.
func TestGrantChangesWhileTheLineIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := &hookedClock{fakeClock: newFakeClock(noon.Add(100 * time.Millisecond))}
		g := newGenerator(t, narrow(t), idgen.WithGrants(), idgen.WithClock(clock))
		setGrant(t, g, 5, 50, 1000, clock.Wall())
		if err := g.Fill(t.Context(), make([]int64, 32)); err != nil {
			t.Fatal(err)
		}
		calls := begin(t.Context(), 1, 1, g.Fill)
		var after []*call
		clock.hook = func() { // the call has seen the liveGrant
			setGrant(t, g, 2, 50, 1000, clock.Wall())
			after = begin(t.Context(), 1, 1, g.Fill)
			requireInLine(t, after)
			clock.pass(time.Millisecond)
		}
		server := &call{ids: []int64{next(t, g)}, done: true}
		synctest.Wait()
		if first := requireServed(t, []*call{calls[0], server, after[0]}); first>>5 != 101<<3|2 {
			t.Errorf("got tick %d and number %d, want 101 and 2", first>>8, first>>5&7)
		}
	})
}

// A tick that begins at random begins low enough for all in the queue.
func TestLineStartsAsLowAsItNeedsTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		greatest := func() uint64 { return 1<<64 - 1 }
		g, clock := usedUp(t, idgen.StartRandom(8), idgen.WithRandom(greatest))
		calls := begin(t.Context(), 14, 1, g.Fill)
		clock.pass(2 * time.Millisecond) // the tick is not the one after that which was used up
		look()
		if first := requireServed(t, calls); first&15 != 2 {
			t.Errorf("got the sequences from %d on, want 2 to 15", first&15)
		}
		requireNoLine(t, g, 16+14)
	})
}

// Calls that are left in the queue when the last tick of the layout is used up get the error, without another call.
func TestLineAtTheLastTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		layout, err := idgen.NewLayout(noon, time.Second, idgen.Time.Bits(2), idgen.Sequence.Bits(4))
		if err != nil {
			t.Fatal(err)
		}
		clock := newFakeClock(noon.Add(2 * time.Second))
		g := newGenerator(t, layout, idgen.WithClock(clock))
		if err := g.Fill(t.Context(), make([]int64, 16)); err != nil {
			t.Fatal(err)
		}
		calls := begin(t.Context(), 20, 1, g.Fill)
		clock.pass(time.Second)
		look()
		requireServed(t, calls[:16])
		requireFailed(t, calls[16:], idgen.ErrExhausted)
		requireNoLine(t, g, 32)
	})
}

// Under RefuseFull calls wait for the first tick of a grant, and are refused what it has no room for.
func TestLineUnderRefuseFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := newFakeClock(noon.Add(100 * time.Millisecond))
		g := newGenerator(t, narrow(t), idgen.WithGrants(), idgen.WithClock(clock), idgen.RefuseFull(), idgen.StartZero())
		setGrant(t, g, 5, 101, 200, clock.Wall())
		calls := begin(t.Context(), 40, 1, g.Fill)
		requireInLine(t, calls)
		clock.pass(time.Millisecond)
		look()
		requireServed(t, calls[:32])
		requireFailed(t, calls[32:], idgen.ErrFull)
		requireNoLine(t, g, 32)
	})
}

// A clock that steps back while calls are in the queue: they wait for it as long as the policy says, each by itself, or are refused.
func TestClockStepsBackForCallsInLine(t *testing.T) {
	for _, tt := range []struct {
		name   string
		policy idgen.Option
		pass   time.Duration // after the step back by 20 s, each second, for a minute
		want   error
	}{
		{"waits", idgen.WaitBack(30 * time.Second), time.Second, nil},
		{"gives up", idgen.WaitBack(30 * time.Second), 0, idgen.ErrClockBack},
		{"beyond the bound", idgen.WaitBack(10 * time.Second), time.Second, idgen.ErrClockBack},
		{"refused", idgen.RefuseBack(), time.Second, idgen.ErrClockBack},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, clock := usedUp(t, tt.policy)
				calls := begin(t.Context(), 8, 1, g.Fill)
				clock.step(-20 * time.Second)
				for i := range 60 {
					time.Sleep(time.Second)
					clock.pass(tt.pass)
					if i == 10 && tt.name == "gives up" {
						calls = append(calls, begin(t.Context(), 8, 1, g.Fill)...)
					}
					if i == 35 && tt.name == "gives up" {
						synctest.Wait()
						requireFailed(t, calls[:8], tt.want)
						requireInLine(t, calls[8:])
					}
				}
				synctest.Wait()
				if tt.want == nil {
					requireServed(t, calls)
					requireNoLine(t, g, 16+8)
					return
				}
				requireFailed(t, calls, tt.want)
				requireNoLine(t, g, 16)
			})
		})
	}
}

// A function that is warned of the layout's end may make ids: no lock is held meanwhile.
func TestWarningFromTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const year = 365 * 24 * time.Hour
		layout, err := idgen.NewLayout(noon, time.Second, idgen.Time.Bits(32), idgen.Sequence.Bits(4))
		if err != nil {
			t.Fatal(err)
		}
		clock := newFakeClock(layout.ExhaustsAt().Add(-year - time.Second))
		var g *idgen.Snowflake
		warned := make([]int64, 1)
		g = newGenerator(t, layout, idgen.WithClock(clock), idgen.WithExhaustion(func(time.Time) { warned[0] = next(t, g) }))
		if err := g.Fill(t.Context(), make([]int64, 16)); err != nil {
			t.Fatal(err)
		}
		calls := begin(t.Context(), 4, 1, g.Fill)
		clock.pass(time.Second)
		look()
		requireServed(t, calls)
		if warned[0] != calls[3].ids[0]+1 {
			t.Errorf("got the id %d when warned, those in the queue %d to %d", warned[0], calls[0].ids[0], calls[3].ids[0])
		}
		requireNoLine(t, g, 16+4+1)
	})
}

// Calls that come, wait and give up at random, on one sequence and on sequencers: what calls return is all that was taken, each id once, and
// those of a tick carry on by one. Each goroutine's own increase.
func TestNothingIsLostInLine(t *testing.T) {
	const goroutines, each = 16, 60
	for name, options := range map[string][]idgen.Option{
		"one":      nil,
		"borrowed": {idgen.BorrowFull(2)},
		"followed": {idgen.WaitBack(time.Second)},
		"random":   {idgen.StartRandom(3)},
	} {
		for _, sequencers := range []int64{1, 2} {
			t.Run(fmt.Sprintf("%s/sequencers=%d", name, sequencers), func(t *testing.T) {
				layout, err := idgen.NewLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), 250*time.Microsecond, idgen.Time.Bits(45), idgen.Shard.Bits(2), idgen.Sequence.Bits(2))
				if err != nil {
					t.Fatal(err)
				}
				g := newGenerator(t, append(options, layout, idgen.WithShards())...)
				made := make([][]int64, goroutines)
				var wg sync.WaitGroup
				for i := range goroutines {
					wg.Go(func() {
						r := rand.New(rand.NewPCG(uint64(i), 13))
						last := map[int64]int64{}
						for len(made[i]) < each {
							ctx, cancel := context.WithCancel(t.Context())
							timer := time.AfterFunc(time.Duration(r.Int64N(int64(4*time.Millisecond))), cancel)
							shard := r.Int64N(sequencers)
							id, err := g.NextFor(ctx, shard)
							timer.Stop()
							cancel()
							if err != nil {
								if !errors.Is(err, context.Canceled) {
									t.Error(err)
									return
								}
								continue
							}
							if id <= last[shard] {
								t.Errorf("shard %d: got %d after %d", shard, id, last[shard])
							}
							last[shard] = id
							made[i] = append(made[i], id)
						}
					})
				}
				wg.Wait()
				requireNoLine(t, g, goroutines*each)
				ids := slices.Concat(made...)
				slices.Sort(ids)
				for i := 1; i < len(ids); i++ {
					if ids[i]>>2 == ids[i-1]>>2 && ids[i] != ids[i-1]+1 { // of one tick and shard
						t.Errorf("%d is followed by %d: one came twice, or was lost between them", ids[i-1], ids[i])
					}
				}
			})
		}
	}
}
