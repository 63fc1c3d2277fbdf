package gormplugin_test

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/sqltype"
)

// Seat can be met by its code and by its place. The tests give each row that they write a name of its own, by which they find it again.
type Seat struct {
	ID    sqltype.ID
	Code  string `gorm:"size:64;uniqueIndex"`
	Place string `gorm:"size:64;uniqueIndex"`
	Name  string `gorm:"size:64"`
}

// always is a condition of an update that holds. With one the rows that were met are looked for on every database, and MySQL has none.
var always = clause.Where{Exprs: []clause.Expression{clause.Expr{SQL: "1 = 1"}}}

// never is a condition of an update that does not hold.
var never = clause.Where{Exprs: []clause.Expression{clause.Expr{SQL: "1 = 0"}}}

// on is what to do about a row of the same value in a column: it gets the new name.
func on(column string) clause.OnConflict {
	return clause.OnConflict{Columns: []clause.Column{{Name: column}}, DoUpdates: clause.AssignmentColumns([]string{"name"})}
}

// keyAt returns what the row of a table that has a value in a column has as its id, 0 when there is none.
func keyAt(t *testing.T, db *gorm.DB, table, column string, value any) sqltype.ID {
	t.Helper()
	return valueAt(t, db, table, "id", column, value)
}

func valueAt(t *testing.T, db *gorm.DB, table, of, column string, value any) sqltype.ID {
	t.Helper()
	var found []sqltype.ID
	if err := db.Session(&gorm.Session{NewDB: true}).Table(table).Where(clause.Eq{Column: clause.Column{Name: column}, Value: value}).Pluck(of, &found).Error; err != nil {
		t.Fatal(err)
	}
	if len(found) > 1 {
		t.Fatalf("got %d rows of %s whose %s is %v, want one at most", len(found), table, column, value)
	}
	if len(found) == 0 {
		return 0
	}
	return found[0]
}

// rowsOf returns all rows of a table.
func rowsOf(t *testing.T, db *gorm.DB, table string) string {
	t.Helper()
	var rows []map[string]any
	if err := db.Session(&gorm.Session{NewDB: true}).Table(table).Order("id").Find(&rows).Error; err != nil {
		t.Fatal(err)
	}
	lines := make([]string, 0, len(rows))
	for _, row := range rows {
		lines = append(lines, fmt.Sprint(row))
	}
	return strings.Join(lines, "\n\t")
}

// requireUnwritten fails unless a table has the rows that it had before.
func requireUnwritten(t *testing.T, db *gorm.DB, table, before string) {
	t.Helper()
	if after := rowsOf(t, db, table); after != before {
		t.Errorf("got the rows\n\t%s\nwant those of before\n\t%s", after, before)
	}
}

// requireUpserted fails unless seats have the keys of the rows that they wrote, or the statement failed and wrote nothing. It tells which.
func requireUpserted(t *testing.T, db *gorm.DB, before string, err error, seats ...*Seat) bool {
	t.Helper()
	if err != nil {
		requireUnwritten(t, db, "seats", before)
		return false
	}
	for i, seat := range seats {
		if want := keyAt(t, db, "seats", "name", seat.Name); seat.ID != want || want == 0 {
			t.Errorf("got the key %d of row %d, want %d of the row that it wrote, among\n\t%s", seat.ID, i, want, rowsOf(t, db, "seats"))
		}
	}
	return true
}

// MySQL heeds all unique indexes of a table, and a row may have the values of another one that it did not meet: they are of a row that
// the batch wrote later, of a second one, or in columns that it does not write.
func TestUpsertMeetsOverAnyIndex(t *testing.T) {
	cases := []struct {
		name    string
		session func(*gorm.DB) *gorm.DB
		there   []*Seat
		batch   []*Seat
		unknown bool // without RETURNING
	}{
		{
			name:  "a later row took the value",
			there: []*Seat{{Code: "1", Place: "a"}}, unknown: true,
			batch: []*Seat{{Code: "1", Place: "b", Name: "r0"}, {Code: "3", Place: "b", Name: "r1"}},
		},
		{
			name:  "two rows are met",
			there: []*Seat{{Code: "1", Place: "a"}, {Code: "2", Place: "b"}}, unknown: true,
			batch: []*Seat{{Code: "1", Place: "b", Name: "r0"}, {Code: "3", Place: "c", Name: "r1"}},
		},
		{
			name:  "met over the index that the clause does not name",
			there: []*Seat{{Code: "1", Place: "a"}},
			batch: []*Seat{{Code: "1", Place: "b", Name: "r0"}, {Code: "3", Place: "c", Name: "r1"}},
		},
		{
			name:  "met over both",
			there: []*Seat{{Code: "1", Place: "a"}},
			batch: []*Seat{{Code: "3", Place: "c", Name: "r0"}, {Code: "1", Place: "a", Name: "r1"}},
		},
		{
			name: "Omit of a unique column", session: func(db *gorm.DB) *gorm.DB { return db.Omit("Code") },
			there: []*Seat{{Code: "1", Place: "a"}, {Code: "2", Place: "b"}},
			batch: []*Seat{{Code: "2", Place: "a", Name: "r0"}, {Code: "3", Place: "c", Name: "r1"}},
		},
		{
			name: "Select without a unique column", session: func(db *gorm.DB) *gorm.DB { return db.Select("Place", "Name") },
			there: []*Seat{{Code: "1", Place: "a"}, {Code: "2", Place: "b"}},
			batch: []*Seat{{Code: "2", Place: "a", Name: "r0"}, {Code: "3", Place: "c", Name: "r1"}},
		},
	}
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Seat{})
		blind := !(scene{base: db}).returning()
		for _, tt := range cases {
			t.Run(tt.name, func(t *testing.T) {
				do(t, db.Exec("DELETE FROM seats").Error)
				create(t, db, clones(tt.there))
				before, batch, tx := rowsOf(t, db, "seats"), clones(tt.batch), db
				if tt.session != nil {
					tx = tt.session(db)
				}
				err := tx.Clauses(on("place")).Create(batch).Error
				known := requireUpserted(t, db, before, err, batch...)
				if errors.Is(err, gormplugin.ErrUpsert) != (tt.unknown && blind) || !known && (db.Name() == "mysql" || tt.session != nil) && !(tt.unknown && blind) {
					t.Errorf("got %v, want ErrUpsert: %t", err, tt.unknown && blind)
				}
			})
		}
	})
}

// MySQL takes no notice of the columns that a clause names. Elsewhere they have to be unique.
func TestUpsertOnColumnsThatAreNotUnique(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Mailbox{})
		there := []*Mailbox{{Email: "x", Name: "of x"}, {Email: "y", Name: "of y"}}
		create(t, db, there)
		before, boxes := rowsOf(t, db, "mailboxes"), []*Mailbox{{Email: "x", Name: "of y"}, {Email: "z", Name: "of z"}}
		err := db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "name"}}, DoUpdates: clause.AssignmentColumns([]string{"email"})}).Create(boxes).Error
		if db.Name() != "mysql" {
			if err == nil {
				t.Error("got no error, want that of the database")
			}
			requireUnwritten(t, db, "mailboxes", before)
			return
		}
		if want := keyAt(t, db, "mailboxes", "email", "z"); err != nil || boxes[0].ID != there[0].ID || boxes[1].ID != want {
			t.Errorf("got the keys %d and %d, %v, want %d and %d", boxes[0].ID, boxes[1].ID, err, there[0].ID, want)
		}
	})
}

// clones returns copies of rows, so that each database has its own.
func clones[T any](rows []*T) []*T {
	own := make([]*T, len(rows))
	for i, row := range rows {
		own[i] = new(T)
		*own[i] = *row
	}
	return own
}

// Docket has a number that the database makes beside its key. MySQL tells that as the id it inserted last.
type Docket struct {
	ID    sqltype.ID
	Seq   int64  `gorm:"autoIncrement"`
	Email string `gorm:"size:64"`
	Name  string `gorm:"size:64"`
}

// Slip is a docket that does not know of the number.
type Slip struct {
	ID    sqltype.ID
	Email string `gorm:"size:64"`
	Name  string `gorm:"size:64"`
}

func (Slip) TableName() string { return "dockets" }

func makeDockets(t *testing.T, db *gorm.DB) {
	t.Helper()
	do(t, db.Exec(map[string]string{
		"mysql":    "CREATE TABLE dockets (id BIGINT PRIMARY KEY, seq BIGINT NOT NULL AUTO_INCREMENT UNIQUE, email VARCHAR(64) UNIQUE, name VARCHAR(64))",
		"postgres": "CREATE TABLE dockets (id BIGINT PRIMARY KEY, seq BIGSERIAL UNIQUE, email VARCHAR(64) UNIQUE, name VARCHAR(64))",
		"sqlite":   "CREATE TABLE dockets (id BIGINT NOT NULL UNIQUE, seq INTEGER PRIMARY KEY AUTOINCREMENT, email TEXT UNIQUE, name TEXT)",
	}[db.Name()]).Error)
}

func TestUpsertBesideAnAutoIncrementColumn(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db)
		makeDockets(t, db)
		for seq := range sqltype.ID(64) { // a number is also the key of another row
			create(t, db, &Slip{ID: 1 + (seq+7)%64, Email: fmt.Sprint("there", seq)})
		}
		for name, conflict := range map[string]clause.OnConflict{"update": on("email"), "nothing": {DoNothing: true}, "nothing on email": onEmail(clause.OnConflict{DoNothing: true})} {
			t.Run(name, func(t *testing.T) {
				tx := db.Clauses(conflict).Session(&gorm.Session{})
				check := func(what string, got sqltype.ID, email string, clash bool) {
					t.Helper()
					want := keyAt(t, db, "dockets", "email", email)
					if clash && conflict.DoNothing {
						want = 0
					} else if !clash {
						requireKey(t, want)
					}
					if got != want {
						t.Errorf("%s: got the key %d of %s, want %d", what, got, email, want)
					}
				}
				docket, slip := Docket{Email: name + " docket"}, Slip{Email: name + " slip"}
				create(t, tx, &docket)
				create(t, tx, &slip)
				check("new docket", docket.ID, docket.Email, false)
				check("new slip", slip.ID, slip.Email, false)
				docket, slip = Docket{Email: name + " slip", Name: "x"}, Slip{Email: "there3", Name: "y"}
				create(t, tx, &docket)
				create(t, tx, &slip)
				check("docket that clashes", docket.ID, docket.Email, true)
				check("slip that clashes", slip.ID, slip.Email, true)
				dockets, slips := []Docket{{Email: name + " a"}, {Email: "there4"}, {Email: name + " b"}}, []Slip{{Email: name + " c"}, {Email: "there5"}, {Email: name + " d"}}
				create(t, tx, &dockets)
				create(t, tx, &slips)
				for i := range dockets {
					check("docket in a batch", dockets[i].ID, dockets[i].Email, i == 1)
					check("slip in a batch", slips[i].ID, slips[i].Email, i == 1)
				}
			})
		}
	})
}

// A clause that names columns and updates none is GORM's id = id: MySQL sets nothing then, SQLite finds the row, PostgreSQL refuses it.
func TestUpsertWithoutUpdates(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Mailbox{})
		old := Mailbox{Email: "old", Name: "first"}
		create(t, db, &old)
		want := sqltype.ID(0)
		if db.Name() == "sqlite" {
			want = old.ID
		}
		for n := 1; n < 4; n++ {
			boxes := []*Mailbox{{Email: "old", Name: "second"}, {Email: fmt.Sprint("a", n)}, {Email: fmt.Sprint("b", n)}}[:n]
			before := rowsOf(t, db, "mailboxes")
			err := createAll(db.Clauses(onEmail(clause.OnConflict{})), boxes).Error
			if db.Name() == "postgres" {
				if err == nil {
					t.Errorf("%d rows: got no error, want that of the database", n)
				}
				requireUnwritten(t, db, "mailboxes", before)
				continue
			}
			if err != nil || boxes[0].ID != want {
				t.Errorf("%d rows: got the key %d, %v, want %d", n, boxes[0].ID, err, want)
			}
			for _, box := range boxes[1:] {
				if got := keyAt(t, db, "mailboxes", "email", box.Email); box.ID != got {
					t.Errorf("%d rows: got the key %d of %s, want %d", n, box.ID, box.Email, got)
				}
			}
		}
		if row := find(t, db, "mailboxes", "old"); row.id != fmt.Sprint(old.ID) || row.name != "first" {
			t.Errorf("got the row %+v, want that of before", row)
		}
	})
}

// Callers of MySQL know the idiom from its manual.
func TestUpsertAssignsTheKeyToItself(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Mailbox{})
		old := Mailbox{Email: "old", Name: "first"}
		create(t, db, &old)
		idioms := []string{"mailboxes.id"}
		if db.Name() == "mysql" {
			idioms = append(idioms, "LAST_INSERT_ID(mailboxes.id)")
		}
		for i, idiom := range idioms {
			conflict := onEmail(clause.OnConflict{DoUpdates: clause.Assignments(map[string]any{"id": gorm.Expr(idiom)})})
			for n := 1; n < 3; n++ {
				boxes := []*Mailbox{{Email: "old", Name: "second"}, {Email: fmt.Sprint(i, n)}}[:n]
				if err := createAll(db.Clauses(conflict), boxes).Error; err != nil || boxes[0].ID != old.ID {
					t.Errorf("%s, %d rows: got the key %d, %v, want %d", idiom, n, boxes[0].ID, err, old.ID)
				}
				fresh := Mailbox{Email: fmt.Sprint("fresh", i, n)}
				create(t, db.Clauses(conflict), &fresh)
				for _, box := range append(boxes, &fresh) {
					if want := keyAt(t, db, "mailboxes", "email", box.Email); box.ID != want {
						t.Errorf("%s, %d rows: got the key %d of %s, want %d", idiom, n, box.ID, box.Email, want)
					}
				}
			}
		}
	})
}

// Pass has a number that is filled beside a key that the database makes.
type Pass struct {
	ID     int64
	Number int64  `gorm:"snowkey"`
	Email  string `gorm:"size:64;uniqueIndex"`
	Name   string `gorm:"size:64"`
}

func TestUpsertOfAKeyThatIsNotPrimary(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Pass{})
		create(t, db, []*Pass{{Email: "o1"}, {Email: "o2"}, {Email: "o3"}})
		where := on("email")
		where.Where = never
		for name, conflict := range map[string]clause.OnConflict{"update": on("email"), "where": where, "nothing": {DoNothing: true}, "nothing on email": onEmail(clause.OnConflict{DoNothing: true})} {
			passes := []*Pass{{Email: name + "a", Name: "n"}, {Email: "o1", Name: "n"}, {Email: name + "b", Name: "n"}, {Email: "o2", Name: "n"}, {Email: name + "c", Name: "n"}}
			create(t, db.Clauses(conflict), passes)
			alone, clash := Pass{Email: name + "d"}, Pass{Email: "o3"}
			create(t, db.Clauses(conflict), &alone)
			create(t, db.Clauses(conflict), &clash)
			for _, pass := range append(passes, &alone, &clash) {
				number, id := int64(valueAt(t, db, "passes", "number", "email", pass.Email)), int64(keyAt(t, db, "passes", "email", pass.Email))
				if pass.Email[0] != 'o' {
					requireMade(t, number)
				} else if conflict.DoNothing {
					number = 0
				}
				if pass.Number != number {
					t.Errorf("%s: got the number %d of %s, want %d", name, pass.Number, pass.Email, number)
				}
				// What GORM makes of the keys that it takes the database for is its own: without RETURNING they are guesses.
				if name == "update" && (scene{base: db}).returning() && pass.ID != id {
					t.Errorf("%s: got the key %d of %s, want %d", name, pass.ID, pass.Email, id)
				}
			}
		}
	})
}

// PostgreSQL names a constraint in place of columns. SQLite's clause without columns is about any of them.
func TestUpsertOnConstraint(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Seat{})
		if db.Name() == "postgres" {
			do(t, db.Exec("ALTER TABLE seats ADD CONSTRAINT one_place UNIQUE (place)").Error)
		}
		create(t, db, []*Seat{{Code: "1", Place: "a"}, {Code: "2", Place: "b"}})
		conflict := clause.OnConflict{DoUpdates: clause.AssignmentColumns([]string{"name"})}
		if db.Name() == "postgres" {
			conflict.OnConstraint = "one_place"
		}
		where := conflict
		where.Where = always
		for i, conflict := range []clause.OnConflict{conflict, where} {
			// Its place is that of a row, its code is new, or that of another row.
			for _, code := range []string{"", "2"} {
				name := fmt.Sprint(i, code)
				seat, m := Seat{Code: cmp.Or(code, name+"s"), Place: "a", Name: name + "struct"}, map[string]any{"code": cmp.Or(code, name+"m"), "place": "a", "name": name + "map"}
				batch := []*Seat{{Code: cmp.Or(code, name+"b"), Place: "a", Name: name + "r0"}, {Code: name + "c", Place: name, Name: name + "r1"}}
				for what, create := range map[string]func() ([]*Seat, error){
					"struct": func() ([]*Seat, error) { return []*Seat{&seat}, db.Clauses(conflict).Create(&seat).Error },
					"map": func() ([]*Seat, error) {
						err := db.Model(&Seat{}).Clauses(conflict).Create(m).Error
						if err != nil {
							return nil, err
						}
						return []*Seat{{ID: mapKey[sqltype.ID](t, m, "id"), Name: name + "map"}}, nil
					},
					"batch": func() ([]*Seat, error) { return batch, db.Clauses(conflict).Create(batch).Error },
				} {
					before := rowsOf(t, db, "seats")
					seats, err := create()
					if known := requireUpserted(t, db, before, err, seats...); !known && (code == "" || !errors.Is(err, gormplugin.ErrUpsert)) {
						t.Errorf("%s %q: got %v", what, code, err)
					}
				}
			}
		}
	})
}

// Desk has a key of two columns, of which one is filled.
type Desk struct {
	Tenant int64      `gorm:"primaryKey;autoIncrement:false"`
	ID     sqltype.ID `gorm:"primaryKey"`
	Email  string     `gorm:"size:64;uniqueIndex"`
	Name   string     `gorm:"size:64"`
}

func TestUpsertMeetsTheRowOfAnotherTenant(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Desk{})
		old := Desk{Tenant: 1, Email: "old"}
		create(t, db, &old)
		where := on("email")
		where.Where = always
		for i, conflict := range []clause.OnConflict{on("email"), where, {DoNothing: true}} {
			for n := 1; n < 3; n++ {
				desks := []*Desk{{Tenant: 2, Email: "old", Name: "n"}, {Tenant: 2, Email: fmt.Sprint(i, n)}}[:n]
				if err := createAll(db.Clauses(conflict), desks).Error; err != nil {
					t.Errorf("%d rows: got %v", n, err)
				}
				if conflict.DoNothing {
					if desks[0].ID != 0 || desks[0].Tenant != 2 {
						t.Errorf("DoNothing, %d rows: got the key %d, %d, want the tenant's own and none", n, desks[0].Tenant, desks[0].ID)
					}
				} else if desks[0].Tenant != 1 || desks[0].ID != old.ID {
					t.Errorf("%d rows: got the key %d, %d, want %d, %d", n, desks[0].Tenant, desks[0].ID, old.Tenant, old.ID)
				}
				for _, desk := range desks[1:] {
					if found := count(t, db.Where("tenant = 2 AND id = ? AND email = ?", desk.ID, desk.Email), &Desk{}); found != 1 || desk.Tenant != 2 {
						t.Errorf("got %d rows of the key %d, %d, want one", found, desk.Tenant, desk.ID)
					}
				}
			}
		}
	})
}
