package run

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/internal/journal"
)

// endLimit bounds what is done after the context has ended: to commit what is done, to roll back what is not.
const endLimit = 30 * time.Second

// keepLimit is how long a connection that nothing uses is kept for the next action. One that is idle for longer may be closed by whoever is
// in between.
const keepLimit = time.Second

// session is a connection of one action's own, or of several with the same settings, one after the other.
type session struct {
	*sql.Conn
	r        *runner
	settings []string
	id       int64     // the server's number for it, on MySQL
	saved    []string  // statements that put SQLite's settings back
	locked   bool      // it has the lock of statements that commit by themselves
	dirty    bool      // its settings were changed for good: it does not go back to the pool
	broken   bool      // it may be in a transaction still, or gone
	reused   bool      // an action before has used it
	left     time.Time // when that was at its end
}

// open returns a connection with the action's settings, and the limits of a wait for locks. Limits that the server or the user has for the
// time of statements are not for these.
func (r *runner) open(ctx context.Context, settings []string) (opened *session, err error) {
	if s := r.kept; s != nil && slices.Equal(s.settings, settings) && time.Since(s.left) < keepLimit {
		r.kept, r.last, s.reused = nil, s, true
		return s, nil
	}
	r.drop()
	conn, err := r.db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	s := &session{Conn: conn, r: r, settings: settings, dirty: len(settings) > 0}
	defer func() {
		if err != nil {
			s.broken = true
			s.close()
			return
		}
		r.last = s
	}()
	switch r.dialect {
	case dialect.MySQL:
		s.dirty = true
		if err := s.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&s.id); err != nil {
			return nil, fmt.Errorf("the connection's number: %w", err)
		}
		seconds := int64((r.o.LockWait + time.Second - 1) / time.Second)
		// What is in the comment is MariaDB's.
		settings = append([]string{fmt.Sprintf("SET SESSION /*M! max_statement_time = 0, */ lock_wait_timeout = %d, innodb_lock_wait_timeout = %d", seconds, seconds)}, settings...)
	case dialect.Postgres:
		s.dirty = true
		// To compile a batch's statements takes longer than it saves. Before PostgreSQL 11 there is no such setting.
		settings = append([]string{"SET statement_timeout = 0", "SET idle_in_transaction_session_timeout = 0",
			"SELECT set_config('jit', 'off', false) FROM pg_catalog.pg_settings WHERE name = 'jit'"}, settings...)
	case dialect.SQLite:
		s.dirty = false
		if err := s.saveSettings(ctx); err != nil {
			return nil, err
		}
		settings = append([]string{fmt.Sprintf("PRAGMA busy_timeout = %d", r.o.LockWait.Milliseconds())}, settings...)
	}
	for _, text := range settings {
		if _, err := s.ExecContext(ctx, text); err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
	}
	return s, nil
}

// saveSettings reads the settings of SQLite's that a run changes: the wait for locks, and foreign keys, which a plan switches off. Other databases'
// connections are closed when their settings were changed; one of SQLite may be all that there is of a database in memory.
func (s *session) saveSettings(ctx context.Context) error {
	for _, name := range []string{"busy_timeout", "foreign_keys"} {
		var value int64
		if err := s.QueryRowContext(ctx, "PRAGMA "+name).Scan(&value); err != nil {
			return fmt.Errorf("the connection's %s: %w", name, err)
		}
		s.saved = append(s.saved, fmt.Sprintf("PRAGMA %s = %d", name, value))
	}
	return nil
}

// close keeps the connection for the next action. SQLite's goes back to the pool, which may have no other.
func (s *session) close() {
	if s.broken || s.r.dialect == dialect.SQLite {
		s.end()
		return
	}
	s.r.drop()
	s.r.kept, s.left = s, time.Now()
}

// drop ends the connection that is kept. It is called before the pool is used in another way, which may have no more connections than one
// action needs.
func (r *runner) drop() {
	if s := r.kept; s != nil {
		r.kept = nil
		s.end()
	}
}

// end gives the connection back to the pool as it was, or ends it. Nothing is lost by an error: what was to be kept is committed.
func (s *session) end() {
	ctx, cancel := context.WithTimeout(context.Background(), endLimit)
	defer cancel()
	for _, text := range s.saved {
		if s.broken {
			break
		}
		if _, err := s.ExecContext(ctx, text); err != nil {
			s.broken = true
		}
	}
	if s.locked && !s.broken { // the server would free it a moment after the connection is closed, and the next one wait for that
		_ = s.r.dialect.Unlock(ctx, s, dialect.StatementLock) // closing the connection frees it too
	}
	if s.dirty || s.broken {
		dialect.Discard(s.Conn)
		if s.broken {
			s.r.lock.killSession(ctx, s.id)
		}
		return
	}
	_ = s.Close()
}

// transact does work in a transaction that begins with the fence, and commits it. When it returns an error nothing was committed, but for
// an error of the commit itself that is not the database's own: then it is [errUnknown].
func (s *session) transact(ctx context.Context, work func() error) error {
	return s.transactAs(ctx, func() error { return s.r.journal.Fence(ctx, s) }, work)
}

// errUnknown says that the connection was lost while it committed. The next run reads in the journal what became of it.
var errUnknown = errors.New("the connection was lost during COMMIT, so that it is not known whether this was written; the journal knows")

func (s *session) transactAs(ctx context.Context, first, work func() error) error {
	begin := s.r.dialect.BeginWrite()
	if _, err := s.ExecContext(ctx, begin); err != nil {
		s.broken = s.r.dialect.Class(err) != dialect.Conflict // it may have begun
		return fmt.Errorf("%s: %w", begin, err)
	}
	err := func() error {
		if s.r.dialect == dialect.Postgres {
			if _, err := s.ExecContext(ctx, fmt.Sprintf("SET LOCAL lock_timeout = %d", s.r.o.LockWait.Milliseconds())); err != nil {
				return fmt.Errorf("SET LOCAL lock_timeout: %w", err)
			}
		}
		if err := first(); err != nil {
			return err
		}
		return work()
	}()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		s.undo(ctx, err)
		return err
	}
	// An end of the context here would leave open whether it was committed.
	whole, cancel := graceful(ctx)
	defer cancel()
	if _, err := s.ExecContext(whole, s.r.dialect.Commit()); err != nil {
		s.undo(ctx, err)
		if s.r.dialect.Code(err) == "" {
			return fmt.Errorf("%w: %w", errUnknown, err)
		}
		return fmt.Errorf("COMMIT: %w", err)
	}
	return nil
}

// undo rolls back, whatever has become of the context.
func (s *session) undo(ctx context.Context, cause error) {
	if errors.Is(cause, driver.ErrBadConn) {
		s.broken = true
		return
	}
	whole, cancel := graceful(ctx)
	defer cancel()
	if _, err := s.ExecContext(whole, s.r.dialect.Rollback()); err != nil {
		s.broken = true // the server rolls back when it is closed; SQLite says so also when there is no transaction any more
	}
}

// graceful returns a context that ends endLimit after another, and with cancel.
func graceful(ctx context.Context) (context.Context, context.CancelFunc) {
	whole, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if dialect.Sleep(whole, endLimit) == nil {
			cancel()
		}
	})
	return whole, func() {
		stop()
		cancel()
	}
}

// number returns what a query for one number gives, 0 for NULL and for no row.
func (s *session) number(ctx context.Context, query string, args ...any) (int64, error) {
	var n sql.NullInt64
	err := s.QueryRowContext(ctx, query, args...).Scan(&n)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("%s: %w", brief(query), err)
	}
	return n.Int64, nil
}

// run runs a statement, and returns how many rows it has changed.
func (s *session) run(ctx context.Context, text string, args ...any) (int64, error) {
	result, err := s.ExecContext(ctx, text, args...)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", brief(text), err)
	}
	n, err := result.RowsAffected()
	if err != nil {
		return 0, fmt.Errorf("counting rows: %w", err)
	}
	return n, nil
}

// runAll runs statements that change no rows.
func (s *session) runAll(ctx context.Context, texts []string) error {
	for _, text := range texts {
		if _, err := s.run(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// brief returns the beginning of a statement, as errors have it.
func brief(text string) string {
	if letters := []rune(text); len(letters) > 120 {
		return string(letters[:119]) + "…"
	}
	return text
}

var _ journal.Conn = (*session)(nil)
