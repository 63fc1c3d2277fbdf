package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/internal/dsn"
)

// ErrDatabase says that a database cannot be used, and why.
var ErrDatabase = errors.New("compare: cannot use the database")

const (
	keyConnections = 32               // of the pool for keys, at most
	busyTimeout    = 30 * time.Second // for which SQLite waits for a lock, unless the DSN says how long
	pingTimeout    = 3 * time.Second  // after which a server that says nothing is gone
)

// Database is a connection to the database to measure. It is made by [Open]. Its methods are safe for concurrent use, but those that weigh
// and count tell nothing of use while others write, and wait for the one connection that rows are inserted with: amid a transaction on it they
// wait until their context ends.
type Database struct {
	dsn     dsn.DSN
	private bool
	inserts *sql.DB // of one connection
	keys    *sql.DB // of several; the same as inserts for a database in memory
	engine  engine
}

// Option changes how a database is opened.
type Option func(*Database)

// Private says that the database was started by the run, for itself alone, and goes with it: its settings may be changed.
func Private() Option { return func(d *Database) { d.private = true } }

// Check tells without connecting whether a text can name a database: sqlite:PATH, mysql:DSN or postgres://…. The path of an SQLite file has
// to lie in a folder that exists. The error wraps [ErrDatabase].
func Check(text string) error {
	parsed, err := dsn.Parse(text)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDatabase, err)
	}
	path, _, _ := strings.Cut(parsed.Source, "?")
	if parsed.Kind != dsn.SQLite || inMemory(parsed.Source) || strings.HasPrefix(path, "file:") {
		return nil // what is wrong with a URI, SQLite says
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("%w %s: it is a folder; give the path of a file", ErrDatabase, public(parsed))
	}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return fmt.Errorf("%w %s: %w; make the folder first", ErrDatabase, public(parsed), err)
	}
	return nil
}

// Open connects to a database, making the file of an SQLite one where there is none. The error wraps [ErrDatabase].
func Open(ctx context.Context, text string, options ...Option) (*Database, error) {
	if err := Check(text); err != nil {
		return nil, err
	}
	parsed, err := dsn.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDatabase, err)
	}
	if parsed.Kind == dsn.SQLite {
		parsed.Source = withBusyTimeout(parsed.Source)
	}
	d := &Database{dsn: parsed}
	for _, option := range options {
		option(d)
	}
	d.engine = engines[parsed.Kind](d)
	if err := d.connect(ctx); err != nil {
		return nil, errors.Join(d.wrap(err), d.Close())
	}
	return d, nil
}

func (d *Database) connect(ctx context.Context) (err error) {
	if d.inserts, err = d.dsn.Open(); err != nil {
		return err
	}
	d.inserts.SetMaxOpenConns(1) // the settings are one session's, and an SQLite database in memory is one connection's
	if err := d.inserts.PingContext(ctx); err != nil {
		return err
	}
	// The ping of a file that is no database succeeds, reading it does not.
	if _, err := d.engine.names(ctx, d.inserts); err != nil {
		return err
	}
	d.keys = d.inserts
	if d.Alone() != "" {
		return nil
	}
	if d.keys, err = d.dsn.Open(); err != nil {
		return err
	}
	d.keys.SetMaxOpenConns(keyConnections)
	d.keys.SetMaxIdleConns(keyConnections) // lest connecting be measured with the keys
	return d.keys.PingContext(ctx)
}

// inMemory reports whether an SQLite database is one connection's own, in memory.
func inMemory(source string) bool {
	path, query, _ := strings.Cut(strings.TrimPrefix(source, "file:"), "?")
	return strings.HasPrefix(path, ":memory:") || path == "" || strings.Contains("&"+query+"&", "&mode=memory&")
}

// withBusyTimeout has a lock waited for, unless the source says how long, or that nobody waits.
func withBusyTimeout(source string) string {
	path, query, asked := strings.Cut(source, "?")
	for parameter := range strings.SplitSeq(query, "&") {
		if name, _, _ := strings.Cut(parameter, "="); name == "_busy_timeout" || name == "_timeout" {
			return source
		}
	}
	if asked && query != "" {
		query += "&"
	}
	return fmt.Sprintf("%s?%s_busy_timeout=%d", path, query, busyTimeout.Milliseconds())
}

// public is a DSN as it may be shown: without a password.
func public(parsed dsn.DSN) string {
	text, query, asked := strings.Cut(parsed.String(), "?")
	if parsed.Kind != dsn.SQLite || !asked {
		return parsed.String()
	}
	var kept []string
	for parameter := range strings.SplitSeq(query, "&") {
		if !strings.HasPrefix(parameter, "_auth_pass=") {
			kept = append(kept, parameter)
		}
	}
	return text + "?" + strings.Join(kept, "&")
}

// Kind is sqlite, mysql or postgres.
func (d *Database) Kind() string { return d.dsn.Kind }

// Private reports whether the database was opened as the run's own.
func (d *Database) Private() bool { return d.private }

// String is the DSN without a password.
func (d *Database) String() string { return public(d.dsn) }

// Pool has the connections for keys, at most 32, apart from the one that rows are inserted with; but see [Database.Alone]. Close closes it.
func (d *Database) Pool() *sql.DB { return d.keys }

// Alone says why [Database.Pool] has no connection beside the one that rows are inserted with, and is empty where it has. Keys that are drawn
// over that pool amid a transaction would wait for ever then.
func (d *Database) Alone() string {
	if d.dsn.Kind == dsn.SQLite && inMemory(d.dsn.Source) {
		return "a database in memory is one connection's, which rows are inserted with"
	}
	return ""
}

// Session returns a GORM over the one connection for inserts, with callbacks of its own, so that a plugin on it is nobody else's, and that
// logs nothing. The context is for this call alone.
func (d *Database) Session(ctx context.Context) (*gorm.DB, error) {
	if err := d.inserts.PingContext(ctx); err != nil { // GORM asks without a context
		return nil, d.wrap(err)
	}
	db, err := gorm.Open(d.dsn.Dialector(d.inserts), &gorm.Config{Logger: logger.Discard})
	return db, d.wrap(err)
}

// Sessions returns n GORMs as Session does, for writers of a connection each at once, and what ends them.
func (d *Database) Sessions(ctx context.Context, n int) (all []*gorm.DB, end func() error, err error) {
	pool, err := d.dsn.Open()
	if err != nil {
		return nil, nil, d.wrap(err)
	}
	pool.SetMaxOpenConns(n)
	pool.SetMaxIdleConns(n)
	for range n {
		db, err := gorm.Open(d.dsn.Dialector(pool), &gorm.Config{Logger: logger.Discard})
		if err != nil {
			return nil, nil, errors.Join(d.wrap(err), pool.Close())
		}
		all = append(all, db)
	}
	// Connecting is not to be measured with the INSERTs.
	conns := make([]*sql.Conn, 0, n)
	for range n {
		conn, failed := pool.Conn(ctx)
		if err = errors.Join(err, failed); failed == nil {
			conns = append(conns, conn)
		}
	}
	for _, conn := range conns {
		err = errors.Join(err, conn.Close())
	}
	if err != nil {
		return nil, nil, errors.Join(d.wrap(err), pool.Close())
	}
	return all, pool.Close, nil
}

// Gone reports whether the database no longer answers. It waits at most three seconds, by a clock of its own: the end of ctx is no sign of it.
func (d *Database) Gone(ctx context.Context) bool {
	if d.Alone() != "" {
		return false // it is this process, and its connection may be busy
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingTimeout)
	defer cancel()
	return d.keys.PingContext(ctx) != nil
}

// Close ends the connections. It drops nothing.
func (d *Database) Close() error {
	var errs []error
	for _, pool := range []*sql.DB{d.inserts, d.keys} {
		if pool != nil {
			errs = append(errs, pool.Close())
		}
	}
	return errors.Join(errs...)
}

// wrap says of an error which database it was.
func (d *Database) wrap(err error) error {
	if err == nil || errors.Is(err, ErrDatabase) {
		return err
	}
	return fmt.Errorf("%w %s: %w", ErrDatabase, d, err)
}

// Describe returns what the database is: its version, the settings that figures depend on, and its cache. The error wraps [ErrDatabase].
func (d *Database) Describe(ctx context.Context) (result.Database, error) {
	version, settings, err := d.engine.describe(ctx)
	if err != nil {
		return result.Database{}, d.wrap(err)
	}
	cache, err := d.cache(ctx)
	if err != nil {
		return result.Database{}, err
	}
	return result.Database{Name: d.String(), Kind: d.Kind(), Version: version, Private: d.private, Settings: settings, Cache: cache}, nil
}
