package catalog

import (
	"context"

	"github.com/snowkey-go/snowkey/internal/table"
)

// source is what a dialect knows of reading its own catalog.
type source interface {
	server(ctx context.Context) (Server, error)
	list(ctx context.Context) ([]Name, error)
	table.Source
	// complete reads the rest of tables that Outlines returned, each once, and that are no views, but for what sizes reads.
	complete(ctx context.Context, tables []*Table) error
	// described returns tables with what define and References need of them; see [Catalog.Outlines].
	described(ctx context.Context, names []Name) ([]*Table, error)
	// sizes reads Rows and Bytes, and Next where a table has it.
	sizes(ctx context.Context, tables []*Table) error
	// next reads the Next that a sequence or AUTOINCREMENT gives a key, where the user may.
	next(ctx context.Context, t *Table, key *Column) error
	references(ctx context.Context, tables []*Table) ([]*Reference, error)
	// create reads the statement that makes a table, where there is one and it was not read yet.
	create(ctx context.Context, t *Table) error
	// current returns the schema in which names without one are looked for, and that whose name is not in a fingerprint, for it differs between
	// databases that are otherwise the same; empty when none does.
	current(ctx context.Context) (home, hidden string, err error)
	// define returns the definitions that a table's fields tell of, but for its users.
	define(t *Table) []Definition
	// otherDefinitions returns the definitions of tables that no field tells of.
	otherDefinitions(ctx context.Context, tables []*Table) (map[*Table][]Definition, error)
	// stable returns a definition without what changes by use, and without the name of the current schema.
	stable(definition, current string) string
}
