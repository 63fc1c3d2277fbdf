package shard_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/gormplugin/shard"
	idshard "github.com/snowkey-go/snowkey/idgen/shard"
	"github.com/snowkey-go/snowkey/internal/catalog"
)

// TestAutoMigrate makes the tables of two models, and finds nothing to change the second time.
func TestAutoMigrate(t *testing.T) {
	type note struct {
		ID   int64 `gorm:"snowkey"`
		Text string
	}
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		db := open()
		r := use(t, db, shard.Config{Shards: idshard.Tables(3)})
		var before string
		for range 2 {
			must(t, r.AutoMigrate(db, &purchase{}, &note{}))
			digest := fingerprint(t, db, "purchases_00", "purchases_01", "purchases_02", "notes")
			if before != "" && digest != before {
				t.Errorf("the second migration has changed the tables")
			}
			before = digest
		}
		for _, name := range []string{"purchases_00", "purchases_02"} {
			table := loaded(t, db, name)
			if auto := column(t, table, "id").Auto; auto != "" {
				t.Errorf("%s: the key is %s, want none", name, auto)
			}
			if got := indexes(table); !slices.Contains(got, 2) || !slices.Contains(got, 1) || len(got) != 2 {
				t.Errorf("%s: got indexes over %v columns, want one over 2 and one over 1", name, got)
			}
		}
		if loaded(t, db, "purchases") != nil {
			t.Error("there is a table without a suffix")
		}
		if loaded(t, db, "notes") == nil {
			t.Error("there is no table of the model that is not sharded")
		}
	})
}

// indexes returns of how many columns each index is, but for the primary key's.
func indexes(table *catalog.Table) (widths []int) {
	for _, i := range table.Indexes {
		if !i.Primary {
			widths = append(widths, len(i.Columns))
		}
	}
	return widths
}

// TestAutoMigrateRelations leads GORM from a model to a sharded one, and back.
func TestAutoMigrateRelations(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		db := open()
		r := use(t, db, shard.Config{Shards: idshard.Tables(2)})
		must(t, r.AutoMigrate(db, &city{}, &customer{}, &bill{}))
		for _, name := range []string{"bills", "customers_00"} {
			if loaded(t, db, name) != nil {
				t.Errorf("there is a table %s", name)
			}
		}
		if table := loaded(t, db, "bills_01"); table == nil || len(references(t, db, table)) != 0 {
			t.Errorf("bills_01: got %v, want a table without foreign keys", table)
		}
		if got := references(t, db, loaded(t, db, "customers")); len(got) != 1 || got[0].Parent.Name != "cities" {
			t.Errorf("got the foreign keys %v, want one to cities", got)
		}
		must(t, r.AutoMigrate(db, &city{}, &customer{}, &bill{}))
	})
}

type city struct {
	ID   int64 `gorm:"snowkey;autoIncrement:false"`
	Name string
}

type customer struct {
	ID     int64 `gorm:"snowkey;autoIncrement:false"`
	CityID int64
	City   city
	Bills  []bill
}

type bill struct {
	ID         int64 `gorm:"snowkey:shard=CustomerID"`
	CustomerID int64
	Customer   customer
}

// hostile is a model of names that have to be quoted.
type hostile struct {
	ID     int64  `gorm:"column:Select;snowkey:shard=UserID"`
	UserID string `gorm:"column:user id;size:40;index:Index Of,unique"`
}

func (hostile) TableName() string { return "Order\"By" }

// TestAutoIncrementOff makes plain columns of keys that GORM has for auto-increment, also in the table without a suffix.
func TestAutoIncrementOff(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		db := open()
		r := use(t, db, shard.Config{Shards: []idshard.Shard{{Name: "old"}, {Name: "new", Suffix: "_new"}}})
		must(t, r.AutoMigrate(db, &bill{}, &purchase{}))
		for _, name := range []string{"bills", "bills_new"} {
			if auto := column(t, loaded(t, db, name), "id").Auto; auto != "" {
				t.Errorf("%s: the key is %s, want none", name, auto)
			}
		}
		if got := len(indexes(loaded(t, db, "purchases"))); got != 2 {
			t.Errorf("the table without a suffix: got %d indexes, want 2", got)
		}
	})
}

// TestAutoMigrateFar begins with a session of another database than the router's own.
func TestAutoMigrateFar(t *testing.T) {
	own, far, r := twoDatabases(t, func() *gorm.DB { return openGORM(t, kinds["sqlite"](t)) })
	db, err := r.DB(t.Context(), keyIn(t, r.Map(), "far0"))
	must(t, err)
	must(t, r.AutoMigrate(db, &copied{}, &event{}))
	for name, want := range map[string][2]bool{"copieds": {true, false}, "events_00": {true, true}, "events_01": {true, true}} {
		if got := [2]bool{loaded(t, own, name) != nil, loaded(t, far, name) != nil}; got != want {
			t.Errorf("%s: in the two databases %v, want %v", name, got, want)
		}
	}
	err = db.Transaction(func(tx *gorm.DB) error { return r.AutoMigrate(tx, &copied{}) })
	if !errors.Is(err, shard.ErrTransaction) {
		t.Errorf("in a transaction there: got %v, want ErrTransaction", err)
	}
}

// TestHostileNames, but for a space in the name of a table, which GORM itself does not migrate twice, makes tables with names that have to be quoted, writes to them and reads them.
func TestHostileNames(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		db := open()
		r := use(t, db, shard.Config{Shards: idshard.Tables(2)})
		before := ""
		for range 2 {
			must(t, r.AutoMigrate(db, &hostile{}))
			digest := fingerprint(t, db, `Order"By_00`, `Order"By_01`)
			if before != "" && digest != before {
				t.Error("the second migration has changed the tables")
			}
			before = digest
		}
		if table := loaded(t, db, `Order"By_01`); table == nil || len(indexes(table)) != 1 {
			t.Fatalf("got %v, want a table with an index", table)
		}
		rows := []hostile{{UserID: "a"}, {UserID: "b"}, {UserID: "c"}, {UserID: "d"}, {UserID: "e"}}
		must(t, db.Create(&rows).Error)
		n := 0
		for row, err := range shard.Between[hostile](db, noon, noon.Add(1e5*time.Hour)) {
			must(t, err)
			if row.UserID == "" {
				t.Errorf("got %+v", row)
			}
			n++
		}
		if n != len(rows) {
			t.Errorf("got %d rows, want %d", n, len(rows))
		}
	})
}

// TestSchemas makes the tables of a model in another schema.
func TestSchemas(t *testing.T) {
	db := openGORM(t, kinds["postgres"](t))
	must(t, db.Exec("CREATE SCHEMA app").Error)
	r := use(t, db, shard.Config{Shards: idshard.Tables(2)})
	for range 2 {
		must(t, r.AutoMigrate(db, &inSchema{}))
	}
	must(t, db.Create(&[]inSchema{{UserID: 1}, {UserID: 2}, {UserID: 3}}).Error)
	var n int64
	must(t, db.Raw("SELECT (SELECT COUNT(*) FROM app.orders_00) + (SELECT COUNT(*) FROM app.orders_01)").Row().Scan(&n))
	between := 0
	for _, err := range shard.Between[inSchema](db.Where("orders.user_id > 0"), noon, noon.Add(1e5*time.Hour)) {
		must(t, err)
		between++
	}
	if n != 3 || between != 3 {
		t.Errorf("got %d rows, %d by Between, want 3", n, between)
	}
}

// TestAutoMigrateError names the table.
func TestAutoMigrateError(t *testing.T) {
	type bad struct {
		ID     int64 `gorm:"snowkey:shard=UserID"`
		UserID int64 `gorm:"type:no such type ("`
	}
	db := openGORM(t, kinds["sqlite"](t))
	r := use(t, db, shard.Config{Shards: idshard.Tables(2)})
	err := r.AutoMigrate(db, &bad{})
	if err == nil || !contains(err, "bads_00") {
		t.Errorf("got %v, want an error that names bads_00", err)
	}
	if err := shard.New(shard.Config{}).AutoMigrate(db, &bad{}); !errors.Is(err, shard.ErrConfig) {
		t.Errorf("without a database: got %v, want ErrConfig", err)
	}
}
