package mapping_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/migrate/internal/mapping"
)

// BenchmarkFill fills the map of 200,000 rows, whose times are in the order of their ids or in none, in batches of 20,000 rows; way=floor is one INSERT … SELECT
// of the same map, in one transaction; way=look surveys the rows.
func BenchmarkFill(b *testing.B) {
	const rows = 200_000
	for kind, database := range map[string]func(testing.TB) dbtest.Database{"sqlite": dbtest.SQLite, "mysql": dbtest.MySQL, "postgres": dbtest.Postgres} {
		for _, order := range []string{"time", "none"} {
			f := newFixture(b, kind, database(b))
			f.plan.Layout, f.key.Unit = wide, time.Second
			f.create(b, "datetime", "datetime", "timestamp(0)")
			times := map[int64]time.Time{}
			for id := range int64(rows) {
				at := id
				if order == "none" {
					at = id * 7919 % rows
				}
				times[id] = noon.Add(time.Duration(at/2) * time.Second)
			}
			f.times(b, times)
			perRow := func(b *testing.B) {
				b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "rows/s")
				b.ReportMetric(0, "ns/op")
			}
			b.Run(fmt.Sprintf("db=%s/order=%s/way=fill", kind, order), func(b *testing.B) {
				for b.Loop() {
					f.exec(b, "DELETE FROM map")
					if n, err := mapping.FillAll(b.Context(), f.db, f.plan, f.key, 20_000); n != rows || err != nil {
						b.Fatalf("got %d, %v", n, err)
					}
				}
				perRow(b)
			})
			f.exec(b, "DROP TABLE IF EXISTS copied", "CREATE TABLE copied (old_id BIGINT PRIMARY KEY, new_id BIGINT NOT NULL UNIQUE)")
			b.Run(fmt.Sprintf("db=%s/order=%s/way=floor", kind, order), func(b *testing.B) {
				for b.Loop() {
					f.exec(b, "DELETE FROM copied", "INSERT INTO copied SELECT old_id, new_id FROM map ORDER BY old_id")
				}
				perRow(b)
			})
			b.Run(fmt.Sprintf("db=%s/order=%s/way=look", kind, order), func(b *testing.B) {
				for b.Loop() {
					if s, err := mapping.SurveyRows(b.Context(), f.db, f.plan, f.key); s.Rows != rows || err != nil {
						b.Fatalf("got %+v, %v", s, err)
					}
				}
				perRow(b)
			})
		}
	}
}
