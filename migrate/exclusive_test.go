//go:build linux

package migrate_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/migrate"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// TestExclusive takes a whole schema through an exclusive rekey, and another one there and back. A role of PostgreSQL that may not keep triggers
// from firing drops the foreign keys, and makes them again.
func TestExclusive(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	forEach(t, func(t *testing.T, d *database) { exclusively(t, d, func(d *database) *database { return d }) })
	t.Run("postgres as owner", func(t *testing.T) {
		t.Parallel()
		exclusively(t, open(t, "postgres"), func(d *database) *database { return d.as(t) })
	})
}

func exclusively(t *testing.T, d *database, as func(*database) *database) {
	o := samplePlan(migrate.Rekey)
	o.Exclusive = true
	d.sample(100)
	before := d.checksum()
	user := as(d)
	p := user.plan(sampleInspection, o)
	dropped := slices.ContainsFunc(p.Steps, func(s plan.Step) bool {
		return slices.ContainsFunc(s.Do.SQL, func(q string) bool { return strings.Contains(q, "DROP CONSTRAINT") })
	})
	if want := user != d; dropped != want {
		t.Errorf("foreign keys are dropped: %t, want %t", dropped, want)
	}
	user.run(p)
	d = fresh(d)
	if after := d.checksum(); after != before {
		t.Errorf("the contents have changed: got %s, want %s", after, before)
	}
	if !dropped {
		d.use(migrate.Rekey)
	}

	back := open(t, d.kind)
	back.sample(100)
	o.Keep = true
	user = as(back)
	p = user.plan(sampleInspection, o)
	was := back.contents()
	user.runUntil(p, "")
	user.rollback(p)
	fresh(back).isBack("exclusive", was)
}

// fresh returns the database through a pool of its own: a connection of PostgreSQL's keeps plans from before types were changed.
func fresh(d *database) *database { return connect(d.t, d.kind, d.name) }

// TestExclusiveBesideWriters has children inserted beside an exclusive rekey of their parents: the inserts wait while the rows are rewritten, one with a parent's key
// of before is refused, and none is lost.
func TestExclusiveBesideWriters(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, d *database) {
		dbtest.LongOn(t, d.kind, "postgres")
		d.exec(d.parents(concurrentParents)...)
		if d.kind == "mysql" {
			d.exec("CREATE INDEX parents_name ON parents (name)")
		}
		p := d.plan(migrate.InspectOptions{}, migrate.PlanOptions{Mode: migrate.Rekey, Exclusive: true, Tables: []string{"parents"}, Zone: "UTC"})
		d.runUntil(p, "flip")
		w := &writers{database: d}
		ctx, stop := context.WithCancel(t.Context())
		var done sync.WaitGroup
		for seed := range uint64(2) {
			done.Go(func() {
				for random := rand.New(rand.NewPCG(seed, 9)); ctx.Err() == nil; {
					if w.child(fmt.Sprint(1+random.IntN(concurrentParents)), 0) {
						w.children.Add(1)
					}
				}
			})
		}
		inserted := func(more int64) {
			for want := w.children.Load() + more; w.children.Load() < want && t.Context().Err() == nil && !t.Failed(); {
				time.Sleep(time.Millisecond)
			}
		}
		inserted(10)
		d.runUntil(p, "contract")
		inserted(10)
		stop()
		done.Wait()
		again := w.again.Load()
		if w.child("1", 1) {
			w.children.Add(1)
		}
		if w.again.Load() == again {
			t.Error("a child with the key that its parent had before was not refused")
		}
		d.none("children of other parents", wrong)
		d.none("parents with old ids", "SELECT COUNT(*) FROM parents WHERE id < 4398046511104")
		d.none("children that were lost", fmt.Sprintf("SELECT COUNT(*) - %d FROM children", concurrentParents+w.children.Load()))
		if outcome := d.runUntil(p, ""); !outcome.Done {
			t.Fatalf("got %+v, want the end of the plan", outcome)
		}
	}, "mysql", "postgres")
}

// TestExclusiveSeesOpenTransactions has a reference that no foreign key guards written by a transaction that is open when the rewriting begins, on PostgreSQL, whose statements
// do not see it: the run waits for the transaction's end first.
func TestExclusiveSeesOpenTransactions(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, d *database) {
		dbtest.LongOn(t, d.kind, "postgres")
		d.exec(d.parents(10)...)
		d.exec("CREATE TABLE notes (id bigserial PRIMARY KEY, parent_id bigint NOT NULL)", "INSERT INTO notes (parent_id) SELECT id FROM parents")
		p := d.plan(migrate.InspectOptions{References: []string{"notes.parent_id=parents.id"}}, migrate.PlanOptions{Mode: migrate.Rekey, Exclusive: true, Tables: []string{"parents"}, Zone: "UTC"})
		other := connect(t, d.kind, d.name)
		var tx *sql.Tx
		var ended sync.WaitGroup
		ran, end := context.WithCancel(t.Context())
		outcome := d.runUntil(p, "flip")
		_, err := migrate.Run(t.Context(), d.gorm, p, migrate.RunOptions{Continue: outcome.Hold, Progress: func(now migrate.Progress) {
			if tx != nil || p.Steps[now.Step-1].Phase != "rewrite" {
				return
			}
			var err error
			if tx, err = other.pool.Begin(); err == nil {
				_, err = tx.Exec("INSERT INTO notes (parent_id) SELECT MIN(id) FROM parents")
			}
			if err != nil {
				t.Error(err)
				return
			}
			ended.Go(func() {
				for waits := 0; waits == 0 && ran.Err() == nil; time.Sleep(time.Millisecond) {
					if err := other.pool.QueryRow(queued[d.kind]).Scan(&waits); err != nil {
						t.Error(err)
						break
					}
				}
				if err := tx.Commit(); err != nil {
					t.Error(err)
				}
			})
		}})
		end()
		if ended.Wait(); err != nil || tx == nil {
			t.Fatalf("got %v, and that a transaction was begun: %t", err, tx != nil)
		}
		d.none("notes of no parent", "SELECT COUNT(*) FROM notes WHERE parent_id NOT IN (SELECT id FROM parents)")
	}, "postgres")
}
