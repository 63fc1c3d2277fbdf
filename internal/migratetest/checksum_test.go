package migratetest_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/migratetest"
)

// eachKind runs a test on an empty shop of each kind.
func eachKind(t *testing.T, test func(t *testing.T, kind string, open func() (dbtest.Database, *sql.DB))) {
	for kind, database := range map[string]func(testing.TB) dbtest.Database{"sqlite": dbtest.SQLite, "mysql": dbtest.MySQL, "postgres": dbtest.Postgres} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, kind, func() (dbtest.Database, *sql.DB) {
				d := database(t)
				db := d.Open(t)
				execute(t, db, migratetest.Schema(kind)...)
				return d, db
			})
		})
	}
}

func execute(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func checksum(t *testing.T, db *sql.DB, kind string) string {
	t.Helper()
	sum, err := migratetest.Checksum(t.Context(), db, kind)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// TestChecksum fills shops with other ids, and wants one checksum; then it changes one thing after the other, and wants another each time.
func TestChecksum(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string, open func() (dbtest.Database, *sql.DB)) {
		_, db := open()
		if err := migratetest.Fill(t.Context(), db, kind, 30, 7); err != nil {
			t.Fatal(err)
		}
		_, other := open()
		next := int64(10_000)
		if err := migratetest.FillKeys(t.Context(), other, kind, 30, 7, func(string, time.Time) int64 { next += 7; return next }); err != nil {
			t.Fatal(err)
		}
		want := checksum(t, db, kind)
		if got := checksum(t, other, kind); got != want {
			t.Fatalf("got checksum %s with other ids, want %s", got, want)
		}
		data := map[string]string{
			"mysql":    `JSON_SET(data, '$.user.id', (SELECT MAX(id) FROM users WHERE deleted_at IS NULL))`,
			"postgres": `jsonb_set(data, '{user,id}', to_jsonb((SELECT max(id) FROM users WHERE deleted_at IS NULL)))`,
			"sqlite":   `json_set(data, '$.user.id', (SELECT max(id) FROM users WHERE deleted_at IS NULL))`,
		}[kind]
		for _, statement := range []string{
			"UPDATE addresses SET user_id = (SELECT MIN(id) FROM users WHERE id > addresses.user_id) WHERE street = 'Street 3'",
			"UPDATE categories SET parent_id = NULL WHERE name LIKE 'category 3%'",
			"UPDATE comments SET owner_type = CASE owner_type WHEN 'users' THEN 'products' ELSE 'users' END WHERE body = 'comment 9'",
			"UPDATE comments SET author_id = NULL WHERE body = 'comment 11'",
			"UPDATE taggings SET taggable_id = taggable_id + 1000000 WHERE taggable_type = 'orders' AND tag_id = (SELECT MIN(id) FROM tags)",
			"UPDATE events SET data = " + data + " WHERE id = (SELECT id FROM (SELECT MIN(id) AS id FROM events) AS e)",
			fmt.Sprintf("UPDATE audit_log SET user_id = 1234567 WHERE user_id = %d", migratetest.Orphan),
			"UPDATE users SET updated_at = created_at WHERE name LIKE '%User 4'",
			"DELETE FROM product_categories WHERE product_id = (SELECT id FROM products WHERE name = 'product 2')",
			"DELETE FROM order_items WHERE line = 2 AND quantity = 6",
		} {
			result, err := db.ExecContext(t.Context(), statement)
			if err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
			if n, err := result.RowsAffected(); err != nil || n == 0 {
				t.Fatalf("%s: changed %d rows, %v", statement, n, err)
			}
			got := checksum(t, db, kind)
			if got == want {
				t.Errorf("got the same checksum after %s", statement)
			}
			want = got
		}
	})
}

// TestFillIsDeterministic wants the rows of a seed to be the same, and those of another to differ.
func TestFillIsDeterministic(t *testing.T) {
	var sums []string
	for _, seed := range []uint64{1, 1, 2} {
		db := dbtest.SQLite(t).Open(t)
		execute(t, db, migratetest.Schema("sqlite")...)
		if err := migratetest.Fill(t.Context(), db, "sqlite", 10, seed); err != nil {
			t.Fatal(err)
		}
		var greatest, count, seconds int64
		if err := db.QueryRowContext(t.Context(), "SELECT max(id), count(*), count(DISTINCT unixepoch(created_at)) FROM orders").Scan(&greatest, &count, &seconds); err != nil {
			t.Fatal(err)
		}
		if greatest <= count || seconds >= count {
			t.Errorf("got %d orders up to the id %d in %d seconds, want gaps and several a second", count, greatest, seconds)
		}
		sums = append(sums, checksum(t, db, "sqlite"), fmt.Sprint(greatest))
	}
	if sums[0] != sums[2] || sums[1] != sums[3] || sums[0] == sums[4] {
		t.Errorf("got the sums %s, want the first two equal and the third not", strings.Join(sums, " "))
	}
}
