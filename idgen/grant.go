package idgen

import (
	"fmt"
	"math"
	"time"
)

// Grant is the right to make ids with one number at a range of ticks, which no other generator of the key space has. Package
// idgen/grant hands them out.
type Grant struct {
	// Number of the generator: that of its node, or where the layout has a datacenter too, datacenter << bits of the node | node.
	Number int64
	// From is the first tick, Until the one after the last, counted from the layout's epoch.
	From, Until int64
	// Now is the time by the clock of whoever granted it, which the generator goes on from.
	Now time.Time
}

// WithGrants makes a generator that takes its node and datacenter number, and the time, from grants, see [Snowflake.SetGrant]. It makes
// no ids before the first grant, after the last one has ended, nor between two. Its time is that of the last grant and what has passed
// since by the monotonic clock, so steps of the machine's clock do not matter, and [WaitBack] and [RefuseBack] have nothing to do. A number that another option gives stays as it is: only grants that
// have it are taken then; a node's alone is refused where the layout has a datacenter. It does not go with [SwitchBack], whose numbers are
// given by hand.
func WithGrants() Option {
	return optionFunc(func(c *config) error {
		c.granted = true
		return nil
	})
}

// liveGrant is what a generator makes ids with: what they have in common, and the ticks they may have. It does not change.
type liveGrant struct {
	base        int64 // datacenter, node and shard in their places
	from, until int64
	ticks       uint64 // until - from
	number      int64
	kind        grantKind
}

type grantKind uint8

const (
	forGood grantKind = iota // the number is the generator's own
	granted
	sealed
)

// covers reports whether a tick is one of the liveGrant's.
func (h *liveGrant) covers(tick int64) bool { return uint64(tick-h.from) < h.ticks }

// sealedWord is the last word of a sequencer that was sealed: none comes after it.
const sealedWord = math.MaxInt64

// Grantable returns the least and the greatest number that a grant of the generator may have, as [Grant] counts them. They are the same
// where the options leave only one.
func (g *Snowflake) Grantable() (least, most int64) {
	for _, kind := range []Kind{Datacenter, Node} {
		low, high := int64(0), g.layout.Max(kind)
		if given, ok := g.numbers[kind]; ok {
			low, high = given.Value, given.Value
		}
		least, most = least<<g.layout.Bits(kind)|low, most<<g.layout.Bits(kind)|high
	}
	return least, most
}

// SetGrant makes the generator go on with a grant in place of the one it had: the same number for longer, or another. The grant's time
// becomes the generator's, or that of the last id where it is later, or the grant's start where that is later still by more than a tick and
// those that the generator may borrow, see [BorrowFull]. Ids of another number than before begin after the last tick that was used when
// it was called. The caller makes sure that no other generator has a grant of the number with any of its ticks.
//
// The error wraps [ErrGrant] for a generator that was made without [WithGrants] or is sealed, and [ErrRange] for a number that is not
// [Snowflake.Grantable], or ticks that are not the layout's. The generator is as it was then.
func (g *Snowflake) SetGrant(grant Grant) error {
	least, most := g.Grantable()
	switch {
	case grant.Number < least || grant.Number > most:
		return fmt.Errorf("%w: a grant of the number %d, this generator's are %d to %d", ErrRange, grant.Number, least, most)
	case grant.From < 0 || grant.Until <= grant.From || grant.Until-1 > g.lastTick || grant.From > farthest/g.unit.d:
		return fmt.Errorf("%w: a grant of the ticks from %d until %d, the layout's are 0 to %d", ErrRange, grant.From, grant.Until, g.lastTick)
	}
	next := &liveGrant{
		base: g.bases[0] | g.placed(grant.Number), number: grant.Number, kind: granted,
		from: grant.From, until: grant.Until, ticks: uint64(grant.Until - grant.From),
	}
	var first bool
	for {
		held := g.held.Load()
		first = held.until == 0 // it never had one
		switch held.kind {
		case forGood:
			return fmt.Errorf("%w: this generator has a number for good; make it with WithGrants", ErrGrant)
		case sealed:
			return g.errGrant(held, 0)
		}
		// Ids of one generator increase, so those of another number begin in another tick.
		if after := g.greatest() + 1; held.number != grant.Number && after > next.from && after < next.until {
			next.from, next.ticks = after, uint64(next.until-after)
		}
		if g.held.CompareAndSwap(held, next) {
			break
		}
	}
	// Not before the tick that the last id needs; nor before the next, where that was before the generator's time, its floor.
	used := g.greatest() - g.borrowed()
	if first {
		used++
	}
	to := max(int64(grant.Now.Sub(g.layout.Epoch())), used*g.unit.d)
	if to/g.unit.d < grant.From-1-g.borrowed() {
		to = grant.From * g.unit.d
	}
	g.clock.set(to)
	return nil
}

// Lead returns how many ticks ahead of its clock the generator makes ids at most.
func (g *Snowflake) Lead() int64 { return g.borrowed() }

// Used returns the tick after the last one that an id was made at, of whichever shard, 0 before the first.
func (g *Snowflake) Used() int64 {
	if g.held.Load().kind == sealed {
		return g.Seal()
	}
	return g.greatest() + 1
}

// Stepped has an element after the machine's clock has stepped forward, as it has when a suspended machine goes on: a generator with
// grants makes ids of the time before, until it is told the time by the next one. It is noticed by calls that make ids.
func (g *Snowflake) Stepped() <-chan struct{} { return g.clock.leapt }

// Suspend takes the generator's grant away: it makes no ids until it is given another. A call that is under way may still make one.
func (g *Snowflake) Suspend() {
	if held := g.held.Load(); held.kind == granted {
		g.held.CompareAndSwap(held, &liveGrant{kind: granted, number: held.number, from: held.from, until: held.until}) // another grant or its end may have come first
	}
}

// placed returns the number of a grant in the fields of the datacenter and the node.
func (g *Snowflake) placed(number int64) int64 {
	node, datacenter := g.layout.span(Node), g.layout.span(Datacenter)
	return number&node.max()<<node.shift | number>>node.bits&datacenter.max()<<datacenter.shift
}

// Grant returns the grant that the generator has, without its time, and whether it has one.
func (g *Snowflake) Grant() (Grant, bool) {
	held := g.held.Load()
	return Grant{Number: held.number, From: held.from, Until: held.until}, held.kind == granted && held.ticks > 0
}

// Seal ends the generator: when it returns, no call makes an id any more, not even one that is under way. It returns the tick after the
// last one that an id was made at, of whichever shard, those borrowed included. What is left of its grant can be given to another generator from then on.
func (g *Snowflake) Seal() (end int64) {
	g.sealing.Do(func() {
		// First the liveGrant, so that no call begins with it, then the words, so that no call that has begun ends.
		g.held.Store(&liveGrant{kind: sealed})
		for l := range g.all {
			l.begun.Add(1)
			last := l.last.Swap(sealedWord)
			l.issued.Add(g.position(last) - g.position(sealedWord))
			l.ended.Add(1)
			g.end = max(g.end, last>>(g.tickBits&63)+1)
		}
	})
	return g.end
}

// Now returns the time by the generator's clock, in UTC. It decides the tick of an id that is made now, but where the generator has gone
// ahead of it.
func (g *Snowflake) Now() time.Time {
	now, _ := g.clock.now()
	return g.layout.Epoch().Add(time.Duration(now))
}

// errGrant returns the error of a tick that a liveGrant does not cover.
func (g *Snowflake) errGrant(held *liveGrant, tick int64) error {
	switch {
	case held.kind == sealed:
		return fmt.Errorf("%w: the generator is sealed and makes no more", ErrGrant)
	case held.ticks == 0:
		return fmt.Errorf("%w: it has no number at present", ErrGrant)
	}
	return fmt.Errorf("%w: number %d was granted until %s, the clock is at %s", ErrGrant, held.number,
		g.layout.timeOf(uint64(held.until)).Format(time.RFC3339Nano), g.layout.timeOf(uint64(tick)).Format(time.RFC3339Nano))
}
