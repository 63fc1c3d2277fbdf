package gormplugin

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/shard"
)

// placing is a row that is to get a key of a bucket.
type placing struct {
	bucket int64
	nth    int // among those that get a key
}

// placings are the rows of a statement that are to get a key of the bucket of their sharding key.
type placings struct {
	*key
	ctx  context.Context
	rows []placing
}

// placing returns nil when the key does not depend on a sharding column.
func (k *key) placing(s *statement) *placings {
	if k.by == nil {
		return nil
	}
	return &placings{key: k, ctx: s.ctx}
}

func errUnplaced(k *key) error {
	return fmt.Errorf("%w: a sharded row needs its key and its sharding column %s; leave both in what is selected, and out of Omit", shard.ErrKey, k.by.Name)
}

// add tells whether a row is to get a key. One without a sharding key is not: the hooks that follow may set it.
func (p *placings) add(number int, r row) (is bool, err error) {
	by, err := p.shardingKey(p.ctx, r)
	if err != nil {
		return false, fmt.Errorf("row %d: %w", number, err)
	}
	if by == nil {
		return false, nil
	}
	bucket, err := p.source.bucket(by)
	p.rows = append(p.rows, placing{bucket, len(p.rows)})
	return true, err
}

// batch takes a key for each row.
func (p *placings) batch() (*batch, error) { return p.source.batchFor(p.ctx, p.rows) }

// checkSharded fails the statement when a row has no sharding key, or a key that does not fit it, and tells whether all are well.
func (s *statement) checkSharded(db *gorm.DB) bool {
	k := s.plan.sharded
	if k == nil {
		return true
	}
	err := s.rows.each(func(number int, r row) error {
		by, err := k.shardingKey(s.ctx, r)
		if err != nil {
			return fmt.Errorf("row %d: %w", number, err)
		}
		if by == nil {
			return fmt.Errorf("%w: row %d has no %s, and its key is made of that; set it, or point to a zero that is one", shard.ErrKey, number, k.by.Name)
		}
		id, err := k.id(s.ctx, r)
		if err != nil {
			return err
		}
		return k.source.check(id, by)
	})
	if err != nil {
		_ = db.AddError(fmt.Errorf("gormplugin: key %s of %s: %w", k.column, s.of.Table, err))
	}
	return err == nil
}

// batchFor takes a key for each placing. They are to be given back with free.
func (s *source) batchFor(ctx context.Context, missing []placing) (keys *batch, err error) {
	keys = s.batches.Get().(*batch)
	defer recovered(&err)
	n := len(missing)
	keys.integers = slices.Grow(keys.integers[:0], 2*n)[:n]
	if !slices.ContainsFunc(missing, func(p placing) bool { return p.bucket != missing[0].bucket }) {
		return keys, s.sharded.FillFor(ctx, missing[0].bucket, keys.integers)
	}
	grouped := slices.Clone(missing)
	slices.SortStableFunc(grouped, func(a, b placing) int { return cmp.Compare(a.bucket, b.bucket) })
	made := keys.integers[n : 2*n]
	for from := 0; from < n; {
		to := from + 1
		for to < n && grouped[to].bucket == grouped[from].bucket {
			to++
		}
		if err := s.sharded.FillFor(ctx, grouped[from].bucket, made[from:to]); err != nil {
			return keys, err
		}
		from = to
	}
	for i, p := range grouped {
		keys.integers[p.nth] = made[i]
	}
	return keys, nil
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

// writes tells whether a statement writes a column.
func writes(stmt *gorm.Statement, column string) bool {
	if len(stmt.Selects) == 0 && len(stmt.Omits) == 0 {
		return true
	}
	columns, restricted := stmt.SelectAndOmitColumns(true, false)
	is, named := columns[column]
	return is || !named && !restricted
}

// id returns the key of a row as a number.
func (k *key) id(ctx context.Context, r row) (int64, error) {
	value := k.held(ctx, r)
	switch {
	case value.CanInt() && k.of.Kind() != reflect.String:
		return value.Int(), nil
	case value.CanUint() && k.of.Kind() != reflect.String:
		return int64(value.Uint()), nil // one that is too large is negative, which is no id
	case value.Kind() == reflect.String && k.of.Kind() == reflect.String:
		return k.encoding.Parse(value.String())
	}
	return 0, fmt.Errorf("%w: the key of a row has the kind %s, want the type %s", ErrKey, value.Kind(), k.of)
}
