package idgen

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// sequencer is the state of one sequence of ids: those of a shard or a stream, or all of a generator that has neither. All fields are
// atomic. Those of one sequencer fill a cache line, lest calls for other shards wait for it; Go places arrays of powers of two of them so.
type sequencer struct {
	// Of the last id taken: tick << tickBits | index of the spare node << seqBits | sequence. It only grows.
	last atomic.Int64
	// The ids of all ticks but the last one: for each tick what its last sequence was, counted from 1, less where the next one started.
	// With the last sequence of the last tick added, that is how many were issued.
	issued atomic.Int64
	// Openings of ticks begun and ended: issued and the last word belong together while the two are equal.
	begun, ended atomic.Int64
	reported     atomic.Int64 // greatest number of ids that Stats has returned
	// The calls that wait for words; nil where there are none.
	queue atomic.Pointer[queue]
	users atomic.Int64 // of a stream: who has taken it

	_ [8]byte
}

// mostShardBits is the most that the shard field of a generator with sequencers has, which take 64 bytes each: 4 MiB then.
const mostShardBits = 16

// WithShards makes a generator for all shards of a layout: the shard is given with each id, see [Snowflake.NextFor] and
// [Snowflake.FillFor]. Sequences are counted for each shard, so that a busy one takes nothing from the others. It takes 64 bytes of
// memory a shard, 64 KiB with the layout of [Sharded]. The layout must have a shard field, of at most 16 bits, and [WithShard] must not be
// given too.
func WithShards() Option {
	return optionFunc(func(c *config) error {
		c.sharded = true
		return nil
	})
}

// checkSequencers reports whether the layout goes with sequencers, and no number of a shard was given too.
func (g *Snowflake) checkSequencers(given bool) error {
	width := g.layout.Bits(Shard)
	switch {
	case given:
		return fmt.Errorf("%w: WithShard and WithShards, the shard is either the same for all ids or given with each", ErrRange)
	case width == 0:
		return fmt.Errorf("%w: WithShards, the layout %s has no shard field", ErrRange, g.layout)
	case width > mostShardBits:
		return fmt.Errorf("%w: WithShards with %d bits of shard, at most %d", ErrRange, width, mostShardBits)
	case g.layout.Bits(Stream) > 0:
		return fmt.Errorf("%w: WithShards, the layout %s has streams; one generator has either", ErrRange, g.layout)
	}
	return nil
}

// Shards returns how many shards NextFor and FillFor make ids of, 0 for a generator that was made without [WithShards].
func (g *Snowflake) Shards() int {
	if g.streams > 0 {
		return 0
	}
	return len(g.sequencers)
}

// NextFor returns a new id of a shard, greater than the last one of that shard where the layout has no field but the shard above the time
// and the time above the sequence, as [Sharded] and [Scattered] have. It waits and fails as [Snowflake.Next] does, each shard by itself.
// The error wraps [ErrRange] for a shard that is not 0 to the layout's Max(Shard), and for a generator that was made without [WithShards].
func (g *Snowflake) NextFor(ctx context.Context, shard int64) (int64, error) {
	if uint64(shard) >= uint64(g.Shards()) {
		return 0, g.errShard(shard)
	}
	return g.next(ctx, &g.sequencers[shard], shard<<(g.shardAt&63))
}

// next returns a new id of a sequencer, with its number in its place.
func (g *Snowflake) next(ctx context.Context, l *sequencer, placed int64) (int64, error) {
	// A short way as that of Next, which also opens a tick and goes on in one that is borrowed: a shard has few ids a tick. With one
	// function for both, Next takes one percent longer.
	if now, ok := g.clock.undisturbed(); ok && uint64(now) < farthest {
		present := g.unit.quotient(now)
		held := g.held.Load()
		for range 4 {
			last := l.last.Load()
			word, tick := last+1, last>>(g.tickBits&63)
			opens := present > tick
			if opens {
				if l.queue.Load() != nil {
					break // those in the queue come first
				}
				tick = present
				word = tick<<(g.tickBits&63) | g.start(last, tick, 1)
			} else if word&g.seqMask == 0 || tick-g.borrowed() > present {
				break
			}
			if tick > g.lastTick || !held.covers(tick) {
				break
			}
			if g.swap(l, last, word, 1, opens, present) {
				if opens {
					g.serveAfter(l)
				}
				return placed | g.id(held, word), nil
			}
		}
	}
	var waited time.Duration
	held, first, _, err := g.take(ctx, l, 1, &waited)
	if err != nil {
		return 0, g.refuse(err)
	}
	return placed | g.id(held, first), nil
}

// FillFor sets every element of ids to a new id of a shard, as [Snowflake.Fill] does. Its errors are those of NextFor.
func (g *Snowflake) FillFor(ctx context.Context, shard int64, ids []int64) error {
	if uint64(shard) >= uint64(g.Shards()) {
		return g.errShard(shard)
	}
	return g.fill(ctx, &g.sequencers[shard], shard<<(g.shardAt&63), ids)
}

func (g *Snowflake) errShard(shard int64) error {
	if g.Shards() == 0 {
		return fmt.Errorf("%w: an id of shard %d, but this generator was made without WithShards; give that, or call Next or Fill", ErrRange, shard)
	}
	return fmt.Errorf("%w: shard %d, the layout's are 0 to %d", ErrRange, shard, len(g.sequencers)-1)
}

// all yields all sequencers. That of a generator as a whole is never used where there are others.
func (g *Snowflake) all(yield func(*sequencer) bool) {
	if g.sequencers == nil {
		yield(&g.own)
		return
	}
	for i := range g.sequencers {
		if !yield(&g.sequencers[i]) {
			return
		}
	}
}

// begin makes the sequencers of a generator whose clock is at now.
func (g *Snowflake) begin(sharded bool, now int64) {
	g.own.last.Store(-1)
	switch {
	case sharded:
		g.sequencers = make([]sequencer, g.layout.Max(Shard)+1)
	case g.layout.Bits(Stream) > 0:
		g.sequencers = make([]sequencer, g.layout.Max(Stream)+1)
		g.streams = int64(len(g.sequencers))
	}
	i := int64(0)
	for l := range g.all {
		l.last.Store(-1)
		if g.policy.start == startSpread && now >= g.unit.d {
			l.last.Store(g.arbitrary(now, i))
		}
		i++
	}
}

// arbitrary returns the first word of a sequencer, as if its last id had been one of tick 0 with an arbitrary sequence: processes that make few
// ids and end must not all make them at the same sequence, nor the shards of one. Taken from the clock, so that a fake clock gives the
// same ids each time.
func (g *Snowflake) arbitrary(now, sequencer int64) int64 {
	if sequencer > 0 {
		now = mix(now) + sequencer
	}
	return mix(now) & g.spread
}

// beginAfter makes all sequencers begin after a word, the last one of a tick; those of shards at different sequences of the next.
func (g *Snowflake) beginAfter(word int64) {
	for l := range g.all {
		if g.sequencers != nil {
			l.last.Store(word + max(0, l.last.Load()))
		} else {
			l.last.Store(word)
		}
	}
}

// greatest returns the greatest tick that an id was made at.
func (g *Snowflake) greatest() int64 {
	tick := int64(-1)
	for l := range g.all {
		tick = max(tick, l.last.Load()>>(g.tickBits&63))
	}
	return tick
}
