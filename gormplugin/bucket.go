package gormplugin

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"gorm.io/gorm"

	idshard "github.com/snowkey-go/snowkey/idgen/shard"
)

// placing is a row that is to get a key of a bucket.
type placing struct {
	bucket int64
	at     int // among the rows of the statement
	nth    int // among those that get a key
}

// placings are kept for the next statement.
var placings = sync.Pool{New: func() any { return new([]placing) }}

// fillSharded gives every row of a statement that has no key one of the bucket of its sharding key, with one call of the source for each
// bucket. A row without a sharding key stays without a key, since the hooks that follow may set it.
func (k *key) fillSharded(stmt *gorm.Statement) error {
	if !k.selected(stmt) || !writes(stmt, k.by.DBName) {
		return fmt.Errorf("%w: a sharded row needs its key and its sharding column %s; leave both in what is selected, and out of Omit", idshard.ErrKey, k.by.Name)
	}
	kept := placings.Get().(*[]placing)
	defer placings.Put(kept)
	missing := (*kept)[:0]
	placer, rows := Placer(nil), 0
	err := eachRow(stmt, func(r row) (err error) {
		rows++
		if !k.isMissing(stmt.Context, r) {
			return nil
		}
		by, err := k.shardingKey(stmt.Context, r)
		switch {
		case err != nil:
			return fmt.Errorf("row %d: %w", rows-1, err)
		case by == nil:
			return nil
		case !r.canSet():
			return fmt.Errorf("%w: a %s was passed by value, so its key cannot be set; pass a pointer", gorm.ErrInvalidValue, r.value.Type())
		case placer == nil:
			if placer, err = k.source.placer(stmt.Context); err != nil {
				return err
			}
		}
		bucket, err := bucketFor(placer, by)
		missing = append(missing, placing{bucket, rows - 1, len(missing)})
		return err
	})
	*kept = missing
	if err != nil || len(missing) == 0 {
		return err
	}
	keys, err := k.source.batchFor(stmt.Context, missing)
	defer k.source.free(keys)
	if err != nil {
		return err
	}
	return k.setPlaced(stmt, missing, keys)
}

// checkSharded appends the keys of all rows to ids, after the last that is filled. A row without a sharding key is an error, and so is a key that
// does not fit.
func (k *key) checkSharded(stmt *gorm.Statement, placer Placer, ids []int64) ([]int64, error) {
	rows := 0
	err := eachRow(stmt, func(r row) error {
		rows++
		by, err := k.shardingKey(stmt.Context, r)
		if err != nil {
			return fmt.Errorf("row %d: %w", rows-1, err)
		}
		if by == nil {
			return fmt.Errorf("%w: row %d has no %s, and its key is made of that; set it, or point to a zero that is one", idshard.ErrKey, rows-1, k.by.Name)
		}
		id, err := k.id(stmt.Context, r)
		if err != nil {
			return err
		}
		ids = append(ids, id)
		return check(placer, id, by)
	})
	return ids, err
}

// setPlaced sets the keys of rows, in the order of the rows.
func (k *key) setPlaced(stmt *gorm.Statement, missing []placing, keys *batch) error {
	u, at, next := upsertOf(stmt), 0, 0
	return eachRow(stmt, func(r row) error {
		at++
		if next == len(missing) || missing[next].at != at-1 {
			return nil
		}
		u.note(r, k)
		next++
		return k.set(stmt.Context, r, keys, next-1)
	})
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
	slices.SortFunc(grouped, func(a, b placing) int {
		if a.bucket != b.bucket {
			return cmp.Compare(a.bucket, b.bucket)
		}
		return a.nth - b.nth
	})
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

// placer returns what places the rows of a statement.
func (s *source) placer(ctx context.Context) (p Placer, err error) {
	defer recovered(&err)
	if of, ok := s.sharded.(placers); ok {
		return of.Placer(ctx)
	}
	return eachPlacer{ctx, s.sharded}, nil
}

func bucketFor(p Placer, by any) (bucket int64, err error) {
	defer recovered(&err)
	return p.Place(by)
}

func check(p Placer, id int64, by any) (err error) {
	defer recovered(&err)
	return p.Check(id, by)
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
	value := reflect.Value{}
	if r.columns == nil {
		value = k.field.ReflectValueOf(ctx, r.value)
	}
	for name, v := range r.columns {
		if r.isColumn(k, name) {
			value = reflect.ValueOf(v)
		}
	}
	for value.Kind() == reflect.Pointer {
		value = value.Elem()
	}
	switch {
	case value.CanInt() && k.of.Kind() != reflect.String:
		return value.Int(), nil
	case value.CanUint() && k.of.Kind() != reflect.String:
		return int64(value.Uint()), nil // one that is too large is negative, which is no id
	case value.Kind() == reflect.String && k.of.Kind() == reflect.String:
		return k.encoding.Parse(value.String())
	}
	return 0, fmt.Errorf("%w: the key of a row is a %s, want a %s", ErrKey, value.Kind(), k.of)
}
