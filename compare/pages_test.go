package compare_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/snowkey-go/snowkey/compare"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// All pages of a file belong to one of its b-trees or are free, so the counts add up to what SQLite says.
func TestPagesAddUp(t *testing.T) {
	for _, pageSize := range []int{512, 4096, 65536} {
		t.Run(fmt.Sprintf("page=%d", pageSize), func(t *testing.T) {
			database := dbtest.SQLite(t)
			db := database.Open(t)
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
				n, size, err := compare.CountPages(database.DriverDSN, root)
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
		if n, _, err := compare.CountPages(path, 2); err == nil {
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
