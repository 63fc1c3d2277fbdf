package ticket_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/ticket"
)

// nowhere is a server that nobody answers for.
func nowhere(t *testing.T) ticket.Server {
	t.Helper()
	return serverOf(t, dbtest.Database{Kind: "mysql", DriverName: "mysql", DriverDSN: "nobody@unix(/nonexistent/mysql.sock)/none"})
}

// freezeAt makes the row of the sequence "default" as a Resize leaves it that has died.
func freezeAt(t *testing.T, s ticket.Server, table, layout string) {
	t.Helper()
	switch {
	case table == ticket.DefaultBlockTable:
		execute(t, s.DB, "UPDATE snowkey_blocks SET layout = '>"+layout+"'")
	case s.Dialect == ticket.Postgres:
		execute(t, s.DB, `COMMENT ON SEQUENCE "snowkey_tickets.default" IS '>`+layout+`'`)
	default:
		execute(t, s.DB, "UPDATE snowkey_tickets SET layout = '>"+layout+"'")
	}
}

// TestRestore moves a row forward, and never back. What cannot be done is refused, and changes nothing.
func TestRestore(t *testing.T) {
	t.Parallel()
	refuses := func(t *testing.T, restore func(context.Context, string, int64) error) {
		t.Helper()
		for _, test := range []struct {
			name  string
			after int64
		}{{"server 2", 100}, {"", 100}, {"server 1", 0}, {"server 1", -1}, {"server 1", 1_000_000}, {"server 1", 1_000_001}} {
			if err := restore(t.Context(), test.name, test.after); !errors.Is(err, ticket.ErrConfig) {
				t.Errorf("Restore of %q after %d: got %v, want ErrConfig", test.name, test.after, err)
			}
		}
	}
	for _, k := range systems {
		t.Run("tickets/"+k.String(), func(t *testing.T) {
			t.Parallel()
			d, r, config := k.database(t), newRecorder(t), quick(ticket.Config{Timeout: retryFactor, Limit: 1_000_000})
			source, admin := setUp(t, config, d), serverOf(t, d)
			r.draw("before", source, 50)
			at := position(t, admin.DB, k.dialect)
			refuses(t, source.Restore)
			must(t, source.Restore(t.Context(), "server 1", 7))
			if now := position(t, admin.DB, k.dialect); now < at {
				t.Errorf("it was at %d, and is at %d after it was to go on after 7", at, now)
			}
			r.draw("after what was before", source, 20)
			must(t, source.Restore(t.Context(), "server 1", 5000))
			for _, s := range []*ticket.Tickets{source, sourceOf(t, config, d)} {
				if id := r.draw("after 5000", s, 20)[0]; id <= 5000 {
					t.Errorf("got %d, want more than 5000", id)
				}
			}
			if k.dialect == ticket.Postgres {
				execute(t, admin.DB, `DROP SEQUENCE "snowkey_tickets.default"`)
			} else {
				execute(t, admin.DB, "DELETE FROM snowkey_tickets")
			}
			if err := source.Setup(t.Context()); !errors.Is(err, ticket.ErrForgotten) {
				t.Errorf("Setup of a row that is gone: got %v, want ErrForgotten", err)
			}
			must(t, source.Restore(t.Context(), "server 1", 7777))
			for _, s := range []*ticket.Tickets{source, sourceOf(t, config, d)} {
				if id := r.draw("a row that was gone", s, 20)[0]; id <= 7777 {
					t.Errorf("got %d, want more than 7777", id)
				}
			}
			freezeAt(t, admin, ticket.DefaultTable, "1/3")
			at = position(t, admin.DB, k.dialect)
			if err := source.Restore(t.Context(), "server 1", 9000); !errors.Is(err, ticket.ErrMoving) {
				t.Errorf("frozen: got %v, want ErrMoving", err)
			}
			if now := position(t, admin.DB, k.dialect); now != at {
				t.Errorf("frozen, it went from %d to %d", at, now)
			}
		})
		t.Run("blocks/"+k.String(), func(t *testing.T) {
			t.Parallel()
			l, d := newBlockLedger(t), k.database(t)
			config := briskly(ticket.BlockConfig{Config: ticket.Config{Limit: 1_000_000}})
			source, db := blocksSetUp(t, config, d), d.Open(t)
			l.draw("before", source, 3000)
			idle(t, source)
			refuses(t, source.Restore)
			before, _ := blockRow(t, db)
			noError(t, source.Restore(t.Context(), "server 1", 7))
			if now, _ := blockRow(t, db); now < before {
				t.Errorf("the row was at %d, and is at %d", before, now)
			}
			l.draw("after what was before", source, 3000)
			idle(t, source)
			noError(t, source.Restore(t.Context(), "server 1", 50_049)) // in the middle of a unit
			if now, _ := blockRow(t, db); now <= 50_049 {
				t.Errorf("the row is at %d, want more than 50049", now)
			}
			if id := l.draw("another", blocksOf(t, config, d), 3000)[0]; id <= 50_049 {
				t.Errorf("got %d, want more than 50049", id)
			}
			l.draw("it", source, 10_000)
			idle(t, source)
			blockExecute(t, db, "DELETE FROM snowkey_blocks")
			if err := source.Setup(t.Context()); !errors.Is(err, ticket.ErrForgotten) {
				t.Errorf("Setup of a row that is gone: got %v, want ErrForgotten", err)
			}
			noError(t, source.Restore(t.Context(), "server 1", 77_777))
			if id := l.draw("a row that was gone", blocksOf(t, config, d), 3000)[0]; id <= 77_777 {
				t.Errorf("got %d, want more than 77777", id)
			}
			l.draw("it", source, 10_000)
			idle(t, source)
			freezeAt(t, ticket.Server{DB: db, Dialect: k.dialect}, ticket.DefaultBlockTable, "1/3x100")
			before, _ = blockRow(t, db)
			if err := source.Restore(t.Context(), "server 1", 900_000); !errors.Is(err, ticket.ErrMoving) {
				t.Errorf("frozen: got %v, want ErrMoving", err)
			}
			if now, _ := blockRow(t, db); now != before {
				t.Errorf("frozen, it went from %d to %d", before, now)
			}
		})
	}
}

// emptyAgain drops a database and makes it again.
func emptyAgain(t *testing.T, k system, d dbtest.Database) {
	t.Helper()
	if k.dialect == ticket.SQLite {
		for _, table := range []string{"snowkey_tickets", "snowkey_tickets_register", "snowkey_blocks", "snowkey_blocks_register"} {
			execute(t, open(t, d), "DROP TABLE IF EXISTS "+table)
		}
		return
	}
	admin := open(t, k.database(t).Admin())
	name, _, _ := strings.Cut(d.DriverDSN[strings.LastIndex(d.DriverDSN[:strings.IndexByte(d.DriverDSN+"?", '?')], "/")+1:], "?")
	if k.dialect == ticket.Postgres {
		execute(t, admin, fmt.Sprintf(`DROP DATABASE "%s" WITH (FORCE)`, name), fmt.Sprintf(`CREATE DATABASE "%s"`, name))
	} else {
		execute(t, admin, "DROP DATABASE "+name, "CREATE DATABASE "+name)
	}
}

// TestDatabaseLost has one of two servers lose its whole database, so that nothing there tells of a sequence: the other one's register does. Setup does not begin anew,
// Restore makes it go on.
func TestDatabaseLost(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	for _, k := range []system{sqliteKind, postgresKind} {
		t.Run("tickets/"+k.String(), func(t *testing.T) {
			t.Parallel()
			d, r, config := []dbtest.Database{k.database(t), k.database(t)}, newRecorder(t), quick(ticket.Config{Timeout: retryFactor})
			before := setUp(t, config, d...)
			r.draw("before", before, 100)
			for i := range d {
				waitForDrawing(t, r, before, i+1)
			}
			must(t, before.Close())
			emptyAgain(t, k, d[1])
			source := sourceOf(t, config, d...)
			for range 2 {
				if err := source.Setup(t.Context()); !errors.Is(err, ticket.ErrForgotten) {
					t.Errorf("Setup: got %v, want ErrForgotten", err)
				}
			}
			if err := source.Resize(t.Context()); !errors.Is(err, ticket.ErrForgotten) {
				t.Errorf("Resize: got %v, want ErrForgotten", err)
			}
			for _, id := range r.draw("the other server", source, 20) {
				if id%2 != 1 {
					t.Errorf("got %d of the server that has lost its database", id)
				}
			}
			must(t, source.Restore(t.Context(), "server 2", r.greatest()))
			waitForDrawing(t, r, source, 2)
			mustSetUp(t, source)
			r.draw("restored", source, 50)
			r.draw("a new process", sourceOf(t, config, d...), 50)
			if s := source.Stats().Servers[1]; s.Layout != "2/2" || s.Draws == 0 {
				t.Errorf("got %+v, want a server with the layout 2/2", s)
			}
		})
	}
	for _, k := range systems {
		t.Run("blocks/"+k.String(), func(t *testing.T) {
			t.Parallel()
			l, d, config := newBlockLedger(t), []dbtest.Database{dbtest.SQLite(t), k.database(t)}, briskly(ticket.BlockConfig{})
			before := blocksSetUp(t, config, d...)
			l.draw("before", before, 1000)
			for i := range d {
				inState(t, before, i+1, ticket.Closed)
			}
			l.draw("before", before, 20_000)
			noError(t, before.Close())
			emptyAgain(t, k, d[1])
			source := blocksOf(t, config, d...)
			if err := source.Setup(t.Context()); !errors.Is(err, ticket.ErrForgotten) {
				t.Errorf("Setup: got %v, want ErrForgotten", err)
			}
			l.draw("the other server", source, 2000)
			_, most, _ := l.audit()
			noError(t, source.Restore(t.Context(), "server 2", most))
			inTime(t, "Setup", source.Setup)
			blockEventually(t, func() string { return fmt.Sprintf("server 2 is in use: %+v", source.Stats()) }, func() bool { // a probe of before may end after Restore
				l.draw("restored", source, 5000)
				return source.Stats().Servers[1].State == ticket.Closed
			})
			fresh := blocks(t, config, nowhere(t), blockServer(t, d[1])) // allocates what the restored one has
			l.draw("from it alone", fresh, 5000)
		})
	}
}

// TestSetupWithoutOne runs Setup while a server is down. It succeeds where all was set up before, and fails where something may be missing.
func TestSetupWithoutOne(t *testing.T) {
	t.Parallel()
	for _, k := range []system{sqliteKind, postgresKind} {
		t.Run(k.String(), func(t *testing.T) {
			t.Parallel()
			d, r, config := []dbtest.Database{k.database(t), k.database(t)}, newRecorder(t), quick(ticket.Config{Timeout: retryFactor})
			without := flickr(t, config, serverOf(t, d[0]), nowhere(t))
			if err := without.Setup(t.Context()); err == nil {
				t.Error("Setup of what was never set up: got no error while a server is down")
			}
			r.draw("with both", setUp(t, config, d...), 20)
			for _, source := range []*ticket.Tickets{without, flickr(t, config, nowhere(t), serverOf(t, d[1]))} {
				mustSetUp(t, source)
				r.draw("with one", source, 20)
			}
			// Who has another list does not take a server for set up that is down.
			if err := flickr(t, config, serverOf(t, d[0]), serverOf(t, d[1]), nowhere(t)).Setup(t.Context()); err == nil {
				t.Error("Setup with a new server that is down: got no error")
			}
		})
	}
}

// TestMissingRowHasItsPlace has a server whose row is missing beside others that have rows. The statement that is offered makes it as they have it; where they have no place
// for it, or cannot be asked, there is no statement.
func TestMissingRowHasItsPlace(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	wantStatement := func(t *testing.T, err error, want error, text string) (statement string) {
		t.Helper()
		var table *ticket.TableError
		if errors.As(err, &table) {
			statement = table.Statement
		}
		if !errors.Is(err, want) || text == "" && statement != "" || !strings.Contains(statement, text) {
			t.Errorf("got %v with the statement %q, want %v with %q in it", err, statement, want, text)
		}
		return statement
	}
	for _, k := range systems {
		t.Run("tickets/"+k.String(), func(t *testing.T) {
			t.Parallel()
			d, r, config := []dbtest.Database{k.database(t), k.database(t)}, newRecorder(t), quick(ticket.Config{Timeout: retryFactor})
			if k.dialect == ticket.MySQL {
				d[0] = dbtest.SQLite(t) // the shared server has not the increment
			}
			wide := config
			wide.Increment = 4
			r.draw("before", setUp(t, wide, d[0]), 20)
			source := sourceOf(t, config, d...) // of the two
			r.draw("one of two", source, 20)
			waitFor(t, source, 2, ticket.Open)
			statement := wantStatement(t, source.Stats().Servers[1].Err, ticket.ErrTable, "2/4")
			_, err := source.Check(t.Context())
			if again := wantStatement(t, err, ticket.ErrTable, "2/4"); again != statement {
				t.Errorf("Check has %q, a draw %q", again, statement)
			}
			alone := flickr(t, quick(ticket.Config{}), nowhere(t), serverOf(t, d[1]))
			ctx, cancel := context.WithTimeout(t.Context(), quickDeadline)
			defer cancel()
			if id, err := alone.Next(ctx); err == nil {
				t.Errorf("got %d, want none", id)
			}
			waitFor(t, alone, 2, ticket.Open)
			wantStatement(t, alone.Stats().Servers[1].Err, ticket.ErrTable, "")
			if err := alone.Restore(t.Context(), "server 2", 100); err == nil {
				t.Error("Restore made a row whose layout is not known")
			}
			if k.dialect == ticket.MySQL {
				return
			}
			execute(t, open(t, d[1]), strings.Split(statement, ";\n")...)
			must(t, source.Readmit("server 2"))
			waitForDrawing(t, r, source, 2)
			r.draw("both", source, 20)
			r.draw("a new process", sourceOf(t, config, d...), 20)
		})
		t.Run("no place/"+k.String(), func(t *testing.T) {
			t.Parallel()
			d, r, config := []dbtest.Database{k.database(t), k.database(t)}, newRecorder(t), quick(ticket.Config{Timeout: retryFactor})
			r.draw("before", setUp(t, config, d[0]), 20)
			source := sourceOf(t, config, d...)
			r.draw("one of two", source, 20)
			eventually(t, "the other is known to have no place", func() bool { return source.Stats().Servers[1].Err != nil })
			wantStatement(t, source.Stats().Servers[1].Err, ticket.ErrLayout, "")
			if err := source.Restore(t.Context(), "server 2", 100); !errors.Is(err, ticket.ErrLayout) {
				t.Errorf("Restore: got %v, want ErrLayout", err)
			}
			r.draw("one of two", source, 20)
		})
		t.Run("blocks/"+k.String(), func(t *testing.T) {
			t.Parallel()
			l, d, config := newBlockLedger(t), []dbtest.Database{dbtest.SQLite(t), k.database(t)}, briskly(ticket.BlockConfig{})
			wide := config
			wide.Increment, wide.Unit = 4, 50
			l.draw("before", blocksSetUp(t, wide, d[0]), 1000)
			source := blocksOf(t, config, d...)
			l.draw("one of two", source, 1000)
			inState(t, source, 2, ticket.Open)
			statement := wantStatement(t, source.Stats().Servers[1].Err, ticket.ErrTable, "2/4x50")
			for s := range strings.SplitSeq(statement, ";\n") {
				blockExecute(t, d[1].Open(t), s)
			}
			noError(t, source.Readmit("server 2"))
			l.draw("both", source, 5000)
			l.draw("another", blocksOf(t, config, d...), 5000)
		})
	}
}
