package shard

import "fmt"

// Move is a bucket that one version of a map has in another shard than the one before.
type Move struct {
	Bucket   int64
	From, To string // names of shards
}

// Move returns the map with some buckets in the shard of a name. The error wraps [ErrMap].
func (m *Map) Move(to string, buckets ...int64) (*Map, error) {
	next, err := m.next()
	if err != nil {
		return nil, err
	}
	at := next.index(to)
	if at < 0 {
		return nil, fmt.Errorf("%w: no shard is named %q", ErrMap, to)
	}
	if len(buckets) == 0 {
		return nil, fmt.Errorf("%w: no buckets to move to shard %s", ErrMap, to)
	}
	for _, b := range buckets {
		if _, err := next.OfBucket(b); err != nil {
			return nil, err
		}
		next.of[b] = uint16(at)
	}
	return next.derive()
}

// Moves returns what another version of the map, of the same layout, has in another shard, in the order of the buckets. The error wraps [ErrMap],
// also when a shard is in another place in the other version, or a place has another name: rows cannot be moved to where they are. Rows from before
// have no bucket, and do not move.
func (m *Map) Moves(next *Map) ([]Move, error) {
	switch {
	case next == nil || len(m.of) == 0 || len(next.of) == 0:
		return nil, fmt.Errorf("%w: moves of or to the zero Map", ErrMap)
	case m.layout != next.layout:
		return nil, fmt.Errorf("%w: %s cannot become %s: the ids have their buckets", ErrMap, m.layout, next.layout)
	}
	places := make(map[string]string, len(m.shards))
	for _, s := range m.shards {
		places[s.place()] = s.Name
	}
	for _, s := range next.shards {
		if i := m.index(s.Name); i >= 0 && m.shards[i].place() != s.place() {
			return nil, fmt.Errorf("%w: shard %s is in database %q with the suffix %q, and cannot become %q with %q", ErrMap,
				s.Name, m.shards[i].Database, m.shards[i].Suffix, s.Database, s.Suffix)
		}
		if name, ok := places[s.place()]; ok && name != s.Name {
			return nil, fmt.Errorf("%w: shard %s cannot be named %s", ErrMap, name, s.Name)
		}
	}
	var moves []Move
	for b, i := range m.of {
		if from, to := m.shards[i].Name, next.shards[next.of[b]].Name; from != to {
			moves = append(moves, Move{Bucket: int64(b), From: from, To: to})
		}
	}
	return moves, nil
}
