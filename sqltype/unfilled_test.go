package sqltype_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/sqltype"
)

type (
	Common struct {
		ID sqltype.Number
	}
	withID struct {
		ID   sqltype.ID
		Item string
	}
	withKey struct {
		Number sqltype.Key[withKey] `gorm:"primaryKey;autoIncrement:false"`
		Item   string
	}
	withPointer struct {
		ID   *sqltype.ID
		Item string
	}
	withEmbedded struct {
		*Common
		Item string
	}
	withTwo struct {
		Tenant sqltype.ID `gorm:"primaryKey"`
		ID     sqltype.ID `gorm:"primaryKey"`
		Item   string
	}
	withTwoOthers struct {
		A    sqltype.ID `gorm:"primaryKey"`
		B    sqltype.ID `gorm:"primaryKey"`
		Item string
	}
	withDefault struct {
		ID   sqltype.ID `gorm:"default:(7)"`
		Item string
	}
	withoutPlugin struct {
		ID   sqltype.ID `gorm:"snowkey:-"`
		Item string
	}
	withHook struct {
		ID   sqltype.ID
		Item string
	}
	withReference struct {
		ID       sqltype.ID
		WithIDID sqltype.ID
		Item     string
	}
	withParent struct {
		WithIDID sqltype.ID `gorm:"primaryKey"`
		WithID   *withID    `gorm:"constraint:-"`
		Item     string
	}
	withChildren struct {
		ID       sqltype.ID
		Item     string
		Children []withParentOf `gorm:"foreignKey:ParentID"`
	}
	withParentOf struct {
		ID       sqltype.ID
		ParentID sqltype.ID
	}
)

func (h *withHook) BeforeCreate(*gorm.DB) error {
	if h.ID == 0 {
		h.ID = 77
	}
	return nil
}

var unfilledModels = []any{
	new(withID), new(withKey), new(withPointer), new(withEmbedded), new(withTwo), new(withTwoOthers), new(withDefault), new(withoutPlugin), new(withHook), new(withReference),
	new(withParent), new(withChildren), new(withParentOf),
}

// Where no plugin makes keys, no row without one is inserted: such a row has the key 0, and the next one clashes with it, or overwrites it.
func TestNoKeyWithoutThePlugin(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		check(t, db.AutoMigrate(unfilledModels...))
		zero := new(sqltype.ID)
		for name, create := range map[string]func(*gorm.DB) *gorm.DB{
			"struct":                  func(db *gorm.DB) *gorm.DB { return db.Create(&withID{Item: "a"}) },
			"struct by value":         func(db *gorm.DB) *gorm.DB { return db.Create(withID{Item: "a"}) },
			"slice":                   func(db *gorm.DB) *gorm.DB { return db.Create([]withID{{ID: 3}, {}}) },
			"slice of pointers":       func(db *gorm.DB) *gorm.DB { return db.Create([]*withID{{ID: 3}, {}}) },
			"array":                   func(db *gorm.DB) *gorm.DB { return db.Create(&[2]withID{{ID: 3}}) },
			"batches":                 func(db *gorm.DB) *gorm.DB { return db.CreateInBatches([]withID{{ID: 3}, {ID: 4}, {}}, 2) },
			"map":                     func(db *gorm.DB) *gorm.DB { return db.Model(new(withID)).Create(map[string]any{"id": 0, "item": "a"}) },
			"map of the field's name": func(db *gorm.DB) *gorm.DB { return db.Model(new(withID)).Create(&map[string]any{"ID": sqltype.ID(0)}) },
			"maps": func(db *gorm.DB) *gorm.DB {
				return db.Model(new(withID)).Create([]map[string]any{{"id": 3}, {"id": int64(0)}})
			},
			"Key":                  func(db *gorm.DB) *gorm.DB { return db.Create(&withKey{Item: "a"}) },
			"nil pointer":          func(db *gorm.DB) *gorm.DB { return db.Create(&withPointer{Item: "a"}) },
			"pointer to zero":      func(db *gorm.DB) *gorm.DB { return db.Create(&withPointer{ID: zero}) },
			"embedded":             func(db *gorm.DB) *gorm.DB { return db.Create(&withEmbedded{Common: &Common{}}) },
			"embedded nil":         func(db *gorm.DB) *gorm.DB { return db.Create(&withEmbedded{Item: "a"}) },
			"member ID of two":     func(db *gorm.DB) *gorm.DB { return db.Create(&withTwo{Tenant: 5}) },
			"SkipHooks":            func(db *gorm.DB) *gorm.DB { return db.Session(&gorm.Session{SkipHooks: true}).Create(&withHook{}) },
			"Select of the key":    func(db *gorm.DB) *gorm.DB { return db.Select("ID", "Item").Create(&withID{}) },
			"Omit of another":      func(db *gorm.DB) *gorm.DB { return db.Omit("Item").Create(&withID{}) },
			"Save":                 func(db *gorm.DB) *gorm.DB { return db.Save(&withID{Item: "a"}) },
			"FirstOrCreate":        func(db *gorm.DB) *gorm.DB { return db.FirstOrCreate(&withID{}, withID{Item: "a"}) },
			"child":                func(db *gorm.DB) *gorm.DB { return db.Create(&withChildren{ID: 3, Children: []withParentOf{{}}}) },
			"row that belongs to":  func(db *gorm.DB) *gorm.DB { return db.Create(&withParent{WithID: &withID{}}) },
			"prepared transaction": func(db *gorm.DB) *gorm.DB { return db.Session(&gorm.Session{PrepareStmt: true}).Create(&withID{}) },
		} {
			for range 2 {
				err := create(db).Error
				if !errors.Is(err, sqltype.ErrNoKey) {
					t.Errorf("%s: got %v, want ErrNoKey", name, err)
					break
				}
				for _, want := range []string{"db.Use(gormplugin.New())", "set the key", "Unscoped()"} {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%s: got %v, want it to say %s", name, err, want)
					}
				}
			}
			for _, model := range unfilledModels {
				var rows int64
				if check(t, db.Model(model).Count(&rows).Error); rows > 0 {
					t.Errorf("%s: %T: got %d rows, want none", name, model, rows)
				}
			}
		}
	})
}

// Rows that have a key, or that get it elsewhere, are nobody's business but the caller's.
func TestKeyFromElsewhere(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		check(t, db.AutoMigrate(unfilledModels...))
		five := sqltype.ID(5)
		for name, tx := range map[string]*gorm.DB{
			"set":                    db.Create(&withID{ID: 1}),
			"negative":               db.Create(&withID{ID: -1}),
			"slice":                  db.Create([]withID{{ID: 2}, {ID: 3}}),
			"map":                    db.Model(new(withID)).Create(map[string]any{"id": 4}),
			"deliberate zero":        db.Unscoped().Create(&withID{}),
			"Key":                    db.Create(&withKey{Number: 1}),
			"pointer":                db.Create(&withPointer{ID: &five}),
			"embedded":               db.Create(&withEmbedded{Common: &Common{ID: 1}}),
			"member that is no ID":   db.Create(&withTwo{ID: 1}),
			"two members, none ID":   db.Create(&withTwoOthers{A: 1}),
			"hook":                   db.Create(&withHook{}),
			"default":                db.Create(&withDefault{}),
			"left out of the plugin": db.Create(&withoutPlugin{}),
			"foreign key of nobody":  db.Create(&withReference{ID: 1}),
			"key of nobody":          db.Create(&withParent{}),
			"key of another row":     db.Create(&withParent{WithID: &withID{ID: 9}}),
			"child":                  db.Create(&withChildren{ID: 3, Children: []withParentOf{{ID: 4}}}),
		} {
			if tx.Error != nil {
				t.Errorf("%s: got %v", name, tx.Error)
			}
		}
		if sql := db.ToSQL(func(tx *gorm.DB) *gorm.DB { return tx.Create(&withID{Item: "b"}) }); !strings.HasPrefix(sql, "INSERT INTO") {
			t.Errorf("ToSQL: got %q", sql)
		}
		// The database makes the key, or refuses the row; either is its own answer.
		for name, create := range map[string]func() error{
			"Omit":   func() error { return db.Omit("ID").Create(&withID{Item: "omit"}).Error },
			"Select": func() error { return db.Select("Item").Create(&withID{Item: "select"}).Error },
			"a map without the key": func() error {
				return db.Model(new(withID)).Create(map[string]any{"item": "map"}).Error
			},
		} {
			err := create()
			if errors.Is(err, sqltype.ErrNoKey) || (err == nil) != (db.Name() == "sqlite") {
				t.Errorf("%s: got %v, want what the database says", name, err)
			}
		}
	})
}

// A key that the database has a default for is 0 in the INSERT all the same, unless GORM knows the default or leaves the column out.
func TestNoKeyBesideADefault(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		for _, statement := range map[string][]string{
			"sqlite":   {"CREATE TABLE with_ids (id integer PRIMARY KEY AUTOINCREMENT, item text)"},
			"mysql":    {"CREATE TABLE with_ids (id bigint PRIMARY KEY AUTO_INCREMENT, item text)"},
			"postgres": {"CREATE SEQUENCE s", "CREATE TABLE with_ids (id bigint PRIMARY KEY DEFAULT nextval('s'), item text)"},
		}[db.Name()] {
			check(t, db.Exec(statement).Error)
		}
		if err := db.Create(&withID{Item: "a"}).Error; !errors.Is(err, sqltype.ErrNoKey) || !strings.Contains(err.Error(), `Omit("ID")`) {
			t.Errorf("got %v, want ErrNoKey with Omit", err)
		}
		check(t, db.Omit("ID").Create(&withID{Item: "b"}).Error)
		check(t, db.Model(new(withID)).Create(map[string]any{"item": "c"}).Error)
		var ids []int64
		check(t, db.Model(new(withID)).Order("id").Pluck("id", &ids).Error)
		if fmt.Sprint(ids) != "[1 2]" {
			t.Errorf("got the keys %d, want 1 and 2", ids)
		}
	})
}

// With the plugin the clause does nothing: also where the plugin leaves the key to the caller.
func TestNoKeyWithThePlugin(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		check(t, db.AutoMigrate(unfilledModels...))
		generator, err := idgen.New(idgen.WithNode(1))
		check(t, err)
		check(t, db.Use(gormplugin.New(gormplugin.From(generator))))
		one, several, lone := withID{Item: "a"}, []*withID{{}, {}}, withParent{}
		for _, value := range []any{&one, several, &withoutPlugin{}, &lone} {
			check(t, db.Create(value).Error)
		}
		if one.ID == 0 || several[1].ID == 0 || lone.WithIDID != 0 {
			t.Errorf("got the keys %d, %d and %d, want keys, and none of a row that belongs to nobody", one.ID, several[1].ID, lone.WithIDID)
		}
	})
}
