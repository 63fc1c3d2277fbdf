package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

func TestExitStatus(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		args string
		ctx  context.Context
		want int
	}{
		{"", t.Context(), 0},
		{"help", t.Context(), 0},
		{"--version", t.Context(), 0},
		{"next", t.Context(), 0},
		{"decode 5", t.Context(), 0},
		{"completion bash", t.Context(), 0},
		{"help next", t.Context(), 0},
		{"completion", t.Context(), 0},
		{"layouts", t.Context(), 0},
		{"help nosuch", t.Context(), 2},
		{"help next extra", t.Context(), 2},
		{"completion nosuch", t.Context(), 2},
		{"bounds", t.Context(), 2},
		{"next --layout node=5", t.Context(), 2},
		{"next --format roman", t.Context(), 2},
		{"nosuch", t.Context(), 2},
		{"--nosuch", t.Context(), 2},
		{"next --nosuch", t.Context(), 2},
		{"next extra", t.Context(), 2},
		{"next -n 0", t.Context(), 2},
		{"next -n 1e3", t.Context(), 2},
		{"next --node 5000", t.Context(), 2},
		{"next --layout nosuch", t.Context(), 2},
		{"decode", t.Context(), 2},
		{"decode x", t.Context(), 2},
		{"decode -", t.Context(), 2}, // standard input is no id
		{"compare --strategies nosuch", t.Context(), 2},
		{"compare --db nosuch:x", t.Context(), 2},
		{"compare --db sqlite:/nonexistent/x.db", t.Context(), 2},
		{"compare --out /dev/null/x", t.Context(), 2},
		{"compare --out /proc/nosuch", t.Context(), 2},
		{"compare --rows -1", t.Context(), 2},
		{"compare extra", t.Context(), 2},
		{"compare --budget 1s", t.Context(), 2},
		{"compare --format nosuch", t.Context(), 2},
		{"compare --second sqlite:x.db", t.Context(), 2},
		{"compare --db private:nosuch", t.Context(), 2},
		{"compare --db private:mysql --second sqlite::memory:", t.Context(), 2},
		{"compare --db sqlite::memory: --db sqlite::memory:", t.Context(), 2},
		{"compare --from /nonexistent", t.Context(), 1},
		{"compare --from x --rows 10", t.Context(), 2},
		{"compare --rows 10 --db mysql:root@unix(/nonexistent.sock)/x", t.Context(), 1},
		{"nodes", t.Context(), 2},
		{"nodes --db nosuch:x", t.Context(), 2},
		{"nodes --db sqlite:/nonexistent/x.db", t.Context(), 2},
		{"nodes --db sqlite:file:/nonexistent/x.db?cache=shared", t.Context(), 2},
		{"nodes --db sqlite::memory: --table a-b", t.Context(), 2},
		{"nodes --db sqlite::memory:", t.Context(), 1}, // no table
		{"nodes --db mysql:root@unix(/nonexistent.sock)/x", t.Context(), 1},
		{"nodes extra", t.Context(), 2},
		{"nodes ddl", t.Context(), 2},
		{"nodes ddl --dialect oracle", t.Context(), 2},
		{"nodes ddl --dialect mysql --table 1", t.Context(), 2},
		{"nodes ddl --dialect mysql", t.Context(), 0},
		{"check", t.Context(), 2},
		{"check --db nosuch:x", t.Context(), 2},
		{"check --db sqlite:/nonexistent/x.db", t.Context(), 2},
		{"check --db sqlite::memory: --table a.b.c", t.Context(), 2},
		{"check --db sqlite::memory: --layout nosuch", t.Context(), 2},
		{"check --db sqlite::memory: --table nosuch", t.Context(), 1},
		{"check --db mysql:root@unix(/nonexistent.sock)/x", t.Context(), 1},
		{"check --db sqlite::memory:", cancelled, 1},
		{"check extra", t.Context(), 2},
		{"compare --rows 10", cancelled, 1},
		{"next -n 1000000", cancelled, 1},
	} {
		t.Run(tt.args, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			var stdout, stderr bytes.Buffer
			got := run(tt.ctx, strings.Fields(tt.args), strings.NewReader("no id\n"), &stdout, &stderr)
			if got != tt.want {
				t.Errorf("got status %d, want %d; standard error:\n%s", got, tt.want, &stderr)
			}
			if (got == 0) != (stderr.Len() == 0) {
				t.Errorf("status %d with the standard error %q", got, &stderr)
			}
		})
	}
}

// Several databases in one run stand side by side in its result.
func TestCompareSideBySide(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	args := []string{"compare", "--rows", "100", "--rounds", "1", "--strategies", "autoincrement"}
	for _, database := range []dbtest.Database{sqliteFile(t), dbtest.Postgres(t)} {
		args = append(args, "--db", database.DSN)
	}
	var stdout, stderr bytes.Buffer
	if status := run(t.Context(), args, nil, &stdout, &stderr); status != 0 {
		t.Fatalf("got status %d: %s", status, &stderr)
	}
	for _, want := range []string{"== SQLite 3", "== PostgreSQL"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("%s is missing in\n%s", want, &stdout)
		}
	}
	if got := strings.Split(stderr.String(), "\n"); len(got) != 4 || !strings.HasPrefix(got[0], "Plan: sqlite:") || !strings.HasPrefix(got[1], "Plan: postgres:") || !strings.HasPrefix(got[2], "The report is ") {
		t.Errorf("got the standard error %q, want a plan for each database, and where the report is", got)
	}
}

// sqliteFile is a database in a file that two processes use without much waiting.
func sqliteFile(t testing.TB) dbtest.Database {
	d := dbtest.SQLite(t)
	d.DSN += "?_journal_mode=WAL&_synchronous=NORMAL"
	return d
}

// TestMigrateMisuse gives a plan's run options that cannot be.
func TestMigrateMisuse(t *testing.T) {
	db := dbtest.SQLite(t)
	pool := db.Open(t)
	if _, err := pool.ExecContext(t.Context(), "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, created_at DATETIME)"); err != nil {
		t.Fatal(err)
	}
	file := t.TempDir() + "/rekey.sql"
	for _, tt := range []struct {
		args []string
		want int
	}{
		{[]string{"plan", "--db", db.DSN, "--mode", "rekey", "--zone", "UTC", "--out", file}, 0},
		{[]string{"run", "--db", db.DSN, "--throttle", "1", file}, 2},
		{[]string{"run", "--db", db.DSN, "--target", "-1s", file}, 2},
		{[]string{"run", "--db", db.DSN, "--attempts", "-1", file}, 2},
		{[]string{"rollback", "--db", db.DSN, file}, 1},
	} {
		var stdout, stderr bytes.Buffer
		if got := run(t.Context(), append([]string{"migrate"}, tt.args...), strings.NewReader(""), &stdout, &stderr); got != tt.want {
			t.Errorf("%q: got exit status %d, want %d: %s", tt.args, got, tt.want, &stderr)
		}
	}
}

// TestMigrateStatementTimeout has the database end what only reads, and goes on as the error says.
func TestMigrateStatementTimeout(t *testing.T) {
	db := dbtest.Postgres(t)
	pool := db.Open(t)
	for _, statement := range []string{
		"CREATE TABLE users (id serial PRIMARY KEY)",
		"DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET statement_timeout = 1', current_database()); END $$",
	} {
		if _, err := pool.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	// A lock that a reader waits for makes it slow for certain.
	tx, err := pool.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), "LOCK TABLE users IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if got := run(t.Context(), []string{"migrate", "inspect", "--db", db.DSN}, nil, &stdout, &stderr); got != 1 || !strings.Contains(stderr.String(), "&statement_timeout=0") {
		t.Errorf("got exit status %d and %q, want 1 and what to do", got, &stderr)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if got := run(t.Context(), []string{"migrate", "inspect", "--db", db.DSN + "&statement_timeout=0"}, nil, &stdout, &stderr); got != 0 {
		t.Errorf("got exit status %d, want 0: %s", got, &stderr)
	}
}
