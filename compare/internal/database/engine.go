package database

import (
	"context"
	"database/sql"

	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/internal/dsn"
)

// engine is what differs between kinds of databases. Figures that cannot be had are figures with a reason; errors are queries that failed.
type engine interface {
	// describe returns what the database says of itself.
	describe(ctx context.Context) (version string, settings []result.Setting, err error)
	// cache is the size of the pages that it keeps in memory.
	cache(ctx context.Context) (bytes int64, err error)
	// names are the tables and sequences of the current schema, with what drops them.
	names(ctx context.Context, db *sql.DB) ([]object, error)
	// bound has the connection wait for locks for a few seconds at most.
	bound(ctx context.Context, conn *sql.Conn) error
	// tableSize returns the bytes of a table and its indexes.
	tableSize(ctx context.Context, table string) (bytes, index int64, err error)
	// fill returns how full the leaf pages of the primary key are, which holds so many rows.
	fill(ctx context.Context, table string, rows int) (result.Figure, error)
	// settle waits until what is dirty has been written back, as far as that can be had.
	settle(ctx context.Context) error
	// buffers returns how many pages 1,000 rows ask the cache for, when all are read in the order of a column.
	buffers(ctx context.Context, table, column string) (result.Figure, error)
	// meter begins to count.
	meter(ctx context.Context, scope Scope) (counting, error)
}

var engines = map[string]func(*Database) engine{
	dsn.SQLite:   func(d *Database) engine { return sqliteEngine{d} },
	dsn.MySQL:    func(d *Database) engine { return mysqlEngine{d} },
	dsn.Postgres: func(d *Database) engine { return postgresEngine{d} },
}
