package gormplugin_test

import (
	"errors"
	"fmt"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/sqltype"
)

// once is a column whose type says what to do about rows of the same value. GORM adds that clause when it builds the INSERT.
type once string

func (once) CreateClauses(*schema.Field) []clause.Interface {
	return []clause.Interface{clause.OnConflict{DoNothing: true}}
}

// Token has such a column.
type Token struct {
	ID   sqltype.ID
	Text once `gorm:"size:64;uniqueIndex"`
}

func TestUpsertOfAFieldsOwnClause(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Token{})
		old, again := Token{Text: "old"}, Token{Text: "old"}
		create(t, db, &old)
		requireKey(t, old.ID)
		create(t, db, &again)
		batch := []Token{{Text: "a"}, {Text: "old"}, {Text: "b"}}
		create(t, db, &batch)
		if again.ID != 0 || batch[1].ID != 0 {
			t.Errorf("got the keys %d and %d of rows that were not written, want none", again.ID, batch[1].ID)
		}
		for _, token := range []Token{old, batch[0], batch[2]} {
			if want := keyAt(t, db, "tokens", "text", token.Text); token.ID != want || want == 0 {
				t.Errorf("got the key %d of %s, want %d", token.ID, token.Text, want)
			}
		}
		requireKeys(t, db, &Token{}, old.ID, batch[0].ID, batch[2].ID)
		unscoped := Token{Text: "old"}
		if err := db.Unscoped().Create(&unscoped).Error; err == nil {
			t.Errorf("Unscoped takes such clauses away: got the key %d, want an error", unscoped.ID)
		}
	})
}

// A callback that adds the clause after the plugin's own has looked is refused, before them the clause is as any other.
func TestUpsertByACallback(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Mailbox{})
		create(t, db, &Mailbox{Email: "old"})
		conflict := clause.OnConflict{DoNothing: true}
		add := func(db *gorm.DB) { db.Statement.AddClause(conflict) }
		do(t, db.Callback().Create().Before("gorm:create").Register("late", add))
		before := rowsOf(t, db, "mailboxes")
		for _, conflict = range []clause.OnConflict{{DoNothing: true}, updateName} {
			for _, boxes := range [][]*Mailbox{{{Email: "a"}}, {{Email: "old"}}, {{Email: "a"}, {Email: "old"}, {Email: "b"}}, {{ID: 5, Email: "c"}}} {
				if err := createAll(db, boxes).Error; !errors.Is(err, gormplugin.ErrUpsert) {
					t.Errorf("%d rows: got %v, want ErrUpsert", len(boxes), err)
				}
				requireUnwritten(t, db, "mailboxes", before)
			}
		}

		do(t, db.Callback().Create().Remove("late"))
		do(t, db.Callback().Create().Before("snowkey:fill").Register("early", add))
		conflict = clause.OnConflict{DoNothing: true}
		boxes := []*Mailbox{{Email: "a"}, {Email: "old"}, {Email: "b"}}
		create(t, db, boxes)
		if boxes[1].ID != 0 {
			t.Errorf("got the key %d of a row that was not written, want none", boxes[1].ID)
		}
		requireWritten(t, db, boxes[0], boxes[2])
	})
}

// A statement that is used again is each time what its caller made it.
func TestUpsertOfAReusedStatement(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Mailbox{})
		old := Mailbox{Email: "old"}
		create(t, db, &old)
		where := updateName
		where.Where = always
		for name, conflict := range map[string]clause.OnConflict{"nothing": {DoNothing: true}, "update": updateName, "all": onEmail(clause.OnConflict{UpdateAll: true}), "where": where} {
			tx := db.Model(&Mailbox{}).Clauses(conflict)
			for i := range 6 {
				boxes := []*Mailbox{{Email: fmt.Sprint(name, i), Name: "n"}, {Email: "old", Name: "n"}, {Email: fmt.Sprint(name, i, "b")}}
				clash := boxes[1]
				switch i % 3 {
				case 0: // a new one alone, then in the same statement one that clashes
					boxes = boxes[:1]
				case 1:
					boxes = boxes[1:2]
				}
				result := createAll(tx, boxes)
				if result.Error != nil {
					t.Fatalf("%s %d: %v", name, i, result.Error)
				}
				if conflict.DoNothing && i%3 > 0 {
					if clash.ID != 0 {
						t.Errorf("%s %d: got the key %d of a row that was not written, want none", name, i, clash.ID)
					}
					clash.ID = old.ID
				}
				requireWritten(t, db, boxes...)
			}
		}
		single, clash := Mailbox{Email: "single"}, Mailbox{Email: "old"}
		tx := db.Clauses(clause.OnConflict{DoNothing: true})
		create(t, tx, &single)
		create(t, tx, &clash)
		requireWritten(t, db, &single)
		if clash.ID != 0 {
			t.Errorf("got the key %d of a row that was not written, want none", clash.ID)
		}
	})
}

// Bead belongs to chains of several kinds.
type Bead struct {
	ID                        sqltype.ID
	Ring1ID, Ring2ID, Ring3ID int64
	Ring4ID, Ring5ID, Ring6ID int64
	Text                      string `gorm:"size:64;uniqueIndex"`
	Name                      string `gorm:"size:64"`
	Grade                     string `gorm:"size:64;default:(upper('new'))"`
}

// Knot belongs to a bead, so that GORM saves beads with DoNothing.
type Knot struct {
	ID     sqltype.ID
	BeadID sqltype.ID
	Bead   *Bead `gorm:"constraint:-"`
}

type (
	Ring1 struct {
		ID    int64
		Beads []Bead
	}
	Ring2 struct {
		ID    int64
		Beads []Bead
	}
	Ring3 struct {
		ID    int64
		Beads []Bead
	}
	Ring4 struct {
		ID    int64
		Beads []Bead
	}
	Ring5 struct {
		ID    int64
		Beads []Bead
	}
	Ring6 struct {
		ID    int64
		Beads []Bead
	}
)

// GORM writes into a model's fields when it first reads one that has many of it. Upserts read them meanwhile: the race detector tells.
func TestUpsertWhileModelsAreRead(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Bead{}, &Knot{})
		create(t, db, &Bead{Text: "old"})
		began, stop, done := make(chan struct{}, 100), make(chan struct{}), make(chan error, 1)
		go func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					done <- nil
					return
				default:
				}
				err := db.Create([]*Knot{{Bead: &Bead{Text: "old"}}, {Bead: &Bead{Text: fmt.Sprint(i)}}}).Error
				if err == nil {
					err = db.Clauses(on("text")).Create([]*Bead{{Text: "old"}, {Text: fmt.Sprint("b", i)}}).Error
				}
				select {
				case began <- struct{}{}:
				default:
				}
				if err != nil {
					done <- err
					return
				}
			}
		}()
		for _, model := range []any{&Ring1{}, &Ring2{}, &Ring3{}, &Ring4{}, &Ring5{}, &Ring6{}} {
			select {
			case <-began:
			case err := <-done:
				t.Fatal(err)
			}
			if err := (&gorm.Statement{DB: db}).Parse(model); err != nil {
				t.Error(err)
			}
		}
		close(stop)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// A statement that has saved associations, and is used again, saves no association then: of a row that was met its struct has no key.
func TestUpsertOfAReusedStatementThatSavedAssociations(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &User{}, &Bench{})
		create(t, db, &Bench{Code: "x"})
		tx := db.Clauses(clause.OnConflict{DoNothing: true})
		create(t, tx, &Bench{Code: "y", User: &User{Name: "a"}})
		for _, benches := range [][]*Bench{{{Code: "x"}}, {{Code: "x"}, {Code: "y"}}} {
			if result := createAll(tx, benches); result.Error != nil || result.RowsAffected != 0 || benches[0].ID != 0 {
				t.Errorf("%d rows: got the key %d, %d rows affected, %v, want none", len(benches), benches[0].ID, result.RowsAffected, result.Error)
			}
		}
	})
}
