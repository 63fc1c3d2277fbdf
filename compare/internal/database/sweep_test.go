package database_test

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/compare/internal/database"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

const prefix = "snowkey_compare_a1_"

// Only what begins with the prefix goes: an underline stands for itself alone.
func TestSweep(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, at dbtest.Database) {
		d := open(t, at.DSN)
		ours := []string{prefix, prefix + "orders", prefix + "Orders2"}
		theirs := []string{"orders", "snowkeyXcompareXa1Xorders", "snowkey_compare_a2_orders", "x" + prefix}
		for _, name := range append(slices.Clone(ours), theirs...) {
			exec(t, d, "CREATE TABLE "+quote(at.Kind, name)+" (id BIGINT PRIMARY KEY)")
		}
		exec(t, d, "CREATE VIEW "+prefix+"view AS SELECT 1 AS n")
		switch at.Kind {
		case "postgres":
			exec(t, d, "CREATE SEQUENCE "+prefix+"s", "CREATE TABLE "+prefix+"serial (id BIGSERIAL PRIMARY KEY)", "CREATE SEQUENCE other_s",
				"CREATE SCHEMA other", "CREATE TABLE other."+prefix+"t (id INT)")
			ours = append(ours, prefix+"s", prefix+"serial", prefix+"serial_id_seq")
			theirs = append(theirs, "other_s")
		case "mysql":
			var version string
			if err := d.Pool().QueryRowContext(t.Context(), "SELECT VERSION()").Scan(&version); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(version, "MariaDB") {
				exec(t, d, "CREATE SEQUENCE "+prefix+"s")
				ours = append(ours, prefix+"s")
			}
		}
		slices.Sort(ours)
		slices.Sort(theirs)
		if got, err := d.Leftovers(t.Context(), prefix); err != nil || !slices.Equal(got, ours) {
			t.Errorf("got the leftovers %q, %v, want %q", got, err, ours)
		}
		for range 2 { // the second finds nothing
			if err := d.Sweep(t.Context(), prefix); err != nil {
				t.Error(err)
			}
		}
		if got, err := d.Leftovers(t.Context(), prefix); err != nil || len(got) != 0 {
			t.Errorf("got %q, %v after the sweep, want nothing", got, err)
		}
		for _, first := range []string{"o", "s", "x"} {
			got, err := d.Leftovers(t.Context(), first)
			want := slices.DeleteFunc(slices.Clone(theirs), func(name string) bool { return !strings.HasPrefix(name, first) })
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("got others' tables %q, %v after the sweep, want %q", got, err, want)
			}
		}
		exec(t, d, "SELECT * FROM "+prefix+"view")
		if at.Kind == "postgres" {
			exec(t, d, "SELECT * FROM other."+prefix+"t")
		}
		if err := d.Sweep(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "prefix") {
			t.Errorf("got %v without a prefix", err)
		}
	})
}

// A schema whose name has to be quoted is a schema as well.
func TestSweepOfASchema(t *testing.T) {
	t.Parallel()
	at := dbtest.Postgres(t)
	if _, err := at.Open(t).ExecContext(t.Context(), `CREATE SCHEMA "Mixed"`); err != nil {
		t.Fatal(err)
	}
	mark := "?"
	if strings.Contains(at.DSN, "?") {
		mark = "&"
	}
	d := open(t, at.DSN+mark+"search_path="+url.QueryEscape(`"Mixed"`))
	exec(t, d, "CREATE TABLE "+prefix+"t (id INT)")
	if err := d.Sweep(t.Context(), prefix); err != nil {
		t.Error(err)
	}
	exec(t, d, "CREATE TABLE "+prefix+"t (id INT)") // it is gone
}

// What cannot be dropped is named, and the rest goes.
func TestSweepNamesWhatIsLeft(t *testing.T) {
	t.Parallel()
	at := dbtest.Postgres(t)
	d := open(t, at.DSN)
	exec(t, d, "CREATE TABLE "+prefix+"a (id INT)", "CREATE TABLE "+prefix+"b (id INT)", "CREATE TABLE "+prefix+"c (id INT)",
		"CREATE VIEW theirs AS SELECT * FROM "+prefix+"b")
	err := d.Sweep(t.Context(), prefix)
	if err == nil || !strings.HasSuffix(err.Error(), "left behind: "+prefix+"b") {
		t.Errorf("got %v, want that b is left behind", err)
	}
	if got, err := d.Leftovers(t.Context(), prefix); err != nil || !slices.Equal(got, []string{prefix + "b"}) {
		t.Errorf("got %q, %v, want b alone", got, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Sweep(ended, prefix); err == nil || !strings.Contains(err.Error(), prefix) || !strings.Contains(err.Error(), "left behind") {
		t.Errorf("got %v after the end of the context, want what may be left behind", err)
	}
}

func quote(kind, name string) string {
	if kind == "mysql" {
		return "`" + name + "`"
	}
	return `"` + name + `"`
}

func TestTryRights(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, at dbtest.Database) {
		d := open(t, at.DSN)
		for range 2 {
			if err := d.TryRights(t.Context(), prefix); err != nil {
				t.Error(err)
			}
		}
		if got, err := d.Leftovers(t.Context(), prefix); err != nil || len(got) != 0 {
			t.Errorf("got %q, %v, want nothing left", got, err)
		}
	})
}

func TestTryRightsWithout(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		at := dbtest.SQLite(t)
		exec(t, open(t, at.DSN), "CREATE TABLE t (id INT)")
		refused(t, open(t, "sqlite:file:"+at.DriverDSN+"?mode=ro"), "create tables")
	})
	t.Run("mysql", func(t *testing.T) {
		at := dbtest.MySQL(t)
		refused(t, open(t, user(t, at, "SELECT")), "create tables")
		d := open(t, user(t, at, "SELECT, INSERT, UPDATE, DELETE, CREATE, INDEX"))
		refused(t, d, "drop tables")
		if err := d.Sweep(t.Context(), prefix); err == nil || !strings.HasSuffix(err.Error(), "left behind: "+prefix+"rights") {
			t.Errorf("got %v, want what is left behind", err)
		}
		refused(t, d, "create tables") // it is there
	})
	t.Run("postgres", func(t *testing.T) {
		refused(t, open(t, user(t, dbtest.Postgres(t), "USAGE")), "create tables")
	})
}

// refused fails unless the rights lack one, which the error names.
func refused(t *testing.T, d *database.Database, may string) {
	t.Helper()
	err := d.TryRights(t.Context(), prefix)
	if err == nil || !strings.Contains(err.Error(), may) || !strings.Contains(err.Error(), d.String()) || strings.Contains(err.Error(), "sesame") {
		t.Errorf("got %v, want that it may not %s, the database, and no password", err, may)
	}
}
