package gormplugin

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
)

// Plugin fills in primary keys. It is made by [New] and registered with db.Use.
type Plugin struct {
	source idgen.Source[int64] // nil until Initialize, unless From gives it
	from   bool
	config grant.Config
	table  []grant.SQLOption
	keeper *grant.Keeper // nil with From
	plans  sync.Map      // *schema.Schema → *plan
	keys   sync.Pool
}

var _ gorm.Plugin = (*Plugin)(nil)

// Option is something that [New] can be told.
type Option func(*Plugin)

// New returns the plugin. Without [From] its keys are snowflakes of the default layout, and db.Use acquires a node number for them: it is
// granted in the database itself, in the table snowkey_nodes, which is made when it is missing, see package idgen/grant. Then
// [Plugin.Close] gives the number back; a process that ends without it keeps it for up to ten minutes.
func New(options ...Option) *Plugin {
	p := &Plugin{keys: sync.Pool{New: func() any { return new([]int64) }}}
	for _, o := range options {
		if o != nil {
			o(p)
		}
	}
	return p
}

// Grants says what the keys and their grants are like when the plugin acquires a node number itself: the layout, the key space, for how
// long; and with [grant.Table] the table they are kept in.
func Grants(config grant.Config, options ...grant.SQLOption) Option {
	return func(p *Plugin) { p.config, p.table = config, options }
}

// From gives the source of the keys. Keys of one table must all come from sources that never make the same: for snowflake
// generators, of one layout and with different node numbers.
func From(source idgen.Source[int64]) Option {
	return func(p *Plugin) { p.source, p.from = source, true }
}

// Name returns the name under which GORM keeps the plugin.
func (*Plugin) Name() string { return "snowkey" }

// Initialize registers the callbacks, and acquires a node number unless [From] gives a source; db.Use calls it. The error wraps
// [ErrNoSource] for a source that is nil, [ErrDatabase] for a database that no number can be granted in, or is one of [grant.Open].
func (p *Plugin) Initialize(db *gorm.DB) error {
	if p.keeper != nil {
		return fmt.Errorf("%w: this plugin has a node number of another one already; make a plugin for each", ErrDatabase)
	}
	if p.from && p.source == nil {
		return fmt.Errorf("%w: From was given nil", ErrNoSource)
	}
	if !p.from {
		if err := p.acquire(db); err != nil {
			return err
		}
	}
	create := db.Callback().Create()
	// Before the model's hooks, so that they can read the key, and again after them, since a hook may overwrite the struct.
	err := create.Before("gorm:before_create").Register("snowkey:fill", p.fill)
	if err == nil {
		err = create.Before("gorm:create").Register("snowkey:refill", p.fill)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("gormplugin: register the callback: %w", err), p.Close())
	}
	return nil
}

// acquire makes a keeper in the database the source.
func (p *Plugin) acquire(db *gorm.DB) error {
	dialect, err := grant.LookupDialect(db.Name())
	if err != nil {
		return fmt.Errorf("%w: %w; give a source with From", ErrDatabase, err)
	}
	pool, err := db.DB()
	if err != nil {
		return fmt.Errorf("%w: it has no *sql.DB: %w; give a source with From", ErrDatabase, err)
	}
	keeper, err := grant.Open(context.Background(), grant.SQL(pool, dialect, p.table...), p.config)
	if err != nil {
		return fmt.Errorf("gormplugin: acquiring a node number: %w", err)
	}
	p.keeper, p.source = keeper, keeper
	return nil
}

// Keeper returns what keeps the node number that the plugin has acquired, to ask for its state; nil before db.Use, and with [From].
func (p *Plugin) Keeper() *grant.Keeper { return p.keeper }

// Close gives the node number back that the plugin has acquired, before the database is closed. Creates that need a key fail from then on.
// It needs a connection of the pool, and waits ten seconds for one at most.
// With [From] it does nothing.
func (p *Plugin) Close() error {
	if p.keeper == nil {
		return nil
	}
	return p.keeper.Close()
}

// fill is the callback.
func (p *Plugin) fill(db *gorm.DB) {
	stmt := db.Statement
	if db.Error != nil || stmt.Schema == nil {
		return
	}
	plan := p.plan(stmt.Schema)
	if plan == nil || !plan.selected(stmt) {
		return
	}
	if err := p.fillStatement(stmt, plan); err != nil {
		_ = db.AddError(fmt.Errorf("gormplugin: key of %s: %w", stmt.Schema.Name, err))
	}
}

func (p *Plugin) fillStatement(stmt *gorm.Statement, plan *plan) error {
	missing, err := plan.missing(stmt)
	if err != nil || missing == 0 {
		return err
	}
	buffer := p.keys.Get().(*[]int64)
	defer p.keys.Put(buffer)
	if cap(*buffer) < missing {
		*buffer = make([]int64, missing)
	}
	keys := (*buffer)[:missing]
	if err := p.take(stmt.Context, keys); err != nil {
		return err
	}
	return plan.set(stmt, keys)
}

// take asks the source for keys. A panic of the source becomes an error here, because one in a callback would leave the connection
// of GORM's transaction open for ever.
func (p *Plugin) take(ctx context.Context, keys []int64) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", ErrSourcePanic, r)
		}
	}()
	if len(keys) == 1 {
		keys[0], err = p.source.Next(ctx)
		return err
	}
	return p.source.Fill(ctx, keys)
}

// plan returns what to fill in rows of a schema, nil for nothing.
func (p *Plugin) plan(s *schema.Schema) *plan {
	if cached, ok := p.plans.Load(s); ok {
		return cached.(*plan)
	}
	cached, _ := p.plans.LoadOrStore(s, newPlan(s))
	return cached.(*plan)
}
