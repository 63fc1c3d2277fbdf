package database

import (
	"context"

	"github.com/snowkey-go/snowkey/compare/result"
)

// Scope is what a [Meter] counts.
type Scope int

// The scopes.
const (
	// Splits counts page splits alone, with counters that cost the inserts nothing: it may run while they are timed.
	Splits Scope = iota
	// Writes counts page splits, the log and the data pages. It writes back what is dirty first, and may change how the connection for inserts
	// does so until it is stopped: inserts are not to be timed meanwhile.
	Writes
)

// noWrites says why the log and the pages of so many rows are not counted, "" where they are.
func (s Scope) noWrites(rows int) string {
	switch {
	case s != Writes:
		return notAsked
	case rows < 1:
		return noRows
	}
	return ""
}

// counting returns the page splits, the log and the data pages a row since a moment: a sample each, or the reason why there is none. Servers
// count for all their clients together; the notes say so.
type counting func(ctx context.Context, rows int) (result.Storage, error)

// Meter begins to count. What it returns ends the counting, of so many rows that were inserted since, and has to be called, whatever comes
// between; of two meters on one database, only one may count Writes. The figures beyond the scope are missing, with the reason. The errors say
// that the database is gone or the context has ended.
func (d *Database) Meter(ctx context.Context, scope Scope) (stop func(ctx context.Context, rows int) (result.Storage, error), err error) {
	count, err := d.engine.meter(ctx, scope)
	if err != nil {
		missing, err := d.missing(ctx, err)
		return func(context.Context, int) (result.Storage, error) { return uncounted(missing), nil }, err
	}
	return func(ctx context.Context, rows int) (result.Storage, error) {
		counted, err := count(ctx, rows)
		return counted, d.wrap(err)
	}, nil
}

// uncounted has one reason for all that a meter counts.
func uncounted(missing result.Figure) result.Storage {
	return result.Storage{Splits: missing, Log: missing, Pages: missing}
}

// Settle waits until the database has written back what earlier work left dirty, as far as it can be made to, for at most ten seconds, or as
// long as SQLite waits for a lock: so that the writes of one strategy do not slow the next. The error says that the database is gone or the context has ended.
func (d *Database) Settle(ctx context.Context) error {
	if err := d.engine.settle(ctx); err != nil {
		_, err := d.missing(ctx, err)
		return err
	}
	return nil
}

// Buffers returns how many pages reading 1,000 rows asked the cache for, when all rows of a table are read in the order of a column that has
// an index. The error says that the database is gone or the context has ended.
func (d *Database) Buffers(ctx context.Context, table, column string) (result.Figure, error) {
	figure, err := d.engine.buffers(ctx, table, column)
	if err != nil {
		return d.missing(ctx, err)
	}
	return figure, nil
}
