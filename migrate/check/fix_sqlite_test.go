package check_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dsn"
	"github.com/snowkey-go/snowkey/migrate/check"
)

// Tables in which virtual ones keep their rows are left out, and no others: their names may begin with that of a virtual one.
func TestListTablesBesideVirtualOnes(t *testing.T) {
	db := openOn(t, dsn.SQLite)
	mustRun(t, db, "CREATE VIRTUAL TABLE box USING rtree (id, a, b)", "CREATE TABLE box_orders (id integer PRIMARY KEY)", "CREATE TABLE boxes (id integer PRIMARY KEY)",
		"CREATE VIRTUAL TABLE words USING fts4 (word)", "CREATE TABLE sqlitex (id integer PRIMARY KEY)", "CREATE TEMP TABLE passing (id integer)", "CREATE VIEW seen AS SELECT 1 AS id")
	got, err := check.List(t.Context(), db)
	if want := []string{"box_orders", "boxes", "sqlitex"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	requireFindings(t, checkTables(t, db, "box"), "box. no-table")
}

// A text is greater than every number, and a number that does not fit an integer has a point.
func TestFutureKeysAmongOtherValues(t *testing.T) {
	db := openOn(t, dsn.SQLite)
	mustRun(t, db, "CREATE TABLE a (id bigint PRIMARY KEY NOT NULL)", "INSERT INTO a VALUES ('zz'), (5), (x'ff')", "CREATE TABLE b (id bigint PRIMARY KEY NOT NULL)", "INSERT INTO b VALUES (9.0e18), (1)",
		"CREATE TABLE empty (id bigint PRIMARY KEY NOT NULL)", "CREATE TABLE texts (id bigint PRIMARY KEY NOT NULL)", "INSERT INTO texts VALUES ('a')")
	requireFindings(t, checkTables(t, db, "a", "empty", "texts"))
	mustRun(t, db, "INSERT INTO a VALUES (1541815603606036480)")
	findings := checkTables(t, db, "a", "b")
	requireFindings(t, findings, "a.id future-key", "b.id future-key")
	for i, want := range []string{"its greatest key is 1541815603606036480,", "its greatest key is 9000000000000000000,"} {
		if !strings.Contains(findings[i].Text, want) {
			t.Errorf("got %q, want %q in it", findings[i].Text, want)
		}
	}
}

// Tables of attached databases are checked when they are named, in any case of the letters, with the foreign keys in their own file.
func TestAttachedDatabases(t *testing.T) {
	db := openOn(t, dsn.SQLite)
	mustRun(t, db, "ATTACH ':memory:' AS Other", "CREATE TABLE orders (id integer PRIMARY KEY)", "CREATE TABLE line (id integer PRIMARY KEY, order_id real REFERENCES orders)",
		"CREATE TABLE Other.orders (id bigint PRIMARY KEY)", "CREATE TABLE Other.line (id integer PRIMARY KEY, order_id real REFERENCES orders)", "CREATE TABLE Other.alone (id bigint PRIMARY KEY)",
		"INSERT INTO Other.orders VALUES (1541815603606036480)", "CREATE TEMP TABLE passing (id bigint PRIMARY KEY)")
	requireFindings(t, checkTables(t, db, "OTHER.Orders", "other.orders"), "Other.orders.id nullable-key", "Other.orders.id future-key", "Other.line.order_id narrow-reference")
	requireFindings(t, checkTables(t, db, "orders", "MAIN.orders"), "line.order_id narrow-reference")
	requireFindings(t, checkTables(t, db, "alone", "passing", "temp.passing"), "alone.id nullable-key", "passing.id nullable-key")
	requireFindings(t, checkTables(t, db, "nosuch.orders", "other.nosuch"), "nosuch.orders. no-table", "other.nosuch. no-table")
	got, err := check.List(t.Context(), db)
	if want := []string{"line", "orders"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}
