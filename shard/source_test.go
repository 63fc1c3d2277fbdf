package shard_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/shard"
)

// TestSource makes ids of the buckets that the map has for their sharding keys.
func TestSource(t *testing.T) {
	m, err := shard.NewMap(idgen.Sharded.Layout, shard.Tables(16)...)
	if err != nil {
		t.Fatal(err)
	}
	if m, err = m.Spread("a large one", 4); err != nil {
		t.Fatal(err)
	}
	maker, err := idgen.New(idgen.Sharded, idgen.WithNode(1), idgen.WithShards())
	if err != nil {
		t.Fatal(err)
	}
	s, err := shard.NewSource(m, maker)
	if err != nil {
		t.Fatal(err)
	}
	if s.Layout() != m.Layout() {
		t.Errorf("got the layout %s, want %s", s.Layout(), m.Layout())
	}
	ctx := t.Context()
	for key, buckets := range map[any]int{int64(-3): 1, uint64(1 << 63): 1, "a": 1, "a large one": 4} {
		seen := map[int64]bool{}
		for range 200 {
			bucket, err := s.Place(ctx, key)
			if err != nil {
				t.Fatal(err)
			}
			ids := make([]int64, 3)
			if err := s.FillFor(ctx, bucket, ids); err != nil {
				t.Fatal(err)
			}
			for _, id := range ids {
				if err := s.Check(ctx, id, key); err != nil {
					t.Error(err)
				}
				if got, _, err := m.Bucket(id); err != nil || got != bucket {
					t.Errorf("key %v: got an id of bucket %d (%v), want %d", key, got, err, bucket)
				}
			}
			if err := s.Check(ctx, ids[0]^512, key); !errors.Is(err, shard.ErrDisagree) {
				t.Errorf("key %v, an id of another bucket: got the error %v, want ErrDisagree", key, err)
			}
			seen[bucket] = true
		}
		if len(seen) != buckets {
			t.Errorf("the rows of %v are in %d buckets, want %d", key, len(seen), buckets)
		}
	}

	ids := make([]int64, 5)
	if ids[0], err = s.Next(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.Fill(ctx, ids[1:]); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if bucket, _, err := m.Bucket(id); err != nil || bucket != 0 {
			t.Errorf("%d, of a model that is not sharded: is of bucket %d (%v), want 0", id, bucket, err)
		}
	}
	if !slices.IsSorted(ids) {
		t.Errorf("%v do not ascend", ids)
	}
}

// TestSourceRefuses what it cannot make ids of.
func TestSourceRefuses(t *testing.T) {
	m, err := shard.NewMap(idgen.Sharded.Layout, shard.Tables(16)...)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		m     *shard.Map
		maker shard.Maker
		want  error
	}{
		"no map":         {nil, brokenMaker{idgen.Sharded.Layout}, shard.ErrMap},
		"the zero map":   {&shard.Map{}, brokenMaker{idgen.Sharded.Layout}, shard.ErrMap},
		"another layout": {m, brokenMaker{idgen.Scattered.Layout}, shard.ErrLayout},
	} {
		if _, err := shard.NewSource(tt.m, tt.maker); !errors.Is(err, tt.want) {
			t.Errorf("%s: got the error %v, want %v", name, err, tt.want)
		}
	}
	if _, err := shard.NewSource(m, nil); err == nil {
		t.Error("a source of nothing")
	}
	s, err := shard.NewSource(m, brokenMaker{idgen.Sharded.Layout})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.Next(ctx)
	for _, err := range []error{err, s.Fill(ctx, make([]int64, 2)), s.FillFor(ctx, 3, make([]int64, 2))} {
		if !errors.Is(err, errNoNode) || !errors.Is(err, context.Canceled) {
			t.Errorf("got the error %v, want that of the maker", err)
		}
	}
	if _, err := s.Place(t.Context(), nil); !errors.Is(err, shard.ErrKey) {
		t.Errorf("no sharding key: got the error %v, want ErrKey", err)
	}
}
