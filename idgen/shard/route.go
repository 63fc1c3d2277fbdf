package shard

import "fmt"

// Owned returns the buckets of the shard with an index, none for an index that there is not.
func (m *Map) Owned(index int) Buckets {
	var buckets Buckets
	for b, i := range m.of {
		if int(i) == index {
			buckets = append(buckets, int64(b))
		}
	}
	return buckets
}

// OfBucket returns the index of the shard that has a bucket. The error wraps [ErrMap] for a bucket that there is not.
func (m *Map) OfBucket(bucket int64) (int, error) {
	if uint64(bucket) >= uint64(len(m.of)) {
		return 0, fmt.Errorf("%w: bucket %d, there are %d from 0", ErrMap, bucket, len(m.of))
	}
	return int(m.of[bucket]), nil
}

// Bucket returns the bucket of an id; legacy is true for one from before, which has none. The error wraps [ErrID].
func (m *Map) Bucket(id int64) (bucket int64, legacy bool, err error) {
	switch {
	case id >= 0 && id < m.legacy.Below:
		return 0, true, nil
	case uint64(id) >= m.ids:
		return 0, false, m.errID(id)
	}
	return int64(uint64(id) >> m.shift & m.mask), false, nil
}

func (m *Map) errID(id int64) error {
	if len(m.of) == 0 {
		return fmt.Errorf("%w: %d, the zero Map has none", ErrID, id)
	}
	return fmt.Errorf("%w: %d, those of %s are 0 to %d", ErrID, id, m.layout, m.ids-1)
}

// OfID returns the index of the shard that has the row of an id. It allocates nothing. The error wraps [ErrID].
func (m *Map) OfID(id int64) (int, error) {
	switch {
	case id >= 0 && id < m.legacy.Below:
		return m.old, nil
	case uint64(id) >= m.ids:
		return 0, m.errID(id)
	}
	return int(m.of[uint64(id)>>m.shift&m.mask]), nil
}

// OfKey appends to dst the indexes of the shards that have rows of a sharding key, ascending, each once: one, and more of a key that is spread or
// may have rows from before. It allocates nothing when dst has room. The error wraps [ErrKey].
func (m *Map) OfKey(dst []int, key any) ([]int, error) {
	sum, err := m.sum(key)
	if err != nil {
		return dst, err
	}
	if len(m.spread) > 0 {
		if s, ok := m.spread[sum]; ok {
			return append(dst, s.shards...), nil
		}
	}
	i := int(m.of[sum&m.mask])
	switch {
	case m.old < 0 || m.old == i:
		return append(dst, i), nil
	case m.old < i:
		return append(dst, m.old, i), nil
	default:
		return append(dst, i, m.old), nil
	}
}

// Place returns the bucket for a new row of a sharding key; of one that is spread over k buckets the turn, any number, chooses which. It allocates
// nothing. The error wraps [ErrKey].
func (m *Map) Place(key any, turn uint64) (bucket int64, err error) {
	sum, err := m.sum(key)
	if err != nil {
		return 0, err
	}
	return int64((sum + turn&(m.over(sum)-1)) & m.mask), nil
}

// Check returns a [DisagreeError] unless an id is of one of the buckets of a sharding key, or from before. Other errors wrap [ErrID] or [ErrKey]. It
// allocates nothing but for an error.
func (m *Map) Check(id int64, key any) error {
	bucket, legacy, err := m.Bucket(id)
	if err != nil {
		return err
	}
	sum, err := m.sum(key)
	if err != nil {
		return err
	}
	if over := m.over(sum); !legacy && (uint64(bucket)-sum)&m.mask >= over {
		e := &DisagreeError{ID: id, Key: key, Bucket: bucket}
		for i := range over {
			e.Buckets = append(e.Buckets, int64((sum+i)&m.mask))
		}
		return e
	}
	return nil
}

// sum returns the mix of a sharding key.
func (m *Map) sum(key any) (uint64, error) {
	if len(m.of) == 0 {
		return 0, fmt.Errorf("%w: the zero Map has no buckets", ErrMap)
	}
	return Sum(key)
}
