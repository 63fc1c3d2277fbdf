package verify

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// errTable says that a table of the plan is not there.
var errTable = errors.New("verify: no such table")

// database is what a plan is looked at with. It keeps the tables that it has read, and is not safe for concurrent use.
type database struct {
	db      *sql.DB
	dialect dialect.Dialect
	catalog *catalog.Catalog
	plan    *plan.Plan
	tables  map[string]*catalog.Table
}

func newDatabase(db *sql.DB, p *plan.Plan) (*database, error) {
	d, ok := dialect.Lookup(p.Database.Kind)
	if !ok {
		return nil, fmt.Errorf("verify: %w: %q", catalog.ErrDialect, p.Database.Kind)
	}
	c, err := catalog.New(db, d)
	if err != nil {
		return nil, err
	}
	return &database{db, d, c, p, map[string]*catalog.Table{}}, nil
}

// find returns a table, nil when it is not there.
func (d *database) find(ctx context.Context, name string) (*catalog.Table, error) {
	if t, read := d.tables[name]; read {
		return t, nil
	}
	n, err := catalog.Parse(name)
	if err != nil {
		return nil, fmt.Errorf("verify: the plan's table: %w", err)
	}
	t, err := d.catalog.Table(ctx, n)
	if err != nil {
		return nil, fmt.Errorf("verify: %s: %w", name, err)
	}
	d.tables[name] = t
	return t, nil
}

// table returns a table that has to be there.
func (d *database) table(ctx context.Context, name string) (*catalog.Table, error) {
	t, err := d.find(ctx, name)
	if err == nil && t == nil {
		err = fmt.Errorf("%w: %s", errTable, name)
	}
	return t, err
}

// quoted returns a table's name as statements have it.
func (d *database) quoted(name string) (string, error) {
	quoted, err := d.catalog.QuotedText(name)
	if err != nil {
		err = fmt.Errorf("verify: the plan's table: %w", err)
	}
	return quoted, err
}

// number returns a number of 64 bits as statements have it.
func (d *database) number(n int64) string {
	text := strconv.FormatInt(n, 10)
	if d.dialect == dialect.Postgres {
		return "'" + text + "'::bigint" // in quotes, for the number below all others is no integer without its sign
	}
	return text
}

// read calls a function for each row of a query, in a transaction of its own, so that a session that does not commit by itself sees what is there now;
// but on SQLite, whose transactions can be set to begin as writers. On PostgreSQL it has settings in which texts of values are exact, and the same for everybody.
func (d *database) read(ctx context.Context, query string, row func(*sql.Rows) error) error {
	if d.dialect == dialect.SQLite {
		return each(ctx, d.db, query, row)
	}
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // it only reads
	if d.dialect == dialect.Postgres {
		settings := d.dialect.ExactText(true)
		if _, err := tx.ExecContext(ctx, settings); err != nil {
			return fmt.Errorf("verify: %s: %w", settings, err)
		}
	}
	return each(ctx, tx, query, row)
}

func each(ctx context.Context, db dialect.Queryer, query string, row func(*sql.Rows) error) error {
	if err := dialect.Each(ctx, db, query, nil, row); err != nil {
		return fmt.Errorf("verify: %s: %w", query, err)
	}
	return nil
}

// countLeast returns how many rows a query has, and the least value of an expression, 0 when there are none.
func (d *database) countLeast(ctx context.Context, value, from string) (n, least int64, err error) {
	err = d.read(ctx, "SELECT COUNT(*), "+d.wide("COALESCE(MIN("+value+"), 0)")+from, func(rows *sql.Rows) error { return rows.Scan(&n, &least) })
	return n, least, err
}

// count returns the number that a query gives.
func (d *database) count(ctx context.Context, query string) (n int64, err error) {
	err = d.read(ctx, query, func(rows *sql.Rows) error { return rows.Scan(&n) })
	return n, err
}
