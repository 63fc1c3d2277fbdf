package measure

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/compare/strategy"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// LatencyOptions says how [Latency] asks for keys.
type LatencyOptions struct {
	Rate   float64       // keys a second, above 0 and at most a million; 0: 1,000
	Calls  int           // 0: as many as five seconds have
	Behind time.Duration // a call that begins so late ends the measurement; 0: 2 s
}

// callers are the goroutines that call.
const callers = 8

func (p LatencyOptions) withDefaults() (LatencyOptions, error) {
	if p.Rate == 0 {
		p.Rate = 1000
	}
	if p.Calls == 0 {
		p.Calls = int(5 * p.Rate)
	}
	if p.Behind == 0 {
		p.Behind = 2 * time.Second
	}
	switch {
	case !(p.Rate > 0 && p.Rate <= 1e6):
		return p, fmt.Errorf("%w: %v keys a second, must be above 0 and at most a million", ErrOption, p.Rate)
	case p.Calls < 1 || p.Behind < 0:
		return p, fmt.Errorf("%w: %d calls, at most %s behind", ErrOption, p.Calls, p.Behind)
	}
	return p, nil
}

// due returns when a call is due, from the start.
func (p LatencyOptions) due(call int) time.Duration {
	return time.Duration(float64(call) / p.Rate * float64(time.Second))
}

// Latency measures how long single keys take when they are asked for at a fixed rate. It returns what it measured; of a source that does not
// make single keys, or cannot hold the rate, the reason. The error is the first that the source returned, the context's, or wraps [ErrOption].
func Latency(ctx context.Context, keys strategy.Keys, pace LatencyOptions) (result.Latency, error) {
	return latencyBy(ctx, keys, pace, sleep)
}

// timer waits for a time, or until the context ends.
type timer func(context.Context, time.Duration) error

// latencyBy is Latency with another timer.
func latencyBy(ctx context.Context, keys strategy.Keys, pace LatencyOptions, sleep timer) (result.Latency, error) {
	pace, err := pace.withDefaults()
	if err != nil {
		return result.Latency{}, err
	}
	// The first keys of each goroutine are not measured: they may open connections.
	if _, err := together(ctx, callers, 2*callers, keys.Generate); errors.Is(err, errors.ErrUnsupported) {
		return result.Latency{Why: databaseMakes}, nil
	} else if err != nil {
		return result.Latency{}, fmt.Errorf("make keys: %w", err)
	}
	l := latency{keys: keys, pace: pace, sleep: sleep, samples: make([]int64, pace.Calls), start: time.Now()}
	group, ctx := errgroup.WithContext(ctx)
	for range callers {
		group.Go(func() error { return l.work(ctx) })
	}
	err = group.Wait()
	took := max(time.Since(l.start), pace.due(pace.Calls)) // the last call's share of the time lasts until the next would be due
	measured := result.Latency{Rate: pace.Rate, Goroutines: callers, Achieved: float64(l.done) / took.Seconds(), Samples: l.samples}
	var late *lateError
	switch {
	case errors.As(err, &late):
		measured.Achieved = float64(l.done) / time.Since(l.start).Seconds()
		measured.Samples = nil
		measured.Why = fmt.Sprintf("%s after %s, having made %.0f a second", late, time.Since(l.start).Round(time.Millisecond), measured.Achieved)
	case err != nil:
		return result.Latency{}, fmt.Errorf("make keys: %w", err)
	}
	return measured, nil
}

// lateError ends a measurement that fell behind.
type lateError struct{ why string }

// Error says who was late.
func (e *lateError) Error() string { return e.why }

// latency is a measurement at work.
type latency struct {
	keys    strategy.Keys
	pace    LatencyOptions
	sleep   timer
	start   time.Time
	samples []int64 // each written by the one that took its index

	mu   sync.Mutex
	next int // the call that nobody has taken
	done int // calls that have ended
}

// take returns the next call, and whether there is one.
func (l *latency) take(ended int) (call int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done += ended
	call = l.next
	if call < len(l.samples) {
		l.next++
		return call, true
	}
	return 0, false
}

// work makes calls until there are no more. Its time free is not the clock's, but when its last call would have ended had each begun when it
// was due or the one before was over: a timer that fires late makes no call longer.
func (l *latency) work(ctx context.Context) error {
	var free time.Duration // since the start
	for ended := 0; ; ended = 1 {
		call, ok := l.take(ended)
		if !ok {
			return nil
		}
		due := l.pace.due(call)
		if free-due > l.pace.Behind {
			return &lateError{fmt.Sprintf("it could not hold %g keys a second: it was %s behind", l.pace.Rate, (free - due).Round(time.Millisecond))}
		}
		if err := l.sleep(ctx, due-time.Since(l.start)); err != nil {
			return err
		}
		began := time.Now()
		if late := began.Sub(l.start) - max(due, free); late > l.pace.Behind {
			return &lateError{fmt.Sprintf("this machine was too busy to ask for %g keys a second: a timer was %s late", l.pace.Rate, late.Round(time.Millisecond))}
		}
		if err := l.keys.Generate(ctx, 1); err != nil {
			return err
		}
		free = max(due, free) + time.Since(began)
		l.samples[call] = int64(free - due)
	}
}

// sleep is the machine's timer.
func sleep(ctx context.Context, wait time.Duration) error {
	if wait <= 0 {
		return ctx.Err()
	}
	return dialect.Sleep(ctx, wait)
}
