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
	g := k.generator.current.Load()
	id, err := g.Next(ctx)
	for err != nil {
		if err := k.await(ctx, g, err); err != nil {
			return 0, err
		}
		g = k.generator.current.Load()
		id, err = g.Next(ctx)
	}
	return id, nil
}

// Fill sets every element of keys to a new key, all or none. It waits and fails as Next does.
func (k *Keeper) Fill(ctx context.Context, keys []int64) error {
	return k.retry(ctx, func(g *generator) error { return g.Fill(ctx, keys) })
}

// Shards returns how many shards NextFor and FillFor make keys of, 0 for a keeper whose [Config.Generator] has no [idgen.WithShards].
func (k *Keeper) Shards() int { return k.generator.current.Load().Shards() }

// NextFor returns a new key of a shard, of a keeper whose [Config.Generator] has [idgen.WithShards]. It waits and fails as Next does; the
// error is otherwise one of [idgen.Snowflake.NextFor].
func (k *Keeper) NextFor(ctx context.Context, shard int64) (id int64, err error) {
	err = k.retry(ctx, func(g *generator) (err error) {
		id, err = g.NextFor(ctx, shard)
		return err
	})
	return id, err
}

// FillFor sets every element of keys to a new key of a shard, all or none. It waits and fails as NextFor does.
func (k *Keeper) FillFor(ctx context.Context, shard int64, keys []int64) error {
	return k.retry(ctx, func(g *generator) error { return g.FillFor(ctx, shard, keys) })
}

// Streams returns how many streams TakeStream hands out, 0 where the layout has none; see [idgen.Snowflake.Streams]. Of two layouts it is the greater number.
func (k *Keeper) Streams() int { return k.generator.Streams() }

// TakeStream returns the number of the lowest free stream, to be given back with ReturnStream when the INSERT of its keys has ended.
func (k *Keeper) TakeStream() int64 {
	g := k.generator.current.Load()
	return g.place<<streamBits | g.TakeStream()
}

// streamBits are more than a layout's streams have. The number of a stream has above them which generator it is of.
const streamBits = 16

// ReturnStream gives back a stream, once for each TakeStream.
func (k *Keeper) ReturnStream(stream int64) {
	if of := stream >> streamBits; uint64(of) < uint64(len(k.generator.all)) {
		k.generator.all[of].ReturnStream(stream & (1<<streamBits - 1))
	}
}

// FillIn sets every element of keys to a new key of a stream, all or none. It waits and fails as Next does; the error is otherwise one of
// [idgen.Snowflake.FillIn].
func (k *Keeper) FillIn(ctx context.Context, stream int64, keys []int64) error {
	return k.retry(ctx, func(g *generator) error {
		if of := stream >> streamBits; of != g.place && uint64(of) < uint64(len(k.generator.all)) {
			return g.Fill(ctx, keys) // the layout has changed since the stream was taken
		}
		return g.FillIn(ctx, stream&(1<<streamBits-1), keys)
	})
}

// retry calls until there is no error, or one that a renewal of the grant does not help against.
func (k *Keeper) retry(ctx context.Context, call func(*generator) error) error {
	g := k.generator.current.Load()
	err := call(g)
	for err != nil {
		if err := k.await(ctx, g, err); err != nil {
			return err
		}
		g = k.generator.current.Load()
		err = call(g)
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
func (k *Keeper) await(ctx context.Context, g *generator, err error) error {
	if !errors.Is(err, idgen.ErrGrant) {
		return err
	}
	if k.generator.turned(g) {
		return nil
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
