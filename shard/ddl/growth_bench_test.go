package ddl_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/shard/ddl"
)

const (
	benchRows  = 200_000
	benchUsers = 1000
	largeUser  = 7 // has half of the rows
)

// BenchmarkGrow measures how long it takes until a table of 200,000 rows, half of which are one user's, has 8 shards instead of 4, or a shard more
// for that user's bucket. Writers wait for a statement at a time, on Spider for all: the longest one is a metric, as are the rows of the shard with
// the most, before and after, and those of it that are other users'.
func BenchmarkGrow(b *testing.B) {
	for _, e := range engines {
		b.Run("engine="+string(e.engine), func(b *testing.B) {
			fresh := starts[e.engine](b)
			for _, preset := range e.presets {
				for _, to := range []string{"8", "alone"} {
					if to == "alone" && (e.engine == ddl.PostgresHash || e.engine == ddl.PostgresFDW && preset == idgen.Sharded) {
						continue
					}
					b.Run("layout="+preset.Name()+"/to="+to, func(b *testing.B) {
						f := fresh(b)
						f.engine, f.preset = e.engine, preset
						benchmarkGrow(b, f, to == "alone")
					})
				}
			}
		})
	}
}

func benchmarkGrow(b *testing.B, f *fixture, alone bool) {
	columns := "id BIGINT NOT NULL, user_id BIGINT NOT NULL, note VARCHAR(100) NOT NULL"
	run(b, f.pool, "CREATE TABLE source ("+columns+", PRIMARY KEY (id))")
	fill(b, f)
	table := f.table("orders", columns, 4)
	if !f.isPostgres() {
		table.Columns += ", KEY (user_id)"
	}
	bucket := bucketOf(b, f.preset.Layout, int64(largeUser))
	var longest time.Duration
	var before, after, others string
	first := true
	for b.Loop() {
		b.StopTimer()
		script, err := table.Create(f.engine)
		if err != nil {
			b.Fatal(err)
		}
		if !first {
			script.Servers = nil
			drop(b, f)
		}
		first = false
		f.apply(b, script)
		if f.isPostgres() && f.engine != ddl.PostgresFDW {
			run(b, f.pool, "CREATE INDEX ON orders (user_id)")
		}
		run(b, f.pool, "INSERT INTO orders SELECT * FROM source")
		before = rows(b, f.pool, "SELECT COUNT(*) FROM "+from(b, table, f.engine, bucket))[0]
		grown, shards := table, 8
		var buckets []int64
		if alone {
			shards, buckets = 4, []int64{bucket}
		}
		if script, err = table.Grow(f.engine, shards, buckets...); err != nil {
			b.Fatal(err)
		}
		grown.Shards, grown.Alone = shards, buckets
		head, err := f.pool.Conn(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()

		f.elsewhere(b, script.Remote)
		away := time.Now()
		for _, statement := range script.Table {
			start := time.Now()
			run(b, head, statement)
			longest = max(longest, time.Since(start))
		}
		if f.engine == ddl.Spider {
			longest = max(longest, time.Since(away))
		}
		f.elsewhere(b, script.After)

		b.StopTimer()
		if err := head.Close(); err != nil {
			b.Fatal(err)
		}
		shard := from(b, grown, f.engine, bucket)
		after = rows(b, f.pool, "SELECT COUNT(*) FROM "+shard)[0]
		others = rows(b, f.pool, fmt.Sprintf("SELECT COUNT(*) FROM %s WHERE user_id <> %d", shard, largeUser))[0]
		if got := rows(b, f.pool, "SELECT COUNT(*) FROM orders")[0]; got != fmt.Sprint(benchRows) {
			b.Fatalf("there are %s rows, want %d", got, benchRows)
		}
		b.StartTimer()
	}
	b.ReportMetric(longest.Seconds()*1000, "ms-longest")
	for unit, text := range map[string]string{"rows-before": before, "rows-after": after, "rows-of-others": others} {
		count, err := strconv.Atoi(text)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(count), unit)
	}
}

// fill makes the rows.
func fill(b *testing.B, f *fixture) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var values []string
	for i := range int64(benchRows) {
		user := int64(largeUser)
		if i%2 == 1 {
			user = 100 + i/2%benchUsers
		}
		id, err := f.preset.Compose(idgen.Parts{Time: at.Add(time.Duration(i) * time.Millisecond), Shard: bucketOf(b, f.preset.Layout, user)})
		if err != nil {
			b.Fatal(err)
		}
		if values = append(values, fmt.Sprintf("(%d,%d,'note of an order %d')", id, user, i)); len(values) == 2000 {
			run(b, f.pool, "INSERT INTO source VALUES "+strings.Join(values, ","))
			values = values[:0]
		}
	}
}

// drop removes the table of the run before, and what other servers have of it.
func drop(b *testing.B, f *fixture) {
	run(b, f.pool, "DROP TABLE orders")
	for _, server := range f.servers {
		names := rows(b, f.remote[server.Name], "SELECT table_name FROM information_schema.tables WHERE table_name LIKE 'orders%' AND table_schema = '"+
			map[bool]string{true: server.Schema, false: server.Database}[f.isPostgres()]+"'")
		slices.Sort(names)
		for _, name := range names {
			if f.isPostgres() {
				name = `"` + server.Schema + `".` + name
			} else {
				name = server.Database + "." + name
			}
			run(b, f.remote[server.Name], "DROP TABLE "+name)
		}
	}
}

// BenchmarkGrowMySQLHash is the growth of PARTITION BY HASH, which [ddl.MySQL] does not use: one statement that copies all rows.
func BenchmarkGrowMySQLHash(b *testing.B) {
	f := starts[ddl.MySQL](b)(b)
	f.preset = idgen.Sharded
	const columns = " (id BIGINT NOT NULL PRIMARY KEY, user_id BIGINT NOT NULL, note VARCHAR(100) NOT NULL, KEY (user_id))"
	run(b, f.pool, "CREATE TABLE source"+columns)
	fill(b, f)
	for b.Loop() {
		b.StopTimer()
		run(b, f.pool, "DROP TABLE IF EXISTS orders", "CREATE TABLE orders"+columns+" PARTITION BY HASH (id) PARTITIONS 4", "INSERT INTO orders SELECT * FROM source")
		b.StartTimer()
		run(b, f.pool, "ALTER TABLE orders ADD PARTITION PARTITIONS 4")
	}
}
