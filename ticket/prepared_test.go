package ticket_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/ticket"
)

// forget has connections of a pool lose what is prepared on them, as a pooler's do between two clients.
func forget(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), retryFactor)
	defer cancel()
	conns := make([]*sql.Conn, 3)
	for i := range conns {
		var err error
		conns[i], err = db.Conn(ctx)
		must(t, err)
	}
	for _, conn := range conns {
		_, err := conn.ExecContext(ctx, statement)
		must(t, err)
		must(t, conn.Close())
	}
}

// inUse is a configuration that counts how often a server goes out of use.
func inUse(t *testing.T, c ticket.Config) ticket.Config {
	t.Helper()
	c.Notify = func(s ticket.ServerStats) {
		if s.State != ticket.Closed && s.Draws > 0 {
			t.Errorf("the server went out of use: %+v", s)
		}
	}
	return c
}

// TestPreparedStatementsAreGone has connections lose what the driver has prepared on them, while they are drawn from: the server stays in use, and no call fails.
func TestPreparedStatementsAreGone(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	for _, statement := range []string{"DISCARD ALL", "DEALLOCATE ALL"} {
		t.Run("tickets/"+statement, func(t *testing.T) {
			t.Parallel()
			r, config := newRecorder(t), inUse(t, ticket.Config{Timeout: retryFactor, ServerTimeout: retryFactor})
			server := serverOf(t, dbtest.Postgres(t))
			source := flickr(t, config, server)
			mustSetUp(t, source)
			l := r.load("throughout", source, 4)
			for range 25 {
				l.more(20)
				forget(t, server.DB, statement)
			}
			l.more(20)
			l.stop()
			if errs := l.errors(); len(errs) > 0 {
				t.Errorf("calls failed: %v", errs)
			}
		})
		t.Run("blocks/"+statement, func(t *testing.T) {
			t.Parallel()
			l, config := newBlockLedger(t), briskly(ticket.BlockConfig{MaxStep: 200, MinStep: 100})
			config.Config = inUse(t, config.Config)
			server := blockServer(t, dbtest.Postgres(t))
			source := blocks(t, config, server)
			inTime(t, "Setup", source.Setup)
			load := l.load("throughout", source, 4)
			for range 25 {
				load.more(200)
				forget(t, server.DB, statement)
			}
			load.more(200)
			load.stop()
			if errs := load.errors(); len(errs) > 0 {
				t.Errorf("calls failed: %v", errs)
			}
		})
	}
}

// TestTableMadeAgainWithOtherTypes has the table made again under load, with columns of other types that do as well: plans that were made for the old ones are of no use, and the
// server stays in use.
func TestTableMadeAgainWithOtherTypes(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	l, d, config := newBlockLedger(t), dbtest.Postgres(t), briskly(ticket.BlockConfig{MaxStep: 200, MinStep: 100})
	config.Config = inUse(t, config.Config)
	source, db := blocksSetUp(t, config, d), open(t, d)
	load := l.load("throughout", source, 4)
	check := func() {
		for range 12 { // on all connections of the pool, very likely
			findings, err := source.Check(t.Context())
			if err != nil || len(findings) > 0 {
				t.Errorf("Check: got %v, %v, want nothing", findings, err)
			}
		}
	}
	for i := range 10 {
		load.more(300)
		check()
		kind := []string{"text", "varchar(64)"}[i%2]
		execute(t, db, `BEGIN;
			LOCK TABLE snowkey_blocks;
			CREATE TABLE fresh (layout `+kind+` NOT NULL, next bigint NOT NULL, name `+kind+` NOT NULL PRIMARY KEY);
			INSERT INTO fresh (name, next, layout) SELECT name, next, layout FROM snowkey_blocks;
			DROP TABLE snowkey_blocks;
			ALTER TABLE fresh RENAME TO snowkey_blocks;
			ALTER TABLE snowkey_blocks RENAME CONSTRAINT fresh_pkey TO blocks_pkey;
			COMMIT`)
	}
	load.more(300)
	check()
	load.stop()
	if errs := load.errors(); len(errs) > 0 {
		t.Errorf("calls failed: %v", errs)
	}
}
