package nextid_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// BenchmarkFunction has the function's keys a second beside those of the database's own nextval, which is the floor, in turns. Rows are one INSERT and commit
// each; a batch is an INSERT … SELECT of 1,000 rows.
func BenchmarkFunction(b *testing.B) {
	for _, kind := range []string{"postgres", "mysql"} {
		for _, sessions := range []int{1, 16} {
			for _, rows := range []int{1, 1000} {
				b.Run(fmt.Sprintf("server=%s/sessions=%d/rows=%d", kind, sessions, rows), func(b *testing.B) {
					f := newFixture(b, servers[kind](b), idgen.Snowkey.Layout, nil)
					f.exec(b, "CREATE SEQUENCE counted")
					byDefault := map[string]string{"postgres": "nextval('counted')", "mysql": "(nextval(counted))"}[kind]
					f.exec(b, "CREATE TABLE floor (id bigint NOT NULL DEFAULT "+byDefault+" PRIMARY KEY, item int)")
					source := "VALUES (1)"
					if rows > 1 {
						f.exec(b, "CREATE TABLE source (item int)")
						f.exec(b, fmt.Sprintf("INSERT INTO source WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT i FROM n", rows))
						source = "SELECT item FROM source"
					}
					f.pool.SetMaxIdleConns(sessions)
					each := max(1, 200/rows)
					took := map[string]time.Duration{}
					run := func(table string) {
						begin := time.Now()
						var wg sync.WaitGroup
						for range sessions {
							wg.Go(func() {
								for range each {
									if _, err := f.pool.ExecContext(b.Context(), "INSERT INTO "+table+" (item) "+source); err != nil {
										b.Error(err)
										return
									}
								}
							})
						}
						wg.Wait()
						took[table] += time.Since(begin)
					}
					run("floor") // connects
					run("orders")
					clear(took)
					n := 0
					for b.Loop() {
						run("floor")
						run("orders")
						n++
					}
					keys := float64(n * sessions * each * rows)
					b.ReportMetric(keys/took["floor"].Seconds(), "nextval-keys/s")
					b.ReportMetric(keys/took["orders"].Seconds(), "function-keys/s")
					b.ReportMetric(took["orders"].Seconds()/took["floor"].Seconds(), "x-nextval")
					b.ReportMetric(0, "ns/op")
				})
			}
		}
	}
}
