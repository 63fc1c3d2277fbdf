package ticket_test

import (
	"context"
	"errors"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/ticket"
)

// TestCompletionType draws in sessions where each COMMIT begins the next transaction. What is given out is committed: it is there when the pool is closed.
func TestCompletionType(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	const parameter = "completion_type=1"
	t.Run("tickets", func(t *testing.T) {
		t.Parallel()
		d, r, config := dbtest.MySQL(t), newRecorder(t), quick(ticket.Config{})
		mariaDB := isMariaDB(t, d)
		for range 3 {
			server := serverOf(t, d, parameter)
			server.DB.SetMaxOpenConns(1)
			source := flickr(t, config, server)
			mustSetUp(t, source)
			if mariaDB && ask(t, server.DB, "SELECT @@in_transaction") != 0 {
				t.Error("Setup has left a transaction open")
			}
			r.draw("a pool", source, 20)
			if err := source.Restore(t.Context(), "server 1", r.greatest()+10); err != nil {
				t.Error(err)
			}
			r.draw("a pool", source, 20)
			must(t, source.Close())
			must(t, server.DB.Close())
		}
		r.draw("without it", sourceOf(t, config, d), 20)
	})
	t.Run("blocks", func(t *testing.T) {
		t.Parallel()
		l, d, config := newBlockLedger(t), dbtest.MySQL(t), briskly(ticket.BlockConfig{})
		for range 3 {
			server := blockServer(t, d, parameter)
			source := blocks(t, config, server)
			inTime(t, "Setup", source.Setup)
			l.draw("a pool", source, 1000)
			noError(t, source.Close())
			noError(t, server.DB.Close())
		}
		l.draw("without it", blocksOf(t, config, d), 1000)
	})
}

// TestTransactionLeftOpen has a transaction on the pool's only connection that was begun and never ended, so that nothing is committed. Nothing is given out that is gone when the
// pool is closed.
func TestTransactionLeftOpen(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	begin := map[ticket.Dialect]string{ticket.MySQL: "START TRANSACTION", ticket.SQLite: "BEGIN"}
	for _, k := range []system{sqliteKind, mysqlKind} {
		t.Run("tickets/"+k.String(), func(t *testing.T) {
			t.Parallel()
			d, r, config := k.database(t), newRecorder(t), quick(ticket.Config{})
			if k.dialect == ticket.MySQL && !isMariaDB(t, d) {
				t.Skip("MySQL does not tell whether a transaction was begun")
			}
			mustSetUp(t, sourceOf(t, config, d))
			for range 3 {
				server := serverOf(t, d)
				server.DB.SetMaxOpenConns(1)
				source := flickr(t, config, server)
				r.draw("before", source, 5)
				execute(t, server.DB, begin[k.dialect])
				for range 5 {
					id, err := source.Next(context.Background())
					if err == nil {
						r.add("with a transaction", id)
					} else if !errors.Is(err, ticket.ErrUnsafe) {
						t.Errorf("got %d, %v, want an id that is committed or ErrUnsafe", id, err)
					}
				}
				must(t, source.Close())
				must(t, server.DB.Close())
				r.draw("a new process", sourceOf(t, config, d), 10)
			}
			if k.dialect != ticket.SQLite {
				return
			}
			server := serverOf(t, d)
			server.DB.SetMaxOpenConns(1)
			execute(t, server.DB, "BEGIN")
			source := flickr(t, config, server)
			wantRefused(t, source, ticket.ErrUnsafe)
			execute(t, server.DB, "ROLLBACK")
			must(t, source.Readmit("server 1"))
			r.draw("when it is ended", source, 10)
		})
		t.Run("blocks/"+k.String(), func(t *testing.T) {
			t.Parallel()
			l, d, config := newBlockLedger(t), k.database(t), briskly(ticket.BlockConfig{})
			if k.dialect == ticket.MySQL && !isMariaDB(t, d) {
				t.Skip("MySQL does not tell whether a transaction was begun")
			}
			blocksSetUp(t, config, d)
			for range 3 {
				server := blockServer(t, d)
				server.DB.SetMaxOpenConns(1)
				source := blocks(t, config, server)
				l.draw("before", source, 500)
				idle(t, source)
				blockExecute(t, server.DB, begin[k.dialect])
				book := l.book("with a transaction")
				for range 5000 {
					id, err := source.Next(t.Context())
					if err == nil {
						book.add(id)
					} else if !errors.Is(err, ticket.ErrUnsafe) {
						t.Errorf("got %d, %v, want an id that is committed or ErrUnsafe", id, err)
						break
					}
				}
				noError(t, source.Close())
				noError(t, server.DB.Close())
				l.draw("a new process", blocksOf(t, config, d), 500)
			}
		})
	}
}

// isMariaDB reports whether the server tells that a transaction was begun.
func isMariaDB(t *testing.T, d dbtest.Database) bool {
	t.Helper()
	return ask(t, open(t, d), "SELECT VERSION() LIKE '%MariaDB%'") == 1
}
