package database

import (
	"context"
	"errors"
	"fmt"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// TryRights does once what a run does all the time, to a table whose name begins with the prefix, and drops it again. The error names what
// the user may not do.
func (d *Database) TryRights(ctx context.Context, prefix string) error {
	table := d.quote(prefix + "rights")
	index := d.quote(prefix + "rights_n")
	steps := []struct{ may, do string }{
		{"create tables", "CREATE TABLE " + table + " (id BIGINT PRIMARY KEY, n BIGINT)"},
		{"create indexes", "CREATE INDEX " + index + " ON " + table + " (n)"},
		{"insert rows", "INSERT INTO " + table + " VALUES (1, 1)"},
		{"read rows", "SELECT n FROM " + table + " WHERE id = 1"},
		{"update rows", "UPDATE " + table + " SET n = 2 WHERE id = 1"},
		{"delete rows", "DELETE FROM " + table + " WHERE id = 1"},
	}
	var failed error
	made := false
	for i, step := range steps {
		if _, err := d.inserts.ExecContext(ctx, step.do); err != nil {
			failed = d.wrap(fmt.Errorf("the user may not or cannot %s: %w", step.may, err))
			break
		}
		made = made || i == 0
	}
	if made {
		ctx, cancel := undoing(ctx)
		defer cancel()
		if _, err := d.inserts.ExecContext(ctx, "DROP TABLE "+table); err != nil {
			failed = errors.Join(failed, d.wrap(fmt.Errorf("the user may not or cannot drop tables, %s is left behind: %w", prefix+"rights", err)))
		}
	}
	return failed
}

// quote quotes a name.
func (d *Database) quote(name string) string {
	kind, _ := dialect.Lookup(d.dsn.Kind) // every kind of DSN has a dialect of its name
	return kind.QuoteAny(name)
}
