package gormplugin

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/snowkey-go/snowkey/shard"
)

// bucket returns the bucket of a row's sharding key, not ok when it has none.
func (k *key) bucket(ctx context.Context, r *row) (bucket int64, ok bool, err error) {
	by, err := k.shardingKey(ctx, r)
	if err != nil || by == nil {
		return 0, false, err
	}
	bucket, err = k.source.bucket(by)
	return bucket, true, err
}

// checkRow fails when a row has no sharding key, or a key that does not fit it.
func (k *key) checkRow(ctx context.Context, number int, r *row) error {
	by, err := k.shardingKey(ctx, r)
	if err != nil {
		return fmt.Errorf("row %d: %w", number, err)
	}
	if by == nil {
		return fmt.Errorf("%w: row %d has no %s, and its key is made of that; set it, or point to a zero that is one", shard.ErrKey, number, k.by.Name)
	}
	id, err := k.id(ctx, r)
	if err != nil {
		return err
	}
	return k.source.check(id, by)
}

// takeFor sets the keys of a batch to ones of buckets, in their order.
func (s *source) takeFor(ctx context.Context, keys *batch, buckets []int64) error {
	n := len(buckets)
	keys.integers = slices.Grow(keys.integers[:0], 2*n)[:n]
	if !slices.ContainsFunc(buckets, func(bucket int64) bool { return bucket != buckets[0] }) {
		return s.sharded.FillFor(ctx, buckets[0], keys.integers)
	}
	rows := map[int64][]int{}
	for row, bucket := range buckets {
		rows[bucket] = append(rows[bucket], row)
	}
	for _, bucket := range slices.Sorted(maps.Keys(rows)) { // so that a clock that stands for a test makes the same keys each time
		of := rows[bucket]
		made := keys.integers[n : n+len(of)]
		if err := s.sharded.FillFor(ctx, bucket, made); err != nil {
			return err
		}
		for i, row := range of {
			keys.integers[row] = made[i]
		}
	}
	return nil
}

// bucket returns the bucket of a sharding key. A panic of the key's Value becomes an error, as one of a source does.
func (s *source) bucket(by any) (bucket int64, err error) {
	defer recovered(&err)
	return s.sharded.Bucket(by)
}

// check fails for a key that is not of the bucket of a sharding key.
func (s *source) check(id int64, by any) (err error) {
	defer recovered(&err)
	return s.sharded.Check(id, by)
}

// id returns the key of a row as a number.
func (k *key) id(ctx context.Context, r *row) (int64, error) {
	value := k.held(ctx, r)
	switch {
	case value.CanInt() && k.of.Kind() != reflect.String:
		return value.Int(), nil
	case value.CanUint() && k.of.Kind() != reflect.String:
		return int64(value.Uint()), nil // one that is too large is negative, which is no id
	case value.Kind() == reflect.String && k.of.Kind() == reflect.String:
		return k.form.Parse(value.String())
	}
	return 0, fmt.Errorf("%w: the key of a row has the kind %s, want the type %s", ErrKey, value.Kind(), k.of)
}
