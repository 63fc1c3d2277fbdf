package gormplugin_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"testing"
	"time"

	sqldriver "github.com/go-sql-driver/mysql"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// ways are the ways to upsert on which the statements of one row and of more differ.
func ways() map[string]clause.OnConflict {
	where := updateName
	where.Where = always
	return map[string]clause.OnConflict{
		"update": updateName, "all": onEmail(clause.OnConflict{UpdateAll: true}), "where": where,
		"nothing": {DoNothing: true}, "nothing on email": onEmail(clause.OnConflict{DoNothing: true}),
	}
}

// upsertEach does all the ways, one row and more, new and not, and fails unless each struct has the key of its row.
func upsertEach(t *testing.T, db *gorm.DB, prefix string) {
	t.Helper()
	old := &Mailbox{Email: prefix + "old", Name: "first"}
	create(t, db, old)
	for name, conflict := range ways() {
		for i, boxes := range [][]*Mailbox{
			{{Email: prefix + name + "a"}}, {{Email: old.Email, Name: name}}, {{Email: old.Email, Name: name}}, // the second without a change
			{{Email: prefix + name + "b"}, {Email: old.Email, Name: name + "2"}, {Email: prefix + name + "c"}},
			{{Email: old.Email, Name: name + "2"}, {Email: prefix + name + "d"}},
		} {
			before := count(t, db, &Mailbox{})
			result := createAll(db.Clauses(conflict), boxes)
			if result.Error != nil {
				t.Fatalf("%s %d: %v", name, i, result.Error)
			}
			// Of one row the number is the driver's own.
			if written := count(t, db, &Mailbox{}) - before; conflict.DoNothing && len(boxes) > 1 && result.RowsAffected != written {
				t.Errorf("%s %d: got %d rows affected, want %d", name, i, result.RowsAffected, written)
			}
			for _, box := range boxes {
				want := keyAt(t, db, "mailboxes", "email", box.Email)
				if conflict.DoNothing && box.Email == old.Email {
					want = 0
				} else {
					requireKey(t, want)
				}
				if box.ID != want {
					t.Errorf("%s %d: got the key %d of %s, want %d", name, i, box.ID, box.Email, want)
				}
			}
		}
	}
}

// clientFoundRows counts a row that was met and not changed, and interpolateParams sends no prepared statements.
func TestUpsertWithSettingsOfTheDriver(t *testing.T) {
	for _, found := range []bool{false, true} {
		for _, interpolate := range []bool{false, true} {
			t.Run(fmt.Sprintf("clientFoundRows=%t&interpolateParams=%t", found, interpolate), func(t *testing.T) {
				onEach(t, func(t *testing.T, db *gorm.DB) {
					if db.Name() != "mysql" {
						t.Skip("these are settings of MySQL's driver")
					}
					config, err := sqldriver.ParseDSN(dbtest.MySQL(t).DriverDSN)
					do(t, err)
					config.ClientFoundRows, config.InterpolateParams = found, interpolate
					returning := (scene{base: db}).returning()
					db, err = gorm.Open(mysql.New(mysql.Config{DSN: config.FormatDSN(), DisableWithReturning: !returning}), &gorm.Config{Logger: new(recorder)})
					do(t, err)
					pool, err := db.DB()
					do(t, err)
					t.Cleanup(func() { _ = pool.Close() })
					use(t, db, &Mailbox{})
					upsertEach(t, db, "")
				})
			})
		}
	}
}

func TestUpsertInEverySession(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Mailbox{})
		for i, session := range []*gorm.Session{{PrepareStmt: true}, {SkipDefaultTransaction: true}, {PrepareStmt: true, SkipDefaultTransaction: true}, {QueryFields: true, AllowGlobalUpdate: true}} {
			upsertEach(t, db.Session(session), strconv.Itoa(i))
			upsertEach(t, db.Session(session), strconv.Itoa(i)+"again")
		}
	})
}

// The SELECT needs no second connection.
func TestUpsertOnOneConnection(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Mailbox{})
		one(t, db)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		db = db.WithContext(ctx)
		upsertEach(t, db, "outside")
		do(t, db.Transaction(func(tx *gorm.DB) error {
			upsertEach(t, tx, "inside")
			return tx.Transaction(func(tx *gorm.DB) error {
				upsertEach(t, tx, "nested")
				return nil
			})
		}))
		upsertEach(t, db.Session(&gorm.Session{SkipDefaultTransaction: true}), "skip")
		requireConnection(t, db)
	})
}

// A context that ends between the INSERT and the SELECT undoes the statement, and gives the connection back.
func TestUpsertCancelledBeforeTheSelect(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Mailbox{})
		create(t, db, &Mailbox{Email: "old", Name: "first"})
		one(t, db)
		before := rowsOf(t, db, "mailboxes")
		for name, conflict := range ways() {
			boxes := []*Mailbox{{Email: "a"}, {Email: "old", Name: "second"}, {Email: "b"}}
			ctx, cancel := context.WithCancel(t.Context())
			do(t, db.Callback().Create().After("gorm:create").Before("snowkey:settle").Replace("cancel", func(*gorm.DB) { cancel() }))
			err := db.WithContext(ctx).Clauses(conflict).Create(boxes).Error
			cancel()
			if !errors.Is(err, context.Canceled) && !errors.Is(err, sql.ErrTxDone) {
				t.Errorf("%s: got %v, want context.Canceled", name, err)
			}
			requireConnection(t, db)
			requireUnwritten(t, db, "mailboxes", before)
		}
		do(t, db.Callback().Create().Remove("cancel"))
		upsertEach(t, db, "after")
	})
}

// An upsert in a nested transaction that cannot be followed undoes that one alone.
func TestUpsertRollsBackToTheSavepoint(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Mailbox{})
		old := Mailbox{Email: "old", Name: "first"}
		create(t, db, &old)
		// The update changes the column by which the row would be found.
		moved := onEmail(clause.OnConflict{DoUpdates: clause.Assignments(map[string]any{"email": "moved"}), Where: always})
		kept, after := Mailbox{Email: "kept"}, Mailbox{Email: "after"}
		do(t, db.Transaction(func(tx *gorm.DB) error {
			create(t, tx, &kept)
			err := tx.Transaction(func(tx *gorm.DB) error {
				create(t, tx, &Mailbox{Email: "lost"})
				return tx.Clauses(moved).Create([]*Mailbox{{Email: "a"}, {Email: "old"}, {Email: "b"}}).Error
			})
			if !errors.Is(err, gormplugin.ErrUpsert) {
				t.Errorf("got %v, want ErrUpsert", err)
			}
			return tx.Create(&after).Error
		}))
		requireKeys(t, db, &Mailbox{}, old.ID, kept.ID, after.ID)
		requireWritten(t, db, &old, &kept, &after)

		before := rowsOf(t, db, "mailboxes")
		err := db.Transaction(func(tx *gorm.DB) error {
			create(t, tx, &Mailbox{Email: "lost"})
			return tx.Clauses(moved).Create([]*Mailbox{{Email: "a"}, {Email: "old"}}).Error
		})
		if !errors.Is(err, gormplugin.ErrUpsert) {
			t.Errorf("got %v, want ErrUpsert", err)
		}
		requireUnwritten(t, db, "mailboxes", before)
	})
}

// A transaction whose view of the table is older than the row that it meets still finds it.
func TestUpsertBehindAnOldView(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		if db.Name() == "sqlite" {
			t.Skip("SQLite has one connection here")
		}
		use(t, db, &Mailbox{}, &Pass{})
		isolation := sql.LevelRepeatableRead
		if db.Name() == "postgres" {
			isolation = sql.LevelReadCommitted // with another one it refuses to update the row
		}
		conflicts := ways()
		maps.DeleteFunc(conflicts, func(_ string, c clause.OnConflict) bool { return c.DoNothing })
		for name, conflict := range conflicts {
			tx := db.Begin(&sql.TxOptions{Isolation: isolation})
			do(t, tx.Error)
			count(t, tx, &Mailbox{})
			count(t, tx, &Pass{})
			filled, preset := Mailbox{Email: name + "filled", Name: "same"}, Mailbox{ID: 77, Email: name + "preset", Name: "same"}
			create(t, db, &filled)
			create(t, db, &preset)
			pass := Pass{Email: name, Name: "same"}
			create(t, db, &pass)

			batch := []*Mailbox{{Email: name + "a", Name: "n"}, {Email: filled.Email, Name: "same"}, {Email: preset.Email, Name: "other"}, {Email: name + "b"}}
			alone := Mailbox{Email: filled.Email, Name: "same"}
			create(t, tx.Clauses(conflict), batch)
			create(t, tx.Clauses(conflict), &alone)
			passes := []*Pass{{Email: name + "a"}, {Email: name, Name: "same"}}
			create(t, tx.Clauses(conflict), passes)
			if db.Name() == "mysql" && name == "update" { // over the primary key, which the clause does not name
				own := []*Mailbox{{ID: 77, Email: name + "c", Name: "same"}, {Email: name + "d"}}
				create(t, tx.Clauses(conflict), own)
				if own[0].ID != 77 {
					t.Errorf("got the key %d in place of the caller's 77", own[0].ID)
				}
				batch = append(batch, own[1])
			}
			do(t, tx.Commit().Error)
			requireWritten(t, db, append(batch, &alone)...)
			for _, p := range passes {
				if want := int64(valueAt(t, db, "passes", "number", "email", p.Email)); p.Number != want {
					t.Errorf("%s: got the number %d of %s, want %d", name, p.Number, p.Email, want)
				}
			}
			do(t, db.Delete(&Mailbox{ID: 77}).Error)
		}
	})
}

// More rows than one SELECT asks for.
func TestUpsertOfManyRows(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Mailbox{})
		for name, conflict := range ways() {
			var there, rows []Mailbox
			for i := range 650 {
				rows = append(rows, Mailbox{Email: name + strconv.Itoa(i), Name: "second"})
				if i%3 == 0 || i > 600 {
					there = append(there, Mailbox{Email: name + strconv.Itoa(i), Name: "first"})
				}
			}
			create(t, db, &there)
			old := map[string]bool{}
			for _, box := range there {
				old[box.Email] = true
			}
			result := db.Clauses(conflict).Create(&rows)
			if result.Error != nil || conflict.DoNothing && result.RowsAffected != int64(len(rows)-len(there)) {
				t.Errorf("%s: got %d rows affected, %v", name, result.RowsAffected, result.Error)
			}
			var stored []Mailbox
			do(t, db.Find(&stored).Error)
			want := map[string]Mailbox{}
			for _, box := range stored {
				want[box.Email] = box
			}
			if len(stored) != len(rows) {
				t.Errorf("%s: got %d rows in the table, want %d", name, len(stored), len(rows))
			}
			for i, box := range rows {
				row := want[box.Email]
				if conflict.DoNothing && old[box.Email] {
					row.ID = 0
				}
				if box.ID != row.ID {
					t.Fatalf("%s: got the key %d of row %d, want %d", name, box.ID, i, row.ID)
				}
			}
			do(t, db.Exec("DELETE FROM mailboxes").Error)
		}
	})
}
