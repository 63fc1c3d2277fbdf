package shard

import (
	"fmt"
	"slices"
)

// Grow returns the map with more shards. When they are as many again, and every bucket b is in shard b % N, it is in shard b % 2N then; else as
// many buckets move to the new ones as make the shares even, which differ by at most one, and no others. Shards without a bucket count as none and
// get none; when the shares were uneven before, buckets move to the smaller ones too. The error wraps [ErrMap].
func (m *Map) Grow(shards ...Shard) (*Map, error) {
	next, err := m.next()
	if err != nil {
		return nil, err
	}
	had := m.holders()
	if len(shards) == 0 || len(had)+len(shards) > len(m.of) {
		return nil, fmt.Errorf("%w: %d more shards to %d, want 1 to %d, as there are %d buckets", ErrMap, len(shards), len(had), len(m.of)-len(had), len(m.of))
	}
	all := slices.Clone(had)
	for i := range shards {
		all = append(all, len(m.shards)+i)
	}
	next.shards = append(next.shards, shards...)
	if len(shards) == len(had) && m.striped(had) {
		for b := range next.of {
			next.of[b] = uint16(all[b%len(all)])
		}
	} else {
		next.level(all)
	}
	return next.derive()
}

// holders returns the indexes of the shards with buckets, ascending.
func (m *Map) holders() []int {
	var holders []int
	for i, own := range m.owned() {
		if len(own) > 0 {
			holders = append(holders, i)
		}
	}
	return holders
}

// owned returns the buckets of every shard, ascending.
func (m *Map) owned() []Buckets {
	owned := make([]Buckets, len(m.shards))
	for b, i := range m.of {
		owned[i] = append(owned[i], int64(b))
	}
	return owned
}

// striped tells whether bucket b is in shard b % N of some, everywhere.
func (m *Map) striped(shards []int) bool {
	for b, i := range m.of {
		if int(i) != shards[b%len(shards)] {
			return false
		}
	}
	return true
}

// level makes the shares of some shards, which have all buckets, even with the fewest moves: those that have the most keep one more where the
// division leaves a rest. What moves is taken from all over a shard's buckets, since neighbours are to be in different shards, see [Map.Spread].
func (m *Map) level(shards []int) {
	owned := m.owned()
	order := slices.Clone(shards)
	slices.SortStableFunc(order, func(a, b int) int { return len(owned[b]) - len(owned[a]) })
	share, rest := len(m.of)/len(order), len(m.of)%len(order)
	var moved Buckets
	var takers, takes []int
	for rank, i := range order {
		want := share
		if rank < rest {
			want++
		}
		has := len(owned[i])
		for n := range has - want {
			// The middle of the n-th part of has-want equal ones, and elsewhere in it for each shard.
			moved = append(moved, owned[i][(n*len(order)+rank)*has/((has-want)*len(order))])
		}
		if want > has {
			takers, takes = append(takers, i), append(takes, want-has)
		}
	}
	slices.Sort(moved)
	turn := 0
	for _, b := range moved {
		for ; takes[turn%len(takes)] == 0; turn++ { // ends: as many are moved as are taken
		}
		m.of[b] = uint16(takers[turn%len(takes)])
		takes[turn%len(takes)]--
		turn++
	}
}

// Shrink returns the map without some shards, whose buckets go to those with the fewest. The error wraps [ErrMap] for one that there is not, for all
// of them, and for that of the rows from before. A shard without a bucket stays so, unless no other is left.
func (m *Map) Shrink(names ...string) (*Map, error) {
	next, err := m.next()
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%w: no shards to remove", ErrMap)
	}
	for _, name := range names {
		if m.index(name) < 0 {
			return nil, fmt.Errorf("%w: no shard is named %q", ErrMap, name)
		}
	}
	next.shards = slices.DeleteFunc(next.shards, func(s Shard) bool { return slices.Contains(names, s.Name) })
	if len(next.shards) == 0 {
		return nil, fmt.Errorf("%w: no shard is left", ErrMap)
	}
	now := make([]int, len(m.shards)) // the new index of a shard
	for i, s := range m.shards {
		now[i] = next.index(s.Name)
	}
	shares := make([]int, len(next.shards))
	var homeless []int
	for b, i := range m.of {
		if at := now[i]; at >= 0 {
			next.of[b] = uint16(at)
			shares[at]++
		} else {
			homeless = append(homeless, b)
		}
	}
	next.house(homeless, shares)
	return next.derive()
}

// house gives buckets to the shards that have the fewest of those that have any.
func (m *Map) house(buckets, shares []int) {
	none := slices.Max(shares) == 0
	for _, b := range buckets {
		least := -1
		for i, share := range shares {
			if (share > 0 || none) && (least < 0 || share < shares[least]) {
				least = i
			}
		}
		m.of[b] = uint16(least)
		shares[least]++
	}
}

// WithShards returns the map with more shards that have no buckets: for a [Legacy], or for [Map.Move]. The error wraps [ErrMap].
func (m *Map) WithShards(shards ...Shard) (*Map, error) {
	next, err := m.next()
	if err != nil {
		return nil, err
	}
	if len(shards) == 0 {
		return nil, fmt.Errorf("%w: no shards to add", ErrMap)
	}
	next.shards = append(next.shards, shards...)
	return next.derive()
}
