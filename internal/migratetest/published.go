package migratetest

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

//go:embed testdata/*.sql
var schemas embed.FS

// build makes a published schema in an empty database: the statements of testdata/name.kind.sql, with rows where it has the line "-- rows". Keys
// begin at 1 and have no gaps, as in the published data. The test fails when that does not work.
func build(t testing.TB, db *sql.DB, name, kind string, rows int, fill func(*filler, int)) {
	t.Helper()
	text, err := schemas.ReadFile("testdata/" + name + "." + kind + ".sql")
	if err != nil {
		t.Fatalf("migratetest: there is no %s on %s", name, kind)
	}
	if err := buildFrom(t.Context(), db, kind, string(text), rows, fill); err != nil {
		t.Fatalf("migratetest: %s on %s: %v", name, kind, err)
	}
}

func buildFrom(ctx context.Context, db *sql.DB, kind, text string, rows int, fill func(*filler, int)) error {
	conn, done, err := connect(ctx, db, kind)
	if err != nil {
		return err
	}
	defer done()
	before, after, _ := strings.Cut(text, "\n-- rows\n")
	if err := script(ctx, conn, before); err != nil {
		return err
	}
	if kind == "mysql" { // tables refer to each other in circles; the connection is not used again
		if _, err := conn.ExecContext(ctx, "SET foreign_key_checks = 0"); err != nil {
			return err
		}
	}
	last := map[string]int64{}
	next := func(table string, _ time.Time) int64 { last[table]++; return last[table] }
	if err := write(ctx, conn, kind, 1, next, func(f *filler) { fill(f, rows) }); err != nil {
		return err
	}
	return script(ctx, conn, after)
}

// script runs statements: each ends with a semicolon before an empty line.
func script(ctx context.Context, conn *sql.Conn, text string) error {
	for _, statement := range statements(text) {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%w: %s", err, statement)
		}
	}
	return nil
}

// statements splits a script.
func statements(text string) []string {
	return slices.DeleteFunc(strings.Split(strings.TrimSuffix(strings.TrimSpace(text), ";"), ";\n\n"), func(s string) bool { return strings.TrimSpace(s) == "" })
}

// counters lets sequences go on after the greatest keys: of each table, key and sequence.
func (f *filler) counters(keys ...[3]string) {
	f.flush()
	for _, k := range keys {
		if f.err != nil || f.kind != "postgres" {
			return
		}
		_, f.err = f.tx.ExecContext(f.ctx, fmt.Sprintf("SELECT setval('%s', (SELECT coalesce(max(%s), 1) FROM %s))", k[2], k[1], k[0]))
	}
}

// dated returns the time of the nth of so many rows that are spread over a year or so.
func dated(n, rows int) time.Time {
	return time.Date(2022, 1, 2, 8, 0, 0, 0, time.UTC).Add(time.Duration(n*(200*24*60*60)/max(rows, 1)) * time.Second)
}

// uuid returns a UUID that no other row of the table has.
func uuid(n int) string { return fmt.Sprintf("00000000-0000-7000-8000-%012x", n) }
