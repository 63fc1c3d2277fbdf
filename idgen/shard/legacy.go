package shard

import "fmt"

// Legacy says where the rows are that are older than the sharding.
type Legacy struct {
	Below int64  `json:"below,string"` // all ids below are such; the least id that was made with a bucket, or less
	Shard string `json:"shard"`        // the name of the shard that has them; it may have buckets too, or none, see [Map.WithShards]
}

// WithLegacy returns the map with the place of the rows from before, which cannot be changed later but for a greater Below, as long as no id less than
// that was made with a bucket: it would be looked for in the wrong place. The error wraps [ErrMap], also for a Below that is not positive, or so
// great that some bucket has no ids from it up. In a layout with the bucket on top that is bucket 0, whose ids are less than those of the others;
// only small ids from before, of an auto-increment for instance, have a limit there.
func (m *Map) WithLegacy(l Legacy) (*Map, error) {
	next, err := m.next()
	if err != nil {
		return nil, err
	}
	if was, ok := m.Legacy(); ok && (l.Shard != was.Shard || l.Below <= was.Below) {
		return nil, fmt.Errorf("%w: ids below %d are in shard %s, which can only become more: not those below %d in %s", ErrMap, was.Below, was.Shard, l.Below, l.Shard)
	}
	if next.legacy = l; l == (Legacy{}) {
		return nil, fmt.Errorf("%w: no ids from before, Below has to be positive", ErrMap)
	}
	return next.derive()
}

func (m *Map) checkLegacy() error {
	most := int64(m.ids-1) &^ int64(m.mask<<m.shift) // the greatest id of bucket 0
	switch {
	case m.legacy.Below <= 0 || m.legacy.Below > most:
		return fmt.Errorf("%w: ids from before are below %d, want 1 to %d, so that new ones can be above", ErrMap, m.legacy.Below, most)
	case m.index(m.legacy.Shard) < 0:
		return fmt.Errorf("%w: the rows from before are in shard %q, which has to be there", ErrMap, m.legacy.Shard)
	}
	return nil
}
