package grant

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// Next returns a new key. When the grant has ended, as it has after the process was suspended, it waits for one attempt to renew it, or
// until the context ends. The error is an [EndedError] when that has failed, wraps [ErrClosed] after the keeper's end, and is one of
// [idgen.Snowflake.Next] otherwise.
func (k *Keeper) Next(ctx context.Context) (int64, error) {
	id, err := k.generator.Next(ctx)
	for err != nil {
		if err := k.await(ctx, err); err != nil {
			return 0, err
		}
		id, err = k.generator.Next(ctx)
	}
	return id, nil
}

// Fill sets every element of keys to a new key, all or none. It waits and fails as Next does.
func (k *Keeper) Fill(ctx context.Context, keys []int64) error {
	err := k.generator.Fill(ctx, keys)
	for err != nil {
		if err := k.await(ctx, err); err != nil {
			return err
		}
		err = k.generator.Fill(ctx, keys)
	}
	return nil
}

// Shards returns how many shards NextFor and FillFor make keys of, 0 for a keeper whose [Config.Generator] has no [idgen.WithShards].
func (k *Keeper) Shards() int { return k.generator.Shards() }

// NextFor returns a new key of a shard, of a keeper whose [Config.Generator] has [idgen.WithShards]. It waits and fails as Next does; the
// error is otherwise one of [idgen.Snowflake.NextFor].
func (k *Keeper) NextFor(ctx context.Context, shard int64) (int64, error) {
	id, err := k.generator.NextFor(ctx, shard)
	for err != nil {
		if err := k.await(ctx, err); err != nil {
			return 0, err
		}
		id, err = k.generator.NextFor(ctx, shard)
	}
	return id, nil
}

// FillFor sets every element of keys to a new key of a shard, all or none. It waits and fails as NextFor does.
func (k *Keeper) FillFor(ctx context.Context, shard int64, keys []int64) error {
	err := k.generator.FillFor(ctx, shard, keys)
	for err != nil {
		if err := k.await(ctx, err); err != nil {
			return err
		}
		err = k.generator.FillFor(ctx, shard, keys)
	}
	return nil
}

// hurry has the grant renewed now.
func (k *Keeper) hurry() {
	select {
	case k.demand <- struct{}{}:
	default: // another call has asked already
	}
}

// await returns nil when it is worth trying again after an error of the generator.
func (k *Keeper) await(ctx context.Context, err error) error {
	if !errors.Is(err, idgen.ErrGrant) {
		return err
	}
	status := k.status.Load()
	if errors.Is(status.Err, ErrClosed) {
		return status.Err
	}
	if status.Err != nil {
		return &EndedError{Number: status.Number, Until: status.Until, Cause: status.Err}
	}
	k.hurry()
	for {
		// A call that holds a connection of the store's pool must not wait for one that waits for it.
		if store, ok := k.store.(interface{ Starved() bool }); ok && store.Starved() {
			return &EndedError{Number: status.Number, Until: status.Until, Cause: errStarved}
		}
		timer := time.NewTimer(starvation)
		select {
		case <-status.changed:
			timer.Stop()
			return nil
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("grant: waiting for a grant of number %d: %w", status.Number, ctx.Err())
		case <-timer.C:
		}
	}
}

// errStarved is why a call does not wait for a renewal that waits for a connection.
var errStarved = errors.New("the renewal waits for a connection or a lock that statements have which wait for a key; this one makes way for it")
