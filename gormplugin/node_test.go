package gormplugin_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/plugin/dbresolver"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dsn"
)

// resolved returns dbresolver with a source that is the database itself and another one, and two replicas, which are databases of their own.
func resolved(t *testing.T, db *gorm.DB) (resolver *dbresolver.DBResolver, replicas []*gorm.DB) {
	t.Helper()
	kind := map[string]string{"sqlite": dsn.SQLite, "mysql": dsn.MySQL, "postgres": dsn.Postgres}[db.Name()]
	replicas = []*gorm.DB{openOn(t, kind), openOn(t, kind)}
	dialectors := []gorm.Dialector{replicas[0].Dialector, replicas[1].Dialector}
	return dbresolver.Register(dbresolver.Config{Sources: []gorm.Dialector{db.Dialector, db.Dialector}, Replicas: dialectors}), replicas
}

// TestDBResolverInAnyOrder registers dbresolver before and after the plugin, with db.Use and in gorm.Config: there is one number, of the database that
// gorm.Open was given, and the replicas are asked for none.
func TestDBResolverInAnyOrder(t *testing.T) {
	for _, order := range []string{"before", "after", "after gorm.Config"} {
		t.Run(order, func(t *testing.T) {
			onEach(t, func(t *testing.T, db *gorm.DB) {
				do(t, db.AutoMigrate(&Order{}, &Line{}))
				resolver, replicas := resolved(t, db)
				plugin := gormplugin.New()
				t.Cleanup(func() { do(t, plugin.Close()) })
				switch order {
				case "before":
					do(t, db.Use(resolver))
					do(t, db.Use(plugin))
				case "after":
					do(t, db.Use(plugin))
					do(t, db.Use(resolver))
				default:
					var err error
					db, err = gorm.Open(db.Dialector, &gorm.Config{Logger: new(recorder), Plugins: map[string]gorm.Plugin{plugin.Name(): plugin}})
					do(t, err)
					do(t, db.Use(resolver))
				}
				order := Order{Item: "a", Lines: []Line{{Text: "b"}}}
				create(t, db, &order)
				if n := count(t, db.Clauses(dbresolver.Write).Where("id = ?", order.ID), &Order{}); n != 1 || order.ID == 0 || order.Lines[0].ID == 0 {
					t.Errorf("got %d rows of %+v", n, order)
				}
				var numbers int64
				do(t, db.Clauses(dbresolver.Write).Raw("SELECT COUNT(*) FROM snowkey_nodes WHERE node >= 0").Scan(&numbers).Error)
				if numbers != 1 {
					t.Errorf("got %d node numbers, want 1", numbers)
				}
				for _, replica := range replicas {
					if replica.Migrator().HasTable("snowkey_nodes") {
						t.Error("a replica has been asked for a number")
					}
				}
			})
		})
	}
}

// TestOneDatabaseOneNumber uses a plugin with several connections to one database, and with others.
func TestOneDatabaseOneNumber(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		do(t, db.AutoMigrate(&Order{}, &Line{}))
		plugin := granted(t, db, gormplugin.Prepare(&Order{}))
		again := another(t, db)
		do(t, again.Use(plugin))
		first, second := Order{}, Order{}
		create(t, db, &first)
		create(t, again, &second)
		if first.ID == 0 || second.ID <= first.ID || plugin.Keeper().State().Acquired != 1 {
			t.Errorf("got the keys %d and %d, and %d numbers, want one", first.ID, second.ID, plugin.Keeper().State().Acquired)
		}
		kind := map[string]string{"sqlite": dsn.SQLite, "mysql": dsn.MySQL, "postgres": dsn.Postgres}[db.Name()]
		other := openOn(t, kind)
		if err := other.Use(plugin); !errors.Is(err, gormplugin.ErrDatabase) || other.Migrator().HasTable("snowkey_nodes") {
			t.Errorf("another database: got %v, want ErrDatabase and no table", err)
		}
		granted(t, other)
		other.Plugins = map[string]gorm.Plugin{}
		if err := other.Use(plugin); !errors.Is(err, gormplugin.ErrDatabase) {
			t.Errorf("another database with grants: got %v, want ErrDatabase", err)
		}
	})
}

// TestCopyIsAnotherDatabase copies the table with the plugin's row as it is: the copy has the same space, and no renewal.
func TestCopyIsAnotherDatabase(t *testing.T) {
	for _, kind := range []string{dsn.SQLite, dsn.MySQL, dsn.Postgres} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			db, other := openOn(t, kind), openOn(t, kind)
			plugin := granted(t, db)
			do(t, other.Exec(grantTable(t, other)).Error)
			var rows []map[string]any
			do(t, db.Raw("SELECT * FROM snowkey_nodes").Scan(&rows).Error)
			do(t, other.Table("snowkey_nodes").Create(rows).Error)
			if err := other.Use(plugin); !errors.Is(err, gormplugin.ErrDatabase) {
				t.Errorf("got %v, want ErrDatabase", err)
			}
			do(t, another(t, db).Use(plugin))
		})
	}
}

// grantTable is the statement that makes the table of grants.
func grantTable(t *testing.T, db *gorm.DB) string {
	t.Helper()
	dialect, err := grant.LookupDialect(db.Name())
	do(t, err)
	statement, err := grant.DDL(dialect, "")
	do(t, err)
	return statement
}

// TestClosedPlugin uses a plugin for another connection after it was closed.
func TestClosedPlugin(t *testing.T) {
	db := openOn(t, dsn.SQLite)
	plugin := gormplugin.New()
	do(t, db.Use(plugin))
	do(t, plugin.Close())
	if err := another(t, db).Use(plugin); !errors.Is(err, grant.ErrClosed) || !errors.Is(err, gormplugin.ErrDatabase) {
		t.Errorf("got %v, want ErrClosed", err)
	}
}

// TestCopiedConfiguration opens another database as dbresolver does, and creates rows there.
func TestCopiedConfiguration(t *testing.T) {
	db := openOn(t, dsn.SQLite)
	granted(t, db)
	config := *db.Config
	other, err := gorm.Open(openOn(t, dsn.SQLite).Dialector, &config)
	do(t, err)
	do(t, other.AutoMigrate(&Order{}, &Line{}))
	order := Order{Item: "a"}
	if err := other.Create(&order).Error; !errors.Is(err, gormplugin.ErrDatabase) || order.ID != 0 || count(t, other, &Order{}) != 0 {
		t.Errorf("got %v and %+v, want ErrDatabase and no row", err, order)
	}
	create(t, db.Session(&gorm.Session{DryRun: true}), &order)
}

// TestUseWithinATransaction registers the plugin where the caller's transaction holds the only connection, and where there are more.
func TestUseWithinATransaction(t *testing.T) {
	for name, open := range map[string]func(testing.TB) dbtest.Database{"mysql": dbtest.MySQL, "postgres": dbtest.Postgres, "sqlite": dbtest.SQLite} {
		t.Run(name, func(t *testing.T) {
			db := openDatabase(t, open(t).DSN)
			pool, err := db.DB()
			do(t, err)
			pool.SetMaxOpenConns(1)
			tx := db.Begin()
			began := time.Now()
			err = tx.Use(gormplugin.New())
			if !errors.Is(err, gormplugin.ErrDatabase) || !strings.Contains(err.Error(), "only connection") || time.Since(began) > time.Minute {
				t.Errorf("got %v, want ErrDatabase that names the connection", err)
			}
			do(t, tx.Rollback().Error)
			if name == "sqlite" {
				return // has one writer
			}
			pool.SetMaxOpenConns(2)
			tx = db.Begin()
			plugin := gormplugin.New()
			do(t, tx.Use(plugin))
			do(t, plugin.Close())
			do(t, tx.Rollback().Error)
		})
	}
}

// TestUseThatFailsGivesBack fails after the number was acquired.
func TestUseThatFailsGivesBack(t *testing.T) {
	type Bad struct {
		ID int32 `gorm:"snowkey"`
	}
	plugin := gormplugin.New(gormplugin.Prepare(&Bad{}))
	if err := openOn(t, dsn.SQLite).Use(plugin); !errors.Is(err, gormplugin.ErrKey) || plugin.Keeper() != nil {
		t.Errorf("got %v, want ErrKey, and no number", err)
	}
}
