package shard_test

import (
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/gormplugin/shard"
	idshard "github.com/snowkey-go/snowkey/idgen/shard"
	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/internal/dsn"
	"github.com/snowkey-go/snowkey/sqltype"
)

// purchase is a sharded model with indexes of its own names.
type purchase struct {
	ID     sqltype.ID `gorm:"snowkey:shard=UserID"`
	UserID int64      `gorm:"index:idx_purchase_user,priority:1"`
	Item   string     `gorm:"size:40;index:idx_purchase_user,priority:2;index"`
	Count  int        `gorm:"check:enough,count >= 0"`
}

// kinds make a fresh database.
var kinds = map[string]func(testing.TB) dbtest.Database{"sqlite": dbtest.SQLite, "mariadb": dbtest.MySQL, "postgres": dbtest.Postgres}

// eachKind runs a test for each kind of database; the function that it is given opens one.
func eachKind(t *testing.T, test func(t *testing.T, open func() *gorm.DB)) {
	for name, make := range kinds {
		t.Run(name, func(t *testing.T) {
			test(t, func() *gorm.DB { return openGORM(t, make(t)) })
		})
	}
}

// openGORM opens a database without a router.
func openGORM(t testing.TB, database dbtest.Database) *gorm.DB {
	t.Helper()
	parsed, err := dsn.Parse(database.DSN)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := parsed.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	db, err := gorm.Open(parsed.Dialector(pool), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// use registers a router, which is closed before the database.
func use(t testing.TB, db *gorm.DB, config shard.Config) *shard.Router {
	t.Helper()
	r := shard.New(config)
	if err := db.Use(r); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil && !strings.Contains(err.Error(), "closed") {
			t.Error(err)
		}
	})
	return r
}

// storeOf returns the store of a database's maps.
func storeOf(t testing.TB, db *gorm.DB) *idshard.Store {
	t.Helper()
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	kind := map[string]idshard.Dialect{"sqlite": idshard.SQLite, "mysql": idshard.MySQL, "postgres": idshard.Postgres}[db.Name()]
	return idshard.NewStore(pool, kind)
}

// must stops the test at an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// contains tells whether an error's text has another one in it.
func contains(err error, text string) bool { return strings.Contains(err.Error(), text) }

// catalogOf reads what a database has.
func catalogOf(t testing.TB, db *gorm.DB) *catalog.Catalog {
	t.Helper()
	kind, _ := dialect.Lookup(db.Name())
	known, err := catalog.New(db.Statement.ConnPool, kind)
	must(t, err)
	return known
}

// loaded returns a table, nil for none.
func loaded(t testing.TB, db *gorm.DB, name string) *catalog.Table {
	t.Helper()
	table, err := catalogOf(t, db).Table(t.Context(), catalog.Name{Name: name})
	must(t, err)
	return table
}

func references(t testing.TB, db *gorm.DB, table *catalog.Table) (from []*catalog.Reference) {
	t.Helper()
	all, err := catalogOf(t, db).References(t.Context(), table)
	must(t, err)
	for _, r := range all {
		if r.Child.Name == table.Name.Name {
			from = append(from, r)
		}
	}
	return from
}

func column(t testing.TB, table *catalog.Table, name string) *catalog.Column {
	t.Helper()
	for i := range table.Columns {
		if table.Columns[i].Name == name {
			return table.Columns[i]
		}
	}
	t.Fatalf("%v has no column %s", table.Name, name)
	return nil
}

// fingerprint tells two states of tables from each other.
func fingerprint(t testing.TB, db *gorm.DB, names ...string) string {
	t.Helper()
	list := make([]catalog.Name, len(names))
	for i, name := range names {
		list[i].Name = name
	}
	digest, err := catalogOf(t, db).Fingerprint(t.Context(), list...)
	must(t, err)
	return digest
}
