package database

import (
	"context"
	"database/sql"
	"time"

	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// Reasons that more than one kind of database has.
const (
	notAsked = "the meter counted page splits alone"
	noRows   = "there are no rows"
)

// objects runs a query of kinds and names, and says how each kind is dropped.
func (d *Database) objects(ctx context.Context, db *sql.DB, query string, drop map[string]string) ([]object, error) {
	return dialect.All(ctx, db, query, nil, func(rows *sql.Rows) (object, error) {
		var kind, name string
		err := rows.Scan(&kind, &name)
		return object{name: name, drop: drop[kind] + d.quote(name)}, err
	})
}

// missing is the figure of a query that failed: none, with the reason. The error says that the database is gone or the context has ended.
func (d *Database) missing(ctx context.Context, err error) (result.Figure, error) {
	if ctx.Err() != nil {
		return result.Figure{}, d.wrap(ctx.Err())
	}
	if d.Gone(ctx) {
		return result.Figure{}, d.wrap(err)
	}
	return result.Missing(err.Error()), nil
}

// undoLimit bounds undoing what was changed for a while, which is done after the end of a context too.
const undoLimit = 10 * time.Second

// undoing is a context for that.
func undoing(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), undoLimit)
}
