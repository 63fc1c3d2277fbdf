package shard

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	idshard "github.com/snowkey-go/snowkey/idgen/shard"
)

// Router is a GORM plugin that fills in keys, as gormplugin does, and routes the statements of sharded models. It is made by [New], registered with db.Use,
// and safe for concurrent use.
type Router struct {
	config Config

	// Written by Initialize alone.
	own    *gorm.DB
	pools  map[*sql.DB]string // names of the databases, "" for the router's own
	store  *idshard.Store
	keeper *grant.Keeper
	plugin *gormplugin.Plugin
	lease  lease

	models sync.Map // *schema.Schema → *routed

	snapshots snapshots

	away sync.Map // gorm.ConnPool → *transactions, of the transactions that GORM has begun in other databases

	migrating sync.Mutex
	migrated  map[*schema.Schema]bool // whose names are of their table, guarded by migrating
}

var _ gorm.Plugin = (*Router)(nil)

// New returns a router. What is wrong with the config, db.Use says.
func New(config Config) *Router {
	return &Router{config: config, lease: lease{began: time.Now()}, migrated: map[*schema.Schema]bool{}}
}

// Name returns the name under which GORM keeps the router.
func (*Router) Name() string { return "snowkey:shard" }

// Initialize reads or makes the map, registers the plugin that fills in keys, and the callbacks; db.Use calls it. The error wraps [ErrConfig], [ErrDatabase],
// one of package idgen/shard, or one of gormplugin.
func (r *Router) Initialize(db *gorm.DB) (err error) {
	if r.own != nil {
		return fmt.Errorf("%w: this router is one of a database already; make a router for each", ErrConfig)
	}
	if db.Plugins[(*gormplugin.Plugin)(nil).Name()] != nil {
		return fmt.Errorf("%w: the database has the plugin of gormplugin already, and the router registers its own", ErrConfig)
	}
	config, err := r.config.complete(db)
	if err != nil {
		return err
	}
	dialect, err := grant.LookupDialect(db.Name())
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDatabase, err)
	}
	pool, err := r.openPools(db, config)
	if err != nil {
		return err
	}
	ctx := context.Background()
	r.store = idshard.NewStore(pool, dialect)
	if err := r.begin(ctx, config); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close())
		}
	}()
	r.config = config
	r.keeper, err = grant.Open(ctx, grant.SQL(pool, dialect, config.GrantOptions...), config.grants())
	if err != nil {
		return fmt.Errorf("shard: acquiring a node number: %w", err)
	}
	options := append([]gormplugin.Option{gormplugin.From[int64](&source{router: r, keeper: r.keeper})}, config.Plugin...)
	for _, m := range config.Models {
		options = append(options, gormplugin.Sharding(m.Of, m.Column))
	}
	r.plugin = gormplugin.New(options...)
	if err := db.Use(r.plugin); err != nil {
		return err
	}
	if err := errors.Join(r.registerSnapshots(db), r.registerCreate(db), r.registerQueries(db)); err != nil {
		return fmt.Errorf("shard: register the callbacks: %w", err)
	}
	r.own = db
	return nil
}

// openPools notes the pools of all databases, and returns the router's own.
func (r *Router) openPools(db *gorm.DB, config Config) (*sql.DB, error) {
	own, err := db.DB()
	if err != nil {
		return nil, fmt.Errorf("%w: the router's own has no *sql.DB: %w", ErrDatabase, err)
	}
	r.pools = map[*sql.DB]string{own: ""}
	for _, name := range config.databases() {
		pool, err := config.Databases[name].DB()
		if err != nil {
			return nil, fmt.Errorf("%w: Databases[%q] has no *sql.DB: %w", ErrDatabase, name, err)
		}
		if other, twice := r.pools[pool]; twice {
			return nil, fmt.Errorf("%w: Databases[%q] and %q are one and the same", ErrConfig, name, other)
		}
		r.pools[pool] = name
	}
	return own, nil
}

// begin reads the map, or makes it, and starts to keep the lease. Processes that start at once make one map and read the same.
func (r *Router) begin(ctx context.Context, config Config) error {
	if err := r.store.Setup(ctx); err != nil {
		return err
	}
	_, err := r.store.Load(ctx, config.Name)
	if errors.Is(err, idshard.ErrNoMap) && len(config.Shards) > 0 {
		first, err := config.firstMap()
		if err != nil {
			return fmt.Errorf("%w: Shards: %w", ErrConfig, err)
		}
		if err := r.store.Create(ctx, config.Name, first); err != nil && !errors.Is(err, idshard.ErrVersion) {
			return err
		}
	} else if err != nil {
		return err
	}
	at := r.lease.now()
	m, err := r.store.Load(ctx, config.Name)
	if err != nil {
		return err
	}
	if m.Layout() != config.Layout {
		return fmt.Errorf("%w: the Layout is %s, that of the map %q in force is %s", ErrConfig, config.Layout, config.Name, m.Layout())
	}
	if missing := missingDatabases(m, config); len(missing) > 0 {
		return fmt.Errorf("%w: the map %q, version %d, names %q, which are not in Databases", ErrDatabase, config.Name, m.Version(), missing)
	}
	if config.Lease > m.Lease() {
		return fmt.Errorf("%w: Lease %s, that of the map %q is %s, which is all that moves of rows wait for", ErrConfig, config.Lease, config.Name, m.Lease())
	}
	if config.Lease == 0 {
		config.Lease = m.Lease()
	}
	r.lease.start(r.store, config, &state{m: m, at: at, since: at})
	return nil
}

// missingDatabases returns the names in a map that the config has no database for.
func missingDatabases(m *idshard.Map, config Config) (missing []string) {
	seen := map[string]bool{"": true}
	for _, s := range m.Shards() {
		if !seen[s.Database] && config.Databases[s.Database] == nil {
			missing = append(missing, s.Database)
		}
		seen[s.Database] = true
	}
	return missing
}

// grants returns the config of the keeper, whose generator is given the bucket with each id.
func (c Config) grants() grant.Config {
	g := c.Grants
	options := append([]idgen.Option{idgen.Sharded}, g.Generator...)
	g.Generator = append(options, c.Layout, idgen.WithShards())
	return g
}

// Close gives the node number back; creates fail from then on. What else is routed goes on, with the map that is in force.
func (r *Router) Close() error {
	r.lease.close()
	if r.keeper == nil {
		return nil
	}
	return r.keeper.Close()
}

// Map returns the map in force as far as the router knows, nil before db.Use.
func (r *Router) Map() *idshard.Map { return r.lease.known() }

// Reload reads the map again, which statements do by themselves when the lease is over. The error wraps [ErrLease].
func (r *Router) Reload(ctx context.Context) error { return r.lease.reload(ctx) }

// current returns the map, read again when the lease is over. The error wraps [ErrLease], or is the context's.
func (r *Router) current(ctx context.Context) (*idshard.Map, error) { return r.lease.current(ctx) }

// explain is the callback at the end of each statement of a sharded model: an error of a fence becomes an ErrMoved, and the map is read again. In a
// transaction the statement does not wait for that: it may hold the only connection, and the question has that when it is rolled back.
func (r *Router) explain(db *gorm.DB) {
	if db.Error == nil || errors.Is(db.Error, ErrMoved) || !idshard.IsFenced(db.Error) {
		return
	}
	db.Error = fmt.Errorf("%w: do the whole transaction again: %w", ErrMoved, db.Error)
	r.lease.doubt()
	asked := r.lease.ask()
	if _, in := db.Statement.ConnPool.(gorm.TxCommitter); in {
		db.Error = &askedError{db.Error, asked}
		return
	}
	_ = r.lease.await(db.Statement.Context, asked) // the next statement meets the error
}

// DB returns a session of the database that has the rows of a sharding key, for a transaction there. The error wraps idshard.ErrKey, or [ErrSpan] when
// they are in more than one database.
func (r *Router) DB(ctx context.Context, key any) (*gorm.DB, error) {
	if r.own == nil {
		return nil, fmt.Errorf("%w: the router has no database; call db.Use", ErrConfig)
	}
	m, err := r.current(ctx)
	if err != nil {
		return nil, err
	}
	indexes, err := m.OfKey(nil, key)
	if err != nil {
		return nil, err
	}
	name := m.Shard(indexes[0]).Database
	for _, i := range indexes {
		if other := m.Shard(i).Database; other != name {
			return nil, fmt.Errorf("%w: the key %v has rows in the databases %q and %q", ErrSpan, key, name, other)
		}
	}
	pool, err := r.pool(name)
	if err != nil {
		return nil, err
	}
	return sessionOn(r.own.WithContext(ctx), pool).Set(placedBy, m.Version()).Session(&gorm.Session{}), nil
}
