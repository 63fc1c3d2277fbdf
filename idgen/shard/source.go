package shard

import (
	"context"
	"errors"
	"math/rand/v2"

	"github.com/snowkey-go/snowkey/idgen"
)

// Maker makes ids for buckets: an [idgen.Snowflake] with [idgen.WithShards], or the keeper of a grant.
type Maker interface {
	Layout() idgen.Layout
	NextFor(ctx context.Context, bucket int64) (int64, error)
	FillFor(ctx context.Context, bucket int64, ids []int64) error
}

// Source makes the ids of rows that something else than the GORM router brings to their tables: native partitions, Spider, foreign tables,
// gorm.io/sharding. The GORM plugin fills fields with the tag `gorm:"snowkey:shard=UserID"` from it:
//
//	keys, err := shard.NewSource(m, keeper)
//	err = db.Use(gormplugin.New(gormplugin.From(keys)))
//
// It has one version of the map. Where buckets move, the tables that they move to, and those who write, have to change together, which is what the
// router of gormplugin/shard is for. Safe for concurrent use.
type Source struct {
	m     *Map
	maker Maker
}

var _ idgen.Source[int64] = (*Source)(nil)

// NewSource returns the source of a map. The error wraps [ErrMap] for no map, and [ErrLayout] when the maker's layout is not the map's. The maker
// remains the caller's, to be closed after the last row.
func NewSource(m *Map, maker Maker) (*Source, error) {
	if maker == nil {
		return nil, errors.New("shard: a source needs a maker of ids")
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	if err := m.Fits(maker.Layout()); err != nil {
		return nil, err
	}
	return &Source{m: m, maker: maker}, nil
}

// Layout returns the layout of the ids.
func (s *Source) Layout() idgen.Layout { return s.m.layout }

// Next returns an id for a row of a model that is not sharded: one of bucket 0, so that they ascend.
func (s *Source) Next(ctx context.Context) (int64, error) { return s.maker.NextFor(ctx, 0) }

// Fill is Next for several.
func (s *Source) Fill(ctx context.Context, ids []int64) error { return s.maker.FillFor(ctx, 0, ids) }

// Place returns the bucket for a new row with a sharding key, and of one that is spread any of its buckets: at random, since a turn of each would
// meet the same one again and again where every eighth row is the key's. The error wraps [ErrKey].
func (s *Source) Place(_ context.Context, key any) (bucket int64, err error) {
	return s.m.Place(key, rand.Uint64())
}

// FillFor sets ids to new ones of a bucket, all or none.
func (s *Source) FillFor(ctx context.Context, bucket int64, ids []int64) error {
	return s.maker.FillFor(ctx, bucket, ids)
}

// Check returns the error of [Map.Check].
func (s *Source) Check(_ context.Context, id int64, key any) error { return s.m.Check(id, key) }
