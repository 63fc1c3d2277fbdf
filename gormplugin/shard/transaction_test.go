package shard_test

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"testing"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/gormplugin/shard"
	idshard "github.com/snowkey-go/snowkey/idgen/shard"
	"github.com/snowkey-go/snowkey/sqltype"
)

// servers opens three databases with a router that has two tables in each: the router's own, b and c.
func servers(t *testing.T, open func() *gorm.DB, models ...any) (all map[string]*gorm.DB, r *shard.Router) {
	all = map[string]*gorm.DB{"": open(), "b": open(), "c": open()}
	var shards []idshard.Shard
	for i, database := range []string{"", "b", "c", "", "b", "c"} {
		shards = append(shards, idshard.Shard{Name: fmt.Sprint("s", i), Database: database, Suffix: fmt.Sprintf("_%02d", i)})
	}
	for _, db := range all {
		db.Config.DisableForeignKeyConstraintWhenMigrating = true
	}
	r = use(t, all[""], shard.Config{Shards: shards, Databases: map[string]*gorm.DB{"b": all["b"], "c": all["c"]}})
	must(t, r.AutoMigrate(all[""], models...))
	return all, r
}

// spread reads the tables of a model in all databases.
func spread(t *testing.T, all map[string]*gorm.DB, r *shard.Router, base, column string) map[int64]string {
	t.Helper()
	got := map[int64]string{}
	for i, s := range r.Map().Shards() {
		for id, value := range rowsOf(t, all[s.Database], s.Table(base), column) {
			if of, err := r.Map().OfID(id); err != nil || of != i {
				t.Errorf("the row %d is in %s, its id leads to shard %d, %v", id, s.Table(base), of, err)
			}
			got[id] = value
		}
	}
	return got
}

func TestCreateOverDatabases(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		all, r := servers(t, open, &purchase{})
		db := all[""]
		want := 0
		for _, session := range []gorm.Session{{}, {SkipDefaultTransaction: true}, {PrepareStmt: true}} {
			rows := purchases(40)
			must(t, db.Session(&session).Create(rows).Error)
			for _, row := range rows[:6] { // and alone
				row.ID = 0
				must(t, db.Session(&session).Create(&row).Error)
			}
			want += 46
			got := spread(t, all, r, "purchases", "item")
			for i, row := range rows {
				if got[row.ID.Int64()] != row.Item {
					t.Errorf("row %d: got %q for %+v", i, got[row.ID.Int64()], row)
				}
			}
			if len(got) != want {
				t.Errorf("got %d rows, want %d", len(got), want)
			}
		}

		again := purchases(40) // of which one is there, in the last database
		for i := range again {
			of, err := r.Map().OfKey(nil, again[i].UserID)
			must(t, err)
			if of[0] == 5 {
				must(t, db.Create(&again[i]).Error)
				want++
				break
			}
		}
		for _, session := range []gorm.Session{{}, {SkipDefaultTransaction: true}} {
			if err := db.Session(&session).Create(again).Error; err == nil || !contains(err, "purchases_05") {
				t.Errorf("got %v, want an error of purchases_05", err)
			}
			if got := spread(t, all, r, "purchases", "item"); len(got) != want {
				t.Errorf("got %d rows after an error, want %d", len(got), want)
			}
		}
	})
}

func TestCreateInATransactionOfAnotherDatabase(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		all, r := servers(t, open, &purchase{})
		tx, log := recorded(all[""])
		err := tx.Transaction(func(tx *gorm.DB) error { return tx.Create(purchases(20)).Error })
		if !errors.Is(err, shard.ErrTransaction) || len(log.all) > 0 {
			t.Errorf("got %v and %q, want ErrTransaction and no SQL", err, log.all)
		}
		var user int64
		for of := []int{0}; r.Map().Shard(of[0]).Database != "b"; {
			user++
			of, err = r.Map().OfKey(of[:0], user)
			must(t, err)
		}
		there, err := r.DB(t.Context(), user)
		must(t, err)
		row := purchase{UserID: user, Item: "x"}
		must(t, there.Transaction(func(tx *gorm.DB) error { return tx.Create(&row).Error }))
		undo := errors.New("undo")
		if err := there.Transaction(func(tx *gorm.DB) error { must(t, tx.Create(&purchase{UserID: user}).Error); return undo }); !errors.Is(err, undo) {
			t.Fatal(err)
		}
		if got := spread(t, all, r, "purchases", "item"); len(got) != 1 || got[row.ID.Int64()] != "x" {
			t.Errorf("got %v, want the one row", got)
		}
	})
}

type (
	// box is sharded, and so is what is in it, by the same column.
	box struct {
		ID     sqltype.ID `gorm:"snowkey:shard=Tenant"`
		Tenant int64
		Things []thing
	}
	thing struct {
		ID     sqltype.ID `gorm:"snowkey:shard=Tenant"`
		Tenant int64
		BoxID  sqltype.ID
		Name   string `gorm:"size:20"`
	}
)

func TestCreateOfAssociationsOverDatabases(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		all, r := servers(t, open, &box{}, &thing{}, &guest{}, &visit{}, &note{})
		var boxes []box
		for i := range 12 {
			boxes = append(boxes, box{Tenant: int64(i + 1), Things: []thing{{Tenant: int64(i + 1), Name: "a"}, {Tenant: int64(i + 2), Name: "b"}}})
		}
		must(t, all[""].Create(&boxes).Error)
		things := spread(t, all, r, "things", "box_id")
		for _, b := range boxes {
			for _, thing := range b.Things {
				if things[thing.ID.Int64()] != fmt.Sprint(b.ID.Int64()) {
					t.Errorf("got the thing %+v in %q, want the box %d", thing, things[thing.ID.Int64()], b.ID)
				}
			}
		}
		if got := spread(t, all, r, "boxes", "tenant"); len(got) != 12 || len(things) != 24 {
			t.Errorf("got %d boxes and %d things, want 12 and 24", len(got), len(things))
		}
		guests := []guest{}
		for range 12 {
			guests = append(guests, guest{Visits: []visit{{Notes: []note{{Text: "n"}}}}})
		}
		must(t, all[""].Create(&guests).Error)
		if got := spread(t, all, r, "visits", "guest_id"); len(got) != 12 {
			t.Errorf("got %d visits, want 12", len(got))
		}
		failing := []box{{Tenant: 1, Things: []thing{{Tenant: 1}, {Tenant: 2}, {ID: things0(boxes), Tenant: 99}}}}
		if err := all[""].Create(&failing).Error; !errors.Is(err, idshard.ErrDisagree) {
			t.Errorf("got %v, want ErrDisagree of a child", err)
		}
		if got := spread(t, all, r, "boxes", "tenant"); len(got) != 12 {
			t.Errorf("got %d boxes after an error of a child, want 12", len(got))
		}
	})
}

func things0(boxes []box) sqltype.ID { return boxes[0].Things[0].ID }

// A constraint that is looked at when the transaction is committed makes that fail.
func TestCreatePartlyCommitted(t *testing.T) {
	all, r := servers(t, func() *gorm.DB { return openGORM(t, kinds["postgres"](t)) }, &purchase{})
	for _, tt := range []struct {
		fails, table      string
		committed, failed []string
	}{
		{"c", "purchases_02", []string{"b"}, []string{"c", ""}},
		{"", "purchases_00", []string{"b", "c"}, []string{""}},
	} {
		db := all[tt.fails]
		must(t, db.Exec("ALTER TABLE "+tt.table+" ADD CONSTRAINT late UNIQUE (item) DEFERRABLE INITIALLY DEFERRED").Error)
		rows := purchases(60)
		for i := range rows {
			rows[i].Item = "same"
		}
		err := all[""].Create(rows).Error
		partial := (*shard.PartialError)(nil)
		if !errors.As(err, &partial) || !slices.Equal(partial.Committed, tt.committed) || !slices.Equal(partial.Failed, tt.failed) {
			t.Errorf("got %v, want a PartialError of %q and %q", err, tt.committed, tt.failed)
		}
		for i, s := range r.Map().Shards() {
			got := len(rowsOf(t, all[s.Database], s.Table("purchases"), "item"))
			if there := slices.Contains(tt.committed, s.Database); there != (got > 0) {
				t.Errorf("got %d rows in table %d of %q, want some: %v", got, i, s.Database, there)
			}
			must(t, all[s.Database].Session(&gorm.Session{}).Exec("DELETE FROM "+s.Table("purchases")).Error)
		}
		must(t, db.Exec("ALTER TABLE "+tt.table+" DROP CONSTRAINT late").Error)
	}
}

// The tables of several servers have one name, so a row that cannot go to its own would find one in another database.
func TestCreateFailsWhenATransactionCannotBegin(t *testing.T) {
	own, other := openGORM(t, kinds["sqlite"](t)), openGORM(t, kinds["sqlite"](t))
	shards := []idshard.Shard{{Name: "a"}, {Name: "b", Database: "b"}}
	r := use(t, own, shard.Config{Shards: shards, Databases: map[string]*gorm.DB{"b": other}})
	must(t, r.AutoMigrate(own, &purchase{}))
	pool, err := other.DB()
	must(t, err)
	must(t, pool.Close())
	for _, session := range []gorm.Session{{}, {SkipDefaultTransaction: true}} {
		if err := own.Session(&session).Create(purchases(20)).Error; err == nil || !contains(err, `a transaction of the database "b"`) {
			t.Errorf("got %v, want the error of the transaction's beginning", err)
		}
		if got := rowsOf(t, own, "purchases", "item"); len(got) > 0 {
			t.Errorf("got %d rows in the other database's table, want none", len(got))
		}
	}
}

// explosive panics when it is written.
type explosive string

func (e explosive) Value() (driver.Value, error) {
	if e == "boom" {
		panic(e)
	}
	return string(e), nil
}

func TestCreateEndsItsTransactionAfterAPanic(t *testing.T) {
	type crate struct {
		ID      sqltype.ID `gorm:"snowkey:shard=Owner"`
		Owner   int64
		Content explosive
	}
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		db := open()
		r := routed(t, db, 2, &crate{})
		rows := make([]crate, 20)
		for i := range rows {
			rows[i] = crate{Owner: int64(i + 1), Content: "calm"}
		}
		rows[10].Content = "boom"
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			_ = db.Session(&gorm.Session{SkipDefaultTransaction: true}).Create(rows)
		}()
		pool, err := db.DB()
		must(t, err)
		if open := pool.Stats().InUse; open > 0 {
			t.Errorf("%d connections are still in use", open)
		}
		if got := everywhere(t, db, r, "crates", "owner"); len(got) > 0 {
			t.Errorf("got the rows %v, want none", got)
		}
	})
}
