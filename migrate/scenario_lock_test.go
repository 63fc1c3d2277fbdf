package migrate_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/migrate"
	"github.com/snowkey-go/snowkey/migrate/internal/journal"
	"github.com/snowkey-go/snowkey/migrate/internal/run"
)

// longTransaction has a transaction that stays open while a run needs the table's lock. Readers that come meanwhile queue behind the run: they get on between its
// attempts, and it ends after the last and can be run again.
func longTransaction(t *testing.T, d *database) {
	d.exec(d.parents(300)...)
	p := d.plan(migrate.InspectOptions{}, migrate.PlanOptions{Mode: migrate.Rekey, Zone: "UTC"})
	d.runUntil(p, "flip")
	ctx := context.Background()
	conn, err := d.pool.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	begin := map[string]string{"sqlite": "BEGIN IMMEDIATE", "mysql": "START TRANSACTION", "postgres": "BEGIN"}[d.kind]
	open := []string{begin, "SELECT COUNT(*) FROM parents", "UPDATE parents SET name = name WHERE id = 1"}
	for _, s := range open {
		if _, err := conn.ExecContext(ctx, s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	before := d.lines("SELECT * FROM parents ORDER BY id")
	reader := d.readWhileQueued()
	failed := 0
	options := migrate.RunOptions{LockWait: time.Second, Attempts: 3, Continue: migrate.DeployWriters, Progress: func(p migrate.Progress) {
		if p.Waits != "a lock" {
			return
		}
		failed++ // the next attempt is not made before this returns
		if reader.queued.Load() {
			reader.await(t)
		}
	}}
	limited, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // a run that waits for ever fails the test
	defer cancel()
	outcome, err := d.runToError(limited, p, options)
	if !reader.queued.Load() {
		t.Fatalf("no statement of the run was seen to wait: %v", err)
	}
	reader.await(t)
	if !errors.Is(err, run.ErrLocked) {
		t.Fatalf("got %+v, %v, want %v", outcome, err, run.ErrLocked)
	}
	if failed != options.Attempts-1 {
		t.Errorf("the run waited %d times between its attempts, want %d", failed, options.Attempts-1)
	}
	d.same("the rows meanwhile", d.lines("SELECT * FROM parents ORDER BY id"), before)
	d.stoppedWell(p, err)
	if _, err := conn.ExecContext(ctx, "COMMIT"); err != nil {
		t.Fatal(err)
	}
	d.run(p)
	d.none("parents with old ids", "SELECT COUNT(*) FROM parents WHERE id < 4398046511104")
	d.none("children of other parents", wrong)
}

// runToError runs a plan through its holds to an error, or its end.
func (d *database) runToError(ctx context.Context, p *migrate.Plan, o migrate.RunOptions) (outcome migrate.Outcome, err error) {
	for err == nil && !outcome.Done {
		if outcome, err = migrate.Run(ctx, d.gorm, p, o); outcome.Hold != "" {
			o.Continue = outcome.Hold
		}
	}
	return outcome, err
}

// stoppedWell looks at the journal of a run that stopped for a lock, and at what it said.
func (d *database) stoppedWell(p *migrate.Plan, stopped error) {
	d.t.Helper()
	status, err := migrate.ReadStatus(d.t.Context(), d.gorm)
	if err != nil {
		d.t.Fatal(err)
	}
	how := "run again goes on at step"
	if d.kind == "sqlite" {
		how = "look for a transaction that stays open" // it has the only lock there is, so that the run could not begin
	}
	if !strings.Contains(stopped.Error(), how) {
		d.t.Errorf("got %q, want how to go on: %s", stopped, how)
	}
	if len(status.Plans) != 1 || status.Plans[0].State != string(journal.Running) {
		d.t.Errorf("got %+v in the journal, want one plan that is running", status.Plans)
	}
	for i, s := range status.Steps {
		if s.State != journal.StepDone && (s.State != journal.StepBegun && s.State != journal.StepHeld || i != len(status.Steps)-1) {
			d.t.Errorf("got %+v in the journal, want it to be done, or begun or held and the last", s)
		}
	}
	if len(status.Steps) == 0 && d.kind != "sqlite" || len(status.Steps) >= len(p.Steps) { // the flip is all that SQLite needs before
		d.t.Errorf("the journal has %d steps of %d, want some", len(status.Steps), len(p.Steps))
	}
}

// queued is the query for 1 when a statement waits for the lock of the table.
var queued = map[string]string{
	"mysql":    "SELECT CASE WHEN COUNT(*) > 0 THEN 1 ELSE 0 END FROM information_schema.processlist WHERE db = DATABASE() AND state LIKE 'Waiting for table metadata lock%'",
	"postgres": "SELECT CASE WHEN COUNT(*) > 0 THEN 1 ELSE 0 END FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
	"sqlite":   "SELECT 1", // readers queue behind nobody
}

// queuedReader is one that reads when a statement of the run waits for a lock.
type queuedReader struct {
	queued atomic.Bool // the statement was seen
	read   chan error  // what came of it
}

// await waits until it has read. It fails the test when the reader gets nothing, though nobody has a lock that is in its way any more.
func (r *queuedReader) await(t *testing.T) {
	t.Helper()
	select {
	case err, first := <-r.read:
		if first && err != nil {
			t.Errorf("the reader that queued: %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Error("the reader still waits, though the run does not wait for the lock any more")
	}
}

// readWhileQueued starts a reader.
func (d *database) readWhileQueued() *queuedReader {
	r := &queuedReader{read: make(chan error, 1)}
	ctx := d.t.Context()
	go func() {
		defer close(r.read)
		for waiting := 0; waiting == 0; {
			if err := d.pool.QueryRowContext(ctx, queued[d.kind]).Scan(&waiting); err != nil {
				r.read <- err
				return
			}
		}
		r.queued.Store(true)
		var n int
		r.read <- d.pool.QueryRowContext(ctx, "SELECT COUNT(*) FROM parents").Scan(&n)
	}()
	return r
}
