package ticket_test

import (
	"context"
	"errors"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/ticket"
)

// many is how many ids are drawn where that matters: three thousand, six where the long tests run, or a million when SNOWKEY_TORTURE is set.
func many() int64 { return int64(rounds(6_000, 1_000_000)) }

// torture reports whether tests are to run for longer.
func torture() bool { return os.Getenv("SNOWKEY_TORTURE") != "" }

// rounds is how often something is done again: few times where the long tests run, or many when SNOWKEY_TORTURE is set; else half of the few.
func rounds(few, many int) int {
	switch {
	case torture():
		return many
	case dbtest.IsLong():
		return few
	}
	return (few + 1) / 2
}

// TestReplaceAtOnce has more goroutines draw than the pool has connections.
func TestReplaceAtOnce(t *testing.T) {
	t.Parallel()
	for _, k := range systems {
		t.Run(k.String(), func(t *testing.T) {
			t.Parallel()
			d, r := k.database(t), newRecorder(t)
			config := ticket.Config{Timeout: retryFactor, ServerTimeout: retryFactor}
			source := setUp(t, config, d)
			var left atomic.Int64
			left.Store(many())
			var wg sync.WaitGroup
			for range 32 {
				wg.Go(func() {
					for last := int64(0); left.Add(-1) >= 0; {
						id, err := source.Next(context.Background())
						if err != nil {
							t.Error(err)
							return
						}
						if id <= last {
							t.Errorf("%d after %d", id, last)
						}
						last = id
						r.add("at once", id)
					}
				})
			}
			wg.Wait()
			if s := source.Stats(); s.Issued != int64(r.count()) || s.Servers[0].Draws < s.Issued || s.Servers[0].Last != r.greatest() {
				t.Errorf("got Stats %+v, want %d issued up to %d", s, r.count(), r.greatest())
			}
			after := r.greatest()
			if id := r.draw("a new process", sourceOf(t, config, d), 1)[0]; id <= after {
				t.Errorf("a new process got %d after %d", id, after)
			}
		})
	}
}

// TestReplaceShortDeadlines gives calls so little time that many end in the middle. Their tickets are lost, and the server is none the worse.
func TestReplaceShortDeadlines(t *testing.T) {
	t.Parallel()
	for _, k := range systems {
		t.Run(k.String(), func(t *testing.T) {
			t.Parallel()
			r := newRecorder(t)
			source := setUp(t, ticket.Config{ServerTimeout: 4 * time.Second, Timeout: retryFactor}, k.database(t))
			r.draw("before", source, 1)
			var late atomic.Int64
			var wg sync.WaitGroup
			for range 32 {
				wg.Go(func() {
					for range 60 {
						ctx, cancel := context.WithTimeout(context.Background(), 2*time.Millisecond)
						id, err := source.Next(ctx)
						cancel()
						switch {
						case err == nil:
							r.add("2 ms", id)
						case errors.Is(err, ticket.ErrUnavailable) && errors.Is(err, context.DeadlineExceeded):
							late.Add(1)
						default:
							t.Errorf("got %v, want an ErrUnavailable that wraps DeadlineExceeded", err)
						}
					}
				})
			}
			wg.Wait()
			if s := source.Stats().Servers[0]; s.State != ticket.Closed {
				t.Errorf("got %+v, want a server that is in use", s)
			}
			for range 32 {
				wg.Go(func() {
					id, err := source.Next(context.Background())
					if err != nil {
						t.Error(err)
						return
					}
					r.add("after", id)
				})
			}
			wg.Wait()
			t.Logf("%d calls were late, %d tickets discarded at most", late.Load(), source.Stats().Servers[0].Discarded)
			if late.Load() == 0 {
				t.Log("no call was late, so nothing was tested")
			}
		})
	}
}

// TestReplaceBesideTransactions draws while the caller has a transaction, which is rolled back: what it drew is not given out again.
func TestReplaceBesideTransactions(t *testing.T) {
	t.Parallel()
	for _, k := range systems {
		for _, pool := range []string{"same pool", "other pool"} {
			t.Run(k.String()+"/"+pool, func(t *testing.T) {
				t.Parallel()
				d, r := k.database(t), newRecorder(t)
				server := serverOf(t, d)
				source := flickr(t, quick(ticket.Config{}), server)
				mustSetUp(t, source)
				db := server.DB
				if pool == "other pool" {
					db = open(t, d)
				}
				execute(t, db, "CREATE TABLE mine (id bigint)")
				for range 20 {
					tx, err := db.Begin()
					must(t, err)
					_, err = tx.Exec("DELETE FROM mine WHERE id = 0")
					if k.dialect == ticket.SQLite { // it has one writer, as the documentation says
						must(t, tx.Rollback())
						tx, err = db.Begin()
					}
					must(t, err)
					for _, id := range r.draw("in a transaction", source, 5) {
						if k.dialect == ticket.SQLite {
							_, err = tx.Query("SELECT 1") // closed with the transaction
						} else {
							_, err = tx.Exec("INSERT INTO mine (id) VALUES (1)")
						}
						if err != nil {
							t.Fatalf("%d: %v", id, err)
						}
					}
					must(t, tx.Rollback())
					r.draw("after it", source, 5)
				}
				r.draw("a new process", sourceOf(t, quick(ticket.Config{}), d), 5)
			})
		}
	}
}

// moveTo sets the sequence "default" forward, as a statement of the table's owner.
func moveTo(t *testing.T, s ticket.Server, id string) {
	t.Helper()
	if s.Dialect == ticket.Postgres {
		execute(t, s.DB, `SELECT setval('"snowkey_tickets.default"', `+id+`)`)
		return
	}
	execute(t, s.DB, "REPLACE INTO snowkey_tickets (id, stub, layout) SELECT "+id+", stub, layout FROM snowkey_tickets WHERE stub = 'default'")
}

// TestReplaceExhausted comes to the end of a sequence: the column's, or the configuration's.
func TestReplaceExhausted(t *testing.T) {
	t.Parallel()
	for _, k := range systems {
		for name, test := range map[string]struct {
			from  string
			limit int64
		}{
			"limit":  {"9007199254740988", 1<<53 - 1}, // three before
			"column": {"9223372036854775804", math.MaxInt64},
		} {
			t.Run(k.String()+"/"+name, func(t *testing.T) {
				t.Parallel()
				d, r := k.database(t), newRecorder(t)
				config := quick(ticket.Config{Limit: test.limit, Timeout: retryFactor})
				server := serverOf(t, d)
				source := flickr(t, config, server)
				mustSetUp(t, source)
				moveTo(t, server, test.from)
				r.draw("the last ones", source, 3)
				if r.greatest() != test.limit {
					t.Errorf("the last one is %d, want %d", r.greatest(), test.limit)
				}
				for range 10 {
					wantExhausted(t, source, test.limit)
				}
				wantExhausted(t, sourceOf(t, config, d), test.limit) // a new process
				findings, err := source.Check(t.Context())
				if err != nil {
					t.Error(err)
				}
				if len(findings) == 0 {
					t.Error("Check has nothing to say of a sequence that is used up")
				}
			})
		}
	}
}

func wantExhausted(t *testing.T, source *ticket.Tickets, limit int64) {
	t.Helper()
	id, err := source.Next(context.Background())
	var exhausted *ticket.ExhaustedError
	if err == nil || !errors.Is(err, ticket.ErrExhausted) || !errors.Is(err, ticket.ErrUnavailable) || !errors.As(err, &exhausted) {
		t.Fatalf("got %d, %v, want an UnavailableError with an ExhaustedError", id, err)
	}
	if exhausted.Limit != limit {
		t.Errorf("got the limit %d, want %d", exhausted.Limit, limit)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it waited for what does not come: %v", err)
	}
}

// TestReplaceNotifiesOfTheEnd has Notify called once when nine tenths of the ids are used.
func TestReplaceNotifiesOfTheEnd(t *testing.T) {
	t.Parallel()
	for _, k := range systems {
		t.Run(k.String(), func(t *testing.T) {
			t.Parallel()
			r := newRecorder(t)
			var near []int64
			source := setUp(t, quick(ticket.Config{Limit: 100, Timeout: retryFactor, Notify: func(s ticket.ServerStats) {
				if s.State == ticket.Closed && s.Used >= 0.9 {
					near = append(near, s.Last)
				}
			}}), k.database(t))
			r.draw("up to the end", source, 98)
			if len(near) != 1 || near[0] != 90 {
				t.Errorf("Notify was called at %v, want once, at 90", near)
			}
		})
	}
}

// TestReplaceClosed closes a source while it is drawn from.
func TestReplaceClosed(t *testing.T) {
	t.Parallel()
	for _, k := range systems {
		t.Run(k.String(), func(t *testing.T) {
			t.Parallel()
			r := newRecorder(t)
			server := serverOf(t, k.database(t))
			source := flickr(t, quick(ticket.Config{Timeout: retryFactor}), server)
			mustSetUp(t, source)
			load := r.load("closed", source, 8)
			load.more(100)
			must(t, source.Close())
			load.wg.Wait() // they end by themselves
			if errs := load.errors(); len(errs) > 0 {
				t.Errorf("got %v, want ErrClosed alone", errs)
			}
			if id, err := source.Next(context.Background()); !errors.Is(err, ticket.ErrClosed) {
				t.Errorf("got %d, %v, want ErrClosed", id, err)
			}
			must(t, source.Close())
			r.draw("over the same pool", flickr(t, ticket.Config{}, server), 100)
		})
	}
}
