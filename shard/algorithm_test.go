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
	l, err := idgen.NewLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond,
		idgen.Time.Bits(41), idgen.Node.Bits(8), idgen.Sequence.Bits(10), idgen.Shard.Bits(4))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func newAlgorithm(t testing.TB, key any, layout idgen.Layout, shards ...shard.Shard) (*shard.Algorithm, *shard.Map) {
	t.Helper()
	m, err := shard.NewMap(layout, shards...)
	if err != nil {
		t.Fatal(err)
	}
	a, err := shard.NewAlgorithm(m, key)
	if err != nil {
		t.Fatal(err)
	}
	return a, m
}

// never is for generators that do not fail.
func never(t testing.TB) func(error) { return func(err error) { t.Error(err) } }

// TestAlgorithm makes keys in the way of gorm.io/sharding, and finds each by its sharding key and by its id.
func TestAlgorithm(t *testing.T) {
	letters := make([]shard.Shard, 16)
	for i := range letters {
		letters[i] = shard.Shard{Name: strconv.Itoa(i), Suffix: "_of_" + string(rune('p'-i))}
	}
	for name, shards := range map[string][]shard.Shard{"numbers": shard.Tables(16), "letters": letters} {
		t.Run(name, func(t *testing.T) {
			a, m := newAlgorithm(t, int64(0), sixteen(t), shards...)
			ids, err := idgen.New(sixteen(t), idgen.WithNode(3), idgen.WithShards())
			if err != nil {
				t.Fatal(err)
			}
			var config struct { // the fields of gorm.io/sharding's
				ShardingAlgorithm             func(columnValue any) (suffix string, err error)
				ShardingSuffixs               func() (suffixs []string)
				ShardingAlgorithmByPrimaryKey func(id int64) (suffix string)
				PrimaryKeyGeneratorFn         func(tableIdx int64) int64
			}
			config.ShardingAlgorithm, config.ShardingSuffixs, config.ShardingAlgorithmByPrimaryKey = a.Suffix, a.Suffixes, a.SuffixOfID
			if config.PrimaryKeyGeneratorFn, err = a.Generator(t.Context(), ids, never(t)); err != nil {
				t.Fatal(err)
			}
			seen := map[int64]bool{}
			for user := int64(-500); user < 500; user++ {
				suffix, err := config.ShardingAlgorithm(user)
				if err != nil {
					t.Fatal(err)
				}
				index, err := strconv.Atoi(strings.Replace(suffix, "_", "", 1))
				if err != nil {
					index = slices.Index(config.ShardingSuffixs(), suffix)
				}
				id := config.PrimaryKeyGeneratorFn(int64(index))
				if seen[id] || id <= 0 {
					t.Fatalf("got the id %d, which is there already or none", id)
				}
				seen[id] = true
				if got := config.ShardingAlgorithmByPrimaryKey(id); got != suffix {
					t.Errorf("the id %d leads to %s, the user %d to %s", id, got, user, suffix)
				}
				if err := m.Check(id, user); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestAlgorithmValues has the values of a column as statements have them.
func TestAlgorithmValues(t *testing.T) {
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
			a, m := newAlgorithm(t, test.column, idgen.Sharded.Layout, shard.Tables(1000)...)
			got, err := a.Suffix(test.value)
			if test.key == nil {
				if !errors.Is(err, shard.ErrKey) || got != "" {
					t.Errorf("got %q and the error %v, want an ErrKey", got, err)
				}
				return
			}
			in, keyErr := m.OfKey(nil, test.key)
			if err != nil || keyErr != nil || got != m.Shard(in[0]).Suffix {
				t.Errorf("got %q and the error %v, want %v of %v, error %v", got, err, in, test.key, keyErr)
			}
		})
	}
}

func TestAlgorithmNowhere(t *testing.T) {
	a, _ := newAlgorithm(t, "", sixteen(t), shard.Tables(16)...)
	for _, id := range []int64{-1, -3, math.MinInt64} {
		if got := a.SuffixOfID(id); got != shard.Nowhere {
			t.Errorf("the id %d leads to %q", id, got)
		}
	}
}

// TestAlgorithmRefuses has maps that gorm.io/sharding would read or write wrongly.
func TestAlgorithmRefuses(t *testing.T) {
	two, err := shard.NewMap(idgen.Sharded.Layout, shard.Tables(2)...)
	if err != nil {
		t.Fatal(err)
	}
	legacy, err := two.WithLegacy(shard.Legacy{Below: 99, Shard: "00"})
	if err != nil {
		t.Fatal(err)
	}
	of := func(shards ...shard.Shard) *shard.Map {
		m, err := shard.NewMap(idgen.Sharded.Layout, shards...)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for name, m := range map[string]*shard.Map{
		"nil": nil, "zero": {}, "rows from before": legacy,
		"databases": of(shard.Shard{Name: "a", Suffix: "_0"}, shard.Shard{Name: "b", Suffix: "_1", Database: "other"}),
		"no suffix": of(shard.Shard{Name: "a"}, shard.Shard{Name: "b", Suffix: "_1"}),
		"nowhere":   of(shard.Shard{Name: "a", Suffix: "_Nowhere"}, shard.Shard{Name: "b", Suffix: "_1"}),
	} {
		if _, err := shard.NewAlgorithm(m, int64(0)); !errors.Is(err, shard.ErrMap) {
			t.Errorf("%s: got the error %v, want an ErrMap", name, err)
		}
	}
	if _, err := shard.NewAlgorithm(two, 1.5); !errors.Is(err, shard.ErrKey) {
		t.Errorf("a key of 1.5: got the error %v, want an ErrKey", err)
	}
	spread, err := two.Spread("big", 4)
	if err != nil {
		t.Fatal(err)
	}
	a, err := shard.NewAlgorithm(spread, "")
	if err != nil {
		t.Fatal(err)
	}
	if suffix, err := a.Suffix("big"); !errors.Is(err, shard.ErrMap) || suffix != "" {
		t.Errorf("a key in two tables: got %q and the error %v, want an ErrMap", suffix, err)
	}
}

func TestAlgorithmGeneratorRefuses(t *testing.T) {
	layout := sixteen(t)
	ids, err := idgen.New(layout, idgen.WithNode(3), idgen.WithShards())
	if err != nil {
		t.Fatal(err)
	}
	same := shard.Tables(16)
	same[7].Suffix = "_3" // as _03 has
	for name, shards := range map[string][]shard.Shard{"several buckets": shard.Tables(8), "one index twice": same} {
		a, _ := newAlgorithm(t, int64(0), layout, shards...)
		if _, err := a.Generator(t.Context(), ids, never(t)); !errors.Is(err, shard.ErrMap) {
			t.Errorf("%s: got the error %v, want an ErrMap", name, err)
		}
	}
	a, _ := newAlgorithm(t, int64(0), idgen.Sharded.Layout, shard.Tables(16)...)
	if _, err := a.Generator(t.Context(), ids, never(t)); !errors.Is(err, shard.ErrLayout) {
		t.Errorf("another layout: got the error %v, want an ErrLayout", err)
	}
	a, _ = newAlgorithm(t, int64(0), layout, shard.Tables(16)...)
	if _, err := a.Generator(t.Context(), ids, nil); err == nil {
		t.Error("a generator whose errors nobody is told of")
	}
	if _, err := a.Generator(t.Context(), nil, never(t)); err == nil {
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

// TestAlgorithmGeneratorFails tells of an id that cannot be made, and gives none.
func TestAlgorithmGeneratorFails(t *testing.T) {
	a, _ := newAlgorithm(t, int64(0), sixteen(t), shard.Tables(16)...)
	var told []error
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	next, err := a.Generator(ctx, brokenMaker{sixteen(t)}, func(err error) { told = append(told, err) })
	if err != nil {
		t.Fatal(err)
	}
	if id := next(3); id != 0 || len(told) != 1 || !errors.Is(told[0], errNoNode) || !errors.Is(told[0], context.Canceled) {
		t.Errorf("got the id %d and the errors %v, want 0 and that of the source", id, told)
	}
	for _, index := range []int64{-3, 16} {
		told = nil
		if id := next(index); id != 0 || len(told) != 1 || !errors.Is(told[0], shard.ErrMap) {
			t.Errorf("index %d: got the id %d and the errors %v, want 0 and an ErrMap", index, id, told)
		}
	}
}
