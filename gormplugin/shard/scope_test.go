package shard_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/gormplugin/shard"
	"github.com/snowkey-go/snowkey/idgen"
	idshard "github.com/snowkey-go/snowkey/idgen/shard"
	"github.com/snowkey-go/snowkey/sqltype"
)

// A key that is spread has rows in several tables, and so may one have that is older than the sharding.
func TestKeysInSeveralTables(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		s := &shop{DB: open(), log: &recorder{Interface: logger.Discard}}
		s.DB.Logger = s.log
		store := storeOf(t, s.DB)
		must(t, store.Setup(t.Context()))
		first, err := idshard.NewMap(idgen.Sharded.Layout, append([]idshard.Shard{{Name: "old"}}, idshard.Tables(4)...)...)
		must(t, err)
		must(t, store.Create(t.Context(), "default", first))
		spread, err := first.Spread(int64(7), 16)
		must(t, err)
		must(t, store.Swap(t.Context(), "default", spread))
		last, err := spread.WithLegacy(idshard.Legacy{Below: 1000, Shard: "old"})
		must(t, err)
		must(t, store.Swap(t.Context(), "default", last))
		s.router = use(t, s.DB, shard.Config{})
		shard.Settle(s.router)
		must(t, s.router.AutoMigrate(s.DB, &Order{}))
		for range 32 {
			s.orders = append(s.orders, Order{UserID: 7}, Order{UserID: 8})
		}
		must(t, s.Create(&s.orders).Error)
		must(t, s.Exec("INSERT INTO orders (id, user_id, item, amount) VALUES (5, 7, 'old', 0), (6, 8, 'old', 0)").Error)
		s.log.take()
		for user, most := range map[int64]int{7: 5, 8: 2} {
			s.log.take()
			var rows []Order
			must(t, s.Scopes(shard.ByKey(user)).Find(&rows).Error)
			got := s.log.take()
			ids := append([]sqltype.ID{sqltype.ID(user - 2)}, idsOfUser(s, user)...)
			if !slices.Equal(idsOfOrders(rows), ids) || len(got) < 2 || len(got) > most {
				t.Errorf("user %d: got %d rows by %d queries, want %d by 2 to %d; the same ones: %v", user, len(rows), len(got), len(ids), most, slices.Equal(idsOfOrders(rows), ids))
			}
			for _, id := range []sqltype.ID{ids[0], ids[1]} {
				var row Order
				err := s.Scopes(shard.ByKey(user), shard.ByID(id)).First(&row).Error
				if got := s.log.take(); err != nil || row.ID != id || len(got) != 1 {
					t.Errorf("user %d: got %d by %q, %v, want %d by one", user, row.ID, got, err, id)
				}
			}
			var n int64
			if err := s.Model(&Order{}).Scopes(shard.ByKey(user)).Count(&n).Error; err != nil || n != 33 {
				t.Errorf("user %d: counted %d, %v", user, n, err)
			}
		}
		done := s.Model(&Order{}).Scopes(shard.ByKey(7)).Update("item", "x")
		if done.Error != nil || done.RowsAffected != 33 {
			t.Errorf("got %d updated, %v", done.RowsAffected, done.Error)
		}
		if err := s.Scopes(shard.ByKey(7)).Order("amount").Find(&[]Order{}).Error; !errors.Is(err, shard.ErrSpan) {
			t.Errorf("another order: got %v", err)
		}
	})
}

func TestFirstOrCreate(t *testing.T) {
	onShop(t, func(t *testing.T, s *shop) {
		var made, found Order
		must(t, s.Where(Order{UserID: 105, Item: "new"}).FirstOrCreate(&made).Error)
		must(t, s.Where(Order{UserID: 105, Item: "new"}).FirstOrCreate(&found).Error)
		if made.ID == 0 || found.ID != made.ID || s.table(made.ID) != s.table(idsOfUser(s, 105)[0]) {
			t.Errorf("made %d in %s, found %d", made.ID, s.table(made.ID), found.ID)
		}
		must(t, s.Where(Order{UserID: 105, Item: "new"}).Assign(Order{Amount: 3}).FirstOrCreate(&found).Error)
		if found.Amount != 3 {
			t.Errorf("assigned %d, want 3", found.Amount)
		}
		if err := s.Where(Order{Item: "new"}).FirstOrCreate(&Order{}).Error; !errors.Is(err, shard.ErrUnrouted) {
			t.Errorf("without a key: got %v", err)
		}
	})
}

// What fails in the last table has changed none.
func TestWritesOfSeveralTablesAreOne(t *testing.T) {
	onShop(t, func(t *testing.T, s *shop) {
		before := s.sum(t)
		must(t, s.Migrator().RenameTable("orders_07", "gone"))
		for _, skip := range []bool{false, true} {
			tx := s.Session(&gorm.Session{SkipDefaultTransaction: skip}).Model(&Order{}).Scopes(shard.All()).Where("amount >= 0").Update("amount", gorm.Expr("amount + 1"))
			if tx.Error == nil || tx.RowsAffected != 0 {
				t.Errorf("got %v, %d rows", tx.Error, tx.RowsAffected)
			}
		}
		must(t, s.Migrator().RenameTable("gone", "orders_07"))
		if now := s.sum(t); now != before {
			t.Errorf("skip: %d is left, want %d", now, before)
		}
	})
}

// One scope may be used for any number of statements, at once.
func TestScopesAreShared(t *testing.T) {
	s := newShop(t, func() *gorm.DB { return openGORM(t, kinds["sqlite"](t)) })
	pool, err := s.DB.DB()
	must(t, err)
	pool.SetMaxOpenConns(1)
	some := s.ids()[:9]
	scope := shard.ByIDs(some)
	done := make(chan error)
	for range 4 {
		go func() {
			var rows []Order
			err := s.Scopes(scope).Find(&rows).Error
			if !slices.Equal(idsOfOrders(rows), some) {
				err = fmt.Errorf("got %v, %w", idsOfOrders(rows), err)
			}
			done <- err
		}()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
