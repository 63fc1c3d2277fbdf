package grant

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// SQLStore is a [Store] in a table of a database. Each call of a method is one transaction of its own or several, at the isolation level
// that the database's sessions have. It is safe for concurrent use.
//
// The place of the table is settled by the first Prepare that finds or makes it, and stays: USE, SET search_path and sessions that are reset
// do not matter. A name without a schema is looked up in the database's catalogue:
//
//   - on PostgreSQL it is that of the only table of the database that is called so, in whichever schema. It is made in the first schema of
//     the search path that is not called like the role and in which the role may make tables, else in the role's own;
//   - on MySQL and MariaDB it is that of the table in the session's database, which is the one of the DSN;
//   - on SQLite it is that of the table in the main file.
//
// The table is made only where the catalogue says that there is none. A second one that has the key space, anywhere the account can see, is
// an [ErrTwoTables] at the start, and a warning later.
//
// The database/sql pool and its connections stay the caller's. A connection on which a transaction could not be ended for certain is
// closed. A context that ends is heeded as far as the driver does; an SQLite database that is locked by others is waited for as long as
// its busy timeout says.
type SQLStore struct {
	db      *sql.DB
	dialect Dialect
	table   string
	unsafe  bool
	err     error // why no method can work

	settled  atomic.Pointer[settled]
	starving atomic.Int64 // since when a call waits for a connection, in nanoseconds since 1970; 0 while none does
	locking  atomic.Int64 // the same of a transaction on SQLite, which waits for the lock of another one

	mu       sync.Mutex
	prepared map[string]bool // spaces, guarded by mu
	warnings []string        // guarded by mu
}

var _ Store = (*SQLStore)(nil)

// SQLOption is a setting of [SQL].
type SQLOption func(*SQLStore)

// WithTable keeps the grants in the table of that name rather than in [DefaultTable]. See [DDL] for the names that are allowed.
func WithTable(name string) SQLOption {
	return func(s *SQLStore) { s.table = name }
}

// WithUnsafe accepts a database that may lose what it has committed when it or its machine crashes, for tests and demonstrations. What is
// wrong is then a warning only.
func WithUnsafe() SQLOption {
	return func(s *SQLStore) { s.unsafe = true }
}

// SQL returns a store in a table of the database. It does nothing yet: Prepare makes the table where it is missing and may be made.
// Settings that are not valid are errors of the methods, which wrap [ErrTable] or [ErrDialect].
func SQL(db *sql.DB, d Dialect, options ...SQLOption) *SQLStore {
	s := &SQLStore{db: db, dialect: d, table: DefaultTable, prepared: map[string]bool{}}
	for _, option := range options {
		if option != nil {
			option(s)
		}
	}
	if s.err = checkTable(d, s.table); s.err == nil && db == nil {
		s.err = errors.New("the *sql.DB is nil")
	}
	return s
}

const (
	headerNode = -1 // the node of a space's own row
	absentNode = -2 // of the one for numbers without a row
)

// List is [Store.List].
func (s *SQLStore) List(ctx context.Context, space string, least, most int64) (l Listing, err error) {
	defer func() { err = s.explain(ctx, err, "listing the nodes of space %q", space) }()
	if err := s.check(space); err != nil {
		return Listing{}, err
	}
	at, err := s.place(ctx)
	if err != nil {
		return Listing{}, err
	}
	err = s.transact(ctx, func(conn *sql.Conn) error {
		l = Listing{}
		made, rows := int64(0), int64(0)
		err := dialect.Each(ctx, conn, at.texts.list, []any{space, space, max(least, 0), most}, func(found *sql.Rows) error {
			var micros, number, from, until sql.NullInt64
			var holder sql.NullString
			if err := found.Scan(&micros, &rows, &number, &holder, &from, &until); err != nil {
				return err
			}
			if !micros.Valid {
				return errors.New("the database tells no time")
			}
			l.Now = time.UnixMicro(micros.Int64).UTC()
			switch {
			case !number.Valid: // the clock alone
			case !holder.Valid || !from.Valid || !until.Valid:
				return fmt.Errorf("%w: node %d has a NULL", ErrTable, number.Int64)
			case number.Int64 == absentNode:
				l.Absent = until.Int64
			case number.Int64 == headerNode:
				h := headerRow{holder: holder.String, from: from.Int64, until: until.Int64}
				l.ID, _ = h.id()
				made, l.Mark = h.made(), h.mark()
			default:
				l.Rows = append(l.Rows, Row{Number: number.Int64, Holder: holder.String, From: from.Int64, Until: until.Int64})
			}
			return nil
		})
		if l.ID != "" {
			l.Gone = max(0, made-rows)
		}
		return err
	})
	if err == nil && l.Now.IsZero() {
		err = errors.New("the database tells no time")
	}
	if err != nil {
		return Listing{}, err
	}
	return l, nil
}

// Swap is [Store.Swap]. It refuses, with an error, what [CheckSwap] does.
func (s *SQLStore) Swap(ctx context.Context, space string, old, new Row) (swapped bool, err error) {
	defer func() { err = s.explain(ctx, err, "swapping node %d of space %q", new.Number, space) }()
	if err := s.check(space); err != nil {
		return false, err
	}
	if err := CheckSwap(old, new); err != nil {
		return false, err
	}
	at, err := s.place(ctx)
	if err != nil {
		return false, err
	}
	err = s.transact(ctx, func(conn *sql.Conn) error {
		swapped = false
		if err := s.makeDurable(ctx, conn); err != nil {
			return err
		}
		var result sql.Result
		var err error
		if old.Holder == Absent {
			result, err = conn.ExecContext(ctx, at.texts.insert, space, new.Number, new.Holder, new.From, new.Until, "")
		} else {
			result, err = conn.ExecContext(ctx, at.texts.swap, new.Holder, new.From, new.Until, space, new.Number, old.Holder, old.Until)
		}
		if err != nil {
			return err
		}
		changed, err := result.RowsAffected()
		if err != nil {
			return fmt.Errorf("counting rows: %w", err)
		}
		if changed > 1 {
			return noPrimaryKey(int(changed))
		}
		if changed == 0 {
			return nil
		}
		if err := s.note(ctx, conn, at, space, old, new); err != nil {
			return err
		}
		swapped = true
		return nil
	})
	if errors.Is(err, errGone) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return swapped, nil
}

// errGone says that an added row may be one of those that are gone.
var errGone = errors.New("rows of the space are gone")

// note sees to what goes with a swap: the space's mark, and for a row that was added how many there are, that it is none of those that are gone, and
// that the table has kept it.
func (s *SQLStore) note(ctx context.Context, conn *sql.Conn, at *settled, space string, old, new Row) error {
	if old.Holder == Absent {
		if err := s.noteAdded(ctx, conn, at, space, new); err != nil {
			return err
		}
	}
	if new.Until == Forever {
		return nil
	}
	left := math.MaxInt64 - new.Until
	if _, err := conn.ExecContext(ctx, at.texts.mark, left, space, left); err != nil {
		return fmt.Errorf("raising the space's mark: %w", err)
	}
	return nil
}

func (s *SQLStore) noteAdded(ctx context.Context, conn *sql.Conn, at *settled, space string, new Row) error {
	result, err := conn.ExecContext(ctx, at.texts.count, space)
	if err != nil {
		return fmt.Errorf("counting the row that was added: %w", err)
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		return errors.Join(fmt.Errorf("%w: %d rows of the space itself, want one", ErrTable, n), err)
	}
	l, _, err := readGone(ctx, conn, at, space)
	if err != nil {
		return err
	}
	if l.held() > new.From {
		return errGone
	}
	if at.texts.echo == "" {
		return nil
	}
	var kept int
	if err := dialect.One(ctx, conn, at.texts.echo, []any{space, new.Number, new.Holder, new.From, new.Until}, &kept); err != nil {
		return fmt.Errorf("reading the row that was added: %w", err)
	}
	if kept != 1 {
		return fmt.Errorf("%w: wrote node %d from %d until %d with holder %q, and found %d such rows",
			ErrTable, new.Number, new.From, new.Until, new.Holder, kept)
	}
	return nil
}

// Starved reports whether a call waits for a connection while all of the pool are in use, or on SQLite for the lock of another transaction: for
// statements, perhaps, that wait for a key.
func (s *SQLStore) Starved() bool {
	lasts := func(since int64, limit time.Duration) bool {
		return since != 0 && time.Since(time.Unix(0, since)) >= limit
	}
	stats := s.db.Stats()
	return lasts(s.starving.Load(), starvation) && stats.MaxOpenConnections > 0 && stats.InUse >= stats.MaxOpenConnections ||
		lasts(s.locking.Load(), lockStarvation)
}

// starvation is how long a call waits for a connection before it counts as starved, and lockStarvation for a lock, which a transaction that is written
// to a slow disk may take without.
const starvation, lockStarvation = 5 * time.Millisecond, 100 * time.Millisecond

// transact runs work in a transaction, again where the server has rolled it back because of others.
func (s *SQLStore) transact(ctx context.Context, work func(*sql.Conn) error) error {
	return s.transactBy(ctx, s.dialect.Begin(), work)
}

// transactBy is transact with the statement that begins the transaction.
func (s *SQLStore) transactBy(ctx context.Context, begin string, work func(*sql.Conn) error) error {
	for attempt := 1; ; attempt++ {
		if s.dialect == SQLite {
			s.locking.Store(time.Now().UnixNano())
		}
		err := s.dialect.Transact(ctx, pool{s}, begin, work)
		s.locking.Store(0)
		if !s.retryable(err) || attempt == attempts {
			return err
		}
		if dialect.Sleep(ctx, rand.N(firstWait)) != nil {
			return err
		}
	}
}

// retryable reports whether the server has rolled a transaction back because of others. SQLite has waited for them already.
func (s *SQLStore) retryable(err error) bool {
	return s.dialect != SQLite && s.dialect.Class(err).Retry() && s.dialect.Code(err) != ""
}

// pool is the store's, and tells that a call waits for a connection of it.
type pool struct{ *SQLStore }

func (p pool) Conn(ctx context.Context) (*sql.Conn, error) {
	p.starving.Store(time.Now().UnixNano())
	defer p.starving.Store(0)
	return p.db.Conn(ctx)
}

func (p pool) Stats() sql.DBStats { return p.db.Stats() }

func (s *SQLStore) makeDurable(ctx context.Context, conn *sql.Conn) error {
	if s.dialect != Postgres {
		return nil
	}
	if _, err := conn.ExecContext(ctx, syncCommit); err != nil {
		return fmt.Errorf("setting synchronous_commit: %w", err)
	}
	return nil
}

// explain says what was being done when the error came, what mends a right that is missing, what is read-only, and that the context had ended where it had.
func (s *SQLStore) explain(ctx context.Context, err error, doing string, args ...any) error {
	if err == nil {
		return nil
	}
	if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) {
		err = fmt.Errorf("%w: %w", ended, err)
	}
	switch at := s.settled.Load(); s.dialect.Class(err) {
	case dialect.ReadOnly:
		if !errors.Is(err, ErrReadOnly) {
			err = s.readOnlyError(ctx, err)
		}
	case dialect.Denied:
		if at != nil && s.dialect != SQLite && !errors.Is(err, ErrTwoTables) {
			err = s.tableError(at, err)
		}
	}
	prefix := "grant: "
	for _, its := range []error{ErrTable, ErrDialect, ErrTwoTables, ErrMoved, ErrUnsafe, ErrReadOnly} {
		if errors.Is(err, its) {
			prefix = "" // they have it
		}
	}
	return fmt.Errorf("%s%s in table %s: %w", prefix, fmt.Sprintf(doing, args...), s.table, err)
}

func (s *SQLStore) check(space string) error {
	if s.err != nil {
		return s.err
	}
	return CheckSpace(space)
}
