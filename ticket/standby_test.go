package ticket_test

import (
	"context"
	"database/sql"
	"slices"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/ticket"
)

// oneServer has the schemes that draw from one server.
var oneServer = map[string]func(ticket.Server) (galeraSource, error){
	"Replace": func(s ticket.Server) (galeraSource, error) {
		return ticket.Replace(quick(ticket.Config{Timeout: retryFactor}), s)
	},
	"Blocks": func(s ticket.Server) (galeraSource, error) {
		return ticket.Blocks(ticket.BlockConfig{Config: quick(ticket.Config{Timeout: retryFactor}), Unit: 1, MinStep: 1, MaxStep: 4, Reserve: time.Millisecond}, s)
	},
}

// TestStandbyTakesOver kills the primary of PostgreSQL and has its standby take over. With synchronous replication no id comes twice. Without it, and with a standby that was behind,
// a source that runs on gives no id that was given before, and says what it had and what it found, until Restore has moved the sequence beyond that.
func TestStandbyTakesOver(t *testing.T) {
	dbtest.Long(t)
	for name, make := range oneServer {
		for _, synchronous := range []bool{true, false} {
			t.Run(name+map[bool]string{true: " synchronous", false: " asynchronous"}[synchronous], func(t *testing.T) {
				primary := dbtest.StartPostgres(t)
				standby := dbtest.StartStandby(t, primary)
				primary.Follow(t, true)
				d := primary.Database(t)
				pool := dbtest.OpenSwitch(t, d, standby.At(t, d))
				source, err := make(ticket.Server{DB: pool.DB, Dialect: ticket.Postgres})
				must(t, err)
				t.Cleanup(func() { _ = source.Close() })
				must(t, source.Setup(t.Context()))
				r := newRecorder(t)
				failover := func() {
					t.Helper()
					must(t, primary.Kill())
					if !synchronous {
						must(t, standby.Start())
					}
					standby.Promote(t)
					pool.To(1)
				}
				load, stop := r.galeraLoad("before", source, 4)
				load.more(200)
				if synchronous {
					failover()
					load.more(200)
					stop()
					return
				}
				stop()
				primary.Follow(t, false)
				must(t, standby.Stop())
				load, stop = r.galeraLoad("lost", source, 4)
				load.more(200)
				stop()
				failover()
				kept := func(id int64) { r.add("kept", id) } // of the stock of blocks, and of a SEQUENCE's numbers that the log was ahead with
				_ = reasonOf(t, ticket.ErrRegression, source.Next, kept)
				must(t, source.Restore(t.Context(), "server 1", r.greatest()))
				load, stop = r.galeraLoad("restored", source, 4)
				load.more(200)
				stop()
			})
		}
	}
}

// TestOldPrimary starts a primary of PostgreSQL again whose standby has taken over. Where its commits wait for a standby, it gives nothing. Where they do not, a source at each server gives the
// same ids, and none notices, until the one that has come further meets the other server.
func TestOldPrimary(t *testing.T) {
	dbtest.Long(t)
	for name, make := range oneServer {
		for _, synchronous := range []bool{true, false} {
			t.Run(name+map[bool]string{true: " synchronous", false: " asynchronous"}[synchronous], func(t *testing.T) {
				primary := dbtest.StartPostgres(t)
				standby := dbtest.StartStandby(t, primary)
				primary.Follow(t, true)
				d := primary.Database(t)
				promoted := standby.At(t, d)
				pool := dbtest.OpenSwitch(t, d, promoted)
				source := func(db *sql.DB) galeraSource {
					s, err := make(ticket.Server{DB: db, Dialect: ticket.Postgres})
					must(t, err)
					t.Cleanup(func() { _ = s.Close() })
					return s
				}
				old, other := source(pool.DB), source(promoted.Open(t))
				must(t, old.Setup(t.Context()))
				draw := func(s galeraSource, n int) (ids []int64) {
					t.Helper()
					for range n {
						id, err := s.Next(t.Context())
						must(t, err)
						ids = append(ids, id)
					}
					return ids
				}
				draw(old, 50)
				primary.Follow(t, synchronous)
				primary.CaughtUp(t)
				must(t, primary.Kill())
				standby.Promote(t)
				must(t, primary.Start())
				theirs := draw(other, 100)
				if synchronous {
					ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
					defer cancel()
					var err error
					for err == nil { // but for what it has in stock, of before
						var id int64
						if id, err = old.Next(ctx); err == nil && slices.Contains(theirs, id) {
							t.Errorf("%d came twice", id)
						}
					}
					return
				}
				both := 0
				for _, id := range draw(old, 600) {
					if slices.Contains(theirs, id) {
						both++
					}
				}
				t.Logf("%d of 100 ids came twice", both)
				if stats := statsOf(old); both < 50 || stats.State == ticket.Quarantined {
					t.Errorf("%d ids twice, %+v; want both servers to give the same ids, unnoticed", both, stats)
				}
				pool.SetMaxIdleConns(-1) // which closes the connections to the old one
				pool.To(1)
				_ = reasonOf(t, ticket.ErrRegression, old.Next, func(int64) {})
			})
		}
	}
}

// TestCancelledDraw has a driver cancel draws that wait for a standby. PostgreSQL then answers them, and the standby lacks them.
func TestCancelledDraw(t *testing.T) {
	dbtest.Long(t)
	primary := dbtest.StartPostgres(t)
	standby := dbtest.StartStandby(t, primary)
	primary.Follow(t, true)
	d := primary.Database(t)
	config := quick(ticket.Config{Timeout: retryFactor, ServerTimeout: 300 * time.Millisecond}) // many draws are cancelled while a call waits
	server := ticket.Server{DB: d.OpenCancelling(t), Dialect: ticket.Postgres}
	tickets, err := ticket.Replace(config, server)
	must(t, err)
	blocks, err := ticket.Blocks(ticket.BlockConfig{Config: config, Unit: 1, MinStep: 1, MaxStep: 4, Reserve: time.Millisecond}, server)
	must(t, err)
	sources := map[string]galeraSource{"Replace": tickets, "Blocks": blocks}
	for _, source := range sources {
		t.Cleanup(func() { _ = source.Close() })
		must(t, source.Setup(t.Context()))
		_, err := source.Next(t.Context())
		must(t, err)
	}
	must(t, standby.Stop())
	for name, source := range sources {
		stock := 0
		for range 12 { // more than Blocks has in stock
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if _, err := source.Next(ctx); err == nil {
				stock++
			}
			cancel()
		}
		t.Logf("%s: %d ids", name, stock)
		if stock > map[string]int{"Blocks": 6}[name] {
			t.Errorf("%s: got %d ids of draws that the standby lacks", name, stock)
		}
	}
}
