package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// ErrDialect says that the dialect is none that a catalog can read.
var ErrDialect = errors.New("catalog: unknown dialect")

// DB is what a catalog reads through: a *sql.DB, *sql.Conn or *sql.Tx, or a pool of GORM's.
type DB interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Catalog reads a database's tables. It is safe for concurrent use when its DB is; it keeps nothing of what it has read.
type Catalog struct {
	db      DB
	dialect dialect.Dialect
}

// New returns the catalog of a database. The error wraps [ErrDialect].
func New(db DB, d dialect.Dialect) (*Catalog, error) {
	if !d.Valid() {
		return nil, fmt.Errorf("%w: %s", ErrDialect, d)
	}
	return &Catalog{db, d}, nil
}

// Dialect returns the database's dialect.
func (c *Catalog) Dialect() dialect.Dialect { return c.dialect }

// Parse reads "table", "schema.table", and either part in quotes of one of the kinds " and `, in which quotes are doubled.
func Parse(text string) (Name, error) { return Name{}, ErrName }

// String returns the name as Parse reads it.
func (n Name) String() string { return n.Name }

// Quote quotes one part of a name.
func (c *Catalog) Quote(part string) string { return part }

// Quoted returns a table's name as statements have it.
func (c *Catalog) Quoted(n Name) string { return n.Name }

// Server tells which database this is.
func (c *Catalog) Server(ctx context.Context) (Server, error) { return Server{}, errors.ErrUnsupported }

// Tables returns the tables of the current schema, without views, virtual tables, partitions, and the shadow tables of virtual ones.
func (c *Catalog) Tables(ctx context.Context) ([]Name, error) { return nil, errors.ErrUnsupported }

// Table returns a table, nil when there is none of the name. A partition's name gives the table that it is of.
func (c *Catalog) Table(ctx context.Context, name Name) (*Table, error) {
	return nil, errors.ErrUnsupported
}

// References returns the foreign keys that tables hold, and those that point to them from anywhere in the database (on MySQL: the server).
func (c *Catalog) References(ctx context.Context, tables ...*Table) ([]*Reference, error) {
	return nil, errors.ErrUnsupported
}

// Fingerprint returns a digest of the definitions of tables and of the foreign keys that References returns for them: of names, types,
// defaults, keys, indexes, checks, triggers and users, but nothing that changes by use (numbers of rows, the next number of a sequence,
// statistics). Two databases whose definitions are the same have the same. A table that is not there counts as being absent.
func (c *Catalog) Fingerprint(ctx context.Context, names ...Name) (string, error) {
	return "", errors.ErrUnsupported
}
