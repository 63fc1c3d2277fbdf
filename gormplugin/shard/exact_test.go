package shard_test

import (
	"errors"
	"slices"
	"testing"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/gormplugin/shard"
	idshard "github.com/snowkey-go/snowkey/idgen/shard"
)

// Keys that the collation of a database takes for the same are other keys, also of rows that are in one table. So are a number and its text.
func TestKeysAreExact(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		db := open()
		r := use(t, db, shard.Config{Shards: idshard.Tables(1)})
		must(t, r.AutoMigrate(db, &Meddler{}))
		keys := []string{"acme", "ACME", "Acme", "acme ", "é", "e", "7", "07", "0", "x"}
		var rows []Meddler
		for _, key := range keys {
			rows = append(rows, Meddler{Owner: key, Text: "before"})
		}
		must(t, db.Create(&rows).Error)
		owners := func(tx *gorm.DB) (found []string) {
			t.Helper()
			var rows []Meddler
			must(t, tx.Find(&rows).Error)
			for _, row := range rows {
				found = append(found, row.Owner)
			}
			return found
		}
		for _, key := range keys {
			for name, got := range map[string][]string{
				"scope":     owners(db.Scopes(shard.ByKey(key))),
				"bytes":     owners(db.Scopes(shard.ByKey([]byte(key)))),
				"condition": owners(db.Where("owner", key)),
				"struct":    owners(db.Where(&Meddler{Owner: key}).Where("text = 'before'")),
				"list":      owners(db.Scopes(shard.ByKeys(key, "none"))),
			} {
				if !slices.Equal(got, []string{key}) {
					t.Errorf("%s %q: got %q", name, key, got)
				}
			}
			must(t, one(db.Model(&Meddler{}).Scopes(shard.ByKey(key)).Update("text", "x")))
			must(t, one(db.Scopes(shard.ByKey(key)).Delete(&Meddler{})))
			must(t, db.Create(&Meddler{Owner: key, Text: "before"}).Error)
		}
		var n int64
		chain := db.Model(&Meddler{}).Scopes(shard.ByKey("acme"))
		if must(t, chain.Count(&n).Error); n != 1 || len(owners(chain)) != 1 {
			t.Errorf("counted %d", n)
		}
		for _, key := range []any{0, uint64(7), 7.0, float32(0)} {
			err := db.Scopes(shard.ByKey(key)).Find(&rows).Error
			if other := db.Where("owner", key).Delete(&Meddler{}).Error; !errors.Is(err, shard.ErrKey) || !errors.Is(other, shard.ErrKey) {
				t.Errorf("%v (%T): got %v, %v, want ErrKey", key, key, err, other)
			}
		}
	})
}
