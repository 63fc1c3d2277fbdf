package idgen

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// Snowflake makes the ids of one node of one layout. It is made by [New] and safe for concurrent use.
type Snowflake struct {
	layout Layout
	base   int64 // datacenter, node and shard in their places
	clock  *anchored

	unit     int64
	lastTick int64 // greatest tick of the layout
	seqBits  uint8
	seqMask  int64
	spread   int64 // mask of the sequences that a tick may start at
	timeAt   uint8 // shift of the time field
	seqAt    uint8 // shift of the sequence field

	last atomic.Int64 // tick << seqBits | sequence of the last id taken; only grows
}

var _ Source[int64] = (*Snowflake)(nil)

// spreadCost is how many bits fewer than the sequence has the start of a tick's sequence takes: 2, a quarter of the room.
const spreadCost = 2

// New returns a generator of [Snowkey]'s layout, or of the one given among the options. The number of every field that the layout
// has for a node (datacenter, node, shard) must be given.
//
// The error wraps [ErrNode] for a number that is missing, [ErrRange] for one that does not fit its field, [ErrLayout] for an invalid
// layout, and [ErrBeforeEpoch] or [ErrExhausted] when the clock is outside of the layout's time.
func New(options ...Option) (*Snowflake, error) {
	c := config{layout: Snowkey.Layout, numbers: map[Kind]int64{}}
	for _, o := range options {
		if err := o.apply(&c); err != nil {
			return nil, err
		}
	}
	if c.clock == nil {
		c.clock = systemClock{start: time.Now()}
	}
	layout := c.layout
	g := &Snowflake{
		layout:   layout,
		unit:     int64(layout.unit),
		lastTick: layout.span(Time).max(),
		seqBits:  layout.span(Sequence).bits,
		seqMask:  layout.span(Sequence).max(),
		spread:   layout.span(Sequence).max() >> spreadCost,
		timeAt:   layout.span(Time).shift,
		seqAt:    layout.span(Sequence).shift,
	}
	for _, kind := range []Kind{Datacenter, Node, Shard} {
		number, given := c.numbers[kind]
		if !given && layout.Bits(kind) > 0 {
			return nil, fmt.Errorf("%w: the layout %s has a %s field; give its number, 0 to %d", ErrNode, layout, kind, layout.Max(kind))
		}
		placed, err := layout.place(kind, number)
		if err != nil {
			return nil, err
		}
		if given && layout.Bits(kind) == 0 {
			return nil, fmt.Errorf("%w: %s %d, the layout %s has no such field", ErrRange, kind, number, layout)
		}
		g.base |= placed
	}
	g.clock = newAnchored(c.clock, layout.epoch)
	if _, err := g.tick(); err != nil {
		return nil, err
	}
	// As if the last id had been one of tick 0 with an arbitrary sequence: processes that make few ids and end must not all make
	// them at the same sequence. Taken from the clock, so that a fake clock gives the same ids each time.
	g.last.Store(mix(g.clock.now()) & g.spread)
	return g, nil
}

// Layout returns the layout of the ids.
func (g *Snowflake) Layout() Layout { return g.layout }

// Next returns a new id. When the sequence of the current tick is used up it waits for the next tick, or until the context ends and
// then returns an error that wraps the context's. It returns [ErrExhausted] past the layout's last tick.
func (g *Snowflake) Next(ctx context.Context) (int64, error) {
	first, _, err := g.take(ctx, 1)
	if err != nil {
		return 0, err
	}
	return g.id(first), nil
}

// Fill sets every element of ids to a new id, in increasing order, from one run of each tick that it needs. It waits and fails as
// Next does; after an error the elements are unchanged or hold ids that nobody else has, and none of them should be used.
func (g *Snowflake) Fill(ctx context.Context, ids []int64) error {
	for len(ids) > 0 {
		first, n, err := g.take(ctx, int64(len(ids)))
		if err != nil {
			return err
		}
		id, step := g.id(first), int64(1)<<g.seqAt
		if g.seqBits == 0 {
			step = 0 // a run is one id
		}
		for i := range ids[:n] {
			ids[i] = id
			id += step
		}
		ids = ids[n:]
	}
	return nil
}

// take reserves a run of 1 to n words of one tick, waiting for a tick that has room.
func (g *Snowflake) take(ctx context.Context, n int64) (first, count int64, err error) {
	for {
		now, err := g.tick()
		if err != nil {
			return 0, 0, err
		}
		last := g.last.Load()
		first = last + 1
		if now > last>>g.seqBits {
			// A new tick. With no room to carry on for all n, the start is as low as it needs to be.
			start := first & g.spread
			if start+n > g.seqMask+1 {
				start = max(0, g.seqMask+1-n)
			}
			first = now<<g.seqBits | start
		}
		if tick := first >> g.seqBits; tick > now && tick > last>>g.seqBits {
			if err := g.wait(ctx, tick); err != nil {
				return 0, 0, err
			}
			continue
		}
		count = min(n, g.seqMask-first&g.seqMask+1)
		if g.last.CompareAndSwap(last, first+count-1) {
			return first, count, nil
		}
	}
}

// id composes the id of a word.
func (g *Snowflake) id(word int64) int64 {
	return g.base | word>>g.seqBits<<g.timeAt | word&g.seqMask<<g.seqAt
}

// mix is the finalizer of SplitMix64 (Steele, Lea, Flood 2014): neighbouring values become unrelated ones.
func mix(v int64) int64 {
	z := uint64(v) + 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int64(z ^ z>>31)
}

// tick returns the tick that the clock is in.
func (g *Snowflake) tick() (int64, error) {
	now := g.clock.now()
	if tick := now / g.unit; now >= 0 && tick <= g.lastTick {
		return tick, nil
	}
	at := g.layout.Epoch().Add(time.Duration(now))
	if now < 0 {
		return 0, g.layout.errBeforeEpoch(at)
	}
	return 0, g.layout.errExhausted(at)
}

// wait returns when a tick should have begun by the clock. The caller looks at the clock again.
func (g *Snowflake) wait(ctx context.Context, tick int64) error {
	if tick > g.lastTick {
		return g.layout.errExhausted(g.layout.ExhaustsAt())
	}
	// Not longer than the interval at which the clock is moved forward, so that a step forward ends the wait; not so short that a
	// clock which stands still makes a spin of it.
	ahead := time.Duration(tick*g.unit - g.clock.now())
	timer := time.NewTimer(min(max(ahead, 50*time.Microsecond), recheck))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return fmt.Errorf("idgen: waiting for the next tick: %w", ctx.Err())
	case <-timer.C:
		return nil
	}
}
