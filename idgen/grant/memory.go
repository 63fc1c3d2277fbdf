package grant

import (
	"cmp"
	"context"
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
	return &memory{now: now, spaces: map[string]*contents{}}
}

type memory struct {
	now    func() time.Time
	mu     sync.Mutex
	spaces map[string]*contents // guarded by mu
}

// contents is a space as a [Memory] keeps it, and a [File] as JSON.
type contents struct {
	Layout string `json:"layout"`
	ID     string `json:"id"`
	Mark   int64  `json:"mark"`
	Made   int64  `json:"made"`
	Absent int64  `json:"absent,omitempty"`
	Rows   []Row  `json:"rows"` // by number
	Losses []Loss `json:"losses,omitempty"`
}

// MostLosses is how many losses of a space a store keeps at the least: the last ones, as many as most layouts have numbers.
const MostLosses = 1024

func (c *contents) list(now time.Time, least, most int64) Listing {
	if c == nil {
		return Listing{Now: now}
	}
	l := Listing{Now: now, ID: c.ID, Mark: c.Mark, Gone: c.gone(), Absent: c.Absent}
	for _, row := range c.Rows {
		if least <= row.Number && row.Number <= most {
			l.Rows = append(l.Rows, row)
		}
	}
	return l
}

func (c *contents) swap(old, new Row) bool {
	if c == nil {
		return false
	}
	at, there := slices.BinarySearchFunc(c.Rows, old.Number, func(row Row, number int64) int { return cmp.Compare(row.Number, number) })
	switch {
	case old.Holder == Absent && !there:
		if c.list(time.Time{}, 0, -1).held() > new.From {
			return false
		}
		c.Rows = slices.Insert(c.Rows, at, new)
		c.Made++
	case old.Holder != Absent && there && c.Rows[at].Holder == old.Holder && c.Rows[at].Until == old.Until:
		c.Rows[at] = new
	default:
		return false
	}
	if new.Until < Forever {
		c.Mark = max(c.Mark, new.Until)
	}
	return true
}

// gone returns how many rows are.
func (c *contents) gone() int64 { return max(0, c.Made-int64(len(c.Rows))) }

// repair has numbers without a row held, if some may be of rows that are gone, and returns whether.
func (c *contents) repair() bool {
	if c.gone() == 0 {
		return false
	}
	c.Absent, c.Made = max(c.Absent, c.Mark), int64(len(c.Rows))
	return true
}

// move is [Store.Move] among spaces.
func move(spaces map[string]*contents, space, to, old, new string, most int64) bool {
	c := spaces[space]
	if c == nil || c.Layout != old || c.Mark > most || spaces[to] != nil {
		return false
	}
	c.Layout = new
	spaces[to], spaces[space] = c, &contents{Layout: new, ID: c.ID, Absent: Forever}
	return true
}

func (c *contents) record(loss Loss) {
	if c != nil {
		c.Losses = append(c.Losses, loss)
		c.Losses = c.Losses[max(0, len(c.Losses)-MostLosses):]
	}
}

func (m *memory) Prepare(ctx context.Context, space, layout string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.spaces[space] == nil {
		m.spaces[space] = &contents{Layout: layout, ID: randomID()}
	}
	m.spaces[space].repair()
	return m.spaces[space].Layout, nil
}

func (m *memory) List(ctx context.Context, space string, least, most int64) (Listing, error) {
	if err := ctx.Err(); err != nil {
		return Listing{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.spaces[space].list(m.now().UTC(), least, most), nil
}

func (m *memory) Swap(ctx context.Context, space string, old, new Row) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.spaces[space].swap(old, new), nil
}

func (m *memory) Move(ctx context.Context, space, to, old, new string, most int64) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return move(m.spaces, space, to, old, new, most), nil
}

func (m *memory) Record(ctx context.Context, space string, loss Loss) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.spaces[space].record(loss)
	return nil
}

func (m *memory) Losses(ctx context.Context, space string) ([]Loss, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.spaces[space] == nil {
		return nil, nil
	}
	return slices.Clone(m.spaces[space].Losses), nil
}
