package measure_test

import (
	"context"
	"encoding/binary"
	"errors"
	"sync/atomic"
	"time"

	"github.com/snowkey-go/snowkey/compare/internal/measure"
	"github.com/snowkey-go/snowkey/compare/strategy"
	"github.com/snowkey-go/snowkey/idgen"
)

// planted is a strategy whose behaviour the test knows.
type planted struct {
	info   strategy.Info
	open   func(at strategy.Environment) (strategy.Keys, error)
	places []strategy.Environment // that were opened
}

func (p *planted) Info() strategy.Info { return p.info }

func (p *planted) Open(_ context.Context, at strategy.Environment) (strategy.Keys, error) {
	p.places = append(p.places, at)
	return p.open(at)
}

// source makes keys that each cost a time, one after the other, at most perTick in a tick of the clock. It never blocks on a mutex, so
// that the time of a synctest bubble goes on.
type source struct {
	strategy.Keys
	cost    time.Duration
	unit    time.Duration
	perTick int
	ahead   time.Duration // keys of ticks to come are there at once
	clock   idgen.Clock   // nil: the bubble's
	lock    chan struct{}
	start   time.Time

	tick, used int64        // guarded by lock
	made       atomic.Int64 // keys
	closed     atomic.Int64
	stallAt    int64         // the key, counted from 1, that takes stall
	stall      time.Duration // 0: none does
	alone      bool          // the stall does not hold up others
	fail       error         // of the stallAt-th key on
}

func newSource(cost time.Duration) *source {
	return &source{cost: cost, lock: make(chan struct{}, 1), start: time.Now()}
}

func (s *source) Generate(ctx context.Context, n int) error {
	if s.alone {
		return s.generateAlone(ctx)
	}
	select {
	case s.lock <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.lock }()
	if s.perTick == 0 && s.stallAt == 0 && s.fail == nil {
		s.made.Add(int64(n))
		return pass(ctx, time.Duration(n)*s.cost)
	}
	wait := time.Duration(0)
	for range n {
		wait += s.cost
		if s.perTick > 0 {
			wait = s.ticked(wait)
		}
		made := s.made.Add(1)
		if s.fail != nil && made >= s.stallAt {
			return s.fail
		}
		if s.stall > 0 && made == s.stallAt {
			wait += s.stall
		}
	}
	return pass(ctx, wait)
}

func (s *source) generateAlone(ctx context.Context) error {
	if s.made.Add(1) == s.stallAt {
		return pass(ctx, s.stall)
	}
	return nil
}

// ticked returns when the next key is there, by the tick and how many it has had.
func (s *source) ticked(wait time.Duration) time.Duration {
	factor := int64(1)
	if s.clock != nil {
		factor = int64(measure.FactorOf(s.clock))
	}
	at := int64(time.Since(s.start)+wait) * factor
	tick := at / int64(s.unit)
	if tick > s.tick {
		s.tick, s.used = tick, 0
	}
	if s.used == int64(s.perTick) {
		s.tick, s.used = s.tick+1, 0
	}
	s.used++
	return wait + time.Duration(max(0, s.tick*int64(s.unit)-at-int64(s.ahead))/factor)
}

func (s *source) Batch(ctx context.Context, n int) error { return s.Generate(ctx, n) }

func (s *source) Close() error { s.closed.Add(1); return nil }

// pass lets time pass.
func pass(ctx context.Context, wait time.Duration) error {
	if wait == 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// numbers is a strategy of int64 keys by a function.
func numbers(info strategy.Info, next func(at strategy.Environment) func() int64) strategy.Strategy {
	info.Name = "planted"
	return strategy.New(info, func(_ context.Context, at strategy.Environment) (idgen.Source[int64], error) {
		return single(next(at)), nil
	})
}

// single is a source of single keys.
type single func() int64

func (s single) Next(ctx context.Context) (int64, error) { return s(), ctx.Err() }

func (s single) Fill(context.Context, []int64) error { return errors.ErrUnsupported }

// place is one without a database.
var place = strategy.Environment{Kind: "sqlite", Prefix: "snowkey_compare_m", Processes: 1}

// byteKeys shows keys as their bytes, numbers where they are eight.
type byteKeys struct{ strategy.Keys }

func (byteKeys) Text(k strategy.Key) string { return string(k) }

func (byteKeys) Number(k strategy.Key) (int64, bool) {
	if len(k) != 8 {
		return 0, false
	}
	return int64(binary.BigEndian.Uint64([]byte(k))), true
}

func number(n int64) strategy.Key {
	return strategy.Key(binary.BigEndian.AppendUint64(nil, uint64(n)))
}
