package migratetest_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/migratetest"
)

// publishedSchemas are the published schemas, and what is changed in each to see that the checksum notices it.
var publishedSchemas = []struct {
	name, kind string
	tables     int
	make       func(testing.TB, *sql.DB, string, int)
	changes    []string
}{
	{"chinook", "sqlite", 11, migratetest.Chinook, []string{"UPDATE Employee SET ReportsTo = 1 WHERE EmployeeId = 8", "DELETE FROM PlaylistTrack WHERE PlaylistId = 2 AND TrackId = 2"}},
	{"chinook", "mysql", 11, migratetest.Chinook, []string{"UPDATE Employee SET ReportsTo = 1 WHERE EmployeeId = 8", "DELETE FROM PlaylistTrack WHERE PlaylistId = 2 AND TrackId = 2"}},
	{"chinook", "postgres", 11, migratetest.Chinook, []string{"UPDATE employee SET reports_to = 1 WHERE employee_id = 8", "DELETE FROM playlist_track WHERE playlist_id = 2 AND track_id = 2"}},
	{"sakila", "mysql", 16, func(t testing.TB, db *sql.DB, _ string, rows int) { migratetest.Sakila(t, db, rows) },
		[]string{"UPDATE staff SET store_id = 3 - store_id WHERE staff_id = 1", "UPDATE payment SET rental_id = NULL, last_update = last_update WHERE payment_id = 4"}},
	{"pagila", "postgres", 15, func(t testing.TB, db *sql.DB, _ string, rows int) { migratetest.Pagila(t, db, rows) },
		[]string{"UPDATE payment SET rental_id = rental_id + 1 WHERE payment_id = 4", "UPDATE film_category SET category_id = 3 - category_id WHERE film_id = 1"}},
}

// TestPublished makes each published schema twice, and wants the same content and no orphan; a change of one reference changes the content.
func TestPublished(t *testing.T) {
	kinds := map[string]func(testing.TB) dbtest.Database{"sqlite": dbtest.SQLite, "mysql": dbtest.MySQL, "postgres": dbtest.Postgres}
	for _, p := range publishedSchemas {
		t.Run(p.name+"/"+p.kind, func(t *testing.T) {
			t.Parallel()
			var sums []string
			for range 2 {
				db := kinds[p.kind](t).Open(t)
				p.make(t, db, p.kind, 200)
				shape, err := migratetest.ReadShape(t.Context(), db, p.kind)
				if err != nil {
					t.Fatal(err)
				}
				digests := digestsOf(t, shape, db)
				if len(digests) != p.tables {
					t.Errorf("got %d tables, want %d: %v", len(digests), p.tables, digests)
				}
				for table, digest := range digests {
					if digest[0] == '0' {
						t.Errorf("%s has no rows", table)
					}
				}
				if orphans, err := shape.Orphans(t.Context(), db); err != nil || len(orphans) > 0 {
					t.Errorf("got orphans %v, %v", orphans, err)
				}
				sum := fmt.Sprint(digests)
				sums = append(sums, sum)
				for _, change := range p.changes {
					execute(t, db, change)
					after := fmt.Sprint(digestsOf(t, shape, db))
					if after == sum {
						t.Errorf("got the same content after %s", change)
					}
					sum = after
				}
			}
			if sums[0] != sums[1] {
				t.Errorf("got %s and %s of the same rows", sums[0], sums[1])
			}
		})
	}
}

func digestsOf(t *testing.T, shape *migratetest.Shape, db *sql.DB) map[string]string {
	t.Helper()
	digests, err := shape.Digests(context.Background(), db)
	if err != nil {
		t.Fatal(err)
	}
	return digests
}
