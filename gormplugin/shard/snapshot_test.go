package shard_test

import (
	"database/sql"
	"errors"
	"testing"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/gormplugin/shard"
	idshard "github.com/snowkey-go/snowkey/idgen/shard"
)

// TestSnapshot changes the map while a transaction sees the database as it was before: rows that have moved are not missed in silence.
func TestSnapshot(t *testing.T) {
	first := map[string]func(*gorm.DB) error{
		"a sharded model": func(tx *gorm.DB) error { _, err := idsOf(tx, noon, noon.Add(hour)); return err },
		"another model":   func(tx *gorm.DB) error { return tx.First(&copied{}).Error },
		"raw SQL":         func(tx *gorm.DB) error { return tx.Raw("SELECT id FROM copieds").Scan(&[]int64{}).Error },
		"rows":            func(tx *gorm.DB) error { return tx.Model(&copied{}).Limit(1).Select("id").Row().Scan(new(int64)) },
		"prepared": func(tx *gorm.DB) error {
			return tx.Session(&gorm.Session{PrepareStmt: true}).First(&copied{}).Error
		},
	}
	for _, kind := range []string{"mariadb", "postgres"} { // SQLite's transaction would keep the map from being written
		t.Run(kind, func(t *testing.T) {
			db := openGORM(t, kinds[kind](t))
			r := openEvents(t, db)
			user := int64(0)
			for name, do := range first {
				tx := db.Begin(&sql.TxOptions{Isolation: sql.LevelRepeatableRead})
				must(t, tx.Error)
				must(t, do(tx))
				user++ // another bucket each time
				bucket, err := r.Map().Place(user, 0)
				must(t, err)
				moveBuckets(t, db, r, idshard.Tables(4)[(bucket+1)%4].Name, bucket)
				must(t, r.Reload(t.Context()))
				if ids, err := idsOf(tx, noon, noon.Add(hour)); !errors.Is(err, shard.ErrMoved) || len(ids) != 0 {
					t.Errorf("%s: got %d rows, %v, want ErrMoved", name, len(ids), err)
				}
				must(t, tx.Rollback().Error)
				tx = db.Begin()
				if ids, err := idsOf(tx, noon, noon.Add(hour)); err != nil || len(ids) != 1800 {
					t.Errorf("%s, again: got %d rows, %v, want 1800", name, len(ids), err)
				}
				must(t, tx.Rollback().Error)
			}
		})
	}
}
