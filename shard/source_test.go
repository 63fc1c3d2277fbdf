package shard_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/shard"
)

func newSource(t testing.TB, preset idgen.Preset, options ...shard.Option) *shard.Source {
	t.Helper()
	maker, err := idgen.New(preset, idgen.WithNode(1), idgen.WithShards())
	if err != nil {
		t.Fatal(err)
	}
	s, err := shard.NewSource(maker, options...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSource makes ids of the buckets of their sharding keys.
func TestSource(t *testing.T) {
	for _, preset := range []idgen.Preset{idgen.Sharded, idgen.Scattered} {
		t.Run(preset.Name(), func(t *testing.T) {
			s := newSource(t, preset)
			if s.Layout() != preset.Layout || s.Before() != 0 {
				t.Errorf("got the layout %s and ids before %d, want %s and 0", s.Layout(), s.Before(), preset.Layout)
			}
			for _, key := range []any{int64(-3), uint64(1 << 63), "a", []byte("b"), [16]byte{1}} {
				bucket, err := s.Bucket(key)
				if want, wantErr := shard.Bucket(preset.Layout, key); err != nil || wantErr != nil || bucket != want {
					t.Errorf("key %v: got bucket %d (%v), want %d (%v)", key, bucket, err, want, wantErr)
				}
				ids := make([]int64, 100)
				if err := s.FillFor(t.Context(), bucket, ids); err != nil {
					t.Fatal(err)
				}
				for _, id := range ids {
					if err := s.Check(id, key); err != nil {
						t.Error(err)
					}
					if parts, err := preset.Decode(id); err != nil || parts.Shard != bucket {
						t.Errorf("key %v: got an id of bucket %d (%v), want %d", key, parts.Shard, err, bucket)
					}
				}
			}
		})
	}
}

// TestSourceWithoutKey: rows of models that are not sharded get ids of bucket 0, which ascend.
func TestSourceWithoutKey(t *testing.T) {
	s := newSource(t, idgen.Sharded)
	ids := make([]int64, 5)
	var err error
	if ids[0], err = s.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Fill(t.Context(), ids[1:]); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if id&1023 != 0 {
			t.Errorf("%d is of bucket %d, want 0", id, id&1023)
		}
	}
	if !slices.IsSorted(ids) {
		t.Errorf("%v do not ascend", ids)
	}
}

// TestCheck says which buckets an id and a sharding key have.
func TestCheck(t *testing.T) {
	for _, test := range []struct {
		preset idgen.Preset
		id     func(bucket int64) int64
	}{
		{idgen.Sharded, func(bucket int64) int64 { return 1<<40 | bucket }},
		{idgen.Scattered, func(bucket int64) int64 { return bucket<<53 | 1<<40 }},
	} {
		t.Run(test.preset.Name(), func(t *testing.T) {
			s := newSource(t, test.preset)
			if err := s.Check(test.id(661), int64(42)); err != nil { // 661 is in testdata/sums.txt
				t.Error(err)
			}
			err := s.Check(test.id(660), int64(42))
			var disagree *shard.DisagreeError
			if !errors.Is(err, shard.ErrDisagree) || !errors.As(err, &disagree) {
				t.Fatalf("got the error %v, want a DisagreeError", err)
			}
			if want := (shard.DisagreeError{ID: test.id(660), Key: int64(42), Bucket: 660, KeyBucket: 661}); *disagree != want {
				t.Errorf("got %+v, want %+v", *disagree, want)
			}
			for _, part := range []string{"bucket 660", "bucket 661", "key 42"} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error %q does not say %q", err, part)
				}
			}
			if errors.Is(err, shard.ErrID) || errors.Is(err, shard.ErrKey) {
				t.Errorf("%v is another error as well", err)
			}
		})
	}
}

// TestCheckErrID has numbers that the layout cannot make.
func TestCheckErrID(t *testing.T) {
	small := newLayout(t, idgen.Time.Bits(41), idgen.Sequence.Bits(8), idgen.Shard.Bits(4)) // 53 bits
	s, err := shard.NewSource(brokenMaker{small})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []int64{-1, math.MinInt64, 1 << 53, math.MaxInt64} {
		if err := s.Check(id, int64(42)); !errors.Is(err, shard.ErrID) {
			t.Errorf("the id %d: got the error %v, want an ErrID", id, err)
		}
	}
	if err := s.Check(1<<53-16+661&15, int64(42)); err != nil {
		t.Errorf("the greatest id of its bucket: %v", err)
	}
	for _, key := range []any{nil, 1.5} {
		if err := s.Check(1, key); !errors.Is(err, shard.ErrKey) {
			t.Errorf("the key %v: got the error %v, want an ErrKey", key, err)
		}
	}
}

// TestBefore takes ids that are older than the sharding for any sharding key, and checks the others.
func TestBefore(t *testing.T) {
	s := newSource(t, idgen.Sharded, shard.WithBefore(1_000_000))
	if s.Before() != 1_000_000 {
		t.Errorf("got %d", s.Before())
	}
	for _, id := range []int64{0, 1, 999_999} {
		if err := s.Check(id, int64(42)); err != nil {
			t.Errorf("the id %d from before: %v", id, err)
		}
	}
	if err := s.Check(1_000_000, int64(42)); !errors.Is(err, shard.ErrDisagree) { // its bucket is 576
		t.Errorf("the first id after: got the error %v, want ErrDisagree", err)
	}
	if err := s.Check(-1, int64(42)); !errors.Is(err, shard.ErrID) {
		t.Errorf("a negative id: got the error %v, want ErrID", err)
	}
	if err := s.Check(1, nil); !errors.Is(err, shard.ErrKey) {
		t.Errorf("no sharding key: got the error %v, want ErrKey", err)
	}
}

func TestBeforeRefuses(t *testing.T) {
	layout := idgen.Sharded.Layout
	later, err := layout.MinID(time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []int64{math.MinInt64, -1, 0, later, math.MaxInt64} {
		if _, err := shard.NewSource(brokenMaker{layout}, shard.WithBefore(id)); !errors.Is(err, shard.ErrID) {
			t.Errorf("ids before %d: got the error %v, want an ErrID", id, err)
		}
	}
}

// TestSourceRefuses what it cannot make ids of.
func TestSourceRefuses(t *testing.T) {
	for name, layout := range map[string]idgen.Layout{"no bucket": idgen.Snowkey.Layout, "zero layout": {}} {
		if s, err := shard.NewSource(brokenMaker{layout}); !errors.Is(err, shard.ErrLayout) || s != nil {
			t.Errorf("%s: got the error %v, want ErrLayout", name, err)
		}
	}
	if s, err := shard.NewSource(nil); err == nil || s != nil {
		t.Error("a source of nothing")
	}
}

// TestSourceFails with the errors of its maker.
func TestSourceFails(t *testing.T) {
	s, err := shard.NewSource(brokenMaker{idgen.Sharded.Layout})
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
	if _, err := s.Bucket(nil); !errors.Is(err, shard.ErrKey) {
		t.Errorf("no sharding key: got the error %v, want ErrKey", err)
	}
}

func TestSourceAllocatesNothing(t *testing.T) {
	s := newSource(t, idgen.Sharded)
	var key any = int64(42)
	if got := testing.AllocsPerRun(100, func() { _, _ = s.Bucket(key); _ = s.Check(1<<40|661, key) }); got != 0 {
		t.Errorf("Bucket and Check allocate %v times", got)
	}
}
