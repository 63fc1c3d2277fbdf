package shard

import (
	"fmt"
	"time"
)

// The limits of a map's lease, and what it is when nobody has said.
const (
	leastLease   = time.Millisecond
	greatLease   = time.Hour
	defaultLease = 10 * time.Second
)

// Lease returns for how long a process may route by the map without a look whether it is still the one in force, 10 s unless [Map.WithLease] says
// more or less. It is in the map because two have to agree on it: who routes, and who moves rows and removes them where they were.
func (m *Map) Lease() time.Duration {
	if m.lease == 0 {
		return defaultLease
	}
	return m.lease
}

// WithLease returns the map with another lease, 1 ms to 1 h. One that was in force can only become longer: processes that have it keep to it. The
// error wraps [ErrMap].
func (m *Map) WithLease(lease time.Duration) (*Map, error) {
	next, err := m.next()
	if err != nil {
		return nil, err
	}
	if m.version > 1 && lease < m.Lease() {
		return nil, fmt.Errorf("%w: lease %s, it was %s and can only become longer", ErrMap, lease, m.Lease())
	}
	if err := checkLease(lease); err != nil {
		return nil, err
	}
	if next.lease = lease; lease == defaultLease {
		next.lease = 0
	}
	return next.derive()
}

func checkLease(lease time.Duration) error {
	if lease < leastLease || lease > greatLease {
		return fmt.Errorf("%w: lease %s, want %s to %s", ErrMap, lease, leastLease, greatLease)
	}
	return nil
}
