package migrate_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/migrate"
)

// TestLateScenarios are what a migration that was only tried on quiet tables of its own fails at. Each is a file of its name.
func TestLateScenarios(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	for _, s := range []struct {
		name  string
		test  func(t *testing.T, d *database)
		kinds []string // all when there are none
	}{
		{name: "09 concurrent child inserts", test: concurrentInserts},
		{name: "14 a long transaction holds the lock", test: longTransaction},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			forEach(t, s.test, s.kinds...)
		})
	}
	for _, s := range []struct {
		name  string
		test  func(t *testing.T, d *database, mode migrate.Mode)
		kinds []string
		modes []migrate.Mode // all when there are none
	}{
		{"10 a column that is set at each update", setAtUpdate, []string{"mysql"}, []migrate.Mode{migrate.Widen, migrate.Rekey}},
		{"11 serial, identity, views and a publication", serialAndViews, []string{"postgres"}, nil},
		{"12 all that SQLite has around a table", aroundTable, []string{"sqlite"}, []migrate.Mode{migrate.Rekey}},
		{"15 a rollback after later inserts", lateRollback, nil, nil},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			modes := s.modes
			if len(modes) == 0 {
				modes = []migrate.Mode{migrate.Widen, migrate.Rekey, migrate.Shadow}
			}
			for _, mode := range modes {
				kinds := s.kinds
				if len(kinds) == 0 && mode == migrate.Shadow {
					kinds = []string{"postgres"}
				}
				t.Run(string(mode), func(t *testing.T) {
					t.Parallel()
					forEach(t, func(t *testing.T, d *database) { s.test(t, d, mode) }, kinds...)
				})
			}
		})
	}
}

// lines returns the rows that a query gives, a line each.
func (d *database) lines(query string) string {
	d.t.Helper()
	rows, err := d.pool.QueryContext(context.Background(), query)
	if err != nil {
		d.t.Fatalf("%s: %v", query, err)
	}
	defer func() { _ = rows.Close() }() // Err tells
	columns, err := rows.Columns()
	if err != nil {
		d.t.Fatal(err)
	}
	var text strings.Builder
	for rows.Next() {
		values := make([]sql.NullString, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			d.t.Fatalf("%s: %v", query, err)
		}
		for i, v := range values {
			if i > 0 {
				text.WriteString(" | ")
			}
			if !v.Valid {
				v.String = "NULL"
			}
			text.WriteString(v.String)
		}
		text.WriteByte('\n')
	}
	if err := rows.Err(); err != nil {
		d.t.Fatalf("%s: %v", query, err)
	}
	return text.String()
}

// same fails the test when what was got is not what was wanted.
func (d *database) same(what, got, want string) {
	d.t.Helper()
	if got == want {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			d.t.Errorf("%s: line %d of %d: got %q, want line %d of %d: %q", what, i+1, len(g), g[i], i+1, len(w), w[i])
			return
		}
	}
	d.t.Errorf("%s: got %d lines, want %d", what, len(g), len(w))
}

// none fails the test when a query for a number does not give 0.
func (d *database) none(what, query string) {
	d.t.Helper()
	if n := d.number(query); n != 0 {
		d.t.Errorf("%s: got %d, want 0: %s", what, n, query)
	}
}

// refused fails the test when a statement succeeds.
func (d *database) refused(statement string) {
	d.t.Helper()
	if _, err := d.pool.ExecContext(d.t.Context(), statement); err == nil {
		d.t.Errorf("%s: it was done, want an error", statement)
	}
}

// rollback undoes a plan.
func (d *database) rollback(p *migrate.Plan) (warnings []string) {
	d.t.Helper()
	outcome, err := migrate.Rollback(d.t.Context(), d.gorm, p, migrate.RunOptions{})
	if err != nil || !outcome.Done {
		d.t.Fatalf("the rollback: got %+v, %v", outcome, err)
	}
	return outcome.Warnings
}

// parents returns the statements that make parents and their children with keys of 32 bits that the database makes, so many of each. The names
// of parents are their first ids, and children have their parent's name in a column, too.
func (d *database) parents(n int) []string {
	key, instant := "INTEGER PRIMARY KEY AUTOINCREMENT", "datetime"
	series := fmt.Sprintf("WITH RECURSIVE g(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM g WHERE n < %d) SELECT n FROM g", n)
	at := "strftime('%Y-%m-%d %H:%M:%f+00:00', 1700000000 + n / 3, 'unixepoch')"
	foreign := ", CONSTRAINT fk_parent FOREIGN KEY (parent_id) REFERENCES parents (id) ON DELETE CASCADE"
	switch d.kind {
	case "mysql":
		key, instant = "INT AUTO_INCREMENT PRIMARY KEY", "TIMESTAMP(3) NULL"
		series = fmt.Sprintf("SELECT seq AS n FROM seq_1_to_%d", n)
		at = "TIMESTAMP('2023-11-14 22:13:20') + INTERVAL n DIV 3 SECOND"
	case "postgres":
		key, instant = "serial PRIMARY KEY", "timestamptz"
		series = fmt.Sprintf("SELECT g AS n FROM generate_series(1, %d) g", n)
		at = "timestamptz '2023-11-14 22:13:20+00' + n / 3 * interval '1 second'"
	}
	return []string{
		"CREATE TABLE parents (id " + key + ", name VARCHAR(40) NOT NULL, created_at " + instant + ")",
		"CREATE TABLE children (id " + key + ", parent_id INT NOT NULL, name VARCHAR(40) NOT NULL, created_at " + instant + foreign + ")",
		"INSERT INTO parents (name, created_at) SELECT n, " + at + " FROM (" + series + ") s ORDER BY n",
		"INSERT INTO children (parent_id, name, created_at) SELECT n, n, " + at + " FROM (" + series + ") s ORDER BY n",
	}
}

// wrong is the query for how many children have a parent of another name, or none.
const wrong = "SELECT COUNT(*) FROM children c LEFT JOIN parents p ON p.id = c.parent_id WHERE p.name IS NULL OR p.name <> c.name"
