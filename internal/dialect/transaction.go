package dialect

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"
)

// Pool is a *sql.DB, as far as [Dialect.Transact] needs one.
type Pool interface {
	Conn(context.Context) (*sql.Conn, error)
	Stats() sql.DBStats
}

// Begin returns the statement that begins a transaction.
func (d Dialect) Begin() string { return d.engine().begin(false) }

// BeginWrite returns the statement that begins a transaction which reads what others may be writing, and then writes.
func (d Dialect) BeginWrite() string { return d.engine().begin(true) }

// Commit returns the statement that commits a transaction and does nothing else.
func (d Dialect) Commit() string { return d.engine().end("COMMIT") }

// Rollback returns the statement that rolls a transaction back and does nothing else.
func (d Dialect) Rollback() string { return d.engine().end("ROLLBACK") }

// Transact runs work in a transaction that begins with the statement given. The transaction is explicit because a session may not commit on its own
// (autocommit=0), and then does not see the commits of others either.
//
// It runs BEGIN and COMMIT as statements: sql.Tx.Commit takes no context, so that with go-sql-driver/mysql a commit at a server which stopped
// answering never returns, and keeps its connection.
func (d Dialect) Transact(ctx context.Context, db Pool, begin string, work func(*sql.Conn) error) error {
	conn, err := d.begin(ctx, db, begin)
	if err != nil {
		return err
	}
	defer conn.Close() // which only gives it back to the pool
	return d.finish(ctx, conn, work)
}

// TransactOn is [Dialect.Transact] on a connection that the caller has.
func (d Dialect) TransactOn(ctx context.Context, conn *sql.Conn, begin string, work func(*sql.Conn) error) error {
	if _, err := conn.ExecContext(ctx, begin); err != nil {
		return fmt.Errorf("beginning a transaction: %w", err)
	}
	return d.finish(ctx, conn, work)
}

// finish runs work in the transaction that the connection has, and commits. A COMMIT that has succeeded when the context had ended is an error: PostgreSQL
// acknowledges one whose wait for a standby was cancelled, as some drivers do then, though the standby may lack it.
func (d Dialect) finish(ctx context.Context, conn *sql.Conn, work func(*sql.Conn) error) error {
	ended := false
	defer func() {
		if !ended {
			d.abandon(ctx, conn)
		}
	}()
	if err := work(conn); err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, d.Commit()); err != nil {
		return fmt.Errorf("committing: %w", err)
	}
	ended = true
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("committing: %w", err)
	}
	return nil
}

// begin returns a connection with a new transaction.
func (d Dialect) begin(ctx context.Context, db Pool, begin string) (*sql.Conn, error) {
	// The pool may be full of connections to a server that was restarted; each that turns out to be one is closed. That is what sql.DB.BeginTx does too.
	for attempts := db.Stats().Idle + 2; ; attempts-- {
		conn, err := db.Conn(ctx)
		if err != nil {
			return nil, fmt.Errorf("connecting: %w", err)
		}
		if _, err = conn.ExecContext(ctx, begin); err == nil {
			return conn, nil
		}
		d.abandon(ctx, conn)
		_ = conn.Close()
		if attempts <= 1 || !errors.Is(err, driver.ErrBadConn) {
			return nil, fmt.Errorf("beginning a transaction: %w", err)
		}
	}
}

// abandonLimit bounds the wait for the end of a transaction that failed. When the context has ended the drivers have closed the connection, or the
// database is in this process.
const abandonLimit = 2 * time.Second

// abandon ends the connection's transaction without a commit, or else the connection.
func (d Dialect) abandon(ctx context.Context, conn *sql.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonLimit)
	defer cancel()
	_, err := conn.ExecContext(ctx, d.Rollback())
	if err != nil && d == SQLite {
		// A statement that was interrupted has ended the transaction. An empty one shows that; closing would lose a database in memory.
		if _, err = conn.ExecContext(ctx, "BEGIN"); err == nil {
			_, err = conn.ExecContext(ctx, "ROLLBACK")
		}
	}
	if err != nil {
		Discard(conn)
	}
}

// Discard closes a connection rather than giving it back to its pool.
func Discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // the error that it returns
	_ = conn.Close()                                           // sql.ErrConnDone after that
}
