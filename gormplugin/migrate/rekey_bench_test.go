package migrate_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/gormplugin/migrate"
	"github.com/snowkey-go/snowkey/gormplugin/migrate/plan"
)

// BenchmarkRekey rekeys parents, and two children each. The floor is the same rows changed at once, by one UPDATE … JOIN a table in one
// transaction, without batches or journal, with the foreign key treated in the same way; its map is filled before. "rewrite" is the part of the
// run that does the same, with the sweep that follows it; "whole" is all of the run, from the inspection to the dropped map. Each round has both, on new tables.
//
// The number of parents is 200,000, or that of SNOWKEY_BENCH_PARENTS.
func BenchmarkRekey(b *testing.B) {
	parents := 200_000
	if text := os.Getenv("SNOWKEY_BENCH_PARENTS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			b.Fatal(err)
		}
		parents = n
	}
	for _, kind := range []string{"sqlite", "mysql", "postgres"} {
		b.Run("db="+kind, func(b *testing.B) {
			var floor, rewrite, whole time.Duration
			rounds := 0
			for b.Loop() {
				b.StopTimer()
				floor += benchFloor(b, kind, parents)
				r, w := benchRun(b, kind, parents)
				rewrite, whole, rounds = rewrite+r, whole+w, rounds+1
				b.StartTimer()
			}
			rows := float64(3 * parents * rounds)
			b.ReportMetric(rows/floor.Seconds(), "floor-rows/s")
			b.ReportMetric(rows/rewrite.Seconds(), "rewrite-rows/s")
			b.ReportMetric(rows/whole.Seconds(), "whole-rows/s")
			b.ReportMetric(floor.Seconds()/rewrite.Seconds(), "rewrite/floor")
			b.ReportMetric(floor.Seconds()/whole.Seconds(), "whole/floor")
		})
	}
}

// benchTables are parents and children as auto-increment has left them, with 64 bits already.
func benchTables(b *testing.B, kind string, parents int) *database {
	d := open(b, kind)
	key, series := "BIGINT PRIMARY KEY", "SELECT g AS n FROM generate_series(1, %d) g"
	switch kind {
	case "sqlite":
		key, series = "INTEGER PRIMARY KEY", "WITH RECURSIVE g(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM g WHERE n < %d) SELECT n FROM g"
	case "mysql":
		series = "SELECT seq AS n FROM seq_1_to_%d"
	}
	at := map[string]string{
		"sqlite":   "strftime('%Y-%m-%d %H:%M:%f+00:00', 1700000000 + n / 3, 'unixepoch')",
		"mysql":    "TIMESTAMP('2023-11-14 22:13:20') + INTERVAL n DIV 3 SECOND",
		"postgres": "timestamptz '2023-11-14 22:13:20+00' + n / 3 * interval '1 second'",
	}[kind]
	instant := map[string]string{"sqlite": "datetime", "mysql": "TIMESTAMP(3) NULL", "postgres": "timestamptz"}[kind]
	d.exec(
		"CREATE TABLE parents (id "+key+", name VARCHAR(40) NOT NULL, created_at "+instant+")",
		"CREATE TABLE children (id "+key+", parent_id BIGINT NOT NULL REFERENCES parents (id), name VARCHAR(40) NOT NULL, created_at "+instant+
			map[string]string{"mysql": ", CONSTRAINT fk_parent FOREIGN KEY (parent_id) REFERENCES parents (id)"}[kind]+")",
		"INSERT INTO parents SELECT n, 'parent', "+at+" FROM ("+fmt.Sprintf(series, parents)+") s",
		"INSERT INTO children SELECT n, 1 + n % "+strconv.Itoa(parents)+", 'child', "+at+" FROM ("+fmt.Sprintf(series, 2*parents)+") s",
	)
	if kind != "mysql" { // which made one for the foreign key
		d.exec("CREATE INDEX children_parent ON children (parent_id)")
	}
	d.exec(map[string]string{"sqlite": "ANALYZE", "mysql": "ANALYZE TABLE parents, children", "postgres": "VACUUM ANALYZE parents, children"}[kind])
	return d
}

// benchFloor returns how long it takes at once.
func benchFloor(b *testing.B, kind string, parents int) time.Duration {
	d := benchTables(b, kind, parents)
	d.exec("CREATE TABLE m (old_id BIGINT PRIMARY KEY, new_id BIGINT NOT NULL UNIQUE)",
		"INSERT INTO m SELECT id, 58000000000000000 + id * 4194304 FROM parents")
	ctx := context.Background()
	conn, err := d.pool.Conn(ctx)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	statements := map[string][]string{
		"sqlite": {"PRAGMA foreign_keys=OFF", "BEGIN IMMEDIATE", "UPDATE parents SET id = m.new_id FROM m WHERE m.old_id = parents.id",
			"UPDATE children SET parent_id = m.new_id FROM m WHERE m.old_id = children.parent_id", "COMMIT"},
		"mysql": {"SET foreign_key_checks=0", "BEGIN", "UPDATE parents p JOIN m ON m.old_id = p.id SET p.id = m.new_id",
			"UPDATE children c JOIN m ON m.old_id = c.parent_id SET c.parent_id = m.new_id", "COMMIT"},
		"postgres": {"ALTER TABLE children ALTER CONSTRAINT children_parent_id_fkey DEFERRABLE", "BEGIN", "SET CONSTRAINTS ALL DEFERRED",
			"UPDATE parents p SET id = m.new_id FROM m WHERE m.old_id = p.id",
			"UPDATE children c SET parent_id = m.new_id FROM m WHERE m.old_id = c.parent_id", "COMMIT"},
	}[kind]
	began := time.Now()
	for _, s := range statements {
		if _, err := conn.ExecContext(ctx, s); err != nil {
			b.Fatalf("%s: %v", s, err)
		}
	}
	return time.Since(began)
}

// benchRun returns how long the batches take that give parents and what refers to them new ids, by the journal, and all of the run.
// Children keep their own ids, as at the floor.
func benchRun(b *testing.B, kind string, parents int) (rewrite, whole time.Duration) {
	d := benchTables(b, kind, parents)
	began := time.Now()
	p := d.plan(migrate.InspectOptions{Tables: []string{"parents"}}, migrate.PlanOptions{Mode: migrate.Rekey, Tables: []string{"parents"}})
	d.runUntil(p, "")
	whole = time.Since(began)
	status, err := migrate.ReadStatus(context.Background(), d.gorm)
	if err != nil {
		b.Fatal(err)
	}
	for _, step := range status.Steps {
		if p.Steps[step.Number-1].Do.Kind == plan.Batch {
			rewrite += step.Changed.Sub(step.Started)
		}
	}
	return rewrite, whole
}
