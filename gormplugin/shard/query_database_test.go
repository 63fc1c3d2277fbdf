package shard_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/gormplugin/shard"
	idshard "github.com/snowkey-go/snowkey/idgen/shard"
	"github.com/snowkey-go/snowkey/sqltype"
)

// Half of the tables are in another database, under the same names as those here.
func TestStatementsOfAnotherDatabase(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		s := &shop{DB: open(), log: &recorder{Interface: logger.Discard}}
		s.DB.Logger = s.log
		other := open()
		shards := []idshard.Shard{{Name: "a", Suffix: "_0"}, {Name: "b", Suffix: "_1"}, {Name: "c", Database: "east", Suffix: "_0"}, {Name: "d", Database: "east", Suffix: "_1"}}
		s.router = use(t, s.DB, shard.Config{Shards: shards, Databases: map[string]*gorm.DB{"east": other}})
		must(t, s.router.AutoMigrate(s.DB, &User{}, &Order{}, &Line{}))
		here, there := map[bool][]Order{}, map[string]int{}
		for user := range int64(12) {
			must(t, s.Create(&User{ID: user + 1}).Error)
			o := Order{UserID: user + 1, Item: "item"}
			must(t, s.Create(&o).Error)
			i, err := s.router.Map().OfID(o.ID.Int64())
			must(t, err)
			here[shards[i].Database == ""] = append(here[shards[i].Database == ""], o)
			there[shards[i].Database]++
		}
		if len(there) != 2 {
			t.Fatalf("the orders are in %v", there)
		}
		east := here[false][0]
		for name, do := range map[string]func(db *gorm.DB) error{
			"first":  func(db *gorm.DB) error { return db.First(&Order{}, east.ID).Error },
			"update": func(db *gorm.DB) error { return one(db.Model(&Order{ID: east.ID}).Update("item", "x")) },
			"update without a transaction": func(db *gorm.DB) error {
				return one(db.Session(&gorm.Session{SkipDefaultTransaction: true}).Model(&Order{ID: east.ID}).Update("item", "y"))
			},
			"save": func(db *gorm.DB) error { return one(db.Omit("User", "Lines").Save(&east)) },
			"preload": func(db *gorm.DB) error {
				var o Order
				err := db.Preload("User").Scopes(shard.ByKey(east.UserID)).First(&o).Error
				if o.User == nil || o.User.ID != east.UserID {
					return fmt.Errorf("%+v, %w", o, err)
				}
				return err
			},
			"all": func(db *gorm.DB) error {
				var all []Order
				err := db.Preload("User").Scopes(shard.All()).Find(&all).Error
				if len(all) != 12 || !slices.IsSortedFunc(all, func(a, b Order) int { return int(a.ID - b.ID) }) {
					return fmt.Errorf("%v, %w", all, err)
				}
				return err
			},
			"rows": func(db *gorm.DB) error {
				var item string
				return db.Model(&Order{}).Select("item").Scopes(shard.ByID(east.ID)).Row().Scan(&item)
			},
			"after it": func(db *gorm.DB) error {
				q := db.Model(&Order{}).Scopes(shard.ByID(east.ID))
				var n int64
				if err := q.Count(&n).Error; err != nil || n != 1 {
					return fmt.Errorf("%d, %w", n, err)
				}
				return q.First(&Order{}).Error
			},
			"its own session": func(db *gorm.DB) error {
				tx, err := s.router.DB(t.Context(), east.UserID)
				if err != nil {
					return err
				}
				return tx.Transaction(func(tx *gorm.DB) error { return one(tx.Model(&Order{ID: east.ID}).Update("item", "z")) })
			},
			"delete and back": func(db *gorm.DB) error {
				if err := one(db.Delete(&Order{}, east.ID)); err != nil {
					return err
				}
				return one(db.Unscoped().Model(&Order{ID: east.ID}).Update("deleted_at", nil))
			},
		} {
			if err := do(s.DB); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			var n int64
			if err := s.Model(&User{}).Count(&n).Error; err != nil || n != 12 {
				t.Errorf("after %s: %d users, %v", name, n, err)
			}
		}
		subquery := func(db *gorm.DB, id sqltype.ID) *gorm.DB {
			return db.Session(&gorm.Session{NewDB: true}).Model(&Order{}).Where("id", id).Select("user_id")
		}
		for name, tt := range map[string]struct {
			do   func(db *gorm.DB) error
			want error
		}{
			"join":        {func(db *gorm.DB) error { return db.Joins("User").First(&Order{}, east.ID).Error }, shard.ErrUnrouted},
			"join of all": {func(db *gorm.DB) error { return db.Joins("User").Scopes(shard.All()).Find(&[]Order{}).Error }, shard.ErrUnrouted},
			"subquery":    {func(db *gorm.DB) error { return db.Where("id IN (?)", subquery(db, east.ID)).Find(&[]User{}).Error }, shard.ErrUnrouted},
			"outer": {func(db *gorm.DB) error {
				return db.Where("user_id IN (?)", db.Session(&gorm.Session{NewDB: true}).Model(&User{}).Select("id")).First(&Order{}, east.ID).Error
			}, shard.ErrUnrouted},
			"update all": {func(db *gorm.DB) error {
				return db.Model(&Order{}).Scopes(shard.All()).Where("1 = 1").Update("item", "x").Error
			}, shard.ErrSpan},
			"delete all": {func(db *gorm.DB) error { return db.Scopes(shard.All()).Where("1 = 1").Delete(&Order{}).Error }, shard.ErrSpan},
			"transaction": {func(db *gorm.DB) error {
				return db.Transaction(func(tx *gorm.DB) error { return tx.First(&Order{}, east.ID).Error })
			}, shard.ErrTransaction},
			"its update": {func(db *gorm.DB) error {
				return db.Transaction(func(tx *gorm.DB) error { return tx.Model(&Order{ID: east.ID}).Update("item", "x").Error })
			}, shard.ErrTransaction},
			"not executed": {func(db *gorm.DB) error { return db.Session(&gorm.Session{DryRun: true}).First(&Order{}, east.ID).Error }, shard.ErrUnrouted},
		} {
			if err := tt.do(s.DB); !errors.Is(err, tt.want) {
				t.Errorf("%s: got %v, want %v", name, err, tt.want)
			}
		}
		var n int64
		if err := s.Where("id IN (?)", subquery(s.DB, here[true][0].ID)).Model(&User{}).Count(&n).Error; err != nil || n != 1 {
			t.Errorf("a subquery here: got %d, %v", n, err)
		}
	})
}

// one fails unless one row was affected.
func one(tx *gorm.DB) error {
	if tx.Error == nil && tx.RowsAffected != 1 {
		return fmt.Errorf("%d rows affected", tx.RowsAffected)
	}
	return tx.Error
}

// Meddler is sharded, and its hooks change what a statement is for.
type Meddler struct {
	ID     sqltype.ID `gorm:"snowkey:shard=Owner"`
	Owner  string
	Text   string
	meddle func(tx *gorm.DB, m *Meddler)
}

func (m *Meddler) BeforeUpdate(tx *gorm.DB) error {
	if m.meddle != nil {
		m.meddle(tx, m)
	}
	return nil
}

func TestHooksCannotLeadAway(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		db := open()
		r := use(t, db, shard.Config{Shards: idshard.Tables(4)})
		must(t, r.AutoMigrate(db, &Meddler{}))
		rows := []Meddler{{Owner: "ann", Text: "1"}, {Owner: "bob", Text: "2"}, {Owner: "cy", Text: "3"}}
		must(t, db.Create(&rows).Error)
		for name, tt := range map[string]struct {
			meddle func(tx *gorm.DB, m *Meddler)
			want   error
		}{
			"another owner": {func(_ *gorm.DB, m *Meddler) { m.Owner = "bob" }, idshard.ErrDisagree},
			"a column":      {func(tx *gorm.DB, _ *Meddler) { tx.Statement.SetColumn("owner", "bob") }, idshard.ErrDisagree},
		} {
			m := rows[0]
			m.meddle, m.Text = tt.meddle, "x"
			if err := db.Save(&m).Error; !errors.Is(err, tt.want) {
				t.Errorf("%s: got %v, want %v", name, err, tt.want)
			}
		}
		for name, key := range map[string]any{"text": "ann", "bytes": []byte("ann")} {
			var got Meddler
			if err := db.Scopes(shard.ByKey(key)).First(&got).Error; err != nil || got.ID != rows[0].ID || got.Text != "1" {
				t.Errorf("%s: got %+v, %v", name, got, err)
			}
		}
	})
}
