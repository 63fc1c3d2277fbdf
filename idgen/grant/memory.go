package grant

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// Memory returns a store in memory, for tests and for generators of one process. Its clock is the function given, that of the machine
// when it is nil.
func Memory(now func() time.Time) Store {
	if now == nil {
		now = time.Now
	}
	return &memory{now: now, spaces: map[string]*memorySpace{}}
}

type memory struct {
	now    func() time.Time
	mu     sync.Mutex
	spaces map[string]*memorySpace // guarded by mu
}

type memorySpace struct {
	layout string
	rows   map[int64]Row
}

func (m *memory) Prepare(ctx context.Context, space, layout string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.spaces[space]
	if s == nil {
		s = &memorySpace{layout: layout, rows: map[int64]Row{}}
		m.spaces[space] = s
	}
	return s.layout, nil
}

func (m *memory) List(ctx context.Context, space string, least, most int64) (Listing, error) {
	if err := ctx.Err(); err != nil {
		return Listing{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	l := Listing{Now: m.now().UTC()}
	if s := m.spaces[space]; s != nil {
		for _, n := range slices.Sorted(maps.Keys(s.rows)) {
			if least <= n && n <= most {
				l.Rows = append(l.Rows, s.rows[n])
			}
		}
	}
	return l, nil
}

func (m *memory) Swap(ctx context.Context, space string, old, new Row) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.spaces[space]
	if s == nil {
		return false, nil
	}
	row, found := s.rows[old.Number]
	if old.Holder == Absent && found || old.Holder != Absent && (!found || row.Holder != old.Holder || row.Until != old.Until) {
		return false, nil
	}
	s.rows[old.Number] = new
	return true, nil
}
