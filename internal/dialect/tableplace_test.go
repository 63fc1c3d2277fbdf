package dialect_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// locate returns what the catalogue says, without the database's name.
func locate(t *testing.T, d dialect.Dialect, conn *sql.Conn, name string) dialect.Location {
	t.Helper()
	l, err := d.Locate(t.Context(), conn, name)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := d.LocateAt(t.Context(), conn, l.At); err != nil || again.At != l.At || again.Exists != l.Exists || !slices.Equal(again.Others, l.Others) {
		t.Errorf("at its place: got %+v, %v, want %+v", again, err, l)
	}
	return l
}

func wantPlaces(t *testing.T, l dialect.Location, exists bool, at string, others ...string) {
	t.Helper()
	name := func(p dialect.Place) string { return p.Schema + "." + p.Table }
	got := []string{}
	for _, p := range l.Others {
		got = append(got, name(p))
	}
	if l.Exists != exists || name(l.At) != at || !slices.Equal(got, others) && len(got)+len(others) > 0 {
		t.Errorf("got %s, which exists %t, and %q, want %s, %t, and %q", name(l.At), l.Exists, got, at, exists, others)
	}
}

func TestLocatePostgres(t *testing.T) {
	for _, test := range []struct {
		name   string
		make   []string
		path   string
		table  string
		exists bool
		at     string
		others []string
	}{
		{"nothing", nil, `"$user", public`, "t", false, "public.t", nil},
		{"nothing, by its schema", nil, "public", "a.t", false, "a.t", nil},
		{"the first of the path", []string{"CREATE SCHEMA a", "CREATE SCHEMA b"}, "b, a, public", "t", false, "b.t", nil},
		{"the role's own last", []string{"CREATE SCHEMA postgres", "CREATE SCHEMA a"}, `"$user", a`, "t", false, "a.t", nil},
		{"the role's own alone", []string{"CREATE SCHEMA postgres"}, `"$user"`, "t", false, "postgres.t", nil},
		{"an empty path", nil, "''", "t", false, "public.t", nil},
		{"off the path", []string{"CREATE SCHEMA a", "CREATE TABLE a.t ()"}, "public", "t", true, "a.t", nil},
		{"on the path and off it", []string{"CREATE SCHEMA a", "CREATE TABLE a.t ()", "CREATE TABLE public.t ()"}, "public", "t", true, "public.t", []string{"a.t"}},
		{"two on the path", []string{"CREATE SCHEMA a", "CREATE TABLE a.t ()", "CREATE TABLE public.t ()"}, "a, public", "t", true, "a.t", []string{"public.t"}},
		{"by its schema", []string{"CREATE SCHEMA a", "CREATE TABLE a.t ()", "CREATE TABLE public.t ()"}, "a", "public.t", true, "public.t", []string{"a.t"}},
		{"missing in its schema", []string{"CREATE SCHEMA a", "CREATE TABLE public.t ()"}, "public", "a.t", false, "a.t", []string{"public.t"}},
		{"letter by letter", []string{`CREATE TABLE "T" ()`, "CREATE TABLE t1 ()"}, "public", "t", false, "public.t", nil},
		{"other kinds", []string{"CREATE VIEW t AS SELECT 1", "CREATE SCHEMA a", "CREATE SEQUENCE a.t", "CREATE TEMPORARY TABLE t ()", "CREATE SCHEMA b", "CREATE TYPE b.t AS (a int)"}, "public", "t", false, "public.t", nil},
		{"partitioned", []string{"CREATE TABLE t (a int) PARTITION BY LIST (a)"}, "public", "t", true, "public.t", nil},
		{"odd names", []string{`CREATE SCHEMA "a""b"`, `CREATE TABLE "a""b".t ()`, `CREATE SCHEMA "it's"`, `CREATE TABLE "it's".t ()`}, `"it's"`, "t", true, "it's.t", []string{`a"b.t`}},
		{"called almost as the system's", []string{"CREATE SCHEMA pgone", "CREATE TABLE pgone.t ()"}, "public", "t", true, "pgone.t", nil},
		{"the same, old strings", []string{"CREATE SCHEMA pgone", "CREATE TABLE pgone.t ()", "SET escape_string_warning = off", "SET standard_conforming_strings = off"}, "public", "t", true, "pgone.t", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			conn := connect(t, dbtest.Postgres(t))
			execute(t, conn, append(test.make, "SET search_path = "+test.path)...)
			l := locate(t, dialect.Postgres, conn, test.table)
			wantPlaces(t, l, test.exists, test.at, test.others...)
			var database string
			if err := conn.QueryRowContext(t.Context(), "SELECT current_database()").Scan(&database); err != nil || l.At.Catalog != database || l.Role != "postgres" || l.File != nil {
				t.Errorf("got %+v, %v, want the database %s and the role", l, err, database)
			}
			if want := database + "." + test.at; l.At.String() != want {
				t.Errorf("got %s, want %s", l.At, want)
			}
			if !test.exists && test.name != "other kinds" { // what quotes the place makes it
				execute(t, conn, "CREATE SCHEMA IF NOT EXISTS "+dialect.Postgres.QuoteAny(l.At.Schema), "CREATE TABLE "+dialect.Postgres.QuotePlace(l.At)+" ()")
			}
			if test.name != "other kinds" {
				wantPlaces(t, locate(t, dialect.Postgres, conn, test.table), true, test.at, test.others...)
				if _, err := dialect.Postgres.Storage(t.Context(), conn, l.At); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// Rights decide where a table is made, and never which one is found.
func TestLocatePostgresRights(t *testing.T) {
	conn := connect(t, dbtest.Postgres(t))
	role := fmt.Sprintf("Role_%d", os.Getpid())
	execute(t, conn, `CREATE ROLE "`+role+`"`, "CREATE SCHEMA a", "CREATE SCHEMA b", `GRANT USAGE ON SCHEMA a, b TO "`+role+`"`,
		"REVOKE CREATE ON SCHEMA public FROM PUBLIC", `CREATE SCHEMA "`+role+`"`, `SET search_path = "$user", a, b, public`)
	t.Cleanup(func() {
		_, _ = conn.ExecContext(context.WithoutCancel(t.Context()), `RESET ROLE; DROP OWNED BY "`+role+`"; DROP ROLE "`+role+`"`)
	})
	for _, test := range []struct {
		statement string
		exists    bool
		at        string
	}{
		{"SELECT 1", false, "a.t"}, // nowhere: somebody else has to
		{`GRANT ALL ON SCHEMA "` + role + `" TO "` + role + `"`, false, role + ".t"},
		{`GRANT CREATE ON SCHEMA b TO "` + role + `"`, false, "b.t"},
		{`GRANT CREATE ON SCHEMA a TO "` + role + `"`, false, "a.t"},
		{"CREATE SCHEMA hidden", false, "a.t"},
		{"CREATE TABLE hidden.t ()", true, "hidden.t"},
	} {
		execute(t, conn, "RESET ROLE", test.statement, `SET ROLE "`+role+`"`)
		l := locate(t, dialect.Postgres, conn, "t")
		wantPlaces(t, l, test.exists, test.at)
		if l.Role != `"`+role+`"` {
			t.Errorf("got the role %s, want %q", l.Role, role)
		}
		if test.exists {
			if got, err := dialect.Postgres.Storage(t.Context(), conn, l.At); err != nil || len(got) != 0 {
				t.Errorf("got %+v, %v, want nothing", got, err)
			}
		}
	}
}

func TestLocateSequence(t *testing.T) {
	conn := connect(t, dbtest.Postgres(t))
	execute(t, conn, "CREATE SCHEMA a", `CREATE SEQUENCE a."s.t"`, `CREATE TABLE "s.t" ()`)
	l, err := dialect.Postgres.LocateSequence(t.Context(), conn, "", "s.t")
	if err != nil {
		t.Fatal(err)
	}
	wantPlaces(t, l, true, "a.s.t")
	if l, err = dialect.Postgres.LocateSequence(t.Context(), conn, "public", "s.t"); err != nil {
		t.Fatal(err)
	}
	wantPlaces(t, l, false, "public.s.t", "a.s.t")
}

func TestLocateMySQL(t *testing.T) {
	for _, test := range []struct {
		name   string
		make   []string // @ is the database
		table  string
		exists bool
		at     string
		others []string
	}{
		{"nothing", nil, "t", false, "@.t", nil},
		{"there", []string{"CREATE TABLE t (a int)"}, "t", true, "@.t", nil},
		{"by its database", []string{"CREATE TABLE t (a int)", "USE @_b"}, "@.t", true, "@.t", nil},
		{"elsewhere", []string{"CREATE TABLE @_b.t (a int)"}, "t", false, "@.t", []string{"@_b.t"}},
		{"in both", []string{"CREATE TABLE @_b.t (a int)", "CREATE TABLE t (a int)"}, "t", true, "@.t", []string{"@_b.t"}},
		{"in use", []string{"CREATE TABLE @_b.t (a int)", "CREATE TABLE t (a int)", "USE @_b"}, "t", true, "@_b.t", []string{"@.t"}},
		{"letter by letter", []string{"CREATE TABLE T (a int)", "CREATE TABLE @_b.T (a int)"}, "t", false, "@.t", nil},
		{"other kinds", []string{"CREATE VIEW t AS SELECT 1", "CREATE VIEW @_b.t AS SELECT 1", "CREATE TEMPORARY TABLE t (a int)"}, "t", false, "@.t", nil},
		{"odd names", []string{"CREATE TABLE `@_it's-a``.b`.t (a int)"}, "t", false, "@.t", []string{"@_it's-a`.b.t"}},
		{"odd names, in use", []string{"USE `@_it's-a``.b`", "CREATE TABLE t (a int) ENGINE = MyISAM"}, "t", true, "@_it's-a`.b.t", nil},
		{"SQL mode", []string{"SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT'", "CREATE TABLE t (a int)"}, "t", true, "@.t", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			conn := connect(t, dbtest.MySQL(t))
			var database string
			if err := conn.QueryRowContext(t.Context(), "SELECT DATABASE()").Scan(&database); err != nil {
				t.Fatal(err)
			}
			with := func(texts ...string) (all []string) {
				for _, text := range texts {
					all = append(all, strings.ReplaceAll(text, "@", database))
				}
				return all
			}
			t.Cleanup(func() {
				for _, statement := range with("DROP DATABASE @_b", "DROP DATABASE IF EXISTS `@_it's-a``.b`") {
					if _, err := conn.ExecContext(context.WithoutCancel(t.Context()), statement); err != nil {
						t.Error(err)
					}
				}
			})
			execute(t, conn, with("CREATE DATABASE @_b", "CREATE DATABASE `@_it's-a``.b`")...)
			execute(t, conn, with(test.make...)...)
			l := locate(t, dialect.MySQL, conn, with(test.table)[0])
			wantPlaces(t, l, test.exists, with(test.at)[0], with(test.others...)...)
			if l.At.String() != with(test.at)[0] || l.At.Catalog != "" || l.File != nil || !strings.HasPrefix(l.Role, "'") || !strings.HasSuffix(l.Role, "'") || !strings.Contains(l.Role, "'@'") {
				t.Errorf("got %+v", l)
			}
			if !test.exists {
				return
			}
			findings, err := dialect.MySQL.Storage(t.Context(), conn, l.At)
			if refused := len(findings) == 1 && findings[0].Refused; err != nil || refused != strings.Contains(test.name, "odd names") {
				t.Errorf("got %+v, %v", findings, err)
			}
			for _, f := range findings { // what mends it does
				_, statement, _ := strings.Cut(f.Text, "; ")
				execute(t, conn, statement)
				if findings, err := dialect.MySQL.Storage(t.Context(), conn, l.At); err != nil || len(findings) != 0 {
					t.Errorf("after %s: got %+v, %v", statement, findings, err)
				}
			}
		})
	}
	t.Run("no database", func(t *testing.T) {
		d := dbtest.MySQL(t)
		conn := connect(t, d)
		var database string
		if err := conn.QueryRowContext(t.Context(), "SELECT DATABASE()").Scan(&database); err != nil {
			t.Fatal(err)
		}
		d.DriverDSN = strings.Replace(d.DriverDSN, "/"+database, "/", 1)
		conn = connect(t, d)
		if _, err := dialect.MySQL.Locate(t.Context(), conn, "t"); err == nil || !strings.Contains(err.Error(), "no database is selected") {
			t.Errorf("got %v, want an error that no database is selected", err)
		}
		wantPlaces(t, locate(t, dialect.MySQL, conn, database+".t"), false, database+".t")
	})
}

func TestLocateSQLite(t *testing.T) {
	d := dbtest.SQLite(t)
	conn := connect(t, d)
	other := filepath.Join(t.TempDir(), "other.db")
	execute(t, conn, "CREATE TEMPORARY TABLE t (a int)", "CREATE VIEW v AS SELECT 1")
	l := locate(t, dialect.SQLite, conn, "t")
	wantPlaces(t, l, false, "main.t")
	info, err := os.Stat(d.DriverDSN)
	if err != nil || l.File == nil || !os.SameFile(l.File, info) || l.At.Catalog != d.DriverDSN || l.Role != "" || l.At.String() != "main.t" {
		t.Errorf("got %+v, want the file %s, %v", l, d.DriverDSN, err)
	}
	wantPlaces(t, locate(t, dialect.SQLite, conn, "v"), false, "main.v")
	execute(t, conn, "ATTACH '"+other+"' AS \"it's\"", `CREATE TABLE "it's".t (a int)`, "ATTACH ':memory:' AS b", "CREATE TABLE b.T (a int)")
	wantPlaces(t, locate(t, dialect.SQLite, conn, "t"), false, "main.t", "b.T", "it's.t")
	execute(t, conn, "CREATE TABLE main.T (a int)") // which t is, too
	wantPlaces(t, locate(t, dialect.SQLite, conn, "t"), true, "main.T", "b.T", "it's.t")
	l = locate(t, dialect.SQLite, conn, "b.t")
	wantPlaces(t, l, true, "b.T", "it's.t", "main.T")
	if l.File != nil || l.At.Catalog != "" {
		t.Errorf("got %+v, want no file", l)
	}
	if _, err := dialect.SQLite.Locate(t.Context(), conn, "c.t"); err == nil || !strings.Contains(err.Error(), `attached as "c"`) {
		t.Errorf("got %v, want an error of a database that is not attached", err)
	}
	if err := os.Remove(d.DriverDSN); err != nil {
		t.Fatal(err)
	}
	if l := locate(t, dialect.SQLite, conn, "t"); l.File != nil || l.At.Catalog != d.DriverDSN {
		t.Errorf("got %+v where the file is gone, want the path and no file", l)
	}
}

// Who has the lock keeps others waiting, of the same name in any schema, until its transaction ends or it lets go.
func TestLockCreate(t *testing.T) {
	for d, database := range map[dialect.Dialect]func(testing.TB) dbtest.Database{dialect.MySQL: dbtest.MySQL, dialect.Postgres: dbtest.Postgres} {
		t.Run(d.String(), func(t *testing.T) {
			at := database(t)
			one, two := connect(t, at), connect(t, at)
			execute(t, one, "START TRANSACTION")
			execute(t, two, "START TRANSACTION")
			unlock, err := d.LockCreate(t.Context(), one, "t")
			if err != nil {
				t.Fatal(err)
			}
			free, err := d.LockCreate(t.Context(), two, "another")
			if err != nil {
				t.Fatal(err)
			}
			free()
			got := make(chan error, 1)
			go func() {
				unlock, err := d.LockCreate(t.Context(), two, "a.t")
				unlock()
				got <- err
			}()
			for waiting := 0; d == dialect.Postgres && waiting == 0; {
				select {
				case err := <-got:
					t.Fatalf("the second did not wait: %v", err)
				default:
				}
				if err := one.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted").Scan(&waiting); err != nil {
					t.Fatal(err)
				}
			}
			if taken, err := d.TryLock(t.Context(), connect(t, at), dialect.CreateLock("t")); taken || err != nil {
				t.Errorf("a third took the lock: got %t, %v", taken, err)
			}
			unlock()
			execute(t, one, "COMMIT")
			if err := <-got; err != nil {
				t.Error(err)
			}
			execute(t, two, "COMMIT")
		})
	}
}

func TestQuoteAny(t *testing.T) {
	for d, want := range map[dialect.Dialect]string{dialect.MySQL: "`a``b\"c`.`d.e`", dialect.Postgres: "\"a`b\"\"c\".\"d.e\"", dialect.SQLite: "\"a`b\"\"c\".\"d.e\""} {
		if got := d.QuotePlace(dialect.Place{Catalog: "x", Schema: "a`b\"c", Table: "d.e"}); got != want {
			t.Errorf("%v: got %s, want %s", d, got, want)
		}
	}
}
