package shard

import (
	"errors"
	"fmt"
)

// The errors of this package, to be tested with errors.Is. What is returned wraps them with the value, the limit and what to do.
var (
	// ErrLayout says that a layout has no shard field, or is not the one of the map.
	ErrLayout = errors.New("shard: layout does not fit")
	// ErrKey says that a value cannot be a sharding key: nil, a zero where that stands for none, or of a kind that has no mix.
	ErrKey = errors.New("shard: no sharding key")
	// ErrDisagree says that an id and a sharding key have different buckets. It comes as a [DisagreeError].
	ErrDisagree = errors.New("shard: the id and the sharding key disagree")
	// ErrID says that an id is negative, or is neither one of the layout nor older than the sharding.
	ErrID = errors.New("shard: not an id of the map")
	// ErrMap says that a map is not valid, or that a change of it is not possible.
	ErrMap = errors.New("shard: invalid map")
	// ErrNoMap says that the store has no map of a name.
	ErrNoMap = errors.New("shard: no such map")
	// ErrVersion says that the store's map is of another version than the one that was to be changed.
	ErrVersion = errors.New("shard: another version of the map")
	// ErrTable says that the store's table is missing, or not as it should be.
	ErrTable = errors.New("shard: the table of maps")
)

// DisagreeError says which buckets an id and a sharding key have. It is an [ErrDisagree].
type DisagreeError struct {
	ID      int64
	Key     any     // the sharding key
	Bucket  int64   // of the id
	Buckets []int64 // of the key: one, or more when it is spread
}

// Error names both.
func (e *DisagreeError) Error() string {
	return fmt.Sprintf("%v: %d is of bucket %d, the key %v of %v; a row keeps its sharding key, and an id is made for it", ErrDisagree, e.ID, e.Bucket, e.Key, e.Buckets)
}

// Is makes errors.Is find [ErrDisagree].
func (e *DisagreeError) Is(target error) bool { return target == ErrDisagree }
