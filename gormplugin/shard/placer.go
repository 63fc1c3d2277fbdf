package shard

import (
	"context"
	"math/rand/v2"

	"github.com/snowkey-go/snowkey/gormplugin"
	idshard "github.com/snowkey-go/snowkey/idgen/shard"
)

// placer places the rows of one statement by one map, for which the clock is read once and not for each row. It is not changed, so statements by the same
// map share it.
type placer struct {
	in     *idshard.Map
	spread bool // keys that are spread are; else another process may not know of the spread yet
}

var _ gormplugin.Placer = (*placer)(nil)

// Placer returns what places the rows of a statement.
func (s *source) Placer(ctx context.Context) (gormplugin.Placer, error) {
	m, err := s.router.current(ctx)
	if err != nil {
		return nil, err
	}
	spread := s.router.lease.everywhere()
	if last := s.placer.Load(); last != nil && last.in == m && last.spread == spread {
		return last, nil
	}
	p := &placer{in: m, spread: spread}
	s.placer.Store(p)
	return p, nil
}

// Place returns the bucket for a new row. While another process may have the version of the map before this one it is the first of the key's buckets,
// which is in every version: that process would not look for rows in those that a newer version has spread the key to.
func (p *placer) Place(key any) (int64, error) {
	if !p.spread {
		return p.in.Place(key, 0)
	}
	return p.in.Place(key, rand.Uint64()) // rows of a key may come in a rhythm, which a turn of each bucket could have too
}

// Check compares a key that is set with its row's sharding key.
func (p *placer) Check(id int64, key any) error { return p.in.Check(id, key) }
