package shard_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/shard"
)

var sharded = idgen.Sharded.Layout

// made returns a map, or what a change of one returns.
func made(t testing.TB) func(m *shard.Map, err error) *shard.Map {
	return func(m *shard.Map, err error) *shard.Map {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
}

// owned returns the buckets of each shard, and fails when one is not in just one shard.
func owned(t testing.TB, m *shard.Map) map[string][]int64 {
	t.Helper()
	by := map[string][]int64{}
	for b := range m.Buckets() {
		i, err := m.OfBucket(b)
		if err != nil {
			t.Fatal(err)
		}
		name := m.Shard(i).Name
		if name == "" || m.Shards()[i].Name != name {
			t.Fatalf("bucket %d is in shard %d, which is %q", b, i, name)
		}
		by[name] = append(by[name], b)
	}
	return by
}

// idOf returns an id with a bucket, of a layout.
func idOf(t testing.TB, layout idgen.Layout, bucket int64) int64 {
	t.Helper()
	node := min(5, layout.Max(idgen.Node))
	id, err := layout.Compose(idgen.Parts{Time: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Node: node, Sequence: 9, Shard: bucket})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestTables(t *testing.T) {
	if got := shard.Tables(0); got != nil {
		t.Errorf("Tables(0) = %v, want none", got)
	}
	got := shard.Tables(16)
	if len(got) != 16 || got[0] != (shard.Shard{Name: "00", Suffix: "_00"}) || got[15].Table("orders") != "orders_15" {
		t.Errorf("Tables(16) = %v", got)
	}
	if got := shard.Tables(101); got[7].Suffix != "_007" || got[100].Suffix != "_100" {
		t.Errorf("Tables(101) = %v", got)
	}
	if got := shard.Tables(100); got[99].Suffix != "_99" {
		t.Errorf("Tables(100) = %v", got)
	}
}

func TestNewMap(t *testing.T) {
	m := made(t)(shard.NewMap(sharded, shard.Tables(6)...))
	if m.Version() != 1 || m.Layout() != sharded || m.Buckets() != 1024 || len(m.Shards()) != 6 {
		t.Errorf("version %d, layout %s, %d buckets, %d shards", m.Version(), m.Layout(), m.Buckets(), len(m.Shards()))
	}
	for b := range m.Buckets() {
		if got, err := m.OfBucket(b); err != nil || got != int(b%6) {
			t.Errorf("OfBucket(%d) = %d, %v, want %d", b, got, err, b%6)
		}
	}
	m.Shards()[0].Suffix = "_changed"
	if got := m.Shard(0).Suffix; got != "_00" {
		t.Errorf("a copy of the shards has changed the map's: %s", got)
	}
	for _, b := range []int64{-1, 1024, math.MaxInt64, math.MinInt64} {
		if _, err := m.OfBucket(b); !errors.Is(err, shard.ErrMap) {
			t.Errorf("OfBucket(%d): %v, want ErrMap", b, err)
		}
	}
	if m.Shard(-1) != (shard.Shard{}) || m.Shard(6) != (shard.Shard{}) {
		t.Error("a shard of an index that there is not")
	}
	if _, ok := m.Legacy(); ok {
		t.Error("rows from before, of which nobody said anything")
	}
}

func TestNewMapErrors(t *testing.T) {
	wide := must(t, idgen.Shard.Bits(17), idgen.Time.Bits(41))
	narrow := must(t, idgen.Time.Bits(41), idgen.Node.Bits(8), idgen.Shard.Bits(2))
	for name, c := range map[string]struct {
		layout idgen.Layout
		shards []shard.Shard
		want   error
	}{
		"no shards":                    {sharded, nil, shard.ErrMap},
		"more shards than buckets":     {narrow, shard.Tables(5), shard.ErrMap},
		"a name twice":                 {sharded, []shard.Shard{{Name: "a", Suffix: "_1"}, {Name: "a", Suffix: "_2"}}, shard.ErrMap},
		"a name twice in another case": {sharded, []shard.Shard{{Name: "a", Suffix: "_1"}, {Name: "A", Suffix: "_2"}}, shard.ErrMap},
		"a place twice":                {sharded, []shard.Shard{{Name: "a", Suffix: "_1"}, {Name: "b", Suffix: "_1"}}, shard.ErrMap},
		"a table twice on SQLite":      {sharded, []shard.Shard{{Name: "a", Suffix: "_x"}, {Name: "b", Suffix: "_X"}}, shard.ErrMap},
		"no name":                      {sharded, []shard.Shard{{Suffix: "_1"}}, shard.ErrMap},
		"a name with a space":          {sharded, []shard.Shard{{Name: "a b"}}, shard.ErrMap},
		"a name with a line's end":     {sharded, []shard.Shard{{Name: "a\n"}}, shard.ErrMap},
		"a long name":                  {sharded, []shard.Shard{{Name: strings.Repeat("a", 64)}}, shard.ErrMap},
		"a suffix with quotes":         {sharded, []shard.Shard{{Name: "a", Suffix: `_"; DROP TABLE orders`}}, shard.ErrMap},
		"a suffix with a dot":          {sharded, []shard.Shard{{Name: "a", Suffix: "_1.b"}}, shard.ErrMap},
		"a long suffix":                {sharded, []shard.Shard{{Name: "a", Suffix: strings.Repeat("_", 33)}}, shard.ErrMap},
		"a database with a colon":      {sharded, []shard.Shard{{Name: "a", Database: "b:c"}}, shard.ErrMap},
		"a layout without shards":      {idgen.Snowkey.Layout, shard.Tables(2), shard.ErrLayout},
		"the zero layout":              {idgen.Layout{}, shard.Tables(2), shard.ErrLayout},
		"too many buckets":             {wide, shard.Tables(2), shard.ErrLayout},
	} {
		if m, err := shard.NewMap(c.layout, c.shards...); !errors.Is(err, c.want) || m != nil {
			t.Errorf("%s: %v, %v, want %v", name, m, err, c.want)
		}
	}
	if _, err := shard.NewMap(sharded, shard.Shard{Name: "east", Database: "a", Suffix: "_1"}, shard.Shard{Name: "west", Database: "b", Suffix: "_1"}); err != nil {
		t.Errorf("one suffix in two databases: %v", err)
	}
}

// must returns a layout of some fields.
func must(t testing.TB, fields ...idgen.Field) idgen.Layout {
	t.Helper()
	l, err := idgen.NewLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond, fields...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestRouting: wherever the shard field is, an id and its sharding key lead to the same shard.
func TestRouting(t *testing.T) {
	for name, layout := range map[string]idgen.Layout{
		"bucket below":  sharded,
		"bucket on top": idgen.Scattered.Layout,
		"in the middle": must(t, idgen.Time.Bits(40), idgen.Shard.Bits(13), idgen.Sequence.Bits(10)),
	} {
		t.Run(name, func(t *testing.T) {
			m := made(t)(shard.NewMap(layout, shard.Tables(7)...))
			for _, key := range []any{int64(42), int64(-42), int64(math.MinInt64), uint64(1<<63 + 5), uint64(math.MaxUint64), "acme", "", []byte{0xff}, [16]byte{1}} {
				bucket, err := m.Place(key, 12345)
				if want, _ := shard.Bucket(layout, key); err != nil || bucket != want {
					t.Errorf("Place(%v) = %d, %v, want %d", key, bucket, err, want)
				}
				id := idOf(t, layout, bucket)
				if got, legacy, err := m.Bucket(id); got != bucket || legacy || err != nil {
					t.Errorf("Bucket(%d) = %d, %v, %v, want %d", id, got, legacy, err, bucket)
				}
				if layout == sharded && (id&1023 != bucket || id%8 != bucket%8) {
					t.Errorf("%d&1023 is not bucket %d", id, bucket)
				}
				byID, err := m.OfID(id)
				if err != nil || byID != int(bucket%7) {
					t.Errorf("OfID(%d) = %d, %v, want %d", id, byID, err, bucket%7)
				}
				if got, err := m.OfKey(nil, key); err != nil || !slices.Equal(got, []int{byID}) {
					t.Errorf("OfKey(%v) = %v, %v, want %d", key, got, err, byID)
				}
				if err := m.Check(id, key); err != nil {
					t.Errorf("Check(%d, %v): %v", id, key, err)
				}
			}
		})
	}
}

func TestOfKeyAppends(t *testing.T) {
	m := made(t)(shard.NewMap(sharded, shard.Tables(4)...))
	first, err := m.OfKey([]int{9}, 1)
	if err != nil || len(first) != 2 || first[0] != 9 {
		t.Errorf("OfKey([9], 1) = %v, %v", first, err)
	}
	if got, err := m.OfKey(first, nil); !errors.Is(err, shard.ErrKey) || !slices.Equal(got, first) {
		t.Errorf("OfKey(%v, nil) = %v, %v, want what was given and ErrKey", first, got, err)
	}
	if _, err := m.Place(nil, 0); !errors.Is(err, shard.ErrKey) {
		t.Errorf("Place(nil): %v, want ErrKey", err)
	}
}

func TestDisagree(t *testing.T) {
	m := made(t)(shard.NewMap(sharded, shard.Tables(4)...))
	bucket, _ := m.Place(int64(42), 0)
	id := idOf(t, sharded, (bucket+1)%1024)
	err := m.Check(id, int64(42))
	var disagree *shard.DisagreeError
	if !errors.Is(err, shard.ErrDisagree) || !errors.As(err, &disagree) {
		t.Fatalf("Check of another bucket's id: %v, want a DisagreeError", err)
	}
	if disagree.ID != id || disagree.Key != any(int64(42)) || disagree.Bucket != (bucket+1)%1024 || !slices.Equal(disagree.Buckets, []int64{bucket}) {
		t.Errorf("the error says %+v", disagree)
	}
	if err := m.Check(idOf(t, sharded, (bucket+1023)%1024), int64(42)); !errors.Is(err, shard.ErrDisagree) {
		t.Errorf("Check of the bucket before: %v, want ErrDisagree", err)
	}
	if err := m.Check(id, nil); !errors.Is(err, shard.ErrKey) {
		t.Errorf("Check without a key: %v, want ErrKey", err)
	}
	if err := m.Check(-1, int64(42)); !errors.Is(err, shard.ErrID) {
		t.Errorf("Check of a negative id: %v, want ErrID", err)
	}
}

func TestErrID(t *testing.T) {
	short := must(t, idgen.Time.Bits(31), idgen.Node.Bits(4), idgen.Sequence.Bits(7), idgen.Shard.Bits(8)) // 50 bits
	m := made(t)(shard.NewMap(short, shard.Tables(4)...))
	if got, err := m.OfID(1<<50 - 1); err != nil || got != 3 {
		t.Errorf("OfID of the greatest = %d, %v, want 3", got, err)
	}
	for _, id := range []int64{-1, math.MinInt64, 1 << 50, math.MaxInt64} {
		if _, err := m.OfID(id); !errors.Is(err, shard.ErrID) {
			t.Errorf("OfID(%d): %v, want ErrID", id, err)
		}
		if _, _, err := m.Bucket(id); !errors.Is(err, shard.ErrID) {
			t.Errorf("Bucket(%d): %v, want ErrID", id, err)
		}
	}
	full := made(t)(shard.NewMap(must(t, idgen.Time.Bits(53), idgen.Shard.Bits(10)), shard.Tables(4)...)) // 63 bits
	if got, err := full.OfID(math.MaxInt64); err != nil || got != 3 {
		t.Errorf("OfID of the greatest of 63 bits = %d, %v, want 3", got, err)
	}
}

// TestOtherWidths: a map tells which ids it is of.
func TestOtherWidths(t *testing.T) {
	m := made(t)(shard.NewMap(sharded, shard.Tables(4)...))
	if err := m.Fits(sharded); err != nil {
		t.Error(err)
	}
	other := must(t, idgen.Time.Bits(41), idgen.Node.Bits(8), idgen.Sequence.Bits(5), idgen.Shard.Bits(9))
	for name, layout := range map[string]idgen.Layout{"other widths": other, "bucket on top": idgen.Scattered.Layout, "none": {}} {
		if err := m.Fits(layout); !errors.Is(err, shard.ErrLayout) {
			t.Errorf("%s: %v, want ErrLayout", name, err)
		}
	}
	if _, err := m.Moves(made(t)(shard.NewMap(other, shard.Tables(4)...))); !errors.Is(err, shard.ErrMap) {
		t.Errorf("moves to another layout: %v, want ErrMap", err)
	}
}

func TestZeroMap(t *testing.T) {
	var m shard.Map
	for name, call := range map[string]func() error{
		"OfBucket":    func() error { _, err := m.OfBucket(0); return err },
		"OfKey":       func() error { _, err := m.OfKey(nil, 1); return err },
		"Place":       func() error { _, err := m.Place(1, 0); return err },
		"Grow":        func() error { _, err := m.Grow(shard.Tables(1)...); return err },
		"Shrink":      func() error { _, err := m.Shrink("00"); return err },
		"Move":        func() error { _, err := m.Move("00", 1); return err },
		"Spread":      func() error { _, err := m.Spread(1, 2); return err },
		"WithLegacy":  func() error { _, err := m.WithLegacy(shard.Legacy{Below: 1}); return err },
		"WithShards":  func() error { _, err := m.WithShards(shard.Tables(1)...); return err },
		"Moves":       func() error { _, err := m.Moves(&m); return err },
		"MarshalJSON": func() error { _, err := m.MarshalJSON(); return err },
	} {
		if err := call(); !errors.Is(err, shard.ErrMap) {
			t.Errorf("%s of the zero Map: %v, want ErrMap", name, err)
		}
	}
	if _, err := m.OfID(0); !errors.Is(err, shard.ErrID) {
		t.Errorf("OfID of the zero Map: %v, want ErrID", err)
	}
	if err := m.Check(0, 1); !errors.Is(err, shard.ErrID) {
		t.Errorf("Check of the zero Map: %v, want ErrID", err)
	}
}

func TestRoutingAllocatesNothing(t *testing.T) {
	m := made(t)(shard.NewMap(sharded, shard.Tables(16)...))
	m = made(t)(m.Spread("hot", 8))
	m = made(t)(m.WithLegacy(shard.Legacy{Below: 1 << 40, Shard: "00"}))
	dst := make([]int, 0, 16)
	for name, key := range map[string]any{"a number": int64(123456789), "a text": "acme", "a spread key": "hot"} {
		bucket, err := m.Place(key, 3)
		if err != nil {
			t.Fatal(err)
		}
		id := idOf(t, sharded, bucket)
		for call, f := range map[string]func() error{
			"OfID":  func() error { _, err := m.OfID(id); return err },
			"OfKey": func() error { _, err := m.OfKey(dst, key); return err },
			"Place": func() error { _, err := m.Place(key, 5); return err },
			"Check": func() error { return m.Check(id, key) },
		} {
			if got := testing.AllocsPerRun(100, func() { err = f() }); got != 0 || err != nil {
				t.Errorf("%s of %s: %v allocations, %v", call, name, got, err)
			}
		}
	}
}

func BenchmarkMap(b *testing.B) {
	plain := made(b)(shard.NewMap(sharded, shard.Tables(16)...))
	spread := made(b)(plain.Spread("hot", 8))
	var key any = int64(123456789)
	bucket, err := plain.Place(key, 0)
	if err != nil {
		b.Fatal(err)
	}
	id, dst := idOf(b, sharded, bucket), make([]int, 0, 16)
	var i int
	for _, c := range []struct {
		name string
		call func() error
	}{
		{"call=floor", func() error { i = int(shard.Mix(uint64(id))); return nil }},
		{"call=OfID", func() error { i, err = plain.OfID(id); return err }},
		{"call=OfKey/spread=none", func() error { _, err = plain.OfKey(dst, key); return err }},
		{"call=OfKey/spread=others", func() error { _, err = spread.OfKey(dst, key); return err }},
		{"call=OfKey/spread=8", func() error { _, err = spread.OfKey(dst, "hot"); return err }},
		{"call=Place/spread=none", func() error { _, err = plain.Place(key, 1); return err }},
		{"call=Place/spread=others", func() error { _, err = spread.Place(key, 1); return err }},
		{"call=Place/spread=8", func() error { _, err = spread.Place("hot", 1); return err }},
		{"call=Check/spread=none", func() error { return plain.Check(id, key) }},
		{"call=Check/spread=others", func() error { return spread.Check(id, key) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := c.call(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	_ = i
}
