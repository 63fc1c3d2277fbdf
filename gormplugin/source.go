package gormplugin

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/shard"
)

// Key is what a source can make: 64-bit integers, keys of 12 bytes as ObjectIDs are, or of 16 as UUIDs are, or texts such as NanoIDs.
type Key interface {
	int64 | [12]byte | [16]byte | string
}

// isText is the width of keys that are texts.
const isText = -1

// source is a source of keys of any type. Its take sets n keys of a batch.
type source struct {
	of      any           // the idgen.Source
	width   int           // bytes of a key, 0 of an integer, or isText
	sharded *shard.Source // nil unless its keys can be of buckets
	streams streams       // nil unless its keys can be of streams
	take    func(ctx context.Context, keys *batch, n int) error
	batches sync.Pool
}

// streams is an [idgen.Snowflake], or the keeper of a grant, whose layout has streams.
type streams interface {
	Streams() int
	TakeStream() int64
	ReturnStream(stream int64)
	FillIn(ctx context.Context, stream int64, keys []int64) error
}

// noStream stands for keys that come of whichever stream, or of a source without streams.
const noStream = -1

// batch is the keys of one statement: integers, texts, or bytes of which each key has so many. Keys of a stream are to be inserted before that is returned.
type batch struct {
	integers []int64
	octets   []byte
	texts    []string
	stream   int64
}

// newSource returns [ErrNoSource] for one that is nil.
func newSource[K Key](of idgen.Source[K]) (*source, error) {
	s := &source{of: of, batches: sync.Pool{New: func() any { return new(batch) }}}
	switch of := any(of).(type) {
	case idgen.Source[int64]:
		var err error
		if of, s.sharded, err = shardedSource(of); err != nil {
			return nil, err
		}
		if of, ok := of.(streams); ok && of.Streams() > 0 {
			s.streams = of
		}
		s.take = func(ctx context.Context, keys *batch, n int) (err error) {
			keys.integers = slices.Grow(keys.integers[:0], n)[:n]
			if keys.stream != noStream {
				return s.streams.FillIn(ctx, keys.stream, keys.integers)
			}
			if n == 1 {
				keys.integers[0], err = of.Next(ctx)
				return err
			}
			return of.Fill(ctx, keys.integers)
		}
	case idgen.Source[[12]byte]:
		s.width, s.take = 12, takeOctets(of, func(b []byte, key [12]byte) []byte { return append(b, key[:]...) })
	case idgen.Source[[16]byte]:
		s.width, s.take = 16, takeOctets(of, func(b []byte, key [16]byte) []byte { return append(b, key[:]...) })
	case idgen.Source[string]:
		s.width = isText
		s.take = func(ctx context.Context, keys *batch, n int) error {
			keys.texts = slices.Grow(keys.texts[:0], n)[:n]
			return of.Fill(ctx, keys.texts)
		}
	default:
		return nil, fmt.Errorf("%w: it is nil", ErrNoSource)
	}
	return s, nil
}

// shardedSource returns a source, and the one that makes its keys for buckets: itself, or one of a generator or keeper with [idgen.WithShards].
func shardedSource(of idgen.Source[int64]) (idgen.Source[int64], *shard.Source, error) {
	switch of := of.(type) {
	case *shard.Source:
		return of, of, nil
	case interface {
		shard.Maker
		Shards() int
	}:
		if of.Shards() > 0 {
			sharded, err := shard.NewSource(of)
			return sharded, sharded, err
		}
	}
	return of, nil, nil
}

func takeOctets[K Key](of idgen.Source[K], add func([]byte, K) []byte) func(context.Context, *batch, int) error {
	return func(ctx context.Context, keys *batch, n int) error {
		made := make([]K, n)
		if err := of.Fill(ctx, made); err != nil {
			return err
		}
		keys.octets = keys.octets[:0]
		for _, key := range made {
			keys.octets = add(keys.octets, key)
		}
		return nil
	}
}

// batch takes n keys, of a stream or of none, or one key of each bucket. They are to be given back with free. A panic of the source becomes an error here,
// because one in a callback would leave the connection of GORM's transaction open for ever.
func (s *source) batch(ctx context.Context, n int, buckets []int64, stream int64) (keys *batch, err error) {
	keys = s.batches.Get().(*batch)
	keys.stream = stream
	defer recovered(&err)
	if buckets != nil {
		return keys, s.takeFor(ctx, keys, buckets)
	}
	return keys, s.take(ctx, keys, n)
}

// recovered is deferred, and makes a panic of the source an error.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%w: %v", ErrSourcePanic, r)
	}
}

func (s *source) free(keys *batch) { s.batches.Put(keys) }

// describe says what the keys are, for errors.
func (s *source) describe() string {
	switch s.width {
	case 0:
		return "integers"
	case isText:
		return "texts"
	}
	return fmt.Sprintf("keys of %d bytes", s.width)
}

// phases returns the layouts that keys have had and come to have, none when they have none.
func (s *source) phases() idgen.Phases {
	if of, ok := s.of.(interface{ Phases() idgen.Phases }); ok {
		if phases := of.Phases(); len(phases) > 0 {
			return phases
		}
	}
	if layout, ok := s.layout(); ok {
		return idgen.Phases{{Layout: layout}}
	}
	return nil
}

// layout returns the layout of the keys that are made now, when they have one.
func (s *source) layout() (idgen.Layout, bool) {
	if of, ok := s.of.(interface{ Layout() idgen.Layout }); ok {
		return of.Layout(), true
	}
	return idgen.Layout{}, false
}
