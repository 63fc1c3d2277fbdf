package shard_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/gormplugin/shard"
	"github.com/snowkey-go/snowkey/idgen"
	idshard "github.com/snowkey-go/snowkey/idgen/shard"
)

// TestBackground renews the lease while there are no statements, so that a transaction finds it fresh which holds the only connection.
func TestBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := memory()
		pool, err := db.DB()
		must(t, err)
		store := storeOf(t, db)
		must(t, store.Setup(t.Context()))
		m, err := idshard.NewMap(idgen.Sharded.Layout, idshard.Tables(2)...)
		must(t, err)
		must(t, store.Create(t.Context(), "default", m))
		r := shard.KeepLease(store, m, 9*time.Second)
		time.Sleep(time.Hour)
		synctest.Wait()
		must(t, db.Transaction(func(*gorm.DB) error {
			_, err := shard.Current(t.Context(), r)
			return err
		}))

		next, err := m.Spread(1, 2)
		must(t, err)
		must(t, store.Swap(t.Context(), "default", next))
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if got := r.Map().Version(); got != 2 {
			t.Errorf("a third of the lease later: got version %d, want 2", got)
		}
		must(t, r.Close())
		must(t, pool.Close())
		synctest.Wait()
	})
}

// TestRetryAsksOutsideTheTransaction has the map in doubt while a transaction holds the only connection, which no question gets before it is rolled back.
// On a busy machine the next transaction takes that first.
func TestRetryAsksOutsideTheTransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := memory()
		pool, err := db.DB()
		must(t, err)
		store := storeOf(t, db)
		must(t, store.Setup(t.Context()))
		m, err := idshard.NewMap(idgen.Sharded.Layout, idshard.Tables(2)...)
		must(t, err)
		must(t, store.Create(t.Context(), "default", m))
		r := shard.KeepLease(store, m, time.Hour)
		time.Sleep(time.Second) // the map was confirmed before the doubt
		calls := 0
		err = shard.Retry(t.Context(), func() error {
			return db.Transaction(func(tx *gorm.DB) error {
				if calls++; calls == 1 {
					refused := tx.Session(&gorm.Session{})
					refused.Error = errors.New("snowkey:fenced: the bucket of this row has moved")
					shard.Explain(r, refused)
				}
				_, err := shard.Current(t.Context(), r)
				return err
			})
		})
		if err != nil || calls != 2 {
			t.Errorf("got %v after %d calls, want none after 2", err, calls)
		}
		must(t, r.Close())
		must(t, pool.Close())
		synctest.Wait()
	})
}

// TestSpreadWaits places the rows of a key that is spread in its first bucket, until every process has the map for certain.
func TestSpreadWaits(t *testing.T) {
	db := openGORM(t, kinds["sqlite"](t))
	r := use(t, db, shard.Config{Shards: idshard.Tables(4), Lease: time.Hour})
	must(t, r.AutoMigrate(db, &purchase{}))
	shard.Settle(r)
	next, err := r.Map().Spread(int64(7), 4)
	must(t, err)
	must(t, storeOf(t, db).Swap(t.Context(), "default", next))
	must(t, r.Reload(t.Context()))
	first, err := r.Map().Place(int64(7), 0)
	must(t, err)
	buckets := func() map[int64]int {
		rows := make([]purchase, 400)
		for i := range rows {
			rows[i].UserID = 7
		}
		must(t, db.Create(&rows).Error)
		found := map[int64]int{}
		for _, row := range rows {
			found[int64(row.ID)%1024]++
		}
		return found
	}
	if got := buckets(); len(got) != 1 || got[first] != 400 {
		t.Errorf("before: got the buckets %v, want %d alone", got, first)
	}
	shard.Settle(r)
	got := buckets()
	for bucket, rows := range got { // at random: six times the standard deviation of 8.7
		if rows < 48 || rows > 152 {
			t.Errorf("after: bucket %d has %d rows, want about 100", bucket, rows)
		}
	}
	if len(got) != 4 || got[first] == 0 {
		t.Errorf("after: got the buckets %v, want 4", got)
	}
	next, err = r.Map().Spread(int64(7), 16)
	must(t, err)
	must(t, storeOf(t, db).Swap(t.Context(), "default", next))
	must(t, r.Reload(t.Context()))
	shard.Settle(r)
	if got := buckets(); len(got) != 16 {
		t.Errorf("after another map: got the buckets %v, want 16", got)
	}
}
