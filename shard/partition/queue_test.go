package partition_test

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// Statements that wait while rows are moved see the rows where they are afterwards.
func TestStatementsThatWaitForAMove(t *testing.T) {
	e := newEngine(t, dbtest.Postgres(t))
	now := noon
	settings := orders()
	settings.LockWait = time.Minute
	e.create(t, settings)
	first := idAt(t, now, 0)
	e.exec(t, fmt.Sprintf("INSERT INTO orders (id) SELECT %d + n FROM generate_series(0, 999) AS n", first))
	end := e.begin(t)
	ran := make(chan error, 1)
	go func() {
		_, err := e.keeper(t, settings, &now).Run(t.Context())
		ran <- err
	}()
	e.awaitWaiting(t, 1)

	// SELECT returns its count, the others that of their rows.
	selected := make(chan string, 1)
	go func() {
		var n int64
		err := e.db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM orders").Scan(&n)
		selected <- fmt.Sprint(n, err)
	}()
	e.awaitWaiting(t, 2) // which is before the DELETE in the queue
	changed := map[string]chan string{
		fmt.Sprintf("DELETE FROM orders WHERE id = %d", first):                                                           make(chan string, 1),
		fmt.Sprintf("INSERT INTO orders (id, note) VALUES (%d, 'x') ON CONFLICT (id) DO UPDATE SET note = 'x'", first+1): make(chan string, 1),
	}
	for statement, result := range changed {
		go func() {
			done, err := e.db.ExecContext(t.Context(), statement)
			if err != nil {
				result <- err.Error()
				return
			}
			n, err := done.RowsAffected()
			result <- fmt.Sprint(n, err)
		}()
	}
	e.awaitWaiting(t, 4)
	end()
	if got := <-selected; got != "1000 <nil>" && got != "999 <nil>" { // the DELETE may end first
		t.Errorf("got %s of SELECT COUNT(*), want all 1000 rows", got)
	}
	for statement, result := range changed {
		if got := <-result; got != "1 <nil>" {
			t.Errorf("%s: got %s, want 1 row", statement, got)
		}
	}
	if err := <-ran; err != nil {
		t.Error(err)
	}
	if got := e.unplaced(t); got != 0 {
		t.Errorf("got %d rows in no partition of their own", got)
	}
}

// An INSERT that waits while the partition of now is made finds it.
func TestInsertThatWaitsForItsPartition(t *testing.T) {
	e := newEngine(t, dbtest.Postgres(t))
	now := noon
	settings := orders()
	settings.LockWait = time.Minute
	e.create(t, settings)
	end := e.begin(t)
	ran, inserted := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := e.keeper(t, settings, &now).Run(t.Context())
		ran <- err
	}()
	e.awaitWaiting(t, 1)
	statement := fmt.Sprintf("INSERT INTO orders (id) VALUES (%d)", idAt(t, now, 0))
	go func() {
		_, err := e.db.ExecContext(t.Context(), statement)
		inserted <- err
	}()
	e.awaitWaiting(t, 2)
	end()
	if err := <-inserted; err != nil {
		t.Errorf("%s: %v", statement, err)
	}
	if err := <-ran; err != nil {
		t.Error(err)
	}
}

// A snapshot from before the move does not find moved rows by their ids, which the documentation says.
func TestOldSnapshotBesideAMove(t *testing.T) {
	e := newEngine(t, dbtest.Postgres(t))
	now := noon
	e.create(t, orders())
	id := e.insert(t, now, 0)
	tx, err := e.db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	count := func(query string) (n int64) {
		if err := tx.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	count("SELECT COUNT(*) FROM pg_class") // takes the snapshot
	run(t, e.keeper(t, orders(), &now))
	byID, all := count(fmt.Sprintf("SELECT COUNT(*) FROM orders WHERE id = %d", id)), count("SELECT COUNT(*) FROM orders")
	if byID != 0 || all != 1 {
		t.Errorf("got %d rows by the id and %d in all, want 0 and, in the default partition, 1", byID, all)
	}
}

// awaitWaiting returns when so many sessions of PostgreSQL wait for a lock.
func (e *engine) awaitWaiting(t testing.TB, want int64) {
	t.Helper()
	for range 10_000 {
		if e.count(t, "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") == want {
			return
		}
		time.Sleep(3 * time.Millisecond)
	}
	t.Fatalf("not %d sessions wait", want)
}
