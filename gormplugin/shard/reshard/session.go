package reshard

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"

	idshard "github.com/snowkey-go/snowkey/idgen/shard"
	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// session is the one connection of a database that a move works on. It holds a lock that no other move of the map gets, so that what a move that was
// given up for dead may still write, it writes before the next one begins. SQLite has no such locks, see [mover.transact].
type session struct {
	name    string // of the database in the map
	dialect dialect.Dialect
	conn    *sql.Conn
	catalog *catalog.Catalog
	timeout int // SQLite's busy_timeout before
}

// The statements that make a connection read and write values as they are, whatever the server's settings, and wait for a lock no longer than others
// can wait for us meanwhile.
var sessions = map[dialect.Dialect][]string{
	dialect.MySQL: {
		"SET SESSION time_zone = '+00:00'", "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES'", "SET SESSION autocommit = 1",
		"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", "SET SESSION lock_wait_timeout = 2, innodb_lock_wait_timeout = 5",
	},
	dialect.Postgres: {
		"SET datestyle = 'ISO, YMD'", "SET intervalstyle = 'postgres'", "SET timezone = 'UTC'", "SET extra_float_digits = 1", "SET bytea_output = 'hex'",
		"SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED", "SET lock_timeout = '2s'",
	},
}

// locks are the queries for 1 when the session has got the lock of a map.
var locks = map[dialect.Dialect]string{
	dialect.MySQL:    "SELECT COALESCE(GET_LOCK(CONCAT('snowkey_reshard:', MD5(CONCAT(DATABASE(), ':', ?))), 0), 0)",
	dialect.Postgres: "SELECT CASE WHEN pg_try_advisory_lock(7236294, hashtext($1)) THEN 1 ELSE 0 END",
}

// How long the lock is tried for: the server may notice a moment later that a process is gone, and ends its statement first.
const (
	lockWait  = 3 * time.Second
	lockPause = 50 * time.Millisecond
)

// open takes a connection of a database for the moves of a map.
func open(ctx context.Context, name string, db Database, of, pass string) (_ *session, err error) {
	if limit := db.DB.Stats().MaxOpenConnections; limit == 1 {
		return nil, fmt.Errorf("%w: the pool of the database %q has one connection; a move needs two", ErrPlan, name)
	}
	s := &session{name: name, dialect: db.Dialect}
	if s.conn, err = db.DB.Conn(ctx); err != nil {
		return nil, s.failed(err, "connecting")
	}
	defer func() {
		if err != nil {
			s.close(ctx)
		}
	}()
	for _, statement := range sessions[s.dialect] {
		if err := s.execute(ctx, statement); err != nil {
			return nil, err
		}
	}
	switch s.dialect {
	case dialect.MySQL:
		err = s.execute(ctx, "SET @snowkey_mover = '"+pass+"'") // of letters and digits
	case dialect.Postgres:
		err = s.execute(ctx, "SET snowkey.mover = '"+pass+"'")
	case dialect.SQLite:
		if err = s.conn.QueryRowContext(ctx, "PRAGMA busy_timeout").Scan(&s.timeout); err == nil {
			err = s.execute(ctx, "PRAGMA busy_timeout = 10000")
		}
	}
	if err == nil {
		err = s.lock(ctx, of)
	}
	if err == nil {
		s.catalog, err = catalog.New(s.conn, s.dialect)
	}
	return s, err
}

// lock takes the lock of a map.
func (s *session) lock(ctx context.Context, of string) error {
	if s.dialect == dialect.SQLite {
		return nil
	}
	for end := time.Now().Add(lockWait); ; {
		var got int
		if err := s.conn.QueryRowContext(ctx, locks[s.dialect], of).Scan(&got); err != nil {
			return s.failed(err, "the lock of moves")
		}
		if got == 1 {
			return nil
		}
		held := fmt.Errorf("%w: it holds the lock of the map %q in the database %q", ErrOther, of, s.name)
		if time.Now().After(end) {
			return held
		}
		if err := sleep(ctx, lockPause); err != nil {
			return fmt.Errorf("%w: %w", held, err)
		}
	}
}

// close ends the connection: its settings and its lock are not for who gets it next. One of SQLite's is given back.
func (s *session) close(ctx context.Context) {
	if s == nil || s.conn == nil {
		return
	}
	ctx = context.WithoutCancel(ctx)
	end := s.dialect != dialect.SQLite
	if !end {
		_ = s.execute(ctx, "ROLLBACK") // of what an interrupted transaction may have left; else an error
		end = s.execute(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", s.timeout)) != nil
	}
	if end {
		_ = s.conn.Raw(func(any) error { return driver.ErrBadConn }) // which is what ends it
	}
	_ = s.conn.Close() // ErrConnDone after that
}

// execute runs a statement.
func (s *session) execute(ctx context.Context, statement string, args ...any) error {
	_, err := s.conn.ExecContext(ctx, statement, args...)
	return s.failed(err, statement)
}

// each calls scan for each row of a query. It must not query on the same session.
func (s *session) each(ctx context.Context, query string, scan func(scan func(...any) error) error, args ...any) error {
	return s.failed(s.catalog.Each(ctx, query, args, scan), query)
}

// number returns the number that a query gives, 0 for no row and for NULL.
func (s *session) number(ctx context.Context, query string, args ...any) (int64, error) {
	var n sql.NullInt64
	err := s.each(ctx, query, func(scan func(...any) error) error { return scan(&n) }, args...)
	return n.Int64, err
}

// transact runs work in a transaction.
func (s *session) transact(ctx context.Context, work func() error) error {
	begin := map[dialect.Dialect]string{dialect.MySQL: "START TRANSACTION", dialect.Postgres: "BEGIN", dialect.SQLite: "BEGIN IMMEDIATE"}[s.dialect]
	if err := s.execute(ctx, begin); err != nil {
		return err
	}
	err := work()
	if err == nil {
		err = s.execute(ctx, "COMMIT")
	}
	if err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		_ = s.execute(ctx, "ROLLBACK") // the connection is ended when the move is, and with it the transaction
	}
	return err
}

// patient runs statements, all of them again when one of them fails because of a lock that others have.
func (s *session) patient(ctx context.Context, again func() error, statements ...string) error {
	for attempt := 1; ; attempt++ {
		var err error
		for _, statement := range statements {
			if err = s.execute(ctx, statement); err != nil {
				break
			}
		}
		if err == nil || !busy(err) || attempt == 30 {
			return err
		}
		if err := sleep(ctx, min(time.Duration(attempt)*20*time.Millisecond, time.Second)); err != nil {
			return err
		}
		if again != nil {
			if err := again(); err != nil {
				return err
			}
		}
	}
}

// busy tells whether a statement has failed because of a lock.
func busy(err error) bool {
	text := strings.ToLower(err.Error())
	for _, part := range []string{"lock wait timeout", "lock timeout", "deadlock", "database is locked", "database table is locked", "sqlite_busy"} {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// failed says what failed, and where.
func (s *session) failed(err error, what string) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if len(what) > 200 {
		what = what[:200] + " …"
	}
	if s.name == "" {
		return fmt.Errorf("reshard: %s: %w", what, err)
	}
	return fmt.Errorf("reshard: the database %q: %s: %w", s.name, what, err)
}

// quote returns names of columns as statements have them.
func (s *session) quote(names ...string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = s.catalog.Quote(n)
	}
	return strings.Join(quoted, ", ")
}

// sleep waits, or returns the context's error.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// database returns that of a name.
func (w World) database(name string) (Database, error) {
	db, ok := w.Own, true
	if name != "" {
		db, ok = w.Others[name]
	}
	if !ok || db.DB == nil || !db.Dialect.Valid() {
		return Database{}, fmt.Errorf("%w: the map has the database %q, which is not among those given", ErrPlan, name)
	}
	return db, nil
}

// store returns that of the maps.
func (w World) store() (*idshard.Store, error) {
	db, err := w.database("")
	return idshard.NewStore(db.DB, db.Dialect), err
}
