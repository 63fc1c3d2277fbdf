package dialect

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"
	"time"
)

// Lock is an advisory lock of a session, by its name. On PostgreSQL it is the database's, on MySQL the server's.
type Lock struct {
	name  string
	local bool // on MySQL too it is of the session's database alone
}

// The locks of this module: what they are for, none twice.
var (
	// RunLock is held by a run of a migration.
	RunLock = Lock{"migration: run", true}
	// StatementLock is held by a migration's statement that commits by itself.
	StatementLock = Lock{"migration: statement", true}
	// MergeLock is held by a merge, in the database that it writes to.
	MergeLock = Lock{"merge", true}
)

// PartitionLock is held by whoever changes the partitions of a table.
func PartitionLock(schema, table string) Lock {
	return Lock{"partitions of " + schema + "." + table, false}
}

// CreateLock is held by whoever creates tables of a name, in whichever schema.
func CreateLock(table string) Lock { return Lock{"creating " + table, false} }

// FunctionLock is held for a moment by a function of the database that makes keys, see package nextid.
func FunctionLock(schema, function string) Lock {
	return Lock{"function " + schema + "." + function, false}
}

// Number returns the lock's key on PostgreSQL.
func (l Lock) Number() int64 {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte("snowkey " + l.name)) // never fails
	return int64(sum.Sum64())
}

// TryLock takes the lock for the session if no other session has it, and returns whether the session has it now. It is true on SQLite, where a
// transaction locks the whole database.
func (d Dialect) TryLock(ctx context.Context, session Queryer, l Lock) (bool, error) {
	try, _, _ := d.engine().lock(l)
	if try == "" {
		return true, nil
	}
	var got int64
	if err := One(ctx, session, try, nil, &got); err != nil {
		return false, fmt.Errorf("taking the lock %q: %w", l.name, err)
	}
	return got == 1, nil
}

// lockPause is the time between two attempts to take a lock. The wait is not the server's: a statement that waits there has a snapshot, for which on
// PostgreSQL a DETACH CONCURRENTLY waits in turn.
const lockPause = 50 * time.Millisecond

// WaitLock is [Dialect.TryLock], again and again for as long as the limit says. It is false when the lock is another session's after that.
func (d Dialect) WaitLock(ctx context.Context, session Queryer, l Lock, limit time.Duration) (bool, error) {
	for end := time.Now().Add(limit); ; {
		got, err := d.TryLock(ctx, session, l)
		if canceled := ctx.Err(); err != nil && canceled != nil && !errors.Is(err, canceled) {
			err = fmt.Errorf("%w: %w", canceled, err) // pgx returns driver.ErrBadConn alone when the context ends before the statement is sent
		}
		if got || err != nil || time.Now().After(end) {
			return got, err
		}
		if err := Sleep(ctx, lockPause); err != nil {
			return false, fmt.Errorf("waiting for the lock %q: %w", l.name, err)
		}
	}
}

// Unlock frees the session's lock, as the end of the session does.
func (d Dialect) Unlock(ctx context.Context, session Queryer, l Lock) error {
	_, free, _ := d.engine().lock(l)
	if free == "" {
		return nil
	}
	if err := One(ctx, session, free, nil, new(sql.NullInt64)); err != nil {
		return fmt.Errorf("freeing the lock %q: %w", l.name, err)
	}
	return nil
}

// LockHolder returns the server's number for the session that has the lock, 0 when none has.
func (d Dialect) LockHolder(ctx context.Context, db Queryer, l Lock) (session int64, err error) {
	_, _, holder := d.engine().lock(l)
	if holder == "" {
		return 0, nil
	}
	var found sql.NullInt64
	if err := One(ctx, db, holder, nil, &found); err != nil {
		return 0, fmt.Errorf("asking who has the lock %q: %w", l.name, err)
	}
	return found.Int64, nil
}

// createLimit bounds the wait for others who create tables.
const createLimit = 10 * time.Second

// LockCreate keeps others from creating tables of the name while a session does, and returns what ends that. On PostgreSQL it has to be called in a transaction,
// and lasts until the transaction's end. SQLite's transactions do it already.
func (d Dialect) LockCreate(ctx context.Context, conn *sql.Conn, name string) (unlock func(), err error) {
	_, table := SplitName(name)
	l := CreateLock(table)
	if d == Postgres {
		if _, err := conn.ExecContext(ctx, fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", l.Number())); err != nil {
			return nil, fmt.Errorf("waiting for others who create %s: %w", table, err)
		}
		return func() {}, nil
	}
	if got, err := d.WaitLock(ctx, conn, l, createLimit); err != nil {
		return nil, err
	} else if !got {
		return nil, fmt.Errorf("others have been creating %s for %v", table, createLimit)
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonLimit)
		defer cancel()
		_ = d.Unlock(ctx, conn, l) // else the end of the connection does it
	}, nil
}
