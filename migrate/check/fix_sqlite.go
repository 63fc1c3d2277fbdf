package check

import (
	"context"
	"slices"

	"github.com/snowkey-go/snowkey/internal/catalog"
)

// sqliteFixer says what there is to do in SQLite, which changes no table in place.
type sqliteFixer struct{ database }

// rebuild is what there is instead of statements.
func (c sqliteFixer) rebuild(declaration string) fix {
	return fix{note: "SQLite cannot change that in place: make a new table that declares " + declaration + ", copy the rows, drop the old table, and " +
		"rename the new one, with foreign_keys off (sqlite.org/lang_altertable.html says how)"}
}

func (c sqliteFixer) widen(_ context.Context, _ *checker, t *catalog.Table, col *catalog.Column) (fix, error) {
	if key := t.Key(); len(key) == 1 && key[0] == col.Name {
		return c.rebuild(c.Quote(col.Name) + " integer PRIMARY KEY"), nil
	}
	if slices.Contains(t.Key(), col.Name) {
		return c.rebuild(c.Quote(col.Name) + " integer NOT NULL"), nil
	}
	return c.rebuild(c.Quote(col.Name) + " integer"), nil
}

func (c sqliteFixer) stop(_ context.Context, _ *checker, _ *catalog.Table, col *catalog.Column) (fix, error) {
	id := c.Quote(col.Name)
	return c.rebuild(id + " bigint NOT NULL PRIMARY KEY, which refuses a row without a key (or " + id + " integer PRIMARY KEY, the rowid, which is smaller and still numbers it)"), nil
}

func (c sqliteFixer) require(_ context.Context, _ *catalog.Table, columns []string) (fix, error) {
	return c.rebuild("PRIMARY KEY (" + c.List(columns) + ")"), nil
}
