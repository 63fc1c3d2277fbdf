package migrate_test

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

	"github.com/snowkey-go/snowkey/migrate"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// concurrentParents is how many rows are rewritten while others write.
const concurrentParents = 700

// concurrentInserts has rows inserted that refer to those that are being rewritten, with a foreign key and without one.
func concurrentInserts(t *testing.T, d *database) {
	d.exec(d.parents(concurrentParents)...)
	key := map[string]string{"sqlite": "INTEGER PRIMARY KEY", "mysql": "BIGINT AUTO_INCREMENT PRIMARY KEY", "postgres": "bigserial PRIMARY KEY"}[d.kind]
	d.exec("CREATE TABLE notes (id "+key+", parent_id BIGINT NOT NULL, name VARCHAR(40) NOT NULL)",
		"INSERT INTO notes (parent_id, name) VALUES (999999, 'orphan'), (999998, 'orphan'), (999997, 'orphan')")
	if d.kind == "mysql" { // keys that are not first in an index lock all rows
		d.exec("CREATE INDEX parents_name ON parents (name)")
	}
	p := d.plan(migrate.InspectOptions{References: []string{"notes.parent_id=parents.id"}},
		migrate.PlanOptions{Mode: migrate.Rekey, Tables: []string{"parents"}, Zone: "UTC"})
	d.runUntil(p, "flip")
	w := &writers{database: d}
	ctx, stop := context.WithCancel(t.Context())
	var done sync.WaitGroup
	for seed := range uint64(2) {
		done.Go(func() { w.insert(ctx, rand.New(rand.NewPCG(seed, 9))) })
	}
	d.runSlowly(p, func(now migrate.Progress) { w.late(p.Steps[now.Step-1], now) })
	stop()
	done.Wait()
	for _, c := range d.checks(p) { // a row that was under way when the digest was taken makes a set of rows unknown
		if c.Result == migrate.Failed || c.Result == migrate.Unknown && c.Name != "digest" {
			t.Errorf("verify: %+v", c)
		}
	}
	if outcome := d.runUntil(p, ""); !outcome.Done {
		t.Fatalf("got %+v, want the end of the plan", outcome)
	}
	t.Logf("%d children and %d notes inserted, %d tried again for a foreign key", w.children.Load(), w.notes.Load(), w.again.Load())
	if w.again.Load() < 1 || !w.was.Load() {
		t.Error("no row was inserted with an id of before, so nothing was shown")
	}
	d.none("children of other parents", wrong)
	d.none("orphans beside those of before", "SELECT COUNT(*) - 3 FROM notes n LEFT JOIN parents p ON p.id = n.parent_id WHERE p.id IS NULL")
	d.none("notes of other parents", "SELECT COUNT(*) FROM notes n JOIN parents p ON p.id = n.parent_id WHERE p.name <> n.name")
	d.none("parents with old ids", "SELECT COUNT(*) FROM parents WHERE id < 4398046511104")
	d.none("children that were lost", fmt.Sprintf("SELECT COUNT(*) - %d FROM children", concurrentParents+w.children.Load()))
	d.none("notes that were lost", fmt.Sprintf("SELECT COUNT(*) - %d FROM notes", 3+w.notes.Load()))
}

// runSlowly runs a plan up to its last phase, in small batches with pauses.
func (d *database) runSlowly(p *migrate.Plan, progress func(migrate.Progress)) {
	d.t.Helper()
	var outcome migrate.Outcome
	for outcome.Held == "" || p.Steps[outcome.Step].Phase != "contract" {
		var err error
		if outcome, err = migrate.Run(d.t.Context(), d.gorm, p, migrate.RunOptions{
			Continue: outcome.Hold, Target: time.Millisecond, Throttle: 0.5, LockWait: time.Second, Attempts: 1000, // the writers leave it little of SQLite's lock
			Progress: progress,
		}); err != nil {
			d.t.Fatal(err)
		}
	}
}

// writers insert rows for parents, which they know by name.
type writers struct {
	*database
	children, notes atomic.Int64 // inserted
	again           atomic.Int64 // times that a foreign key refused a parent's key of before
	was             atomic.Bool  // a note was inserted with a key of before
}

// insert inserts a child and a note of any parent, over and over.
func (w *writers) insert(ctx context.Context, random *rand.Rand) {
	for ctx.Err() == nil {
		name := fmt.Sprint(1 + random.IntN(concurrentParents))
		if w.child(name, 0) {
			w.children.Add(1)
		}
		if w.try(func() error { return w.note(name) }) {
			w.notes.Add(1)
		}
	}
}

// try does something until it succeeds. Locks, foreign keys and plans that are not valid any more are what it is tried again for.
func (w *writers) try(do func() error) bool {
	for {
		err := do()
		if err == nil {
			return true
		}
		text := strings.ToLower(err.Error())
		switch {
		case strings.Contains(text, "foreign key"):
			w.again.Add(1)
		case strings.Contains(text, "deadlock"), strings.Contains(text, "lock wait"), strings.Contains(text, "locked"), strings.Contains(text, "cached plan"):
		default:
			w.t.Errorf("a writer failed: %v", err)
			return false
		}
		if w.t.Context().Err() != nil {
			return false
		}
	}
}

// child inserts a child of the parent of a name, whose key it reads, but for the first attempt when it is given.
func (w *writers) child(name string, key int64) bool {
	return w.try(func() error {
		if key == 0 {
			if err := w.pool.QueryRow("SELECT id FROM parents WHERE name = '" + name + "'").Scan(&key); err != nil {
				return err
			}
		}
		_, err := w.pool.Exec(fmt.Sprintf("INSERT INTO children (parent_id, name) VALUES (%d, '%s')", key, name))
		key = 0
		return err
	})
}

// note inserts a note. It holds the parent's row, as nothing else guards a reference that is not declared.
func (w *writers) note(name string) error {
	return w.transact(func(conn *sql.Conn) error {
		var key int64
		if err := conn.QueryRowContext(context.Background(), "SELECT id FROM parents WHERE name = '"+name+"'"+w.hold()).Scan(&key); err != nil {
			return err
		}
		_, err := conn.ExecContext(context.Background(), fmt.Sprintf("INSERT INTO notes (parent_id, name) VALUES (%d, '%s')", key, name))
		return err
	})
}

// hold is what a SELECT has at its end that locks the row.
func (w *writers) hold() string {
	if w.kind == "sqlite" {
		return ""
	}
	return " FOR UPDATE"
}

// transact does something in a transaction that has SQLite's lock.
func (w *writers) transact(do func(*sql.Conn) error) error {
	ctx := context.Background()
	conn, err := w.pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	begin := "BEGIN"
	if w.kind == "sqlite" {
		begin = "BEGIN IMMEDIATE"
	}
	if _, err := conn.ExecContext(ctx, begin); err != nil {
		return err
	}
	if err := do(conn); err != nil {
		_, _ = conn.ExecContext(ctx, "ROLLBACK") // the error before it says more
		return err
	}
	_, err = conn.ExecContext(ctx, "COMMIT")
	return err
}

// late inserts rows with the first parent's old id between two ranges of the rewriting, when the first parent has its new id and the last one
// not: a child, which is refused and inserted with the new id, and a note, which nothing refuses. A run reports synchronously, outside of
// transactions, and at most once in 100 ms: after that pause the first range is reported, which has 500 of the 700 parents.
func (w *writers) late(step plan.Step, now migrate.Progress) {
	if w.was.Load() || step.Phase != "rewrite" {
		return
	}
	if now.Rows == 0 && now.Waits == "" {
		time.Sleep(101 * time.Millisecond)
	}
	var first, last int64
	count := fmt.Sprintf("SELECT SUM(CASE WHEN id = 1 THEN 1 ELSE 0 END), SUM(CASE WHEN id = %d THEN 1 ELSE 0 END) FROM parents", concurrentParents)
	if !w.try(func() error { return w.pool.QueryRow(count).Scan(&first, &last) }) || first != 0 || last != 1 || !w.child("1", 1) {
		return
	}
	w.children.Add(1)
	if w.try(func() error {
		_, err := w.pool.Exec("INSERT INTO notes (parent_id, name) VALUES (1, '1')")
		return err
	}) {
		w.notes.Add(1)
		w.was.Store(true)
	}
}
