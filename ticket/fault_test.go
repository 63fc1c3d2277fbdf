package ticket_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/ticket"
)

// pair starts two servers for a test, with the increment and the offsets of Flickr's configuration, and a database on each.
func pair(t *testing.T, k system) (servers []*dbtest.Server, databases []dbtest.Database) {
	t.Helper()
	servers, databases = make([]*dbtest.Server, 2), make([]dbtest.Database, 2)
	for i := range servers {
		if k.dialect == ticket.MySQL {
			servers[i] = dbtest.StartMySQL(t, offset(2, i+1)...)
		} else {
			servers[i] = k.start(t)
		}
		databases[i] = servers[i].Database(t)
	}
	return servers, databases
}

func offset(increment, number int) []string {
	return []string{fmt.Sprintf("--auto-increment-increment=%d", increment), fmt.Sprintf("--auto-increment-offset=%d", number)}
}

// TestKilledServers kills servers with SIGKILL while they are drawn from, again and again. What the other one of two gives is not interrupted; what
// was given is not given again.
func TestKilledServers(t *testing.T) {
	t.Parallel()
	for _, k := range []system{mysqlKind, postgresKind} {
		t.Run(k.String(), func(t *testing.T) {
			t.Parallel()
			servers, databases := pair(t, k)
			t.Run("two", func(t *testing.T) {
				r, config := newRecorder(t), quick(ticket.Config{Timeout: retryFactor})
				source := setUp(t, config, databases...)
				load := r.load("before", source, 8)
				load.more(200)
				for i := range rounds(4, 20) {
					n := i % 2
					must(t, servers[n].Kill())
					load.more(200) // of the other one
					must(t, servers[n].Start())
					if k.dialect == ticket.MySQL || i < 2 {
						r.draw(fmt.Sprintf("a new process after %d", i+1), sourceOf(t, config, databases...), 20)
					}
					waitFor(t, source, n+1, ticket.Closed)
					load.more(200)
				}
				load.stop()
				if errs := load.errors(); len(errs) > 0 {
					t.Errorf("calls failed while one of two servers was up: %v", errs)
				}
			})
			t.Run("one", func(t *testing.T) {
				r, config := newRecorder(t), quick(ticket.Config{Sequence: "one", Timeout: retryFactor, Increment: 2})
				source := setUp(t, config, databases[0])
				load := r.load("before", source, 8)
				for i := range rounds(2, 20) {
					load.more(150)
					must(t, servers[0].Kill())
					must(t, servers[0].Start())
					r.draw(fmt.Sprintf("a new process after %d", i+1), sourceOf(t, config, databases[0]), 20)
				}
				load.more(150)
				load.stop()
			})
		})
	}
}

// TestKilledBetweenSessions kills PostgreSQL while the sequence's log record, which is written for 32 numbers at a time, is not on disk yet. The session
// that wrote it waits for that; others, which got the following numbers and wrote nothing, must not be faster.
func TestKilledBetweenSessions(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	server := dbtest.StartPostgres(t, "commit_delay=100000", "commit_siblings=0", "wal_writer_delay=10s") // which waits before it writes
	for name, parameter := range map[string]string{"on": "synchronous_commit=on", "off": "synchronous_commit=off"} {
		t.Run("synchronous_commit "+name, func(t *testing.T) {
			d, r, config := server.Database(t), newRecorder(t), quick(ticket.Config{Timeout: retryFactor, ServerTimeout: retryFactor})
			source := flickr(t, config, serverOf(t, d, parameter))
			mustSetUp(t, source)
			for i := range rounds(2, 10) {
				load := r.load(fmt.Sprintf("before %d", i+1), source, 8)
				load.more(40)
				must(t, server.Kill())
				load.stop()
				must(t, server.Start())
				r.draw("a new process", flickr(t, config, serverOf(t, d, parameter, "commit_delay=0")), 40)
			}
		})
	}
}

// TestKilledBesideOpenTransaction is TestKilledBetweenSessions with the session that writes the log record in a transaction that never ends: nobody's commit puts the
// record on disk but that of those who draw the numbers which it is for.
func TestKilledBesideOpenTransaction(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	server := dbtest.StartPostgres(t, "commit_delay=100000", "commit_siblings=0", "wal_writer_delay=10s", "autovacuum=off")
	d, r, config := server.Database(t), newRecorder(t), quick(ticket.Config{Timeout: retryFactor, ServerTimeout: retryFactor})
	source := setUp(t, config, d)
	r.draw("before", source, 5)
	for i := range rounds(2, 10) {
		beside, err := open(t, d).Conn(t.Context())
		must(t, err)
		for _, statement := range []string{"BEGIN", `SELECT nextval('"snowkey_tickets.default"') FROM generate_series(1, 40)`} {
			_, err := beside.ExecContext(t.Context(), statement)
			must(t, err)
		}
		r.draw(fmt.Sprintf("beside it, %d", i+1), source, 5)
		must(t, server.Kill())
		_ = beside.Close()
		must(t, server.Start())
		r.draw("a new process", flickr(t, config, serverOf(t, d, "commit_delay=0")), 50)
	}
}

// TestAllServersDown has no server at all: calls end with their contexts, and nothing piles up. It counts goroutines, and so it is alone.
func TestAllServersDown(t *testing.T) {
	dbtest.Long(t)
	servers := []*dbtest.Server{dbtest.StartMySQL(t, offset(2, 1)...), dbtest.StartPostgres(t)}
	t.Run("tickets", func(t *testing.T) { ticketsAllDown(t, servers) })
	t.Run("blocks", func(t *testing.T) { blocksAllDown(t, servers) })
}

func ticketsAllDown(t *testing.T, servers []*dbtest.Server) {
	databases := []dbtest.Database{servers[0].Database(t), servers[1].Database(t)}
	r, config := newRecorder(t), quick(ticket.Config{})
	setUp(t, config, databases...)
	config.ServerTimeout = 500 * time.Millisecond
	source := sourceOf(t, config, databases...)
	r.draw("before", source, 50)
	for _, outage := range []struct {
		name       string
		begin, end func(*dbtest.Server) error
	}{
		{"killed", (*dbtest.Server).Kill, func(s *dbtest.Server) error { return s.Start() }},
		{"hung", (*dbtest.Server).Pause, (*dbtest.Server).Resume},
	} {
		t.Run(outage.name, func(t *testing.T) {
			for _, s := range servers {
				must(t, outage.begin(s))
			}
			// A ticket that came too late for its call is kept for the next one, on a busy machine.
			for range 100 {
				ctx, cancel := context.WithTimeout(t.Context(), quickDeadline)
				id, err := source.Next(ctx)
				cancel()
				if err != nil {
					break
				}
				r.add("kept", id)
			}
			calls := func() {
				var wg sync.WaitGroup
				for range 32 {
					wg.Go(func() {
						ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
						defer cancel()
						id, err := source.Next(ctx)
						var unavailable *ticket.UnavailableError
						if !errors.As(err, &unavailable) || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ticket.ErrUnavailable) {
							t.Errorf("got %d, %v, want an UnavailableError that wraps DeadlineExceeded", id, err)
						}
						if unavailable != nil && unavailable.Ended == nil {
							t.Errorf("got %+v, want how the context ended", unavailable)
						}
					})
				}
				wg.Wait()
			}
			calls()
			eventually(t, "both servers are known to be down", func() bool {
				calls()
				for _, s := range source.Stats().Servers {
					if s.State == ticket.Closed {
						return false
					}
				}
				return true
			})
			before := runtime.NumGoroutine()
			for range 20 {
				calls()
			}
			// A probe of each server, and drivers' helpers of theirs.
			if after := runtime.NumGoroutine(); after > before+20 {
				t.Errorf("from %d goroutines to %d after 640 calls", before, after)
			}
			id, err := source.Next(canceled())
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %d, %v, want context.Canceled", id, err)
			}
			for _, s := range servers {
				must(t, outage.end(s))
			}
			r.draw("after", source, 50)
			r.draw("a new process", sourceOf(t, config, databases...), 50)
			eventually(t, "both servers are in use", func() bool {
				r.draw("after", source, 2)
				s := source.Stats().Servers
				return s[0].State == ticket.Closed && s[1].State == ticket.Closed
			})
			r.draw("after", source, 50)
		})
	}
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
