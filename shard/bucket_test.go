package shard_test

import (
	"errors"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/shard"
)

// TestTable: every bucket is in one table, and of tables that double a bucket stays or moves by their number.
func TestTable(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 10, 16, 512} {
		count := make([]int, n)
		for bucket := range int64(1024) {
			i, err := shard.Table(bucket, n)
			if err != nil || i < 0 || i >= n {
				t.Fatalf("bucket %d of %d tables: got %d, %v", bucket, n, i, err)
			}
			count[i]++
			if after, err := shard.Table(bucket, 2*n); err != nil || after != i && after != i+n {
				t.Errorf("bucket %d of %d tables is in %d; of %d tables it is in %d (%v), want %d or %d", bucket, n, i, 2*n, after, err, i, i+n)
			}
		}
		for i, got := range count {
			if got < 1024/n || got > 1024/n+1 {
				t.Errorf("table %d of %d has %d buckets, want %d or one more", i, n, got, 1024/n)
			}
		}
	}
	if i, err := shard.Table(math.MaxInt64, 16); err != nil || i != 15 {
		t.Errorf("the greatest bucket is in table %d (%v), want 15", i, err)
	}
}

func TestTableRefuses(t *testing.T) {
	for _, test := range []struct {
		bucket int64
		n      int
	}{{0, 0}, {0, -4}, {-1, 4}, {math.MinInt64, 4}, {5, math.MinInt}} {
		if got, err := shard.Table(test.bucket, test.n); !errors.Is(err, shard.ErrTables) || got != 0 {
			t.Errorf("bucket %d of %d tables: got %d and the error %v, want 0 and an ErrTables", test.bucket, test.n, got, err)
		}
	}
}

// TestRange: the ids of a bucket on top are between the range's ends, and the ranges of all buckets are next to each other.
func TestRange(t *testing.T) {
	layout := idgen.Scattered.Layout
	ids, err := idgen.New(idgen.Scattered, idgen.WithNode(255), idgen.WithShards())
	if err != nil {
		t.Fatal(err)
	}
	next := int64(0)
	for bucket := range layout.Max(idgen.Shard) + 1 {
		least, greatest, err := shard.Range(layout, bucket)
		if err != nil {
			t.Fatal(err)
		}
		if least != next || greatest < least {
			t.Fatalf("bucket %d: got %d to %d, want it to begin with %d", bucket, least, greatest, next)
		}
		next = greatest + 1 // wraps after the last one
		made := make([]int64, 20)
		if err := ids.FillFor(t.Context(), bucket, made); err != nil {
			t.Fatal(err)
		}
		for _, id := range made {
			if id < least || id > greatest {
				t.Errorf("the id %d of bucket %d is not between %d and %d", id, bucket, least, greatest)
			}
		}
		for _, id := range []int64{least, greatest} {
			if parts, err := layout.Decode(id); err != nil || parts.Shard != bucket {
				t.Errorf("the id %d has bucket %d (%v), want %d", id, parts.Shard, err, bucket)
			}
		}
	}
	if next != math.MinInt64 {
		t.Errorf("the last range ends with %d, want the greatest id", next-1)
	}
}

// TestRangeOfFewBits has a layout that does not fill an id.
func TestRangeOfFewBits(t *testing.T) {
	layout := newLayout(t, idgen.Shard.Bits(4), idgen.Time.Bits(41), idgen.Sequence.Bits(8))
	if least, greatest, err := shard.Range(layout, 15); err != nil || least != 15<<49 || greatest != 1<<53-1 {
		t.Errorf("got %d to %d, %v, want %d to %d", least, greatest, err, int64(15)<<49, int64(1)<<53-1)
	}
}

func TestRangeRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		layout idgen.Layout
		bucket int64
		want   error
	}{
		"no bucket":            {idgen.Snowkey.Layout, 0, shard.ErrLayout},
		"zero layout":          {idgen.Layout{}, 0, shard.ErrLayout},
		"bucket at the bottom": {idgen.Sharded.Layout, 0, shard.ErrLayout},
		"bucket in the middle": {idgen.Instagram.Layout, 0, shard.ErrLayout},
		"negative":             {idgen.Scattered.Layout, -1, shard.ErrTables},
		"past the last":        {idgen.Scattered.Layout, 1024, shard.ErrTables},
	} {
		if least, greatest, err := shard.Range(test.layout, test.bucket); !errors.Is(err, test.want) || least != 0 || greatest != 0 {
			t.Errorf("%s: got %d to %d and the error %v, want %v", name, least, greatest, err, test.want)
		}
	}
}

// TestCondition: each database selects the ids of the bucket, and no others.
func TestCondition(t *testing.T) {
	middle := newLayout(t, idgen.Time.Bits(41), idgen.Shard.Bits(10), idgen.Sequence.Bits(12))
	for kind, make := range map[string]func(testing.TB) dbtest.Database{"sqlite": dbtest.SQLite, "mysql": dbtest.MySQL, "postgres": dbtest.Postgres} {
		t.Run(kind, func(t *testing.T) {
			db := make(t).Open(t)
			for name, layout := range map[string]idgen.Layout{"low": idgen.Sharded.Layout, "middle": middle, "on top": idgen.Scattered.Layout} {
				for _, bucket := range []int64{0, 1, 512, 1023} {
					for _, other := range []int64{bucket, bucket ^ 1, bucket ^ 512} {
						id, err := layout.Compose(idgen.Parts{Time: time.Now(), Sequence: 11, Shard: other})
						if err != nil {
							t.Fatal(err)
						}
						condition, err := shard.Condition(layout, strconv.FormatInt(id, 10), bucket)
						if err != nil {
							t.Fatal(err)
						}
						var got int
						if err := db.QueryRowContext(t.Context(), "SELECT CASE WHEN "+condition+" THEN 1 ELSE 0 END").Scan(&got); err != nil {
							t.Fatalf("%v in %s", err, condition)
						}
						if want := other == bucket; (got == 1) != want {
							t.Errorf("bucket %s: %s is %d for an id of bucket %d, want %t", name, condition, got, other, want)
						}
					}
				}
			}
		})
	}
}

func TestConditionRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		layout idgen.Layout
		bucket int64
		want   error
	}{
		"no bucket":     {idgen.Snowkey.Layout, 0, shard.ErrLayout},
		"zero layout":   {idgen.Layout{}, 0, shard.ErrLayout},
		"negative":      {idgen.Sharded.Layout, -1, shard.ErrTables},
		"past the last": {idgen.Sharded.Layout, 1024, shard.ErrTables},
	} {
		if condition, err := shard.Condition(test.layout, "id", test.bucket); !errors.Is(err, test.want) || condition != "" {
			t.Errorf("%s: got %q and the error %v, want %v", name, condition, err, test.want)
		}
	}
}
