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

// requireWritten fails unless each box has the key of the row of its address, and those whose row is missing have none.
func requireWritten(t *testing.T, db *gorm.DB, boxes ...*Mailbox) {
	t.Helper()
	for i, box := range boxes {
		if want := keyAt(t, db, "mailboxes", "email", box.Email); box.ID != want {
			t.Errorf("got the key %d of row %d, %s, want %d", box.ID, i, box.Email, want)
		}
	}
}

// IGNORE beside an upsert skips what clashes over another index, so fewer rows are returned than inserted. PostgreSQL has no such thing.
func TestUpsertThatIgnores(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		if db.Name() == "postgres" {
			t.Skip("PostgreSQL has no INSERT IGNORE")
		}
		use(t, db, &Seat{})
		ignore := clause.Insert{Modifier: map[string]string{"mysql": "IGNORE", "sqlite": "OR IGNORE"}[db.Name()]}
		there := &Seat{Code: "1", Place: "a", Name: "there"}
		create(t, db, there)
		check := func(conflict clause.OnConflict, seats ...*Seat) {
			t.Helper()
			before := rowsOf(t, db, "seats")
			// A row that is not there is either skipped, or met one that cannot be found.
			if err := createAll(db.Clauses(ignore, conflict), seats).Error; err != nil {
				if db.Name() == "mysql" || len(conflict.Where.Exprs) == 0 || !errors.Is(err, gormplugin.ErrUpsert) {
					t.Errorf("got %v", err)
				}
				requireUnwritten(t, db, "seats", before)
				return
			}
			for i, seat := range seats {
				want := keyAt(t, db, "seats", "name", seat.Name) // 0 of one that was skipped
				if seat.ID != want {
					t.Errorf("got the key %d of row %d, want %d, among\n\t%s", seat.ID, i, want, rowsOf(t, db, "seats"))
				}
			}
		}
		where := on("place")
		where.Where = always
		for i, conflict := range []clause.OnConflict{on("place"), where} {
			name := fmt.Sprint(i)
			check(conflict, &Seat{Code: "1", Place: name + "b", Name: name + "r0"}, &Seat{Code: name + "3", Place: name + "c", Name: name + "r1"}, &Seat{Code: name + "4", Place: name + "d", Name: name + "r2"})
			check(conflict, &Seat{Code: name + "5", Place: name + "e", Name: name + "r3"})
			check(conflict, &Seat{Code: "1", Place: name + "f", Name: name + "r4"})
			again := &Seat{Code: name + "6", Place: name + "e", Name: name + "r5"}
			check(conflict, again, &Seat{Code: name + "7", Place: name + "h", Name: name + "r6"})
			requireKey(t, again.ID)
		}
	})
}

// Tenancy refers to a row of another table, which may be missing.
type Tenancy struct {
	ID     sqltype.ID
	Email  string `gorm:"size:64;uniqueIndex"`
	FlatID int64
	Flat   Flat
}

type Flat struct {
	ID int64 `gorm:"autoIncrement:false"`
}

// MySQL's IGNORE skips a row whose reference is broken, which met nothing.
func TestUpsertThatIgnoresABrokenReference(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		if db.Name() != "mysql" {
			t.Skip("only MySQL's IGNORE is about foreign keys")
		}
		use(t, db, &Flat{}, &Tenancy{})
		create(t, db, &Flat{ID: 1})
		for i, conflict := range []clause.OnConflict{onEmail(clause.OnConflict{DoUpdates: clause.AssignmentColumns([]string{"flat_id"})}), {DoNothing: true}} {
			tenancies := []Tenancy{{Email: fmt.Sprint("a", i), FlatID: 9}, {Email: fmt.Sprint("b", i), FlatID: 1}}
			before := rowsOf(t, db, "tenancies")
			err := db.Omit("Flat").Clauses(clause.Insert{Modifier: "IGNORE"}, conflict).Create(&tenancies).Error
			if err != nil {
				if conflict.DoNothing || (scene{base: db}).returning() || !errors.Is(err, gormplugin.ErrUpsert) {
					t.Errorf("%d: got %v", i, err)
				}
				requireUnwritten(t, db, "tenancies", before)
				continue
			}
			for _, tenancy := range tenancies {
				if want := keyAt(t, db, "tenancies", "email", tenancy.Email); tenancy.ID != want {
					t.Errorf("got the key %d of %s, want %d", tenancy.ID, tenancy.Email, want)
				}
			}
		}
	})
}

// A trigger of PostgreSQL can have a row not inserted, and so not returned.
func TestUpsertThatATriggerSkips(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		if db.Name() != "postgres" {
			t.Skip("only PostgreSQL has triggers that skip a row")
		}
		use(t, db, &Mailbox{})
		do(t, db.Exec("CREATE FUNCTION skip() RETURNS trigger AS $$ BEGIN IF NEW.email LIKE 'skip%' THEN RETURN NULL; END IF; RETURN NEW; END $$ LANGUAGE plpgsql").Error)
		do(t, db.Exec("CREATE TRIGGER skip BEFORE INSERT ON mailboxes FOR EACH ROW EXECUTE FUNCTION skip()").Error)
		create(t, db, &Mailbox{Email: "old"})
		where := updateName
		where.Where = always
		for i, conflict := range []clause.OnConflict{updateName, where, {DoNothing: true}} {
			name := fmt.Sprint(i)
			boxes := []*Mailbox{{Email: "skip" + name}, {Email: "a" + name}, {Email: "old"}, {Email: "skip again" + name}}
			if conflict.DoNothing {
				boxes[2].Email = "b" + name
			}
			for _, boxes := range [][]*Mailbox{boxes, {{Email: "skip" + name}}} {
				before := rowsOf(t, db, "mailboxes")
				err := createAll(db.Clauses(conflict), boxes).Error
				if unknown := len(conflict.Where.Exprs) > 0; errors.Is(err, gormplugin.ErrUpsert) != unknown || !unknown && err != nil {
					t.Errorf("%d: got %v, want ErrUpsert: %t", i, err, unknown)
				}
				if err != nil {
					requireUnwritten(t, db, "mailboxes", before)
				} else {
					requireWritten(t, db, boxes...)
				}
			}
		}
	})
}

// Columns that the caller asks for come with rows that were met, or without those that were not written.
func TestUpsertBesideReturning(t *testing.T) {
	id, name := clause.Column{Name: "id"}, clause.Column{Name: "name"}
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Mailbox{})
		old := Mailbox{Email: "old", Name: "first"}
		create(t, db, &old)
		where := updateName
		where.Where = never
		for i, returning := range []clause.Returning{{Columns: []clause.Column{id}}, {Columns: []clause.Column{name}}, {Columns: []clause.Column{id, name}}, {}} {
			for what, conflict := range map[string]clause.OnConflict{"update": updateName, "where": where, "nothing": {DoNothing: true}, "nothing on email": onEmail(clause.OnConflict{DoNothing: true})} {
				if what == "where" && (len(returning.Columns) == 0 || returning.Columns[0] == name) {
					continue // GORM gives the columns of the rows that were written to the first structs, whichever those are
				}
				tx := db.Clauses(conflict, returning).Session(&gorm.Session{})
				fresh := fmt.Sprint(what, i)
				all := []Mailbox{{Email: "old", Name: "first"}, {Email: fresh + "a", Name: "a"}, {Email: fresh + "b", Name: "b"}}
				result := tx.Create(&all)
				pointers := []*Mailbox{{Email: fresh + "c", Name: "c"}, {Email: "old", Name: "first"}}
				create(t, tx, &pointers)
				alone, clash := &Mailbox{Email: fresh + "d", Name: "d"}, &Mailbox{Email: "old", Name: "first"}
				create(t, tx, alone)
				create(t, tx, clash)
				if result.Error != nil || len(all) != 3 || len(pointers) != 2 {
					t.Fatalf("%s %d: got %d and %d rows, %v", what, i, len(all), len(pointers), result.Error)
				}
				if conflict.DoNothing {
					for j, box := range []*Mailbox{&all[0], pointers[1], clash} {
						if box.ID != 0 || box.Email != "old" {
							t.Errorf("%s %d: got the key %d of row %d, %q, which was not written, want none", what, i, box.ID, j, box.Email)
						}
					}
					if result.RowsAffected != 2 {
						t.Errorf("%s %d: got %d rows affected, want 2", what, i, result.RowsAffected)
					}
				} else {
					requireWritten(t, db, &all[0], pointers[1], clash)
				}
				requireWritten(t, db, &all[1], &all[2], pointers[0], alone)
				if what == "where" {
					continue // the same of the name
				}
				for j, box := range []*Mailbox{&all[1], &all[2], pointers[0], alone} {
					if want := fresh + string("abcd"[j]); box.Email != want || box.Name != want[len(fresh):] {
						t.Errorf("%s %d: got the row %+v, want that of %s", what, i, box, want)
					}
				}
			}
		}
		if row := find(t, db, "mailboxes", "old"); row.id != fmt.Sprint(old.ID) || row.name != "first" {
			t.Errorf("got the row %+v, want that of before", row)
		}
	})
}

// Rows that were not written are not counted, and new ones are, whoever gave their keys.
func TestRowsAffectedOfPresetKeys(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Mailbox{})
		for i, tt := range []struct {
			boxes []*Mailbox
			want  int64
		}{
			{[]*Mailbox{{ID: 5, Email: "a"}, {ID: 6, Email: "b"}}, 2},
			{[]*Mailbox{{ID: 7, Email: "c"}, {Email: "d"}, {Email: "a"}}, 2},
			{[]*Mailbox{{ID: 8, Email: "e"}, {Email: "b"}, {ID: 9, Email: "f"}}, 2},
			{[]*Mailbox{{Email: "a"}, {Email: "b"}}, 0},
			{[]*Mailbox{{ID: 10, Email: "g"}}, 1},
			{[]*Mailbox{{Email: "h"}}, 1},
			{[]*Mailbox{{Email: "h"}}, 0},
		} {
			before := count(t, db, &Mailbox{})
			result := createAll(db.Clauses(clause.OnConflict{DoNothing: true}), tt.boxes)
			written := count(t, db, &Mailbox{}) - before
			if result.Error != nil || result.RowsAffected != tt.want || written != tt.want {
				t.Errorf("%d: got %d rows affected, %v, and %d in the table, want %d", i, result.RowsAffected, result.Error, written, tt.want)
			}
		}
	})
}

// Where no key was made the number is the database's own, and so is what MySQL's clientFoundRows makes of it.
func TestRowsAffectedOfPresetKeysThatClash(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Mailbox{})
		create(t, db, &Mailbox{ID: 5, Email: "a"})
		for i, boxes := range [][]*Mailbox{{{ID: 6, Email: "a"}}, {{ID: 6, Email: "a"}, {ID: 7, Email: "b"}}, {{ID: 5, Email: "x"}, {ID: 8, Email: "c"}, {Email: "d"}}, {{ID: 5, Email: "x"}, {Email: "a"}}} {
			before := count(t, db, &Mailbox{})
			result := createAll(db.Clauses(clause.OnConflict{DoNothing: true}), boxes)
			if written := count(t, db, &Mailbox{}) - before; result.Error != nil || result.RowsAffected != written {
				t.Errorf("%d: got %d rows affected, %v, and %d in the table", i, result.RowsAffected, result.Error, written)
			}
		}
	})
}

// One row that IGNORE skips has no key: MySQL tells no id of it, as of one that was inserted.
func TestUpsertOfOneRowThatIsIgnored(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		if db.Name() != "mysql" {
			t.Skip("only MySQL ignores a broken reference")
		}
		use(t, db, &Flat{}, &Tenancy{})
		update := clause.OnConflict{Columns: []clause.Column{{Name: "email"}}, DoUpdates: clause.AssignmentColumns([]string{"flat_id"})}
		for _, conflict := range []clause.OnConflict{update, {DoNothing: true}} {
			lost := Tenancy{Email: "a", FlatID: 99}
			err := db.Omit("Flat").Clauses(clause.Insert{Modifier: "IGNORE"}, conflict).Create(&lost).Error
			if n := count(t, db, &Tenancy{}); n != 0 || err == nil && lost.ID != 0 || err != nil && !errors.Is(err, gormplugin.ErrUpsert) {
				t.Errorf("got the key %d, %v, and %d rows, want no key and none", lost.ID, err, n)
			}
		}
	})
}

// A key that the caller has set is not changed by what is returned of other rows.
func TestUpsertThatIgnoresAKeyThatIsSet(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		if db.Name() != "sqlite" {
			t.Skip("only SQLite skips rows so and returns the others")
		}
		use(t, db, &Seat{})
		create(t, db, &Seat{Code: "1", Place: "a"})
		seats := []*Seat{{ID: 50, Code: "1", Place: "b"}, {Code: "2", Place: "c"}}
		if err := db.Clauses(clause.Insert{Modifier: "OR IGNORE"}, on("place")).Create(seats).Error; err != nil {
			t.Fatal(err)
		}
		if seats[0].ID != 50 || seats[1].ID != keyAt(t, db, "seats", "place", "c") {
			t.Errorf("got the keys %d and %d, want 50 and that of the row that was written", seats[0].ID, seats[1].ID)
		}
	})
}

// Packet has a key that is a pointer, and Pallet one in a struct that is embedded by a pointer.
type Packet struct {
	ID    *int64
	Email string `gorm:"size:64;uniqueIndex"`
}

type Pallet struct {
	*PalletBase
	Email string `gorm:"size:64;uniqueIndex"`
}

type PalletBase struct{ ID sqltype.ID }

// A row that was not written is what it was, whichever way it had no key.
func TestUpsertLeavesASkippedRowAsItWas(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, gormplugin.AllKeys(), gormplugin.Table("mailboxes", "id"), &Mailbox{}, &Packet{}, &Pallet{})
		create(t, db, &Mailbox{Email: "old"})
		create(t, db, &Packet{Email: "old"})
		create(t, db, &Pallet{Email: "old"})
		skip := db.Clauses(clause.OnConflict{DoNothing: true}).Session(&gorm.Session{})
		for n := 1; n <= 2; n++ { // rows, the second of which is written
			fresh := fmt.Sprint("fresh", n)
			for what, tx := range map[string]*gorm.DB{"model": skip.Model(&Mailbox{}), "table": skip.Table("mailboxes")} {
				tx = tx.Session(&gorm.Session{})
				for name, key := range map[string]any{"none": nil, "nil": nil, "zero": 0} {
					maps := []map[string]any{{"email": "old"}, {"email": fresh + what + name}}[:n]
					if name != "none" {
						maps[0]["id"] = key
					}
					create(t, tx, maps)
					if got, is := maps[0]["id"]; got != key || is != (name != "none") {
						t.Errorf("a map of %d with a %s and %s as key: got %v, %t", n, what, name, got, is)
					}
				}
			}
			zero := new(int64)
			parcels := []*Packet{{ID: zero, Email: "old"}, {Email: fresh}}[:n]
			do(t, createAll(skip, parcels).Error)
			if parcels[0].ID != zero || *zero != 0 {
				t.Errorf("a pointer to zero, %d rows: got %v, want that pointer", n, parcels[0].ID)
			}
			pallets := []*Pallet{{Email: "old"}, {Email: fresh}}[:n]
			do(t, createAll(skip, pallets).Error)
			if pallets[0].PalletBase != nil {
				t.Errorf("an embedded struct, %d rows: got %v, want nil", n, pallets[0].PalletBase)
			}
		}
	})
}

// Rows that keep their keys in one place cannot have two, so none of them is written, and none is left out.
func TestRowsThatShareAnEmbeddedStruct(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, gormplugin.Table("mailboxes", "id"), &Mailbox{}, &Pallet{})
		for name, tx := range map[string]*gorm.DB{"INSERT": db.Session(&gorm.Session{}), "DoNothing": db.Clauses(clause.OnConflict{DoNothing: true}).Session(&gorm.Session{})} {
			base := &PalletBase{}
			a, b, c := Pallet{base, "a"}, Pallet{base, "b"}, Pallet{nil, "c"}
			for _, pallets := range []any{[]Pallet{a, b, c}, []*Pallet{&a, &b, &c}, []Pallet{a, a}} {
				if err := tx.Create(pallets).Error; !errors.Is(err, gorm.ErrInvalidData) || base.ID != 0 || c.PalletBase != nil || count(t, db, &Pallet{}) != 0 {
					t.Errorf("%s of %T: got %v, the key %d, and %d rows, want ErrInvalidData, none and none", name, pallets, err, base.ID, count(t, db, &Pallet{}))
				}
			}
			m := map[string]any{"email": "a"}
			if err := tx.Table("mailboxes").Create([]map[string]any{m, m}).Error; !errors.Is(err, gorm.ErrInvalidData) || len(m) != 1 || count(t, db, &Mailbox{}) != 0 {
				t.Errorf("%s of one map: got %v, the map %v, and %d rows, want ErrInvalidData, that map and none", name, err, m, count(t, db, &Mailbox{}))
			}
		}
		base := &PalletBase{}
		a := &Pallet{base, "a"}
		if result := db.Create([]*Pallet{a, {nil, "b"}, a}); result.Error != nil || result.RowsAffected != 2 || a.PalletBase != base {
			t.Errorf("one pointer: got %d rows affected, %v, want 2", result.RowsAffected, result.Error)
		}
	})
}
