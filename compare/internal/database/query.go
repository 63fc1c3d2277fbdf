package database

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// Reasons that more than one kind of database has.
const (
	notAsked = "the meter counted page splits alone"
	noRows   = "there are no rows"
)

// objects runs a query of names, or of kinds and names, and says how each kind is dropped.
func (d *Database) objects(ctx context.Context, db *sql.DB, query string, drop map[string]string) ([]object, error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var objects []object
	for rows.Next() {
		var kind, name string
		into := []any{&kind, &name}
		if err := rows.Scan(into[2-len(columns):]...); err != nil {
			return nil, err
		}
		objects = append(objects, object{name: name, drop: drop[strings.TrimSpace(kind)] + d.quote(name)})
	}
	return objects, rows.Err()
}

// undoLimit bounds undoing what was changed for a while, which is done after the end of a context too.
const undoLimit = 10 * time.Second

// undoing is a context for that.
func undoing(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), undoLimit)
}

// unknownColumn tells whether MySQL has no column of that name.
func unknownColumn(err error) bool { return dialect.MySQL.Code(err) == "1054" }
