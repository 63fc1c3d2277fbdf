package ticket

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// shop is a allocator with units of 10 ids of which every other one is its own.
type shop struct {
	latency time.Duration
	deaf    bool // it goes on when the context ends
	chance  func() (time.Duration, error)

	mu        sync.Mutex // All that follows is locked by mu.
	down      chan struct{}
	err       error
	next      int64
	allocated int64
	asked     []int64 // how many, allocation by allocation, those that failed included
	underway  int
	most      int   // allocations at the same time
	looks     int   // how often it was looked at
	back      error // of looks
}

const shopUnit, shopJump = 10, 20

// closeDown makes allocations hang, until the shop is opened.
func (s *shop) closeDown() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = make(chan struct{})
}

func (s *shop) open() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.down)
	s.down = nil
}

// refuse makes allocations fail at once, or no more.
func (s *shop) refuse(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// allocations returns how many ids were asked for each time.
func (s *shop) allocations() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

func (s *shop) attempts() int { return len(s.allocations()) }

func (s *shop) allocate(ctx context.Context, count int64) (allocation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, count)
	s.underway++
	defer func() { s.underway-- }()
	s.most = max(s.most, s.underway)
	latency, err := s.latency, error(nil)
	if s.chance != nil {
		latency, err = s.chance()
	}
	down := s.down
	s.mu.Unlock()
	if s.deaf {
		ctx = context.WithoutCancel(ctx)
	}
	if latency > 0 {
		select {
		case <-time.After(latency):
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if down != nil {
		select {
		case <-down:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	s.mu.Lock()
	if s.err != nil {
		err = s.err
	}
	if err != nil {
		return allocation{}, err
	}
	allocated := span{first: s.next + 1, unit: shopUnit, jump: shopJump, units: (count + shopUnit - 1) / shopUnit}
	s.next += allocated.units * shopJump
	s.allocated += allocated.count()
	return allocation{span: allocated, took: latency, troubled: down != nil}, nil
}

func (s *shop) recheck(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	return s.back
}

func (s *shop) stats() []ServerStats { return nil }

func (s *shop) close() {}

func (s *shop) unavailable(ended error) error { return &UnavailableError{Ended: ended} }

// newTestStock returns a buffer, of which it checks at the test's end that the books are in order.
func newTestStock(t testing.TB, shop *shop, config BlockConfig) *Buffer {
	t.Helper()
	config, err := config.complete(1)
	if err != nil {
		t.Fatal(err)
	}
	buffer := newBuffer(config, shop)
	t.Cleanup(func() {
		_ = buffer.Close()
		balance(t, buffer, shop)
		if shop.most > 1 {
			t.Errorf("%d allocations at the same time, want one", shop.most)
		}
	})
	return buffer
}

// balance checks that the buffer has what the shop allocated, but for what was given out and discarded.
func balance(t testing.TB, buffer *Buffer, shop *shop) BlockStats {
	t.Helper()
	stats := buffer.Stats()
	shop.mu.Lock()
	defer shop.mu.Unlock()
	if stats.Allocated != shop.allocated || stats.Buffered+stats.Issued+stats.Discarded != shop.allocated || stats.Buffered < 0 || stats.Issued < 0 || stats.Discarded < 0 {
		t.Errorf("the shop allocated %d, and the buffer's books are %+v", shop.allocated, stats)
	}
	return stats
}

// ledger has the ids that callers got.
type ledger struct {
	mu    sync.Mutex
	ids   map[int64]bool // locked by mu
	given atomic.Int64
}

// note takes ids of one goroutine, of which last was the one before, and returns the last of them.
func (l *ledger) note(t testing.TB, last int64, ids ...int64) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		if l.ids == nil {
			l.ids = make(map[int64]bool)
		}
		if l.ids[id] {
			t.Errorf("id %d twice", id)
		}
		if id <= last || (id-1)%shopJump >= shopUnit {
			t.Errorf("id %d after %d, want greater ones of the shop", id, last)
		}
		l.ids[id] = true
		last = id
	}
	l.given.Add(int64(len(ids)))
	return last
}

func mustNext(t testing.TB, buffer *Buffer) int64 {
	t.Helper()
	id, err := buffer.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func mustWarm(t testing.TB, buffer *Buffer) {
	t.Helper()
	if err := buffer.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// No id is given out twice and none gets lost, with calls of all kinds, contexts that end, allocations that are slow and that fail, and
// a Close in between.
func TestEveryIDOnce(t *testing.T) {
	for _, config := range []BlockConfig{
		{MinStep: 1, MaxStep: 7, Reserve: time.Millisecond},
		{MinStep: 100, MaxStep: 5000, Reserve: 100 * time.Millisecond},
		{Rate: 100_000, Reserve: time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			shop := &shop{chance: func() (time.Duration, error) {
				if rand.N(10) == 0 {
					return 0, errors.New("no luck")
				}
				return rand.N[time.Duration](30) * time.Millisecond, nil // so that it often comes when a context ends
			}}
			buffer := newTestStock(t, shop, config)
			var ledger ledger
			var callers sync.WaitGroup
			for range 32 {
				callers.Go(func() { call(t, buffer, &ledger) })
			}
			for range 100 {
				time.Sleep(10 * time.Millisecond)
				synctest.Wait()
				if stats := balance(t, buffer, shop); stats.Issued != ledger.given.Load() || stats.Discarded != 0 {
					t.Fatalf("%d ids were given out, and the buffer's books are %+v", ledger.given.Load(), stats)
				}
			}
			_ = buffer.Close()
			callers.Wait()
			stats := balance(t, buffer, shop)
			if stats.Issued != ledger.given.Load() || stats.Buffered != 0 {
				t.Errorf("%d ids were given out, and the books after Close are %+v", ledger.given.Load(), stats)
			}
			if stats.Issued < 300 || stats.Waits == 0 {
				t.Errorf("%+v is no test of anything", stats)
			}
		})
	}
}

// call calls the buffer in any way, until it is closed.
func call(t *testing.T, buffer *Buffer, ledger *ledger) {
	var last int64
	ids := make([]int64, 300)
	for {
		ctx, cancel := context.WithTimeout(t.Context(), rand.N[time.Duration](60)*time.Millisecond)
		taken := ids[:1+rand.N(len(ids))]
		var err error
		switch rand.N(20) {
		case 0:
			cancel()
			fallthrough
		case 1, 2, 3:
			err = buffer.Fill(ctx, taken)
		case 4:
			taken, err = nil, buffer.Warm(ctx)
		default:
			taken = ids[:1]
			taken[0], err = buffer.Next(ctx)
		}
		cancel()
		switch {
		case err == nil:
			last = ledger.note(t, last, taken...)
		case errors.Is(err, ErrClosed):
			return
		}
		time.Sleep(rand.N[time.Duration](3) * time.Millisecond)
	}
}

// The same by the wall clock, with nothing but the scheduler between the calls: a million ids.
func TestMillion(t *testing.T) {
	const goroutines, each = 32, 1_000_000 / 32
	shop := &shop{}
	buffer := newTestStock(t, shop, BlockConfig{MinStep: 500, MaxStep: 20_000, Reserve: time.Millisecond})
	got := make([][]int64, goroutines)
	var callers sync.WaitGroup
	for i := range got {
		callers.Go(func() {
			ids := make([]int64, each)
			for n := 0; n < each; {
				next := ids[n:min(n+1+i%3*40, each)] // ones, and Fills of 41 and 81
				var err error
				if len(next) == 1 {
					next[0], err = buffer.Next(t.Context())
				} else {
					err = buffer.Fill(t.Context(), next)
				}
				if err != nil {
					t.Error(err)
					return
				}
				n += len(next)
			}
			got[i] = ids
		})
	}
	callers.Wait()
	_ = buffer.Close()
	seen := make([]bool, shop.next+1)
	for _, ids := range got {
		last := int64(0)
		for _, id := range ids {
			if seen[id] || id <= last || (id-1)%shopJump >= shopUnit {
				t.Fatalf("id %d after %d, a second time: %t", id, last, seen[id])
			}
			seen[id], last = true, id
		}
	}
	if stats := buffer.Stats(); stats.Issued != goroutines*each {
		t.Errorf("gave out %d ids, and the books are %+v", goroutines*each, stats)
	}
}

// Whatever Close comes in between of, an id is given out or discarded.
func TestCloseRace(t *testing.T) {
	for range 20 {
		shop := &shop{}
		buffer := newTestStock(t, shop, BlockConfig{MinStep: 10, MaxStep: 100, Reserve: time.Millisecond})
		var ledger ledger
		var callers sync.WaitGroup
		enough := make(chan struct{}, 1)
		for i := range 8 {
			callers.Go(func() {
				var last int64
				for ids := make([]int64, 1+i%4*30); ; {
					if err := buffer.Fill(t.Context(), ids); err != nil {
						if !errors.Is(err, ErrClosed) {
							t.Errorf("got %v, want ErrClosed", err)
						}
						return
					}
					if last = ledger.note(t, last, ids...); last > 2000 {
						select {
						case enough <- struct{}{}:
						default:
						}
					}
				}
			})
		}
		<-enough
		_ = buffer.Close()
		callers.Wait()
		if stats := balance(t, buffer, shop); stats.Issued != ledger.given.Load() || stats.Buffered != 0 {
			t.Errorf("%d ids were given out, and the books are %+v", ledger.given.Load(), stats)
		}
	}
}

// A caller that would not have to wait gets its ids, whatever its context.
func TestCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := &shop{latency: time.Second}
		buffer := newTestStock(t, shop, BlockConfig{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := buffer.Next(ctx); !errors.Is(err, ErrUnavailable) || !errors.Is(err, context.Canceled) {
			t.Errorf("empty: got %v, want ErrUnavailable and Canceled", err)
		}
		mustWarm(t, buffer)
		if _, err := buffer.Next(ctx); err != nil {
			t.Errorf("warm: got %v", err)
		}
		if err := buffer.Fill(ctx, make([]int64, 100)); err != nil {
			t.Errorf("warm: got %v", err)
		}
	})
}

// A call whose context ends just when it is served has its ids.
func TestServedAtTheEnd(t *testing.T) {
	buffer := newTestStock(t, &shop{}, BlockConfig{})
	mustWarm(t, buffer)
	buffer.mu.Lock()
	w := &waiter{keys: make([]int64, 1), count: 1, done: make(chan struct{})}
	place := buffer.waiting.PushBack(w)
	buffer.serve()
	buffer.mu.Unlock()
	if buffer.withdraw(&buffer.waiting, place) || w.keys[0] == 0 {
		t.Errorf("got %d for a call that was served", w.keys)
	}
}

// The last id that there is has no id after it.
func TestLastID(t *testing.T) {
	buffer := newTestStock(t, &shop{err: ErrExhausted}, BlockConfig{})
	last := span{first: 1<<63 - 10, unit: 10, jump: 20, units: 1}
	buffer.spans, buffer.left = []span{last}, last.count()
	buffer.allocated = last.count()
	ids := make([]int64, 9)
	if err := buffer.Fill(t.Context(), ids); err != nil || ids[8] != 1<<63-2 {
		t.Errorf("got %d, %v", ids, err)
	}
	if id := mustNext(t, buffer); id != 1<<63-1 {
		t.Errorf("got %d, want 2^63-1", id)
	}
	if _, err := buffer.Next(t.Context()); !errors.Is(err, ErrExhausted) {
		t.Errorf("got %v, want ErrExhausted", err)
	}
	buffer.allocated = 0 // of the shop
	buffer.Close()
}

// Close ends every call that waits, and what is allocated nevertheless is discarded.
func TestClose(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			shop := &shop{latency: time.Second, deaf: deaf}
			buffer := newTestStock(t, shop, BlockConfig{})
			var callers sync.WaitGroup
			for _, call := range []func() error{
				func() error { _, err := buffer.Next(t.Context()); return err },
				func() error { return buffer.Fill(t.Context(), make([]int64, 5000)) },
				func() error { return buffer.Warm(t.Context()) },
			} {
				callers.Go(func() {
					if err := call(); !errors.Is(err, ErrClosed) {
						t.Errorf("got %v, want ErrClosed", err)
					}
					if err := call(); !errors.Is(err, ErrClosed) {
						t.Errorf("after Close: got %v, want ErrClosed", err)
					}
				})
			}
			synctest.Wait()
			start := time.Now()
			for range 2 {
				callers.Go(func() { _ = buffer.Close() })
			}
			callers.Wait()
			stats := balance(t, buffer, shop)
			if took := time.Since(start); !deaf && took > 0 || deaf && (took > time.Second || stats.Discarded == 0) {
				t.Errorf("Close took %s, %+v", took, stats)
			}
			if stats.Refilling || stats.Buffered != 0 || stats.Issued != 0 {
				t.Errorf("after Close: %+v", stats)
			}
		})
	}
}

// Close burns what is in the buffer.
func TestCloseBurns(t *testing.T) {
	shop := &shop{}
	buffer := newTestStock(t, shop, BlockConfig{})
	mustWarm(t, buffer)
	mustNext(t, buffer)
	for range 2 {
		if err := buffer.Close(); err != nil {
			t.Error(err)
		}
	}
	if stats := balance(t, buffer, shop); stats.Issued != 1 || stats.Discarded != shop.allocated-1 || stats.Discarded < 999 {
		t.Errorf("got %+v", stats)
	}
}

// Warm is there when the rate that is expected lasts for Reserve, or with MinStep; it takes nothing, and keeps nobody waiting.
func TestWarm(t *testing.T) {
	for _, test := range []struct {
		rate, step, want int64
	}{{0, 1000, 1000}, {50, 1000, 1000}, {3000, 1000, 30_000}, {10_000_000, 1000, 15_000_000}} {
		synctest.Test(t, func(t *testing.T) {
			buffer := newTestStock(t, &shop{latency: time.Millisecond}, BlockConfig{Config: Config{Timeout: time.Minute}, Rate: test.rate, MinStep: test.step})
			mustWarm(t, buffer)
			synctest.Wait()
			if stats := buffer.Stats(); stats.Buffered < test.want || stats.Buffered > test.want+defaultMaxStep || stats.Issued != 0 || stats.Waits != 0 {
				t.Errorf("%+v: %+v", test, stats)
			}
			mustWarm(t, buffer) // at once
		})
	}
}
