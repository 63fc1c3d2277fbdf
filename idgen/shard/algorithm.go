package shard

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Nowhere is the suffix for an id that no map can place. There is no table of such a name, so the statement fails.
const Nowhere = "_nowhere"

// Algorithm has a map in the form of the functions that gorm.io/sharding takes, which this module does not import:
//
//	a, err := shard.NewAlgorithm(m, Order{}.UserID)
//	sharding.Register(sharding.Config{
//		ShardingKey:                   "user_id",
//		ShardingAlgorithm:             a.Suffix,
//		ShardingSuffixs:               a.Suffixes,
//		ShardingAlgorithmByPrimaryKey: a.SuffixOfID,
//		PrimaryKeyGenerator:           sharding.PKCustom,
//		PrimaryKeyGeneratorFn:         func(int64) int64 { return 0 }, // the key is in the statement already; or see Generator
//	}, "orders")
//
// With snowkey's GORM plugin beside it and a [Source], the key is set before the statement is made, and has the bucket of the row's sharding key, so a
// map of many buckets can be used, and can grow. That is the way to be preferred; [Algorithm.Generator] is for doing without.
//
// # What to watch there
//
// Seen with version 0.6.1, by the tests in the folder gormsharding, and in its source:
//
//   - A statement that its SQL parser does not understand goes to the table without a suffix, and so does a join. Have no table of that name.
//   - WHERE user_id = 1 OR user_id = 2 goes to the table of one of the two; IN, and a range, are refused. Of a condition on both user_id and id
//     the id is not looked at, so one that disagrees finds nothing.
//   - A batch with rows of several tables is refused, and has to be split by whoever makes it.
//   - An UPDATE that changes the sharding key leaves the row in the table where it is.
//   - Only a column named id is a key to it, without its table: First(&order, id), Delete(&order) and all else for which GORM writes orders.id is
//     refused, and Where("id = ?", id) is not. Values of an id have to be int64; of another type such as sqltype.ID, int64(id).
//   - A number that is written in the statement comes to the algorithm as a text. [NewAlgorithm] is told the type of the column for that.
//   - Its own generator, PKSnowflake, has the index of the table as the node: two processes make the same ids. Its own algorithm takes the
//     remainder with the sign, so that -3 is in the table _-3.
type Algorithm struct {
	m      *Map
	number bool // the sharding key is an integer
	array  bool // it is an array of bytes, which has no text
}

// NewAlgorithm returns the functions of a map; key is any value of the type of the sharding column, such as int64(0). The error wraps [ErrMap] for a
// map that gorm.io/sharding cannot follow: one with rows from before, with shards in several databases, with one without a suffix, which its check
// of batches overlooks, or with the suffix [Nowhere]. For a key that cannot be one it wraps [ErrKey].
func NewAlgorithm(m *Map, key any) (*Algorithm, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	if _, ok := m.Legacy(); ok {
		return nil, fmt.Errorf("%w: with rows from before the sharding, the rows of a sharding key are in two tables", ErrMap)
	}
	for i, s := range m.Shards() {
		switch {
		case s.Database != m.Shard(0).Database:
			return nil, fmt.Errorf("%w: shards are in the databases %q and %q; gorm.io/sharding has one", ErrMap, m.Shard(0).Database, s.Database)
		case s.Suffix == "" || strings.EqualFold(s.Suffix, Nowhere):
			return nil, fmt.Errorf("%w: shard %d, %s, has the suffix %q, which means something else here", ErrMap, i, s.Name, s.Suffix)
		}
	}
	v, err := plain(key)
	if err != nil {
		return nil, err
	}
	return &Algorithm{m: m, number: v.CanInt() || v.CanUint(), array: v.Kind() == reflect.Array}, nil
}

// Suffix returns the suffix of the table with the rows of a sharding key: a ShardingAlgorithm. Where the column is an integer, the text of one is
// that number. The error wraps [ErrKey] for a value that is not of the column's type, and [ErrMap] for a key whose rows the map spreads over
// several tables. Safe for concurrent use.
func (a *Algorithm) Suffix(columnValue any) (suffix string, err error) {
	v, err := plain(columnValue)
	if err != nil {
		return "", err
	}
	isNumber := v.CanInt() || v.CanUint()
	switch {
	case isNumber == a.number && (v.Kind() == reflect.Array) == a.array:
		// Of the column's type.
	case a.number && v.Kind() == reflect.String:
		if columnValue, err = number(v.String()); err != nil {
			return "", err
		}
	default:
		return "", fmt.Errorf("%w: the sharding column has values of another type than %T", ErrKey, columnValue)
	}
	var room [4]int
	in, err := a.m.OfKey(room[:0], columnValue)
	if err != nil {
		return "", err
	}
	if len(in) != 1 {
		return "", fmt.Errorf("%w: the rows of the sharding key %v are in %d tables, and gorm.io/sharding reads one", ErrMap, columnValue, len(in))
	}
	return a.m.Shard(in[0]).Suffix, nil
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

// Suffixes returns the suffixes of all tables, in the order of the map's shards: a ShardingSuffixs.
func (a *Algorithm) Suffixes() []string {
	shards := a.m.Shards()
	suffixes := make([]string, len(shards))
	for i, s := range shards {
		suffixes[i] = s.Suffix
	}
	return suffixes
}

// SuffixOfID returns the suffix of the table with the row of an id, and [Nowhere] for a number that is no id of the map: a
// ShardingAlgorithmByPrimaryKey. Safe for concurrent use.
func (a *Algorithm) SuffixOfID(id int64) string {
	i, err := a.m.OfID(id)
	if err != nil {
		return Nowhere
	}
	return a.m.Shard(i).Suffix
}

// Generator returns a PrimaryKeyGeneratorFn whose ids lead to the table that it is called for.
//
// It is told the table, and not the sharding key. So it can know the bucket of the row only where the table has just one: the error wraps [ErrMap]
// unless every shard has one bucket, as with a layout of 6 bits of shard for 64 tables. With more of them, ids would have other buckets than their
// sharding keys, and part from them when the map changes. Such a map cannot grow; one that is to takes keys from the GORM plugin, see [Algorithm].
// Two tables that the index cannot tell apart are an ErrMap too: it is the number after the first underline of a suffix, and else the place among
// the suffixes. The error wraps [ErrLayout] when the maker's layout is not the map's.
//
// The function cannot return an error. Where there is no id, it calls failed, which may not be nil, and may be called by several goroutines at a
// time, and returns 0, for which gorm.io/sharding leaves the id out of the statement. The database then has to refuse the row, and does where the
// column is a primary key with no default: PostgreSQL, and MySQL and MariaDB in strict mode. An AUTO_INCREMENT or serial column, and SQLite's
// INTEGER PRIMARY KEY, would make up a number that leads elsewhere; do not use the function with those. ctx ends the waits of all its calls.
//
// It is called for every row, also for one that has its id, and an id that is not needed is lost. A model whose field has autoIncrement:false puts
// a 0 in the statement, which counts as its id, so such a model must set it.
func (a *Algorithm) Generator(ctx context.Context, source Maker, failed func(error)) (func(tableIdx int64) int64, error) {
	if source == nil || failed == nil {
		return nil, errors.New("shard: a generator needs a source of ids, and a function to tell of its errors")
	}
	if err := a.m.Fits(source.Layout()); err != nil {
		return nil, err
	}
	bucket, err := a.indexes()
	if err != nil {
		return nil, err
	}
	return func(tableIdx int64) int64 {
		b, ok := bucket[tableIdx]
		if !ok {
			failed(fmt.Errorf("%w: no table has the index %d", ErrMap, tableIdx))
			return 0
		}
		id, err := source.NextFor(ctx, b)
		if err != nil {
			failed(fmt.Errorf("shard: no id for the table with the index %d: %w", tableIdx, err))
			return 0
		}
		return id
	}, nil
}

// indexes returns the bucket of each table, by the index that gorm.io/sharding has for it.
func (a *Algorithm) indexes() (map[int64]int64, error) {
	held := make([][]int64, len(a.m.Shards()))
	for b := range a.m.Buckets() {
		i, err := a.m.OfBucket(b)
		if err != nil {
			return nil, err
		}
		held[i] = append(held[i], b)
	}
	bucket, suffixes := map[int64]int64{}, a.Suffixes()
	for i, buckets := range held {
		if len(buckets) != 1 {
			return nil, fmt.Errorf("%w: shard %s has %d buckets, and a generator that is told the table alone cannot choose that of the sharding key; "+
				"have as many buckets as tables, or let the GORM plugin set the key", ErrMap, a.m.Shard(i).Name, len(buckets))
		}
		index, err := strconv.Atoi(strings.Replace(suffixes[i], "_", "", 1))
		if err != nil {
			index = slices.Index(suffixes, suffixes[i])
		}
		if _, ok := bucket[int64(index)]; ok {
			return nil, fmt.Errorf("%w: two tables, one with the suffix %s, have the index %d", ErrMap, suffixes[i], index)
		}
		bucket[int64(index)] = buckets[0]
	}
	return bucket, nil
}
