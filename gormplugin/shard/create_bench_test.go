package shard_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/gormplugin/shard"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	idshard "github.com/snowkey-go/snowkey/idgen/shard"
	"github.com/snowkey-go/snowkey/sqltype"
)

// sale is a sharded model, and plainSale the same without.
type (
	sale struct {
		ID                sqltype.ID `gorm:"snowkey:shard=UserID"`
		UserID            int64
		Name, Email, City string
	}
	plainSale struct {
		ID                sqltype.ID
		UserID            int64
		Name, Email, City string
	}
)

// rivals opens a database with a router, and one with the plain plugin, each with 16 tables, such that neither waits for a disk.
func rivals(b *testing.B, kind string) (byRouter, plain *gorm.DB, r *shard.Router) {
	b.Helper()
	quick := map[string]string{"sqlite": "PRAGMA synchronous = OFF", "mysql": "SET GLOBAL innodb_flush_log_at_trx_commit = 0", "postgres": "SET synchronous_commit = off"}
	open := func() *gorm.DB {
		db := openGORM(b, kinds[kind](b))
		pool, err := db.DB()
		must(b, err)
		pool.SetMaxOpenConns(1)
		must(b, db.Exec(quick[db.Name()]).Error)
		return db
	}
	byRouter, plain = open(), open()
	layout, err := idgen.NewLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond,
		idgen.Time.Bits(41), idgen.Node.Bits(2), idgen.Sequence.Bits(14), idgen.Shard.Bits(6))
	must(b, err)
	r = use(b, byRouter, shard.Config{
		Shards: idshard.Tables(16), Layout: layout, Lease: time.Hour, GrantOptions: []grant.SQLOption{grant.AllowUnsafe()},
	})
	must(b, r.AutoMigrate(byRouter, &sale{}))
	wide, err := idgen.NewLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond, idgen.Time.Bits(41), idgen.Sequence.Bits(22))
	must(b, err)
	generator, err := idgen.New(wide)
	must(b, err)
	must(b, plain.Use(gormplugin.New(gormplugin.From[int64](generator))))
	for _, s := range r.Map().Shards() {
		must(b, plain.Table(s.Table("plain_sales")).AutoMigrate(&plainSale{}))
	}
	return byRouter, plain, r
}

// BenchmarkCreateBatch creates 1,000 rows over 16 tables by the router, and in turns with it the same as 16 batches that are written by
// hand, in one transaction, of rows that are sorted by table already. The figures are medians: µs/router, µs/hand, and how often the router's
// goes into the other.
func BenchmarkCreateBatch(b *testing.B) {
	for _, kind := range []string{"sqlite", "mariadb", "postgres"} {
		b.Run("database="+kind, func(b *testing.B) {
			byRouter, plain, r := rivals(b, kind)
			sales, batches := make([]sale, 1000), make([][]plainSale, 16)
			for i := range sales {
				sales[i] = sale{UserID: int64(i + 1), Name: "Ada", Email: "ada@example.org", City: "London"}
				of, err := r.Map().OfKey(nil, sales[i].UserID)
				must(b, err)
				batches[of[0]] = append(batches[of[0]], plainSale{UserID: sales[i].UserID, Name: "Ada", Email: "ada@example.org", City: "London"})
			}
			tables := r.Map().Shards()
			ratio(b, func() error {
				for i := range sales {
					sales[i].ID = 0
				}
				return byRouter.Create(sales).Error
			}, func() error {
				for _, batch := range batches {
					for i := range batch {
						batch[i].ID = 0
					}
				}
				return plain.Transaction(func(tx *gorm.DB) error {
					for i, batch := range batches {
						if err := tx.Table(tables[i].Table("plain_sales")).Create(batch).Error; err != nil {
							return err
						}
					}
					return nil
				})
			})
		})
	}
}

// BenchmarkCreateOne creates one row, by the router and by hand, which names the table. With gorm=dry it does not reach the database.
func BenchmarkCreateOne(b *testing.B) {
	for _, dry := range []bool{true, false} {
		b.Run(fmt.Sprintf("dry=%t", dry), func(b *testing.B) {
			byRouter, plain, r := rivals(b, "sqlite")
			session := &gorm.Session{DryRun: dry, SkipDefaultTransaction: dry}
			byRouter, plain = byRouter.Session(session), plain.Session(session)
			table := r.Map().Shard(3).Table("plain_sales")
			const rows = 100 // a turn, since a clock read is a good part of one
			added := ratio(b, func() error {
				for range rows {
					if err := byRouter.Create(&sale{UserID: 4711, Name: "Ada", Email: "ada@example.org", City: "London"}).Error; err != nil {
						return err
					}
				}
				return nil
			}, func() error {
				for range rows {
					if err := plain.Table(table).Create(&plainSale{UserID: 4711, Name: "Ada", Email: "ada@example.org", City: "London"}).Error; err != nil {
						return err
					}
				}
				return nil
			})
			b.ReportMetric(added/rows, "added-ns/statement")
		})
	}
}

// ratio runs both in turns, reports the medians and returns the difference in nanoseconds.
func ratio(b *testing.B, router, hand func() error) float64 {
	b.Helper()
	var times [2][]time.Duration
	turn := 0
	for b.Loop() {
		for i := range 2 {
			which := (turn + i) % 2
			begin := time.Now()
			must(b, []func() error{router, hand}[which]())
			times[which] = append(times[which], time.Since(begin))
		}
		turn++
	}
	var median [2]float64
	for i := range times {
		slices.Sort(times[i])
		median[i] = float64(times[i][len(times[i])/2])
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median[0]/1e3, "µs/router")
	b.ReportMetric(median[1]/1e3, "µs/hand")
	b.ReportMetric(median[1]/median[0], "router/hand")
	return median[0] - median[1]
}
