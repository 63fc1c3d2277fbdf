package idgen

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Snowflake makes the ids of one node of one layout. It is made by [New] and safe for concurrent use.
type Snowflake struct {
	layout  Layout
	policy  policy
	numbers map[Kind]NodeNumber
	bases   []int64 // datacenter, node and shard in their places, as far as they do not change: of the own node, then of the spare ones
	clock   *timeline
	unit    divisor

	lastTick  int64 // greatest tick of the layout
	room      int64 // sequences of a tick
	seqMask   int64
	seqBits   uint8
	spareBits uint8 // of the index of the spare node
	tickBits  uint8 // seqBits + spareBits: shift of the tick in a word
	timeAt    uint8 // shift of the time field in an id, of two the upper one
	lowBits   uint8 // of the lower time field, 0 where there is one
	lowAt     uint8 // shift of the lower time field in an id
	lowMask   int64 // of the lower time field
	seqAt     uint8 // shift of the sequence field in an id
	shardAt   uint8 // shift of the shard field in an id
	streamAt  uint8 // shift of the stream field in an id

	spread int64 // greatest sequence that a tick may start at; of StartSpread a mask
	random func() uint64

	warnAt int64 // nanoseconds since the epoch; from then on less than a year is left
	warn   atomic.Pointer[func(time.Time)]

	own        sequencer                 // of all ids; of none where there are sequencers
	sequencers []sequencer               // by the number of the shard, where that is given with each id, or of the stream
	streams    int64                     // the sequencers, where they are of streams
	sharing    atomic.Int64              // times that all streams were taken
	held       atomic.Pointer[liveGrant] // what the next ids are made with

	sealing sync.Once
	end     int64 // tick after the last one used; written by sealing

	counters
	sleeping atomic.Bool // a goroutine is in a precise sleep
}

var _ Source[int64] = (*Snowflake)(nil)

// spreadCost is how many bits fewer than the sequence the start of a tick's sequence has by default: 2, a quarter of the range.
const spreadCost = 2

// warnBefore is how long before the layout's end the warning comes.
const warnBefore = 365 * 24 * time.Hour

// New returns a generator of [Snowkey]'s layout and policies, or of those given among the options. The number of every field that the
// layout has for a node (datacenter, node, shard) must be given, but for those that come with grants, see [WithGrants], and the shard's
// where it comes with each id, see [WithShards].
//
// The error wraps [ErrNode] for a number that is missing, [ErrRange] for one that does not fit its field or a policy that does not fit
// the layout, [ErrLayout] for an invalid layout, and [ErrBeforeEpoch] or [ErrExhausted] when the clock is outside of the layout's time.
func New(options ...Option) (*Snowflake, error) {
	c := config{
		layout: Snowkey.Layout, policy: Snowkey.policy, random: rand.Uint64,
		numbers: map[Kind]func(int) (NodeNumber, error){},
	}
	for i, o := range options {
		if o == nil {
			return nil, fmt.Errorf("%w: option %d is nil", ErrRange, i+1)
		}
		if err := o.apply(&c); err != nil {
			return nil, err
		}
	}
	layout := c.layout
	if err := c.policy.check(layout); err != nil {
		return nil, err
	}
	if width := layout.Bits(Stream); width > mostStreamBits {
		return nil, fmt.Errorf("%w: the layout %s has %d bits of stream, a generator at most %d", ErrRange, layout, width, mostStreamBits)
	}
	sequence, ticks := layout.span(Sequence), layout.span(Time)
	g := &Snowflake{
		layout: layout, policy: c.policy, random: c.random,
		unit:     newDivisor(layout.unit),
		lastTick: layout.Max(Time), timeAt: ticks.shift, lowBits: layout.low.bits, lowAt: layout.low.shift, lowMask: layout.low.max(),
		room: sequence.max() + 1, seqMask: sequence.max(), seqBits: sequence.bits, seqAt: sequence.shift,
		shardAt: layout.span(Shard).shift, streamAt: layout.span(Stream).shift,
		spread: sequence.max() >> spreadCost,
	}
	if c.policy.below > 0 {
		g.spread = c.policy.below - 1
	}
	if err := g.number(c); err != nil {
		return nil, err
	}
	own := &liveGrant{base: g.bases[0], ticks: math.MaxInt64, until: math.MaxInt64}
	if c.granted {
		own = &liveGrant{kind: granted}
	}
	g.held.Store(own)
	g.spareBits = uint8(bits.Len(uint(len(g.bases) - 1)))
	g.tickBits = g.seqBits + g.spareBits
	g.clock = newTimeline(c.clock, layout.Epoch(), c.policy.back != backIgnore, c.granted)
	if warn := c.exhausted; warn != nil {
		g.warnAt = int64(layout.ExhaustsAt().Add(-warnBefore).Sub(layout.Epoch()))
		g.warn.Store(&warn)
	}
	now, _ := g.clock.now()
	if _, err := g.tick(now, true); err != nil {
		return nil, err
	}
	g.begin(c.sharded, now)
	if c.floored {
		if err := g.startAbove(c.floor, now); err != nil {
			return nil, err
		}
	}
	for l := range g.all {
		l.issued.Store(-g.position(l.last.Load()))
	}
	return g, nil
}

// number finds the numbers of the generator, and makes of them what all its ids have in common.
func (g *Snowflake) number(c config) error {
	g.numbers = map[Kind]NodeNumber{}
	var base int64
	for _, kind := range []Kind{Datacenter, Node, Shard} {
		source, given := c.numbers[kind]
		switch width := g.layout.Bits(kind); {
		case kind == Shard && c.sharded:
			if err := g.checkSequencers(given); err != nil {
				return err
			}
			continue
		case !given && width > 0 && c.granted && kind != Shard:
			continue
		case !given && width > 0:
			return fmt.Errorf("%w: the layout %s has a %s field; give its number, 0 to %d", ErrNode, g.layout, kind, g.layout.Max(kind))
		case given && width == 0:
			return fmt.Errorf("%w: a %s number is given, the layout %s has no such field", ErrRange, kind, g.layout)
		case !given:
			continue
		}
		n, err := source(g.layout.Bits(kind))
		if err != nil {
			return err
		}
		placed, err := g.layout.place(kind, n.Value)
		if err != nil {
			return err
		}
		g.numbers[kind] = n
		base |= placed
	}
	g.bases = []int64{base}
	if _, node := g.numbers[Node]; c.granted && node && g.layout.Bits(Datacenter) > 0 {
		if _, datacenter := g.numbers[Datacenter]; !datacenter {
			return fmt.Errorf("%w: a node number is given, and the datacenter's is left to grants; give it too, or leave both to them", ErrNode)
		}
	}
	if c.policy.back != backSwitch {
		return nil
	}
	if c.granted {
		return fmt.Errorf("%w: SwitchBack names its numbers by hand, which WithGrants does not; IgnoreBack goes on when the clock steps back", ErrNode)
	}
	own := g.numbers[Node].Value
	for last, i := own, 0; i < len(c.spare); i++ {
		if c.spare[i] <= last {
			return fmt.Errorf("%w: SwitchBack with node %d, must be greater than the generator's own, %d, and different from the others",
				ErrRange, c.spare[i], own)
		}
		last = c.spare[i]
		placed, err := g.layout.place(Node, last)
		if err != nil {
			return err
		}
		without := base &^ (g.layout.span(Node).max() << g.layout.span(Node).shift)
		g.bases = append(g.bases, without|placed)
	}
	return nil
}

// Layout returns the layout of the ids.
func (g *Snowflake) Layout() Layout { return g.layout }

// Number returns the number that the generator has in a field, Datacenter, Node or Shard, and where it comes from; the zero NodeNumber
// where the layout has no such field, before the first grant of one that takes it from there, and of a shard that is given with each id.
func (g *Snowflake) Number(kind Kind) NodeNumber {
	held := g.held.Load()
	if n, given := g.numbers[kind]; given || kind == Shard || held.kind == forGood || held.ticks == 0 || g.layout.Bits(kind) == 0 {
		return n
	}
	return NodeNumber{Value: g.layout.span(kind).of(held.base), Origin: "granted"}
}

// Next returns a new id. When the sequence of the current tick is used up it waits in the queue for the next tick, or does what the policy says.
// Its error wraps the context's when that ends while it waits, and is [ErrExhausted] past the layout's last tick, [ErrFull] or a
// [ClockError] under policies that say so, [ErrGrant] outside of the ticks that were granted to it, and [ErrNode] under [WithShards]. A
// context that has ended already is noticed only where the call has to wait.
func (g *Snowflake) Next(ctx context.Context) (int64, error) {
	// The usual case on a short way: the machine's clock, not yet due for a comparison, is in the tick of the last id, which has room.
	if g.streams > 0 {
		return g.NextIn(ctx, g.lowestStream())
	}
	if now, ok := g.clock.undisturbed(); ok {
		tick := g.unit.quotient(now)
		held := g.held.Load()
		for range 4 { // other goroutines may be faster; a clock just read need not be read again for that
			last := g.own.last.Load()
			word := last + 1
			if word&g.seqMask == 0 || tick != last>>(g.tickBits&63) || !held.covers(tick) {
				break
			}
			if g.own.last.CompareAndSwap(last, word) {
				return g.id(held, word), nil
			}
		}
	}
	var waited time.Duration
	held, first, _, err := g.take(ctx, &g.own, 1, &waited)
	if err != nil {
		return 0, g.refuse(err)
	}
	return g.id(held, first), nil
}

// Fill sets every element of ids to a new id, each greater than the one before it where the layout has the time above the sequence,
// from one run of each tick that it needs, of which it has a share where other calls wait too. It waits and fails as Next does; after an
// error none of the elements should be used, and what was taken for them is lost. Under [RefuseFull] it fails when there is not room for all
// of them in the current tick.
func (g *Snowflake) Fill(ctx context.Context, ids []int64) error {
	if g.streams > 0 {
		return g.FillIn(ctx, g.lowestStream(), ids)
	}
	return g.fill(ctx, &g.own, 0, ids)
}

// fill sets ids to new ones of a sequencer, with the shard in its place.
func (g *Snowflake) fill(ctx context.Context, l *sequencer, shard int64, ids []int64) error {
	var waited time.Duration
	for len(ids) > 0 {
		held, first, n, err := g.take(ctx, l, int64(len(ids)), &waited)
		if err != nil {
			return g.refuse(err)
		}
		id, step := shard|g.id(held, first), int64(1)<<(g.seqAt&63)
		for i := range ids[:n] {
			ids[i] = id
			id += step
		}
		ids = ids[n:]
	}
	return nil
}

// take reserves a run of 1 to n words of a sequencer, of one tick and one node, waiting in the queue for a tick that has room. It reserves nothing
// before that tick has come: what a call that gives up had reserved would be lost, and with many of them all of it. The ids are to be made
// with the liveGrant that it returns. It adds to waited how long the call has waited for a clock that stepped back.
func (g *Snowflake) take(ctx context.Context, l *sequencer, n int64, waited *time.Duration) (held *liveGrant, first, count int64, err error) {
	if l == &g.own && g.sequencers != nil {
		return nil, 0, 0, fmt.Errorf("%w: the shard is given with each id, 0 to %d; call NextFor or FillFor", ErrNode, len(g.sequencers)-1)
	}
	for l.queue.Load() == nil {
		held = g.held.Load()
		if held.ticks == 0 {
			return nil, 0, 0, g.errGrant(held, 0)
		}
		now, behind, err := g.read()
		if err != nil {
			return nil, 0, 0, err
		}
		if behind > 0 && !g.switches(time.Duration(behind), *waited) {
			if err := g.errBack(time.Duration(behind), *waited); err != nil {
				return nil, 0, 0, err
			}
			break
		}
		last := l.last.Load()
		if last == sealedWord && g.held.Load().kind == sealed {
			continue
		}
		first, isNew := last+1, false
		if now != last>>(g.tickBits&63) || first&g.seqMask == 0 || !held.covers(now) { // else there is no question: 2 ns less
			var ready int64
			if first, ready, isNew, err = g.offer(held, last, now, behind, n); err != nil {
				return nil, 0, 0, err
			}
			if ready > now {
				break
			}
		}
		count = min(n, g.room-first&g.seqMask)
		if g.swap(l, last, first, count, isNew, now) {
			if isNew {
				g.serveAfter(l)
			}
			return held, first, count, nil
		}
	}
	if err := errEnded(ctx); err != nil && l.queue.Load() == nil {
		return nil, 0, 0, err
	}
	return g.wait(ctx, l, n, waited)
}

// offer returns the first word that a sequencer after the last one has to give at a reading of the clock, when n are wanted, and whether it
// opens a tick; it may be taken when the clock is ready. The error is that of a sequencer that has none, now and when others have waited.
func (g *Snowflake) offer(held *liveGrant, last, now, behind, n int64) (first, ready int64, isNew bool, err error) {
	first = last + 1
	tick := last >> (g.tickBits & 63)
	begin := max(now, held.from)
	isNew = begin > tick
	switch {
	case isNew:
		tick = begin
		first = tick<<(g.tickBits&63) | g.start(last, tick, n)
	case first&g.seqMask == 0 && last >= 0 && !g.spared(first, behind):
		// The sequence is used up: the next tick.
		tick, isNew = tick+1, true
		first = tick << (g.tickBits & 63)
		if tick > g.lastTick {
			return 0, 0, false, g.layout.errExhausted(g.layout.ExhaustsAt())
		}
		if g.policy.full == fullRefuse {
			return 0, 0, false, fmt.Errorf("%w: %d of %s are used up", ErrFull, g.room, g.layout.unit)
		}
	}
	if !held.covers(tick) {
		if g.policy.full != fullBorrow || now >= held.until {
			return 0, 0, false, g.errGrant(held, tick)
		}
		return 0, held.until, false, nil // there is nothing to borrow beyond the grant
	}
	return first, tick - g.borrowed(), isNew, nil
}

// borrowed returns how many ticks ahead of the clock ids may be.
func (g *Snowflake) borrowed() int64 {
	if g.policy.full == fullBorrow {
		return g.policy.borrow
	}
	return 0
}

// tick returns the tick that a time lies in. When a recheck is due it warns of the layout's end.
func (g *Snowflake) tick(now int64, due bool) (int64, error) {
	if due && now >= g.warnAt {
		if warn := g.warn.Swap(nil); warn != nil {
			(*warn)(g.layout.ExhaustsAt())
		}
	}
	if now >= 0 {
		if tick := g.unit.quotient(now); tick <= g.lastTick && now < farthest {
			return tick, nil
		}
		return 0, g.layout.errExhausted(g.layout.Epoch().Add(time.Duration(now)))
	}
	return 0, g.layout.errBeforeEpoch(g.layout.Epoch().Add(time.Duration(now)))
}

// start returns where the sequence of a new tick starts, when n of it are wanted.
func (g *Snowflake) start(last, now, n int64) (start int64) {
	switch g.policy.start {
	case startSpread:
		start = (last + 1) & g.spread
	case startRandom:
		if last&g.seqMask == g.seqMask && last>>(g.tickBits&63) == now-1 {
			return 0 // the tick before was used up: this one may be too, and loses nothing
		}
		start = int64(g.random() % uint64(g.spread+1))
	}
	return max(0, min(start, g.room-n)) // low enough for all n
}

// id composes the id of a word that was taken under a liveGrant.
func (g *Snowflake) id(held *liveGrant, word int64) int64 {
	base := held.base
	if g.spareBits > 0 {
		base = g.bases[word>>(g.seqBits&63)&(1<<(g.spareBits&63)-1)]
	}
	tick := word >> (g.tickBits & 63)
	id := base | tick>>(g.lowBits&63)<<(g.timeAt&63) | word&g.seqMask<<(g.seqAt&63)
	if g.lowMask != 0 {
		id |= tick & g.lowMask << (g.lowAt & 63)
	}
	return id
}

// mix is the finalizer of SplitMix64 (Steele, Lea, Flood 2014): neighbouring values become unrelated ones.
func mix(v int64) int64 {
	z := uint64(v) + 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int64(z ^ z>>31)
}
