package gormplugin_test

import (
	"bytes"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/sqltype"
)

// granted registers a plugin that acquires its number itself.
func granted(t *testing.T, db *gorm.DB, options ...gormplugin.Option) *gormplugin.Plugin {
	t.Helper()
	plugin := gormplugin.New(options...)
	if err := db.Use(plugin); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plugin.Close(); err != nil {
			t.Error(err)
		}
	})
	return plugin
}

// another opens the same database once more, as another process would.
func another(t *testing.T, db *gorm.DB) *gorm.DB {
	t.Helper()
	again, err := gorm.Open(db.Dialector, &gorm.Config{Logger: new(recorder)})
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// Generator is the layout of the keys, once; a layout for InnoDB is warned of on PostgreSQL.
func TestGenerator(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		twice := gormplugin.New(gormplugin.Generator(idgen.Packed), gormplugin.Grants(grant.Config{Generator: []idgen.Option{idgen.JS53}}))
		if err := db.Use(twice); !errors.Is(err, grant.ErrConfig) || !strings.Contains(err.Error(), "Generator beside") {
			t.Errorf("got %v of two layouts", err)
		}
		var log bytes.Buffer
		plugin := granted(t, db, gormplugin.Generator(idgen.Packed), gormplugin.Grants(grant.Config{Space: "orders"}), gormplugin.Logger(slog.New(slog.NewTextHandler(&log, nil))))
		if plugin.Layout() != idgen.Packed.Layout || plugin.Keeper().State().Space != "orders" {
			t.Errorf("got the layout %s and the space %q", plugin.Layout(), plugin.Keeper().State().Space)
		}
		if warned := strings.Contains(log.String(), "on PostgreSQL it makes the index of the key larger"); warned != (db.Name() == "postgres") {
			t.Errorf("got the log %q", log.String())
		}
	})
}

// Three replicas that write db.Use(gormplugin.New()) and nothing else have three numbers, and no key twice.
func TestThreeReplicas(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		if err := db.AutoMigrate(&Order{}, &Line{}); err != nil {
			t.Fatal(err)
		}
		replicas := []*gorm.DB{db, another(t, db), another(t, db)}
		numbers := map[int64]bool{}
		for _, replica := range replicas {
			numbers[granted(t, replica).Keeper().State().Number] = true
		}
		if len(numbers) != 3 {
			t.Errorf("got the numbers %v, want three", numbers)
		}
		var wg sync.WaitGroup
		for _, replica := range replicas {
			wg.Go(func() {
				for range 20 {
					orders := make([]Order, 25)
					if err := replica.Create(&orders).Error; err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		var rows int64
		if err := db.Model(&Order{}).Count(&rows).Error; err != nil || rows != 1500 {
			t.Errorf("got %d rows, %v, want 1500", rows, err)
		}
		var ids []sqltype.ID
		if err := db.Model(&Order{}).Pluck("id", &ids).Error; err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			if parts, err := idgen.Snowkey.Decode(id.Int64()); err != nil || !numbers[parts.Node] {
				t.Fatalf("got the id %d of node %d, %v, want one of %v", id, parts.Node, err, numbers)
			}
		}
	})
}

// A number that Close has given back is the next one's; creates fail after Close.
func TestCloseGivesTheNumberBack(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		if err := db.AutoMigrate(&Order{}, &Line{}); err != nil {
			t.Fatal(err)
		}
		plugin := granted(t, db)
		create(t, db, &Order{})
		if err := plugin.Close(); err != nil {
			t.Fatal(err)
		}
		if err := db.Create(&Order{}).Error; !errors.Is(err, grant.ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
		if err := db.Create(&Order{ID: 5}).Error; err != nil {
			t.Errorf("got %v for a key that was set", err)
		}
		// The ticks up to the last key's are used; on a fast database that one may not have ended.
		for used := time.Now().Add(2 * idgen.Snowkey.Unit()); time.Now().Before(used); {
			runtime.Gosched()
		}
		again := another(t, db)
		if got, want := granted(t, again).Keeper().State().Number, plugin.Keeper().State().Number; got != want {
			t.Errorf("got number %d, want %d again", got, want)
		}
		create(t, again, &Order{})
	})
}

// Within a transaction on the pool's only connection keys are there, since the number was acquired before.
func TestGrantWithOneConnection(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		pool, err := db.DB()
		if err != nil {
			t.Fatal(err)
		}
		pool.SetMaxOpenConns(1)
		if err := db.AutoMigrate(&Order{}, &Line{}); err != nil {
			t.Fatal(err)
		}
		granted(t, db)
		err = db.Transaction(func(tx *gorm.DB) error { return tx.Create(&Order{Lines: []Line{{}, {}}}).Error })
		if err != nil {
			t.Error(err)
		}
	})
}

// Another layout, table and space.
func TestGrants(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		if err := db.AutoMigrate(&Order{}, &Line{}); err != nil {
			t.Fatal(err)
		}
		config := grant.Config{Generator: []idgen.Option{idgen.JS53}, Space: "orders"}
		plugin := granted(t, db, gormplugin.Grants(config, grant.WithTable("numbers")))
		order := Order{}
		create(t, db, &order)
		if order.ID >= 1<<53 || order.ID <= 0 {
			t.Errorf("got the id %d, want one below 2^53", order.ID)
		}
		var node int64
		if err := db.Raw("SELECT node FROM numbers WHERE space = 'orders' AND node >= 0").Scan(&node).Error; err != nil || node != plugin.Keeper().State().Number {
			t.Errorf("got node %d, %v, want %d in the table", node, err, plugin.Keeper().State().Number)
		}
		err := another(t, db).Use(gormplugin.New(gormplugin.Grants(grant.Config{Space: "orders"}, grant.WithTable("numbers"))))
		if !errors.Is(err, grant.ErrLayout) {
			t.Errorf("got %v, want ErrLayout", err)
		}
	})
}

func TestGrantNotPossible(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		if err := another(t, db).Use(gormplugin.New(gormplugin.Grants(grant.Config{}, grant.WithTable("a b")))); !errors.Is(err, grant.ErrTable) {
			t.Errorf("got %v, want ErrTable", err)
		}
	})
	other, err := gorm.Open(otherDialector{}, &gorm.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Use(gormplugin.New()); !errors.Is(err, gormplugin.ErrDatabase) || !errors.Is(err, grant.ErrDialect) {
		t.Errorf("got %v, want ErrDatabase", err)
	}
}

// otherDialector is one of a database that the grants do not know.
type otherDialector struct{ gorm.Dialector }

func (otherDialector) Name() string              { return "sqlserver" }
func (otherDialector) Initialize(*gorm.DB) error { return nil }

// A plugin whose number is granted elsewhere serves two databases, and makes a table of grants in none.
func TestGrantsInAnotherStore(t *testing.T) {
	plugin := gormplugin.New(gormplugin.GrantsIn(grant.Memory(nil), grant.Config{}), gormplugin.AllKeys(), gormplugin.Prepare(&Reader{}))
	defer plugin.Close()
	seen := map[int64]bool{}
	for range 2 {
		db := openDatabase(t, dbtest.SQLite(t).DSN)
		if err := db.Use(plugin); err != nil {
			t.Fatal(err)
		}
		if err := db.AutoMigrate(&Reader{}); err != nil {
			t.Fatal(err)
		}
		reader := Reader{Email: "a"}
		create(t, db, &reader)
		if reader.ID == 0 || seen[reader.ID] || db.Migrator().HasTable(grant.DefaultTable) {
			t.Errorf("got the key %d, seen before: %t, and a table of grants: %t", reader.ID, seen[reader.ID], db.Migrator().HasTable(grant.DefaultTable))
		}
		seen[reader.ID] = true
	}
	if err := gormplugin.New(gormplugin.GrantsIn(nil, grant.Config{})).Initialize(nil); !errors.Is(err, grant.ErrConfig) {
		t.Errorf("no store: got %v, want ErrConfig", err)
	}
}
