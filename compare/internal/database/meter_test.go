package database_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/snowkey-go/snowkey/compare/internal/database"
	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// metered inserts rows while a meter runs.
func metered(t *testing.T, d *database.Database, scope database.Scope, table, column string, from, rows int, key func(int) string) result.Storage {
	t.Helper()
	stop, err := d.Meter(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	orders(t, d, table, column, from, rows, key)
	reading, err := stop(t.Context(), rows)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %+v", table, reading)
	return reading
}

// The shapes that are known of all databases: keys without order split more pages, and write more of them and of the log.
func TestMeter(t *testing.T) {
	const rows, more = 10_000, 1_000
	onEach(t, func(t *testing.T, at dbtest.Database) {
		dsn := at.DSN
		if at.Kind == "sqlite" {
			dsn += "?_journal_mode=WAL&_synchronous=1"
		}
		d := open(t, dsn, database.Private())
		random, words := scattered(), text()
		sequential := metered(t, d, database.Splits, "sequential", "BIGINT", 0, rows, counter)
		scattered := metered(t, d, database.Splits, "random", "BIGINT", 0, rows, random)
		missing(t, "log beyond the scope", sequential.Log, "alone")
		if at.Kind == "sqlite" {
			missing(t, "splits", sequential.Splits, "does not count")
		} else {
			missing(t, "pages beyond the scope", sequential.Pages, "alone")
			if a, b := sample(t, "sequential splits", sequential.Splits, 10, rows), sample(t, "random splits", scattered.Splits, 10, rows); a >= b {
				t.Errorf("got %g splits by sequential keys and %g by random ones", a, b)
			}
		}
		orders(t, d, "words", "VARCHAR(36)", 0, rows, words)

		sequential = metered(t, d, database.Writes, "sequential", "BIGINT", rows, more, counter)
		scattered = metered(t, d, database.Writes, "words", "VARCHAR(36)", rows, more, words)
		// A row has 31 bytes, and each page is logged once in full by SQLite and PostgreSQL.
		if a, b := sample(t, "sequential log", sequential.Log, 31, 20e3), sample(t, "random log", scattered.Log, 60, 100e3); a >= b {
			t.Errorf("got %g bytes of log by sequential keys and %g by random ones", a, b)
		}
		if at.Kind == "sqlite" {
			missing(t, "pages", sequential.Pages, "does not count")
		} else if a, b := sample(t, "sequential pages", sequential.Pages, 31, 20e3), sample(t, "random pages", scattered.Pages, 60, 100e3); a >= b {
			t.Errorf("got %g bytes of pages by sequential keys and %g by random ones", a, b)
		}
		if at.Kind == "postgres" { // a checkpoint comes first, else pages would not be logged in full again
			if a, b := sequential.Log.Samples, scattered.Log.Samples; b[0] < 1.8*a[0] || !strings.Contains(scattered.Log.Note, "from a checkpoint on") {
				t.Errorf("got %g and %g bytes of log, %q", a, b, scattered.Log.Note)
			}
			sample(t, "random pages, nearly all of those that there are", scattered.Pages, 1000, 4000)
		}
		none := metered(t, d, database.Writes, "sequential", "", rows+more, 0, counter)
		missing(t, "log of no rows", none.Log, "no rows")
	})
}

func TestMeterWithout(t *testing.T) {
	const rows = 1000
	t.Run("sqlite, no log", func(t *testing.T) {
		r := metered(t, open(t, dbtest.SQLite(t).DSN), database.Writes, "orders", "INTEGER", 0, rows, counter)
		missing(t, "log", r.Log, "journal_mode is delete")
		missing(t, "pages", r.Pages, "does not count")
	})
	// Nobody can begin the log anew while it is metered, however often it is written back.
	t.Run("sqlite, another writer", func(t *testing.T) {
		d := open(t, dbtest.SQLite(t).DSN+"?_journal_mode=WAL&_busy_timeout=10")
		exec(t, d, "CREATE TABLE theirs (id INTEGER)", "PRAGMA wal_checkpoint(TRUNCATE)")
		stop, err := d.Meter(t.Context(), database.Writes)
		if err != nil {
			t.Fatal(err)
		}
		const statements = 100
		for range statements {
			for _, query := range []string{"PRAGMA wal_checkpoint(RESTART)", "INSERT INTO theirs VALUES (1)"} {
				if _, err := d.Pool().ExecContext(t.Context(), query); err != nil {
					t.Fatal(err)
				}
			}
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel() // which stops no meter
		r, err := stop(ended, statements)
		if err != nil {
			t.Fatal(err)
		}
		sample(t, "log", r.Log, 4096+24, 4096+25) // a page a statement, with the header of its frame and a part of the log's
		var busy, frames, done int
		if err := d.Pool().QueryRowContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &done); err != nil || busy != 0 {
			t.Errorf("the log cannot be written back after the meter: %d, %v", busy, err)
		}
	})
	t.Run("mysql", func(t *testing.T) {
		at := dbtest.MySQL(t)
		if _, err := at.Open(t).ExecContext(t.Context(), "SET GLOBAL innodb_monitor_disable = 'index_page_splits'"); err != nil {
			t.Fatal(err)
		}
		r := metered(t, open(t, at.DSN), database.Splits, "orders", "BIGINT", 0, rows, counter)
		missing(t, "splits, not switched on", r.Splits, "SET GLOBAL innodb_monitor_enable")
		r = metered(t, open(t, user(t, at, "SELECT, INSERT, CREATE, INDEX")), database.Writes, "mine", "BIGINT", 0, rows, counter)
		missing(t, "splits, without the right", r.Splits, "PROCESS")
		sample(t, "log", r.Log, 31, 20e3)
	})
	t.Run("postgres", func(t *testing.T) {
		at := dbtest.Postgres(t)
		theirs := open(t, at.DSN)
		r := metered(t, theirs, database.Writes, "orders", "BIGINT", 0, rows, counter)
		missing(t, "splits, no extension", r.Splits, "CREATE EXTENSION pg_walinspect")
		sample(t, "pages", r.Pages, 31, 20e3)
		exec(t, theirs, "CREATE EXTENSION pg_walinspect")
		mine := open(t, user(t, at, "USAGE, CREATE"))
		r = metered(t, mine, database.Writes, "mine", "BIGINT", 0, rows, counter)
		missing(t, "splits, without the right", r.Splits, "pg_read_server_files")
		missing(t, "pages, without the right", r.Pages, "CHECKPOINT")
		sample(t, "log", r.Log, 31, 20e3)
		if !strings.Contains(r.Log.Note, "may not CHECKPOINT") {
			t.Errorf("got the note %q", r.Log.Note)
		}
		if err := mine.Settle(t.Context()); err != nil {
			t.Errorf("settling without the right: %v", err)
		}
	})
}

// Pages that were dirty before are not counted when they are changed again, which no figure may keep to itself.
func TestMySQLPages(t *testing.T) {
	counters := func(flushed, dirty int64) map[string]int64 {
		return map[string]int64{"Innodb_buffer_pool_pages_flushed": flushed, "Innodb_buffer_pool_pages_dirty": dirty, "Innodb_page_size": 16384}
	}
	clean := database.MySQLPages(counters(100, 10), counters(104, 16), 10)
	sample(t, "clean before", clean, 16384, 16384)
	dirty := database.MySQLPages(counters(100, 1000), counters(104, 1006), 10)
	sample(t, "dirty before", dirty, 16384, 16384)
	if strings.Contains(clean.Note, "dirty before") || !strings.Contains(dirty.Note, "1000 pages were dirty before") {
		t.Errorf("got the notes %q and %q", clean.Note, dirty.Note)
	}
	missing(t, "the same pages", database.MySQLPages(counters(100, 1000), counters(100, 1000), 10), "dirty before")
	missing(t, "fewer pages", database.MySQLPages(counters(100, 1000), counters(100, 900), 10), "dropped meanwhile")
	missing(t, "reset", database.MySQLPages(counters(100, 10), counters(0, 10), 10), "reset meanwhile")
	missing(t, "no counters", database.MySQLPages(nil, map[string]int64{}, 10), "no counter")
}

func TestSettle(t *testing.T) {
	onEach(t, func(t *testing.T, at dbtest.Database) {
		d := open(t, at.DSN, database.Private())
		orders(t, d, "orders", "BIGINT", 0, 2000, scattered())
		settings := func() (all string) {
			t.Helper()
			if at.Kind == "mysql" {
				const query = `SELECT CONCAT_WS(' ', @@GLOBAL.innodb_max_dirty_pages_pct, @@GLOBAL.innodb_max_dirty_pages_pct_lwm,
					@@GLOBAL.innodb_io_capacity, @@GLOBAL.innodb_io_capacity_max)`
				if err := d.Pool().QueryRowContext(t.Context(), query).Scan(&all); err != nil {
					t.Fatal(err)
				}
			}
			return all
		}
		before := settings()
		if err := d.Settle(t.Context()); err != nil {
			t.Error(err)
		}
		if at.Kind == "mysql" {
			if after := settings(); after != before {
				t.Errorf("got the settings %s after it, want %s as before", after, before)
			}
			var name string
			var dirty int
			if err := d.Pool().QueryRowContext(t.Context(), "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'").Scan(&name, &dirty); err != nil || dirty > 100 {
				t.Errorf("%d pages are dirty, %v", dirty, err)
			}
			// Its end comes while the settings are others, unless it is over before that is seen.
			orders(t, d, "more", "BIGINT", 0, 5000, scattered())
			ctx, cancel := context.WithCancel(t.Context())
			var watching sync.WaitGroup
			watching.Go(func() {
				defer cancel()
				for now := 0; now < 20000 && ctx.Err() == nil; {
					if err := d.Pool().QueryRowContext(ctx, "SELECT @@GLOBAL.innodb_io_capacity").Scan(&now); err != nil && ctx.Err() == nil {
						t.Error(err)
						return
					}
				}
			})
			if err := d.Settle(ctx); err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			cancel()
			watching.Wait()
			if after := settings(); after != before {
				t.Errorf("got the settings %s after its end, want %s as before", after, before)
			}
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := d.Settle(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want that the context has ended", err)
		}
	})
}

func TestBuffers(t *testing.T) {
	const rows = 5000
	onEach(t, func(t *testing.T, at dbtest.Database) {
		d := open(t, at.DSN)
		orders(t, d, "sequential", "BIGINT", 0, rows, counter)
		orders(t, d, "random", "BIGINT", 0, rows, scattered())
		var got [2]float64
		for i, table := range []string{"sequential", "random"} {
			f, err := d.Buffers(t.Context(), table, "id")
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s: %+v", table, f)
			if at.Kind == "sqlite" {
				missing(t, table, f, "SQLite")
				continue
			}
			got[i] = sample(t, table, f, 1, 10_000)
		}
		// PostgreSQL goes from the index to the place of each row; InnoDB has the rows in the index.
		if at.Kind == "postgres" && got[1] < 3*got[0] {
			t.Errorf("got %v pages for 1,000 rows, want many more by random keys", got)
		}
		f, err := d.Buffers(t.Context(), "nowhere", "id")
		if err != nil {
			t.Fatal(err)
		}
		missing(t, "no table", f, "")
	})
}

// A server that is killed is gone, and what was to be measured is an error, neither 0 nor a reason.
func TestGone(t *testing.T) {
	t.Parallel()
	servers := map[string]func(testing.TB, ...string) *dbtest.Server{"mysql": dbtest.StartMySQL, "postgres": dbtest.StartPostgres}
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := start(t)
			d := open(t, server.Database(t).DSN)
			orders(t, d, "orders", "BIGINT", 0, 100, counter)
			stop, err := d.Meter(t.Context(), database.Splits)
			if err != nil {
				t.Fatal(err)
			}
			if d.Gone(t.Context()) {
				t.Error("gone before its time")
			}
			if err := server.Kill(); err != nil {
				t.Fatal(err)
			}
			if !d.Gone(t.Context()) {
				t.Error("killed, and not gone")
			}
			if _, err := stop(t.Context(), 1); !errors.Is(err, database.ErrDatabase) {
				t.Errorf("Stop: got %v", err)
			}
			if _, err := d.Size(t.Context(), "orders", 100); !errors.Is(err, database.ErrDatabase) {
				t.Errorf("Size: got %v", err)
			}
			if _, err := d.Buffers(t.Context(), "orders", "id"); !errors.Is(err, database.ErrDatabase) {
				t.Errorf("Buffers: got %v", err)
			}
			if err := d.Settle(t.Context()); !errors.Is(err, database.ErrDatabase) {
				t.Errorf("Settle: got %v", err)
			}
			if err := d.Sweep(t.Context(), "orders"); !errors.Is(err, database.ErrDatabase) {
				t.Errorf("Sweep: got %v", err)
			}
			if _, err := d.Describe(t.Context()); !errors.Is(err, database.ErrDatabase) {
				t.Errorf("Describe: got %v", err)
			}
		})
	}
}
