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

// Transact runs work in a transaction, which begins with the statement given. It is explicit because a session may not commit on its own (autocommit=0),
// nor see the commits of others for as long as its own transaction is open.
//
// It says BEGIN and COMMIT itself: sql.Tx.Commit takes no context, so that with go-sql-driver/mysql one at a server that has stopped to answer never
// returns, and keeps its connection.
func (d Dialect) Transact(ctx context.Context, db Pool, begin string, work func(*sql.Conn) error) error {
	conn, err := d.begin(ctx, db, begin)
	if err != nil {
		return err
	}
	ended := false
	defer func() {
		if !ended {
			d.abandon(ctx, conn)
		}
		_ = conn.Close() // which only gives it back to the pool
	}()
	if err := work(conn); err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, "COMMIT"); err != nil {
		return fmt.Errorf("committing: %w", err)
	}
	ended = true
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
	_, err := conn.ExecContext(ctx, "ROLLBACK")
	if err != nil && d == SQLite {
		// A statement that was interrupted has ended the transaction. An empty one shows that; closing would lose a database in memory.
		if _, err = conn.ExecContext(ctx, "BEGIN"); err == nil {
			_, err = conn.ExecContext(ctx, "ROLLBACK")
		}
	}
	if err != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // which closes it
	}
}
