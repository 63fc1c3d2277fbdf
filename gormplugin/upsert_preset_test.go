package gormplugin_test

import (
	"errors"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/sqltype"
)

// The key that the caller has set is that of another row than the one that is met.
func TestUpsertWithTheKeyOfAnotherRow(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Mailbox{})
		where := onEmail(clause.OnConflict{DoUpdates: clause.AssignmentColumns([]string{"name"})})
		where.Where = always
		for _, n := range []int{1, 2} {
			do(t, db.Where("1 = 1").Delete(&Mailbox{}).Error)
			create(t, db, &[]Mailbox{{ID: 7, Email: "a"}, {ID: 8, Email: "b"}})
			boxes := []*Mailbox{{ID: 7, Email: "b", Name: "mine"}, {Email: "c", Name: "new"}}[:n]
			do(t, createAll(db.Clauses(where), boxes).Error)
			if want := keyAt(t, db, "mailboxes", "name", "mine"); boxes[0].ID != want {
				t.Errorf("%d rows: got the key %d, want %d", n, boxes[0].ID, want)
			}
		}
	})
}

// The key's name in a map is that which the caller gave it, alone.
func TestUpsertOfMapsWithTheNameOfTheField(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, gormplugin.AllKeys(), &PlainBox{})
		old := PlainBox{Email: "old"}
		create(t, db, &old)
		model := db.Model(&PlainBox{}).Session(&gorm.Session{})
		update := onEmail(clause.OnConflict{DoUpdates: clause.AssignmentColumns([]string{"name"})})
		met := map[string]any{"ID": 0, "email": "old", "name": "new"}
		do(t, model.Clauses(update).Create(met).Error)
		skipped := []map[string]any{{"ID": 0, "email": "old"}, {"ID": 0, "email": "a"}}
		do(t, model.Clauses(clause.OnConflict{DoNothing: true}).Create(skipped).Error)
		for i, tt := range []struct {
			got  map[string]any
			want any
		}{{met, old.ID}, {skipped[0], 0}, {skipped[1], keyAt(t, db, "plain_boxes", "email", "a").Int64()}} {
			if _, both := tt.got["id"]; both || tt.got["ID"] != tt.want {
				t.Errorf("%d: got %v, want the key %d as ID", i, tt.got, tt.want)
			}
		}
	})
}

// Crate has a key of bytes and two unique indexes; it belongs to a Shipment.
type Crate struct {
	ID    []byte `gorm:"primaryKey;size:16;snowkey:uuid"`
	Code  string `gorm:"size:64;uniqueIndex"`
	Place string `gorm:"size:64;uniqueIndex"`
}

type Shipment struct {
	ID      sqltype.ID
	CrateID []byte `gorm:"size:16"`
	Crate   Crate
}

// A row that is met over two indexes is one.
func TestUpsertOfBytesOverTwoIndexes(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		made := 0
		use(t, db, gormplugin.Named("uuid", octets[[16]byte]{&made}), &Crate{}, &Shipment{})
		there := Crate{Code: "1", Place: "a"}
		create(t, db, &there)
		shipments := []*Shipment{{Crate: Crate{Code: "1", Place: "a"}}, {Crate: Crate{Code: "3", Place: "c"}}}
		create(t, db, shipments)
		if string(shipments[0].CrateID) != string(there.ID) || string(shipments[1].CrateID) == string(there.ID) {
			t.Errorf("got parcels %x and %x, want %x and another", shipments[0].CrateID, shipments[1].CrateID, there.ID)
		}
	})
}

// Home has a key of two columns.
type Home struct {
	ID     sqltype.ID `gorm:"primaryKey"`
	Region string     `gorm:"primaryKey;size:8"`
	Email  string     `gorm:"size:64;uniqueIndex"`
}

type Dweller struct {
	ID         sqltype.ID
	HomeID     sqltype.ID
	HomeRegion string `gorm:"size:8"`
	Home       *Home  `gorm:"foreignKey:HomeID,HomeRegion"`
}

// An association refers to the whole key of the row that is there.
func TestUpsertOfAnAssociationWithACompositeKey(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Home{}, &Dweller{})
		there := Home{Region: "eu", Email: "a"}
		create(t, db, &there)
		for _, dwellers := range [][]*Dweller{{{Home: &Home{Region: "us", Email: "a"}}}, {{Home: &Home{Region: "us", Email: "a"}}, {Home: &Home{Region: "us", Email: "b"}}}} {
			do(t, createAll(db, dwellers).Error)
			if d := dwellers[0]; d.HomeID != there.ID || d.HomeRegion != "eu" {
				t.Errorf("got the home %d, %s, want %d, eu", d.HomeID, d.HomeRegion, there.ID)
			}
		}
	})
}

// The table tells of the index over which the row of an association was met, when the model does not.
func TestUpsertOfAnAssociationOverAnIndexOfTheTable(t *testing.T) {
	type Writer struct {
		ID    sqltype.ID
		Email string `gorm:"size:64"`
	}
	type Work struct {
		ID       sqltype.ID
		WriterID sqltype.ID
		Writer   *Writer `gorm:"constraint:-"`
	}
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Writer{}, &Work{})
		do(t, db.Exec("CREATE UNIQUE INDEX ix_email ON writers (email)").Error)
		there := Writer{Email: "a"}
		create(t, db, &there)
		work := Work{Writer: &Writer{Email: "a"}}
		create(t, db, &work)
		if work.WriterID != there.ID {
			t.Errorf("got the writer %d, want %d", work.WriterID, there.ID)
		}
	})
}

// With an association of its own a row is none.
func TestUpsertOfARowWithAnAssociation(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &User{}, &Bench{})
		create(t, db, &Bench{Code: "x"})
		desk := Bench{Code: "x", User: &User{Name: "a"}}
		do(t, db.Clauses(clause.OnConflict{DoNothing: true}).Create(&desk).Error)
		if desk.ID != 0 {
			t.Errorf("got the key %d of a row that was not written, want none", desk.ID)
		}
	})
}

type Bench struct {
	ID     sqltype.ID
	Code   string `gorm:"size:64;uniqueIndex"`
	UserID *sqltype.ID
	User   *User
}

// What is found by columns that the update has changed was perhaps not met.
func TestUpsertThatChangesTheColumns(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Mailbox{})
		old := Mailbox{Email: "old"}
		create(t, db, &old)
		update := onEmail(clause.OnConflict{DoUpdates: clause.Assignments(map[string]any{"email": "moved"}), Where: always})
		boxes := []*Mailbox{{Email: "old", Name: "r0"}, {Email: "old", Name: "r1"}}
		if err := db.Clauses(update).Create(boxes).Error; err == nil {
			if boxes[0].ID != old.ID || boxes[1].ID != keyAt(t, db, "mailboxes", "name", "r1") {
				t.Errorf("got the keys %d and %d, want %d and another", boxes[0].ID, boxes[1].ID, old.ID)
			}
		} else if !errors.Is(err, gormplugin.ErrUpsert) && db.Name() != "postgres" { // which refuses to touch a row twice
			t.Errorf("got %v, want ErrUpsert", err)
		}
	})
}

// GORM refuses pointers to no map.
func TestNilMapsWithoutModel(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, gormplugin.Table("mailboxes", "id"), &Mailbox{})
		for _, value := range []any{(*map[string]any)(nil), (*[]map[string]any)(nil)} {
			if err := db.Table("mailboxes").Create(value).Error; !errors.Is(err, gorm.ErrInvalidValue) {
				t.Errorf("%T: got %v, want ErrInvalidValue", value, err)
			}
		}
	})
}
