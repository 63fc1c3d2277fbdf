package check

import (
	"context"

	"github.com/snowkey-go/snowkey/internal/catalog"
)

// fixer says how a fault is fixed in a database's dialect. Nothing is written.
type fixer interface {
	// widen returns the statements that make a column a 64-bit integer, or what is in the way of them.
	widen(ctx context.Context, c *checker, t *catalog.Table, col *catalog.Column) (fix, error)
	// stop returns the statements that keep the database from making keys in a column.
	stop(ctx context.Context, c *checker, t *catalog.Table, col *catalog.Column) (fix, error)
	// require returns the statements that make columns the primary key.
	require(ctx context.Context, t *catalog.Table, columns []string) (fix, error)
}

// otherType is why no column changes its type that is none of integers.
const otherType = "no statement is offered, since what its values are as numbers is for somebody to decide: make a bigint column beside it, fill it, see that " +
	"no two rows are the same and none is lost, and let it and what refers to it take the place of the old ones"

// fix is a list of statements that are certain to run to their end, and to change nothing but what the finding says; or says why there
// is none, and what to do. A note is worth knowing in both cases.
type fix struct {
	statements []string
	note       string
}
