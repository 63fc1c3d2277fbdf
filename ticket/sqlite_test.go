package ticket_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/ticket"
)

// TestSQLiteMovedForwardByHand has the row moved by UPDATE, which SQLite's own counter does not notice: the tickets go on after it.
func TestSQLiteMovedForwardByHand(t *testing.T) {
	t.Parallel()
	d, r, config := dbtest.SQLite(t), newRecorder(t), quick(ticket.Config{})
	source, db := setUp(t, config, d), open(t, d)
	r.draw("before", source, 50)
	execute(t, db, "UPDATE snowkey_tickets SET id = 1000")
	for name, s := range map[string]*ticket.Tickets{"a source that runs": source, "a new process": sourceOf(t, config, d)} {
		if id := r.draw(name, s, 20)[0]; id <= 1000 {
			t.Errorf("%s got %d, want more than 1000", name, id)
		}
	}
}

// TestSQLiteCounterSetBack has SQLite's own counter set back, and taken away. No ticket comes twice, of sequences that share the table neither.
func TestSQLiteCounterSetBack(t *testing.T) {
	t.Parallel()
	for name, statement := range map[string]string{
		"set back": "UPDATE sqlite_sequence SET seq = 1 WHERE name = 'snowkey_tickets'",
		"deleted":  "DELETE FROM sqlite_sequence WHERE name = 'snowkey_tickets'",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, r, config := dbtest.SQLite(t), newRecorder(t), quick(ticket.Config{})
			source, db := setUp(t, config, d), open(t, d)
			for range 3 {
				r.draw("before", source, 50)
				execute(t, db, statement)
				r.draw("a source that runs", source, 20)
				execute(t, db, statement)
				r.draw("a new process", sourceOf(t, config, d), 20)
			}
		})
	}
}

// TestSQLiteSequencesShareATable has two sequences in one table, with a counter that is set back to right before the other one's row: REPLACE takes away whatever row has the number
// that it writes.
func TestSQLiteSequencesShareATable(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	db, one, two := open(t, d), quick(ticket.Config{Sequence: "one"}), quick(ticket.Config{Sequence: "two"})
	ofOne, ofTwo := newRecorder(t), newRecorder(t)
	first, second := setUp(t, one, d), setUp(t, two, d)
	for range 5 {
		ofOne.draw("before", first, 10)
		ofTwo.draw("before", second, 10)
		execute(t, db, "UPDATE sqlite_sequence SET seq = (SELECT MIN(id) FROM snowkey_tickets) WHERE name = 'snowkey_tickets'",
			"UPDATE snowkey_tickets SET id = (SELECT MAX(id) FROM snowkey_tickets) + 1 WHERE stub = 'one'")
		ofTwo.draw("the other one is ahead", second, 10)
		execute(t, db, "DELETE FROM sqlite_sequence")
		ofOne.draw("then the one that was", first, 10)
		ofTwo.draw("a new process", sourceOf(t, two, d), 10)
		ofOne.draw("a new process", sourceOf(t, one, d), 10)
		if rows := ask(t, db, "SELECT count(*) FROM snowkey_tickets"); rows != 2 {
			t.Fatalf("%d rows are left of two", rows)
		}
	}
}

// TestSQLitePublishedTableOfTwo has the table as it was published, which does not say whose numbers are in it. Who has one server may draw from it; of two, nobody knows which
// one each was.
func TestSQLitePublishedTableOfTwo(t *testing.T) {
	t.Parallel()
	const table = "CREATE TABLE Tickets64 (id integer PRIMARY KEY AUTOINCREMENT, stub text NOT NULL UNIQUE)"
	d, config := []dbtest.Database{dbtest.SQLite(t), dbtest.SQLite(t)}, quick(ticket.Config{Table: "Tickets64", Sequence: "a"})
	for _, d := range d {
		execute(t, open(t, d), table)
	}
	newRecorder(t).draw("one server", setUp(t, config, d[0]), 20)
	execute(t, open(t, d[1]), "INSERT INTO Tickets64 (stub) VALUES ('a')")
	two := sourceOf(t, config, d...)
	wantRefused(t, two, ticket.ErrLayout)
	wantFinding(t, two, ticket.ErrLayout, "has no column layout")
	for i := range d {
		waitFor(t, two, i+1, ticket.Quarantined)
	}
}

// TestSQLiteLockEndsWithContext has another connection write for longer than the call has time. The driver's own wait for the lock, of five seconds, does not end with a context.
func TestSQLiteLockEndsWithContext(t *testing.T) {
	t.Parallel()
	// held locks the file for three seconds at most, and reports whether it still was at the end of a call.
	held := func(t *testing.T, d dbtest.Database, call func()) bool {
		t.Helper()
		db := open(t, d)
		conn, err := db.Conn(t.Context())
		must(t, err)
		defer conn.Close()
		_, err = conn.ExecContext(t.Context(), "BEGIN IMMEDIATE")
		must(t, err)
		released := make(chan error, 1)
		end := func() { _, err := conn.ExecContext(context.Background(), "ROLLBACK"); released <- err }
		timer := time.AfterFunc(3*time.Second, end)
		call()
		still := timer.Stop()
		if still {
			end()
		}
		must(t, <-released)
		return still
	}
	late := func(t *testing.T, what string, call func(context.Context) error) {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: got %v, want one that wraps DeadlineExceeded", what, err)
		}
	}
	t.Run("tickets", func(t *testing.T) {
		t.Parallel()
		d, r, config := dbtest.SQLite(t), newRecorder(t), quick(ticket.Config{ServerTimeout: retryFactor})
		source, fresh := setUp(t, config, d), sourceOf(t, config, d)
		r.draw("before", source, 20)
		if !held(t, d, func() {
			for name, s := range map[string]*ticket.Tickets{"a source that runs": source, "a new one": fresh} {
				late(t, name, func(ctx context.Context) error { _, err := s.Next(ctx); return err })
			}
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			if err := source.Restore(ctx, "server 1", 1000); err == nil {
				t.Error("Restore: got no error from a file that is locked")
			}
			if err := sourceOf(t, ticket.Config{Sequence: "other"}, d).Setup(ctx); err == nil {
				t.Error("Setup: got no error from a file that is locked")
			}
			must(t, sourceOf(t, config, d).Close())
			must(t, fresh.Close())
		}) {
			t.Error("a call waited until the lock was gone")
		}
		r.draw("after", source, 20)
	})
	t.Run("blocks", func(t *testing.T) {
		t.Parallel()
		l, d, config := newBlockLedger(t), dbtest.SQLite(t), briskly(ticket.BlockConfig{Config: ticket.Config{ServerTimeout: blockPatience}})
		source, fresh := blocksSetUp(t, config, d), blocksOf(t, config, d)
		l.draw("before", source, 1000)
		idle(t, source)
		if !held(t, d, func() {
			book := l.book("the buffer")
			late(t, "a source that runs", func(ctx context.Context) error {
				for range 100_000 {
					id, err := source.Next(ctx)
					if err != nil {
						return err
					}
					book.add(id)
				}
				return nil
			})
			late(t, "a new one", func(ctx context.Context) error { _, err := fresh.Next(ctx); return err })
			if !source.Stats().Refilling { // Close has to end that
				t.Errorf("got %+v, want an allocation under way", source.Stats())
			}
			noError(t, source.Close())
			noError(t, fresh.Close())
		}) {
			t.Error("a call waited until the lock was gone")
		}
		l.draw("after", blocksOf(t, config, d), 1000)
	})
}
