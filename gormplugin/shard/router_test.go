package shard_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/gormplugin/shard"
	"github.com/snowkey-go/snowkey/idgen"
	idshard "github.com/snowkey-go/snowkey/idgen/shard"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestConfig refuses what is wrong with a config.
func TestConfig(t *testing.T) {
	tables := idshard.Tables(4)
	other, same := openGORM(t, kinds["sqlite"](t)), openGORM(t, kinds["sqlite"](t))
	busy := openGORM(t, kinds["sqlite"](t))
	use(t, busy, shard.Config{Shards: tables})
	remote := append([]idshard.Shard{{Name: "far", Database: "far"}, {Name: "far2", Database: "far", Suffix: "_2"}}, tables...)
	for name, c := range map[string]struct {
		config shard.Config
		want   error
		text   string
	}{
		"no map":             {shard.Config{}, idshard.ErrNoMap, "default"},
		"no shards":          {shard.Config{Name: "x y"}, idshard.ErrNoMap, "x y"},
		"lease too short":    {shard.Config{Shards: tables, Lease: 999 * time.Millisecond}, shard.ErrConfig, "1s"},
		"lease too long":     {shard.Config{Shards: tables, Lease: 61 * time.Minute}, shard.ErrConfig, "1h0m0s"},
		"lease negative":     {shard.Config{Shards: tables, Lease: -1}, shard.ErrConfig, "-1ns"},
		"no shard field":     {shard.Config{Shards: tables, Layout: idgen.Snowkey.Layout}, shard.ErrConfig, "fields shard"},
		"twice":              {shard.Config{Shards: append(tables[:2:2], tables[1])}, idshard.ErrMap, "Shards"},
		"no model":           {shard.Config{Shards: tables, Models: []shard.Model{{Column: "a"}}}, shard.ErrConfig, "Models[0]"},
		"no struct":          {shard.Config{Shards: tables, Models: []shard.Model{{Of: new(int), Column: "a"}}}, shard.ErrConfig, "*int"},
		"no column":          {shard.Config{Shards: tables, Models: []shard.Model{{Of: &purchase{}}}}, shard.ErrConfig, "Column"},
		"database missing":   {shard.Config{Shards: remote}, shard.ErrDatabase, `["far"]`},
		"database nil":       {shard.Config{Shards: tables, Databases: map[string]*gorm.DB{"far": nil}}, shard.ErrConfig, `"far"`},
		"database nameless":  {shard.Config{Shards: tables, Databases: map[string]*gorm.DB{"": other}}, shard.ErrConfig, "without a name"},
		"database twice":     {shard.Config{Shards: tables, Databases: map[string]*gorm.DB{"a": other, "b": other}}, shard.ErrConfig, "one and the same"},
		"database of router": {shard.Config{Shards: tables, Databases: map[string]*gorm.DB{"a": same, "b": busy}}, shard.ErrConfig, `"b"`},
		"preset":             {shard.Config{Shards: tables, Layout: idgen.Sharded.Layout}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			db := openGORM(t, kinds["sqlite"](t))
			r := shard.New(c.config)
			err := db.Use(r)
			if err == nil {
				must(t, r.Close())
			}
			if !errors.Is(err, c.want) || err != nil && !contains(err, c.text) {
				t.Errorf("got %v, want %v with %s", err, c.want, c.text)
			}
		})
	}
}

// TestOtherKind refuses a database of another kind.
func TestOtherKind(t *testing.T) {
	db, other := openGORM(t, kinds["sqlite"](t)), openGORM(t, kinds["postgres"](t))
	err := db.Use(shard.New(shard.Config{Shards: idshard.Tables(2), Databases: map[string]*gorm.DB{"far": other}}))
	if !errors.Is(err, shard.ErrDatabase) || !contains(err, "postgres") {
		t.Errorf("got %v, want ErrDatabase with postgres", err)
	}
}

// TestUsedAlready refuses a database that has a plugin of the module, and a router that has a database.
func TestUsedAlready(t *testing.T) {
	db := openGORM(t, kinds["sqlite"](t))
	p := gormplugin.New()
	must(t, db.Use(p))
	t.Cleanup(func() { must(t, p.Close()) })
	if err := db.Use(shard.New(shard.Config{Shards: idshard.Tables(2)})); !errors.Is(err, shard.ErrConfig) {
		t.Errorf("got %v, want ErrConfig", err)
	}
	r := use(t, openGORM(t, kinds["sqlite"](t)), shard.Config{Shards: idshard.Tables(2)})
	if err := openGORM(t, kinds["sqlite"](t)).Use(r); !errors.Is(err, shard.ErrConfig) {
		t.Errorf("a router of two databases: got %v, want ErrConfig", err)
	}
}

// TestMapInForce starts a router with the map that there is, whatever shards its config has, unless the layout differs.
func TestMapInForce(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		db := open()
		first := use(t, db, shard.Config{Shards: idshard.Tables(4)})
		again := func(config shard.Config) (*shard.Router, error) {
			r := shard.New(config)
			pool, err := db.DB()
			must(t, err)
			second, err := gorm.Open(db.Dialector, &gorm.Config{ConnPool: pool, Logger: db.Logger})
			must(t, err)
			return r, second.Use(r)
		}
		r, err := again(shard.Config{Shards: idshard.Tables(8)})
		must(t, err)
		defer func() { must(t, r.Close()) }()
		if got := len(r.Map().Shards()); got != 4 || first.Map().Version() != 1 {
			t.Errorf("got %d shards, want the 4 of the map in force", got)
		}
		if _, err = again(shard.Config{Layout: idgen.Scattered.Layout}); !errors.Is(err, shard.ErrConfig) || !contains(err, idgen.Scattered.String()) {
			t.Errorf("another layout: got %v, want ErrConfig", err)
		}
	})
}

// TestTwoAtOnce has two processes make the map at once, and agree.
func TestTwoAtOnce(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		db := open()
		pool, err := db.DB()
		must(t, err)
		var routers [2]*shard.Router
		var wait sync.WaitGroup
		for i := range routers {
			own, err := gorm.Open(db.Dialector, &gorm.Config{ConnPool: pool, Logger: db.Logger})
			must(t, err)
			routers[i] = shard.New(shard.Config{Shards: idshard.Tables(2 + i)})
			wait.Go(func() {
				if err := own.Use(routers[i]); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		if t.Failed() {
			return
		}
		if a, b := len(routers[0].Map().Shards()), len(routers[1].Map().Shards()); a != b {
			t.Errorf("got %d shards and %d, want one map", a, b)
		}
		for _, r := range routers {
			must(t, r.Close())
		}
	})
}

// TestClose gives the number back and may be called again.
func TestClose(t *testing.T) {
	if err := shard.New(shard.Config{}).Close(); err != nil {
		t.Errorf("before db.Use: got %v, want nil", err)
	}
	db := openGORM(t, kinds["sqlite"](t))
	r := use(t, db, shard.Config{Shards: idshard.Tables(2)})
	must(t, r.Close())
	shard.Expire(r)
	if m, err := shard.Current(t.Context(), r); err != nil || m == nil {
		t.Errorf("after Close: got %v, %v, want the map still", m, err)
	}
}

// TestNotUsed calls a router that has no database.
func TestNotUsed(t *testing.T) {
	r := shard.New(shard.Config{})
	_, dbErr := r.DB(t.Context(), 1)
	for name, err := range map[string]error{"DB": dbErr, "Reload": r.Reload(t.Context())} {
		if !errors.Is(err, shard.ErrConfig) {
			t.Errorf("%s: got %v, want ErrConfig", name, err)
		}
	}
	if m := r.Map(); m != nil {
		t.Errorf("Map: got %v, want nil", m)
	}
}

// twoDatabases opens a router over two databases, with two tables in each.
func twoDatabases(t *testing.T, open func() *gorm.DB) (own, far *gorm.DB, r *shard.Router) {
	t.Helper()
	own, far = open(), open()
	r = use(t, own, shard.Config{
		Shards: []idshard.Shard{
			{Name: "near0", Suffix: "_00"}, {Name: "near1", Suffix: "_01"},
			{Name: "far0", Database: "far", Suffix: "_00"}, {Name: "far1", Database: "far", Suffix: "_01"},
		},
		Databases: map[string]*gorm.DB{"far": far},
	})
	must(t, r.AutoMigrate(own, &purchase{}))
	return own, far, r
}

// keyIn returns a sharding key whose rows are in a shard.
func keyIn(t *testing.T, m *idshard.Map, shardName string) int64 {
	t.Helper()
	for key := int64(1); ; key++ {
		indexes, err := m.OfKey(nil, key)
		must(t, err)
		if m.Shard(indexes[0]).Name == shardName {
			return key
		}
	}
}

// TestDB gives a session of the database where the rows of a key are.
func TestDB(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		own, far, r := twoDatabases(t, open)
		for _, db := range []*gorm.DB{own, far} {
			if loaded(t, db, "purchases_00") == nil || loaded(t, db, "purchases_01") == nil {
				t.Error("a table is missing")
			}
		}
		for name, want := range map[string]*gorm.DB{"near1": own, "far0": far} {
			db, err := r.DB(t.Context(), keyIn(t, r.Map(), name))
			must(t, err)
			err = db.Transaction(func(tx *gorm.DB) error { return tx.Exec("DELETE FROM purchases_00 WHERE id = 1").Error })
			must(t, err)
			if db.ConnPool != want.ConnPool {
				t.Errorf("%s: got another database's pool", name)
			}
		}
		if _, err := r.DB(t.Context(), nil); !errors.Is(err, idshard.ErrKey) {
			t.Errorf("no key: got %v, want ErrKey", err)
		}
	})
}

// TestSpan refuses to say in which database the rows of a key are that is spread over two.
func TestSpan(t *testing.T) {
	own, _, r := twoDatabases(t, func() *gorm.DB { return openGORM(t, kinds["sqlite"](t)) })
	next, err := r.Map().Spread("tenant", 4)
	must(t, err)
	must(t, storeOf(t, own).Swap(t.Context(), "default", next))
	must(t, r.Reload(t.Context()))
	if r.Map().Version() != 2 {
		t.Errorf("got version %d, want 2", r.Map().Version())
	}
	if _, err := r.DB(t.Context(), "tenant"); !errors.Is(err, shard.ErrSpan) {
		t.Errorf("got %v, want ErrSpan", err)
	}
}

// TestUnknownDatabase goes on with a map that names a database which the router has not, but for what is there.
func TestUnknownDatabase(t *testing.T) {
	db := openGORM(t, kinds["sqlite"](t))
	r := use(t, db, shard.Config{Shards: idshard.Tables(2)})
	next, err := r.Map().Grow(idshard.Shard{Name: "new", Database: "new", Suffix: "_02"})
	must(t, err)
	must(t, storeOf(t, db).Swap(t.Context(), "default", next))
	must(t, r.Reload(t.Context()))
	if _, err := r.DB(t.Context(), keyIn(t, next, "new")); !errors.Is(err, shard.ErrDatabase) || !contains(err, `"new"`) {
		t.Errorf("got %v, want ErrDatabase", err)
	}
	if _, err := r.DB(t.Context(), keyIn(t, next, "00")); err != nil {
		t.Errorf("a key that has not moved: %v", err)
	}
}

// TestMapChanges reads the version that another process has made when the lease is over, and not before.
func TestMapChanges(t *testing.T) {
	eachKind(t, func(t *testing.T, open func() *gorm.DB) {
		db := open()
		r := use(t, db, shard.Config{Shards: idshard.Tables(4), Lease: time.Hour})
		next, err := r.Map().Grow(idshard.Tables(8)[4:]...)
		must(t, err)
		must(t, storeOf(t, db).Swap(t.Context(), "default", next))
		if m, err := shard.Current(t.Context(), r); err != nil || m.Version() != 1 {
			t.Errorf("in the lease: got version %d, %v, want 1", m.Version(), err)
		}
		shard.Expire(r)
		var wait sync.WaitGroup
		for range 8 {
			wait.Go(func() {
				if m, err := shard.Current(t.Context(), r); err != nil || m.Version() != 2 {
					t.Errorf("after it: got version %d, %v, want 2", m.Version(), err)
				}
			})
		}
		wait.Wait()
	})
}

// TestDatabaseDown routes by the map that is known while its lease lasts, and not after.
func TestDatabaseDown(t *testing.T) {
	db := openGORM(t, kinds["sqlite"](t))
	r := use(t, db, shard.Config{Shards: idshard.Tables(2), Lease: time.Hour})
	pool, err := db.DB()
	must(t, err)
	must(t, r.Close())
	must(t, pool.Close())
	if err := r.Reload(t.Context()); !errors.Is(err, shard.ErrLease) {
		t.Errorf("Reload: got %v, want ErrLease", err)
	}
	if _, err := shard.Current(t.Context(), r); err != nil {
		t.Errorf("in the lease: got %v, want nil", err)
	}
	shard.Expire(r)
	if _, err := shard.Current(t.Context(), r); !errors.Is(err, shard.ErrLease) {
		t.Errorf("after it: got %v, want ErrLease", err)
	}
}

// TestMapGoesBack refuses a map of a lesser version than was in force, as a backup has it that was restored.
func TestMapGoesBack(t *testing.T) {
	db := openGORM(t, kinds["sqlite"](t))
	r := use(t, db, shard.Config{Shards: idshard.Tables(2)})
	next, err := r.Map().Spread(7, 2)
	must(t, err)
	must(t, storeOf(t, db).Swap(t.Context(), "default", next))
	must(t, r.Reload(t.Context()))
	must(t, db.Exec("DELETE FROM snowkey_shards WHERE version = 2").Error)
	if err := r.Reload(t.Context()); !errors.Is(err, idshard.ErrVersion) || !errors.Is(err, shard.ErrLease) {
		t.Errorf("got %v, want ErrVersion", err)
	}
}

// TestOneConnection asks for the map in a transaction that holds the only connection, which ends with the context, or by itself.
func TestOneConnection(t *testing.T) {
	db := openGORM(t, kinds["sqlite"](t))
	pool, err := db.DB()
	must(t, err)
	pool.SetMaxOpenConns(1)
	r := use(t, db, shard.Config{Shards: idshard.Tables(2), Lease: time.Hour})
	shard.Expire(r)
	shard.Impatient(r)
	must(t, db.Transaction(func(*gorm.DB) error {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := shard.Current(ctx, r); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the context's error", err)
		}
		if _, err := shard.Current(t.Context(), r); !errors.Is(err, shard.ErrLease) || !strings.Contains(err.Error(), "only connection") {
			t.Errorf("got %v, want ErrLease", err)
		}
		return nil
	}))
	if _, err := shard.Current(t.Context(), r); err != nil {
		t.Errorf("after the transaction: got %v, want nil", err)
	}
}

// TestOneConnectionCreate creates rows when the lease is over, by a pool of one connection, which the transaction of GORM's takes.
func TestOneConnectionCreate(t *testing.T) {
	db := openGORM(t, kinds["sqlite"](t))
	pool, err := db.DB()
	must(t, err)
	pool.SetMaxOpenConns(1)
	r := use(t, db, shard.Config{Shards: idshard.Tables(2)})
	must(t, r.AutoMigrate(db, &purchase{}))
	for range 2 {
		shard.Expire(r)
		must(t, db.Create(&purchase{UserID: 1, Item: "tea"}).Error)
	}
}

// A router has no longer lease than its map, which moves of rows wait for.
func TestLeaseOfTheMap(t *testing.T) {
	database := dbtest.SQLite(t)
	db := openGORM(t, database)
	first := use(t, db, shard.Config{Shards: idshard.Tables(2), Lease: 2 * time.Second})
	if got := first.Map().Lease(); got != 2*time.Second || first.Map().Version() != 1 {
		t.Errorf("got a map with the lease %s, version %d, want 2s, version 1", got, first.Map().Version())
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again := openGORM(t, database)
	if err := again.Use(shard.New(shard.Config{Lease: 3 * time.Second})); !errors.Is(err, shard.ErrConfig) || !strings.Contains(err.Error(), "2s") {
		t.Errorf("got %v, want ErrConfig with the map's lease", err)
	}
}
