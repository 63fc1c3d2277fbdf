package ticket_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/ticket"
)

// eachConnection runs work b.N times altogether, in as many goroutines as there are connections, and reports the calls a second and the longest.
func eachConnection(b *testing.B, connections int, work func(ctx context.Context) error) {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(b.N))
	longest := make([]time.Duration, connections)
	var group sync.WaitGroup
	b.ResetTimer()
	for i := range connections {
		group.Go(func() {
			for left.Add(-1) >= 0 {
				start := time.Now()
				if err := work(b.Context()); err != nil {
					b.Error(err)
					return
				}
				longest[i] = max(longest[i], time.Since(start))
			}
		})
	}
	group.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ids/s")
	b.ReportMetric(float64(slices.Max(longest).Microseconds())/1000, "max-ms")
}

func pool(b *testing.B, database dbtest.Database, connections int) *sql.DB {
	db := database.Open(b)
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db
}

// BenchmarkTicket has single tickets beside a loop of the driver over the same statement.
func BenchmarkTicket(b *testing.B) {
	for _, database := range []dbtest.Database{dbtest.SQLite(b), dbtest.MySQL(b), dbtest.Postgres(b)} {
		dialect := dialectOf[database.Kind]
		for _, connections := range []int{1, 8, 32} {
			db := pool(b, database, connections)
			source, err := ticket.Replace(ticket.Config{ServerTimeout: time.Minute}, ticket.Server{DB: db, Dialect: dialect})
			if err != nil {
				b.Fatal(err)
			}
			if err := source.Setup(b.Context()); err != nil {
				b.Fatal(err)
			}
			if _, err := source.Next(b.Context()); err != nil {
				b.Fatal(err)
			}
			name := fmt.Sprintf("db=%s/conns=%d/of=", database.Kind, connections)
			statement, args := ticket.Statement(source)
			raw := pool(b, database, connections) // one of its own, with the driver's settings
			b.Run(name+"raw", func(b *testing.B) {
				eachConnection(b, connections, func(ctx context.Context) error {
					if dialect == ticket.Postgres {
						var id int64
						var on string
						return raw.QueryRowContext(ctx, statement, args...).Scan(&id, &on)
					}
					result, err := raw.ExecContext(ctx, statement, args...)
					if err == nil {
						_, err = result.LastInsertId()
					}
					return err
				})
			})
			b.Run(name+"ticket", func(b *testing.B) {
				eachConnection(b, connections, func(ctx context.Context) error {
					_, err := source.Next(ctx)
					return err
				})
			})
			if err := source.Close(); err != nil {
				b.Fatal(err)
			}
		}
	}
}

var dialectOf = map[string]ticket.Dialect{"sqlite": ticket.SQLite, "mysql": ticket.MySQL, "postgres": ticket.Postgres}

// BenchmarkSchema has tickets from the table that Setup makes beside those from the table as it was published.
func BenchmarkSchema(b *testing.B) {
	database := dbtest.MySQL(b)
	for _, connections := range []int{1, 8, 32} {
		db := pool(b, database, connections)
		if _, err := db.ExecContext(b.Context(), "CREATE TABLE IF NOT EXISTS Tickets64 (id bigint unsigned NOT NULL AUTO_INCREMENT, stub char(1) NOT NULL DEFAULT '', "+
			"PRIMARY KEY (id), UNIQUE KEY stub (stub))"); err != nil {
			b.Fatal(err)
		}
		for _, schema := range []struct{ name, table, sequence string }{{"published", "Tickets64", "a"}, {"swapped", "", ""}} {
			source, err := ticket.Replace(ticket.Config{Table: schema.table, Sequence: schema.sequence, ServerTimeout: time.Minute}, ticket.Server{DB: db, Dialect: ticket.MySQL})
			if err != nil {
				b.Fatal(err)
			}
			if err := source.Setup(b.Context()); err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("conns=%d/schema=%s", connections, schema.name), func(b *testing.B) {
				eachConnection(b, connections, func(ctx context.Context) error {
					_, err := source.Next(ctx)
					return err
				})
			})
			if err := source.Close(); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkHung has two servers of which one hangs, from the first call on, beside the other one alone. The longest call is bounded by the server's
// timeout, 50 ms.
func BenchmarkHung(b *testing.B) {
	const connections = 8
	var list []ticket.Server
	var servers []*dbtest.Server
	for k := 1; k <= 2; k++ {
		s := dbtest.StartMySQL(b, "--auto-increment-increment=2", fmt.Sprintf("--auto-increment-offset=%d", k))
		servers = append(servers, s)
		list = append(list, ticket.Server{DB: pool(b, s.Database(b), connections), Dialect: ticket.MySQL})
	}
	config := ticket.Config{ServerTimeout: 50 * time.Millisecond}
	pair, err := ticket.Flickr(config, list...)
	if err != nil {
		b.Fatal(err)
	}
	defer pair.Close()
	if err := pair.Setup(b.Context()); err != nil {
		b.Fatal(err)
	}
	config.Increment = 2
	alone, err := ticket.Flickr(config, list[0])
	if err != nil {
		b.Fatal(err)
	}
	defer alone.Close()
	next := func(source *ticket.Tickets) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := source.Next(ctx)
			return err
		}
	}
	b.Run("servers=one", func(b *testing.B) { eachConnection(b, connections, next(alone)) })
	b.Run("servers=two", func(b *testing.B) { eachConnection(b, connections, next(pair)) })
	b.Run("servers=one-hangs", func(b *testing.B) {
		if err := servers[1].Pause(); err != nil {
			b.Fatal(err)
		}
		eachConnection(b, connections, next(pair))
		if err := servers[1].Resume(); err != nil {
			b.Fatal(err)
		}
	})
}
