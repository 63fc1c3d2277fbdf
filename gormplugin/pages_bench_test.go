package gormplugin_test

import (
	"cmp"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/idgen"
)

// arrival is an order in which keys reach a table: as many writers make keys as given, each inserts its keys when its turn comes, at random, and a
// generator belongs to all of them or to each.
type arrival struct {
	keys       string
	writers    int
	generators int            // none: consecutive or random numbers
	options    []idgen.Option // of a generator
	rate       int            // rows a second of the writers' clock
}

var arrivals = []arrival{
	{"sequential", 1, 0, nil, 25_000}, {"sequential", 16, 0, nil, 25_000}, {"random", 1, 0, nil, 25_000},
	{"snowkey", 1, 1, nil, 25_000}, {"snowkey", 16, 1, nil, 25_000}, {"snowkey", 16, 16, nil, 25_000}, {"snowkey", 16, 16, nil, 100},
	{"packed", 1, 1, []idgen.Option{idgen.Packed}, 25_000}, {"packed", 16, 1, []idgen.Option{idgen.Packed}, 25_000},
	{"packed", 16, 16, []idgen.Option{idgen.Packed}, 25_000}, {"packed", 16, 16, []idgen.Option{idgen.Packed}, 100},
	{"packed65s", 16, 16, []idgen.Option{shortBands}, 100},
	{"packed1s", 16, 1, []idgen.Option{idgen.PackedSecond}, 25_000}, {"packed1s", 16, 16, []idgen.Option{idgen.PackedSecond}, 25_000},
	{"scattered", 16, 1, []idgen.Option{idgen.Scattered, idgen.WithShards()}, 10_000}, {"scattered", 16, 16, []idgen.Option{idgen.Scattered, idgen.WithShards()}, 10_000},
	{"scatteredbands", 16, 1, []idgen.Option{idgen.Scattered, scatteredBands, idgen.WithShards()}, 10_000}, {"scatteredbands", 16, 16, []idgen.Option{idgen.Scattered, scatteredBands, idgen.WithShards()}, 10_000},
}

// shortBands is Packed with bands of 65.536 s.
var shortBands, _ = idgen.NewLayout(idgen.Packed.Epoch(), time.Millisecond,
	idgen.Time.Bits(25), idgen.Node.Bits(10), idgen.Stream.Bits(4), idgen.Time.Bits(16), idgen.Sequence.Bits(8))

// scatteredBands is Scattered with the node above 262.144 s.
var scatteredBands, _ = idgen.NewLayout(idgen.Scattered.Epoch(), time.Millisecond,
	idgen.Shard.Bits(10), idgen.Time.Bits(23), idgen.Node.Bits(8), idgen.Time.Bits(18), idgen.Sequence.Bits(4))

// hotBucket has all rows of the layouts with shards.
const hotBucket = 7

// send calls insert with the keys of each statement in the order of arrival. The clock of the generators stands still but for the rows that arrive.
func (a arrival) send(b testing.TB, rows, batch int, insert func(keys []int64)) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	random := rand.New(rand.NewPCG(1, uint64(a.writers)))
	var generators []*idgen.Snowflake
	for i := range a.generators {
		options := append([]idgen.Option{idgen.WithNode(int64(i)), idgen.WithClock(idgen.ClockFunc(func() time.Time { return now })), idgen.BorrowFull(1000)}, a.options...)
		g, err := idgen.New(options...)
		if err != nil {
			b.Fatal(err)
		}
		generators = append(generators, g)
	}
	next := int64(0)
	streams, pending := make([]int64, a.writers), make([][]int64, a.writers)
	fill := func(w int) {
		keys := make([]int64, batch)
		if a.generators == 0 {
			for i := range keys {
				if next++; a.keys == "random" {
					keys[i] = random.Int64()
				} else {
					keys[i] = next
				}
			}
		} else {
			g := generators[w%a.generators]
			var err error
			if streams[w] = g.TakeStream(); g.Shards() > 0 {
				err = g.FillFor(b.Context(), hotBucket, keys)
			} else {
				err = g.FillIn(b.Context(), streams[w], keys)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		pending[w] = keys
	}
	for w := range pending {
		fill(w)
	}
	for sent := 0; sent < rows; sent += batch {
		w := random.IntN(a.writers)
		insert(pending[w])
		if a.generators > 0 {
			generators[w%a.generators].ReturnStream(streams[w])
		}
		now = now.Add(time.Duration(batch) * time.Second / time.Duration(a.rate))
		fill(w)
	}
}

// BenchmarkPages measures how full a table's pages get by the order in which keys arrive, and how fast it takes them, on one connection, so that the order
// is the same in each run. The floor is a writer with consecutive keys. On PostgreSQL index-B/row is the primary key, which is not part of B/row.
func BenchmarkPages(b *testing.B) {
	const rows = 200_000
	onEach(b, func(b *testing.B, db *gorm.DB) {
		pool, err := db.DB()
		if err != nil {
			b.Fatal(err)
		}
		pool.SetMaxOpenConns(1)
		quick := map[string]string{"sqlite": "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF", "mysql": "SET GLOBAL innodb_flush_log_at_trx_commit = 0", "postgres": "SET synchronous_commit = off"}[db.Name()]
		if err := db.Exec(quick).Error; err != nil {
			b.Fatal(err)
		}
		for _, batch := range []int{1, 20} {
			for _, a := range arrivals {
				b.Run(fmt.Sprintf("rows=%d/keys=%s/writers=%d/generators=%d/rate=%d", batch, a.keys, a.writers, a.generators, a.rate), func(b *testing.B) {
					var table, index int64
					for b.Loop() {
						b.StopTimer()
						table, index = fillPages(b, db.Name(), pool, a, rows, batch, b.StartTimer)
					}
					b.ReportMetric(float64(b.N)*rows/b.Elapsed().Seconds(), "rows/s")
					b.ReportMetric(0, "ns/op")
					b.ReportMetric(float64(table)/rows, "B/row")
					if index > 0 {
						b.ReportMetric(float64(index)/rows, "index-B/row")
					}
				})
			}
		}
	})
}

// fillPages fills a new table and returns its size and that of an index beside it.
func fillPages(b testing.TB, kind string, pool *sql.DB, a arrival, rows, batch int, start func()) (table, index int64) {
	exec := func(query string) {
		if _, err := pool.ExecContext(b.Context(), query); err != nil {
			b.Fatalf("%s: %v", query, err)
		}
	}
	exec("DROP TABLE IF EXISTS pages")
	if kind == "sqlite" {
		exec("VACUUM")
	}
	key := map[string]string{"sqlite": "INTEGER"}[kind] // the rowid
	exec("CREATE TABLE pages (id " + cmp.Or(key, "BIGINT") + " PRIMARY KEY, user_id BIGINT NOT NULL, note VARCHAR(60))")
	var values []string
	for i := range batch {
		values = append(values, fmt.Sprintf("(?, 12345678901, '%s')", strings.Repeat("n", 40)))
		if kind == "postgres" {
			values[i] = strings.Replace(values[i], "?", fmt.Sprintf("$%d", i+1), 1)
		}
	}
	insert, err := pool.PrepareContext(b.Context(), "INSERT INTO pages VALUES "+strings.Join(values, ", "))
	if err != nil {
		b.Fatal(err)
	}
	defer insert.Close()
	start()
	a.send(b, rows, batch, func(keys []int64) {
		args := make([]any, len(keys))
		for i, key := range keys {
			args[i] = key
		}
		if _, err := insert.ExecContext(b.Context(), args...); err != nil {
			b.Fatal(err)
		}
	})
	size := map[string]string{
		"sqlite":   "SELECT page_count * page_size, 0 FROM pragma_page_count, pragma_page_size",
		"mysql":    "SELECT DATA_LENGTH, 0 FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'pages'",
		"postgres": "SELECT pg_relation_size('pages'), pg_relation_size('pages_pkey')",
	}[kind]
	if kind == "mysql" {
		exec("ANALYZE TABLE pages")
	}
	if err := pool.QueryRowContext(b.Context(), size).Scan(&table, &index); err != nil {
		b.Fatal(err)
	}
	return table, index
}
