package grant

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// MaxID returns the greatest id in columns of a database, each given as "table.column" or "schema.table.column", to be the floor of a
// generator whose number is set by hand, see [idgen.WithFloor]. It is 0 when there are no rows or only negative ids. Names are letters,
// digits and underlines, and are quoted. The error wraps [ErrDialect], [ErrConfig] for a name that is none, or what the database says.
//
// It protects the ids that are in the tables: not those of rows that were deleted, and not those that a process which is still running
// makes later. A grant protects from these too.
func MaxID(ctx context.Context, db *sql.DB, d Dialect, columns ...string) (int64, error) {
	if err := checkTable(d, DefaultTable); err != nil {
		return 0, err
	}
	if db == nil || len(columns) == 0 {
		return 0, fmt.Errorf("%w: MaxID needs a database and a column", ErrConfig)
	}
	var greatest int64
	for _, name := range columns {
		dot := strings.LastIndexByte(name, '.')
		if dot < 0 || !dialect.ValidName(name[:dot]) || strings.Contains(name[dot+1:], ".") || !dialect.ValidName(name[dot+1:]) {
			return 0, fmt.Errorf("%w: the column %q, want table.column or schema.table.column", ErrConfig, name)
		}
		id, err := maxOf(ctx, db, fmt.Sprintf("SELECT MAX(%s) FROM %s", d.Quote(name[dot+1:]), d.Quote(name[:dot])))
		if err != nil {
			return 0, fmt.Errorf("grant: the greatest id of %s: %w", name, err)
		}
		greatest = max(greatest, id)
	}
	return greatest, nil
}

// maxOf runs a query in a transaction of its own: a session that does not commit by itself could see what was there long ago.
func maxOf(ctx context.Context, db *sql.DB, query string) (int64, error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback() }() // it has only read
	var id sql.NullInt64
	err = tx.QueryRowContext(ctx, query).Scan(&id)
	return id.Int64, err
}
