package catalog

import (
	"context"
	"database/sql"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// source is what a dialect knows of reading its own catalog.
type source interface {
	server(ctx context.Context) (Server, error)
	list(ctx context.Context) ([]Name, error)
	// outlines returns tables with their columns and indexes, one for each name: nil where there is none, and the same where two names are of one.
	outlines(ctx context.Context, names []Name) ([]*Table, error)
	// complete reads the rest of tables that outlines returned, each once, and that are no views, but for what sizes reads.
	complete(ctx context.Context, tables []*Table) error
	// sizes reads what changes by use: Rows, Bytes and Next.
	sizes(ctx context.Context, tables []*Table) error
	references(ctx context.Context, tables []*Table) ([]*Reference, error)
	// create reads the statement that makes a table, where there is one and it was not read yet.
	create(ctx context.Context, t *Table) error
	// current returns the schema in which names without one are looked for, and that whose name is not in a fingerprint, for it differs between
	// databases that are otherwise the same; empty when none does.
	current(ctx context.Context) (home, hidden string, err error)
	// define returns the definitions that a table's fields tell of, but for its users.
	define(t *Table) []Definition
	// besides returns the definitions of tables that no field tells of.
	besides(ctx context.Context, tables []*Table) (map[*Table][]Definition, error)
	// stable returns a definition without what changes by use, and without the name of the current schema.
	stable(definition, current string) string
}

// reader is a connection or pool.
type reader struct{ db dialect.Queryer }

// each calls scan for each row of a query. It must not query itself: the connection may be the only one.
func (r reader) each(ctx context.Context, query string, args []any, scan func(scan func(...any) error) error) error {
	return dialect.Each(ctx, r.db, query, args, func(rows *sql.Rows) error { return scan(rows.Scan) })
}

// texts returns the rows of a query for one text, NULL as an empty one.
func (r reader) texts(ctx context.Context, query string, args ...any) (found []string, err error) {
	err = r.each(ctx, query, args, func(scan func(...any) error) error {
		var value sql.NullString
		if err := scan(&value); err != nil {
			return err
		}
		found = append(found, value.String)
		return nil
	})
	return found, err
}

// names returns the rows of a query for one name in the current schema.
func (r reader) names(ctx context.Context, query string) (names []Name, err error) {
	found, err := r.texts(ctx, query)
	for _, name := range found {
		names = append(names, Name{Name: name})
	}
	return names, err
}
