package partition

import "errors"

var (
	// ErrTable says that the settings of a [Table] are not valid, or do not fit its layout.
	ErrTable = errors.New("partition: invalid settings")
	// ErrUnsupported says that the database has no partitions: SQLite.
	ErrUnsupported = errors.New("partition: the database has no partitions")
	// ErrNotPartitioned says that a table is missing, or is not divided by ranges of its key alone.
	ErrNotPartitioned = errors.New("partition: not a table divided by ranges of its key")
	// ErrPartman says that pg_partman manages the table.
	ErrPartman = errors.New("partition: the table is managed by pg_partman")
	// ErrClock says that the clock of the database reads a time that the layout cannot hold.
	ErrClock = errors.New("partition: the clock of the database is outside of the layout")
	// ErrBusy says that other transactions kept the table locked for all attempts at a step. The next run goes on there.
	ErrBusy = errors.New("partition: the table is busy")
	// ErrReferenced says that rows of other tables refer, by a foreign key, to rows of a partition that is to be detached.
	ErrReferenced = errors.New("partition: rows are referred to")
	// ErrArchive says that the archive command has failed. The detached table stays, and the next run calls the command again.
	ErrArchive = errors.New("partition: archiving failed")
	// ErrAttention says that a run has done what it could, and that the rest needs an operator: see [Plan.Problems].
	ErrAttention = errors.New("partition: an operator is needed")
)
