package shard

import (
	"errors"
	"fmt"

	idshard "github.com/snowkey-go/snowkey/idgen/shard"
)

// The errors of this package, to be tested with errors.Is, beside those of package idgen/shard. What is returned wraps them with what to do.
var (
	// ErrUnrouted says that it is not known which shards a statement is for.
	ErrUnrouted = errors.New("shard: the statement is not routed")
	// ErrSpan says that a statement is for several tables, and cannot be made of one for each.
	ErrSpan = errors.New("shard: the statement spans several tables")
	// ErrMoved says that rows are of a bucket that has moved, or is moving at this moment; nothing of the statement was written. The router has read the
	// map again: once more, a whole transaction from its beginning, and it goes where the rows are now. See [Retry].
	ErrMoved = errors.New("shard: the bucket has moved")
	// ErrTransaction says that a statement is for another database than the one of its transaction.
	ErrTransaction = errors.New("shard: another database than the transaction's")
	// ErrDatabase says that the map names a database that the router was not given, or of another kind.
	ErrDatabase = errors.New("shard: no such database")
	// ErrModel says that a model's sharding column is missing or cannot be one.
	ErrModel = errors.New("shard: the model cannot be sharded")
	// ErrLease says that the lease of the map is over, and the database did not tell in time which map is in force; the statement was not run.
	ErrLease = errors.New("shard: the map could not be confirmed")
	// ErrDisagree is package idgen/shard's: an id and a sharding key have different buckets. It comes as an [idshard.DisagreeError].
	ErrDisagree = idshard.ErrDisagree
	// ErrKey is package idgen/shard's: a row has no sharding key, or none that can be one.
	ErrKey = idshard.ErrKey
	// ErrConfig says that a setting is outside of its limits, or is not what the map in force says.
	ErrConfig = errors.New("shard: configuration")
)

// PartialError says that some databases have committed their part of a statement, and another one has not.
type PartialError struct {
	Committed []string // names of the databases, "" for the router's own
	Failed    []string
	Err       error // of the first commit that failed
}

// Error names them.
func (e *PartialError) Error() string {
	return fmt.Sprintf("shard: committed in the databases %q, not in %q: %v", e.Committed, e.Failed, e.Err)
}

// Unwrap returns the commit's error.
func (e *PartialError) Unwrap() error { return e.Err }
