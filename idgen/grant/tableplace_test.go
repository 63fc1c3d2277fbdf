package grant_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// What lists a table finds it without making one, and finds the others that have a space.
func TestLocate(t *testing.T) {
	eachDialect(t, func(t *testing.T, dialect grant.Dialect, database dbtest.Database) {
		pool := database.Open(t)
		pool.SetMaxOpenConns(1) // a file of SQLite is attached to one connection
		store := grant.SQL(pool, dialect)
		for range 2 { // the first has made none
			var missing *grant.TableError
			if err := store.Locate(t.Context()); !errors.As(err, &missing) || store.Place() != "" {
				t.Errorf("without a table: got %v and the place %q", err, store.Place())
			}
		}
		if _, err := store.Prepare(t.Context(), "orders", "layout"); err != nil {
			t.Fatal(err)
		}
		elsewhere := secondPlace(t, dialect, pool)
		create := func(table, space string) {
			t.Helper()
			second := grant.SQL(pool, dialect, grant.WithTable(table))
			if _, err := second.Prepare(t.Context(), space, "layout"); err != nil {
				t.Fatal(err)
			}
		}
		create(elsewhere+".snowkey_nodes", "carts")

		located := grant.SQL(pool, dialect)
		if err := located.Locate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if located.Place() != store.Place() || !strings.HasSuffix(located.Place(), ".snowkey_nodes") {
			t.Errorf("got the place %q, want %q", located.Place(), store.Place())
		}
		if others, err := located.Others(t.Context(), "orders"); err != nil || len(others) > 0 {
			t.Errorf("another table has another space: got %v and %v", others, err)
		}
		// As it is after a copy.
		row := "INSERT INTO " + elsewhere + ".snowkey_nodes SELECT * FROM snowkey_nodes"
		if _, err := pool.ExecContext(t.Context(), row); err != nil {
			t.Fatal(err)
		}
		others, err := located.Others(t.Context(), "orders")
		var twice *grant.TwoTablesError
		if !errors.As(err, &twice) || twice.Tables[0] != store.Place() || len(others) != 1 || others[0].Place() != twice.Tables[1] {
			t.Fatalf("got %v and %v, want the second table", others, err)
		}
		spaces, err := others[0].Spaces(t.Context())
		if err != nil || len(spaces) != 2 || spaces[0].Name != "carts" || spaces[1].Name != "orders" {
			t.Errorf("got %v, %v, want the second table's spaces", spaces, err)
		}
		if err := others[0].Locate(t.Context()); err != nil || others[0].Place() != twice.Tables[1] {
			t.Errorf("got %v and the place %q", err, others[0].Place())
		}
	})
}

// What Prepare refuses is a warning for what only lists.
func TestLocateUnsafe(t *testing.T) {
	database := dbtest.SQLite(t)
	database.DriverDSN += "?_synchronous=OFF"
	pool := database.Open(t)
	if _, err := grant.SQL(pool, grant.SQLite, grant.WithUnsafe()).Prepare(t.Context(), "orders", "layout"); err != nil {
		t.Fatal(err)
	}
	store := grant.SQL(pool, grant.SQLite)
	if err := store.Locate(t.Context()); err != nil || len(store.Warnings()) != 1 || !strings.Contains(store.Warnings()[0], "synchronous") {
		t.Errorf("got %v and the warnings %q, want one", err, store.Warnings())
	}
	if _, err := store.Prepare(t.Context(), "orders", "layout"); !errors.Is(err, grant.ErrUnsafe) {
		t.Errorf("Prepare: got %v, want ErrUnsafe", err)
	}
}

// secondPlace makes a place for a second table, and returns its name.
func secondPlace(t *testing.T, dialect grant.Dialect, pool *sql.DB) (name string) {
	t.Helper()
	name = "second"
	statement := "CREATE SCHEMA second"
	switch dialect {
	case grant.MySQL:
		if err := pool.QueryRowContext(t.Context(), "SELECT CONCAT(DATABASE(), '_2')").Scan(&name); err != nil {
			t.Fatal(err)
		}
		statement = "CREATE DATABASE " + name
		t.Cleanup(func() {
			if _, err := pool.Exec("DROP DATABASE " + name); err != nil {
				t.Error(err)
			}
		})
	case grant.SQLite:
		statement = "ATTACH '" + filepath.Join(t.TempDir(), "second.db") + "' AS second"
	}
	if _, err := pool.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
	return name
}
