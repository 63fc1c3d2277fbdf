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
}

// CheckDatabase tells without connecting whether a text can name a database: sqlite:PATH, mysql:DSN or postgres://…. The path of an
// SQLite file has to lie in a folder that exists.
func CheckDatabase(text string) error {
	parsed, err := dsn.Parse(text)
	if err != nil {
		return err
	}
	path, _, _ := strings.Cut(parsed.Source, "?")
	if parsed.Kind != dsn.SQLite || strings.HasPrefix(path, ":memory:") || strings.HasPrefix(path, "file:") {
		return nil // what is wrong with a URI, SQLite says
	}
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return fmt.Errorf("%w %s: it is a folder; give the path of a file", ErrDatabase, parsed)
	}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return fmt.Errorf("%w %s: %w; make the folder first", ErrDatabase, parsed, err)
	}
	return nil
}

// OpenDatabase connects to a database, making the file of an SQLite one where there is none.
func OpenDatabase(ctx context.Context, text string) (*Database, error) {
	if err := CheckDatabase(text); err != nil {
		return nil, err
	}
	parsed, err := dsn.Parse(text)
	if err != nil {
		return nil, err
	}
	d := &Database{dsn: parsed}
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

// Close ends the connection.
func (d *Database) Close() error {
	if d.pool == nil {
		return nil
	}
	return d.pool.Close()
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
