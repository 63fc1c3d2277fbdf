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

// Reading is what a database did between two moments: figures of one sample each, or of the reason why there is none. Servers count for
// all their clients together; the notes say so.
type Reading struct {
	Splits result.Figure // pages that were split
	Log    result.Figure // bytes of WAL or redo a row
	Pages  result.Figure // bytes of data pages a row
}

// Meter counts what a database does. It is made by [Database.Meter] and not safe for concurrent use.
type Meter struct {
	d *Database
	m meter
}

// Meter begins to count. The meter has to be stopped, whatever comes between; of two meters on one database, only one may count Writes. The
// error says that the database is gone or the context has ended.
func (d *Database) Meter(ctx context.Context, scope Scope) (*Meter, error) {
	m, err := d.engine.meter(ctx, scope)
	if err != nil {
		missing, err := d.missing(ctx, err)
		return &Meter{d: d, m: noMeter{missing}}, err
	}
	return &Meter{d: d, m: m}, nil
}

// Stop ends the counting, of so many rows that were inserted since it began. The figures beyond the meter's scope are missing, with the reason.
// The error says that the database is gone or the context has ended.
func (m *Meter) Stop(ctx context.Context, rows int) (Reading, error) {
	r, err := m.m.stop(ctx, rows)
	return r, m.d.wrap(err)
}

// noMeter is why nothing is counted.
type noMeter struct{ missing result.Figure }

func (m noMeter) stop(context.Context, int) (Reading, error) {
	return Reading{Splits: m.missing, Log: m.missing, Pages: m.missing}, nil
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
