package gormplugin_test

import (
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/sqltype"
)

// counted counts the streams that are taken.
type counted struct {
	*idgen.Snowflake
	held, taken atomic.Int64
}

func (c *counted) TakeStream() int64 {
	c.held.Add(1)
	c.taken.Add(1)
	return c.Snowflake.TakeStream()
}

func (c *counted) ReturnStream(stream int64) {
	c.held.Add(-1)
	c.Snowflake.ReturnStream(stream)
}

type Chest struct {
	ID    sqltype.ID
	Code  string  `gorm:"size:20;uniqueIndex"`
	Items []Thing `gorm:"constraint:-"`
}

type Thing struct {
	ID      sqltype.ID
	ChestID sqltype.ID
	What    string
}

var errThing = errors.New("no such item")

func (i *Thing) BeforeCreate(*gorm.DB) error {
	switch i.What {
	case "error":
		return errThing
	case "panic":
		panic("hook")
	}
	return nil
}

// A statement has a stream from the time when it makes keys until its INSERT is done, whatever becomes of it, and no longer.
func TestStreamIsHeldUntilTheInsertIsDone(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		g, err := idgen.New(idgen.Packed, idgen.WithNode(5))
		if err != nil {
			t.Fatal(err)
		}
		c := &counted{Snowflake: g}
		if err := db.Use(gormplugin.New(gormplugin.From(c), gormplugin.BeforeHooks())); err != nil {
			t.Fatal(err)
		}
		if err := db.AutoMigrate(&Chest{}, &Thing{}); err != nil {
			t.Fatal(err)
		}
		var during int64
		before, after := db.Callback().Create().Before("gorm:create").After("snowkey:fill"), db.Callback().Create().After("gorm:after_create")
		if err := errors.Join(
			before.Register("test:before", func(*gorm.DB) { during = c.held.Load() }),
			after.Register("test:after", func(*gorm.DB) {
				if n := c.held.Load(); n != 0 {
					t.Errorf("%d streams are held after an INSERT", n)
				}
			}),
		); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			name string
			do   func() error
			want error // nil where any will do
			took int64 // streams
		}{
			{"a row", func() error { return db.Create(&Chest{Code: "a"}).Error }, nil, 1},
			{"with associations", func() error { return db.Create(&Chest{Code: "b", Items: []Thing{{What: "pen"}, {What: "ink"}}}).Error }, nil, 2},
			{"in batches", func() error { return db.CreateInBatches([]*Thing{{What: "1"}, {What: "2"}, {What: "3"}}, 2).Error }, nil, 2},
			{"a duplicate", func() error { return db.Create(&Chest{Code: "a"}).Error }, gorm.ErrDuplicatedKey, 1},
			{"an upsert", func() error {
				return db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "code"}}, DoUpdates: clause.AssignmentColumns([]string{"code"})}).Create(&Chest{Code: "a"}).Error
			}, nil, 1},
			{"a hook that fails", func() error { return db.Create(&Thing{What: "error"}).Error }, errThing, 1},
			{"a hook that panics", func() error {
				defer func() { _ = recover() }()
				return db.Session(&gorm.Session{SkipDefaultTransaction: true}).Create(&Thing{What: "panic"}).Error // GORM leaves its own transaction open
			}, nil, 1},
			{"a dry run", func() error { return db.Session(&gorm.Session{DryRun: true}).Create(&Thing{What: "dry"}).Error }, nil, 1},
			{"a transaction", func() error {
				return db.Transaction(func(tx *gorm.DB) error {
					return errors.Join(tx.Create(&Thing{What: "x"}).Error, tx.Create(&Thing{What: "y"}).Error)
				})
			}, nil, 2},
			{"keys that are set", func() error { return db.Create(&Thing{ID: 77, What: "set"}).Error }, nil, 0},
		} {
			taken := c.taken.Load()
			during = 0
			db.TranslateError = true
			if err := tt.do(); !errors.Is(err, tt.want) {
				t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
			}
			if n := c.held.Load(); n != 0 {
				t.Errorf("%s: %d streams are still held", tt.name, n)
			}
			if got := c.taken.Load() - taken; got != tt.took {
				t.Errorf("%s: took %d streams, want %d", tt.name, got, tt.took)
			}
			if tt.want == nil && tt.took > 0 && tt.name != "a hook that panics" && during != 1 {
				t.Errorf("%s: %d streams were held at the INSERT, want 1", tt.name, during)
			}
		}
		// A panic where no callback of the plugin's follows.
		panics := db.Session(&gorm.Session{SkipDefaultTransaction: true})
		if err := db.Callback().Create().After("snowkey:fill").Before("gorm:create").Register("test:panic", func(tx *gorm.DB) {
			if row, ok := tx.Statement.Dest.(*Thing); ok && row.What == "callback" {
				panic("callback")
			}
		}); err != nil {
			t.Fatal(err)
		}
		func() {
			defer func() { _ = recover() }()
			panics.Create(&Thing{What: "callback"})
		}()
		for range 100 {
			if c.held.Load() == 0 {
				break
			}
			runtime.GC()
			runtime.Gosched()
		}
		if n := c.held.Load(); n != 0 {
			t.Errorf("a callback that panics: %d streams are still held", n)
		}
		var rows []Thing
		if err := db.Order("id").Find(&rows).Error; err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			if parts, err := g.Layout().Decode(int64(row.ID)); err != nil || row.ID != 77 && (parts.Stream != 0 || parts.Node != 5) {
				t.Errorf("item %s: got %+v, %v, want the lowest stream", row.What, parts, err)
			}
		}
	})
}
