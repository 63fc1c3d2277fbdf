package shard

import (
	"errors"
	"fmt"
)

// The errors of this package, to be tested with errors.Is. What is returned wraps them with the value, the limit and what to do.
var (
	// ErrLayout says that a layout has no shard field, or one in the wrong place.
	ErrLayout = errors.New("shard: layout does not fit")
	// ErrKey says that a value cannot be a sharding key: nil, a zero where that stands for none, or of a kind that has no mix.
	ErrKey = errors.New("shard: no sharding key")
	// ErrDisagree says that an id and a sharding key have different buckets. It comes as a [DisagreeError].
	ErrDisagree = errors.New("shard: the id and the sharding key disagree")
	// ErrID says that a number is not an id of the layout.
	ErrID = errors.New("shard: not an id of the layout")
	// ErrTables says that there cannot be so many tables, or no such bucket in them.
	ErrTables = errors.New("shard: invalid number of tables")
)

// DisagreeError says which buckets an id and a sharding key have. It is an [ErrDisagree].
type DisagreeError struct {
	ID        int64
	Key       any   // the sharding key
	Bucket    int64 // of the id
	KeyBucket int64 // of the sharding key
}

// Error names both buckets.
func (e *DisagreeError) Error() string {
	return fmt.Sprintf("%v: the id %d has bucket %d, the key %v has bucket %d; a row keeps its sharding key, and an id is made for it", ErrDisagree, e.ID, e.Bucket, e.Key, e.KeyBucket)
}

// Is makes errors.Is find [ErrDisagree].
func (e *DisagreeError) Is(target error) bool { return target == ErrDisagree }
