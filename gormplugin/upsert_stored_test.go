package gormplugin_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/sqltype"
)

// marked has a mark that no two rows have.
type marked[T any] struct {
	ID   sqltype.ID
	Mark T
	Name string `gorm:"size:64"`
}

func (marked[T]) TableName() string { return "marked" }

// testStored creates rows that meet others by what a column of a type stores of a mark. The types are MySQL's and PostgreSQL's; SQLite stores
// what it gets.
func testStored[T any](mysql, postgres string, there, again, other T) func(*testing.T) {
	return func(t *testing.T) {
		onEach(t, func(t *testing.T, db *gorm.DB) {
			typ := map[string]string{"mysql": mysql, "postgres": postgres}[db.Name()]
			if db.Name() == "sqlite" {
				again = there
			}
			use(t, db)
			do(t, db.Exec("CREATE TABLE marked (id bigint PRIMARY KEY, mark "+typ+" UNIQUE, name varchar(64))").Error)
			old := marked[T]{Mark: there, Name: "old"}
			create(t, db, &old)
			where := on("mark")
			where.Where = always
			for i, conflict := range []clause.OnConflict{on("mark"), where} {
				do(t, db.Exec("DELETE FROM marked WHERE id <> ?", old.ID).Error)
				rows := []*marked[T]{{Mark: again, Name: fmt.Sprint(i, "met")}, {Mark: other, Name: fmt.Sprint(i, "new")}}
				create(t, db.Clauses(conflict), rows)
				alone := marked[T]{Mark: again, Name: fmt.Sprint(i, "alone")}
				if met := keyAt(t, db, "marked", "name", rows[0].Name); rows[0].ID != old.ID || met != old.ID {
					t.Errorf("%d: got the key %d of a row that met %d, which is %d", i, rows[0].ID, old.ID, met)
				}
				if want := keyAt(t, db, "marked", "name", rows[1].Name); rows[1].ID != want || want == 0 {
					t.Errorf("%d: got the key %d of a new row, want %d", i, rows[1].ID, want)
				}
				create(t, db.Clauses(conflict), &alone)
				if alone.ID != old.ID {
					t.Errorf("%d: got the key %d of a single row, want %d", i, alone.ID, old.ID)
				}
			}
		})
	}
}

// Values are compared as the column stores them: rounded, cut, padded.
func TestUpsertMeetsWhatIsStored(t *testing.T) {
	at := time.Date(2024, 5, 6, 7, 8, 9, 987_654_321, time.UTC)
	t.Run("seconds", testStored("datetime", "timestamp(0)", at, at.Add(time.Millisecond), at.Add(time.Hour)))
	t.Run("milliseconds", testStored("datetime(3)", "timestamptz(3)", at, at, at.Add(time.Millisecond)))
	t.Run("instants", testStored("timestamp(2)", "timestamptz(2)", at, at, at.Add(time.Hour)))
	t.Run("microseconds", testStored("datetime(6)", "timestamptz", at, at, at.Add(time.Microsecond)))
	t.Run("dates", testStored("date", "date", at, at.Add(-time.Hour), at.AddDate(0, 0, 1)))
	t.Run("times of day", testStored("time(1)", "time(1)", "10:11:12.345", "10:11:12.345", "10:11:13"))
	t.Run("decimals", testStored("decimal(10,2)", "numeric(10,2)", 12.347, 12.349, 12.337))
	t.Run("decimal texts", testStored("decimal(10,2) unsigned", "numeric(10,2)", "12.347", "12.350", "12.337"))
	t.Run("floats", testStored("float", "real", 0.1, 0.1, 0.2))
	t.Run("integers", testStored("int unsigned", "int", int64(5), int64(5), int64(6)))
	t.Run("padded and compared so", testStored("char(5) COLLATE utf8mb4_bin", "char(5)", "ab ", "ab  ", "abc"))
	t.Run("padded", testStored("char(5) COLLATE utf8mb4_nopad_bin", "char(5)", "ab ", "ab  ", "abc"))
	t.Run("padded in another charset", testStored("char(5) CHARACTER SET latin1 COLLATE latin1_nopad_bin", "char(5)", "é ", "é  ", "é1"))
	t.Run("cut", testStored("varchar(3) COLLATE utf8mb4_nopad_bin", "varchar(3)", "äbc", "äbc  ", "äb"))
	t.Run("text", testStored("varchar(30) COLLATE utf8mb4_unicode_ci", "text", "a", "a", "b"))
	t.Run("text in bytes", testStored("varchar(5) COLLATE utf8mb4_bin", "varchar(5)", []byte("äöüäö"), []byte("äöüäö"), []byte("äöüä")))
	t.Run("bytes", testStored("binary(4)", "bytea", []byte("ab"), []byte("ab"), []byte("abc")))
	t.Run("bytes without padding", testStored("varbinary(4)", "bytea", []byte("ab"), []byte("ab"), []byte("ab\x00")))
}

// Tide has a time that the database stores in seconds.
type Tide struct {
	ID sqltype.ID
	At time.Time `gorm:"type:timestamp(0);uniqueIndex"`
}

// Ferry belongs to a tide.
type Ferry struct {
	ID     sqltype.ID
	Name   string `gorm:"size:64;uniqueIndex"`
	TideID sqltype.ID
	Tide   *Tide `gorm:"constraint:-"`
}

func TestUpsertOfAnAssociationMeetsWhatIsStored(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Tide{}, &Ferry{})
		at := time.Date(2024, 5, 6, 7, 8, 9, 987_654_321, time.UTC)
		there := Tide{At: at}
		create(t, db, &there)
		for n := 1; n < 4; n++ {
			ferries := []*Ferry{{Tide: &Tide{At: at}}, {Tide: &Tide{At: at.Add(time.Duration(n) * time.Hour)}}, {Tide: &Tide{At: at}}}[:n]
			for i, ferry := range ferries {
				ferry.Name = fmt.Sprint(n, i)
			}
			do(t, createAll(db, ferries).Error)
			for i, ferry := range ferries {
				if ferry.TideID != ferry.Tide.ID || (ferry.TideID == there.ID) != (i != 1) || count(t, db.Where("id = ?", ferry.TideID), &Tide{}) != 1 {
					t.Errorf("%d of %d: got the tide %d, %d, the first is %d", i, n, ferry.TideID, ferry.Tide.ID, there.ID)
				}
			}
		}
	})
}

// A row whose primary key has a time that the column cuts was inserted all the same.
func TestUpsertInsertsUnderACutKey(t *testing.T) {
	type Sample struct {
		At    time.Time  `gorm:"primaryKey;type:timestamp(0)"`
		ID    sqltype.ID `gorm:"primaryKey"`
		Email string     `gorm:"size:64;uniqueIndex"`
	}
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Sample{})
		at := time.Date(2024, 5, 6, 7, 8, 9, 987_654_321, time.UTC)
		create(t, db, &Sample{At: at, Email: "old"})
		samples := []*Sample{{At: at, Email: "a"}, {At: at, Email: "old"}, {At: at, Email: "b"}}
		create(t, db.Clauses(clause.OnConflict{DoNothing: true}), samples)
		for i, sample := range samples {
			want := keyAt(t, db, "samples", "email", sample.Email)
			if i == 1 {
				want = 0
			}
			if sample.ID != want {
				t.Errorf("got the key %d of row %d, want %d", sample.ID, i, want)
			}
		}
	})
}

// Beginnings of texts that LIKE would take for patterns, that differ in case or in spaces, and of bytes.
func TestUpsertOnAPartOfAColumn(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		if db.Name() != "mysql" {
			t.Skip("only MySQL has such indexes")
		}
		use(t, db)
		for _, column := range []string{"text", "varchar(64) COLLATE utf8mb4_unicode_ci", "varchar(64) COLLATE utf8mb4_nopad_bin", "blob", "text CHARACTER SET latin1"} {
			do(t, db.Exec("DROP TABLE IF EXISTS marked").Error)
			do(t, db.Exec("CREATE TABLE marked (id bigint PRIMARY KEY, mark "+column+", name varchar(64), UNIQUE (mark(4)))").Error)
			texts := []string{"ada", "adam", "a%b!c", "a_b!c", "a!b%c", "é__x", "A  ", "zz  "}
			if strings.Contains(column, "blob") {
				texts[5] = "éx" // four bytes
			}
			for _, text := range texts {
				create(t, db, &marked[string]{Mark: text, Name: text})
			}
			var rows []*marked[string]
			for i, text := range texts {
				if len([]rune(text)) >= 4 {
					text += fmt.Sprint("tail", i)
				}
				rows = append(rows, &marked[string]{Mark: text, Name: fmt.Sprint("met", i)})
			}
			rows = append(rows, &marked[string]{Mark: "axb!c", Name: "new"})
			if column == "text" { // which takes no notice of spaces at the end
				create(t, db, &marked[string]{Mark: "B", Name: "B"})
				texts, rows = append(texts, "B"), append(rows, &marked[string]{Mark: "b  ", Name: "spaces"})
			}
			create(t, db.Clauses(on("mark")), rows)
			for i, row := range rows {
				if want := keyAt(t, db, "marked", "name", row.Name); row.ID != want || want == 0 {
					t.Errorf("%s: got the key %d of row %d, %q, want %d", column, row.ID, i, row.Mark, want)
				}
			}
			if n := count(t, db.Table("marked"), nil); int(n) != len(texts)+1 {
				t.Errorf("%s: got %d rows, want %d", column, n, len(texts)+1)
			}
		}
	})
}

// Guest is met by an expression, which may be that of a column that the database computes and the model does not know.
type Guest struct {
	ID    sqltype.ID
	Email string `gorm:"size:64"`
	Gone  *int64
	Name  string `gorm:"size:64"`
}

// Booking belongs to a guest.
type Booking struct {
	ID      sqltype.ID
	GuestID sqltype.ID
	Guest   *Guest `gorm:"constraint:-"`
}

func TestUpsertOnAnExpression(t *testing.T) {
	const index = "CREATE UNIQUE INDEX ix_guests ON guests (%s)"
	for name, tt := range map[string]struct {
		mysql, postgres, sqlite string     // the index, or the columns of it
		columns                 [][]string // of the clause
	}{
		"expressions": {
			postgres: fmt.Sprintf(index, "lower(email), coalesce(gone, -1)"), sqlite: fmt.Sprintf(index, "lower(email) DESC, coalesce(gone, -1)"),
			columns: [][]string{{"lower(email)", "coalesce(gone, -1)"}},
		},
		"generated columns": {
			mysql:    "ALTER TABLE guests ADD low varchar(64) AS (lower(email)) PERSISTENT, ADD since bigint AS (coalesce(gone, -1)) VIRTUAL, ADD UNIQUE (low, since)",
			postgres: "ALTER TABLE guests ADD low varchar(64) GENERATED ALWAYS AS (lower(email)) STORED, ADD since bigint GENERATED ALWAYS AS (coalesce(gone, -1)) STORED, ADD UNIQUE (low, since)",
			sqlite:   "ALTER TABLE guests ADD low text AS (lower(email)); ALTER TABLE guests ADD since integer AS (coalesce(gone, -1)); CREATE UNIQUE INDEX ix_guests ON guests (low, since)",
			columns:  [][]string{{"low"}, {"since"}},
		},
		"generated columns of other collations": {
			mysql:    "ALTER TABLE guests MODIFY email varchar(64) CHARACTER SET latin1 COLLATE latin1_german1_ci, ADD low varchar(64) COLLATE utf8mb4_bin AS (lower(email)), ADD since varchar(3) AS (coalesce(gone, '?!')) VIRTUAL, ADD UNIQUE (low, since)",
			postgres: `ALTER TABLE guests ADD low varchar(64) COLLATE "C" GENERATED ALWAYS AS (lower(email)) STORED, ADD since bigint GENERATED ALWAYS AS (coalesce(gone, -1)) STORED, ADD UNIQUE (low, since)`,
			sqlite:   "CREATE UNIQUE INDEX ix_guests ON guests (email COLLATE NOCASE, coalesce(gone, -1))",
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, db *gorm.DB) {
				make := map[string]string{"mysql": tt.mysql, "postgres": tt.postgres, "sqlite": tt.sqlite}[db.Name()]
				if make == "" {
					t.Skip("MySQL 8 has such indexes, MariaDB has not")
				}
				use(t, db, &Guest{}, &Booking{})
				for statement := range strings.SplitSeq(make, ";") {
					do(t, db.Exec(statement).Error)
				}
				gone := int64(7)
				there := []*Guest{{Email: "Ada"}, {Email: "ada", Gone: &gone}}
				create(t, db, there)
				conflict := clause.OnConflict{DoUpdates: clause.AssignmentColumns([]string{"name"})}
				if len(tt.columns) == 1 {
					for _, column := range tt.columns[0] {
						conflict.Columns = append(conflict.Columns, clause.Column{Name: column, Raw: true})
					}
				} else if db.Name() != "mysql" && len(tt.columns) > 0 {
					conflict.Columns = []clause.Column{{Name: "low"}, {Name: "since"}}
				}
				where := conflict
				where.Where = always
				conflicts := []clause.OnConflict{conflict, where}
				if db.Name() == "postgres" && len(conflict.Columns) == 0 {
					conflicts = nil // it has to have columns
				}
				for i, conflict := range conflicts {
					guests := []*Guest{{Email: "ADA", Name: fmt.Sprint(i, "met")}, {Email: "ADA", Gone: &gone, Name: fmt.Sprint(i, "gone")}, {Email: fmt.Sprint("new", i), Name: fmt.Sprint(i, "new")}}
					create(t, db.Clauses(conflict), guests)
					for j, guest := range guests {
						if want := keyAt(t, db, "guests", "name", guest.Name); guest.ID != want || j < 2 && want != there[j].ID {
							t.Errorf("%d: got the key %d of %s, want %d, among\n\t%s", i, guest.ID, guest.Name, want, rowsOf(t, db, "guests"))
						}
					}
				}
				for n := 1; n < 4; n++ {
					bookings := []*Booking{{Guest: &Guest{Email: "aDA"}}, {Guest: &Guest{Email: "aDA", Gone: &gone}}, {Guest: &Guest{Email: fmt.Sprint("n", n)}}}[:n]
					do(t, createAll(db, bookings).Error)
					for j, booking := range bookings {
						if stored := count(t, db.Where("id = ?", booking.GuestID), &Guest{}); stored != 1 || j < 2 && booking.GuestID != there[j].ID {
							t.Errorf("%d of %d: got the guest %d, %d rows, want one of %d, %d", j, n, booking.GuestID, stored, there[0].ID, there[1].ID)
						}
					}
				}
			})
		})
	}
}

// A row whose expression is of what the database fills in is not known.
func TestUpsertOnAnExpressionOfADefault(t *testing.T) {
	type Plate struct {
		ID   sqltype.ID
		Code string `gorm:"size:64;default:(upper('none'))"`
		Name string `gorm:"size:64"`
	}
	onEach(t, func(t *testing.T, db *gorm.DB) {
		if db.Name() != "postgres" {
			t.Skip("only PostgreSQL has expressions in indexes and DEFAULT among values here")
		}
		use(t, db, &Plate{})
		do(t, db.Exec("CREATE UNIQUE INDEX ix_plates ON plates (lower(code))").Error)
		create(t, db, &Plate{Code: "None"})
		conflict := clause.OnConflict{Columns: []clause.Column{{Name: "lower(code)", Raw: true}}, DoUpdates: clause.AssignmentColumns([]string{"name"}), Where: always}
		before, plates := rowsOf(t, db, "plates"), []*Plate{{Name: "a"}, {Code: "x", Name: "b"}}
		err := db.Clauses(conflict).Create(plates).Error
		if !errors.Is(err, gormplugin.ErrUpsert) || !strings.Contains(err.Error(), "code = what the database fills in") {
			t.Errorf("got %v, want an ErrUpsert that says so", err)
		}
		requireUnwritten(t, db, "plates", before)
	})
}

// The error says which row, by which indexes it was looked for, and what helps.
func TestUpsertErrorNamesRowAndIndexes(t *testing.T) {
	type Ticket struct {
		ID     sqltype.ID
		SeatID sqltype.ID
		Seat   *Seat `gorm:"constraint:-"`
	}
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Seat{}, &Ticket{})
		create(t, db, []*Seat{{Code: "1", Place: "a"}, {Code: "2", Place: "b"}})
		require := func(err error, parts ...string) {
			t.Helper()
			if !errors.Is(err, gormplugin.ErrUpsert) {
				t.Errorf("got %v, want ErrUpsert", err)
				return
			}
			for _, part := range parts {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("got %q, want %q in it", err, part)
				}
			}
			if n := count(t, db, &Seat{}); n != 2 {
				t.Errorf("got %d rows, want the two that were there", n)
			}
		}
		seats := func() []*Seat { return []*Seat{{Code: "3", Place: "c"}, {Code: "1", Place: "b"}} }
		tickets := []*Ticket{{Seat: seats()[0]}, {Seat: seats()[1]}}
		err := db.Create(tickets).Error
		require(err, "row 2 of 2", "one row has its code = '1', another its place = 'b'", "save the rows one by one")
		if err != nil && strings.Contains(err.Error(), "WithoutKeys") {
			t.Errorf("got %q of an association, whose keys are needed", err)
		}
		if db.Name() != "mysql" {
			return
		}
		if (scene{base: db}).returning() {
			do(t, db.Clauses(on("code")).Create(seats()).Error) // it tells
			return
		}
		require(db.Clauses(on("code")).Create(seats()).Error, "row 2 of 2", "one row has its code = '1', another its place = 'b'", "WithoutKeys()")
		update := on("code")
		update.DoUpdates = clause.Assignments(map[string]any{"code": "9", "place": "z"})
		require(db.Clauses(update).Create(seats()).Error, "row 2 of 2", "the update writes other values to code")
	})
}
