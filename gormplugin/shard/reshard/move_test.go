package reshard_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/gormplugin/shard/reshard"
	idshard "github.com/snowkey-go/snowkey/idgen/shard"
)

// fast are the options of tests.
func fast(progress func(reshard.Progress)) reshard.Options {
	return reshard.Options{Batch: 20, Progress: progress}
}

// fill adds rows, and returns the ledger.
func fill(t *testing.T, m *idshard.Map, n int64, own *place, others ...*place) map[int64]record {
	t.Helper()
	ledger := map[int64]record{}
	for i := range n {
		user := i % 50
		bucket, err := m.Place(user, 0)
		if err != nil {
			t.Fatal(err)
		}
		id := (i+1)<<4 | bucket
		shard, err := m.OfID(id)
		if err != nil {
			t.Fatal(err)
		}
		p := at(m.Shard(shard), own, others)
		p.execute(t, fmt.Sprintf("INSERT INTO %s (%s, %s, %s, %s) VALUES (%d, %d, 'item %d', '2024-05-05 05:05:05')", p.table(m.Shard(shard)), p.quote("Id ?"), p.quote("user"), p.quote("item"), p.quote("at"), id, user, i))
		ledger[id] = record{user, fmt.Sprintf("item %d", i)}
	}
	return ledger
}

func plan(t *testing.T, w reshard.World, next *idshard.Map) *reshard.Plan {
	t.Helper()
	p, err := reshard.NewPlan(t.Context(), w, "m", next)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestMove moves buckets to new tables of the same database, to ones that are there, and back.
func TestMove(t *testing.T) {
	everywhere(t, func(t *testing.T, d idshard.Dialect) {
		own := newPlace(t, d)
		shards := idshard.Tables(4)
		m := setup(t, own, shards[:2]...)
		ledger := fill(t, m, 200, own)
		w := world(own)
		move := func(next *idshard.Map, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			p := plan(t, w, next)
			if err := reshard.Move(t.Context(), w, p, fast(nil)); err != nil {
				t.Fatal(err)
			}
			m = next
			check(t, ledger, m, own)
			if err := reshard.Move(t.Context(), w, p, fast(nil)); err != nil {
				t.Errorf("once more: %v", err)
			}
			status, err := reshard.ReadStatus(t.Context(), w, "m")
			if err != nil || status.State != "done" || status.Plan.Next.Version() != next.Version() {
				t.Errorf("got status %+v, %v", status, err)
			}
		}
		move(m.Grow(shards[2:]...))
		move(m.Move("00", 2, 3)) // from tables to which they came, and one that they were in before
		if _, err := reshard.NewPlan(t.Context(), w, "m", m); !errors.Is(err, idshard.ErrVersion) {
			t.Errorf("got %v of the map in force, want ErrVersion", err)
		}
	})
}

// TestTwoDatabases moves buckets to other databases and back, through the process, under writers.
func TestTwoDatabases(t *testing.T) {
	everywhere(t, func(t *testing.T, d idshard.Dialect) {
		own, other := newPlace(t, d), newPlace(t, d)
		shards := idshard.Tables(3)
		shards[1].Database, shards[2].Database = "db1", "db1"
		m := setup(t, own, shards[:1]...)
		writing := startWriters(t, 2, fill(t, m, 100, own), own, other)
		w := world(own, other)
		move := func(next *idshard.Map, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			if err := reshard.Move(t.Context(), w, plan(t, w, next), fast(nil)); err != nil {
				t.Error(err)
				return
			}
			m = next
		}
		next, err := m.Grow(shards[1:]...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := reshard.NewPlan(t.Context(), w, "m", next); !errors.Is(err, reshard.ErrPlan) || !strings.Contains(err.Error(), "AutoMigrate") {
			t.Errorf("got %v without the table in the other database, want ErrPlan and what to do", err)
		}
		for _, s := range shards[1:] {
			for _, statement := range other.ddl(s) {
				other.execute(t, statement)
			}
		}
		move(next, nil)
		move(m.Move("00", 1, 2, 5))
		move(m.Shrink("00"))
		check(t, writing.end(), m, own, other)
	})
}

// TestAbort undoes a move, killed at some of its states, and makes it once more.
func TestAbort(t *testing.T) {
	everywhere(t, func(t *testing.T, d idshard.Dialect) {
		own := newPlace(t, d)
		shards := idshard.Tables(3)
		m := setup(t, own, shards[:2]...)
		writing := startWriters(t, 2, fill(t, m, 100, own), own)
		w := world(own)
		next, err := m.Grow(shards[2])
		if err != nil {
			t.Fatal(err)
		}
		p := plan(t, w, next)
		if err := reshard.Abort(t.Context(), w, p, fast(nil)); !errors.Is(err, reshard.ErrState) {
			t.Errorf("got %v of a plan that was not begun, want ErrState", err)
		}
		for _, state := range []string{"copy", "verify", "flip"} {
			ctx, cancel := context.WithCancel(t.Context())
			err := reshard.Move(ctx, w, p, fast(func(p reshard.Progress) {
				if p.State == state {
					cancel()
				}
			}))
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("got %v, want that the context has ended at %s", err, state)
			}
			other, err := m.Move("00", 1)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := reshard.NewPlan(t.Context(), w, "m", other); !errors.Is(err, reshard.ErrOther) {
				t.Errorf("got %v of another plan meanwhile, want ErrOther", err)
			}
			if report, err := reshard.Verify(t.Context(), w, "m", nil); err != nil {
				t.Errorf("Verify meanwhile: %v: %+v", err, report)
			}
			if state == "verify" && child(t, p, kill{"fence", 2}, true, own) {
				t.Error("the process that aborts was not killed")
			}
			if err := reshard.Abort(t.Context(), w, p, fast(nil)); err != nil {
				t.Fatal(err)
			}
			if _, err := own.db.Exec("SELECT * FROM " + own.table(shards[2])); err == nil {
				t.Error("the table that the move has made is there")
			}
		}
		if err := reshard.Move(t.Context(), w, p, fast(nil)); err != nil {
			t.Fatal(err)
		}
		if err := reshard.Abort(t.Context(), w, p, fast(nil)); !errors.Is(err, reshard.ErrState) {
			t.Errorf("got %v of a plan that is done, want ErrState", err)
		}
		check(t, writing.end(), next, own)
	})
}

// TestStaleWriter wants who holds the map from before to be refused, from the fence on and for ever, also where the bucket comes back to.
func TestStaleWriter(t *testing.T) {
	everywhere(t, func(t *testing.T, d idshard.Dialect) {
		own := newPlace(t, d)
		shards := idshard.Tables(2)
		m := setup(t, own, shards...)
		ledger := fill(t, m, 60, own)
		w := world(own)
		insert := func(s idshard.Shard, id int64) error {
			_, err := own.db.Exec(fmt.Sprintf("INSERT INTO %s (%s, %s, %s) VALUES (%d, 1, 'stale %d %s')", own.table(s), own.quote("Id ?"), own.quote("user"), own.quote("item"), id, id, s.Name))
			return err
		}
		n := int64(1000)
		for _, to := range []int{1, 0, 1} { // bucket 2 is in shard 00
			next, err := m.Move(shards[to].Name, 2)
			if err != nil {
				t.Fatal(err)
			}
			refused := map[string]bool{}
			if err := reshard.Move(t.Context(), w, plan(t, w, next), fast(func(p reshard.Progress) {
				if p.State == "verify" || p.State == "lease" || p.State == "remove" {
					n++
					refused[p.State] = idshard.IsFenced(insert(shards[1-to], n<<4|2))
				}
				if p.State == "verify" && !idshard.IsFenced(insert(shards[to], n<<4|2)) {
					t.Error("the target was written before the flip")
				}
			})); err != nil {
				t.Fatal(err)
			}
			if len(refused) != 3 || !refused["verify"] || !refused["lease"] || !refused["remove"] {
				t.Errorf("to %d: got refused %v", to, refused)
			}
			n++
			if err := insert(shards[1-to], n<<4|2); !idshard.IsFenced(err) {
				t.Errorf("got %v of a stale writer, want that of a fence", err)
			}
			if err := insert(shards[to], n<<4|2); err != nil {
				t.Errorf("the new table refuses: %v", err)
			}
			ledger[n<<4|2] = record{1, fmt.Sprintf("stale %d %s", n<<4|2, shards[to].Name)}
			m = next
		}
	})
}
