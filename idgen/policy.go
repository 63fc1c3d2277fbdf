package idgen

import (
	"fmt"
	"math/bits"
	"time"
)

// policy is what a generator does when its clock steps back, when a tick is full, and when a tick begins.
type policy struct {
	back   backPolicy
	bound  time.Duration // how long backWait waits, and backSwitch before it switches; 0: not at all
	full   fullPolicy
	borrow int64 // ticks, of fullBorrow
	start  startPolicy
	below  int64 // of startSpread and startRandom; 0: a quarter of the sequence's range
}

type (
	fullPolicy  uint8
	startPolicy uint8
)

const (
	fullWait fullPolicy = iota
	fullBorrow
	fullRefuse
)

const (
	startSpread startPolicy = iota
	startRandom
	startZero
)

var defaultPolicy = policy{back: backIgnore, full: fullWait, start: startSpread}

// WaitFull makes a generator wait for the next tick when the sequence of the current one is used up. The default.
func WaitFull() Option {
	return policyOption(func(p *policy) { p.full = fullWait })
}

// BorrowFull lets a generator take ids of ticks to come when the sequence of the current one is used up, up to the given number of
// ticks ahead of its clock, 1 or more and at most a minute's where a tick is shorter than that; beyond that it waits. Ids then carry times that have not come yet, and a
// process that ends and starts again within that time, with the same node number, can repeat them.
func BorrowFull(ticks int64) Option {
	return optionFunc(func(c *config) error {
		if ticks < 1 {
			return fmt.Errorf("%w: BorrowFull(%d), must be at least 1", ErrRange, ticks)
		}
		c.policy.full, c.policy.borrow = fullBorrow, ticks
		return nil
	})
}

// RefuseFull makes a call return [ErrFull] when the sequence of the current tick is used up. A Fill of more ids than a tick has room for
// always fails then.
func RefuseFull() Option {
	return policyOption(func(p *policy) { p.full = fullRefuse })
}

// StartSpread makes a tick's sequence start after the last id's, modulo below, which is a power of two up to the sequence's range; 0
// stands for a quarter of the range. Ids modulo below are then uniform at any traffic. The default, with 0.
//
// Sequences that carry on tell how many ids the generator made: who sees an id of 9:00 with the sequence 17 and one of 9:05 with 29 knows
// that it made 12 ids in these five minutes, or 12 and a multiple of below. [StartRandom] does not tell.
func StartSpread(below int64) Option {
	return optionFunc(func(c *config) error {
		if below < 0 || bits.OnesCount64(uint64(below)) > 1 {
			return fmt.Errorf("%w: StartSpread(%d), must be a power of two or 0", ErrRange, below)
		}
		c.policy.start, c.policy.below = startSpread, below
		return nil
	})
}

// StartRandom makes a tick's sequence start at a random number below the one given, which is 1 up to the sequence's range; 0 stands for a
// quarter of the range. Ids modulo below, and modulo what divides it, are then uniform at any traffic: with 0, id % shards for shards
// that are a power of two up to a quarter of the range.
//
// Ids of two ticks then do not tell how many were made between them. What still tells: the time in each id; ids of one tick carry on by
// one, so two of them tell how many came between, and a sequence of below or more that at least as many were made in its tick as it is
// above that; and a tick that starts at 0 in every case is one after a tick that was used up, so that no room of full ticks is lost, or one
// of a Fill that needs all of it. The first tick of a burst has room for below-1 ids less at most.
//
// The numbers are those of math/rand/v2's top-level Uint64: ChaCha8, a cipher's stream, with a seed of the operating system's randomness
// that the Go runtime sets at the start of the process. Nobody foresees a start from the ones before. It is no promise of Go's, which
// gives crypto/rand for secrets, and an id is none. [WithRandom] takes another source, and who gives one with a known seed can be foreseen.
func StartRandom(below int64) Option {
	return optionFunc(func(c *config) error {
		if below < 0 {
			return fmt.Errorf("%w: StartRandom(%d), must not be negative", ErrRange, below)
		}
		c.policy.start, c.policy.below = startRandom, below
		return nil
	})
}

// StartZero makes every tick's sequence start at 0, as Twitter's does. At low traffic nearly all ids are then even, and multiples of 4
// and of 4,096.
func StartZero() Option {
	return policyOption(func(p *policy) { p.start = startZero })
}

func policyOption(set func(*policy)) Option {
	return optionFunc(func(c *config) error {
		set(&c.policy)
		return nil
	})
}

// check reports whether the policies fit the layout.
func (p policy) check(l Layout) error {
	if room := l.Max(Sequence) + 1; p.below > room {
		return fmt.Errorf("%w: a start of the sequence below %d, the layout's sequence has %d values", ErrRange, p.below, room)
	}
	if most := max(1, int64(time.Minute/l.unit)); p.full == fullBorrow && p.borrow > most {
		return fmt.Errorf("%w: BorrowFull(%d), at most %d ticks of %s", ErrRange, p.borrow, most, l.unit)
	}
	if node, sequence := l.span(Node), l.span(Sequence); p.back == backSwitch &&
		(node.bits == 0 || l.low.bits > 0 || node.shift > l.span(Time).shift || sequence.bits > 0 && sequence.shift > node.shift) {
		return fmt.Errorf("%w: SwitchBack needs a layout with the node between the time and the sequence, %s is not", ErrLayout, l)
	}
	return nil
}
