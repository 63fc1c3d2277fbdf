package shard

import (
	"context"
	"sync/atomic"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
)

// source makes the keys of all models of a router. Those of models that are not sharded are of bucket 0, so that they ascend.
type source struct {
	router *Router
	keeper *grant.Keeper
	placer atomic.Pointer[placer] // the one made last
}

var _ gormplugin.ShardedSource = (*source)(nil)

// Next returns a key for a row of a model that is not sharded.
func (s *source) Next(ctx context.Context) (int64, error) { return s.keeper.NextFor(ctx, 0) }

// Fill is Next for several.
func (s *source) Fill(ctx context.Context, ids []int64) error { return s.keeper.FillFor(ctx, 0, ids) }

// Layout returns the layout of the keys.
func (s *source) Layout() idgen.Layout { return s.router.config.Layout }

// Place returns the bucket for a new row, see [placer.Place].
func (s *source) Place(ctx context.Context, key any) (int64, error) {
	p, err := s.Placer(ctx)
	if err != nil {
		return 0, err
	}
	return p.Place(key)
}

// FillFor makes keys of a bucket.
func (s *source) FillFor(ctx context.Context, bucket int64, ids []int64) error {
	return s.keeper.FillFor(ctx, bucket, ids)
}

// Check compares a key that is set with its row's sharding key.
func (s *source) Check(ctx context.Context, id int64, key any) error {
	p, err := s.Placer(ctx)
	if err != nil {
		return err
	}
	return p.Check(id, key)
}
