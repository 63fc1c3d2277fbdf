package catalog_test

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// open returns a database with the statements run, and its catalog.
func open(t *testing.T, d dialect.Dialect, statements ...string) (*sql.DB, *catalog.Catalog) {
	t.Helper()
	return openDatabase(t, d, databases[d](t), statements...)
}

var databases = map[dialect.Dialect]func(testing.TB) dbtest.Database{dialect.SQLite: dbtest.SQLite, dialect.MySQL: dbtest.MySQL, dialect.Postgres: dbtest.Postgres}

func openDatabase(t *testing.T, d dialect.Dialect, database dbtest.Database, statements ...string) (*sql.DB, *catalog.Catalog) {
	t.Helper()
	db := database.Open(t)
	run(t, db, statements...)
	c, err := catalog.New(db, d)
	if err != nil {
		t.Fatal(err)
	}
	return db, c
}

func run(t *testing.T, db interface {
	Exec(string, ...any) (sql.Result, error)
}, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := db.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// read returns a table that has to be there.
func read(t *testing.T, c *catalog.Catalog, text string) *catalog.Table {
	t.Helper()
	name, err := catalog.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Table(t.Context(), name)
	if err != nil || got == nil {
		t.Fatalf("%s: got %v, %v, want a table", text, got, err)
	}
	return got
}

// eachDialect runs a test on the three kinds of databases.
func eachDialect(t *testing.T, test func(t *testing.T, d dialect.Dialect)) {
	for _, d := range []dialect.Dialect{dialect.SQLite, dialect.MySQL, dialect.Postgres} {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			test(t, d)
		})
	}
}

func TestHostileNames(t *testing.T) {
	eachDialect(t, func(t *testing.T, d dialect.Dialect) {
		db, c := open(t, d)
		hostile := []string{"a b", `a"b`, "a`b", "a'b", "Select", "ä☃", "a.b", "a?b", "a$1", "a[b]", "--", "a/*b", `a\b`, "%s", "order"}
		for _, part := range hostile {
			q := c.Quote(part)
			run(t, db, fmt.Sprintf("CREATE TABLE %s (%[1]s int NOT NULL PRIMARY KEY, %[2]s int, FOREIGN KEY (%[2]s) REFERENCES %[1]s (%[1]s))", q, c.Quote(part+"2")))
		}
		names, err := c.Tables(t.Context())
		if err != nil || len(names) != len(hostile) {
			t.Fatalf("got %v, %v, want %d tables", names, err, len(hostile))
		}
		for _, part := range hostile {
			got := read(t, c, catalog.Name{Name: part}.String())
			if got.Name.Name != part || got.Schema != "" || got.Full.Schema == "" || len(got.Columns) != 2 || got.Columns[0].Name != part || got.Key()[0] != part {
				t.Errorf("%q: got %+v", part, got)
			}
			if again := read(t, c, got.Full.String()); again.Full != got.Full || again.Name != got.Name {
				t.Errorf("%q: got %+v by its full name", part, again)
			}
			refs, err := c.References(t.Context(), got)
			if err != nil || len(refs) != 1 || refs[0].Child != got.Full || refs[0].Parent != got.Full || refs[0].Columns[0] != part+"2" || refs[0].To[0] != part {
				t.Errorf("%q: got %+v, %v", part, refs, err)
			}
		}
	})
}

// openAs opens a database of MySQL as another user.
func openAs(t *testing.T, d dbtest.Database, user, password string) *sql.DB {
	t.Helper()
	config, err := mysql.ParseDSN(d.DriverDSN)
	if err != nil {
		t.Fatal(err)
	}
	config.User, config.Passwd = user, password
	db, err := sql.Open("mysql", config.FormatDSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}
