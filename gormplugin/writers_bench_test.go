package gormplugin_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// BenchmarkWriters measures what 16 connections write at once into one table, and how full its pages get, with statements that are prepared once and
// commits that wait for no disk, so that the server and not the client is what takes the time. The floor is AUTO_INCREMENT; "node above 64 s" is the plainest
// layout that has a run for each writer. BenchmarkPages has the same in an order of arrival that repeats.
func BenchmarkWriters(b *testing.B) {
	const writers, rows = 16, 1_000_000
	bands, err := idgen.ParseLayout("time=26@64s,node=10,sequence=27;epoch=2025-01-01T00:00:00Z")
	if err != nil {
		b.Fatal(err)
	}
	variants := []struct {
		keys       string
		generators int // none: AUTO_INCREMENT
		option     idgen.Option
	}{{"autoincrement", 0, nil}, {"snowkey", 1, nil}, {"snowkey", 16, nil}, {"node above 64 s", 16, bands}, {"packed", 1, idgen.Packed}, {"packed", 16, idgen.Packed}}
	for _, megabytes := range []int{64, 256} {
		// A log of the usual size: with one of 32 MiB the server writes pages all the time.
		server := dbtest.StartMySQL(b, fmt.Sprintf("--innodb-buffer-pool-size=%dM", megabytes), "--innodb-log-file-size=512M", "--innodb-flush-log-at-trx-commit=0")
		pool := server.Database(b).Open(b)
		pool.SetMaxOpenConns(writers)
		pool.SetMaxIdleConns(writers)
		for _, batch := range []int{1, 20} {
			// The disk and the cache are busy for a while with the table before.
			rand.Shuffle(len(variants), func(i, j int) { variants[i], variants[j] = variants[j], variants[i] })
			for _, v := range variants {
				b.Run(fmt.Sprintf("pool=%dMiB/rows=%d/keys=%s/generators=%d", megabytes, batch, v.keys, v.generators), func(b *testing.B) {
					var generators []*idgen.Snowflake
					for node := range v.generators {
						options := []idgen.Option{idgen.WithNode(int64(node))}
						if v.option != nil {
							options = append(options, v.option)
						}
						g, err := idgen.New(options...)
						if err != nil {
							b.Fatal(err)
						}
						generators = append(generators, g)
					}
					var bytes int64
					var last time.Duration
					for b.Loop() {
						b.StopTimer()
						execute(b, pool, "DROP TABLE IF EXISTS pages")
						execute(b, pool, "CREATE TABLE pages (id BIGINT AUTO_INCREMENT PRIMARY KEY, user_id BIGINT NOT NULL, note VARCHAR(60))")
						b.StartTimer()
						last = writeAtOnce(b, pool, generators, writers, rows, batch)
						b.StopTimer()
						execute(b, pool, "ANALYZE TABLE pages")
						const size = "SELECT DATA_LENGTH FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'pages'"
						if err := pool.QueryRowContext(b.Context(), size).Scan(&bytes); err != nil {
							b.Fatal(err)
						}
						b.StartTimer()
					}
					b.ReportMetric(float64(b.N)*rows/b.Elapsed().Seconds(), "rows/s")
					b.ReportMetric(rows/10/last.Seconds(), "rows/s-last-tenth")
					b.ReportMetric(float64(bytes)/rows, "B/row")
					b.ReportMetric(0, "ns/op")
				})
			}
		}
	}
}

// writeAtOnce has as many goroutines as there are writers insert rows, each with a connection and a stream of its own, and returns how long the last tenth
// of the rows took.
func writeAtOnce(b testing.TB, pool *sql.DB, generators []*idgen.Snowflake, writers, rows, batch int) time.Duration {
	row := "(?, 12345678901, '" + strings.Repeat("n", 40) + "')"
	if len(generators) == 0 {
		row = strings.Replace(row, "?", "NULL", 1)
	}
	query := "INSERT INTO pages VALUES " + strings.TrimSuffix(strings.Repeat(row+", ", batch), ", ")
	var sent, lastTenth atomic.Int64 // lastTenth in nanoseconds since 1970
	write := func(ctx context.Context, writer int) error {
		insert, err := pool.PrepareContext(ctx, query)
		if err != nil {
			return err
		}
		defer insert.Close()
		var g *idgen.Snowflake
		if len(generators) > 0 {
			g = generators[writer%len(generators)]
		}
		keys, args := make([]int64, batch), make([]any, batch)
		for {
			switch n := sent.Add(int64(batch)); {
			case n > int64(rows):
				return nil
			case n-int64(batch) <= int64(rows)*9/10 && n > int64(rows)*9/10:
				lastTenth.Store(time.Now().UnixNano())
			}
			if g == nil {
				if _, err := insert.ExecContext(ctx); err != nil {
					return err
				}
				continue
			}
			stream := g.TakeStream()
			err := g.FillIn(ctx, stream, keys)
			if err == nil {
				for i, key := range keys {
					args[i] = key
				}
				_, err = insert.ExecContext(ctx, args...)
			}
			g.ReturnStream(stream)
			if err != nil {
				return err
			}
		}
	}
	var group sync.WaitGroup
	for writer := range writers {
		group.Go(func() {
			if err := write(b.Context(), writer); err != nil {
				b.Error(err)
			}
		})
	}
	group.Wait()
	return time.Duration(time.Now().UnixNano() - lastTenth.Load())
}

func execute(b testing.TB, pool *sql.DB, query string) {
	b.Helper()
	if _, err := pool.ExecContext(b.Context(), query); err != nil {
		b.Fatalf("%s: %v", query, err)
	}
}
