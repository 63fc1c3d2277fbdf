package gormplugin_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/publicid"
	"github.com/snowkey-go/snowkey/sqltype"
	"github.com/snowkey-go/snowkey/uid"
)

// Traced has a UUID of each way to get one.
type Traced struct {
	ID     sqltype.UUID
	Token  sqltype.UUID  `gorm:"snowkey:random"`
	Trace  *sqltype.UUID `gorm:"snowkey:random"`
	Parent *sqltype.UUID // is left as it is
	Event  []TracedStep  `gorm:"foreignKey:TracedID"`
}

type TracedStep struct {
	ID       sqltype.ULID
	TracedID sqltype.UUID
}

// Keys are made by their types: beside a source of integers UUIDs of version 7 and ULIDs, otherwise by the source of 16 bytes.
func TestUUIDSources(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, gormplugin.Named("random", uid.V4()), &Traced{}, &TracedStep{})
		traced := Traced{Event: []TracedStep{{}, {}}}
		create(t, db, &traced)
		requireTime(t, traced.ID.Time(), traced.ID)
		requireTime(t, traced.Event[0].ID.Time(), traced.Event[0].ID)
		if traced.Trace == nil || uuid.UUID(traced.Token).Version() != 4 || uuid.UUID(*traced.Trace).Version() != 4 || traced.Parent != nil ||
			traced.Event[1].TracedID != traced.ID {
			t.Errorf("got %+v", traced)
		}
		var found Traced
		if err := db.Preload("Event").First(&found, traced.ID).Error; err != nil || found.Token != traced.Token || len(found.Event) != 2 {
			t.Errorf("got %+v, %v, want %+v", found, err, traced)
		}
	})
	db, err := gorm.Open(sqlite.Open(filepath.Join(t.TempDir(), "test.db")))
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Use(gormplugin.New(gormplugin.From(uid.V4()))); err != nil {
		t.Fatal(err)
	}
	if err := db.AutoMigrate(&TracedStep{}); err != nil {
		t.Fatal(err)
	}
	event := TracedStep{}
	create(t, db, &event)
	if uuid.UUID(event.ID).Version() != 4 {
		t.Errorf("got %s, want a key of the source", event.ID)
	}
}

// A UUID in a column of text would find no row on MySQL.
func TestUUIDInText(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		type texted struct {
			ID sqltype.UUID `gorm:"type:char(36)"`
		}
		type commented struct {
			ID sqltype.UUID `gorm:"comment:no text of characters"`
		}
		use(t, db, &texted{}, &commented{})
		create(t, db, &commented{})
		err := db.Create(&texted{}).Error
		if db.Name() != "mysql" {
			if err != nil {
				t.Error(err)
			}
			return
		}
		if !errors.Is(err, gormplugin.ErrKey) || !strings.Contains(err.Error(), "BINARY(16)") {
			t.Errorf("got %v, want %v", err, gormplugin.ErrKey)
		}
	})
}

// MariaDB's uuid keeps UUIDs of the versions 1 to 7. Of others it is given those that it returns as they are, and no more; a search for one of the rest finds nothing.
// Other databases, and 16 bytes beside it, keep all, with their time.
func TestUUIDOfAnyVersion(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		type Named struct {
			ID    sqltype.UUID
			Bytes sqltype.UUID `gorm:"type:binary(16)"`
		}
		if db.Name() != "mysql" {
			type Named struct{ ID, Bytes sqltype.UUID }
			use(t, db, &Named{})
		} else {
			use(t, db, &Named{})
		}
		var kept, refused []Named
		for version := range byte(16) {
			for variant := range byte(4) {
				for range 8 {
					id := sqltype.UUID(random16())
					id[6], id[8] = id[6]&0x0f|version<<4, id[8]&0x3f|variant<<6
					row := Named{ID: id, Bytes: id}
					err := db.Create(&row).Error
					if db.Name() == "mysql" && (variant != 2 || version < 1 || version > 7) && errors.Is(err, gormplugin.ErrColumn) && strings.Contains(err.Error(), "nameds.id is a uuid") {
						refused = append(refused, row)
						continue
					}
					if err != nil {
						t.Fatalf("%s: %v", id, err)
					}
					kept = append(kept, row)
				}
			}
		}
		for _, row := range kept {
			back := Named{}
			if err := db.First(&back, row.ID).Error; err != nil || back != row {
				t.Fatalf("%s: got %+v, %v", row.ID, back, err)
			}
		}
		if (db.Name() == "mysql") == (len(refused) == 0) {
			t.Errorf("%d were refused", len(refused))
		}
		for _, row := range refused {
			if err := db.First(&Named{}, row.ID).Error; !errors.Is(err, gorm.ErrRecordNotFound) {
				t.Fatalf("%s: got %v, want no row", row.ID, err)
			}
			text := ""
			for _, statement := range []string{"CREATE OR REPLACE TABLE bare (id uuid)", fmt.Sprintf("INSERT INTO bare VALUES (UNHEX('%x'))", row.ID[:])} {
				if err := db.Exec(statement).Error; err != nil {
					t.Fatal(err)
				}
			}
			if err := db.Raw("SELECT id FROM bare").Scan(&text).Error; err != nil || text == row.ID.String() {
				t.Fatalf("%s is kept, and was refused; got %q, %v", row.ID, text, err)
			}
			back, other := Named{}, Named{Bytes: row.ID}
			create(t, db, &other)
			if err := db.First(&back, "bytes = ?", row.Bytes).Error; err != nil || back != other {
				t.Fatalf("%s in 16 bytes: got %+v, %v", row.ID, back, err)
			}
		}
		at := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
		first := Named{ID: sqltype.UUID(sqltype.MinULID(at))}
		first.ID[15] = 1
		create(t, db, &first)
		var found []Named
		if err := db.Scopes(gormplugin.CreatedBetween(at, at.Add(time.Millisecond))).Find(&found).Error; err != nil || len(found) != 1 || found[0] != first {
			t.Errorf("got %v, %v of the millisecond, want %v", found, err, first)
		}
	})
}

func random16() (b [16]byte) {
	_, _ = rand.Read(b[:]) // never fails
	return b
}

// Scopes select by the time of keys and by their order.
func TestUUIDScopes(t *testing.T) {
	t.Run("UUID", func(t *testing.T) { octetScopes[sqltype.UUID](t, uid.V7) })
	t.Run("ULID", func(t *testing.T) { octetScopes[sqltype.ULID](t, uid.ULID) })
	t.Run("UUIDKey", func(t *testing.T) { octetScopes[sqltype.UUIDKey[prefixed]](t, uid.V7) })
	t.Run("PublicUUID", func(t *testing.T) {
		sqltype.UsePublicIDs(publicid.TypeIDs{})
		t.Cleanup(func() { sqltype.UsePublicIDs(nil) })
		octetScopes[sqltype.PublicUUID[prefixed]](t, uid.V7)
	})
}

type prefixed struct{}

func (prefixed) Prefix() string { return "row" }

func octetScopes[K interface {
	~[16]byte
	String() string
}](t *testing.T, open func(...uid.Option) idgen.Source[[16]byte]) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		now := begin
		clock := uid.WithClock(idgen.ClockFunc(func() time.Time { return now }))
		if err := errors.Join(db.Use(gormplugin.New(gormplugin.From(open(clock)))), db.AutoMigrate(&Lone[K]{})); err != nil {
			t.Fatal(err)
		}
		var made []K
		for range 10 {
			row := Lone[K]{}
			create(t, db, &row)
			made = append(made, row.ID)
			now = now.Add(time.Millisecond)
		}
		at := func(ms, ns int) time.Time { return begin.Add(time.Duration(ms)*time.Millisecond + time.Duration(ns)) }
		for name, c := range map[string]struct {
			scope    func(*gorm.DB) *gorm.DB
			from, to int
		}{
			"between":        {gormplugin.CreatedBetween(at(2, 0), at(5, 0)), 2, 5},
			"within":         {gormplugin.CreatedBetween(at(2, 5), at(2, 9)), 2, 2},
			"after":          {gormplugin.CreatedAfter(at(7, 999_999)), 7, 10},
			"before":         {gormplugin.CreatedBefore(at(3, 0)), 0, 3},
			"before 1970":    {gormplugin.CreatedBefore(time.Unix(-1, 0)), 0, 0},
			"from nothing":   {gormplugin.CreatedAfter(time.Time{}), 0, 10},
			"page":           {gormplugin.After(made[3]), 4, 10},
			"first page":     {gormplugin.After(K{}), 0, 10},
			"page backwards": {gormplugin.Before(made[3]), 0, 3},
		} {
			var got []K
			if err := db.Model(&Lone[K]{}).Scopes(c.scope).Pluck("id", &got).Error; err != nil {
				t.Errorf("%s: %v", name, err)
			}
			slices.SortFunc(got, func(a, b K) int { return strings.Compare(a.String(), b.String()) })
			if !slices.Equal(got, made[c.from:c.to]) {
				t.Errorf("%s: got %v, want %v", name, got, made[c.from:c.to])
			}
		}
		type other [16]byte
		for i, scope := range []func(*gorm.DB) *gorm.DB{gormplugin.After(5), gormplugin.Before(5), gormplugin.After(other(made[3])), gormplugin.Before([16]byte(made[3]))} {
			if err := db.Scopes(scope).Find(&[]Lone[K]{}).Error; !errors.Is(err, gormplugin.ErrKey) {
				t.Errorf("a key of another type, %d: got %v, want %v", i, err, gormplugin.ErrKey)
			}
		}
		if err := db.Scopes(gormplugin.After(uuid.UUID(made[3]))).Find(&[]Lone[uuid.UUID]{}).Error; !errors.Is(err, gormplugin.ErrKey) {
			t.Errorf("a key of another package's type: got %v, want %v", err, gormplugin.ErrKey)
		}
		if err := db.Scopes(gormplugin.CreatedBetween(now, begin)).Find(&[]Lone[K]{}).Error; !errors.Is(err, gormplugin.ErrRange) {
			t.Errorf("got %v, want %v", err, gormplugin.ErrRange)
		}
		if err := db.Scopes(gormplugin.Created{Layout: idgen.Snowkey.Layout}.After(now)).Find(&[]Lone[K]{}).Error; !errors.Is(err, gormplugin.ErrKey) {
			t.Errorf("a layout: got %v, want %v", err, gormplugin.ErrKey)
		}
	})
}

// Lone is a model of nothing but a key.
type Lone[K any] struct{ ID K }

func (Lone[K]) TableName() string { return "lone_rows" }
