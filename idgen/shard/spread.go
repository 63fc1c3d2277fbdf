package shard

import (
	"fmt"
	"slices"
)

// spread is a sharding key over more buckets than one.
type spread struct {
	key    keyText
	over   uint64 // how many, a power of two; they are those from the key's own up, and from 0 after the last
	shards []int  // of the buckets and of the rows from before, ascending, each once
}

// Spread returns the map with a sharding key over k buckets, a power of two up to all there are; rows of the key that there are already stay where
// they are, in the bucket that it had, which is one of the k. A key's k can grow and never shrink. The error wraps [ErrMap] or [ErrKey].
//
// The k buckets are the key's own, its [Sum] modulo the number of all, and those that follow it, with 0 after the last. So those of a smaller k are
// among them, and in a map that no bucket was moved in by hand they are in as many shards as there can be. New rows are in other buckets as soon as
// one process places them there: let none do so, but give [Map.Place] the turn 0, until all processes have the map and look for rows there.
func (m *Map) Spread(key any, k int) (*Map, error) {
	sum, err := m.sum(key)
	if err != nil {
		return nil, err
	}
	text, err := newKeyText(key)
	if err != nil {
		return nil, err
	}
	next, err := m.next()
	if err != nil {
		return nil, err
	}
	if err := m.checkOver(k); err != nil {
		return nil, fmt.Errorf("%w: key %s: %w", ErrMap, text, err)
	}
	if over := m.over(sum); uint64(k) <= over {
		return nil, fmt.Errorf("%w: key %s is over %d buckets, which can grow and not become %d", ErrMap, text, over, k)
	}
	if next.spread == nil {
		next.spread = make(map[uint64]spread, 1)
	}
	next.spread[sum] = spread{key: text, over: uint64(k)}
	return next.derive()
}

func (m *Map) checkOver(k int) error {
	if k < 1 || k > len(m.of) || k&(k-1) != 0 {
		return fmt.Errorf("over %d buckets, want a power of two up to %d", k, len(m.of))
	}
	return nil
}

// over returns how many buckets the sharding key with a sum has, a power of two.
func (m *Map) over(sum uint64) uint64 {
	if len(m.spread) > 0 {
		if s, ok := m.spread[sum]; ok {
			return s.over
		}
	}
	return 1
}

// spreadShards returns the shards with rows of the sharding key with a sum.
func (m *Map) spreadShards(sum, over uint64) []int {
	seen := make([]bool, len(m.shards))
	var shards []int
	add := func(i int) {
		if !seen[i] {
			seen[i] = true
			shards = append(shards, i)
		}
	}
	if m.old >= 0 {
		add(m.old)
	}
	for i := range over {
		add(int(m.of[(sum+i)&m.mask]))
	}
	slices.Sort(shards)
	return shards
}
