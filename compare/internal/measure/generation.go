package measure

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/compare/strategy"
	"github.com/snowkey-go/snowkey/idgen"
)

const (
	sampleTime = 20 * time.Millisecond // of a sample, about
	warmTime   = 2 * time.Millisecond  // of the longest warm-up
	mostWarm   = 1 << 26               // calls of it
	floorReads = 50_000
	longTick   = 200 * time.Millisecond // of fewer than fewKeys: one sample of one goroutine stands for all
	fewKeys    = 100_000
	fewTicks   = 5 // of a sample, unless one takes longer than sampleTime

	longestCall = 2 * time.Second // for many keys at once

	// What a fast clock makes of the layout's limit, in keys a second. More would make the source look at the clock's other reading all the
	// time, which costs more than making a key.
	fastSingle = 2e8
	fastBatch  = 1e10
)

// batches are the keys a call that [Generation] asks for.
var batches = [...]int{10, 100, 1000}

// Generation takes one sample of each figure of a strategy's speed and adds it to those before. The keys of a fast clock get prefixes of
// their own, as what they leave in the database lies in the future: the place's, an underline and up to five more characters, to be
// dropped with it. The place's clock must be nil.
func Generation(ctx context.Context, s strategy.Strategy, at strategy.Environment, to *result.Generation) error {
	round := generation{info: s.Info(), strategy: s, at: at, number: len(to.Floor.Samples)}
	round.to = result.Generation{
		Limit: round.info.Limit, Capped: copySpeeds(to.Capped), Uncapped: copySpeeds(to.Uncapped), Batch: copySpeeds(to.Batch), Floor: to.Floor,
	}
	if err := round.run(ctx); err != nil {
		return fmt.Errorf("%s: make keys: %w", round.info.Name, err)
	}
	*to = round.to
	return nil
}

// generation is one round.
type generation struct {
	info     strategy.Info
	strategy strategy.Strategy
	at       strategy.Environment
	number   int
	to       result.Generation
}

func (g *generation) run(ctx context.Context) error {
	g.to.Floor.Samples = append(slices.Clip(g.to.Floor.Samples), floor())
	slow := g.info.Limit > 0
	err := g.with(ctx, g.at, func(keys strategy.Keys) error {
		if err := keys.Generate(ctx, 1); errors.Is(err, errors.ErrUnsupported) {
			g.missing(&g.to.Capped, levels(), nil, databaseMakes)
			g.missing(&g.to.Uncapped, levels(), nil, databaseMakes)
			g.missing(&g.to.Batch, nil, batches[:], databaseMakes)
			slow = false
			return nil
		} else if err != nil {
			return err
		}
		if err := g.singles(ctx, keys, &g.to.Capped, g.info.Limit*g.info.Unit.Seconds(), 0); err != nil || slow {
			return err
		}
		// Nothing limits the keys: the same samples stand for both.
		g.to.Uncapped = copySpeeds(g.to.Capped)
		return g.calls(ctx, keys, "")
	})
	if err != nil || !slow {
		return err
	}
	return g.fast(ctx)
}

// fast has what is made with a fast clock.
func (g *generation) fast(ctx context.Context) error {
	if !g.info.Clock {
		g.missing(&g.to.Uncapped, levels(), nil, fixedClock)
		return g.with(ctx, g.at, func(keys strategy.Keys) error { return g.calls(ctx, keys, "the layout's limit counts: "+fixedClock) })
	}
	err := g.withFast(ctx, "u", fastSingle, func(keys strategy.Keys) error { return g.singles(ctx, keys, &g.to.Uncapped, 0, fastSingle) })
	if errors.Is(err, idgen.ErrExhausted) {
		g.missing(&g.to.Uncapped, levels(), nil, pastTheEnd)
	}
	if err == nil {
		err = g.withFast(ctx, "b", fastBatch, func(keys strategy.Keys) error { return g.calls(ctx, keys, fastClockNote) })
	}
	if errors.Is(err, idgen.ErrExhausted) { // the clock for batches is the faster one
		g.missing(&g.to.Batch, nil, batches[:], pastTheEnd)
		return nil
	}
	return err
}

func (g *generation) withFast(ctx context.Context, mark string, target float64, do func(strategy.Keys) error) error {
	at := g.at
	at.Prefix = fmt.Sprintf("%s_%s%d", at.Prefix, mark, g.number)
	at.Clock = newFastClock(g.info.Limit, target)
	return g.with(ctx, at, do)
}

// with opens keys for as long as do lasts.
func (g *generation) with(ctx context.Context, at strategy.Environment, do func(strategy.Keys) error) (err error) {
	keys, err := g.strategy.Open(ctx, at)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, keys.Close()) }()
	return do(keys)
}

// singles samples keys made by single calls for each number of goroutines. A tick has perTick keys, 0: no matter. A sample of more than half
// of most keys a second is not kept, 0: no matter.
func (g *generation) singles(ctx context.Context, keys strategy.Keys, to *[]result.Speed, perTick, most float64) error {
	long, reckoned := perTick > 0 && g.info.Unit > longTick, false
	if long && perTick >= fewKeys { // a whole tick takes seconds to fill
		long, reckoned, perTick = false, true, 0
	}
	if long && len(*to) > 0 {
		return nil
	}
	n, err := g.count(ctx, keys.Generate, perTick, 4*slices.Max(levels()))
	if err != nil {
		return err
	}
	for _, goroutines := range levels() {
		if long && goroutines > 1 {
			g.missing(to, []int{goroutines}, nil, fmt.Sprintf("with ticks of %s a sample takes seconds, and the layout's limit is the same as of one goroutine", g.info.Unit))
			continue
		}
		took, err := together(ctx, goroutines, n, keys.Generate)
		if err != nil {
			return err
		}
		each := float64(took.Nanoseconds()) / float64(n)
		if most > 0 && each*most < 2e9 {
			g.missing(to, []int{goroutines}, nil, "the keys came so fast that the layout's limit could have counted in spite of the fast clock")
			continue
		}
		figure := &speed(to, goroutines, 1).Time
		if reckoned {
			each = max(each, 1e9/g.info.Limit)
			figure.Note = fmt.Sprintf("the code's time or the layout's limit, whichever is more: whole ticks of %s take seconds to fill", g.info.Unit)
		}
		figure.Add(each)
		if most > 0 {
			figure.Note = fastClockNote + ", which is slower to read than the machine's: at the most this"
		}
		if long {
			figure.Note = fmt.Sprintf("of the first round alone, as a sample is of whole ticks of %s", g.info.Unit)
		}
	}
	return nil
}

// calls samples keys made many in one call.
func (g *generation) calls(ctx context.Context, keys strategy.Keys, note string) error {
	for i, size := range batches {
		call := func(ctx context.Context, n int) error {
			for range n {
				if err := keys.Batch(ctx, size); err != nil {
					return err
				}
			}
			return nil
		}
		n, err := g.count(ctx, call, 0, 1)
		if errors.Is(err, errors.ErrUnsupported) {
			g.missing(&g.to.Batch, nil, []int{size}, singleOnly)
			continue
		}
		if err != nil {
			return err
		}
		took, err := together(ctx, 1, n, call)
		if err != nil {
			return err
		}
		figure := &speed(&g.to.Batch, 1, size).Time
		figure.Add(float64(took.Nanoseconds()) / float64(n*size))
		figure.Note = note
		if each := took / time.Duration(n); each > longestCall/10 {
			g.missing(&g.to.Batch, nil, batches[i+1:], fmt.Sprintf("it would take too long: %d keys took %s", size, each.Round(time.Millisecond)))
			return nil
		}
	}
	return nil
}

// count warms the source up, and returns how many calls make a sample: as many as last for sampleTime, or where a tick's keys are used up
// before it ends, those of whole ticks, the tick it leaves being used up; at the least so many.
func (g *generation) count(ctx context.Context, call func(context.Context, int) error, perTick float64, least int) (int, error) {
	cost, made := math.Inf(1), 0.0
	for n := 1; ; n *= 2 {
		start := time.Now()
		if err := call(ctx, n); err != nil {
			return 0, err
		}
		took := max(time.Since(start), 1)
		cost = min(cost, float64(took)/float64(n)) // of the fastest, as slower ones waited for a tick
		if made += float64(n); took >= warmTime || perTick > 0 && made > perTick || n >= mostWarm {
			break
		}
	}
	if perTick < 1 || perTick*cost >= float64(g.info.Unit) {
		return max(int(float64(sampleTime)/cost), least), nil
	}
	ticks := 1
	if g.info.Unit <= sampleTime {
		ticks = max(fewTicks, int(sampleTime/g.info.Unit)) // the first is cut short when the machine pauses before it
	}
	// Keys of ticks to come are used up too, and those that become due meanwhile.
	due := perTick * cost / float64(g.info.Unit)
	ahead := perTick * float64(g.info.Ahead) / float64(g.info.Unit) * min(2, 1.02/(1-due))
	return max(int(perTick)*ticks, least), call(ctx, int(perTick+ahead))
}

// together makes n calls from several goroutines that begin at once, and returns how long it took until the last had ended.
func together(ctx context.Context, goroutines, n int, call func(context.Context, int) error) (time.Duration, error) {
	group, ctx := errgroup.WithContext(ctx)
	begin := make(chan struct{})
	for i := range goroutines {
		part := n*(i+1)/goroutines - n*i/goroutines
		group.Go(func() error {
			<-begin
			return call(ctx, part)
		})
	}
	start := time.Now()
	close(begin)
	err := group.Wait()
	return time.Since(start), err
}

// floor returns the nanoseconds of reading the clock.
func floor() float64 {
	start := time.Now()
	for range floorReads {
		_ = time.Since(start)
	}
	return float64(time.Since(start).Nanoseconds()) / floorReads
}

// levels are the numbers of goroutines that singles are made by.
func levels() []int {
	var all []int
	for n := 1; n <= max(4, runtime.GOMAXPROCS(0)); n *= 2 {
		all = append(all, n)
	}
	return all
}

// speed returns the figure of a number of goroutines and of keys a call, new where there is none. It is valid until the next call.
func speed(all *[]result.Speed, goroutines, keys int) *result.Speed {
	at := slices.IndexFunc(*all, func(s result.Speed) bool { return s.Goroutines == goroutines && s.Keys == keys })
	if at < 0 {
		at = len(*all)
		*all = append(*all, result.Speed{Goroutines: goroutines, Keys: keys})
	}
	return &(*all)[at]
}

// missing says why there is no sample, of singles for numbers of goroutines or of calls for numbers of keys.
func (*generation) missing(all *[]result.Speed, goroutines, keys []int, why string) {
	for _, n := range goroutines {
		speed(all, n, 1).Time.Why = why
	}
	for _, n := range keys {
		speed(all, 1, n).Time.Why = why
	}
}

// copySpeeds returns figures whose samples are shared with nobody.
func copySpeeds(all []result.Speed) []result.Speed {
	all = slices.Clone(all)
	for i := range all {
		all[i].Time.Samples = slices.Clone(all[i].Time.Samples)
	}
	return all
}
