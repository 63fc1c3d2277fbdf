package shard_test

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/gormplugin/shard"
	"github.com/snowkey-go/snowkey/idgen"
	idshard "github.com/snowkey-go/snowkey/idgen/shard"
	"github.com/snowkey-go/snowkey/sqltype"
)

// account is a sharded model with another unique column, and one that the database fills in.
type account struct {
	ID        sqltype.ID `gorm:"snowkey:shard=Tenant"`
	Tenant    int64
	Email     string `gorm:"size:60;uniqueIndex"`
	Name      string `gorm:"size:60"`
	Level     int    `gorm:"default:3"`
	UpdatedAt time.Time
}

func accounts(n int) []account {
	rows := make([]account, n)
	for i := range rows {
		rows[i] = account{Tenant: int64(i + 1), Email: fmt.Sprintf("%d@example.org", i), Name: "old"}
	}
	return rows
}

func TestCreateReadsDefaultsBack(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		db := open()
		r := routed(t, db, 4, &account{})
		rows := accounts(20)
		rows[3].Level = 9
		must(t, db.Create(&rows).Error)
		got := everywhere(t, db, r, "accounts", "level")
		for i, row := range rows {
			want := 3
			if i == 3 {
				want = 9
			}
			if row.Level != want || got[row.ID.Int64()] != fmt.Sprint(want) {
				t.Errorf("row %d: got the level %d, in the table %s, want %d", i, row.Level, got[row.ID.Int64()], want)
			}
		}
	})
}

func TestCreateUpserts(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		db := open()
		r := routed(t, db, 4, &account{})
		was := accounts(20)
		must(t, db.Create(&was).Error)
		email := []clause.Column{{Name: "email"}}

		again := accounts(24)
		for i := range again {
			again[i].Name = "new"
		}
		must(t, db.Clauses(clause.OnConflict{Columns: email, UpdateAll: true}).Create(&again).Error)
		got := everywhere(t, db, r, "accounts", "name")
		for i, row := range again {
			if i < 20 && row.ID != was[i].ID || row.ID == 0 || got[row.ID.Int64()] != "new" {
				t.Errorf("row %d: got the id %d and %q in the table, want %d and new", i, row.ID, got[row.ID.Int64()], was[min(i, 19)].ID)
			}
		}
		if len(got) != 24 {
			t.Errorf("got %d rows, want 24", len(got))
		}

		some := append(accounts(2), account{Tenant: 100, Email: "100@example.org"}, account{Tenant: 101, Email: "101@example.org"})
		created := db.Clauses(clause.OnConflict{Columns: email, DoNothing: true}).Create(&some)
		must(t, created.Error)
		if created.RowsAffected != 2 || some[0].ID != 0 || some[1].ID != 0 || some[2].ID == 0 || some[3].ID == 0 {
			t.Errorf("DoNothing: got %d rows affected and %+v, want 2, and no ids of rows that are not there", created.RowsAffected, some)
		}
		if got := everywhere(t, db, r, "accounts", "name"); len(got) != 26 {
			t.Errorf("got %d rows, want 26", len(got))
		}
	})
}

// A row that was met over another index keeps its sharding key: its id was made of it.
func TestCreateUpsertKeepsTheShardingKey(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		db := open()
		r := routed(t, db, 2, &account{})
		first := account{Tenant: 1, Email: "a@example.org", Name: "old"}
		must(t, db.Create(&first).Error)
		shardOf := func(tenant int64) int {
			of, err := r.Map().OfKey(nil, tenant)
			must(t, err)
			return of[0]
		}
		var second, third int64 = 2, 2
		for shardOf(second) != shardOf(1) || r.Map().Check(first.ID.Int64(), second) == nil {
			second++
		}
		for shardOf(third) == shardOf(1) {
			third++
		}
		rows := []account{{Tenant: second, Email: first.Email, Name: "new"}, {Tenant: third, Email: "b@example.org", Name: "new"}}
		must(t, db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "email"}}, UpdateAll: true}).Create(&rows).Error)
		tenants, names := everywhere(t, db, r, "accounts", "tenant"), everywhere(t, db, r, "accounts", "name")
		if tenants[first.ID.Int64()] != "1" || names[first.ID.Int64()] != "new" || len(tenants) != 2 {
			t.Errorf("got the tenants %v and names %v, want the row %d with its own tenant and the new name", tenants, names, first.ID)
		}
		if rows[0].ID != first.ID || rows[0].Tenant != 1 {
			t.Errorf("got %+v, want the id and the sharding key of the row that is there", rows[0])
		}
	})
}

func TestSaveOfSeveral(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		db := open()
		r := routed(t, db, 4, &account{})
		rows := accounts(20)
		must(t, db.Create(&rows).Error)
		rows = append(rows, account{Tenant: 500, Email: "500@example.org"})
		past := time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC)
		for i := range rows {
			rows[i].Name, rows[i].UpdatedAt = fmt.Sprint("saved ", i), past
		}
		must(t, db.Save(&rows).Error)
		got := everywhere(t, db, r, "accounts", "name")
		for i, row := range rows {
			if got[row.ID.Int64()] != fmt.Sprint("saved ", i) || !row.UpdatedAt.After(past) {
				t.Errorf("row %d: got %q, and %+v, want it saved and UpdatedAt set", i, got[row.ID.Int64()], row)
			}
		}
		if len(got) != 21 {
			t.Errorf("got %d rows, want 21", len(got))
		}
	})
}

func TestCreateOfMaps(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		db := open()
		r := routed(t, db, 4, &purchase{})
		one := map[string]any{"UserID": 7, "item": "x", "count": 1}
		must(t, db.Model(&purchase{}).Create(one).Error)
		list := []map[string]any{}
		for i := range 10 {
			user := any(uint16(i + 1))
			if i == 3 {
				user = &[]int64{0}[0] // a key of its own, not none
			}
			list = append(list, map[string]any{"user_id": user, "item": fmt.Sprint("m", i), "count": i})
		}
		must(t, db.Model(&purchase{}).Create(&list).Error)
		must(t, db.Model(&purchase{}).Create([]map[string]any{{"user_id": 30, "item": "v", "count": 1}, {"user_id": 31, "item": "w", "count": 1}}).Error)
		got := everywhere(t, db, r, "purchases", "item")
		users := everywhere(t, db, r, "purchases", "user_id")
		for i, m := range list {
			id := int64(m["id"].(sqltype.ID))
			if got[id] != fmt.Sprint("m", i) || m["item"] != got[id] {
				t.Errorf("map %d is %v, in the table %q", i, m, got[id])
			}
			if i == 3 && users[id] != "0" {
				t.Errorf("got the user %s for a pointer to 0", users[id])
			}
		}
		if len(got) != 13 || len(list) != 10 || got[int64(one["id"].(sqltype.ID))] != "x" {
			t.Errorf("got %v for %v and %d maps", got, one, len(list))
		}
	})
}

type (
	// guest is not sharded, its visits are.
	guest struct {
		ID     sqltype.ID
		Name   string
		Visits []visit
	}
	// visit is sharded by its parent, and has children in a table that is not.
	visit struct {
		ID      sqltype.ID `gorm:"snowkey:shard=GuestID"`
		GuestID sqltype.ID
		Guest   *guest
		Notes   []note
	}
	note struct {
		ID      sqltype.ID
		VisitID sqltype.ID
		Text    string
	}
)

func TestCreateOfAssociations(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		db := open()
		r := use(t, db, shard.Config{Shards: idshard.Tables(4)})
		none := db.Session(&gorm.Session{})
		none.Config.DisableForeignKeyConstraintWhenMigrating = true
		must(t, r.AutoMigrate(db, &guest{}, &visit{}, &note{}))
		all := []guest{}
		for range 6 {
			all = append(all, guest{Name: "c", Visits: []visit{{Notes: []note{{Text: "a"}, {Text: "b"}}}, {}}})
		}
		must(t, db.Create(&all).Error)
		back := visit{Guest: &guest{Name: "d"}} // the sharding key is that of a row which is made first
		must(t, db.Create(&back).Error)

		guests, visits := everywhere(t, db, r, "visits", "guest_id"), 1
		for _, c := range append(all, *back.Guest) {
			for _, v := range c.Visits {
				visits++
				if v.GuestID != c.ID || guests[v.ID.Int64()] != fmt.Sprint(c.ID.Int64()) || r.Map().Check(v.ID.Int64(), c.ID) != nil {
					t.Errorf("the visit %+v of %d is in the table with %q", v, c.ID, guests[v.ID.Int64()])
				}
			}
		}
		if len(guests) != visits || back.GuestID == 0 || guests[back.ID.Int64()] != fmt.Sprint(back.GuestID.Int64()) {
			t.Errorf("got %d visits, want %d; %+v", len(guests), visits, back)
		}
		notes := rowsOf(t, db, "notes", "visit_id")
		if len(notes) != 12 || !slices.Contains(mapValues(notes), fmt.Sprint(all[0].Visits[0].ID.Int64())) {
			t.Errorf("got the notes %v, want 12", notes)
		}
	})
}

func mapValues(m map[int64]string) (all []string) {
	for _, v := range m {
		all = append(all, v)
	}
	return all
}

// Models of all kinds of sharding keys and ids.
type (
	byUint64 struct {
		ID   int64 `gorm:"snowkey:shard=user"`
		User uint64
	}
	byText struct {
		ID   uint64 `gorm:"snowkey:shard=User"`
		User string `gorm:"size:20"`
	}
	byBytes struct {
		ID   *sqltype.ID `gorm:"snowkey:shard=User"`
		User []byte      `gorm:"size:20"`
	}
	byUUID struct {
		ID   *int64 `gorm:"snowkey:shard=User"`
		User uuid   `gorm:"size:16;type:bytes"`
	}
	byInt8 struct {
		ID   sqltype.ID `gorm:"snowkey:shard=User"`
		User *int8
	}
	untagged struct {
		ID   int64
		User int64
	}
)

func TestCreateWithAllKindsOfKeys(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		db := open()
		r := use(t, db, shard.Config{Shards: idshard.Tables(4), Models: []shard.Model{{Of: &untagged{}, Column: "User"}}})
		must(t, r.AutoMigrate(db, &byUint64{}, &byText{}, &byBytes{}, &byUUID{}, &byInt8{}, &untagged{}))
		negative, zero := int8(-5), int8(0)
		uints := []byUint64{{User: 1}, {User: 1 << 62}, {User: 3}, {User: 4}}
		texts := []byText{{User: "a"}, {User: "1"}, {User: "ü"}, {User: "b"}}
		octets := []byBytes{{User: []byte("a")}, {User: []byte{0, 255}}, {User: []byte("c")}}
		uuids := []byUUID{{User: uuid{1}}, {User: uuid{2}}, {User: uuid{0, 0, 3}}}
		ints := []byInt8{{User: &negative}, {User: &zero}}
		plain := []untagged{{User: -1}, {User: -2}, {User: 3}}
		for _, rows := range []any{uints, texts, octets, uuids, ints, plain} {
			must(t, db.Create(rows).Error)
		}
		check := func(id int64, key any) {
			t.Helper()
			if err := r.Map().Check(id, key); err != nil || id == 0 {
				t.Errorf("the id %d of %v: %v", id, key, err)
			}
		}
		for i := range uints {
			check(uints[i].ID, uints[i].User)
			check(int64(texts[i].ID), texts[i].User)
		}
		for i := range octets {
			check(octets[i].ID.Int64(), octets[i].User)
			check(*uuids[i].ID, uuids[i].User)
			check(plain[i].ID, plain[i].User)
		}
		check(ints[0].ID.Int64(), -5)
		check(ints[1].ID.Int64(), 0)
		for base, want := range map[string]int{"by_uint64": 4, "by_texts": 4, "by_bytes": 3, "by_uuids": 3, "by_int8": 2, "untaggeds": 3} {
			if got := everywhere(t, db, r, base, "id"); len(got) != want {
				t.Errorf("%s: got %d rows, want %d", base, len(got), want)
			}
		}
	})
}

func TestShardingOfModelsThatCannotBe(t *testing.T) {
	type (
		unknown struct {
			ID int64 `gorm:"snowkey:shard=Nobody"`
		}
		itself struct {
			ID int64 `gorm:"snowkey:shard=ID"`
		}
		float struct {
			ID   int64 `gorm:"snowkey:shard=User"`
			User float64
		}
		clock struct {
			ID   int64 `gorm:"snowkey:shard=User"`
			User time.Time
		}
		twice struct {
			ID    int64 `gorm:"snowkey:shard=User"`
			Other int64 `gorm:"snowkey:shard=User"`
			User  int64
		}
		empty struct {
			ID   int64 `gorm:"snowkey:shard="`
			User int64
		}
		stamped struct {
			ID   int64 `gorm:"snowkey:shard=User"`
			User int64 `gorm:"autoUpdateTime"`
		}
	)
	db := openGORM(t, kinds["sqlite"](t))
	use(t, db, shard.Config{Shards: idshard.Tables(2)})
	for _, model := range []any{&unknown{}, &itself{}, &float{User: 1}, &clock{User: time.Now()}, &twice{User: 1}, &empty{User: 1}, &stamped{User: 1}} {
		tx, log := recorded(db)
		if err := tx.Create(model).Error; !errors.Is(err, gormplugin.ErrKey) || len(log.all) > 0 {
			t.Errorf("%T: got %v and %q, want ErrKey and no SQL", model, err, log.all)
		}
	}

	plain := openGORM(t, kinds["sqlite"](t))
	generator, err := idgen.New(idgen.Snowkey, idgen.WithNode(1))
	must(t, err)
	must(t, plain.Use(gormplugin.New(gormplugin.From[int64](generator))))
	if err := plain.Create(&purchase{UserID: 1}).Error; !errors.Is(err, gormplugin.ErrKey) {
		t.Errorf("got %v of a source without buckets, want ErrKey", err)
	}
}

// Databases take the name of a column in other letters and quotes.
func TestCreateUpsertPinsTheShardingColumnByAnyName(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		db := open()
		r := routed(t, db, 2, &account{})
		first := account{Tenant: 1, Email: "a@example.org"}
		must(t, db.Create(&first).Error)
		for _, column := range []clause.Column{{Name: "TENANT"}, {Name: "Tenant"}, {Name: "`tenant`", Raw: true}, {Name: `"tenant"`, Raw: true}, {Name: "ID"}} {
			for _, value := range []any{clause.Column{Table: "excluded", Name: "tenant"}, clause.Column{Table: "excluded", Name: column.Name}, 5} {
				tx, log := recorded(db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "email"}}, DoUpdates: clause.Set{{Column: column, Value: value}}}))
				rows := accounts(10)
				rows[0].Email, rows[9].Email = first.Email, first.Email
				if err := tx.Create(&rows).Error; !errors.Is(err, gormplugin.ErrUpsert) || len(log.all) > 0 {
					t.Errorf("%+v = %v: got %v and %q, want ErrUpsert and no SQL", column, value, err, log.all)
				}
			}
		}
		if got := everywhere(t, db, r, "accounts", "tenant"); len(got) != 1 || got[first.ID.Int64()] != "1" {
			t.Errorf("got %v, want the row as it was", got)
		}
	})
}

// SQLite takes a column that an INSERT has twice.
func TestCreateOfAMapWithAColumnInQuotes(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		db := open()
		r := routed(t, db, 2, &purchase{})
		for _, name := range []string{"`user_id`", `"user_id"`, "[user_id]", "`id`", "`ID`"} {
			tx, log := recorded(db)
			row := map[string]any{"user_id": int64(1), name: int64(2), "item": "x", "count": 1}
			if err := tx.Model(&purchase{}).Create(row).Error; !errors.Is(err, shard.ErrKey) || len(log.all) > 0 {
				t.Errorf("%s: got %v and %q, want ErrKey and no SQL", name, err, log.all)
			}
		}
		if got := everywhere(t, db, r, "purchases", "user_id"); len(got) > 0 {
			t.Errorf("got the rows %v, want none", got)
		}
	})
}

type (
	// tenant is a struct that a database has as a number.
	tenant   struct{ n int64 }
	byTenant struct {
		ID    sqltype.ID `gorm:"snowkey:shard=Owner"`
		Owner tenant
	}
)

func (t tenant) Value() (driver.Value, error) { return t.n, nil }
func (t *tenant) Scan(v any) error            { t.n, _ = v.(int64); return nil }
func (tenant) GormDataType() string           { return "bigint" }

func TestCreateOfMapsWithAStructForTheShardingKey(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		db := open()
		r := routed(t, db, 4, &byTenant{})
		for _, key := range []any{sql.NullString{String: "5", Valid: true}, sql.Null[string]{V: "5", Valid: true}} {
			tx, log := recorded(db)
			if err := tx.Model(&byTenant{}).Create(map[string]any{"owner": key}).Error; !errors.Is(err, shard.ErrKey) || len(log.all) > 0 {
				t.Errorf("%T: got %v and %q, want ErrKey and no SQL: the text is stored as a number", key, err, log.all)
			}
		}
		must(t, db.Model(&byTenant{}).Create([]map[string]any{{"owner": tenant{5}}, {"owner": &tenant{6}}}).Error)
		must(t, db.Create(&byTenant{Owner: tenant{7}}).Error)
		got := everywhere(t, db, r, "by_tenants", "owner")
		for id, owner := range got {
			n, err := strconv.ParseInt(owner, 10, 64)
			if must(t, err); r.Map().Check(id, n) != nil {
				t.Errorf("the row %d is of %s", id, owner)
			}
		}
		if len(got) != 3 {
			t.Errorf("got %v, want 3 rows", got)
		}
	})
}

// GORM and MySQL's dialector heed DoNothing only when there is nothing to do.
func TestCreateUpsertPinsTheShardingColumnBesideDoNothing(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		db := open()
		r := routed(t, db, 2, &account{})
		first := account{Tenant: 1, Email: "a@example.org"}
		must(t, db.Create(&first).Error)
		email := []clause.Column{{Name: "email"}}
		for _, c := range []clause.OnConflict{
			{Columns: email, DoNothing: true, UpdateAll: true},
			{Columns: email, DoNothing: true, DoUpdates: clause.AssignmentColumns([]string{"tenant", "name"})},
			{Columns: email, DoNothing: true, DoUpdates: clause.Assignments(map[string]any{"tenant": 9})},
		} {
			for tenant := range int64(12) { // of which some are of the row's table
				_ = db.Clauses(c).Create(&account{Tenant: tenant + 2, Email: first.Email}).Error
			}
			if got := everywhere(t, db, r, "accounts", "tenant"); got[first.ID.Int64()] != "1" {
				t.Errorf("%+v: got the tenant %q, want 1", c, got[first.ID.Int64()])
			}
		}
	})
}
