package grant_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
)

// backup is a store in a file, of which copies can be made and put back.
type backup struct {
	grant.Store
	t    *testing.T
	path string
}

func newBackup(t *testing.T) *backup {
	path := filepath.Join(t.TempDir(), "nodes.json")
	return &backup{grant.File(path), t, path}
}

func (b *backup) take() []byte {
	b.t.Helper()
	text, err := os.ReadFile(b.path)
	if err != nil {
		b.t.Fatal(err)
	}
	return text
}

func (b *backup) restore(text []byte) {
	b.t.Helper()
	if err := os.WriteFile(b.path, text, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// fill returns n ids of a keeper.
func fill(t *testing.T, k *grant.Keeper, n int) []int64 {
	t.Helper()
	ids := make([]int64, n)
	if err := k.Fill(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
	return ids
}

// twice returns the ids that are in both.
func twice(a, b []int64) (both []int64) {
	seen := map[int64]bool{}
	for _, id := range a {
		seen[id] = true
	}
	for _, id := range b {
		if seen[id] {
			both = append(both, id)
		}
	}
	return both
}

// When all processes have ended, the table can be put back as it was at any time before, whatever their clocks have said, and whatever they
// have borrowed: no id comes again.
func TestRestoreAfterAllHaveEnded(t *testing.T) {
	for name, tt := range map[string]struct {
		off     time.Duration // of the clock of the first process
		killed  bool
		pause   time.Duration // before the next process
		options []idgen.Option
		n       int
	}{
		"right clock":                             {n: 200},
		"clock 8 s ahead":                         {off: 8 * time.Second, n: 200},
		"clock 100 s ahead, killed":               {off: 100 * time.Second, killed: true, pause: 61 * time.Second, n: 200},
		"clock 4 minutes ahead, killed":           {off: 4 * time.Minute, killed: true, pause: time.Minute + time.Second, n: 200},
		"clock 4 minutes behind":                  {off: -4 * time.Minute, n: 200},
		"all of the ticks that can be borrowed":   {options: []idgen.Option{idgen.BorrowFull(50)}, n: 64 * 51},
		"the same, killed":                        {options: []idgen.Option{idgen.BorrowFull(50)}, n: 64 * 51, killed: true},
		"a tick that is used when another starts": {n: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Hour) // the layout begins where the bubble does
				store := newBackup(t)
				options := append([]idgen.Option{small(t), idgen.WithNode(3)}, tt.options...)
				if _, err := store.Prepare(t.Context(), grant.DefaultSpace, small(t).Fingerprint()); err != nil {
					t.Fatal(err)
				}
				copies := [][]byte{store.take()}
				for range 2 { // processes; the copies are of a space without the row, and of one with a row that is old
					down := &flaky{Store: store}
					k := open(t, down, grant.Config{Generator: slices.Concat(options, []idgen.Option{idgen.WithClock(&steppedClock{by: tt.off})})})
					made := fill(t, k, tt.n)
					time.Sleep(300 * time.Millisecond)
					made = append(made, fill(t, k, tt.n)...)
					if tt.killed {
						down.set(errDown, false, 0) // nobody hears of it again
					} else if err := k.Close(); err != nil {
						t.Fatal(err)
					}
					time.Sleep(tt.pause)
					now := store.take()
					for i, text := range copies {
						store.restore(text)
						another := open(t, store, grant.Config{Generator: options})
						if both := twice(made, fill(t, another, 2*tt.n)); len(both) > 0 {
							t.Errorf("copy %d: %d ids come twice, among them %v; %v", i, len(both), timeOf(t, small(t), both[0]), time.Now())
						}
						if err := another.Close(); err != nil {
							t.Fatal(err)
						}
						time.Sleep(time.Second) // what this one has made is of no concern
					}
					store.restore(now)
					time.Sleep(time.Hour)
					copies = append(copies, store.take())
				}
			})
		})
	}
}

// A number whose row is gone while others were kept is held until no grant that it may have had is left.
func TestRowsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newBackup(t)
		config := grant.Config{
			Generator: []idgen.Option{small(t), idgen.WithNode(3)}, Every: 5 * time.Minute, First: (10 * time.Minute), Logger: slog.New(slog.DiscardHandler),
		}
		k := open(t, store, config)
		other := open(t, store, grant.Config{Generator: []idgen.Option{small(t), idgen.WithNode(4)}})
		text := string(store.take())
		at := strings.Index(text, `"Number": 3`)
		from, to := strings.LastIndex(text[:at], "{"), at+strings.Index(text[at:], "}")+1
		store.restore([]byte(text[:from] + strings.TrimLeft(text[to:], ",")))
		var taken *grant.TakenError
		if _, err := grant.Open(t.Context(), store, config); !errors.As(err, &taken) || taken.NextFree < 9*time.Minute || !strings.HasSuffix(err.Error(), " unless it is renewed") {
			t.Fatalf("got %v, want that the number is taken for the ten minutes that it may be granted for, unless it is renewed", err)
		}
		fill(t, k, 10)
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(6 * time.Minute)
		if s := k.State(); s.Lost != 1 || len(s.Losses) != 1 {
			t.Errorf("got the state %+v, want that the number is lost", s)
		}
		time.Sleep(10 * time.Minute)
		if parts := next(t, k); parts.Node != 3 {
			t.Errorf("got the number %d, want 3 again", parts.Node)
		}
	})
}

// losing has a keeper make ids with the number 3 while its store is restored from before it had that, and another one have it.
func losing(t *testing.T, config grant.Config) (store *backup, k *grant.Keeper, mine, others []int64) {
	t.Helper()
	store = newBackup(t)
	config.Generator = []idgen.Option{small(t), idgen.WithNode(3), idgen.StartZero()}
	if _, err := store.Prepare(t.Context(), grant.DefaultSpace, small(t).Fingerprint()); err != nil {
		t.Fatal(err)
	}
	before := store.take()
	k = open(t, store, config)
	fill(t, k, 10)
	time.Sleep(5 * time.Minute)
	store.restore(before)
	another := open(t, store, grant.Config{Generator: config.Generator})
	for range 60 * 100 {
		id, err := k.Next(t.Context())
		if err != nil {
			break // it has noticed
		}
		mine, others = append(mine, id), append(others, fill(t, another, 1)...)
		time.Sleep(10 * time.Millisecond)
	}
	return store, k, mine, others
}

// A keeper whose grant the store has forgotten says so, with a range that has all ids that came twice, and the store keeps that.
func TestLossIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var told []grant.State
		var lines bytes.Buffer
		store, k, mine, others := losing(t, grant.Config{
			Logger: slog.New(slog.NewTextHandler(&lines, nil)), Wait: time.Millisecond,
			Notify: func(s grant.State) {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, s)
			},
		})
		both := twice(mine, others)
		if len(both) == 0 {
			t.Fatal("no id came twice, so nothing is shown")
		}
		s := k.State()
		if len(s.Losses) != 1 || s.Lost != 1 || s.Losses[0].Number != 3 || s.Held {
			t.Fatalf("got the state %+v, want one loss", s)
		}
		loss := s.Losses[0]
		for _, id := range both {
			parts, err := small(t).Decode(id)
			if err != nil || parts.Node != loss.Number || parts.Time.Before(loss.From) || !parts.Time.Before(loss.Until) {
				t.Fatalf("%d of number %d and %s came twice, and in doubt are those of number %d from %s until %s", id, parts.Node, parts.Time, loss.Number, loss.From, loss.Until)
			}
		}
		if length := loss.Until.Sub(loss.From); length > 40*time.Second {
			t.Errorf("%s are in doubt, want no more than the time since the last renewal", length)
		}
		if !strings.Contains(lines.String(), "number=3") || !strings.Contains(lines.String(), "WARN") || !strings.Contains(lines.String(), `command="snowkey nodes doubt --store URL --dialect DIALECT"`) {
			t.Errorf("got the log %q, want a line about number 3, and the command", lines.String())
		}
		mu.Lock()
		if !slices.ContainsFunc(told, func(s grant.State) bool { return len(s.Losses) == 1 }) {
			t.Error("Notify was not told")
		}
		mu.Unlock()
		// The number is another's, until its process ends; then this one goes on, and tells the store.
		time.Sleep(time.Hour)
		if _, err := k.Next(t.Context()); !errors.Is(err, grant.ErrTaken) {
			t.Errorf("got %v, want that the only number is taken", err)
		}
		if losses, err := store.Losses(t.Context(), grant.DefaultSpace); err != nil || len(losses) != 1 || losses[0] != loss.Loss {
			t.Errorf("the store has the losses %+v, %v, want %+v", losses, err, loss.Loss)
		}
	})
}

// A keeper that is to stop when it has lost its number makes no more ids.
func TestStopOnLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, k, _, _ := losing(t, grant.Config{StopOnLoss: true, Logger: slog.New(slog.DiscardHandler)})
		for range 3 {
			if id, err := k.Next(t.Context()); !errors.Is(err, grant.ErrLost) || !errors.Is(err, grant.ErrEnded) {
				t.Errorf("got %d, %v, want ErrLost", id, err)
			}
			time.Sleep(time.Hour)
		}
		if s := k.State(); s.Held || s.Acquired != 1 {
			t.Errorf("got the state %+v, want no other number", s)
		}
	})
}

// Of two processes with one memory the second finds out when it renews first, whatever the first has done meanwhile, and none of the ids that
// it makes from then on are the other's.
func TestClones(t *testing.T) {
	for name, layout := range map[string]idgen.Layout{"ticks of 1 ms": wide, "ticks of 1 s": coarse(t)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				clone := make(chan struct{})
				var first, second *grant.Keeper
				config := grant.Config{Generator: []idgen.Option{layout, idgen.StartZero()}, Logger: slog.New(slog.DiscardHandler), Notify: func(grant.State) {
					mu.Lock()
					defer mu.Unlock()
					select {
					case <-clone:
						if second == nil {
							var err error
							if second, err = grant.Clone(t.Context(), first, nil); err != nil {
								t.Error(err)
							}
						}
					default:
					}
				}}
				store := grant.Memory(nil)
				k := open(t, store, config)
				mu.Lock()
				first = k
				mu.Unlock()
				time.Sleep(time.Minute)
				close(clone)
				for range 60 {
					time.Sleep(time.Second)
					mu.Lock()
					made := second != nil
					mu.Unlock()
					if made {
						break
					}
				}
				defer second.Close()
				ids := map[int64]int64{} // with the number
				for range 2 * 60 * 10 {
					for _, k := range []*grant.Keeper{first, second} {
						id, err := k.Next(t.Context())
						if err != nil {
							t.Fatal(err)
						}
						lost := first.State().Losses
						lost = append(lost[:len(lost):len(lost)], second.State().Losses...)
						parts, _ := layout.Decode(id)
						if _, again := ids[id]; again && len(lost) > 0 && !slices.ContainsFunc(lost, func(d grant.Doubt) bool {
							return d.Number == parts.Node && !parts.Time.Before(d.From) && parts.Time.Before(d.Until)
						}) {
							t.Fatalf("%d of %s came twice, in doubt are %+v", id, parts.Time, lost)
						}
						ids[id] = parts.Node
					}
					time.Sleep(100 * time.Millisecond)
				}
				a, b := first.State(), second.State()
				if len(a.Losses)+len(b.Losses) != 1 || a.Number == b.Number || a.Err != nil || b.Err != nil {
					t.Errorf("got %+v and %+v, want that one of them has lost the number, and both have one", a, b)
				}
				if len(slices.Collect(maps.Keys(ids))) == 2*2*60*10 {
					t.Error("no id came twice, so nothing is shown")
				}
			})
		})
	}
}

// coarse has ticks of a second.
func coarse(t testing.TB) idgen.Layout {
	t.Helper()
	layout, err := idgen.NewLayout(time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC), time.Second, idgen.Time.Bits(34), idgen.Node.Bits(10), idgen.Sequence.Bits(16))
	if err != nil {
		t.Fatal(err)
	}
	return layout
}

// A space that was made anew, or another one in its place, is noticed at the next renewal.
func TestAnotherSpace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newBackup(t)
		k := open(t, store, grant.Config{Generator: with(), Logger: slog.New(slog.DiscardHandler)})
		id := k.State().ID
		if id == "" {
			t.Error("the space has no identity")
		}
		fill(t, k, 10)
		store.restore([]byte(`{}`))
		time.Sleep(2 * time.Second)
		fill(t, k, 10)
		if s := k.State(); len(s.Losses) != 1 || s.ID == id || s.ID == "" || s.Err != nil || s.Acquired != 2 {
			t.Errorf("got the state %+v, want a loss, and another space than %s", s, id)
		}
	})
}

// A process that dies young holds its number for seconds: a thousand that crash at their start, thirty a second, do not use up a thousand numbers.
func TestCrashLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := grant.Memory(nil)
		var group sync.WaitGroup
		defer group.Wait()
		for i := range 1500 {
			crashed := &flaky{Store: store}
			k, err := grant.Open(t.Context(), crashed, grant.Config{Generator: with(), Wait: time.Nanosecond})
			if err != nil {
				t.Fatalf("start %d: %v", i, err)
			}
			crashed.set(errDown, false, 0)
			group.Go(func() { _ = k.Close() }) // which gives nothing back
			time.Sleep(30 * time.Millisecond)
		}
		listing, err := store.List(t.Context(), grant.DefaultSpace, 0, 1023)
		if err != nil || len(listing.Rows) > 500 {
			t.Errorf("%d numbers were used, %v, want those of ten seconds", len(listing.Rows), err)
		}
	})
}

// What is granted grows with the time that a process has its number, up to For, and how often it is renewed becomes less. The last renewal was
// up to a fifth of that before, more or less by chance.
func TestGrantsGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFlaky()
		k := open(t, store, grant.Config{Generator: with()})
		for _, tt := range []struct {
			age, least, most time.Duration
			calls            int
		}{
			{0, 10 * time.Second, 11 * time.Second, 3}, {10 * time.Second, 8 * time.Second, 11 * time.Second, 15},
			{time.Minute, 45 * time.Second, time.Minute, 40}, {10 * time.Minute, 7 * time.Minute, 10 * time.Minute, 75},
			{time.Hour, 8 * time.Minute, 10 * time.Minute, 150},
		} {
			time.Sleep(time.Until(start2000.Add(tt.age)))
			left := time.Until(k.State().Until)
			store.mu.Lock()
			calls := store.calls
			store.mu.Unlock()
			if left < tt.least || left > tt.most || calls > tt.calls {
				t.Errorf("after %s: granted for %s more, want %s to %s; asked %d times, want %d at most", tt.age, left, tt.least, tt.most, calls, tt.calls)
			}
		}
	})
}

// start2000 is when a bubble begins.
var start2000 = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// The error of numbers that are all taken tells those of processes that have died from those of processes that live.
func TestTakenByTheDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := grant.Memory(nil)
		config := grant.Config{Generator: []idgen.Option{small(t)}}
		var dead []*flaky
		for range 16 {
			f := &flaky{Store: store}
			dead = append(dead, f)
			open(t, f, config)
		}
		for _, want := range []int64{0, 5} {
			time.Sleep(time.Hour)
			for _, f := range dead[:want] {
				f.set(errDown, false, 0)
			}
			time.Sleep(4 * time.Minute)
			var taken *grant.TakenError
			if _, err := grant.Open(t.Context(), store, config); !errors.As(err, &taken) || taken.Held != 16 || taken.Silent != want {
				t.Errorf("got %v, want 16 taken, %d of them by the dead", err, want)
			}
		}
	})
}

// What is held is not held any more when the grant has ended, also when nobody has asked the store since.
func TestHeldUntilTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFlaky()
		k := open(t, store, grant.Config{Generator: with()})
		if !k.State().Held {
			t.Error("not held at the start")
		}
		store.set(errDown, false, 0)
		time.Sleep(time.Until(k.State().Until) - time.Millisecond)
		if !k.State().Held {
			t.Error("not held just before the end")
		}
		time.Sleep(time.Millisecond)
		if s := k.State(); s.Held {
			t.Errorf("got %+v after its end", s)
		}
	})
}

// starved is a store whose renewals wait for what calls for keys have.
type starved struct {
	grant.Store
	mu   sync.Mutex
	wait chan struct{} // nil: it waits for nothing
}

func (s *starved) List(ctx context.Context, space string, least, most int64) (grant.Listing, error) {
	s.mu.Lock()
	wait := s.wait
	s.mu.Unlock()
	if wait != nil {
		select {
		case <-wait:
		case <-ctx.Done():
			return grant.Listing{}, ctx.Err()
		}
	}
	return s.Store.List(ctx, space, least, most)
}

func (s *starved) Starved() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wait != nil
}

// A call does not wait for a renewal that waits for the connection which the call holds.
func TestStarved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &starved{Store: grant.Memory(nil)}
		k := open(t, store, grant.Config{Generator: with(), For: 10 * time.Second, Every: 5 * time.Second, Timeout: time.Hour})
		next(t, k)
		wait := make(chan struct{})
		store.mu.Lock()
		store.wait = wait
		store.mu.Unlock()
		time.Sleep(time.Minute) // a renewal waits, and the grant has ended
		began := time.Now()
		if id, err := k.Next(t.Context()); !errors.Is(err, grant.ErrEnded) || time.Since(began) > 10*time.Millisecond {
			t.Errorf("got %d, %v after %s, want ErrEnded at once", id, err, time.Since(began))
		}
		store.mu.Lock()
		store.wait = nil
		store.mu.Unlock()
		close(wait)
		synctest.Wait()
		next(t, k)
	})
}

// Grants of a day and of a year are renewed as seldom as those of minutes, in proportion.
func TestLongGrantsAreRenewedSeldom(t *testing.T) {
	for _, length := range []time.Duration{24 * time.Hour, 365 * 24 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			store := newFlaky()
			open(t, store, grant.Config{Generator: with(), For: length})
			time.Sleep(length / 2)
			store.mu.Lock()
			calls := store.calls
			store.mu.Unlock()
			if calls > 300 {
				t.Errorf("For %s: asked the store %d times in half of that, want 300 at most", length, calls)
			}
		})
	}
}
