package database_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/compare/internal/database"
	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// The shapes that are known of all databases: keys without order leave the leaf pages of their index emptier, and so it larger.
func TestSize(t *testing.T) {
	t.Parallel()
	const rows = 20_000
	onEach(t, func(t *testing.T, at dbtest.Database) {
		d := open(t, at.Admin().DSN, database.Private()) // who may read the server's own tables
		described, err := d.Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var filled, index, both [2]float64
		for i, key := range []func(int) string{counter, scattered()} {
			name := []string{"sequential", "random"}[i]
			column := "BIGINT"
			if at.Kind == "sqlite" {
				column = "INTEGER" // the rowid
			}
			orders(t, d, name, column, 0, rows, key)
			w, err := d.Size(t.Context(), name, rows)
			if err != nil {
				t.Fatal(err)
			}
			// A row has 8+8+7+8 bytes of its own beside those that the database adds, and an entry of an index 8; SQLite has as few of an integer
			// as it needs.
			table := sample(t, name+" table", w.Table, 18, 200)
			index[i] = sample(t, name+" index", w.Index, 8, 150)
			if at.Kind == "sqlite" {
				missing(t, name+" fill", w.Fill, "does not tell")
			} else {
				filled[i] = sample(t, name+" fill", w.Fill, 0.5, 1)
			}
			both[i] = table + index[i]
			used := (table + index[i]) * rows / described.Cache.Samples[0]
			sample(t, name+" of the cache", w.CacheUsed, used*0.999, used*1.001)
			t.Logf("%s: %+v", name, w)
		}
		if at.Kind != "sqlite" && (filled[0] < 0.85 || filled[1] > 0.80) {
			t.Errorf("got leaf pages full to %.3f by sequential keys and %.3f by random ones, want at least 0.85 and at most 0.80", filled[0], filled[1])
		}
		if both[1] <= both[0] {
			t.Errorf("got %v bytes a row, want more by random keys", both)
		}
	})
}

// On SQLite a primary key that is no integer has an index of its own; a table without rowid is one itself. The sizes are those of dropping
// one after the other for good, and the table is there afterwards as before.
func TestSizeKeysOfTheirOwn(t *testing.T) {
	t.Parallel()
	const rows = 20_000
	at := dbtest.SQLite(t)
	d := open(t, at.DSN)
	pages := func() (n float64) {
		t.Helper()
		if err := d.Pool().QueryRowContext(t.Context(), "SELECT page_count - freelist_count FROM pragma_page_count, pragma_freelist_count").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for table, test := range map[string]struct {
		options string
		index   float64 // of the primary key, bytes a row at least
	}{"apart": {"", 16}, "inside": {" WITHOUT ROWID", 0}} {
		exec(t, d, "CREATE TABLE "+table+" (id BLOB PRIMARY KEY, n INTEGER)"+test.options, "CREATE INDEX "+table+"_n ON "+table+" (n)")
		exec(t, d, "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 20000) INSERT INTO "+table+
			" SELECT CAST(printf('%016x', i * 2654435761 % 4294967291) AS BLOB), i * 7919 % 20011 FROM c") // spread, and the same in each run
		full := pages()
		w, err := d.Size(t.Context(), table, rows)
		if err != nil {
			t.Fatal(err)
		}
		if after := pages(); after != full {
			t.Errorf("%s: got %v pages after it, want %v as before", table, after, full)
		}
		exec(t, d, "DROP INDEX "+table+"_n")
		second := (full - pages()) * 4096 / rows
		sample(t, table+" index", w.Index, second+test.index, second+3*test.index)
		exec(t, d, "DROP TABLE "+table)
		all := (full - pages()) * 4096 / rows
		sample(t, table, result.Measured(w.Table.Samples[0]+w.Index.Samples[0]), all-1e-9, all+1e-9)
	}
}

func TestSizeNothing(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, at dbtest.Database) {
		d := open(t, at.DSN, database.Private())
		w, err := d.Size(t.Context(), "nowhere", 1)
		if err != nil {
			t.Fatal(err)
		}
		for what, f := range map[string]result.Figure{"table": w.Table, "index": w.Index, "fill": w.Fill, "cache": w.CacheUsed} {
			why := "nowhere"
			if at.Kind == "sqlite" && what == "fill" {
				why = "does not tell"
			}
			missing(t, what, f, why)
		}
		if w, err = d.Size(t.Context(), "nowhere", 0); err != nil {
			t.Fatal(err)
		}
		missing(t, "no rows", w.Table, "no rows")
		if at.Kind == "postgres" { // whose pages are full to the share NaN, which no document can hold
			exec(t, d, "CREATE TABLE empty (id INT PRIMARY KEY)")
			if w, err = d.Size(t.Context(), "empty", 1); err != nil {
				t.Fatal(err)
			}
			missing(t, "fill of an empty table", w.Fill, "no rows")
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := d.Size(ended, "nowhere", 1); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want that the context has ended", err)
		}
	})
}

// Others' databases get no extension, and a user without rights gets reasons.
func TestSizeWithout(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		at := dbtest.Postgres(t)
		theirs := open(t, at.DSN)
		orders(t, theirs, "orders", "BIGINT", 0, 1000, counter)
		w, err := theirs.Size(t.Context(), "orders", 1000)
		if err != nil {
			t.Fatal(err)
		}
		sample(t, "table", w.Table, 25, 200)
		missing(t, "fill", w.Fill, "CREATE EXTENSION pgstattuple")

		mine := open(t, user(t, at, "USAGE, CREATE"))
		orders(t, mine, "mine", "BIGINT", 0, 1000, counter)
		exec(t, theirs, "CREATE SCHEMA ext", "CREATE EXTENSION pgstattuple SCHEMA ext")
		if w, err = theirs.Size(t.Context(), "orders", 1000); err != nil {
			t.Fatal(err)
		}
		sample(t, "fill by an extension in a schema of its own", w.Fill, 0.5, 1)
		if w, err = mine.Size(t.Context(), "mine", 1000); err != nil {
			t.Fatal(err)
		}
		sample(t, "table", w.Table, 25, 200)
		missing(t, "fill", w.Fill, "pg_stat_scan_tables")
	})
	t.Run("mysql", func(t *testing.T) {
		at := dbtest.MySQL(t)
		d := open(t, user(t, at, "SELECT, INSERT, CREATE, INDEX"))
		orders(t, d, "orders", "BIGINT", 0, 1000, counter)
		w, err := d.Size(t.Context(), "orders", 1000)
		if err != nil {
			t.Fatal(err)
		}
		sample(t, "table", w.Table, 25, 200)
		sample(t, "index", w.Index, 8, 200)
		missing(t, "fill", w.Fill, "mysql.innodb_index_stats")
		d = open(t, user(t, at, "SELECT, INSERT, CREATE, INDEX", "SELECT ON mysql.innodb_index_stats"))
		if w, err = d.Size(t.Context(), "orders", 1000); err != nil {
			t.Fatal(err)
		}
		missing(t, "fill", w.Fill, "PROCESS")
		d = open(t, user(t, at, "SELECT, INSERT, CREATE, INDEX", "SELECT ON mysql.innodb_index_stats", "PROCESS ON *.*"))
		if w, err = d.Size(t.Context(), "orders", 1000); err != nil {
			t.Fatal(err)
		}
		sample(t, "fill of a small table", w.Fill, 0.5, 1)
		if w, err = d.Size(t.Context(), "orders", 9000); err != nil {
			t.Fatal(err)
		}
		missing(t, "fill of rows that are not there", w.Fill, "9000 rows")
	})
}

// Weighing a table must not lose the locks of the connections on its file: another program's changes would be lost with them.
func TestSizeKeepsLocks(t *testing.T) {
	at := dbtest.SQLite(t)
	theirs := open(t, at.DSN)
	exec(t, theirs, "PRAGMA journal_mode = WAL", "CREATE TABLE t (id INTEGER PRIMARY KEY)")
	locks := func() int {
		t.Helper()
		// Of this process, by type and not by file: none other has the tests' files open.
		all, err := os.ReadFile("/proc/locks")
		if err != nil {
			t.Skip("needs /proc/locks to see which locks are held: ", err)
		}
		return strings.Count(string(all), fmt.Sprintf(" %d ", os.Getpid()))
	}
	ours := open(t, at.DSN)
	measure := func() {
		t.Helper()
		if w, err := ours.Size(t.Context(), "t", 1); err != nil || !w.Table.OK() {
			t.Fatalf("got %+v, %v", w, err)
		}
	}
	exec(t, ours, "SELECT * FROM t") // opens the connection's files
	exec(t, theirs, "BEGIN IMMEDIATE", "INSERT INTO t VALUES (1)", "COMMIT")
	before := locks()
	measure()
	if after := locks(); before == 0 || after < before {
		t.Errorf("%d locks are left of %d", after, before)
	}
}

// A reader's snapshot keeps the write-ahead log from being written back, so the log cannot be metered.
func TestSizeUnderAReader(t *testing.T) {
	t.Parallel()
	at := dbtest.SQLite(t)
	reader := at.Open(t)
	for _, query := range []string{"PRAGMA journal_mode = WAL", "CREATE TABLE theirs (id INTEGER)"} {
		if _, err := reader.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	tx, err := reader.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	var n int
	if err := tx.QueryRowContext(t.Context(), "SELECT count(*) FROM theirs").Scan(&n); err != nil {
		t.Fatal(err)
	}
	d := open(t, at.DSN+"?_busy_timeout=10")
	orders(t, d, "orders", "INTEGER", 0, 100, counter)
	w, err := d.Size(t.Context(), "orders", 100)
	if err != nil {
		t.Fatal(err)
	}
	sample(t, "table", w.Table, 26, 200)
	if err := d.Settle(t.Context()); err != nil {
		t.Errorf("settling under a reader: %v", err)
	}
	stop, err := d.Meter(t.Context(), database.Writes)
	if err != nil {
		t.Fatal(err)
	}
	reading, err := stop(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	missing(t, "log", reading.Log, "write-ahead log")
}
