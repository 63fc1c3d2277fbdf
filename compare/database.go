package compare

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/internal/dsn"
)

// ErrDatabase says that the database given cannot be used, and why.
var ErrDatabase = errors.New("compare: cannot use the database")

// Database is a connection to the database to measure. It is made by [OpenDatabase].
type Database struct {
	dsn  dsn.DSN
	pool *sql.DB
	db   *gorm.DB
	made string // the SQLite file that did not exist before, to be removed again
}

// CheckDatabase tells without connecting whether a text can name a database: sqlite:PATH, mysql:DSN or postgres://…. The path of an
// SQLite file has to lie in a folder that exists.
func CheckDatabase(text string) error {
	parsed, err := dsn.Parse(text)
	if err != nil {
		return err
	}
	if path := sqlitePath(parsed); path != "" {
		info, err := os.Stat(path)
		if err == nil && info.IsDir() {
			return fmt.Errorf("%w %s: it is a folder; give the path of a file", ErrDatabase, parsed)
		}
		if folder := filepath.Dir(path); errors.Is(err, os.ErrNotExist) {
			if _, err := os.Stat(folder); err != nil {
				return fmt.Errorf("%w %s: %w; make the folder first", ErrDatabase, parsed, err)
			}
		}
	}
	return nil
}

// sqlitePath returns the path of an SQLite file, "" for other databases and for those in memory.
func sqlitePath(d dsn.DSN) string {
	path, options, _ := strings.Cut(strings.TrimPrefix(d.Source, "file:"), "?")
	if d.Kind != dsn.SQLite || strings.HasPrefix(path, ":memory:") || strings.Contains(options, "mode=memory") {
		return ""
	}
	return path
}

// OpenDatabase connects to a database, making the file of an SQLite one.
func OpenDatabase(ctx context.Context, text string) (*Database, error) {
	if err := CheckDatabase(text); err != nil {
		return nil, err
	}
	parsed, err := dsn.Parse(text)
	if err != nil {
		return nil, err
	}
	d := &Database{dsn: parsed}
	if path := sqlitePath(parsed); path != "" {
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			d.made = path
		}
	}
	d.pool, err = parsed.Open()
	if err == nil {
		d.pool.SetMaxOpenConns(1) // the settings are one session's, and an SQLite database in memory is one connection's
		err = d.pool.PingContext(ctx)
	}
	if err == nil {
		d.db, err = d.session()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w %s: %w", ErrDatabase, parsed, err), d.Close())
	}
	return d, nil
}

// session returns a GORM over the database's connections with callbacks of its own, so that a plugin on it is nobody else's.
func (d *Database) session() (*gorm.DB, error) {
	return gorm.Open(d.dsn.Dialector(d.pool), &gorm.Config{Logger: logger.Discard})
}

// Close ends the connection, and removes the SQLite file when there was none before.
func (d *Database) Close() error {
	var failed error
	if d.pool != nil {
		failed = d.pool.Close()
	}
	if d.made != "" {
		for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
			if err := os.Remove(d.made + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
				failed = errors.Join(failed, err)
			}
		}
	}
	return failed
}

// describe returns what the database says of itself.
func (d *Database) describe(ctx context.Context) (version string, settings []Setting, err error) {
	queries := map[string][][2]string{
		dsn.SQLite: {
			{"version", "SELECT 'SQLite ' || sqlite_version()"},
			{"journal_mode", "PRAGMA journal_mode"},
			{"synchronous", "PRAGMA synchronous"},
			{"page_size", "PRAGMA page_size"},
			{"cache_size", "PRAGMA cache_size"},
		},
		dsn.MySQL: {
			{"version", "SELECT CONCAT(IF(VERSION() LIKE '%MariaDB%', 'MariaDB ', 'MySQL '), VERSION())"},
			{"innodb_flush_log_at_trx_commit", "SELECT @@innodb_flush_log_at_trx_commit"},
			{"innodb_buffer_pool_size", "SELECT @@innodb_buffer_pool_size"},
			{"sync_binlog", "SELECT @@sync_binlog"},
		},
		dsn.Postgres: {
			{"version", "SELECT 'PostgreSQL ' || current_setting('server_version')"},
			{"synchronous_commit", "SHOW synchronous_commit"},
			{"fsync", "SHOW fsync"},
			{"shared_buffers", "SHOW shared_buffers"},
		},
	}[d.dsn.Kind]
	for i, q := range queries {
		var value string
		if err := d.db.WithContext(ctx).Raw(q[1]).Row().Scan(&value); err != nil {
			return "", nil, fmt.Errorf("%w %s: %s: %w", ErrDatabase, d.dsn, q[1], err)
		}
		if i == 0 {
			version = value
			continue
		}
		settings = append(settings, Setting{Name: q[0], Value: value})
	}
	return version, settings, nil
}
