package idgen

import (
	"fmt"
	"slices"
	"time"
)

// backPolicy is what a generator does when the wall clock steps back.
type backPolicy uint8

const (
	backIgnore backPolicy = iota
	backWait
	backRefuse
	backSwitch
)

// IgnoreBack makes a generator take no notice of a wall clock that steps back: its time goes on with the monotonic clock. The default.
func IgnoreBack() Option {
	return policyOption(func(p *policy) { p.back, p.bound = backIgnore, 0 })
}

// WaitBack makes a generator wait, in each call, until a wall clock that stepped back is where it was before, for at most the bound
// and as long as the call's context lasts; beyond the bound the call returns a [ClockError] at once. Its clock is the wall clock.
func WaitBack(bound time.Duration) Option {
	return optionFunc(func(c *config) error {
		if bound <= 0 {
			return fmt.Errorf("%w: WaitBack(%s), the bound must be positive", ErrRange, bound)
		}
		c.policy.back, c.policy.bound = backWait, bound
		return nil
	})
}

// RefuseBack makes every call return a [ClockError] as long as a wall clock that stepped back is not where it was before. Its clock is
// the wall clock.
func RefuseBack() Option {
	return policyOption(func(p *policy) { p.back, p.bound = backRefuse, 0 })
}

// SwitchBack gives a generator more node numbers of its own, to be used in turn while the wall clock is behind where it was before.
// Since no id may be smaller than the last, the generator stays in the tick it had reached: there it goes on with the sequence of its
// own node number, and then with those of the ones given here; when all are used up, the policy for a full tick applies. Its clock is
// the wall clock.
//
// The numbers must be greater than the generator's own, and the layout must have the node between the time and the sequence.
func SwitchBack(nodes ...int64) Option {
	return optionFunc(func(c *config) error {
		if len(nodes) == 0 {
			return fmt.Errorf("%w: SwitchBack() without a node number", ErrRange)
		}
		c.policy.back, c.policy.bound = backSwitch, 0
		c.spare = slices.Sorted(slices.Values(nodes))
		return nil
	})
}

// WaitSwitchBack is [WaitBack] for a wall clock that stepped back by the bound or less, and [SwitchBack] for one that stepped back further, or that is not
// where it was before when a call has waited as long as the bound.
func WaitSwitchBack(bound time.Duration, nodes ...int64) Option {
	return optionFunc(func(c *config) error {
		if err := SwitchBack(nodes...).apply(c); err != nil {
			return err
		}
		if bound <= 0 {
			return fmt.Errorf("%w: WaitSwitchBack(%s), the bound must be positive", ErrRange, bound)
		}
		c.policy.bound = bound
		return nil
	})
}

// catchUp moves the anchored clock forward to the wall clock, unless the time is told, and counts the wall clock's steps.
func (t *timeline) catchUp() {
	before := t.elapsed()
	wall := t.wall()
	elapsed := t.elapsed()
	target := wall - elapsed
	// How far the wall clock is ahead, or for a time that is told, of the elapsed one; not to be known when this goroutine was held up
	// between the readings.
	gap, keep := target, target
	if !t.told {
		gap -= t.offset.Load()
		keep = min(gap, 0)
	}
	if elapsed-before < int64(stepped/2) {
		was := t.gap.Swap(keep)
		switch {
		case gap-was > int64(stepped):
			t.forward.Add(1)
			select {
			case t.leapt <- struct{}{}:
			default: // nobody has asked since the last one
			}
		case was-gap > int64(stepped):
			t.back.Add(1)
		}
	}
	if t.told {
		return
	}
	for {
		offset := t.offset.Load()
		if target <= offset || t.offset.CompareAndSwap(offset, target) {
			return
		}
	}
}

// stepBack returns how far now, a reading of the followed clock, is behind the latest one before it, 0 when they are of one tick or it
// is not. The latest must have been loaded before now was read: a reading of another goroutine in between is no step back.
func (t *timeline) stepBack(latest, now, unit int64) int64 {
	if now < latest && (now < 0 || now/unit != latest/unit) {
		if t.behind.CompareAndSwap(false, true) {
			t.back.Add(1)
		}
		return latest - now
	}
	if t.behind.Load() {
		t.behind.Store(false)
	}
	if now > latest && now/unit != latest/unit {
		t.raise(now)
	}
	return 0
}

// read returns the clock's tick, and how far a followed clock is behind where it was, when that is a tick or more; the tick is the one
// it had reached then.
func (g *Snowflake) read() (tick, behind int64, err error) {
	if !g.clock.follow {
		now, due := g.clock.now()
		tick, err = g.tick(now, due)
		return tick, 0, err
	}
	latest := g.clock.latest.Load()
	now, due := g.clock.now()
	behind = g.clock.stepBack(latest, now, g.unit.d)
	if behind > 0 {
		now = latest
	}
	tick, err = g.tick(now, due)
	return tick, behind, err
}

// errBack returns the error of a clock that is behind where it was, for a call that has waited for it, or nil where the policy says to
// wait or to switch.
func (g *Snowflake) errBack(by, waited time.Duration) error {
	if by > 0 && g.policy.back != backSwitch && (by > g.policy.bound || waited >= g.policy.bound) {
		return &ClockError{By: by, Last: g.layout.Epoch().Add(time.Duration(g.clock.latest.Load()))}
	}
	return nil
}

// switches reports whether a clock that is behind where it was, for a call that has waited for it, has the tick go on in the sequences of spare nodes.
func (g *Snowflake) switches(by, waited time.Duration) bool {
	return g.policy.back == backSwitch && (by > g.policy.bound || waited >= g.policy.bound)
}

// clockBehind counts the time that a call waits for a clock that is behind, or no longer is. The caller has locked the queue.
func (w *waiter) clockBehind(behind bool) {
	if !behind && w.since.IsZero() {
		return
	}
	now := time.Now()
	if !w.since.IsZero() {
		w.waited += max(now.Sub(w.since), 1)
	}
	w.since = now
	if !behind {
		w.since = time.Time{}
	}
}

// spared reports whether the tick may go on in the sequence of the next spare node, at the word given.
func (g *Snowflake) spared(word, behind int64) bool {
	return behind > 0 && word>>(g.seqBits&63)&(1<<(g.spareBits&63)-1) < int64(len(g.bases)) && g.spareBits > 0 &&
		word>>(g.tickBits&63) == (word-1)>>(g.tickBits&63)
}
