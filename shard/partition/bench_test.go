package partition_test

import (
	"database/sql"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/shard/partition"
)

// The benchmarks have servers of their own with memory for the tables, which wait for no disk. The variable is how many rows there are.
//
//	SNOWKEY_BENCH_ROWS=10000000 go test ./shard/partition -run '^$' -bench Drop -benchtime 1x -timeout 1h
//	SNOWKEY_BENCH_ROWS=1000000 go test ./shard/partition -run '^$' -bench Adopt -benchtime 3x -timeout 1h
//	go test ./shard/partition -run '^$' -bench Insert -benchtime 20000x
const benchRows = "SNOWKEY_BENCH_ROWS"

func rowsOf(b *testing.B) int64 {
	b.Helper()
	text := os.Getenv(benchRows)
	if text == "" {
		return 100_000
	}
	rows, err := strconv.ParseInt(text, 10, 64)
	if err != nil || rows < 1 {
		b.Fatalf("%s=%s is no number of rows", benchRows, text)
	}
	return rows
}

// benchEach runs a benchmark on both databases.
func benchEach(b *testing.B, bench func(*testing.B, *engine)) {
	b.Run("db=postgres", func(b *testing.B) {
		bench(b, newEngine(b, dbtest.StartPostgres(b, "shared_buffers=2GB", "max_wal_size=8GB", "synchronous_commit=off", "autovacuum=off").Database(b)))
	})
	b.Run("db=mariadb", func(b *testing.B) {
		bench(b, newEngine(b, dbtest.StartMySQL(b, "--innodb-buffer-pool-size=3G", "--innodb-flush-log-at-trx-commit=2").Database(b)))
	})
}

// The columns of the tables: about a hundred bytes a row, and an index besides the key's.
var benchColumns = []string{"id bigint NOT NULL", "customer bigint NOT NULL", "note varchar(100) NOT NULL"}

// fill adds rows whose ids are spread evenly over a time.
func (e *engine) fill(b *testing.B, table string, from, to time.Time, rows int64) {
	b.Helper()
	first := idAt(b, from, 0)
	step := (idAt(b, to, 0) - first) / rows
	const most = 1_000_000 // of one transaction
	for done := int64(0); done < rows; done += most {
		until := min(done+most, rows) - 1
		source := fmt.Sprintf("seq_%d_to_%d", done, until)
		if e.postgres {
			source = fmt.Sprintf("generate_series(CAST(%d AS bigint), %d) AS s(seq)", done, until)
		}
		e.exec(b, fmt.Sprintf("INSERT INTO %s (id, customer, note) SELECT %d + seq * %d, seq %% 5000, CONCAT('a note of sixty letters, more or less, which nobody reads, ', seq) FROM %s ORDER BY 1", table, first, step, source))
	}
}

// plain makes a table without partitions.
func (e *engine) plain(b *testing.B, table string) {
	b.Helper()
	e.exec(b, "DROP TABLE IF EXISTS "+table)
	e.exec(b, "CREATE TABLE "+table+" ("+strings.Join(benchColumns, ", ")+", PRIMARY KEY (id))")
	e.exec(b, "CREATE INDEX "+table+"_customer ON "+table+" (customer)")
}

// months makes a table with partitions from the month of an instant on.
func (e *engine) months(b *testing.B, settings partition.Table, now time.Time) {
	b.Helper()
	e.exec(b, "DROP TABLE IF EXISTS "+settings.Name)
	statements, err := settings.Create(e.d, benchColumns...)
	if err != nil {
		b.Fatal(err)
	}
	for _, statement := range append(statements, "CREATE INDEX "+settings.Name+"_customer ON "+settings.Name+" (customer)") {
		e.exec(b, statement)
	}
	run(b, e.keeper(b, settings, &now))
}

// BenchmarkDrop measures how long a month is dropped by a keeper, and how long the same rows are deleted from a table without partitions.
// A tenth as many rows are of the month after, and stay. Of what DELETE leaves behind nothing is counted: dead rows, which
// PostgreSQL's VACUUM and InnoDB's purge still have to remove.
func BenchmarkDrop(b *testing.B) {
	rows, may, june, july := rowsOf(b), at("2026-05-01T00:00:00Z"), at("2026-06-01T00:00:00Z"), at("2026-07-01T00:00:00Z")
	benchEach(b, func(b *testing.B, e *engine) {
		settings := partition.Table{Name: "divided", Every: partition.Month, Ahead: 2, LockWait: time.Minute}
		make := map[string]func(){
			"drop":   func() { e.months(b, settings, may) },
			"delete": func() { e.plain(b, "divided") },
		}
		later := july.Add(48 * time.Hour)
		dropping := settings
		dropping.Keep, dropping.Old, dropping.TrustClock, dropping.Ahead = 1, partition.Drop, true, 0
		remove := map[string]func(){
			"drop": func() {
				if got := run(b, e.keeper(b, dropping, &later)); !strings.Contains(got, "p20260501") {
					b.Fatalf("got the steps %s, want that May is dropped", got)
				}
			},
			"delete": func() {
				e.exec(b, fmt.Sprintf("DELETE FROM divided WHERE id >= %d AND id < %d", idAt(b, may, 0), idAt(b, june, 0)))
			},
		}
		for _, way := range []string{"drop", "delete"} {
			b.Run("way="+way, func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					make[way]()
					e.fill(b, "divided", may, june, rows)
					e.fill(b, "divided", june, july, max(1, rows/10))
					b.StartTimer()
					remove[way]()
					b.StopTimer()
					if got := e.count(b, "SELECT COUNT(*) FROM divided"); got != max(1, rows/10) {
						b.Fatalf("got %d rows left, want %d", got, max(1, rows/10))
					}
					b.StartTimer()
				}
				b.ReportMetric(float64(rows), "rows")
			})
		}
	})
}

// BenchmarkInsert inserts rows of now in turn into a table without partitions and into one with 24, the default one among them, and reports both times and their ratio.
func BenchmarkInsert(b *testing.B) {
	benchEach(b, func(b *testing.B, e *engine) {
		now := at("2026-06-15T00:00:00Z")
		for _, size := range []int{1, 100} {
			b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
				e.plain(b, "plain")
				e.months(b, partition.Table{Name: "divided", Every: partition.Month, Ahead: 22, LockWait: time.Minute}, at("2025-07-15T00:00:00Z"))
				conn, err := e.db.Conn(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				defer conn.Close()
				values := strings.Repeat(", (?, ?, ?)", size)[2:]
				if e.postgres {
					for n := 1; strings.Contains(values, "?"); n++ {
						values = strings.Replace(values, "?", "$"+strconv.Itoa(n), 1)
					}
				}
				var prepared [2]*sql.Stmt
				for i, table := range []string{"plain", "divided"} {
					if prepared[i], err = conn.PrepareContext(b.Context(), "INSERT INTO "+table+" (id, customer, note) VALUES "+values); err != nil {
						b.Fatal(err)
					}
					defer prepared[i].Close()
				}
				var took [2]time.Duration
				next, n := idAt(b, now, 0), 0
				for b.Loop() {
					var args []any
					for range size {
						args = append(args, next, next%5000, "a note of sixty letters, more or less, which nobody reads")
						next += 1 << 12
					}
					n++
					for i := range 2 {
						which := (i + n) % 2 // each is first in turn
						begin := time.Now()
						if _, err := prepared[which].ExecContext(b.Context(), args...); err != nil {
							b.Fatal(err)
						}
						took[which] += time.Since(begin)
					}
				}
				if plain, divided := e.count(b, "SELECT COUNT(*) FROM plain"), e.count(b, "SELECT COUNT(*) FROM divided"); plain != divided || plain != int64(n*size) {
					b.Fatalf("got %d and %d rows, want %d each", plain, divided, n*size)
				}
				b.ReportMetric(float64(took[0].Microseconds())/float64(n), "plain-µs/op")
				b.ReportMetric(float64(took[1].Microseconds())/float64(n), "divided-µs/op")
				b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "ratio")
			})
		}
	})
}

// BenchmarkAdopt divides a table while eight writers insert a row each every 5 ms, and reports the longest that any of them has waited for one.
func BenchmarkAdopt(b *testing.B) {
	rows := rowsOf(b)
	benchEach(b, func(b *testing.B, e *engine) {
		e.db.SetMaxIdleConns(20)
		ways := []string{"adopt", "copy"}
		if e.postgres {
			ways = ways[:1]
		}
		for _, way := range ways {
			b.Run("way="+way, func(b *testing.B) {
				longest, longestBefore := time.Duration(0), time.Duration(0)
				for b.Loop() {
					b.StopTimer()
					e.plain(b, "orders")
					now := time.Now()
					e.fill(b, "orders", now.Add(-30*24*time.Hour), now.Add(-time.Hour), rows)
					settings := partition.Table{Name: "orders", Every: partition.Month, LockWait: time.Minute}
					k, err := partition.New(e.db, e.d, settings)
					if err != nil {
						b.Fatal(err)
					}
					if way == "copy" {
						k.SetVersion("MySQL 8.4.0")
					}
					stop, waited := e.load(b, now)
					time.Sleep(time.Second) // to see how long a writer waits without
					longestBefore = max(longestBefore, waited())
					b.StartTimer()
					if _, err := k.Adopt(b.Context()); err != nil {
						b.Fatal(err)
					}
					b.StopTimer()
					written := stop()
					longest = max(longest, waited())
					if got := e.count(b, "SELECT COUNT(*) FROM orders"); got != rows+written {
						b.Fatalf("got %d rows, want %d and %d written", got, rows, written)
					}
					b.StartTimer()
				}
				b.ReportMetric(float64(rows), "rows")
				b.ReportMetric(float64(longestBefore.Microseconds())/1000, "longest-wait-before-ms")
				b.ReportMetric(float64(longest.Microseconds())/1000, "longest-wait-ms")
			})
		}
	})
}

// load begins to insert. waited returns how long an INSERT has taken at most since it was called last, and stop how many there were.
func (e *engine) load(b *testing.B, from time.Time) (stop func() int64, waited func() time.Duration) {
	b.Helper()
	var longest, written, next atomic.Int64
	next.Store(idAt(b, from, 0))
	ended, done := make(chan struct{}), sync.WaitGroup{}
	for range 8 {
		done.Go(func() {
			every := time.NewTicker(5 * time.Millisecond)
			defer every.Stop()
			for {
				select {
				case <-ended:
					return
				case <-every.C:
				}
				begin := time.Now()
				_, err := e.db.ExecContext(b.Context(), fmt.Sprintf("INSERT INTO orders (id, customer, note) VALUES (%d, 1, 'written')", next.Add(1)))
				took := int64(time.Since(begin))
				if err != nil {
					b.Error(err)
					return
				}
				written.Add(1)
				for last := longest.Load(); took > last && !longest.CompareAndSwap(last, took); last = longest.Load() {
				}
			}
		})
	}
	return func() int64 { close(ended); done.Wait(); return written.Load() }, func() time.Duration { return time.Duration(longest.Swap(0)) }
}
