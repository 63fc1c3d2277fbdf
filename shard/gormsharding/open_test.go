package gormsharding_test

import (
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	"gorm.io/sharding"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/shard"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dsn"
	"github.com/snowkey-go/snowkey/sqltype"
)

type Order struct {
	ID     int64 `gorm:"snowkey:shard=UserID"`
	UserID int64
	Item   string
}

// Invoice has keys of the type that JSON and forms have as texts.
type Invoice struct {
	ID     sqltype.ID `gorm:"snowkey:shard=UserID"`
	UserID sqltype.ID
	Item   string
}

// Parcel has its key from gorm.io/sharding, by its table.
type Parcel struct {
	ID     int64
	UserID int64
	Item   string
}

// eachKind runs a test on each database; open connects to it again and again.
func eachKind(t *testing.T, test func(t *testing.T, open func() *gorm.DB)) {
	for name, make := range map[string]func(testing.TB) dbtest.Database{"sqlite": dbtest.SQLite, "mysql": dbtest.MySQL, "postgres": dbtest.Postgres} {
		t.Run(name, func(t *testing.T) {
			database := make(t)
			test(t, func() *gorm.DB { return openGORM(t, database) })
		})
	}
}

func openGORM(t *testing.T, database dbtest.Database) *gorm.DB {
	t.Helper()
	parsed, err := dsn.Parse(database.DSN)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := parsed.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	db, err := gorm.Open(parsed.Dialector(pool), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// tables makes the tables of a model, without GORM's AutoMigrate, which would make the key a serial or AUTO_INCREMENT one for a Parcel.
func tables(t *testing.T, db *gorm.DB, name string, a *shard.Algorithm) {
	t.Helper()
	for _, suffix := range a.Suffixes() {
		if err := db.Exec("CREATE TABLE " + name + suffix + " (id BIGINT NOT NULL PRIMARY KEY, user_id BIGINT NOT NULL, item VARCHAR(20) NOT NULL)").Error; err != nil {
			t.Fatal(err)
		}
	}
}

// newMap has 16 tables, of 64 buckets each with the layout of idgen.Sharded.
func newMap(t *testing.T, layout idgen.Layout) (*shard.Map, *shard.Algorithm) {
	t.Helper()
	m, err := shard.NewMap(layout, shard.Tables(16)...)
	if err != nil {
		t.Fatal(err)
	}
	a, err := shard.NewAlgorithm(m, int64(0))
	if err != nil {
		t.Fatal(err)
	}
	return m, a
}

// config is gorm.io/sharding's with the functions of a.
func config(a *shard.Algorithm, generator func(int64) int64) sharding.Config {
	return sharding.Config{
		ShardingKey:                   "user_id",
		ShardingAlgorithm:             a.Suffix,
		ShardingSuffixs:               a.Suffixes,
		ShardingAlgorithmByPrimaryKey: a.SuffixOfID,
		PrimaryKeyGenerator:           sharding.PKCustom,
		PrimaryKeyGeneratorFn:         generator,
	}
}

// set is what a generator returns for a row whose key is set already.
func set(int64) int64 { return 0 }

// use registers both plugins, snowkey's before or after gorm.io/sharding.
func use(t *testing.T, db *gorm.DB, m *shard.Map, a *shard.Algorithm, before bool) {
	t.Helper()
	ids, err := idgen.New(idgen.Sharded, idgen.WithNode(1), idgen.WithShards())
	if err != nil {
		t.Fatal(err)
	}
	keys, err := shard.NewSource(m, ids)
	if err != nil {
		t.Fatal(err)
	}
	plugins := []gorm.Plugin{sharding.Register(config(a, set), "orders", "invoices"), gormplugin.New(gormplugin.From(keys))}
	if before {
		plugins[0], plugins[1] = plugins[1], plugins[0]
	}
	for _, p := range plugins {
		if err := db.Use(p); err != nil {
			t.Fatal(err)
		}
	}
}

// narrow is a layout with one bucket for each of 16 tables.
func narrow(t *testing.T) idgen.Layout {
	t.Helper()
	l, err := idgen.NewLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond,
		idgen.Time.Bits(41), idgen.Node.Bits(8), idgen.Sequence.Bits(10), idgen.Shard.Bits(4))
	if err != nil {
		t.Fatal(err)
	}
	return l
}
