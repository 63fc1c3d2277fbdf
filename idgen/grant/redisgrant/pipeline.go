package redisgrant

import (
	"context"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// mostRedirects is how often one call follows a slot to another server.
const mostRedirects = 3

// pipeline runs commands on one connection of the server that has a key, and returns the first error of any. The first command names the key: where a cluster moves
// the key's slot, a server answers this command with the one to ask, and the commands are sent there. The others change nothing.
func (s *Store) pipeline(ctx context.Context, key string, add func(redis.Pipeliner)) error {
	cluster, ok := s.client.(*redis.ClusterClient)
	if !ok {
		pipe := s.client.Pipeline()
		add(pipe)
		_, err := pipe.Exec(ctx)
		return err
	}
	node, err := cluster.MasterForKey(ctx, key)
	asking := false
	for redirects := 0; err == nil; redirects++ {
		pipe := node.Pipeline()
		if asking {
			pipe.Do(ctx, "ASKING") // is for the next command alone
		}
		add(pipe)
		if _, err = pipe.Exec(ctx); err == nil {
			return nil
		}
		var address string
		if address, asking = redis.IsAskError(err); !asking {
			address, _ = redis.IsMovedError(err)
		}
		next := master(ctx, cluster, address)
		if next == nil || redirects == mostRedirects {
			break
		}
		if !asking {
			cluster.ReloadState(ctx)
		}
		node, err = next, nil
	}
	cluster.ReloadState(ctx)
	return err
}

// master returns the client of the master with an address, or nil where the cluster's client does not know one.
func master(ctx context.Context, cluster *redis.ClusterClient, address string) *redis.Client {
	if address == "" {
		return nil
	}
	var found atomic.Pointer[redis.Client]
	_ = cluster.ForEachMaster(ctx, func(_ context.Context, c *redis.Client) error { // fails where none is known
		if c.Options().Addr == address {
			found.Store(c)
		}
		return nil
	})
	return found.Load()
}
