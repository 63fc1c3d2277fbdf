package check_test

import (
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dsn"
	"github.com/snowkey-go/snowkey/sqltype"
)

type (
	Order struct {
		ID    sqltype.ID
		Item  string
		Lines []Line
	}
	Line struct {
		ID      sqltype.ID
		OrderID sqltype.ID
		Text    string
	}
)

// onEach runs a test on a fresh database of each kind.
func onEach(t *testing.T, test func(t *testing.T, db *gorm.DB)) {
	for name, make := range map[string]func(testing.TB) dbtest.Database{"sqlite": dbtest.SQLite, "mysql": dbtest.MySQL, "postgres": dbtest.Postgres} {
		t.Run(name, func(t *testing.T) {
			test(t, openDatabase(t, make(t).DSN))
		})
	}
}

// openDatabase opens a database with the driver of its DSN.
func openDatabase(t *testing.T, text string) *gorm.DB {
	t.Helper()
	parsed, err := dsn.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := parsed.Open()
	if err != nil {
		t.Fatal(err)
	}
	pool.SetMaxOpenConns(1) // a query inside another would hang
	t.Cleanup(func() { _ = pool.Close() })
	db, err := gorm.Open(parsed.Dialector(pool), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func autoMigrate(t *testing.T, db *gorm.DB, models ...any) {
	t.Helper()
	if err := db.AutoMigrate(models...); err != nil {
		t.Fatal(err)
	}
}
