package inspect_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dsn"
	"github.com/snowkey-go/snowkey/migrate/inspect"
)

// open opens a database of a kind with GORM.
func open(t *testing.T, database dbtest.Database) *gorm.DB {
	t.Helper()
	parsed, err := dsn.Parse(database.DSN)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := parsed.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	db, err := gorm.Open(parsed.Dialector(pool), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// onEach runs a test on a fresh database of each kind.
func onEach(t *testing.T, test func(t *testing.T, db *gorm.DB)) {
	for _, name := range []string{"sqlite", "mysql", "postgres"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, openOn(t, name))
		})
	}
}

func openOn(t *testing.T, kind string) *gorm.DB {
	t.Helper()
	return open(t, map[string]func(testing.TB) dbtest.Database{"sqlite": dbtest.SQLite, "mysql": dbtest.MySQL, "postgres": dbtest.Postgres}[kind](t))
}

// run runs statements, in which KEY! is an integer that the database makes, TIME! a type of times without zone, JSON! one of documents,
// AGO(n) the time n seconds ago, and names are in double quotes.
func run(t *testing.T, db *gorm.DB, statements ...string) {
	t.Helper()
	replace := strings.NewReplacer(map[string][]string{
		"sqlite":   {"KEY!", "INTEGER PRIMARY KEY AUTOINCREMENT", "TIME!", "datetime", "JSON!", "json"},
		"mysql":    {"KEY!", "INT AUTO_INCREMENT PRIMARY KEY", "TIME!", "datetime", "JSON!", "json"},
		"postgres": {"KEY!", "serial PRIMARY KEY", "TIME!", "timestamp", "JSON!", "jsonb"},
	}[db.Name()]...)
	ago := map[string]string{
		"sqlite": "datetime('now', -($1) || ' seconds')", "mysql": "(now() - interval $1 second)", "postgres": "(localtimestamp - interval '$1 seconds')",
	}[db.Name()]
	// One connection, so that settings of the session hold.
	err := db.Connection(func(tx *gorm.DB) error {
		if db.Name() == "mysql" {
			statements = slices.Concat([]string{"SET sql_mode = concat(@@sql_mode, ',ANSI_QUOTES')"}, statements, []string{"SET sql_mode = @@global.sql_mode"})
		}
		for _, s := range statements {
			if err := tx.Exec(seconds.ReplaceAllString(replace.Replace(s), ago)).Error; err != nil {
				return fmt.Errorf("%s: %w", s, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func mustInspect(t *testing.T, db *gorm.DB, o inspect.Options) *inspect.Report {
	t.Helper()
	r, err := inspect.Read(t.Context(), db, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// references are those of a report, a line each.
func references(r *inspect.Report) (lines []string) {
	for _, f := range r.References {
		from := f.Table + "." + f.Column
		if f.Path != "" {
			from += ":" + f.Path
		}
		if f.OwnerType != "" {
			from += "[" + f.OwnerType + "=" + f.Owner + "]"
		}
		line := fmt.Sprintf("%s > %s.%s %s %s %d", from, f.To, f.ToColumn, f.Origin, f.Confidence, f.Orphans)
		if f.Text {
			line += " text"
		}
		lines = append(lines, line)
	}
	return lines
}

// obstacles are those of a report of a kind, or of all but the note on JSON, a line each.
func obstacles(r *inspect.Report, kinds ...string) (lines []string) {
	for _, o := range r.Obstacles {
		if o.Kind == "json" || len(kinds) > 0 && !slices.Contains(kinds, o.Kind) {
			continue
		}
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s", o.Accept(), strings.Join(o.Blocks, ","))))
	}
	return lines
}

func requireLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func tableOf(t *testing.T, r *inspect.Report, name string) inspect.Table {
	t.Helper()
	for _, table := range r.Tables {
		if table.Name == name {
			return table
		}
	}
	t.Fatalf("no table %s in the report", name)
	return inspect.Table{}
}

var seconds = regexp.MustCompile(`AGO\((-?\d+)\)`)
