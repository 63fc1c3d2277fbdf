package shard_test

import (
	"errors"
	"testing"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/gormplugin/shard"
	idshard "github.com/snowkey-go/snowkey/idgen/shard"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// TestFenced writes with an old map: the table refuses it, and the transaction is done again with the new one, also by a pool of one connection.
func TestFenced(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		db := open()
		r := use(t, db, shard.Config{Shards: idshard.Tables(2)})
		must(t, r.AutoMigrate(db, &purchase{}))
		key := keyIn(t, r.Map(), "00")
		bucket, err := r.Map().Place(key, 0)
		must(t, err)
		next, err := r.Map().Move("01", bucket)
		must(t, err)
		kind, _ := dialect.Lookup(db.Name())
		statements, err := idshard.Fence{Table: kind.Quote("purchases_00"), Key: "id", Name: "fence", Map: next, Buckets: []int64{bucket}}.Make(kind)
		must(t, err)
		for _, sql := range statements {
			must(t, db.Exec(sql).Error)
		}
		pool, err := db.DB()
		must(t, err)
		pool.SetMaxOpenConns(1)
		if err := db.Create(&purchase{UserID: key}).Error; !errors.Is(err, shard.ErrMoved) || !idshard.IsFenced(err) {
			t.Fatalf("before the map has changed: got %v, want ErrMoved", err)
		}
		must(t, db.Transaction(func(tx *gorm.DB) error { return tx.Create(&purchase{UserID: keyIn(t, next, "01")}).Error }))
		tries := 0
		must(t, shard.Retry(t.Context(), func() error {
			if tries++; tries == 3 {
				must(t, storeOf(t, db).Swap(t.Context(), "default", next))
			}
			return db.Transaction(func(tx *gorm.DB) error { return tx.Create(&purchase{UserID: key, Item: "tea"}).Error })
		}))
		var n [2]int64
		must(t, db.Raw("SELECT (SELECT COUNT(*) FROM purchases_00), (SELECT COUNT(*) FROM purchases_01)").Row().Scan(&n[0], &n[1]))
		if n != [2]int64{0, 2} {
			t.Errorf("got %d rows in the tables, want both in the second", n)
		}
	})
}

// TestMovedToAnotherDatabase has the map change when a transaction was begun where the row was, and nothing was written yet: that is to be done again.
func TestMovedToAnotherDatabase(t *testing.T) {
	for name, do := range map[string]func(db *gorm.DB, row purchase) error{
		"update": func(db *gorm.DB, row purchase) error {
			return db.Model(&purchase{ID: row.ID}).Update("item", "x").Error
		},
		"delete": func(db *gorm.DB, row purchase) error { return db.Delete(&row).Error },
	} {
		for from, to := range map[string]string{"near0": "far0", "far1": "near1"} {
			t.Run(name+" from "+from, func(t *testing.T) {
				own, _, r := twoDatabases(t, func() *gorm.DB { return openGORM(t, kinds["sqlite"](t)) })
				row := purchase{UserID: keyIn(t, r.Map(), from)}
				must(t, own.Create(&row).Error)
				next, err := r.Map().Move(to, row.ID.Int64()&1023)
				must(t, err)
				flipped := false
				flip := func(*gorm.DB) {
					if !flipped {
						flipped = true
						must(t, storeOf(t, own).Swap(t.Context(), "default", next))
						must(t, r.Reload(t.Context()))
					}
				}
				must(t, own.Callback().Update().Before("gorm:update").Register("test:flip", flip))
				must(t, own.Callback().Delete().Before("gorm:delete").Register("test:flip", flip))
				home, err := r.DB(t.Context(), row.UserID)
				must(t, err)
				if err := do(own.Session(&gorm.Session{SkipDefaultTransaction: true}), row); !errors.Is(err, shard.ErrMoved) {
					t.Errorf("got %v, want ErrMoved", err)
				}
				if err := home.Transaction(func(tx *gorm.DB) error { return do(tx, row) }); !errors.Is(err, shard.ErrMoved) {
					t.Errorf("a transaction of Router.DB: got %v, want ErrMoved", err)
				}
			})
		}
	}
}
