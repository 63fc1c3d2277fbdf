package shard

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// Dialect says which database a store is in; package idgen/grant's and ticket's are the same type.
type Dialect = dialect.Dialect

// The dialects. MySQL is MariaDB's as well.
const (
	MySQL    = dialect.MySQL
	Postgres = dialect.Postgres
	SQLite   = dialect.SQLite
)

// StoreTable is the table that maps are kept in.
const StoreTable = "snowkey_shards"

// Store keeps the versions of maps in a table, snowkey_shards, of a database:
//
//	name     which map, 1 to 64 printable ASCII characters with no space at either end
//	version  from 1; with the name the primary key
//	made     when, by the database's clock, in UTC
//	map      as JSON
//
// A row is never changed. The map in force is the one with the greatest version. Safe for concurrent use.
type Store struct {
	db      *sql.DB
	dialect Dialect
	texts   storeTexts
}

// NewStore returns the store of a database. It asks nothing of it yet.
func NewStore(db *sql.DB, d Dialect) *Store {
	return &Store{db: db, dialect: d, texts: storeTextsOf(d)}
}

// Setup makes the table when it is missing; any number of processes may do so at once. It needs the right to make tables only then. The error wraps
// [ErrTable].
func (s *Store) Setup(ctx context.Context) error {
	if err := s.check("-"); err != nil {
		return err
	}
	if err := s.db.PingContext(ctx); err != nil {
		return fmt.Errorf("shard: connecting: %w", err)
	}
	if s.probe(ctx) == nil {
		return nil
	}
	// Of processes that make a table at once, PostgreSQL lets some fail, so that the error says less than the table's presence.
	_, createErr := s.db.ExecContext(ctx, s.texts.create)
	if err := s.probe(ctx); err != nil {
		return s.explain(ctx, errors.Join(createErr, err), "making it")
	}
	return nil
}

// Create writes the first version of a map. The error wraps [ErrVersion] when there is a map of that name, or the map is not of version 1.
func (s *Store) Create(ctx context.Context, name string, m *Map) error {
	if m != nil && m.Version() != 1 {
		return fmt.Errorf("%w: the map %q is of version %d; the first one is 1", ErrVersion, name, m.Version())
	}
	return s.Swap(ctx, name, m)
}

// Load returns the map in force. The error wraps [ErrNoMap], [ErrMap] for one that cannot be read, or [ErrTable].
func (s *Store) Load(ctx context.Context, name string) (*Map, error) {
	if err := s.check(name); err != nil {
		return nil, err
	}
	var version int64
	var text string
	err := s.transact(ctx, func(conn *sql.Conn) error { return conn.QueryRowContext(ctx, s.texts.load, name).Scan(&version, &text) })
	if err != nil {
		return nil, s.missing(ctx, err, name)
	}
	m, err := ParseMap([]byte(text))
	if err == nil && m.Version() != version {
		err = fmt.Errorf("%w: its JSON says version %d", ErrMap, m.Version())
	}
	if err != nil {
		return nil, fmt.Errorf("the map %q, version %d, in table %s: %w", name, version, StoreTable, err)
	}
	return m, nil
}

// Version returns the version of the map in force, in one short query. The errors are those of Load.
func (s *Store) Version(ctx context.Context, name string) (version int64, err error) {
	if err := s.check(name); err != nil {
		return 0, err
	}
	var commits bool
	err = s.db.QueryRowContext(ctx, s.texts.version, name).Scan(&version, &commits)
	if err == nil && commits {
		return version, nil
	}
	if err == nil || errors.Is(err, sql.ErrNoRows) {
		// A session that does not commit on its own sees what was there when it began. So look again, in a transaction of its own.
		err = s.transact(ctx, func(conn *sql.Conn) error {
			return conn.QueryRowContext(ctx, s.texts.version, name).Scan(&version, &commits)
		})
	}
	if err != nil {
		return 0, s.missing(ctx, err, name)
	}
	return version, nil
}

// swapAttempts is how often a swap is tried when the database gives it up, as MySQL and PostgreSQL may do to all but one of those that write at once.
const swapAttempts = 20

// swapPause is the most that a swap waits between two attempts. Ten that try again at once can keep each other in deadlocks on MySQL until all have
// given up (measured: one time in a hundred).
const swapPause = 50 * time.Millisecond

// Swap writes the next version of a map. The error wraps [ErrVersion] when the one in force is not next.Version()-1; then nothing was written. After
// any other error it is not known, and [Store.Load] tells.
func (s *Store) Swap(ctx context.Context, name string, next *Map) error {
	if err := s.check(name); err != nil {
		return err
	}
	if next == nil {
		return fmt.Errorf("%w: it is nil", ErrMap)
	}
	text, err := json.Marshal(next)
	if err != nil {
		return fmt.Errorf("shard: writing the map %q: %w", name, err)
	}
	for attempt := 1; ; attempt++ {
		uncommitted, written := false, false
		err := s.transact(ctx, func(conn *sql.Conn) (err error) {
			written, err = s.insert(ctx, conn, name, next.Version(), string(text))
			uncommitted = err != nil
			return err
		})
		switch {
		case err == nil && written:
			return nil
		case err == nil:
			return s.outdated(ctx, name, next.Version())
		case !uncommitted || errors.Is(err, ErrTable) || attempt == swapAttempts || ctx.Err() != nil:
			return s.explain(ctx, err, "writing version %d of the map %q", next.Version(), name)
		}
		pause(ctx, rand.N(min(swapPause, time.Millisecond<<attempt)))
	}
}

// pause waits, or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// insert adds the row of a version if the one before is in force, and makes sure that it is there as it was written.
func (s *Store) insert(ctx context.Context, conn *sql.Conn, name string, version int64, text string) (written bool, err error) {
	if s.texts.durable != "" {
		if _, err := conn.ExecContext(ctx, s.texts.durable); err != nil {
			return false, err
		}
	}
	result, err := conn.ExecContext(ctx, s.texts.insert, name, version, text, name, version-1)
	if err != nil {
		return false, err
	}
	added, err := result.RowsAffected()
	if err != nil || added == 0 {
		return false, err
	}
	// Where there is no primary key, two of the same version could be written at once. So try, and count them.
	if _, err := conn.ExecContext(ctx, s.texts.again, name, version); err != nil {
		return false, err
	}
	rows, err := conn.QueryContext(ctx, s.texts.echo, name, version)
	if err != nil {
		return false, err
	}
	defer func() { _ = rows.Close() }() // Err says what fails
	found := 0
	for rows.Next() {
		var kept string
		if err := rows.Scan(&kept); err != nil {
			return false, err
		}
		if found++; found > 1 || kept != text {
			return false, fmt.Errorf("%w %s: it has not kept version %d of the map %q once and as it was written; it needs PRIMARY KEY (name, version), and a text of any length",
				ErrTable, StoreTable, version, name)
		}
	}
	return found == 1, rows.Err()
}

// outdated says which version is in force in place of the one before.
func (s *Store) outdated(ctx context.Context, name string, version int64) error {
	switch inForce, err := s.Version(ctx, name); {
	case errors.Is(err, ErrNoMap):
		return fmt.Errorf("%w: there is no map %q yet, so the first version is 1, not %d", ErrVersion, name, version)
	case err != nil:
		return fmt.Errorf("%w: version %d of the map %q is not the next one; reading which is: %w", ErrVersion, version, name, err)
	default:
		return fmt.Errorf("%w: version %d of the map %q is in force, so %d is not the next one: load it and make the change again", ErrVersion, inForce, name, version)
	}
}

// Names returns the names of all maps in the store, in their order. The error wraps [ErrTable].
func (s *Store) Names(ctx context.Context) (names []string, err error) {
	if err := s.check("-"); err != nil {
		return nil, err
	}
	err = s.transact(ctx, func(conn *sql.Conn) error {
		rows, err := conn.QueryContext(ctx, s.texts.names)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }() // Err says what fails
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				return err
			}
			names = append(names, name)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, s.explain(ctx, err, "listing maps")
	}
	return names, nil
}

// check refuses what no statement can be for.
func (s *Store) check(name string) error {
	switch {
	case !s.dialect.Valid():
		return fmt.Errorf("%w: %v is no dialect; want shard.MySQL, shard.Postgres or shard.SQLite", ErrTable, s.dialect)
	case s.db == nil:
		return fmt.Errorf("%w: the *sql.DB is nil", ErrTable)
	case name == "" || len(name) > 64 || strings.TrimSpace(name) != name || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' }):
		return fmt.Errorf("%w: the name %q is not 1 to 64 printable ASCII characters without a space at either end", ErrMap, name)
	}
	return nil
}

// probe tells whether the table can be read.
func (s *Store) probe(ctx context.Context) error {
	return s.transact(ctx, func(conn *sql.Conn) error {
		rows, err := conn.QueryContext(ctx, s.texts.probe)
		if err != nil {
			return err
		}
		return errors.Join(rows.Close(), rows.Err())
	})
}

// missing says what an error of reading the map of a name means.
func (s *Store) missing(ctx context.Context, err error, name string) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%w: %q in table %s", ErrNoMap, name, StoreTable)
	}
	return s.explain(ctx, err, "reading the map %q", name)
}

// explain says what was being done, that the context had ended where it had, and that it is the table's fault where that cannot be read although the
// database answers.
func (s *Store) explain(ctx context.Context, err error, doing string, args ...any) error {
	doing = fmt.Sprintf(doing, args...)
	if ended := ctx.Err(); ended != nil {
		if !errors.Is(err, ended) {
			err = fmt.Errorf("%w: %w", ended, err)
		}
		return fmt.Errorf("shard: %s in table %s: %w", doing, StoreTable, err)
	}
	if !errors.Is(err, ErrTable) && s.db.PingContext(ctx) == nil && s.probe(ctx) != nil {
		err = fmt.Errorf("%w: %w; where it is missing, Setup makes it, or this statement:\n%s", ErrTable, err, s.texts.create)
	}
	return fmt.Errorf("shard: %s in table %s: %w", doing, StoreTable, err)
}

func (s *Store) transact(ctx context.Context, work func(*sql.Conn) error) error {
	return s.dialect.Transact(ctx, s.db, s.texts.begin, work)
}
