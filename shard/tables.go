package shard

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"github.com/snowkey-go/snowkey/idgen"
)

// Nowhere is the suffix for an id that no table can have. There is no table of such a name, so the statement fails.
const Nowhere = "_nowhere"

// mostTables is the most buckets that a generator counts sequences for.
const mostTables = 1 << 16

// Tables are the tables orders_00, orders_01, … of one database, in the form of the functions that gorm.io/sharding takes. This module does not
// import it:
//
//	t, err := shard.NewTables(idgen.Sharded.Layout, 16, Order{}.UserID)
//	sharding.Register(sharding.Config{
//		ShardingKey:                   "user_id",
//		ShardingAlgorithm:             t.Suffix,
//		ShardingSuffixs:               t.Suffixes,
//		ShardingAlgorithmByPrimaryKey: t.SuffixOfID,
//		PrimaryKeyGenerator:           sharding.PKCustom,
//		PrimaryKeyGeneratorFn:         func(int64) int64 { return 0 }, // snowkey's plugin has set the key already; or see Generator
//	}, "orders")
//
// Table i has the buckets that [Table] gives it. With snowkey's GORM plugin beside it the key is set before the statement is made and has the
// bucket of the row's sharding key. Rows from before the sharding are found by their sharding key and not by their id alone.
//
// gorm.io/sharding sends what its SQL parser does not read to the table orders, so there is no table of that name. The documentation of the module
// shard/gormsharding says what else to watch there, and which of its open issues remain; the tests of that module run both plugins on SQLite, MariaDB
// and PostgreSQL.
type Tables struct {
	layout idgen.Layout
	field  field
	n      int
	number bool // the sharding key is an integer
	array  bool // it is an array of bytes, which has no text
}

// NewTables returns the functions of n tables; key is any value of the type of the sharding column, such as int64(0). The error wraps [ErrLayout] for
// a layout without a shard field, [ErrTables] for n below 1 or above its buckets, and [ErrKey] for a key that cannot be one.
func NewTables(layout idgen.Layout, n int, key any) (*Tables, error) {
	f := fieldOf(layout)
	switch {
	case f.mask == 0:
		return nil, errNoShard(layout)
	case n < 1 || uint64(n) > min(f.mask+1, mostTables):
		return nil, fmt.Errorf("%w: %d tables, want 1 to %d, the layout's buckets", ErrTables, n, min(f.mask+1, mostTables))
	}
	v, err := plain(key)
	if err != nil {
		return nil, err
	}
	return &Tables{layout: layout, field: f, n: n, number: v.CanInt() || v.CanUint(), array: v.Kind() == reflect.Array}, nil
}

// Suffix returns the suffix of the table with the rows of a sharding key: a ShardingAlgorithm. Where the column is an integer, the text of one is
// that number. The error wraps [ErrKey] for a value that is not of the column's type. Safe for concurrent use.
func (t *Tables) Suffix(columnValue any) (suffix string, err error) {
	v, err := plain(columnValue)
	if err != nil {
		return "", err
	}
	isNumber := v.CanInt() || v.CanUint()
	switch {
	case isNumber == t.number && (v.Kind() == reflect.Array) == t.array:
		// Of the column's type.
	case t.number && v.Kind() == reflect.String:
		if columnValue, err = number(v.String()); err != nil {
			return "", err
		}
	default:
		return "", fmt.Errorf("%w: the sharding column has values of another type than %T", ErrKey, columnValue)
	}
	sum, err := Sum(columnValue)
	return t.suffix(int(sum & t.field.mask % uint64(t.n))), err
}

// number reads an integer as a statement has it.
func number(text string) (any, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%w: the sharding column is an integer, and %q is none", ErrKey, text)
	}
	return n, nil
}

// Suffixes returns the suffixes of all tables, in their order, all as long as that of the last one and of two digits at least: a ShardingSuffixs.
// So tables that become more than 100 get a longer name each.
func (t *Tables) Suffixes() []string {
	suffixes := make([]string, t.n)
	for i := range suffixes {
		suffixes[i] = t.suffix(i)
	}
	return suffixes
}

func (t *Tables) suffix(i int) string {
	return fmt.Sprintf("_%0*d", max(2, len(strconv.Itoa(t.n-1))), i)
}

// SuffixOfID returns the suffix of the table with the row of an id, and [Nowhere] for a number that is no id of the layout: a
// ShardingAlgorithmByPrimaryKey. Safe for concurrent use.
func (t *Tables) SuffixOfID(id int64) string {
	if id < 0 || uint64(id)>>t.field.bits > 0 {
		return Nowhere
	}
	return t.suffix(int(uint64(id) >> t.field.shift & t.field.mask % uint64(t.n)))
}

// Generator returns a PrimaryKeyGeneratorFn whose ids lead to the table that it is called for. It is for doing without snowkey's GORM plugin.
//
// It is told the table and not the sharding key, so it knows the bucket of the row only where each table has one bucket: the error wraps
// [ErrTables] unless there are as many tables as the layout has buckets, and [ErrLayout] when the maker's layout is another one. Such tables
// cannot become more.
//
// The function cannot return an error. Where there is no id, it calls failed, which may not be nil and may be called by several goroutines at a
// time, and returns 0, for which gorm.io/sharding leaves the id out of the statement. The database then has to refuse the row, and does where the
// column is a primary key with no default: PostgreSQL, and MySQL and MariaDB in strict mode. An AUTO_INCREMENT or serial column, and SQLite's
// INTEGER PRIMARY KEY, would make up a number that leads elsewhere; do not use the function with those. ctx ends the waits of all its calls.
//
// It is called for every row, also for one that has its id, and an id that is not needed is lost. A model whose field has autoIncrement:false puts
// a 0 in the statement, which counts as its id, so such a model must set it.
func (t *Tables) Generator(ctx context.Context, source Maker, failed func(error)) (func(tableIdx int64) int64, error) {
	switch {
	case source == nil || failed == nil:
		return nil, errors.New("shard: a generator needs a source of ids, and a function to tell of its errors")
	case source.Layout() != t.layout:
		return nil, fmt.Errorf("%w: the source has %s, the tables have %s", ErrLayout, source.Layout(), t.layout)
	case uint64(t.n) != t.field.mask+1:
		return nil, fmt.Errorf("%w: %d tables of %d buckets; a generator that is told the table alone cannot choose the bucket of the sharding key; "+
			"have as many buckets as tables, or let the GORM plugin set the key", ErrTables, t.n, t.field.mask+1)
	}
	return func(tableIdx int64) int64 {
		id, err := source.NextFor(ctx, tableIdx)
		if err != nil {
			failed(fmt.Errorf("shard: no id for the table with the index %d: %w", tableIdx, err))
			return 0
		}
		return id
	}, nil
}
