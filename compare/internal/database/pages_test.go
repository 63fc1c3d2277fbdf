package database_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/snowkey-go/snowkey/compare/internal/database"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// All pages of a file belong to one of its b-trees or are free, so the counts add up to what SQLite says.
func TestPagesAddUp(t *testing.T) {
	t.Parallel()
	for _, pageSize := range []int{512, 4096, 65536} {
		t.Run(fmt.Sprintf("page=%d", pageSize), func(t *testing.T) {
			at := dbtest.SQLite(t)
			db := at.Open(t)
			db.SetMaxOpenConns(1)
			for _, query := range []string{
				fmt.Sprintf("PRAGMA page_size = %d", pageSize),
				"CREATE TABLE a (id BLOB PRIMARY KEY, n INTEGER)",
				"CREATE INDEX a_n ON a (n)",
				"CREATE TABLE b (id INTEGER PRIMARY KEY, text TEXT)",
				"CREATE TABLE gone (id INTEGER PRIMARY KEY, text TEXT)",
				"WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 20000) INSERT INTO a SELECT randomblob(16), i * 7919 % 20011 FROM c",
				"INSERT INTO b SELECT NULL, hex(id) FROM a",
				"INSERT INTO gone SELECT * FROM b",
				"DROP TABLE gone",
			} {
				if _, err := db.ExecContext(t.Context(), query); err != nil {
					t.Fatalf("%s: %v", query, err)
				}
			}
			var all, free int64
			if err := db.QueryRowContext(t.Context(), "SELECT page_count, freelist_count FROM pragma_page_count, pragma_freelist_count").Scan(&all, &free); err != nil {
				t.Fatal(err)
			}
			rows, err := db.QueryContext(t.Context(), "SELECT 'schema', 1 UNION ALL SELECT name, rootpage FROM sqlite_master WHERE rootpage > 0")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = rows.Close() }()
			sum, trees := free, 0
			for rows.Next() {
				var name string
				var root uint32
				if err := rows.Scan(&name, &root); err != nil {
					t.Fatal(err)
				}
				n, _, _, size, err := database.CountPages(at.DriverDSN, root)
				if err != nil || size != int64(pageSize) {
					t.Fatalf("%s: got pages of %d bytes, %v", name, size, err)
				}
				sum += n
				trees++
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
			if sum != all || trees != 5 {
				t.Errorf("got %d pages in %d trees and the free list, want %d in 5", sum, trees, all)
			}
		})
	}
}

func TestPagesRefuse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for name, content := range map[string][]byte{
		"short":         []byte("SQLite"),
		"no pages":      make([]byte, 8192),
		"no such type":  append(append(make([]byte, 16), 0x10, 0), make([]byte, 8192)...),
		"loop of pages": loop(),
	} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if n, _, _, _, err := database.CountPages(path, 2); err == nil {
			t.Errorf("%s: got %d pages and no error", name, n)
		}
	}
}

// loop is a file of two pages of which the second is an interior one that points to itself.
func loop() []byte {
	file := make([]byte, 2*4096)
	file[16] = 0x10
	page := file[4096:]
	page[0], page[11] = 5, 2
	return file
}

// Each row of a blob takes bytes that can be told: its length and key, a header of 4 bytes, and a pointer of 2. Rows that were deleted leave free
// blocks, and shorter ones in their place fragments.
func TestPagesFill(t *testing.T) {
	t.Parallel()
	at := dbtest.SQLite(t)
	db := at.Open(t)
	db.SetMaxOpenConns(1)
	used := func() (pages, room, used int64) {
		t.Helper()
		var root uint32
		if err := db.QueryRowContext(t.Context(), "SELECT rootpage FROM sqlite_master WHERE name = 't'").Scan(&root); err != nil {
			t.Fatal(err)
		}
		pages, room, used, _, err := database.CountPages(at.DriverDSN, root)
		if err != nil {
			t.Fatal(err)
		}
		return pages, room, used
	}
	const rows, row, shorter = 3000, 1 + 2 + 4 + 100 + 2, 1 + 2 + 4 + 97 + 2 // keys from 1,000 on take two bytes
	want := int64(0)
	for _, step := range []struct {
		do   string
		more int64 // bytes
	}{
		{"CREATE TABLE t (id INTEGER PRIMARY KEY, b BLOB)", 0},
		{"WITH RECURSIVE c(i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM c WHERE i < 3999) INSERT INTO t SELECT i, randomblob(100) FROM c", rows * row},
		{"DELETE FROM t WHERE id % 3 = 0", -rows / 3 * row},
		{"UPDATE t SET b = randomblob(97) WHERE id % 3 = 1", -rows / 3 * (row - shorter)},
	} {
		if _, err := db.ExecContext(t.Context(), step.do); err != nil {
			t.Fatal(err)
		}
		want += step.more
		pages, room, got := used()
		if got != want {
			t.Errorf("%s: got %d bytes used, want %d", step.do, got, want)
		}
		// All pages but the one above have 4,096 bytes without a header of 8.
		if leaves := max(1, pages-1); room != leaves*4088 {
			t.Errorf("%s: got room for %d bytes in %d pages", step.do, room, pages)
		}
	}
}
