package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/internal/table"
)

// ErrDialect says that the dialect is none that a catalog can read.
var ErrDialect = errors.New("catalog: unknown dialect")

// Catalog reads a database's tables. It is safe for concurrent use when what it reads through is; it keeps nothing of what it has read.
type Catalog struct {
	reader table.Reader
	source source
}

// New returns the catalog of a database. The error wraps [ErrDialect].
func New(db dialect.Queryer, d dialect.Dialect) (*Catalog, error) {
	if !d.Valid() {
		return nil, fmt.Errorf("%w: %s", ErrDialect, d)
	}
	c := &Catalog{reader: table.Reader{Dialect: d}}
	return c.Over(db), nil
}

// Over returns the catalog that reads through another connection to the database.
func (c *Catalog) Over(db dialect.Queryer) *Catalog {
	c = &Catalog{reader: table.Reader{DB: db, Dialect: c.Dialect()}}
	switch c.Dialect() {
	case dialect.MySQL:
		c.source = mysqlSource{table.MySQL{Reader: c.reader}}
	case dialect.Postgres:
		c.source = postgresSource{table.Postgres{Reader: c.reader}}
	case dialect.SQLite:
		c.source = sqliteSource{table.SQLite{Reader: c.reader}}
	}
	return c
}

// Dialect returns the database's dialect.
func (c *Catalog) Dialect() dialect.Dialect { return c.reader.Dialect }

// Quote quotes one part of a name.
func (c *Catalog) Quote(part string) string { return c.reader.Quote(part) }

// Quoted returns a table's name as statements have it.
func (c *Catalog) Quoted(n Name) string { return c.reader.Quoted(n) }

// List returns the names of columns as statements have them, with commas between them.
func (c *Catalog) List(names []string) string { return c.reader.List(names) }

// QuotedText returns the name of a table that [Parse] reads as statements have it. The error wraps [ErrName].
func (c *Catalog) QuotedText(text string) (string, error) {
	name, err := Parse(text)
	return c.Quoted(name), err
}

// Server tells which database this is.
func (c *Catalog) Server(ctx context.Context) (Server, error) {
	s, err := c.source.server(ctx)
	return s, failed(err, "the server")
}

// Silences reports whether the user may set PostgreSQL's session_replication_role, which keeps triggers, and foreign keys, from firing in a session.
func (c *Catalog) Silences(ctx context.Context) (may bool, err error) {
	if c.reader.Dialect != dialect.Postgres {
		return false, nil
	}
	grants := false
	err = c.reader.Each(ctx, "SELECT current_setting('is_superuser') = 'on', current_setting('server_version_num')::int >= 150000", nil,
		[]any{&may, &grants}, nil)
	if err == nil && !may && grants {
		err = c.reader.Each(ctx, "SELECT pg_catalog.has_parameter_privilege('session_replication_role', 'SET')", nil, []any{&may}, nil)
	}
	return may, failed(err, "the user's rights")
}

// Tables returns the tables of the current schema, without views, virtual tables, partitions, and the shadow tables of virtual ones.
func (c *Catalog) Tables(ctx context.Context) ([]Name, error) {
	names, err := c.source.list(ctx)
	return names, failed(err, "the list of tables")
}

// Outline returns a table with its names, kind, columns and indexes alone, which is quick; nil when there is none of the name. A
// partition's name gives the table that it is of. Create and Define are empty on MySQL.
func (c *Catalog) Outline(ctx context.Context, name Name) (*Table, error) {
	tables, err := c.Outlines(ctx, name)
	if err != nil {
		return nil, err
	}
	return tables[0], nil
}

// Outlines returns tables as Outline does, one for each name, nil where there is none, with few queries whatever their number.
func (c *Catalog) Outlines(ctx context.Context, names ...Name) ([]*Table, error) {
	if len(names) == 0 {
		return nil, ctx.Err()
	}
	tables, err := c.source.Outlines(ctx, names)
	return tables, failed(err, listed(names))
}

// Create reads the statement that makes a table into its Create, where there is one, and it is not there yet; on MySQL also the Define of its columns, and its checks.
func (c *Catalog) Create(ctx context.Context, t *Table) error {
	return failed(c.source.create(ctx, t), t.String())
}

// Table returns a table, nil when there is none of the name. A partition's name gives the table that it is of.
func (c *Catalog) Table(ctx context.Context, name Name) (*Table, error) {
	tables, err := c.Load(ctx, name)
	if err != nil {
		return nil, err
	}
	return tables[0], nil
}

// Load returns tables as Table does, one for each name, nil where there is none, with few queries whatever their number. Names of the same table
// give the same.
func (c *Catalog) Load(ctx context.Context, names ...Name) ([]*Table, error) {
	if len(names) == 0 {
		return nil, ctx.Err()
	}
	tables, err := load(ctx, c.source, names)
	if err == nil {
		err = c.sizes(ctx, whole(tables))
	}
	if err != nil {
		return nil, failed(err, listed(names))
	}
	return tables, nil
}

// load returns tables without their sizes.
func load(ctx context.Context, s source, names []Name) ([]*Table, error) {
	tables, err := s.Outlines(ctx, names)
	if err != nil {
		return nil, err
	}
	return tables, s.complete(ctx, whole(tables))
}

// sizes reads what changes by use: Rows, Bytes and Next.
func (c *Catalog) sizes(ctx context.Context, tables []*Table) error {
	if err := c.source.sizes(ctx, tables); err != nil {
		return err
	}
	for _, t := range tables {
		for _, col := range t.Columns {
			if t.Next != 0 || !slices.Contains(t.Key(), col.Name) || col.Sequence == (Name{}) && col.Auto != "AUTOINCREMENT" {
				continue
			}
			if err := c.source.next(ctx, t, col); err != nil {
				return err
			}
		}
	}
	return nil
}

// inTurn calls what reads something of tables each.
func inTurn(ctx context.Context, tables []*Table, read ...func(context.Context, []*Table) error) error {
	for _, r := range read {
		if err := r(ctx, tables); err != nil {
			return err
		}
	}
	return nil
}

// whole returns those of tables that are there and no views, each once.
func whole(tables []*Table) []*Table {
	return slices.DeleteFunc(table.Distinct(slices.Clone(tables)), func(t *Table) bool { return t.View != "" })
}

// listed returns names as an error has them.
func listed(names []Name) string {
	var texts []string
	for _, n := range names {
		texts = append(texts, n.String())
	}
	return strings.Join(texts, ", ")
}

// Leaves returns the partitions that have the rows of a partitioned table of PostgreSQL, at any depth, in the order of their names: their names and indexes
// alone. Of a partition that is a foreign table there are no indexes to have, so it is not among them. Other databases' indexes are the whole table's: there are none.
func (c *Catalog) Leaves(ctx context.Context, t *Table) ([]*Table, error) {
	s, ok := c.source.(postgresSource)
	if !ok || t.Related != "partitioned" {
		return nil, ctx.Err()
	}
	leaves, err := s.leaves(ctx, t)
	return leaves, failed(err, t.String())
}

// References returns the foreign keys that tables hold, and those that point to them from anywhere in the database (on MySQL: the server).
// Their order is that of the names of the children and their own.
func (c *Catalog) References(ctx context.Context, tables ...*Table) ([]*Reference, error) {
	found, err := c.source.references(ctx, tables)
	return found, failed(err, "the foreign keys")
}

// Each reads each row of a query of the caller's into variables, if any, and then calls row, if not nil, which must not query: the connection may be the
// only one.
func (c *Catalog) Each(ctx context.Context, query string, args, into []any, row func() error) error {
	return c.reader.Each(ctx, query, args, into, row)
}

// Texts returns the rows of a query of the caller's for one text, NULL as an empty one.
func (c *Catalog) Texts(ctx context.Context, query string, args ...any) ([]string, error) {
	return c.reader.Texts(ctx, query, args...)
}

// failed says what was being read.
func failed(err error, what string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("catalog: %s: %w", what, err)
}
