package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

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

func (e sqliteEngine) tableSize(ctx context.Context, table string) (bytes, index int64, err error) {
	trees, file, err := e.trees(ctx, table)
	if err != nil {
		return 0, 0, err
	}
	for _, tree := range trees {
		counted, err := file.count(tree.root)
		if err != nil {
			return 0, 0, err
		}
		if tree.table {
			bytes += counted.pages * file.pageSize
		} else {
			index += counted.pages * file.pageSize
		}
	}
	return bytes, index, nil
}

func (e sqliteEngine) fill(ctx context.Context, table string, _ int) (result.Figure, error) {
	trees, file, err := e.trees(ctx, table)
	if err != nil {
		return result.Figure{}, err
	}
	key := trees[0].root // the table's
	for _, tree := range trees {
		if tree.key {
			key = tree.root
		}
	}
	counted, err := file.count(key)
	if err != nil {
		return result.Figure{}, err
	}
	return result.Measured(float64(counted.used) / float64(counted.room)), nil
}

// tree is a b-tree of a table: its own, or that of an index. The primary key has an index of its own unless it is the rowid, or the table has no
// rowid.
type tree struct {
	root       uint32
	table, key bool
}

// trees returns the trees of a table, its own first, and the file with everything in it that was committed.
func (e sqliteEngine) trees(ctx context.Context, table string) ([]tree, *pages, error) {
	const query = `SELECT rootpage, type = 'table', name IN (SELECT name FROM pragma_index_list(?1) WHERE origin = 'pk')
		FROM sqlite_master WHERE tbl_name = ?1 AND rootpage > 0 ORDER BY type DESC`
	trees, err := dialect.All(ctx, e.d.inserts, query, []any{table}, func(rows *sql.Rows) (t tree, err error) {
		err = rows.Scan(&t.root, &t.table, &t.key)
		return t, err
	})
	if err != nil {
		return nil, nil, err
	}
	if len(trees) == 0 || !trees[0].table {
		return nil, nil, fmt.Errorf("there is no table %s", table)
	}
	path, err := e.path(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := e.writeBack(ctx); err != nil {
		return nil, nil, err
	}
	file, err := openPages(path)
	return trees, file, err
}

// path is that of the database's file.
func (e sqliteEngine) path(ctx context.Context) (path string, err error) {
	err = e.d.inserts.QueryRowContext(ctx, "SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&path)
	if err == nil && path == "" {
		err = errors.New("the database is in memory, it has no pages in a file")
	}
	return path, err
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
