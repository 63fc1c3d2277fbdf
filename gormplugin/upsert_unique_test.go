package gormplugin_test

import (
	"errors"
	"fmt"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/sqltype"
)

// NULL is no value that a row could be met by.
func TestUpsertMeetsNoRowOverNull(t *testing.T) {
	type Tenant struct {
		ID    sqltype.ID
		Email string  `gorm:"size:64;uniqueIndex"`
		Phone *string `gorm:"size:64;uniqueIndex"`
		Name  string  `gorm:"size:64"`
	}
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Tenant{})
		phone := "1"
		create(t, db, []*Tenant{{Email: "a"}, {Email: "b"}, {Email: "c", Phone: &phone}})
		where := on("email")
		where.Where = always
		byPhone := on("phone")
		byPhone.Where = always
		for i, conflict := range []clause.OnConflict{on("email"), where, {DoNothing: true}, byPhone} {
			tenants := []*Tenant{{Email: "a"}, {Email: "c", Phone: &phone}, {Email: fmt.Sprint("d", i)}, {Email: fmt.Sprint("e", i)}}
			if i == 3 {
				tenants[0].Email = "new"
			}
			create(t, db.Clauses(conflict), tenants)
			for _, tenant := range tenants {
				want := keyAt(t, db, "tenants", "email", tenant.Email)
				if conflict.DoNothing && len(tenant.Email) == 1 {
					want = 0
				}
				if tenant.ID != want {
					t.Errorf("%d: got the key %d of %s, want %d", i, tenant.ID, tenant.Email, want)
				}
			}
		}
	})
}

// A value that the database fills in is not known before, and a row may be met over it. Without RETURNING that is not to be found.
func TestUpsertMeetsARowOverADefault(t *testing.T) {
	type Berth struct {
		ID    sqltype.ID
		Email string `gorm:"size:64;uniqueIndex"`
		Slot  string `gorm:"size:64;uniqueIndex;default:(upper('none'))"`
		Name  string `gorm:"size:64"`
	}
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Berth{})
		create(t, db, []*Berth{{Email: "a", Slot: "NONE"}, {Email: "b", Slot: "2"}})
		conflict, where := on("slot"), on("slot")
		where.Where = always
		for i, conflict := range []clause.OnConflict{conflict, where} {
			for n := 1; n < 3; n++ {
				if n > 1 && db.Name() == "sqlite" {
					continue // it has no DEFAULT among values
				}
				name := fmt.Sprint(i, n)
				berths := []*Berth{{Email: name + "c", Name: name + "r0"}, {Email: name + "d", Slot: name, Name: name + "r1"}}[:n]
				before := rowsOf(t, db, "berths")
				err := createAll(db.Clauses(conflict), berths).Error
				if err != nil {
					if !errors.Is(err, gormplugin.ErrUpsert) || conflict.Where.Exprs == nil && (scene{base: db}).returning() {
						t.Errorf("%s: got %v", name, err)
					}
					requireUnwritten(t, db, "berths", before)
					continue
				}
				for j, berth := range berths {
					if want := keyAt(t, db, "berths", "name", berth.Name); berth.ID != want || want == 0 {
						t.Errorf("%s: got the key %d of row %d, want %d, among\n\t%s", name, berth.ID, j, want, rowsOf(t, db, "berths"))
					}
				}
			}
		}
	})
}

// The database knows which texts are the same: on MySQL by default, elsewhere by the column's collation, those that differ in case.
func TestUpsertMeetsARowInAnotherCase(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Mailbox{})
		switch db.Name() {
		case "sqlite":
			do(t, db.Exec("DROP INDEX idx_mailboxes_email").Error)
			do(t, db.Exec("DROP TABLE mailboxes").Error)
			do(t, db.Exec("CREATE TABLE mailboxes (id BIGINT PRIMARY KEY, email TEXT COLLATE NOCASE UNIQUE, name TEXT)").Error)
		case "postgres":
			do(t, db.Exec("CREATE COLLATION anycase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)").Error)
			do(t, db.Exec("ALTER TABLE mailboxes ALTER email TYPE varchar(100) COLLATE anycase").Error)
		}
		old := Mailbox{Email: "Old"}
		create(t, db, &old)
		for name, conflict := range ways() {
			boxes := []*Mailbox{{Email: name + "a"}, {Email: "OLD", Name: "n"}, {Email: name + "b"}}
			create(t, db.Clauses(conflict), boxes)
			if conflict.DoNothing {
				if boxes[1].ID != 0 {
					t.Errorf("%s: got the key %d of a row that was not written, want none", name, boxes[1].ID)
				}
			} else if boxes[1].ID != old.ID {
				t.Errorf("%s: got the key %d, want %d", name, boxes[1].ID, old.ID)
			}
			requireWritten(t, db, boxes[0], boxes[2])
		}
	})
}

// Rows that a partial index leaves out are not met, though they have the same values.
func TestUpsertOnAPartialIndex(t *testing.T) {
	type Lodger struct {
		ID    sqltype.ID
		Email string `gorm:"size:64"`
		Gone  bool
		Name  string `gorm:"size:64"`
	}
	onEach(t, func(t *testing.T, db *gorm.DB) {
		if db.Name() == "mysql" {
			t.Skip("MySQL has no partial indexes")
		}
		use(t, db, &Lodger{})
		do(t, db.Exec("CREATE UNIQUE INDEX ix_lodgers ON lodgers (email) WHERE NOT gone").Error)
		lodgers := []*Lodger{{Email: "a", Gone: true}, {Email: "a"}, {Email: "a", Gone: true}, {Email: "b", Gone: true}}
		create(t, db, lodgers)
		conflict := on("email")
		conflict.TargetWhere = clause.Where{Exprs: []clause.Expression{clause.Expr{SQL: "NOT gone"}}}
		where, nothing := conflict, conflict
		where.Where, nothing.DoUpdates, nothing.DoNothing = always, nil, true
		for i, conflict := range []clause.OnConflict{conflict, where, nothing} {
			name := fmt.Sprint(i)
			batch := []*Lodger{{Email: "a", Name: name + "r0"}, {Email: "b" + name, Name: name + "r1"}, {Email: "a", Gone: true, Name: name + "r2"}}
			create(t, db.Clauses(conflict), batch)
			for _, lodger := range batch { // 0 of one that was not written
				if want := keyAt(t, db, "lodgers", "name", lodger.Name); lodger.ID != want {
					t.Errorf("%d: got the key %d of %s, want %d", i, lodger.ID, lodger.Name, want)
				}
			}
			if !conflict.DoNothing && batch[0].ID != lodgers[1].ID {
				t.Errorf("%d: got the key %d, want %d", i, batch[0].ID, lodgers[1].ID)
			}
		}
	})
}

// A row that was deleted softly is still in the way.
func TestUpsertMeetsADeletedRow(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, gormplugin.AllKeys(), &Memo{})
		old := Memo{Slug: "old"}
		create(t, db, &old)
		do(t, db.Delete(&old).Error)
		bySlug := clause.OnConflict{Columns: []clause.Column{{Name: "slug"}}, DoUpdates: clause.AssignmentColumns([]string{"text"})}
		where := bySlug
		where.Where = always
		for i, conflict := range []clause.OnConflict{bySlug, where, {DoNothing: true}} {
			for n := 1; n < 4; n++ {
				memos := []*Memo{{Slug: "old", Text: "x"}, {Slug: fmt.Sprint(i, n, "a")}, {Slug: fmt.Sprint(i, n, "b")}}[:n]
				if err := createAll(db.Clauses(conflict), memos).Error; err != nil {
					t.Fatal(err)
				}
				want := old.ID
				if conflict.DoNothing {
					want = 0
				}
				if memos[0].ID != want {
					t.Errorf("%d, %d rows: got the key %d, want %d", i, n, memos[0].ID, want)
				}
				for _, memo := range memos[1:] {
					if want := keyAt(t, db, "memos", "slug", memo.Slug); memo.ID != uint(want) {
						t.Errorf("%d, %d rows: got the key %d of %s, want %d", i, n, memo.ID, memo.Slug, want)
					}
				}
			}
		}
	})
}

// GORM updates no column of these, and so writes no row.
func TestUpsertOfAllColumnsThatAreNone(t *testing.T) {
	type Stamp struct {
		ID   sqltype.ID
		Made int64 `gorm:"autoCreateTime:nano;uniqueIndex"`
	}
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Stamp{})
		create(t, db, &Stamp{Made: 1})
		stamps := []Stamp{{Made: 1}, {Made: 2}}
		do(t, db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "made"}}, UpdateAll: true}).Create(&stamps).Error)
		if stamps[0].ID != 0 && stamps[0].ID != keyAt(t, db, "stamps", "made", 1) || stamps[1].ID != keyAt(t, db, "stamps", "made", 2) {
			t.Errorf("got the keys %d and %d, want none or the row's, and that of the new row", stamps[0].ID, stamps[1].ID)
		}
	})
}
