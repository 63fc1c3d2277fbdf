package run

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/internal/journal"
)

// grace is how long the lock is tried for: the server may notice a moment later that the process before is gone.
const grace = 3 * time.Second

// alive is how long the lock's connection may be idle before it is asked whether it is there.
const alive = 20 * time.Second

// lock is the lock of a run. On SQLite it is nothing.
type lock struct {
	db      *sql.DB
	dialect dialect.Dialect
	conn    *sql.Conn
	seen    time.Time // when the connection was known to be there
}

// newLock takes the lock of a run. The error wraps journal.ErrRunning when another has it.
func newLock(ctx context.Context, db *sql.DB, d dialect.Dialect) (*lock, error) {
	l := &lock{db: db, dialect: d}
	if d == dialect.SQLite {
		return l, nil
	}
	return l, l.take(ctx)
}

func (l *lock) take(ctx context.Context) error {
	conn, err := l.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	l.conn = conn
	got, err := l.dialect.WaitLock(ctx, conn, dialect.RunLock, grace)
	if err == nil && !got {
		err = fmt.Errorf("%w: it holds the lock of this database's migration", journal.ErrRunning)
	}
	if err != nil {
		l.release()
		return err
	}
	l.seen = time.Now()
	return nil
}

// ensure sees to it that the lock is held still: its connection may have been closed for being idle. The error wraps journal.ErrLost when it
// is another's now.
func (l *lock) ensure(ctx context.Context) error {
	if l.dialect == dialect.SQLite || time.Since(l.seen) < alive {
		return nil
	}
	if err := l.conn.PingContext(ctx); err == nil {
		l.seen = time.Now()
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	l.release()
	if err := l.take(ctx); err != nil {
		return fmt.Errorf("%w: the connection with the lock was closed: %w", journal.ErrLost, err)
	}
	return nil
}

// release closes the connection, which frees the lock.
func (l *lock) release() {
	if l.conn == nil {
		return
	}
	dialect.Discard(l.conn)
	l.conn = nil
}

// killSession ends a connection of MySQL's that was given up: the server would finish its statement first. It does what it can, since the server
// ends the connection in any case.
func (l *lock) killSession(ctx context.Context, id int64) {
	if l.dialect == dialect.MySQL && l.conn != nil && id != 0 {
		_, _ = l.conn.ExecContext(ctx, fmt.Sprintf("KILL %d", id)) // 1094 when it is gone, the usual case
	}
}

// lockStatements waits until no statement of a run before, which was killed, is at work on the server, and keeps others from beginning one on
// another connection until this one is ended.
func (r *runner) lockStatements(ctx context.Context, s *session) error {
	if r.dialect == dialect.SQLite || s.locked {
		return nil
	}
	s.dirty = true // the lock is not for whoever gets the connection next
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		got, err := r.dialect.TryLock(ctx, s, dialect.StatementLock)
		if err != nil || got {
			s.locked = got
			return err
		}
		r.progress.waits("the server, which still works on a statement of the run before")
		if err := dialect.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}
