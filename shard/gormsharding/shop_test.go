package gormsharding_test

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"sync"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	"gorm.io/sharding"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dsn"
	"github.com/snowkey-go/snowkey/shard"
	"github.com/snowkey-go/snowkey/sqltype"
)

// Order is in the table of its user. So are its lines.
type Order struct {
	ID     int64 `gorm:"snowkey:shard=UserID"`
	UserID int64
	Item   string
	Lines  []Line
}

// Line is a line of an order of the same user.
type Line struct {
	ID      int64 `gorm:"snowkey:shard=UserID"`
	UserID  int64
	OrderID int64
	Text    string
}

// Invoice has keys of the type that JSON and forms have as texts.
type Invoice struct {
	ID     sqltype.ID `gorm:"snowkey:shard=UserID"`
	UserID sqltype.ID
	Item   string
}

// Users in four different tables of four, 1 and 42 in the same one.
const (
	ann   = 1   // bucket 193, table 1
	bob   = 2   // bucket 718, table 2
	carol = 7   // bucket 471, table 3
	dave  = 100 // bucket 324, table 0
	erin  = 42  // bucket 661, table 1
)

var everybody = []int64{ann, bob, carol, dave, erin}

var kinds = map[string]func(testing.TB) dbtest.Database{"sqlite": dbtest.SQLite, "mysql": dbtest.MySQL, "postgres": dbtest.Postgres}

// shop is a database whose tables orders, lines and invoices are four each, without those that have no suffix.
type shop struct {
	*testing.T
	kind     string
	database dbtest.Database
	tables   *shard.Tables
	plain    *gorm.DB  // around gorm.io/sharding
	db       *gorm.DB  // with snowkey's plugin and gorm.io/sharding
	ran      *recorder // what db has run
}

// eachShop runs a test on each database.
func eachShop(t *testing.T, test func(s *shop)) {
	for kind, make := range kinds {
		t.Run(kind, func(t *testing.T) { test(newShop(t, kind, make(t))) })
	}
}

func newShop(t *testing.T, kind string, database dbtest.Database) *shop {
	t.Helper()
	s := &shop{T: t, kind: kind, database: database, tables: newTables(t, 4)}
	s.plain, _ = s.open()
	s.create(s.plain, s.tables)
	s.db, s.ran = s.open()
	s.use(s.db, s.snowkey(), s.sharding(s.tables))
	s.ran.reset()
	return s
}

func newTables(t *testing.T, n int) *shard.Tables {
	t.Helper()
	tables, err := shard.NewTables(idgen.Sharded.Layout, n, Order{}.UserID)
	if err != nil {
		t.Fatal(err)
	}
	return tables
}

// open connects to the database once more.
func (s *shop) open(config ...func(*gorm.Config)) (*gorm.DB, *recorder) {
	s.Helper()
	parsed, err := dsn.Parse(s.database.DSN)
	if err != nil {
		s.Fatal(err)
	}
	pool, err := parsed.Open()
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		if err := pool.Close(); err != nil {
			s.Error(err)
		}
	})
	settings := &gorm.Config{Logger: logger.Discard}
	for _, set := range config {
		set(settings)
	}
	ran := &recorder{DB: pool}
	db, err := gorm.Open(parsed.Dialector(ran), settings)
	if err != nil {
		s.Fatal(err)
	}
	return db, ran
}

const ordersColumns = " (id BIGINT NOT NULL PRIMARY KEY, user_id BIGINT NOT NULL, item VARCHAR(20) NOT NULL, UNIQUE (user_id, item))"

// create makes the tables as an application does without AutoMigrate: the key is plain, the database makes none.
func (s *shop) create(db *gorm.DB, tables *shard.Tables) {
	s.Helper()
	for _, suffix := range tables.Suffixes() {
		for _, statement := range []string{
			"CREATE TABLE orders" + suffix + ordersColumns,
			"CREATE TABLE `lines" + suffix + "` (id BIGINT NOT NULL PRIMARY KEY, user_id BIGINT NOT NULL, order_id BIGINT NOT NULL, text VARCHAR(20) NOT NULL)",
			"CREATE TABLE invoices" + suffix + " (id BIGINT NOT NULL PRIMARY KEY, user_id BIGINT NOT NULL, item VARCHAR(20) NOT NULL)",
		} {
			if s.kind == "postgres" {
				statement = strings.ReplaceAll(statement, "`", `"`)
			}
			s.must(db.Exec(statement))
		}
	}
}

// snowkey is snowkey's plugin with a generator for all buckets.
func (s *shop) snowkey() gorm.Plugin {
	s.Helper()
	ids, err := idgen.New(idgen.Sharded, idgen.WithNode(1), idgen.WithShards())
	if err != nil {
		s.Fatal(err)
	}
	return gormplugin.New(gormplugin.From(ids))
}

// sharding is gorm.io/sharding for tables whose keys are made already.
func (s *shop) sharding(tables *shard.Tables) gorm.Plugin {
	return sharding.Register(config(tables, func(int64) int64 { return 0 }), "orders", "lines", "invoices")
}

// config is gorm.io/sharding's with the functions of tables.
func config(tables *shard.Tables, generator func(int64) int64) sharding.Config {
	return sharding.Config{
		ShardingKey:                   "user_id",
		ShardingAlgorithm:             tables.Suffix,
		ShardingSuffixs:               tables.Suffixes,
		ShardingAlgorithmByPrimaryKey: tables.SuffixOfID,
		PrimaryKeyGenerator:           sharding.PKCustom,
		PrimaryKeyGeneratorFn:         generator,
	}
}

// use registers plugins in their order.
func (s *shop) use(db *gorm.DB, plugins ...gorm.Plugin) {
	s.Helper()
	for _, p := range plugins {
		if err := db.Use(p); err != nil {
			s.Fatal(err)
		}
	}
}

func (s *shop) must(result *gorm.DB) {
	s.Helper()
	if result.Error != nil {
		s.Fatal(result.Error)
	}
}

// table returns the name of a user's table.
func (s *shop) table(name string, user int64) string {
	s.Helper()
	suffix, err := s.tables.Suffix(user)
	if err != nil {
		s.Fatal(err)
	}
	return name + suffix
}

// order makes an order of a user.
func (s *shop) order(user int64, item string) Order {
	s.Helper()
	o := Order{UserID: user, Item: item}
	s.must(s.db.Create(&o))
	return o
}

// where returns the tables of a name that have a row of an id, asked around gorm.io/sharding.
func (s *shop) where(name string, id int64) (tables []string) {
	s.Helper()
	for _, suffix := range s.tables.Suffixes() {
		var n int64
		s.must(s.plain.Table(name+suffix).Where("id = ?", id).Count(&n))
		if n > 0 {
			tables = append(tables, name+suffix)
		}
	}
	return tables
}

// at names the table of a sharding key, so that gorm.io/sharding leaves the statement as it is. An application has this function for all that the
// SQL parser of gorm.io/sharding does not read.
func at(tables *shard.Tables, name string, user int64) func(*gorm.DB) *gorm.DB {
	return func(db *gorm.DB) *gorm.DB {
		suffix, err := tables.Suffix(user)
		if err != nil {
			_ = db.AddError(err)
		}
		return db.Table(name + suffix)
	}
}

// recorder is a pool of connections that keeps the statements it runs outside of transactions.
type recorder struct {
	*sql.DB
	mu         sync.Mutex
	statements []string
}

func (r *recorder) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	r.keep(query)
	return r.DB.ExecContext(ctx, query, args...)
}

func (r *recorder) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	r.keep(query)
	return r.DB.QueryContext(ctx, query, args...)
}

func (r *recorder) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	r.keep(query)
	return r.DB.QueryRowContext(ctx, query, args...)
}

func (r *recorder) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	r.keep(query)
	return r.DB.PrepareContext(ctx, query)
}

// GetDBConn is how GORM finds the pool.
func (r *recorder) GetDBConn() (*sql.DB, error) { return r.DB, nil }

func (r *recorder) keep(query string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.statements = append(r.statements, query)
}

// reset returns the statements since the last time.
func (r *recorder) reset() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	statements := r.statements
	r.statements = nil
	return statements
}

// wants fails the test unless one statement has run since the last time, with one table of a name.
func (s *shop) wants(table string) {
	s.Helper()
	name := table[:strings.LastIndexByte(table, '_')]
	statements := s.ran.reset()
	if len(statements) != 1 {
		s.Errorf("ran %q, want one statement", statements)
		return
	}
	for _, suffix := range append(s.tables.Suffixes(), shard.Nowhere) {
		if got, want := strings.Contains(statements[0], name+suffix), name+suffix == table; got != want {
			s.Errorf("%q has the table %s: %t, want %t", statements[0], name+suffix, got, want)
		}
	}
}

// items returns the items of orders, sorted.
func items(orders []Order) []string {
	var items []string
	for _, o := range orders {
		items = append(items, o.Item)
	}
	slices.Sort(items)
	return items
}

func (s *shop) same(what string, got, want []string) {
	s.Helper()
	if !slices.Equal(got, want) {
		s.Errorf("%s: got %q, want %q", what, got, want)
	}
}
