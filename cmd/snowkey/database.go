package main

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/dsn"
)

// parseDatabase reads a DSN. A file of SQLite must be there: opening a missing one would make it.
func parseDatabase(text string) (dsn.DSN, grant.Dialect, error) {
	if text == "" {
		return dsn.DSN{}, 0, errors.New("it is missing; give the database, such as postgres://app:secret@127.0.0.1:5432/app")
	}
	parsed, err := dsn.Parse(text)
	if err != nil {
		return dsn.DSN{}, 0, err
	}
	path, options, _ := strings.Cut(strings.TrimPrefix(parsed.Source, "file:"), "?")
	if parsed.Kind == dsn.SQLite && path != ":memory:" && !strings.Contains(options, "mode=memory") {
		if _, err := os.Stat(path); err != nil {
			return dsn.DSN{}, 0, err
		}
	}
	dialect, err := grant.LookupDialect(parsed.Kind)
	return parsed, dialect, err
}

// openDatabase connects to a database, as GORM and as the pool that GORM uses. Close the pool.
func openDatabase(ctx context.Context, parsed dsn.DSN) (db *gorm.DB, pool *sql.DB, err error) {
	pool, err = parsed.Open()
	if err != nil {
		return nil, nil, err
	}
	if err = pool.PingContext(ctx); err == nil { // GORM's own has no context
		db, err = gorm.Open(parsed.Dialector(pool), &gorm.Config{Logger: logger.Discard})
	}
	if err != nil {
		return nil, nil, errors.Join(err, pool.Close())
	}
	return db, pool, nil
}
