package shard

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// Shard is where buckets are: in the tables with a suffix, of a database.
type Shard struct {
	Name     string `json:"name"`               // unique in its map; letters, digits, and -_. after the first, up to 63
	Database string `json:"database,omitempty"` // a name, of the same form, for the database that it is in; empty for the one that has the map
	Suffix   string `json:"suffix,omitempty"`   // of the names of its tables: "_07" makes orders_07 of orders; letters, digits and underlines, up to 32
}

// Table returns the name of the shard's table, of the name that all have in common.
func (s Shard) Table(base string) string { return base + s.Suffix }

// place is what no two shards of a map have in common. Databases tell names of tables apart by their case or not.
func (s Shard) place() string { return s.Database + ":" + strings.ToLower(s.Suffix) }

// Tables returns n shards of one database: "00" with the suffix "_00", and so on, with as many digits as the last one needs, at least two.
func Tables(n int) []Shard {
	if n <= 0 {
		return nil
	}
	digits := max(2, len(strconv.Itoa(n-1)))
	shards := make([]Shard, n)
	for i := range shards {
		name := fmt.Sprintf("%0*d", digits, i)
		shards[i] = Shard{Name: name, Suffix: "_" + name}
	}
	return shards
}

// Map says which shard has which bucket. It is immutable: a change gives another, of the next version. Safe for concurrent use. The zero Map has
// no buckets; what is asked of it is an error.
type Map struct {
	version int64
	layout  idgen.Layout
	shards  []Shard
	of      []uint16      // by bucket, the index of its shard
	lease   time.Duration // 0 for the usual one
	legacy  Legacy        // Below is 0 without
	spread  map[uint64]spread

	// What follows from the above, see derive.
	ids   uint64 // how many the layout has: those from 0 up
	shift uint8  // of the layout's shard field
	mask  uint64 // of a bucket
	old   int    // the index of the shard of the rows from before, -1 without
}

// The greatest width of the shard field of a map's layout: a map lists its buckets.
const maxMapBits = 16

// NewMap returns a map of version 1 in which bucket b is in shard b % len(shards). The error wraps [ErrMap] for no shards, more of them than
// buckets, a name or a place that is given twice, or a name or suffix that is no identifier; and [ErrLayout] for a layout without a shard field or
// with one of more than 16 bits.
func NewMap(layout idgen.Layout, shards ...Shard) (*Map, error) {
	m := &Map{version: 1, layout: layout, shards: slices.Clone(shards)}
	if err := m.checkLayout(); err != nil {
		return nil, err
	}
	buckets := int(layout.Max(idgen.Shard)) + 1
	if len(shards) == 0 || len(shards) > buckets {
		return nil, fmt.Errorf("%w: %d shards for %d buckets, a shard needs one at least", ErrMap, len(shards), buckets)
	}
	m.of = make([]uint16, buckets)
	for b := range m.of {
		m.of[b] = uint16(b % len(shards))
	}
	return m.derive()
}

// next returns a copy to be changed, of the next version.
func (m *Map) next() (*Map, error) {
	if len(m.of) == 0 {
		return nil, fmt.Errorf("%w: the zero Map has no buckets", ErrMap)
	}
	return &Map{
		version: m.version + 1, layout: m.layout, shards: slices.Clone(m.shards), of: slices.Clone(m.of),
		lease: m.lease, legacy: m.legacy, spread: maps.Clone(m.spread),
	}, nil
}

// derive checks the shards and the rows from before, and works out what follows from them. It ends the making of a map.
func (m *Map) derive() (*Map, error) {
	if err := m.checkShards(); err != nil {
		return nil, err
	}
	total := 0
	for _, f := range slices.Backward(m.layout.Fields()) {
		if f.Kind == idgen.Shard {
			m.shift = uint8(total)
		}
		total += f.Bits
	}
	m.ids, m.mask, m.old = 1<<total, uint64(len(m.of)-1), -1
	if m.legacy != (Legacy{}) {
		if err := m.checkLegacy(); err != nil {
			return nil, err
		}
		m.old = m.index(m.legacy.Shard)
	}
	for sum, s := range m.spread {
		s.shards = m.spreadShards(sum, s.over)
		m.spread[sum] = s
	}
	return m, nil
}

// check returns an error when there is no map, or just the zero one.
func (m *Map) check() error {
	if m == nil || len(m.of) == 0 {
		return fmt.Errorf("%w: no map", ErrMap)
	}
	return nil
}

func (m *Map) checkLayout() error {
	switch bits := m.layout.Bits(idgen.Shard); {
	case bits == 0:
		return fmt.Errorf("%w: %s has no shard field", ErrLayout, m.layout)
	case bits > maxMapBits:
		return fmt.Errorf("%w: %s has %d bits for the bucket, a map at most %d", ErrLayout, m.layout, bits, maxMapBits)
	}
	return nil
}

var (
	shardName   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$`)
	shardSuffix = regexp.MustCompile(`^[A-Za-z0-9_]{0,32}$`)
)

func (m *Map) checkShards() error {
	if len(m.shards) > 1<<maxMapBits {
		return fmt.Errorf("%w: %d shards, at most %d", ErrMap, len(m.shards), 1<<maxMapBits)
	}
	names, places := make(map[string]bool, len(m.shards)), make(map[string]string, len(m.shards))
	for _, s := range m.shards {
		switch other, taken := places[s.place()]; {
		case !shardName.MatchString(s.Name):
			return fmt.Errorf("%w: the shard's name %q, want letters, digits, and -_. after the first, up to 63", ErrMap, s.Name)
		case s.Database != "" && !shardName.MatchString(s.Database):
			return fmt.Errorf("%w: shard %s: the database's name %q, want letters, digits, and -_. after the first, up to 63", ErrMap, s.Name, s.Database)
		case !shardSuffix.MatchString(s.Suffix):
			return fmt.Errorf("%w: shard %s: the suffix %q, want letters, digits and underlines, up to 32", ErrMap, s.Name, s.Suffix)
		case names[strings.ToLower(s.Name)]:
			return fmt.Errorf("%w: two shards are named %s, whatever the case of letters", ErrMap, s.Name)
		case taken:
			return fmt.Errorf("%w: the shards %s and %s are both in database %q with the suffix %q", ErrMap, other, s.Name, s.Database, s.Suffix)
		}
		names[strings.ToLower(s.Name)], places[s.place()] = true, s.Name
	}
	return nil
}

// index returns the index of the shard with a name, -1 without one.
func (m *Map) index(name string) int {
	return slices.IndexFunc(m.shards, func(s Shard) bool { return s.Name == name })
}

// Version returns the version, from 1.
func (m *Map) Version() int64 { return m.version }

// First returns the map as one of version 1, for [Store.Create]: what was made in several changes, with rows from before for instance, is to be in
// force all at once.
func (m *Map) First() *Map {
	first := *m
	first.version = 1
	return &first
}

// Layout returns the layout of the ids.
func (m *Map) Layout() idgen.Layout { return m.layout }

// Fits returns an error that wraps [ErrLayout] when a layout is not the map's: with other widths, an id has another bucket.
func (m *Map) Fits(layout idgen.Layout) error {
	if layout != m.layout {
		return fmt.Errorf("%w: ids are made with %s, the map is of %s", ErrLayout, layout, m.layout)
	}
	return nil
}

// Buckets returns how many there are.
func (m *Map) Buckets() int64 { return int64(len(m.of)) }

// Shards returns a copy of the shards; those that the other methods name by an index are in it, in this order.
func (m *Map) Shards() []Shard { return slices.Clone(m.shards) }

// Shard returns the shard with an index that the map has given, without a copy of all. It is the zero Shard for another.
func (m *Map) Shard(index int) Shard {
	if index < 0 || index >= len(m.shards) {
		return Shard{}
	}
	return m.shards[index]
}

// Legacy returns where the rows from before are; ok is false when there are none.
func (m *Map) Legacy() (l Legacy, ok bool) { return m.legacy, m.legacy.Below > 0 }
