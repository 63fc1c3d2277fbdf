package gormplugin_test

import (
	"errors"
	"slices"
	"testing"

	sqldriver "github.com/go-sql-driver/mysql"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/sqltype"
)

// What is returned beside the keys is of the rows that were written alone, so with a condition that does not hold it belongs to other
// structs than those at the same places.
func TestUpsertWithAConditionReturnsOtherColumns(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Mailbox{})
		create(t, db, &Mailbox{Email: "old", Name: "first"})
		where := updateName
		where.Where = never
		for _, returning := range []clause.Returning{{}, {Columns: []clause.Column{{Name: "id"}, {Name: "name"}}}} {
			boxes := []Mailbox{{Email: "old", Name: "first"}, {Email: "a", Name: "a"}, {Email: "b", Name: "b"}}
			create(t, db.Clauses(where, returning), &boxes)
			for i, want := range []string{"old", "a", "b"} {
				if boxes[i].Email != want || boxes[i].ID != keyAt(t, db, "mailboxes", "email", want) || i > 0 && boxes[i].Name != want {
					t.Errorf("got the row %d %+v, want that of %s", i, boxes[i], want)
				}
			}
			do(t, db.Where("email <> ?", "old").Delete(&Mailbox{}).Error)
		}
	})
}

// So are columns that the database fills, which GORM has returned of its own accord.
func TestUpsertWithAConditionReturnsDefaults(t *testing.T) {
	type Ration struct {
		ID    sqltype.ID
		Email string `gorm:"size:64;uniqueIndex"`
		Name  string `gorm:"size:64"`
		Grade string `gorm:"size:64;default:(upper('new'))"`
	}
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Ration{})
		create(t, db, &Ration{Email: "old", Grade: "OLD"})
		where := updateName
		where.Where = never
		rations := []Ration{{Email: "old", Grade: "x"}, {Email: "a", Grade: "A"}, {Email: "b", Grade: "B"}}
		create(t, db.Clauses(where), &rations)
		for _, r := range rations[1:] {
			if want := map[string]string{"a": "A", "b": "B"}[r.Email]; r.Grade != want {
				t.Errorf("got the grade %s of %s, want %s of its row", r.Grade, r.Email, want)
			}
		}
	})
}

// A clause that a callback adds between the plugin's and the INSERT comes too late to be prepared for.
func TestUpsertByACallbackBetween(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Mailbox{})
		create(t, db, &Mailbox{Email: "old"})
		do(t, db.Callback().Create().Before("gorm:create").Register("between", func(db *gorm.DB) { db.Statement.AddClause(clause.OnConflict{DoNothing: true}) }))
		for _, boxes := range []any{&Mailbox{Email: "old"}, []*Mailbox{{Email: "a"}, {Email: "old"}, {Email: "b"}}} {
			if err := db.Create(boxes).Error; !errors.Is(err, gormplugin.ErrUpsert) {
				t.Errorf("got %v, want ErrUpsert", err)
			}
		}
		if n := count(t, db, &Mailbox{}); n != 1 {
			t.Errorf("got %d rows, want that of before", n)
		}
	})
}

// With clientFoundRows a batch counts what was written, one row is counted though it was not.
func TestRowsAffectedWithClientFoundRows(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		if db.Name() != "mysql" {
			t.Skip("this is a setting of MySQL's driver")
		}
		config, err := sqldriver.ParseDSN(dbtest.MySQL(t).DriverDSN)
		do(t, err)
		config.ClientFoundRows = true
		returning := (scene{base: db}).returning()
		db, err = gorm.Open(mysql.New(mysql.Config{DSN: config.FormatDSN(), DisableWithReturning: !returning}), &gorm.Config{Logger: new(recorder)})
		do(t, err)
		pool, err := db.DB()
		do(t, err)
		t.Cleanup(func() { _ = pool.Close() })
		use(t, db, &Mailbox{})
		create(t, db, &Mailbox{Email: "old"})
		for _, boxes := range [][]*Mailbox{{{Email: "old"}}, {{Email: "old"}, {Email: "old"}}} {
			if result := createAll(db.Clauses(clause.OnConflict{DoNothing: true}), boxes); result.Error != nil || result.RowsAffected != 0 {
				t.Errorf("%d rows: got %d rows affected, %v, want 0", len(boxes), result.RowsAffected, result.Error)
			}
		}
	})
}

// TestUpsertIntoWhatGORMCannotScan upserts a struct that is passed by value, and pointers to pointers: GORM cannot set there what RETURNING returns.
func TestUpsertIntoWhatGORMCannotScan(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Mailbox{})
		old := Mailbox{Email: "old"}
		create(t, db, &old)
		db = db.Session(&gorm.Session{})
		if err := db.Clauses(updateName).Create(Mailbox{ID: 5, Email: "old", Name: "by value"}).Error; err != nil {
			t.Errorf("by value: got %v", err)
		}
		do(t, db.Save(Mailbox{ID: 6, Email: "six"}).Error)
		if result := db.Clauses(clause.OnConflict{DoNothing: true}).Create(Mailbox{ID: 7, Email: "seven"}); result.Error != nil || result.RowsAffected != 1 {
			t.Errorf("DoNothing by value: got %d rows affected, %v, want 1", result.RowsAffected, result.Error)
		}
		met, made := &Mailbox{Email: "old", Name: "deep"}, &Mailbox{Email: "new"}
		create(t, db.Clauses(updateName), []**Mailbox{&met, &made})
		if met.ID != old.ID || keyAt(t, db, "mailboxes", "email", "new") != made.ID {
			t.Errorf("pointers to pointers: got the keys %d and %d, want %d and that of the new row", met.ID, made.ID, old.ID)
		}
		if n := count(t, db, &Mailbox{}); n != 4 {
			t.Errorf("got %d rows, want 4", n)
		}
	})
}

// MariaDB returns the rows before the one that fails: none of the structs gets what they have.
func TestUpsertThatFailsAfterARowWasReturned(t *testing.T) {
	type Depot struct {
		ID     sqltype.ID `gorm:"primaryKey"`
		Region string     `gorm:"primaryKey;size:8"`
		Email  string     `gorm:"size:64;uniqueIndex"`
		Grade  int        `gorm:"check:grade < 100"`
	}
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Depot{})
		create(t, db, &[]Depot{{Region: "eu", Email: "a"}, {Region: "eu", Email: "b"}})
		update := onEmail(clause.OnConflict{DoUpdates: clause.AssignmentColumns([]string{"grade"})})
		for _, tx := range []*gorm.DB{db, db.Session(&gorm.Session{SkipDefaultTransaction: true})} {
			depots := []Depot{{ID: 50, Region: "us", Email: "a"}, {Region: "us", Email: "b"}, {ID: 51, Region: "us", Email: "c", Grade: 100}}
			want := slices.Clone(depots)
			if err := tx.Clauses(update).Create(&depots).Error; err == nil {
				t.Error("got no error of the grade 100")
			}
			if !slices.Equal(depots, want) {
				t.Errorf("got %v, want %v as before", depots, want)
			}
		}
	})
}
