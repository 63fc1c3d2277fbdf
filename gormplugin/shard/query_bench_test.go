package shard_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/gormplugin/shard"
	idshard "github.com/snowkey-go/snowkey/idgen/shard"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/sqltype"
)

// Placed is sharded, and Kept is the same in one table.
type Placed struct {
	ID     sqltype.ID `gorm:"snowkey:shard=UserID"`
	UserID int64
	Item   string
}

type Kept struct {
	ID     sqltype.ID
	UserID int64
	Item   string
}

// What routing adds to a statement that is built and not run: each with a router and a sharded model, and the same of a model that is not sharded in a
// database without a router.
func BenchmarkRouting(b *testing.B) {
	open := func(routed bool) *gorm.DB {
		db := openGORM(b, dbtest.SQLite(b))
		if routed {
			use(b, db, shard.Config{Shards: idshard.Tables(16)})
		}
		return db.Session(&gorm.Session{DryRun: true, Logger: logger.Discard, SkipDefaultTransaction: true}).WithContext(context.Background())
	}
	routed, plain := open(true), open(false)
	id := sqltype.ID(250055016197391763)
	measure := func(name string, sharded, other func() *gorm.DB) {
		for _, of := range []struct {
			model string
			do    func() *gorm.DB
		}{{"sharded", sharded}, {"plain", other}} {
			b.Run("statement="+name+"/model="+of.model, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if tx := of.do(); tx.Error != nil || tx.Statement.SQL.Len() == 0 {
						b.Fatal(tx.Error)
					}
				}
			})
		}
		// Both in turns, so that a noisy machine is so for both. The median of the differences.
		b.Run("statement="+name+"/model=difference", func(b *testing.B) {
			var added []float64
			for b.Loop() {
				const turn = 50
				var took [2]time.Duration
				for i, do := range []func() *gorm.DB{sharded, other} {
					begin := time.Now()
					for range turn {
						do()
					}
					took[i] = time.Since(begin)
				}
				added = append(added, float64(took[0]-took[1])/turn)
			}
			slices.Sort(added)
			b.ReportMetric(added[len(added)/2], "added-ns/statement")
		})
	}
	var placed Placed
	var kept Kept
	var many []Placed
	var others []Kept
	measure("first-id", func() *gorm.DB { placed = Placed{}; return routed.First(&placed, id.Int64()) }, func() *gorm.DB { kept = Kept{}; return plain.First(&kept, id.Int64()) })
	measure("find-key", func() *gorm.DB { return routed.Where("user_id", 7).Find(&many) }, func() *gorm.DB { return plain.Where("user_id", 7).Find(&others) })
	measure("scope-id", func() *gorm.DB { placed = Placed{}; return routed.Scopes(shard.ByID(id)).Take(&placed) },
		func() *gorm.DB {
			kept = Kept{}
			return plain.Scopes(func(db *gorm.DB) *gorm.DB { return db.Where("id", id) }).Take(&kept)
		})
	measure("scope-key", func() *gorm.DB { return routed.Scopes(shard.ByKey(int64(7))).Find(&many) },
		func() *gorm.DB {
			return plain.Scopes(func(db *gorm.DB) *gorm.DB { return db.Where("user_id", 7) }).Find(&others)
		})
	measure("update", func() *gorm.DB { return routed.Model(&Placed{ID: id}).Update("item", "x") }, func() *gorm.DB { return plain.Model(&Kept{ID: id}).Update("item", "x") })
	measure("delete", func() *gorm.DB { return routed.Delete(&Placed{ID: id}) }, func() *gorm.DB { return plain.Delete(&Kept{ID: id}) })
	// A model that is not sharded, beside the router.
	measure("other", func() *gorm.DB { return routed.Where("user_id", 7).Find(&others) }, func() *gorm.DB { return plain.Where("user_id", 7).Find(&others) })
}
