package gormplugin_test

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
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

// MariaDB's uuid keeps UUIDs of the versions 1 to 7. Of others those that it returns as they are are written, and no more. Other databases and 16 bytes keep all, with their time.
func TestUUIDOfAnyVersion(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		type Named struct {
			ID  sqltype.UUID
			Was string
		}
		type Bytes struct {
			ID  sqltype.UUID `gorm:"type:binary(16)"`
			Was string
		}
		use(t, db, &Named{})
		native := db.Name() == "mysql"
		count := func(query *gorm.DB) (n int64) {
			t.Helper()
			if err := query.Count(&n).Error; err != nil {
				t.Fatal(err)
			}
			return n
		}
		refused := 0
		for version := range byte(16) {
			for variant := range byte(4) {
				for range 8 {
					id := sqltype.UUID(random16())
					id[6], id[8] = id[6]&0x0f|version<<4, id[8]&0x3f|variant<<6
					row := Named{ID: id, Was: id.String()}
					err := db.Create(&row).Error
					if native && (variant != 2 || version < 1 || version > 7) && errors.Is(err, sqltype.ErrColumn) {
						refused++
						if n := count(db.Model(&Named{}).Where("was = ?", row.Was)); n != 0 {
							t.Fatalf("%s: it is written, and got %v", id, err)
						}
						var back string
						if err := db.Exec("INSERT INTO nameds VALUES (UNHEX(?), 'by hand')", hex.EncodeToString(id[:])).Raw("SELECT id FROM nameds WHERE was = 'by hand'").Scan(&back).Error; err != nil || back == row.Was {
							t.Fatalf("%s is kept, and was refused; got %v", id, err)
						}
						if err := db.Exec("DELETE FROM nameds WHERE was = 'by hand'").Error; err != nil {
							t.Fatal(err)
						}
						continue
					}
					var back Named
					if err != nil || db.First(&back, id).Error != nil || back.Was != row.Was || back.ID != id {
						t.Fatalf("%s: got %v, and %+v back", id, err, back)
					}
				}
			}
		}
		if native == (refused == 0) {
			t.Errorf("%d were refused", refused)
		}
		at := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
		first := sqltype.UUID(sqltype.MinULID(at))
		first[15] = 1
		within := []func(*gorm.DB) *gorm.DB{gormplugin.CreatedBetween(at, at.Add(time.Millisecond))}
		if native {
			if err := db.AutoMigrate(&Bytes{}); err != nil {
				t.Fatal(err)
			}
			create(t, db, &Bytes{ID: first})
			if n := count(db.Model(&Bytes{}).Scopes(within...)); n != 1 {
				t.Errorf("got %d rows of the millisecond, want 1", n)
			}
			return
		}
		create(t, db, &Named{ID: first})
		if n := count(db.Model(&Named{}).Scopes(within...)); n != 1 {
			t.Errorf("got %d rows of the millisecond, want 1", n)
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
