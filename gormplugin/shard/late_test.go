package shard_test

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/gormplugin/shard"
)

// late is a value that a statement waits for after it was routed, and before it is sent: its process stands still there.
type late struct {
	skip             *atomic.Int64 // so many times it does not wait
	reached, release chan struct{}
}

// Value is called when the statement is made or sent.
func (l late) Value() (driver.Value, error) {
	if l.skip.Add(-1) == -1 {
		close(l.reached)
		<-l.release
	}
	return "late", nil
}

// sleeper is a process that stands still in one statement.
type sleeper struct {
	late
	result chan error
}

// fallAsleep runs a statement until it stands still, at the use of the value after those that are skipped.
func fallAsleep(skip int64, do func(late) error) *sleeper {
	s := &sleeper{late{&atomic.Int64{}, make(chan struct{}), make(chan struct{})}, make(chan error, 1)}
	s.skip.Store(skip)
	go func() { s.result <- do(s.late) }()
	select {
	case <-s.reached:
	case err := <-s.result: // which is not what it was to do
		s.result <- err
	}
	return s
}

// wake has it go on, and returns what comes of the statement, once.
func (s *sleeper) wake() error {
	if s.result == nil {
		return nil
	}
	close(s.release)
	err := <-s.result
	s.result = nil
	return err
}

// TestLate has statements stand still until a lease after their rows were moved is over and these are removed: they do not see nothing in silence.
func TestLate(t *testing.T) {
	for name, c := range map[string]struct {
		skip int64
		do   func(db *gorm.DB, row purchase, l late) error
	}{
		"first": {0, func(db *gorm.DB, row purchase, l late) error {
			return db.Where("item <> ?", l).First(&purchase{}, row.ID).Error
		}},
		"find": {0, func(db *gorm.DB, row purchase, l late) error {
			return db.Where("item <> ?", l).Scopes(shard.ByKey(row.UserID)).Find(&[]purchase{}).Error
		}},
		"all": {1, func(db *gorm.DB, _ purchase, l late) error {
			return db.Where("item <> ?", l).Scopes(shard.All()).Find(&[]purchase{}).Error
		}},
		"count": {1, func(db *gorm.DB, _ purchase, l late) error {
			return db.Model(&purchase{}).Where("item <> ?", l).Scopes(shard.All()).Count(new(int64)).Error
		}},
		"row": {0, func(db *gorm.DB, row purchase, l late) error {
			return db.Model(&purchase{}).Select("item").Where("item <> ?", l).Scopes(shard.ByID(row.ID)).Row().Scan(new(string))
		}},
		"rows": {0, func(db *gorm.DB, row purchase, l late) error {
			_, err := db.Model(&purchase{}).Where("item <> ?", l).Scopes(shard.ByID(row.ID)).Rows()
			return err
		}},
		"update": {0, func(db *gorm.DB, row purchase, l late) error {
			return db.Model(&purchase{ID: row.ID}).UpdateColumn("item", l).Error
		}},
		"delete": {0, func(db *gorm.DB, row purchase, l late) error {
			return db.Where("item <> ?", l).Delete(&purchase{}, row.ID).Error
		}},
		"update of all": {0, func(db *gorm.DB, _ purchase, l late) error {
			return db.Model(&purchase{}).Scopes(shard.All()).Where("item <> ?", l).UpdateColumn("count", 1).Error
		}},
		"first or create": {0, func(db *gorm.DB, row purchase, l late) error {
			return db.Where("user_id", row.UserID).Where("item <> ?", l).FirstOrCreate(&purchase{}).Error
		}},
		"stream": {1, func(db *gorm.DB, row purchase, l late) error {
			for got, err := range shard.Between[purchase](db.Where("item <> ?", l), time.Time{}, time.Now().Add(hour)) {
				if err != nil || *got == row {
					return fmt.Errorf("%w, and the row: %w", err, shard.ErrMoved)
				}
			}
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			db := openGORM(t, kinds["sqlite"](t))
			r := routed(t, db, 2, &purchase{})
			row := purchase{UserID: keyIn(t, r.Map(), "01"), Item: "tea"}
			must(t, db.Create(&row).Error)
			next, err := r.Map().Move("00", row.ID.Int64()&1023)
			must(t, err)
			s := fallAsleep(c.skip, func(l late) error {
				return c.do(db.Session(&gorm.Session{SkipDefaultTransaction: true}), row, l)
			})
			must(t, storeOf(t, db).Swap(t.Context(), "default", next))
			must(t, db.Exec("INSERT INTO purchases_00 SELECT * FROM purchases_01").Error)
			must(t, db.Exec("DELETE FROM purchases_01").Error)
			shard.Expire(r)
			if err := s.wake(); !errors.Is(err, shard.ErrMoved) {
				t.Errorf("got %v, want ErrMoved", err)
			}
			pool, err := db.DB()
			must(t, err)
			if n := pool.Stats().InUse; n != 0 {
				t.Errorf("%d connections are in use, want none", n)
			}
			if got := everywhere(t, db, r, "purchases", "item"); len(got) != 1 || got[row.ID.Int64()] != "tea" {
				t.Errorf("got the rows %v, want the one", got)
			}
		})
	}
}

// TestLateInTheLease has a statement end before the lease of its map is over, which another one has replaced: what it read is there.
func TestLateInTheLease(t *testing.T) {
	db := openGORM(t, kinds["sqlite"](t))
	r := routed(t, db, 2, &purchase{})
	row := purchase{UserID: keyIn(t, r.Map(), "01"), Item: "tea"}
	must(t, db.Create(&row).Error)
	next, err := r.Map().Move("00", row.ID.Int64()&1023)
	must(t, err)
	var got purchase
	s := fallAsleep(0, func(l late) error { return db.Where("item <> ?", l).First(&got, row.ID).Error })
	must(t, storeOf(t, db).Swap(t.Context(), "default", next))
	must(t, r.Reload(t.Context()))
	if err := s.wake(); err != nil || got != row {
		t.Errorf("got %+v, %v, want %+v", got, err, row)
	}
}
