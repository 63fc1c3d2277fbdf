package shard

import (
	"fmt"

	"github.com/snowkey-go/snowkey/idgen"
)

// Bucket returns the bucket of a sharding key: the low bits of its [Sum], as many as the layout's shard field has. The error wraps [ErrKey], or
// [ErrLayout] for a layout without a shard field.
func Bucket(layout idgen.Layout, key any) (int64, error) {
	if layout.Bits(idgen.Shard) == 0 {
		return 0, errNoShard(layout)
	}
	sum, err := Sum(key)
	if err != nil {
		return 0, err
	}
	return int64(sum & uint64(layout.Max(idgen.Shard))), nil
}

// Table returns which of n tables has the rows of a bucket, counted from 0: the bucket modulo n. Of n tables that become 2n, the rows of table i
// stay in i or move to i+n, and no id changes. The error wraps [ErrTables] for n below 1 and a negative bucket.
func Table(bucket int64, n int) (int, error) {
	if n < 1 || bucket < 0 {
		return 0, fmt.Errorf("%w: bucket %d of %d tables; a bucket is 0 or more, and tables are 1 or more", ErrTables, bucket, n)
	}
	return int(bucket % int64(n)), nil
}

// Range returns the least and the greatest id that a bucket can have in a layout with the bucket on top, as [idgen.Scattered]: all ids between them
// are the bucket's. The error wraps [ErrLayout] for a layout with another field above the bucket, and [ErrTables] for a bucket that it does
// not have.
func Range(layout idgen.Layout, bucket int64) (least, greatest int64, err error) {
	return fieldOf(layout).ids(layout, bucket)
}

func (f field) ids(layout idgen.Layout, bucket int64) (least, greatest int64, err error) {
	switch {
	case f.mask == 0:
		return 0, 0, errNoShard(layout)
	case !f.top:
		return 0, 0, fmt.Errorf("%w: %s has another field above the bucket, so the ids of a bucket are no range", ErrLayout, layout)
	case bucket < 0 || uint64(bucket) > f.mask:
		return 0, 0, fmt.Errorf("%w: bucket %d, the layout's are 0 to %d", ErrTables, bucket, f.mask)
	}
	return bucket << f.shift, (bucket+1)<<f.shift - 1, nil
}

// Condition returns the SQL condition that an id has a bucket, for every database: a range of ids with the bucket on top, as [Range] has it, and
// otherwise one of its bits, such as (id & 1023) = 17. The column is an SQL expression, a name in its quotes. The errors are those of Range, but the
// bucket may be in any place.
func Condition(layout idgen.Layout, column string, bucket int64) (string, error) {
	f := fieldOf(layout)
	low := !f.top
	f.top = true
	least, greatest, err := f.ids(layout, bucket)
	switch {
	case err != nil:
		return "", err
	case !low:
		return fmt.Sprintf("%s BETWEEN %d AND %d", column, least, greatest), nil
	case f.shift > 0:
		column = fmt.Sprintf("(%s >> %d)", column, f.shift)
	}
	return fmt.Sprintf("(%s & %d) = %d", column, f.mask, bucket), nil
}

// field is where the bucket is in an id.
type field struct {
	shift int    // the bits below the bucket
	mask  uint64 // the greatest bucket, 0 without a shard field
	bits  int    // of an id
	top   bool   // no field is above the bucket
}

func fieldOf(layout idgen.Layout) field {
	shift, bits := layout.Shift(idgen.Shard), layout.Width()
	return field{shift: shift, mask: uint64(layout.Max(idgen.Shard)), bits: bits, top: shift+layout.Bits(idgen.Shard) == bits}
}

func errNoShard(layout idgen.Layout) error {
	return fmt.Errorf("%w: %s has no shard field", ErrLayout, layout)
}
