package shard_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/snowkey-go/snowkey/idgen/shard"
)

func TestSpread(t *testing.T) {
	plain := made(t)(shard.NewMap(sharded, shard.Tables(16)...))
	for _, key := range []any{"acme", int64(-7), uint64(math.MaxUint64), []byte{0xff, 0}, [16]byte{1, 2, 3}} {
		sum, err := shard.Sum(key)
		if err != nil {
			t.Fatal(err)
		}
		m, earlier := plain, []int64{int64(sum & 1023)}
		for k := 2; k <= 1024; k *= 2 {
			m = made(t)(m.Spread(key, k))
			var buckets []int64
			for turn := range uint64(k) {
				bucket, err := m.Place(key, turn)
				if again, _ := m.Place(key, turn+uint64(5*k)); err != nil || again != bucket || bucket != int64((sum+turn)&1023) {
					t.Fatalf("Place(%v, %d) of %d = %d, then %d, %v", key, turn, k, bucket, again, err)
				}
				buckets = append(buckets, bucket)
			}
			if !slices.Equal(buckets[:k/2], earlier) {
				t.Errorf("key %v over %d: %v, want first %v", key, k, buckets, earlier)
			}
			if sorted := slices.Sorted(slices.Values(buckets)); len(slices.Compact(sorted)) != k {
				t.Errorf("key %v over %d: %v, want as many", key, k, buckets)
			}
			shards, err := m.OfKey(nil, key)
			if err != nil || len(shards) != min(k, 16) || !slices.IsSorted(shards) {
				t.Errorf("key %v over %d buckets is in the shards %v, %v, want %d", key, k, shards, err, min(k, 16))
			}
			for _, b := range buckets {
				id := idOf(t, sharded, b)
				if i, _ := m.OfID(id); !slices.Contains(shards, i) {
					t.Errorf("id %d of key %v is in shard %d, which is none of %v", id, key, i, shards)
				}
				if err := m.Check(id, key); err != nil {
					t.Error(err)
				}
			}
			after := idOf(t, sharded, (buckets[k-1]+1)%1024)
			var disagree *shard.DisagreeError
			if err := m.Check(after, key); k < 1024 && (!errors.As(err, &disagree) || !slices.Equal(disagree.Buckets, buckets)) {
				t.Errorf("the bucket after the last of key %v over %d: %v", key, k, err)
			}
			earlier = buckets
		}
		if other, _ := m.OfKey(nil, "other"); len(other) != 1 {
			t.Errorf("a key that is not spread is in the shards %v", other)
		}
	}
}

// TestSpreadIsOfTheSum: what has one sum is one key.
func TestSpreadIsOfTheSum(t *testing.T) {
	m := made(t)(made(t)(shard.NewMap(sharded, shard.Tables(16)...)).Spread("acme", 4))
	got, err := m.OfKey(nil, []byte("acme"))
	if err != nil || len(got) != 4 {
		t.Errorf("the bytes of a text that is spread are in the shards %v, %v", got, err)
	}
	if _, err := m.Spread([]byte("acme"), 4); !errors.Is(err, shard.ErrMap) {
		t.Errorf("the bytes of a text that is spread already: %v, want ErrMap", err)
	}
}

func TestSpreadErrors(t *testing.T) {
	m := made(t)(made(t)(shard.NewMap(sharded, shard.Tables(16)...)).Spread("acme", 4))
	for _, k := range []int{-4, 0, 1, 2, 3, 4, 6, 2048, math.MinInt, math.MaxInt} {
		if next, err := m.Spread("acme", k); !errors.Is(err, shard.ErrMap) || next != nil {
			t.Errorf("over %d: %v, %v, want ErrMap", k, next, err)
		}
	}
	if _, err := m.Spread("other", 1); !errors.Is(err, shard.ErrMap) {
		t.Errorf("over one: %v, want ErrMap", err)
	}
	for _, key := range []any{nil, 1.5} {
		if _, err := m.Spread(key, 4); !errors.Is(err, shard.ErrKey) {
			t.Errorf("key %v: %v, want ErrKey", key, err)
		}
	}
}
