package shard

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"
)

// transact runs work in a transaction, which is explicit because a session may not commit on its own (autocommit=0), nor see the commits of others for
// as long as its own transaction is open. It says BEGIN and COMMIT itself: sql.Tx.Commit takes no context.
func (s *Store) transact(ctx context.Context, work func(*sql.Conn) error) error {
	conn, err := s.begin(ctx)
	if err != nil {
		return err
	}
	ended := false
	defer func() {
		if !ended {
			s.abandon(ctx, conn)
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
func (s *Store) begin(ctx context.Context) (*sql.Conn, error) {
	// The pool may be full of connections to a server that was restarted; each that turns out to be one is closed. That is what sql.DB.BeginTx does too.
	for attempts := s.db.Stats().Idle + 2; ; attempts-- {
		conn, err := s.db.Conn(ctx)
		if err != nil {
			return nil, fmt.Errorf("connecting: %w", err)
		}
		if _, err = conn.ExecContext(ctx, s.texts.begin); err == nil {
			return conn, nil
		}
		s.abandon(ctx, conn)
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
func (s *Store) abandon(ctx context.Context, conn *sql.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonLimit)
	defer cancel()
	_, err := conn.ExecContext(ctx, "ROLLBACK")
	if err != nil && s.dialect == SQLite {
		// A statement that was interrupted has ended the transaction. An empty one shows that; closing would lose a database in memory.
		if _, err = conn.ExecContext(ctx, "BEGIN"); err == nil {
			_, err = conn.ExecContext(ctx, "ROLLBACK")
		}
	}
	if err != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // which closes it
	}
}
