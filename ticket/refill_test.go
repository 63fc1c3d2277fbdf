package ticket

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// consume takes so many ids a second for a time, one by one and evenly in each millisecond, or less where calls wait. It returns how
// many, for how long, and the longest wait.
func consume(t *testing.T, buffer *Buffer, rate int, during time.Duration) (taken int, lasted, longest time.Duration) {
	t.Helper()
	start := time.Now()
	for time.Since(start) < during {
		for due := int(time.Since(start).Milliseconds()+1) * rate / 1000; taken < due && time.Since(start) < during; taken++ {
			before := time.Now()
			_, err := buffer.Next(t.Context())
			longest = max(longest, time.Since(before))
			if err != nil {
				return taken, before.Sub(start), longest
			}
		}
		time.Sleep(time.Millisecond)
	}
	return taken, time.Since(start), longest
}

// flows fails the test where a call waits.
func flows(t *testing.T, buffer *Buffer, rate int, during time.Duration) {
	t.Helper()
	if taken, lasted, longest := consume(t, buffer, rate, during); longest > time.Millisecond || lasted < during {
		t.Errorf("%d ids of %d/s in %s of %s, and one waited for %s: %+v", taken, rate, lasted, during, longest, buffer.Stats())
	}
}

// Nobody waits for servers that are 200 ms away, where the rate is known, and where it is not after a while.
func TestAheadOfNeed(t *testing.T) {
	for _, test := range []struct {
		name   string
		config BlockConfig
		before time.Duration
	}{
		{"configured", BlockConfig{Rate: 20_000}, 0},
		{"measured", BlockConfig{}, 5 * time.Second},
		{"short reserve", BlockConfig{Rate: 20_000, Reserve: time.Millisecond}, 5 * time.Second}, // shorter than a refill takes
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				buffer := newTestStock(t, &shop{latency: 200 * time.Millisecond}, test.config)
				mustWarm(t, buffer)
				consume(t, buffer, 20_000, test.before)
				flows(t, buffer, 20_000, 30*time.Second)
				if stats := buffer.Stats(); stats.Rate < 18_000 || stats.Rate > 22_000 || stats.Latency.P50 != 200*time.Millisecond {
					t.Errorf("after 20,000 ids/s at 200 ms: %+v", stats)
				}
			})
		})
	}
}

// In an outage ids flow for the buffer's time; then calls end with their contexts. It makes the rate and the steps no less, and no
// goroutines but the callers'.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rate = 1000
		shop := &shop{latency: 5 * time.Millisecond}
		buffer := newTestStock(t, shop, BlockConfig{})
		flows(t, buffer, rate, 0)
		consume(t, buffer, rate, 60*time.Second)
		before := buffer.Stats()
		shop.closeDown()
		goroutines := runtime.NumGoroutine()
		taken, lasted, longest := consume(t, buffer, rate, time.Minute)
		if want := time.Duration(float64(before.Buffered) / rate * float64(time.Second)); lasted+5*time.Millisecond < want || want < 8*time.Second {
			t.Errorf("ids flowed for %s, want %s: %d of %+v", lasted, want, taken, before)
		}
		if longest != defaultTimeout {
			t.Errorf("a call without a deadline took %s, want %s", longest, defaultTimeout)
		}
		var callers sync.WaitGroup
		for range 100 {
			callers.Go(func() {
				for range 5 {
					ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
					start := time.Now()
					_, err := buffer.Next(ctx)
					cancel()
					if took := time.Since(start); took != 300*time.Millisecond || !errors.Is(err, ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("%v after %s, want one of the deadline", err, took)
					}
				}
			})
		}
		time.Sleep(time.Second)
		// They have called four times each by now. The runtime may have a few of its own.
		if n := runtime.NumGoroutine() - goroutines; n > 100+1+9 {
			t.Errorf("%d more goroutines, want the 100 callers' and one that allocates", n)
		}
		callers.Wait()
		time.Sleep(10 * time.Minute)

		asked := shop.attempts()
		for range 100 {
			callers.Go(func() { mustNext(t, buffer) })
		}
		synctest.Wait()
		shop.open()
		callers.Wait()
		synctest.Wait()
		after := balance(t, buffer, shop)
		if after.Step < before.Step || after.Rate < before.Rate || after.Rate > 2*before.Rate || shop.attempts() < asked {
			t.Errorf("before the outage %+v, after it %+v", before, after)
		}
		flows(t, buffer, rate, time.Minute)
	})
}

// A rate that changes a hundredfold is followed, up in seconds, and down.
func TestRateChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := &shop{latency: 50 * time.Millisecond}
		buffer := newTestStock(t, shop, BlockConfig{})
		mustWarm(t, buffer)
		consume(t, buffer, 200, 5*time.Minute)
		few := buffer.Stats()
		consume(t, buffer, 20_000, 3*time.Second)
		flows(t, buffer, 20_000, 30*time.Second)
		many := buffer.Stats()
		if many.Rate < 18_000 || many.Rate > 22_000 || many.Lasts < 8*time.Second || many.Lasts > 25*time.Second {
			t.Errorf("at 20,000 ids/s: %+v", many)
		}
		for range 2 * 60 * 60 { // until the buffer, which would last for half an hour, is used up, and its size down step by step
			if err := buffer.Fill(t.Context(), make([]int64, 200)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		again := buffer.Stats()
		if again.Waits > many.Waits || again.Rate > 1.2*few.Rate || again.Rate < 180 || again.Step > 2*few.Step || again.Step < few.Step/2 {
			t.Errorf("at 200 ids/s: %+v, and before the rush %+v", again, few)
		}
		last := int64(0)
		for _, asked := range shop.allocations()[1:] {
			if last > 0 && asked > 2*last {
				t.Errorf("%d ids were allocated after %d, want at most twice as many", asked, last)
			}
			last = asked
		}
	})
}

// A lone Fill of many ids has them allocated, and then not many more.
func TestBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := &shop{latency: 5 * time.Millisecond}
		buffer := newTestStock(t, shop, BlockConfig{})
		mustWarm(t, buffer)
		consume(t, buffer, 10, time.Minute)
		before := buffer.Stats().Allocated
		if err := buffer.Fill(t.Context(), make([]int64, 700_000)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if allocated := buffer.Stats().Allocated - before; allocated > 710_000 {
			t.Errorf("%d ids were allocated for 700,000: %v", allocated, shop.allocations())
		}
	})
}

// Fills of more than the buffer ever holds finish, each and all.
func TestHugeFills(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := &shop{latency: 5 * time.Millisecond}
		buffer := newTestStock(t, shop, BlockConfig{MinStep: 10, MaxStep: 1000})
		var fills sync.WaitGroup
		for range 4 {
			fills.Go(func() {
				ids := make([]int64, 50_000)
				if err := buffer.Fill(t.Context(), ids); err != nil {
					t.Error(err)
				}
				var ledger ledger
				ledger.note(t, 0, ids...)
			})
		}
		fills.Wait()
		stats := balance(t, buffer, shop)
		if stats.Issued != 200_000 || stats.Allocated > 200_000+16*1000 {
			t.Errorf("got %+v", stats)
		}
		for _, asked := range shop.allocations() {
			if asked > 1000 {
				t.Errorf("asked for %d, want at most MaxStep, 1000", asked)
			}
		}
	})
}

// A Fill gets its ids although others take them as fast as they are allocated.
func TestFillIsNotStarved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := &shop{latency: time.Millisecond}
		buffer := newTestStock(t, shop, BlockConfig{MinStep: 1, MaxStep: 100})
		ctx, cancel := context.WithCancel(t.Context())
		var callers sync.WaitGroup
		for range 200 {
			callers.Go(func() {
				for ctx.Err() == nil {
					_, _ = buffer.Next(ctx)
				}
			})
		}
		time.Sleep(100 * time.Millisecond)
		start := time.Now()
		if err := buffer.Fill(t.Context(), make([]int64, 10_000)); err != nil {
			t.Error(err)
		}
		// 100 allocations, and those for the calls that were there before.
		if took := time.Since(start); took > 110*time.Millisecond {
			t.Errorf("the Fill took %s, want about 100 allocations of a millisecond", took)
		}
		cancel()
		callers.Wait()
	})
}

// A Fill that waits in vain keeps nobody from the ids that there are, and wastes none.
func TestFillInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := &shop{}
		buffer := newTestStock(t, shop, BlockConfig{})
		mustWarm(t, buffer)
		synctest.Wait()
		shop.closeDown()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		var fills sync.WaitGroup
		fills.Go(func() {
			start := time.Now()
			if err := buffer.Fill(ctx, make([]int64, 5000)); !errors.Is(err, ErrUnavailable) || time.Since(start) != 3*time.Second {
				t.Errorf("got %v after %s, want one after 3s", err, time.Since(start))
			}
		})
		flows(t, buffer, 100, 5*time.Second)
		fills.Wait()
		if stats := buffer.Stats(); stats.Issued != 500 || stats.Buffered < 500 {
			t.Errorf("after 500 ids and a Fill in vain: %+v", stats)
		}
	})
}

// The calls behind a Fill that gives up get the ids it waited for.
func TestFillGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := &shop{latency: time.Second}
		buffer := newTestStock(t, shop, BlockConfig{MaxStep: 1000})
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		var calls sync.WaitGroup
		start := time.Now()
		calls.Go(func() { _ = buffer.Fill(ctx, make([]int64, 5000)) })
		synctest.Wait()
		for range 10 {
			calls.Go(func() {
				if mustNext(t, buffer); time.Since(start) != 2500*time.Millisecond {
					t.Errorf("an id after %s, want it when the Fill before it ended", time.Since(start))
				}
			})
			time.Sleep(200 * time.Millisecond) // the first allocation comes meanwhile
		}
		calls.Wait()
	})
}

// A Fill that was waited for and fails is waited for no more.
func TestFillFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := &shop{latency: time.Second}
		buffer := newTestStock(t, shop, BlockConfig{MaxStep: 1000})
		time.AfterFunc(1500*time.Millisecond, func() { shop.refuse(errMissing) })
		if err := buffer.Fill(t.Context(), make([]int64, 5000)); !errors.Is(err, errMissing) {
			t.Errorf("got %v, want that the row is missing", err)
		}
		start := time.Now()
		if err := buffer.Fill(t.Context(), make([]int64, 1000)); err != nil || time.Since(start) > 0 {
			t.Errorf("got %v after %s, want the ids of the first allocation", err, time.Since(start))
		}
	})
}

// Steps double when a call has to wait.
func TestStepDoubles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := &shop{latency: time.Millisecond}
		buffer := newTestStock(t, shop, BlockConfig{MinStep: 1000})
		mustWarm(t, buffer)
		time.Sleep(10 * time.Second)
		if err := buffer.Fill(t.Context(), make([]int64, 1500)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		time.Sleep(time.Second)
		// The first, what is missing and as much again as then still is below what 150 ids/s ask for.
		if want := []int64{1000, 1000, 2000}; !slices.Equal(shop.allocations(), want) {
			t.Errorf("asked for %d, want %d: %+v", shop.allocations(), want, buffer.Stats())
		}
	})
}

var errMissing = errors.New("the row is missing")

// An error that waiting does not mend reaches those who wait, at once, and each later call asks again.
func TestPermanentError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := &shop{latency: time.Millisecond, err: errMissing}
		buffer := newTestStock(t, shop, BlockConfig{})
		var callers sync.WaitGroup
		for range 50 {
			callers.Go(func() {
				if _, err := buffer.Next(t.Context()); !errors.Is(err, errMissing) {
					t.Errorf("got %v, want that the row is missing", err)
				}
			})
		}
		callers.Wait()
		if n := shop.attempts(); n != 1 {
			t.Errorf("%d attempts for calls at the same time, want 1", n)
		}
		for range 20 {
			start := time.Now()
			if err := buffer.Warm(t.Context()); !errors.Is(err, errMissing) || time.Since(start) != time.Millisecond {
				t.Errorf("got %v after %s, want that the row is missing", err, time.Since(start))
			}
		}
		ended, end := context.WithCancel(t.Context())
		end()
		if _, err := buffer.Next(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want Canceled", err)
		}
		synctest.Wait()
		if n := shop.attempts(); n != 1+20 {
			t.Errorf("%d attempts of calls one after the other, want one each, and none of one that has ended", n)
		}
		if stats := buffer.Stats(); stats.Failures != 21 || !errors.Is(stats.Err, errMissing) {
			t.Errorf("got %+v", stats)
		}
		shop.refuse(nil)
		mustNext(t, buffer)
		if stats := buffer.Stats(); stats.Failures != 0 || stats.Err != nil {
			t.Errorf("got %+v", stats)
		}
	})
}

// While there are ids the refill fails without anybody noticing, and does not try all the time.
func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := &shop{}
		buffer := newTestStock(t, shop, BlockConfig{MinStep: 100_000})
		mustWarm(t, buffer)
		consume(t, buffer, 1000, 80*time.Second)
		before := shop.attempts()
		shop.refuse(errMissing)
		then := buffer.Stats()
		taken, lasted, longest := consume(t, buffer, 1000, time.Hour)
		if int64(taken) != then.Buffered || longest != 0 {
			t.Errorf("%d ids of %d in the buffer, and a call waited for %s", taken, then.Buffered, longest)
		}
		// 0.1, 0.2, … 3.2, and from then on 5 s, and up to a fifth more.
		refilling := lasted - 6300*time.Millisecond
		if n := shop.attempts() - before; n < int(refilling/(6*time.Second))/2 || n > int(refilling/(5*time.Second))+9 {
			t.Errorf("%d attempts in %s", n, lasted)
		}
		time.Sleep(time.Hour)
		shop.refuse(nil)
		mustNext(t, buffer)
		synctest.Wait()
		if now := buffer.Stats(); now.Rate < then.Rate || now.Step < then.Step {
			t.Errorf("before allocations failed %+v, after it %+v", then, now)
		}
	})
}

// A call without a deadline waits for the configuration's Timeout; where that is negative, for as long as it takes.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bounded := newTestStock(t, &shop{latency: time.Hour}, BlockConfig{Config: Config{Timeout: time.Minute}})
		start := time.Now()
		if err := bounded.Fill(t.Context(), make([]int64, 3)); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("got %v after %s, want the deadline's after a minute", err, time.Since(start))
		}
		_ = bounded.Close()
		unbounded := newTestStock(t, &shop{latency: time.Hour}, BlockConfig{Config: Config{Timeout: -1}})
		start = time.Now()
		if mustNext(t, unbounded); time.Since(start) != time.Hour {
			t.Errorf("an id after %s, want an hour", time.Since(start))
		}
	})
}

// A buffer that is full allocates nothing, and Close ends the one goroutine that it has then: a bubble must not end with one.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config, err := BlockConfig{}.complete(1)
		if err != nil {
			t.Fatal(err)
		}
		buffer := newBuffer(config, &shop{latency: time.Millisecond})
		mustWarm(t, buffer)
		synctest.Wait()
		if stats := buffer.Stats(); stats.Refilling {
			t.Errorf("a buffer that is full: %+v", stats)
		}
		_ = buffer.Close()
	})
}
