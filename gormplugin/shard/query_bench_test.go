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

// What routing adds to a statement that is built and not run: each with a router and a sharded model; the same of a model that is not sharded in a
// database without a router; and that with the name of a table written by hand, as who shards without a router does.
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
	measure := func(name string, sharded func() *gorm.DB, other func(*gorm.DB) *gorm.DB) {
		all := []routing{
			{"sharded", sharded},
			{"plain", func() *gorm.DB { return other(plain) }},
			{"hand", func() *gorm.DB { return other(plain.Table("kepts_03")) }},
		}
		for _, of := range all {
			b.Run("statement="+name+"/model="+of.model, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if tx := of.do(); tx.Error != nil || tx.Statement.SQL.Len() == 0 {
						b.Fatal(tx.Error)
					}
				}
			})
		}
		b.Run("statement="+name+"/model=difference", func(b *testing.B) { difference(b, all) })
	}
	var placed Placed
	var kept Kept
	var many []Placed
	var others []Kept
	measure("first-id", func() *gorm.DB { placed = Placed{}; return routed.First(&placed, id.Int64()) }, func(db *gorm.DB) *gorm.DB { kept = Kept{}; return db.First(&kept, id.Int64()) })
	measure("find-key", func() *gorm.DB { return routed.Where("user_id", 7).Find(&many) }, func(db *gorm.DB) *gorm.DB { return db.Where("user_id", 7).Find(&others) })
	measure("scope-id", func() *gorm.DB { placed = Placed{}; return routed.Scopes(shard.ByID(id)).Take(&placed) },
		func(db *gorm.DB) *gorm.DB {
			kept = Kept{}
			return db.Scopes(func(db *gorm.DB) *gorm.DB { return db.Where("id", id) }).Take(&kept)
		})
	measure("scope-key", func() *gorm.DB { return routed.Scopes(shard.ByKey(int64(7))).Find(&many) },
		func(db *gorm.DB) *gorm.DB {
			return db.Scopes(func(db *gorm.DB) *gorm.DB { return db.Where("user_id", 7) }).Find(&others)
		})
	measure("update", func() *gorm.DB { return routed.Model(&Placed{ID: id}).Update("item", "x") },
		func(db *gorm.DB) *gorm.DB { return db.Model(&Kept{ID: id}).Update("item", "x") })
	measure("delete", func() *gorm.DB { return routed.Delete(&Placed{ID: id}) }, func(db *gorm.DB) *gorm.DB { return db.Delete(&Kept{ID: id}) })
	// A model that is not sharded, beside the router.
	measure("other", func() *gorm.DB { return routed.Where("user_id", 7).Find(&others) }, func(db *gorm.DB) *gorm.DB { return db.Where("user_id", 7).Find(&others) })
}

// routing is a statement that is measured.
type routing struct {
	model string
	do    func() *gorm.DB
}

// difference measures what the first of some statements takes more than each other. They go in turns, so that a noisy machine is so for all, and the
// figures are the medians of the differences.
func difference(b *testing.B, all []routing) {
	added := make([][]float64, len(all))
	for b.Loop() {
		const turn = 50
		took := make([]time.Duration, len(all))
		for i, of := range all {
			begin := time.Now()
			for range turn {
				of.do()
			}
			took[i] = time.Since(begin)
		}
		for i := range all {
			added[i] = append(added[i], float64(took[0]-took[i])/turn)
		}
	}
	for i, of := range all[1:] {
		slices.Sort(added[i+1])
		b.ReportMetric(added[i+1][len(added[i+1])/2], "added-ns/"+of.model)
	}
}
