package shard_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/shard"
)

// TestLegacy: ids from before are routed by their number alone, and rows of a key may be there and in its bucket.
func TestLegacy(t *testing.T) {
	const below = 250316521226241024
	m := made(t)(shard.NewMap(sharded, shard.Tables(4)...))
	m = made(t)(m.WithShards(shard.Shard{Name: "before"}))
	m = made(t)(m.WithLegacy(shard.Legacy{Below: below, Shard: "before"}))
	if l, ok := m.Legacy(); !ok || l != (shard.Legacy{Below: below, Shard: "before"}) {
		t.Errorf("Legacy() = %v, %v", l, ok)
	}
	for _, id := range []int64{0, 1, 42, 1 << 40, below - 1} {
		i, err := m.OfID(id)
		if err != nil || m.Shard(i).Name != "before" {
			t.Errorf("OfID(%d) = %d, %v, want the shard of the rows from before", id, i, err)
		}
		if b, legacy, err := m.Bucket(id); b != 0 || !legacy || err != nil {
			t.Errorf("Bucket(%d) = %d, %v, %v, want none", id, b, legacy, err)
		}
		if err := m.Check(id, "any key"); err != nil {
			t.Errorf("Check(%d): %v", id, err)
		}
		if err := m.Check(id, nil); !errors.Is(err, shard.ErrKey) {
			t.Errorf("Check(%d, nil): %v, want ErrKey", id, err)
		}
	}
	for _, id := range []int64{below, below + 1, math.MaxInt64} {
		if i, err := m.OfID(id); err != nil || i != int(id%4) {
			t.Errorf("OfID(%d) = %d, %v, want %d", id, i, err, id%4)
		}
	}
	if _, err := m.OfID(-1); !errors.Is(err, shard.ErrID) {
		t.Errorf("OfID(-1): %v, want ErrID", err)
	}
	for _, key := range []any{int64(1), int64(-5), "acme"} {
		bucket, err := m.Place(key, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := m.OfKey(nil, key); err != nil || !slices.Equal(got, []int{int(bucket % 4), 4}) {
			t.Errorf("OfKey(%v) = %v, %v, want its shard and that of the rows from before", key, got, err)
		}
	}
	hot := made(t)(m.Spread("acme", 4))
	if got, err := hot.OfKey(nil, "acme"); err != nil || !slices.Equal(got, []int{0, 1, 2, 3, 4}) {
		t.Errorf("OfKey of a key that is spread = %v, %v, want all", got, err)
	}
}

// TestLegacyInAShardWithBuckets: no shard is named twice.
func TestLegacyInAShardWithBuckets(t *testing.T) {
	m := made(t)(shard.NewMap(sharded, shard.Tables(4)...))
	m = made(t)(m.WithLegacy(shard.Legacy{Below: 1000, Shard: "02"}))
	for key := range 100 {
		bucket, err := m.Place(key, 0)
		if err != nil {
			t.Fatal(err)
		}
		want := []int{2, int(bucket % 4)}
		slices.Sort(want)
		if got, err := m.OfKey(nil, key); err != nil || !slices.Equal(got, slices.Compact(want)) {
			t.Errorf("OfKey(%d) = %v, %v, want %v", key, got, err, slices.Compact(want))
		}
	}
}

func TestLegacyErrors(t *testing.T) {
	m := made(t)(shard.NewMap(sharded, shard.Tables(4)...))
	for name, l := range map[string]shard.Legacy{
		"none":                {},
		"zero":                {Shard: "00"},
		"negative":            {Below: -1, Shard: "00"},
		"no shard":            {Below: 1000},
		"another shard":       {Below: 1000, Shard: "04"},
		"above bucket 0's":    {Below: math.MaxInt64 - 1022, Shard: "00"},
		"the greatest number": {Below: math.MaxInt64, Shard: "00"},
	} {
		if next, err := m.WithLegacy(l); !errors.Is(err, shard.ErrMap) || next != nil {
			t.Errorf("%s: %v, %v, want ErrMap", name, next, err)
		}
	}
	made(t)(m.WithLegacy(shard.Legacy{Below: math.MaxInt64 - 1023, Shard: "00"}))
	m = made(t)(m.WithLegacy(shard.Legacy{Below: 1000, Shard: "01"}))
	for name, l := range map[string]shard.Legacy{"less": {Below: 999, Shard: "01"}, "the same": {Below: 1000, Shard: "01"}, "another shard": {Below: 2000, Shard: "02"}, "none": {}} {
		if _, err := m.WithLegacy(l); !errors.Is(err, shard.ErrMap) {
			t.Errorf("%s than was: %v, want ErrMap", name, err)
		}
	}
	if m = made(t)(m.WithLegacy(shard.Legacy{Below: 1001, Shard: "01"})); m.Version() != 3 {
		t.Errorf("version %d, want 3", m.Version())
	}
	// With the bucket on top, ids of bucket 0 are small; no limit may leave none of them.
	top := made(t)(shard.NewMap(idgen.Scattered.Layout, shard.Tables(4)...))
	if _, err := top.WithLegacy(shard.Legacy{Below: 1 << 53, Shard: "00"}); !errors.Is(err, shard.ErrMap) {
		t.Errorf("bucket on top: %v, want ErrMap", err)
	}
	made(t)(top.WithLegacy(shard.Legacy{Below: 1<<53 - 1, Shard: "00"}))
}

// What was made in several changes is one map, of version 1.
func TestFirst(t *testing.T) {
	m, err := shard.NewMap(idgen.Sharded.Layout, shard.Tables(4)...)
	if err != nil {
		t.Fatal(err)
	}
	m, err = m.WithShards(shard.Shard{Name: "old"})
	if err != nil {
		t.Fatal(err)
	}
	m, err = m.WithLegacy(shard.Legacy{Below: 1000, Shard: "old"})
	if err != nil {
		t.Fatal(err)
	}
	first := m.First()
	if i, err := first.OfID(999); err != nil || first.Version() != 1 || first.Shard(i).Name != "old" {
		t.Errorf("version %d, id 999 in shard %d, %v; want version 1, and the shard of the rows from before", first.Version(), i, err)
	}
	if m.Version() != 3 {
		t.Errorf("the map itself is of version %d now, want 3", m.Version())
	}
}
