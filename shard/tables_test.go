package shard_test

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/shard"
)

// sixteen is a layout with one bucket for each of 16 tables.
func sixteen(t testing.TB) idgen.Layout {
	t.Helper()
	return newLayout(t, idgen.Time.Bits(41), idgen.Node.Bits(8), idgen.Sequence.Bits(10), idgen.Shard.Bits(4))
}

func newLayout(t testing.TB, fields ...idgen.Field) idgen.Layout {
	t.Helper()
	l, err := idgen.NewLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond, fields...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func newTables(t testing.TB, layout idgen.Layout, n int, key any) *shard.Tables {
	t.Helper()
	tables, err := shard.NewTables(layout, n, key)
	if err != nil {
		t.Fatal(err)
	}
	return tables
}

// config has the fields of gorm.io/sharding's that Tables are for.
type config struct {
	ShardingAlgorithm             func(columnValue any) (suffix string, err error)
	ShardingSuffixs               func() (suffixs []string)
	ShardingAlgorithmByPrimaryKey func(id int64) (suffix string)
	PrimaryKeyGeneratorFn         func(tableIdx int64) int64
}

// never is for generators that do not fail.
func never(t testing.TB) func(error) { return func(err error) { t.Error(err) } }

// TestTables makes keys in the way of gorm.io/sharding, and finds each by its sharding key and by its id.
func TestTables(t *testing.T) {
	tables := newTables(t, sixteen(t), 16, int64(0))
	ids, err := idgen.New(sixteen(t), idgen.WithNode(3), idgen.WithShards())
	if err != nil {
		t.Fatal(err)
	}
	next, err := tables.Generator(t.Context(), ids, never(t))
	if err != nil {
		t.Fatal(err)
	}
	c := config{tables.Suffix, tables.Suffixes, tables.SuffixOfID, next}
	seen := map[int64]bool{}
	used := map[string]bool{}
	for user := int64(-500); user < 500; user++ {
		suffix, err := c.ShardingAlgorithm(user)
		if err != nil {
			t.Fatal(err)
		}
		index, err := strconv.Atoi(strings.Replace(suffix, "_", "", 1)) // as gorm.io/sharding reads it
		if err != nil || !slices.Contains(c.ShardingSuffixs(), suffix) {
			t.Fatalf("user %d: the suffix %q is none of %q (%v)", user, suffix, c.ShardingSuffixs(), err)
		}
		id := c.PrimaryKeyGeneratorFn(int64(index))
		if seen[id] || id <= 0 {
			t.Fatalf("got the id %d, which is there already or none", id)
		}
		seen[id], used[suffix] = true, true
		if got := c.ShardingAlgorithmByPrimaryKey(id); got != suffix {
			t.Errorf("the id %d leads to %s, the user %d to %s", id, got, user, suffix)
		}
	}
	if len(used) != 16 {
		t.Errorf("the users are in %d tables, want 16", len(used))
	}
}

// TestTablesAgree: an id that is made for the bucket of a sharding key leads to the table of that key, also when there are more tables later.
func TestTablesAgree(t *testing.T) {
	for _, preset := range []idgen.Preset{idgen.Sharded, idgen.Scattered} {
		t.Run(preset.Name(), func(t *testing.T) {
			ids, err := idgen.New(preset, idgen.WithNode(3), idgen.WithShards())
			if err != nil {
				t.Fatal(err)
			}
			for user := int64(-200); user < 200; user++ {
				bucket, err := shard.Bucket(preset.Layout, user)
				if err != nil {
					t.Fatal(err)
				}
				id, err := ids.NextFor(t.Context(), bucket)
				if err != nil {
					t.Fatal(err)
				}
				for n := 1; n <= 1024; n = n*2 + n%3 {
					tables := newTables(t, preset.Layout, n, user)
					byKey, err := tables.Suffix(user)
					if byID := tables.SuffixOfID(id); err != nil || byKey != byID {
						t.Fatalf("%d tables: user %d leads to %s (%v), the id %d to %s", n, user, byKey, err, id, byID)
					}
					if i, err := shard.Table(bucket, n); err != nil || byKey != tables.Suffixes()[i] {
						t.Fatalf("%d tables: user %d leads to %s, Table says %d (%v)", n, user, byKey, i, err)
					}
				}
			}
		})
	}
}

// TestTablesValues has the values of a column as statements have them.
func TestTablesValues(t *testing.T) {
	uuid := [16]byte{1, 2, 3}
	for _, test := range []struct {
		name       string
		column     any
		value, key any // key is what the value has to be the same as; nil for an error
	}{
		{"number", int64(0), int32(-3), int64(-3)},
		{"number in the statement", int64(0), "-3", int64(-3)},
		{"greatest number in the statement", uint64(0), "18446744073709551615", uint64(math.MaxUint64)},
		{"nullable number", sql.NullInt64{Valid: true}, sql.NullInt64{Int64: 7, Valid: true}, int64(7)},
		{"NULL", int64(0), sql.NullInt64{}, nil},
		{"nil", int64(0), nil, nil},
		{"no number", int64(0), "7a", nil},
		{"number too large", uint64(0), "18446744073709551616", nil},
		{"bytes for a number", int64(0), []byte("7"), nil},
		{"fraction", int64(0), 7.0, nil},
		{"text", "", "7", "7"},
		{"bytes for a text", "", []byte("7"), "7"},
		{"number for a text", "", int64(7), nil},
		{"array", [16]byte{}, uuid, uuid},
		{"text for an array", [16]byte{}, "01020300-0000-0000-0000-000000000000", nil},
		{"array for a text", "", uuid, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			tables := newTables(t, idgen.Sharded.Layout, 1000, test.column)
			got, err := tables.Suffix(test.value)
			if test.key == nil {
				if !errors.Is(err, shard.ErrKey) || got != "" {
					t.Errorf("got %q and the error %v, want an ErrKey", got, err)
				}
				return
			}
			bucket, keyErr := shard.Bucket(idgen.Sharded.Layout, test.key)
			i, tableErr := shard.Table(bucket, 1000)
			if err = errors.Join(err, keyErr, tableErr); err != nil || got != tables.Suffixes()[i] {
				t.Errorf("got %q and the error %v, want table %d of %v", got, err, i, test.key)
			}
		})
	}
}

// TestTablesSuffixes: all are as long as the last one, so that they sort as their numbers do.
func TestTablesSuffixes(t *testing.T) {
	for n, want := range map[int][2]string{
		1: {"_00", "_00"}, 16: {"_00", "_15"}, 100: {"_00", "_99"}, 101: {"_000", "_100"}, 1000: {"_000", "_999"}, 1024: {"_0000", "_1023"},
	} {
		got := newTables(t, idgen.Sharded.Layout, n, "").Suffixes()
		if len(got) != n || got[0] != want[0] || got[n-1] != want[1] || !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != n {
			t.Errorf("%d tables: got %d suffixes, %s to %s, want %s to %s in order", n, len(got), got[0], got[len(got)-1], want[0], want[1])
		}
		if slices.Contains(got, shard.Nowhere) {
			t.Errorf("%d tables: one of them is named %s", n, shard.Nowhere)
		}
	}
}

func TestTablesNowhere(t *testing.T) {
	small := newLayout(t, idgen.Time.Bits(41), idgen.Node.Bits(4), idgen.Sequence.Bits(4), idgen.Shard.Bits(4)) // 53 bits
	for name, test := range map[string]struct {
		layout idgen.Layout
		ids    []int64
	}{
		"63 bits":       {sixteen(t), []int64{-1, -3, math.MinInt64}},
		"53 bits":       {small, []int64{-1, 1 << 53, math.MaxInt64}},
		"bucket on top": {idgen.Scattered.Layout, []int64{-1, math.MinInt64}},
	} {
		tables := newTables(t, test.layout, 16, "")
		for _, id := range test.ids {
			if got := tables.SuffixOfID(id); got != shard.Nowhere {
				t.Errorf("%s: the id %d leads to %q", name, id, got)
			}
		}
	}
	if got := newTables(t, small, 16, "").SuffixOfID(1<<53 - 1); got != "_15" {
		t.Errorf("the greatest id leads to %q, want _15", got)
	}
}

func TestTablesRefuses(t *testing.T) {
	wide := newLayout(t, idgen.Time.Bits(41), idgen.Sequence.Bits(2), idgen.Shard.Bits(20))
	for name, test := range map[string]struct {
		layout idgen.Layout
		n      int
		key    any
		want   error
	}{
		"no bucket":                  {idgen.Snowkey.Layout, 2, int64(0), shard.ErrLayout},
		"zero layout":                {idgen.Layout{}, 2, int64(0), shard.ErrLayout},
		"no table":                   {idgen.Sharded.Layout, 0, int64(0), shard.ErrTables},
		"negative":                   {idgen.Sharded.Layout, -1, int64(0), shard.ErrTables},
		"more tables than buckets":   {idgen.Sharded.Layout, 1025, int64(0), shard.ErrTables},
		"more than a generator has":  {wide, 1<<16 + 1, int64(0), shard.ErrTables},
		"a fraction as sharding key": {idgen.Sharded.Layout, 2, 1.5, shard.ErrKey},
		"no sharding key":            {idgen.Sharded.Layout, 2, nil, shard.ErrKey},
	} {
		if tables, err := shard.NewTables(test.layout, test.n, test.key); !errors.Is(err, test.want) || tables != nil {
			t.Errorf("%s: got the error %v, want %v", name, err, test.want)
		}
	}
}

func TestTablesGeneratorRefuses(t *testing.T) {
	layout := sixteen(t)
	ids, err := idgen.New(layout, idgen.WithNode(3), idgen.WithShards())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newTables(t, layout, 8, int64(0)).Generator(t.Context(), ids, never(t)); !errors.Is(err, shard.ErrTables) {
		t.Errorf("several buckets in a table: got the error %v, want an ErrTables", err)
	}
	if _, err := newTables(t, idgen.Sharded.Layout, 1024, int64(0)).Generator(t.Context(), ids, never(t)); !errors.Is(err, shard.ErrLayout) {
		t.Errorf("another layout: got the error %v, want an ErrLayout", err)
	}
	tables := newTables(t, layout, 16, int64(0))
	if _, err := tables.Generator(t.Context(), ids, nil); err == nil {
		t.Error("a generator whose errors nobody is told of")
	}
	if _, err := tables.Generator(t.Context(), nil, never(t)); err == nil {
		t.Error("a generator of nothing")
	}
}

// brokenMaker makes no ids.
type brokenMaker struct{ layout idgen.Layout }

var errNoNode = errors.New("no node number")

func (b brokenMaker) Layout() idgen.Layout { return b.layout }

func (b brokenMaker) NextFor(ctx context.Context, _ int64) (int64, error) {
	return 77, errors.Join(errNoNode, ctx.Err())
}

func (b brokenMaker) FillFor(ctx context.Context, _ int64, _ []int64) error {
	return errors.Join(errNoNode, ctx.Err())
}

// TestTablesGeneratorFails tells of an id that cannot be made, and gives none.
func TestTablesGeneratorFails(t *testing.T) {
	tables := newTables(t, sixteen(t), 16, int64(0))
	var told []error
	failed := func(err error) { told = append(told, err) }
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	next, err := tables.Generator(ctx, brokenMaker{sixteen(t)}, failed)
	if err != nil {
		t.Fatal(err)
	}
	if id := next(3); id != 0 || len(told) != 1 || !errors.Is(told[0], errNoNode) || !errors.Is(told[0], context.Canceled) {
		t.Errorf("got the id %d and the errors %v, want 0 and that of the source", id, told)
	}

	ids, err := idgen.New(sixteen(t), idgen.WithNode(3), idgen.WithShards())
	if err != nil {
		t.Fatal(err)
	}
	if next, err = tables.Generator(t.Context(), ids, failed); err != nil {
		t.Fatal(err)
	}
	for _, index := range []int64{-3, 16} {
		told = nil
		if id := next(index); id != 0 || len(told) != 1 || !errors.Is(told[0], idgen.ErrRange) {
			t.Errorf("index %d: got the id %d and the errors %v, want 0 and an ErrRange", index, id, told)
		}
	}
}
