package inspect_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/inspect"
)

// state is a digest of what is defined and of all rows.
func state(t *testing.T, db *gorm.DB) string {
	t.Helper()
	d, _ := dialect.Lookup(db.Name())
	c, err := catalog.New(db.Statement.ConnPool, d)
	if err != nil {
		t.Fatal(err)
	}
	names, err := c.Tables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fingerprint, err := c.Fingerprint(t.Context(), names...)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	fmt.Fprint(sum, fingerprint, names)
	for _, name := range names {
		var rows []map[string]any
		if err := db.Raw("SELECT * FROM " + c.Quoted(name) + " ORDER BY 1, 2").Scan(&rows).Error; err != nil {
			t.Fatal(err)
		}
		if err := json.NewEncoder(sum).Encode(rows); err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// A user who may only read can inspect, and nothing is changed by it.
func TestNothingIsWritten(t *testing.T) {
	options := inspect.Options{References: []string{"documents.body:$.customer.id=customers.id"}}
	read := func(t *testing.T, owner, reader *gorm.DB) {
		t.Helper()
		before := state(t, owner)
		r := mustInspect(t, reader, options)
		if len(r.Tables) != 8 || len(r.References) != 10 {
			t.Errorf("got %d tables and %d references, want 8 and 10", len(r.Tables), len(r.References))
		}
		if after := state(t, owner); after != before {
			t.Error("the database is another one")
		}
		if err := reader.Exec("DELETE FROM customers").Error; err == nil {
			t.Error("the user could write, so this test proves nothing")
		}
	}
	t.Run("sqlite", func(t *testing.T) {
		database := dbtest.SQLite(t)
		owner := open(t, database)
		makeShop(t, owner)
		bytes, err := os.ReadFile(database.DriverDSN)
		if err != nil {
			t.Fatal(err)
		}
		database.DSN = "sqlite:file:" + database.DriverDSN + "?mode=ro"
		read(t, owner, open(t, database))
		if after, err := os.ReadFile(database.DriverDSN); err != nil || string(after) != string(bytes) {
			t.Errorf("the file is another one, %v", err)
		}
	})
	t.Run("mysql", func(t *testing.T) {
		owner := openOn(t, "mysql")
		makeShop(t, owner)
		read(t, owner, readOnly(t, owner, "SET SESSION TRANSACTION READ ONLY"))
	})
	t.Run("postgres", func(t *testing.T) {
		owner := openOn(t, "postgres")
		makeShop(t, owner)
		read(t, owner, readOnly(t, owner, "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY"))
	})
}

// readOnly returns a session on one connection, whose transactions may not write: not even to temporary tables.
func readOnly(t *testing.T, db *gorm.DB, statement string) *gorm.DB {
	t.Helper()
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // the pool is closed anyway
	if _, err := conn.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
	session := db.Session(&gorm.Session{NewDB: true, SkipDefaultTransaction: true})
	session.Statement.ConnPool = conn
	return session
}
