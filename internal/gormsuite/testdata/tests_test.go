package tests_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	. "gorm.io/gorm/utils/tests"
)

var mysqlDSN, postgresDSN string

func OpenTestConnection(cfg *gorm.Config) (*gorm.DB, error) {
	return gorm.Open(sqlite.Open(filepath.Join(os.TempDir(), "gorm.db")), cfg)
}

// open opens a database with the table toys.
func open(t *testing.T) *gorm.DB {
	t.Helper()
	db, err := OpenTestConnection(&gorm.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.AutoMigrate(&Toy{}); err != nil {
		t.Fatal(err)
	}
	return db
}

// create returns the key of a new row.
func create(t *testing.T) uint {
	t.Helper()
	toy := Toy{Name: "ball"}
	if err := open(t).Create(&toy).Error; err != nil {
		t.Fatal(err)
	}
	return toy.ID
}

func TestKey(t *testing.T) {
	if id := create(t); id < 1<<40 {
		t.Errorf("got the key %d, want a snowflake", id)
	}
}

func TestPlain(t *testing.T) {
	var table string
	if err := open(t).Raw("SELECT sql FROM sqlite_master WHERE name = 'toys'").Scan(&table).Error; err != nil {
		t.Fatal(err)
	}
	if table == "" || strings.Contains(table, "AUTOINCREMENT") {
		t.Errorf("got %q, want a plain column", table)
	}
}

// TestForeignKeys asks two connections at a time.
func TestForeignKeys(t *testing.T) {
	pool, err := open(t).DB()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		connection, err := pool.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = connection.Close() }()
		on := 0
		if err := connection.QueryRowContext(t.Context(), "PRAGMA foreign_keys").Scan(&on); err != nil || on != 1 {
			t.Errorf("got %d and %v, want 1", on, err)
		}
	}
}

func TestCounter(t *testing.T) {
	t.Run("first", func(t *testing.T) {
		if id := create(t); id != 1 {
			t.Errorf("got the key %d, want 1", id)
		}
	})
	t.Run("type", func(t *testing.T) {})
}

// TestWait says that it waits, and waits for its end.
func TestWait(t *testing.T) {
	path := os.Getenv("GORMSUITE_WAIT")
	if path == "" {
		t.Skip()
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString("waiting\n"); err != nil {
		t.Fatal(err)
	}
	select {}
}
