package migrate_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/migrate"
)

// BenchmarkRekey rekeys parents, and three children each, with the ids of both. The floor is one transaction without batches or journal that has
// the tables to itself: it drops the foreign key, widens the columns, fills both maps with one INSERT … SELECT each, rewrites each table with one
// UPDATE … JOIN, and makes the foreign key again. Each round has the floor, the run, and that of an exclusive plan, on new tables, prints where the run's time goes,
// step by step, on the standard error, and reports the bytes that both have written to the database's log, and the time of processors that they have taken together with
// their servers, which is the figure to trust on a machine that others use.
//
// The number of parents is 100,000, or that of SNOWKEY_BENCH_PARENTS.
func BenchmarkRekey(b *testing.B) {
	parents := 100_000
	if text := os.Getenv("SNOWKEY_BENCH_PARENTS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			b.Fatal(err)
		}
		parents = n
	}
	for _, kind := range []string{"sqlite", "mysql", "postgres"} {
		b.Run("db="+kind, func(b *testing.B) {
			var floor, whole, alone cost
			rounds := 0
			for b.Loop() {
				b.StopTimer()
				floor.add(benchFloor(b, kind, parents))
				whole.add(benchRun(b, kind, parents, false))
				alone.add(benchRun(b, kind, parents, true))
				rounds++
				b.StartTimer()
			}
			b.ReportMetric(floor.took.Seconds()/float64(rounds), "floor-s")
			b.ReportMetric(whole.took.Seconds()/float64(rounds), "whole-s")
			b.ReportMetric(whole.took.Seconds()/floor.took.Seconds(), "whole/floor")
			b.ReportMetric(alone.took.Seconds()/floor.took.Seconds(), "exclusive/floor")
			b.ReportMetric(whole.cpu/floor.cpu, "whole-cpu/floor")
			b.ReportMetric(alone.cpu/floor.cpu, "exclusive-cpu/floor")
			if kind != "sqlite" {
				b.ReportMetric(float64(whole.log)/float64(floor.log), "log/floor")
				b.ReportMetric(float64(alone.log)/float64(floor.log), "exclusive-log/floor")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// cost is what some work has taken.
type cost struct {
	took time.Duration
	cpu  float64 // seconds of processors; 0 where there is no /proc
	log  int64   // bytes of WAL, or of redo log and binlog; 0 on SQLite
}

func (c *cost) add(o cost) { c.took, c.log, c.cpu = c.took+o.took, c.log+o.log, c.cpu+o.cpu }

// measure returns what work costs.
func (d *database) measure(work func()) cost {
	d.t.Helper()
	began, before, cpu := time.Now(), d.logged(), processors()
	work()
	return cost{took: time.Since(began), log: d.logged() - before, cpu: processors() - cpu}
}

// processors returns the seconds of processors that this process, and those that it has started, have taken: the servers are among them.
func processors() (seconds float64) {
	type process struct {
		parent int
		ticks  float64
	}
	all := map[int]process{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		text, err := os.ReadFile(file) // one that has ended is in its parent's sum
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if err != nil || len(fields) < 15 {
			continue
		}
		var p process
		p.parent, _ = strconv.Atoi(fields[1])
		for _, field := range fields[11:15] {
			ticks, _ := strconv.ParseFloat(field, 64)
			p.ticks += ticks
		}
		pid, _ := strconv.Atoi(strings.Split(file, "/")[2])
		all[pid] = p
	}
	for pid, p := range all {
		for at := pid; at > 1; at = all[at].parent {
			if at == os.Getpid() {
				seconds += p.ticks / 100
				break
			}
		}
	}
	return seconds
}

// logged returns how many bytes the server has written to its log.
func (d *database) logged() (bytes int64) {
	d.t.Helper()
	switch d.kind {
	case "postgres":
		return d.number("SELECT CAST(pg_current_wal_insert_lsn() - '0/0' AS bigint)")
	case "mysql":
		return d.number("SELECT CAST(SUM(variable_value) AS SIGNED) FROM information_schema.global_status WHERE variable_name IN ('Innodb_os_log_written', 'Binlog_bytes_written')")
	}
	return 0
}

// benchTables are parents and children as auto-increment has left them.
func benchTables(b *testing.B, kind string, parents int) *database {
	d := open(b, kind)
	key, series := "SERIAL PRIMARY KEY", "SELECT g AS n FROM generate_series(1, %d) g"
	switch kind {
	case "sqlite":
		key, series = "INTEGER PRIMARY KEY", "WITH RECURSIVE g(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM g WHERE n < %d) SELECT n FROM g"
	case "mysql":
		key, series = "INT AUTO_INCREMENT PRIMARY KEY", "SELECT seq AS n FROM seq_1_to_%d"
	}
	at := map[string]string{
		"sqlite":   "strftime('%Y-%m-%d %H:%M:%f+00:00', 1700000000 + n / 3, 'unixepoch')",
		"mysql":    "TIMESTAMP('2023-11-14 22:13:20') + INTERVAL n DIV 3 SECOND",
		"postgres": "timestamptz '2023-11-14 22:13:20+00' + n / 3 * interval '1 second'",
	}[kind]
	instant := map[string]string{"sqlite": "datetime", "mysql": "TIMESTAMP(3) NULL", "postgres": "timestamptz"}[kind]
	d.exec(
		"CREATE TABLE parents (id "+key+", name VARCHAR(40) NOT NULL, created_at "+instant+")",
		"CREATE TABLE children (id "+key+", parent_id INT NOT NULL, name VARCHAR(40) NOT NULL, created_at "+instant+
			", CONSTRAINT fk_parent FOREIGN KEY (parent_id) REFERENCES parents (id))",
		"INSERT INTO parents (id, name, created_at) SELECT n, 'parent', "+at+" FROM ("+fmt.Sprintf(series, parents)+") s",
		"INSERT INTO children (id, parent_id, name, created_at) SELECT n, 1 + n % "+strconv.Itoa(parents)+", 'child', "+at+" FROM ("+fmt.Sprintf(series, 3*parents)+") s",
	)
	if kind != "mysql" { // which made one for the foreign key
		d.exec("CREATE INDEX children_parent ON children (parent_id)")
	}
	switch kind {
	case "sqlite":
		d.exec("ANALYZE")
	case "mysql":
		d.exec("ANALYZE TABLE parents, children")
	case "postgres":
		d.exec("SELECT setval('parents_id_seq', "+strconv.Itoa(parents)+"), setval('children_id_seq', "+strconv.Itoa(3*parents)+")", "VACUUM ANALYZE parents, children", "CHECKPOINT")
	}
	return d
}

// benchFloor returns what it costs at once.
func benchFloor(b *testing.B, kind string, parents int) cost {
	d := benchTables(b, kind, parents)
	fill := func(m, table, seconds string) string {
		return fmt.Sprintf("INSERT INTO %s SELECT id, (%s * 1000 << 22) + ROW_NUMBER() OVER (PARTITION BY created_at ORDER BY id) FROM %s", m, seconds, table)
	}
	const pair = " (old_id BIGINT PRIMARY KEY, new_id BIGINT NOT NULL UNIQUE)"
	statements := map[string][]string{
		"sqlite": {"PRAGMA foreign_keys=OFF", "BEGIN IMMEDIATE", "CREATE TABLE mp" + pair, "CREATE TABLE mc" + pair,
			fill("mp", "parents", "CAST(strftime('%s', created_at) AS INTEGER)"), fill("mc", "children", "CAST(strftime('%s', created_at) AS INTEGER)"),
			"UPDATE parents SET id = m.new_id FROM mp m WHERE m.old_id = parents.id",
			"UPDATE children SET id = c.new_id, parent_id = p.new_id FROM mp p, mc c WHERE p.old_id = children.parent_id AND c.old_id = children.id", "COMMIT"},
		"mysql": {"SET foreign_key_checks=0", "LOCK TABLES parents WRITE, children WRITE", "ALTER TABLE children DROP FOREIGN KEY fk_parent",
			"ALTER TABLE parents MODIFY id BIGINT NOT NULL", "ALTER TABLE children MODIFY id BIGINT NOT NULL, MODIFY parent_id BIGINT NOT NULL", "UNLOCK TABLES",
			"CREATE TABLE mp" + pair, "CREATE TABLE mc" + pair,
			"LOCK TABLES parents WRITE, children WRITE, parents AS p WRITE, children AS c WRITE, mp WRITE, mc WRITE, mp AS m WRITE, mc AS k WRITE", "BEGIN",
			fill("mp", "parents", "UNIX_TIMESTAMP(created_at)"), fill("mc", "children", "UNIX_TIMESTAMP(created_at)"),
			"UPDATE mp m STRAIGHT_JOIN parents p ON m.old_id = p.id SET p.id = m.new_id",
			"UPDATE mc k STRAIGHT_JOIN children c ON k.old_id = c.id STRAIGHT_JOIN mp m ON m.old_id = c.parent_id SET c.id = k.new_id, c.parent_id = m.new_id", "COMMIT",
			"ALTER TABLE children ADD CONSTRAINT fk_parent FOREIGN KEY (parent_id) REFERENCES parents (id)", "UNLOCK TABLES"},
		"postgres": {"BEGIN", "LOCK TABLE parents, children IN ACCESS EXCLUSIVE MODE", "ALTER TABLE children DROP CONSTRAINT fk_parent",
			"ALTER TABLE parents ALTER id TYPE bigint", "ALTER TABLE children ALTER id TYPE bigint, ALTER parent_id TYPE bigint",
			"CREATE TABLE mp" + pair, "CREATE TABLE mc" + pair,
			fill("mp", "parents", "CAST(extract(epoch FROM created_at) AS bigint)"), fill("mc", "children", "CAST(extract(epoch FROM created_at) AS bigint)"),
			"ANALYZE mp, mc, parents, children",
			"UPDATE parents p SET id = m.new_id FROM mp m WHERE m.old_id = p.id",
			"UPDATE children c SET id = k.new_id, parent_id = m.new_id FROM mp m, mc k WHERE m.old_id = c.parent_id AND k.old_id = c.id",
			"ALTER TABLE children ADD CONSTRAINT fk_parent FOREIGN KEY (parent_id) REFERENCES parents (id)", "COMMIT"},
	}[kind]
	ctx := context.Background()
	conn, err := d.pool.Conn(ctx)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	table := &table{kind: kind, what: "floor"}
	table.cost = d.measure(func() {
		for _, s := range statements {
			began, before, cpu := time.Now(), d.logged(), processors()
			if _, err := conn.ExecContext(ctx, s); err != nil {
				b.Fatalf("%s: %v", s, err)
			}
			table.row(s, cost{time.Since(began), processors() - cpu, d.logged() - before})
		}
	})
	fmt.Fprintln(os.Stderr, table)
	return table.cost
}

// benchRun returns what all of a run costs, from the inspection to the dropped maps.
func benchRun(b *testing.B, kind string, parents int, exclusive bool) cost {
	d := benchTables(b, kind, parents)
	table := &table{kind: kind, what: map[bool]string{false: "run", true: "exclusive run"}[exclusive]}
	var p *migrate.Plan
	began, before, step, cpu := time.Now(), d.logged(), -1, processors()
	next := func(at int) { // the time until now is the step's before
		title := "inspect and plan"
		switch {
		case step == 0:
			title = "begin"
		case step > 0:
			title = fmt.Sprintf("%-7s %s", p.Steps[step-1].Do.Kind, p.Steps[step-1].String())
		}
		now, logged, cp := time.Now(), d.logged(), processors()
		table.row(title, cost{now.Sub(began), cp - cpu, logged - before})
		began, before, step, cpu = now, logged, at, cp
	}
	table.cost = d.measure(func() {
		p = d.plan(migrate.InspectOptions{}, migrate.PlanOptions{Mode: migrate.Rekey, Exclusive: exclusive, Created: map[string]string{"parents": "created_at", "children": "created_at"}})
		next(0)
		var outcome migrate.Outcome
		for range len(p.Steps) + 1 {
			var err error
			outcome, err = migrate.Run(b.Context(), d.gorm, p, migrate.RunOptions{Continue: outcome.Hold, Progress: func(now migrate.Progress) {
				if now.Step != step {
					next(now.Step)
				}
			}})
			if err != nil {
				b.Fatal(err)
			}
			if outcome.Done {
				next(0)
				return
			}
		}
		b.Fatal("the plan has no end")
	})
	fmt.Fprintln(os.Stderr, table)
	return table.cost
}

// table is where a cost goes.
type table struct {
	kind, what string
	cost
	rows []string
}

func (t *table) row(title string, c cost) {
	if c.took > 10*time.Millisecond {
		t.rows = append(t.rows, fmt.Sprintf("%8.2f s %6.2f cpu %8.1f MB  %.110s", c.took.Seconds(), c.cpu, float64(c.log)/1e6, title))
	}
}

func (t *table) String() string {
	return fmt.Sprintf("%s on %s: %.2f s, %.2f cpu, %.1f MB of log\n%s", t.what, t.kind, t.took.Seconds(), t.cpu, float64(t.log)/1e6, strings.Join(t.rows, "\n"))
}
