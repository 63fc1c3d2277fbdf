package grant_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/idgen/grant/granttest"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestStandbyTakesOver kills the primary of PostgreSQL and has its standby take over. With synchronous replication no id comes twice. Without it, and with a standby that was behind, the ids
// that may come twice are all in the ranges that the keepers report.
func TestStandbyTakesOver(t *testing.T) {
	dbtest.Long(t)
	start := func(t *testing.T) (primary, standby *dbtest.Server, pool *dbtest.Switch, promoted dbtest.Database) {
		primary = dbtest.StartPostgres(t)
		standby = dbtest.StartStandby(t, primary)
		d := primary.Database(t)
		promoted = standby.At(t, d)
		return primary, standby, dbtest.OpenSwitch(t, d, promoted), promoted
	}

	t.Run("synchronous", func(t *testing.T) {
		primary, standby, pool, _ := start(t)
		primary.Follow(t, true)
		store := grant.SQL(pool.DB, grant.Postgres)
		fleet := granttest.StartFleet(t, func() grant.Store { return store })
		more(t, fleet, 10_000)
		must(t, primary.Kill())
		standby.Promote(t)
		pool.To(1)
		more(t, fleet, 10_000)
		fleet.Stop()
	})

	t.Run("asynchronous", func(t *testing.T) {
		primary, standby, pool, promoted := start(t)
		config := grant.Config{Generator: twoNumbers(t), For: time.Minute, First: 20 * time.Second, Every: 2 * time.Second}
		store := grant.SQL(pool.DB, grant.Postgres)
		primary.Follow(t, true)
		must(t, open(t, store, config).Close()) // the standby has the table
		primary.Follow(t, false)
		must(t, standby.Stop()) // what is granted from here on it never gets
		before := open(t, store, config)
		must(t, primary.Kill())
		must(t, standby.Start())
		standby.Promote(t)
		var after []*grant.Keeper // they have all numbers that the standby knows of, and so that of before, which renews where no server answers
		for range 2 {
			after = append(after, open(t, grant.SQL(promoted.Open(t), grant.Postgres), config))
		}
		pool.To(1)
		reportsDoubt(t, store, before, after, nil, nil)
	})
}

// reportsDoubt has a keeper notice that its grant is forgotten, while it and those make ids that have its number since. All that come twice are in the range that it reports.
// Old and others are ids that they have made already.
func reportsDoubt(t *testing.T, store *grant.SQLStore, before *grant.Keeper, after []*grant.Keeper, old, others []int64) {
	t.Helper()
	for end := time.Now().Add(time.Minute); len(before.State().Losses) == 0; {
		if time.Now().After(end) {
			t.Fatal("the keeper has not noticed within a minute")
		}
		for _, k := range append(slices.Clone(after), before) {
			id, err := k.Next(t.Context())
			switch {
			case k == before && err == nil:
				old = append(old, id)
			case k == before && !errors.Is(err, grant.ErrTaken) && !errors.Is(err, grant.ErrEnded):
				t.Fatal(err)
			case err == nil:
				others = append(others, id)
			}
		}
	}
	loss := before.State().Losses[0]
	both := twice(old, others)
	t.Logf("%d ids twice of %d; in doubt: ticks %d to %d of number %d", len(both), len(old), loss.From.UnixMilli(), loss.Until.UnixMilli(), loss.Loss.Number)
	if len(both) == 0 {
		t.Error("no id came twice, so there was nothing in doubt")
	}
	for _, id := range both {
		parts, err := before.Layout().Decode(id)
		must(t, err)
		if at := parts.Time; at.Before(loss.From) || !at.Before(loss.Until) {
			t.Errorf("id %d of %v came twice, outside of %v to %v", id, at, loss.From, loss.Until)
		}
	}
	var recorded []grant.Loss // at the keeper's next attempt
	for end := time.Now().Add(time.Minute); len(recorded) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the loss was not recorded within a minute")
		}
		recorded, _ = store.Losses(t.Context(), grant.DefaultSpace)
	}
	if len(recorded) != 1 || recorded[0] != loss.Loss {
		t.Errorf("recorded %+v, want %+v", recorded, loss.Loss)
	}
}

// twoNumbers is a layout of which two keepers have all numbers.
func twoNumbers(t *testing.T) []idgen.Option {
	t.Helper()
	layout, err := idgen.NewLayout(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond, idgen.Time.Bits(41), idgen.Node.Bits(1), idgen.Sequence.Bits(4))
	must(t, err)
	return []idgen.Option{layout}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestOldPrimary starts a primary of PostgreSQL again whose standby has taken over. Where its commits wait for a standby, it acknowledges nothing, and no id comes twice. Where they do
// not, processes that stay at the one and the other server make the same ids, and none notices. The keeper whose connections move from the old primary to the new one
// does, and reports the ids since the present holder of its number has it.
func TestOldPrimary(t *testing.T) {
	dbtest.Long(t)
	start := func(t *testing.T, synchronous bool) (primary *dbtest.Server, standby *dbtest.Server, old, promoted dbtest.Database) {
		primary = dbtest.StartPostgres(t)
		standby = dbtest.StartStandby(t, primary)
		primary.Follow(t, true)
		old = primary.Database(t)
		promoted = standby.At(t, old)
		primary.Follow(t, synchronous)
		return primary, standby, old, promoted
	}

	t.Run("synchronous", func(t *testing.T) {
		primary, standby, old, promoted := start(t, true)
		pools := []*sql.DB{old.Open(t), promoted.Open(t)}
		n := 0
		fleet := granttest.StartFleet(t, func() grant.Store {
			n++
			return grant.SQL(pools[n%2], grant.Postgres)
		})
		more(t, fleet, 1000)
		must(t, primary.Kill())
		standby.Promote(t)
		more(t, fleet, 1000)
		must(t, primary.Start())
		logger := slog.New(slog.DiscardHandler)
		for range 3 { // each attempt makes rows there that no standby has
			_, err := grant.Open(t.Context(), grant.SQL(pools[0], grant.Postgres), grant.Config{Space: "old", Timeout: time.Second, Logger: logger})
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got the error %v, want the end of the attempt's time", err)
			}
		}
		more(t, fleet, 1000)
		fleet.Stop()
	})

	t.Run("asynchronous", func(t *testing.T) {
		primary, standby, old, promoted := start(t, false)
		pool := dbtest.OpenSwitch(t, old, promoted)
		pool.SetMaxIdleConns(-1) // each transaction has a connection of its own
		config := grant.Config{Generator: twoNumbers(t), For: 10 * time.Second, First: 10 * time.Second, Every: 500 * time.Millisecond, Wait: time.Minute, Timeout: 10 * time.Second}
		stays := grant.SQL(pool.DB, grant.Postgres)
		at := open(t, stays, config)
		primary.CaughtUp(t)
		must(t, primary.Kill())
		standby.Promote(t)
		must(t, primary.Start())
		var after []*grant.Keeper // the second one waits for the grant that was known to the standby
		for range 2 {
			after = append(after, open(t, grant.SQL(promoted.Open(t), grant.Postgres), config))
		}
		var ids, others []int64
		renewed := at.State().Renewed
		for end := time.Now().Add(time.Minute); len(twice(ids, others)) < 100 || at.State().Renewed < renewed+5; {
			if time.Now().After(end) {
				t.Fatal("no 100 ids came twice within a minute")
			}
			for _, k := range append(slices.Clone(after), at) {
				id, err := k.Next(t.Context())
				switch {
				case errors.Is(err, grant.ErrEnded): // on a busy machine, until the next renewal
				case err != nil:
					t.Fatal(err)
				case k == at:
					ids = append(ids, id)
				default:
					others = append(others, id)
				}
			}
		}
		for i, k := range append(slices.Clone(after), at) {
			if s := k.State(); s.Lost > 0 || len(s.Losses) > 0 {
				t.Errorf("keeper %d has noticed: %+v", i, s)
			}
		}
		t.Logf("%d ids twice of %d, and nobody has noticed", len(twice(ids, others)), len(ids))
		pool.To(1)
		reportsDoubt(t, grant.SQL(promoted.Open(t), grant.Postgres), at, after, ids, others)
	})
}

// TestCancelledCommit has a driver cancel the COMMIT of a swap that waits for a standby. PostgreSQL then acknowledges it, and the standby lacks it.
func TestCancelledCommit(t *testing.T) {
	dbtest.Long(t)
	primary := dbtest.StartPostgres(t)
	standby := dbtest.StartStandby(t, primary)
	primary.Follow(t, true)
	store := grant.SQL(primary.Database(t).OpenCancelling(t), grant.Postgres)
	_, err := store.Prepare(t.Context(), grant.DefaultSpace, "a")
	must(t, err)
	swap := func(number int64) (bool, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		return store.Swap(ctx, grant.DefaultSpace, grant.Row{Number: number, Holder: grant.Absent}, grant.Row{Number: number, Holder: "a", From: 1, Until: 2})
	}
	if done, err := swap(1); !done || err != nil {
		t.Fatalf("with the standby: got %t, %v", done, err)
	}
	must(t, standby.Stop())
	for number := range int64(3) {
		if done, err := swap(number + 2); done || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without the standby: got %t, %v, want the context's error", done, err)
		}
	}
}
