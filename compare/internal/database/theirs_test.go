package database_test

import (
	"database/sql"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/compare/internal/database"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// state is what a database has beside the rows of its tables, as far as something here could change it.
func state(t *testing.T, d *database.Database) (all []string) {
	t.Helper()
	db, err := d.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range map[string][]string{
		"sqlite": {
			"PRAGMA user_version", "PRAGMA application_id", "PRAGMA journal_mode", "PRAGMA synchronous", "PRAGMA wal_autocheckpoint", "SELECT sql FROM sqlite_master",
		},
		"mysql":    {"SHOW GLOBAL VARIABLES", "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"},
		"postgres": {"SELECT name, setting FROM pg_settings", "SELECT extname FROM pg_extension", "SELECT relname FROM pg_class"},
	}[d.Kind()] {
		rows, err := db.Raw(query).Rows()
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		defer func() { _ = rows.Close() }()
		columns, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
			for i := range values {
				into[i] = &values[i]
			}
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			row := query
			for _, v := range values {
				row += " " + v.String
			}
			all = append(all, row)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		_ = rows.Close() // the connection is the only one
	}
	slices.Sort(all)
	return all
}

// A database that is not the run's own is left as it was: no setting, no counter, no extension is changed.
func TestTheirsStaysAsItWas(t *testing.T) {
	const rows = 1000
	onEach(t, func(t *testing.T, at dbtest.Database) {
		switch at.Kind {
		case "sqlite":
			at.DSN += "?_journal_mode=WAL"
		case "mysql":
			if _, err := at.Open(t).ExecContext(t.Context(), "SET GLOBAL innodb_monitor_disable = 'index_page_splits'"); err != nil {
				t.Fatal(err)
			}
		}
		d := open(t, at.DSN)
		exec(t, d, "CREATE TABLE theirs (id INTEGER)")
		if at.Kind == "sqlite" {
			exec(t, d, "PRAGMA user_version = 7")
		}
		before := state(t, d)
		if err := d.TryRights(t.Context(), prefix); err != nil {
			t.Error(err)
		}
		if err := d.Settle(t.Context()); err != nil {
			t.Error(err)
		}
		reading := metered(t, d, database.Writes, prefix+"orders", "BIGINT", 0, rows, counter)
		missing(t, "splits", reading.Splits, "")
		if _, err := d.Size(t.Context(), prefix+"orders", rows); err != nil {
			t.Error(err)
		}
		if _, err := d.Buffers(t.Context(), prefix+"orders", "id"); err != nil {
			t.Error(err)
		}
		if err := d.Sweep(t.Context(), prefix); err != nil {
			t.Error(err)
		}
		after := state(t, d)
		if len(before) < 6 || !slices.Equal(before, after) {
			changed := slices.DeleteFunc(slices.Clone(after), func(row string) bool { return slices.Contains(before, row) })
			t.Errorf("what is different is\n%s\nof %d and %d", strings.Join(changed, "\n"), len(before), len(after))
		}
	})
}
