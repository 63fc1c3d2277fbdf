package grant_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// While a database server is down ids flow until the grant ends, then calls fail with the cause; when it is back ids flow
// again from the same keeper.
func TestTheServerIsDown(t *testing.T) {
	for name, start := range map[string]func(t testing.TB, _ ...string) *dbtest.Server{"mysql": dbtest.StartMySQL, "postgres": dbtest.StartPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := start(t)
			dialect, err := grant.LookupDialect(name)
			if err != nil {
				t.Fatal(err)
			}
			config := grant.Config{For: 2 * time.Second, Every: 100 * time.Millisecond, Timeout: time.Second}
			k := open(t, grant.SQL(server.Database(t).Open(t), dialect), config)
			for _, down := range []struct{ begin, end func() error }{
				{server.Kill, func() error { return server.Start() }},
				{server.Pause, server.Resume},
				{server.Stop, func() error { return server.Start() }},
			} {
				if err := down.begin(); err != nil {
					t.Fatal(err)
				}
				var last idgen.Parts
				deadline := time.Now().Add(time.Minute)
				for err = nil; err == nil && time.Now().Before(deadline); {
					var id int64
					if id, err = k.Next(t.Context()); err == nil {
						if last, err = k.Layout().Decode(id); err != nil {
							t.Fatal(err)
						}
					}
				}
				var ended *grant.EndedError
				if !errors.As(err, &ended) || ended.Cause == nil {
					t.Fatalf("got %v, want an EndedError with its cause", err)
				}
				// How close it comes depends on the machine; TestTheStoreIsDown sees it to the tick.
				if until := k.State().Until; !ended.Until.Equal(until) || !last.Time.Before(until) {
					t.Errorf("the last id is of %s, granted until %s", last.Time, until)
				}
				if err := down.end(); err != nil {
					t.Fatal(err)
				}
				for id := int64(0); id == 0; {
					if id, err = k.Next(t.Context()); err != nil && time.Now().After(deadline) {
						t.Fatalf("no ids since the server is back: %v", err)
					}
				}
			}
			if s := k.State(); s.Acquired != 1 || s.Lost != 0 {
				t.Errorf("got %+v, want one number throughout", s)
			}
		})
	}
}

// Numbers are used again and again: 4 bits of them are enough for ten thousand starts and ends, with SNOWKEY_TORTURE; else it makes fewer.
func TestStartAndStopOnDatabases(t *testing.T) {
	for name, make := range map[string]func(testing.TB) dbtest.Database{"sqlite": dbtest.SQLite, "mysql": dbtest.MySQL, "postgres": dbtest.Postgres} {
		t.Run(name, func(t *testing.T) {
			dialect, err := grant.LookupDialect(name)
			if err != nil {
				t.Fatal(err)
			}
			store := grant.SQL(make(t).Open(t), dialect)
			other := open(t, store, grant.Config{Generator: []idgen.Option{small(t)}}) // holds a number all the time
			cycles := 300
			if os.Getenv("SNOWKEY_TORTURE") != "" {
				cycles = 10_000
			}
			startAndStop(t, store, cycles)
			listing, err := store.List(t.Context(), "default", 0, 15)
			if err != nil || len(listing.Rows) > 10 {
				t.Errorf("got %d rows, %v, want few, used again", len(listing.Rows), err)
			}
			if err := other.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
