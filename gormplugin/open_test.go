package gormplugin_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dsn"
)

// mustRun runs statements, in which @ is a key that was made now.
func mustRun(t *testing.T, db *gorm.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if err := db.Session(&gorm.Session{NewDB: true}).Exec(strings.ReplaceAll(statement, "@", snowflake(t))).Error; err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// snowflake returns a key of this test's.
func snowflake(t *testing.T) string {
	t.Helper()
	id, err := idgen.Snowkey.MinID(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(id)
}

// openOn opens a fresh database of a kind.
func openOn(t *testing.T, kind string) *gorm.DB {
	t.Helper()
	make := map[string]func(testing.TB) dbtest.Database{dsn.SQLite: dbtest.SQLite, dsn.MySQL: dbtest.MySQL, dsn.Postgres: dbtest.Postgres}[kind]
	return openDatabase(t, make(t).DSN)
}

func openDatabase(t *testing.T, text string) *gorm.DB {
	t.Helper()
	parsed, pool := openPool(t, text)
	pool.SetMaxOpenConns(1) // a query inside another would hang
	return openGORM(t, parsed.Dialector(pool), &gorm.Config{Logger: new(recorder)})
}

// openPool opens a database until the end of the test.
func openPool(t testing.TB, text string) (dsn.DSN, *sql.DB) {
	t.Helper()
	parsed, err := dsn.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := parsed.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	return parsed, pool
}

func openGORM(t testing.TB, dialector gorm.Dialector, config *gorm.Config) *gorm.DB {
	t.Helper()
	db, err := gorm.Open(dialector, config)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// mustGenerator returns a generator of node 7, which is safe for concurrent use.
func mustGenerator(t *testing.T) *idgen.Snowflake {
	t.Helper()
	generator, err := idgen.New(idgen.WithNode(7))
	if err != nil {
		t.Fatal(err)
	}
	return generator
}
