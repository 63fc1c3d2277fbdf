package dialect

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// ErrRows says that a query returned several rows where there should be one.
var ErrRows = errors.New("more rows than one")

// Queryer is what queries are asked of: a *sql.DB, *sql.Conn or *sql.Tx, or a pool of GORM's.
type Queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// One reads the only row of a query, and its end: what an implicit transaction fails with at its commit comes after the row. The error is
// [sql.ErrNoRows] where there is none, and wraps [ErrRows] where there are several. It is the context's where that has ended, see [Dialect.Transact].
func One(ctx context.Context, db Queryer, query string, args []any, into ...any) error {
	found := 0
	err := Each(ctx, db, query, args, func(rows *sql.Rows) error {
		if found++; found > 1 {
			return nil
		}
		return rows.Scan(into...)
	})
	switch {
	case err != nil:
		return err
	case found == 0:
		return sql.ErrNoRows
	case found > 1:
		return fmt.Errorf("%w: %d", ErrRows, found)
	}
	return ctx.Err()
}

// Each calls the function for each row of a query. The function must not query itself: the connection may be the only one.
func Each(ctx context.Context, db Queryer, query string, args []any, row func(*sql.Rows) error) error {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // again, after an error of row
	for rows.Next() {
		if err := row(rows); err != nil {
			return err
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// All returns what the function reads from each row of a query. The function must not query itself, as with [Each].
func All[T any](ctx context.Context, db Queryer, query string, args []any, read func(*sql.Rows) (T, error)) (all []T, err error) {
	err = Each(ctx, db, query, args, func(rows *sql.Rows) error {
		one, err := read(rows)
		all = append(all, one)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}
