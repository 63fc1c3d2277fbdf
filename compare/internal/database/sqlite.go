package database

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"

	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

type sqliteEngine struct{ d *Database }

func (e sqliteEngine) describe(ctx context.Context) (version string, settings []result.Setting, err error) {
	if err := e.d.inserts.QueryRowContext(ctx, "SELECT 'SQLite ' || sqlite_version()").Scan(&version); err != nil {
		return "", nil, err
	}
	for _, name := range []string{"journal_mode", "synchronous", "page_size", "cache_size"} {
		s := result.Setting{Name: name}
		if err := e.d.inserts.QueryRowContext(ctx, "PRAGMA "+name).Scan(&s.Value); err != nil {
			return "", nil, fmt.Errorf("PRAGMA %s: %w", name, err)
		}
		if word, ok := map[string]string{"0": "off", "1": "normal", "2": "full", "3": "extra"}[s.Value]; ok && name == "synchronous" {
			s.Value = word
		}
		settings = append(settings, s)
	}
	return version, settings, nil
}

// cache is that of the connection for inserts: a positive setting counts pages, a negative one KiB.
func (e sqliteEngine) cache(ctx context.Context) (bytes int64, err error) {
	const query = "SELECT iif(cache_size < 0, cache_size * -1024, cache_size * page_size) FROM pragma_cache_size, pragma_page_size"
	return bytes, e.d.inserts.QueryRowContext(ctx, query).Scan(&bytes)
}

func (e sqliteEngine) names(ctx context.Context, db *sql.DB) ([]object, error) {
	const query = `SELECT type, name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'`
	return e.d.objects(ctx, db, query, map[string]string{"table": "DROP TABLE "})
}

func (e sqliteEngine) bound(context.Context, *sql.Conn) error { return nil } // every connection has a busy timeout

// tableSize drops the table and its indexes in a transaction that is rolled back, and counts the pages that are free then. The index of a primary
// key that is no integer cannot be dropped alone. The rows of such a table are in the order of their inserts, so a copy is as large as they are.
func (e sqliteEngine) tableSize(ctx context.Context, table string) (bytes, index int64, err error) {
	conn, err := e.d.inserts.Conn(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = conn.Close() }()
	const query = "SELECT name, sql IS NULL FROM sqlite_master WHERE tbl_name = ? AND type = 'index' AND rootpage > 0"
	type tree struct {
		name string
		key  bool // made for the table's own primary key
	}
	trees, err := dialect.All(ctx, conn, query, []any{table}, func(rows *sql.Rows) (t tree, err error) {
		err = rows.Scan(&t.name, &t.key)
		return t, err
	})
	if err != nil {
		return 0, 0, err
	}
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return 0, 0, err
	}
	defer func() {
		ctx, cancel := undoing(ctx)
		defer cancel()
		_, failed := conn.ExecContext(ctx, "ROLLBACK")
		err = errors.Join(err, failed)
	}()
	// takes returns the bytes that a statement adds to those in use.
	takes := func(statement string) (bytes int64, err error) {
		const used = "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size"
		var before, after int64
		if err := conn.QueryRowContext(ctx, used).Scan(&before); err != nil {
			return 0, err
		}
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return 0, err
		}
		err = conn.QueryRowContext(ctx, used).Scan(&after)
		return after - before, err
	}
	var copied int64
	for _, t := range trees {
		var free int64
		if t.key {
			copied, err = takes("CREATE TABLE " + e.d.quote(table+"_copy") + " AS SELECT * FROM " + e.d.quote(table))
		} else {
			free, err = takes("DROP INDEX " + e.d.quote(t.name))
		}
		if err != nil {
			return 0, 0, err
		}
		index -= free
	}
	all, err := takes("DROP TABLE " + e.d.quote(table))
	if err != nil {
		return 0, 0, err
	}
	if copied == 0 {
		return -all, index, nil
	}
	return copied, index - all - copied, nil
}

func (e sqliteEngine) fill(context.Context, string, int) (result.Figure, error) {
	return result.Missing("SQLite does not tell how full its pages are"), nil
}

var errBusy = errors.New("another connection keeps the write-ahead log from being written back")

// writeBack empties the write-ahead log, if there is one.
func (e sqliteEngine) writeBack(ctx context.Context) error {
	var busy, frames, done int
	if err := e.d.inserts.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &done); err != nil {
		return err
	}
	if busy != 0 {
		return errBusy
	}
	return nil
}

func (e sqliteEngine) settle(ctx context.Context) error {
	if err := e.writeBack(ctx); !errors.Is(err, errBusy) {
		return err
	}
	return nil
}

func (e sqliteEngine) buffers(context.Context, string, string) (result.Figure, error) {
	return result.Missing("SQLite does not tell over SQL which pages a statement reads"), nil
}

// sqliteMeter has the write-ahead log grow, and looks at the size of its file.
type sqliteMeter struct {
	why    string // why there is no log
	path   string // of the log
	start  int64  // its size
	reader *sql.Conn
}

func (e sqliteEngine) meter(ctx context.Context, scope Scope) (counting, error) {
	if scope == Splits {
		return sqliteMeter{why: notAsked}.stop, nil
	}
	var mode string
	if err := e.d.inserts.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil {
		return nil, err
	}
	if mode != "wal" {
		return sqliteMeter{why: "the journal_mode is " + mode + ": only with wal SQLite keeps a log whose size can be read"}.stop, nil
	}
	var m sqliteMeter
	const file = "SELECT file || '-wal' FROM pragma_database_list WHERE name = 'main'"
	if err := e.d.inserts.QueryRowContext(ctx, file).Scan(&m.path); err != nil {
		return nil, err
	}
	if err := e.writeBack(ctx); errors.Is(err, errBusy) {
		return sqliteMeter{why: err.Error()}.stop, nil
	} else if err != nil {
		return nil, err
	}
	// While a transaction reads what is there now, nobody begins the log anew, and it only grows.
	var err error
	if m.reader, err = e.d.keys.Conn(ctx); err != nil {
		return nil, err
	}
	if _, err = m.reader.ExecContext(ctx, "BEGIN; SELECT count(*) FROM sqlite_master"); err == nil {
		m.start, err = fileSize(m.path)
	}
	if err != nil {
		return nil, errors.Join(err, m.end(ctx))
	}
	return m.stop, nil
}

// end ends the reading.
func (m sqliteMeter) end(ctx context.Context) error {
	ctx, cancel := undoing(ctx)
	defer cancel()
	_, err := m.reader.ExecContext(ctx, "ROLLBACK")
	return errors.Join(err, m.reader.Close())
}

func (m sqliteMeter) stop(ctx context.Context, rows int) (result.Storage, error) {
	r := result.Storage{
		Splits: result.Missing("SQLite does not count page splits"), Log: result.Missing(cmp.Or(m.why, noRows)),
		Pages: result.Missing("SQLite does not count the pages that it writes back"),
	}
	if m.reader == nil {
		return r, nil
	}
	size, err := fileSize(m.path)
	if err := errors.Join(err, m.end(ctx)); err != nil {
		return r, err
	}
	if rows > 0 {
		r.Log = result.Measured(float64(size-m.start) / float64(rows))
		r.Log.Note = "frames of the write-ahead log, with their headers"
	}
	return r, nil
}

// fileSize is the size of a file, 0 where there is none.
func fileSize(path string) (int64, error) {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
