package gormplugin

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/idgen/grant"
)

// Plugin fills in primary keys. It is made by [New] and registered with db.Use.
type Plugin struct {
	err     error // of the options
	source  *source
	named   map[string]*source
	allKeys bool
	tables  []tableKey
	models  []any // to prepare

	shardings []modelSharding
	split     Splitter // nil until Split

	config grant.Config
	grants []grant.SQLOption
	keeper *grant.Keeper // nil with From

	tablePlans map[string]*plan
	plans      sync.Map // *schema.Schema → planned
}

var _ gorm.Plugin = (*Plugin)(nil)

// New returns the plugin. Without [From] its keys are snowflakes of the default layout, and db.Use acquires a node number for them: it is
// granted in the database itself, in the table snowkey_nodes, which is made when it is missing, see package idgen/grant. Then
// [Plugin.Close] gives the number back; a process that ends without it keeps it for as long as it has had it, ten minutes at most.
func New(options ...Option) *Plugin {
	p := &Plugin{named: map[string]*source{}, tablePlans: map[string]*plan{}}
	for _, o := range options {
		if o != nil {
			p.err = errors.Join(p.err, o(p))
		}
	}
	return p
}

// Name returns the name under which GORM keeps the plugin.
func (*Plugin) Name() string { return "snowkey" }

// Initialize registers the callbacks, and acquires a node number unless [From] gives a source; db.Use calls it. The error wraps that of
// an option, [ErrDatabase] for a database that no number can be granted in, [ErrKey] for a table or a model to prepare with a key that
// cannot be filled, or is one of [grant.Open].
func (p *Plugin) Initialize(db *gorm.DB) (err error) {
	if p.err != nil {
		return p.err
	}
	if p.keeper != nil {
		return fmt.Errorf("%w: this plugin has a node number of another one already; make a plugin for each", ErrDatabase)
	}
	if p.source == nil {
		if err := p.acquire(db); err != nil {
			return err
		}
		defer func() {
			if err != nil {
				err = errors.Join(err, p.Close())
			}
		}()
	}
	if err := p.planTables(); err != nil {
		return err
	}
	for _, model := range p.models {
		if err := p.prepare(db, model); err != nil {
			return err
		}
	}
	create := db.Callback().Create()
	// Before the model's hooks, so that they can read the key, and again after them, since a hook may overwrite the struct.
	err = errors.Join(
		create.Before("gorm:before_create").Register("snowkey:fill", p.fill),
		create.Before("gorm:create").Register("snowkey:refill", p.refill),
		create.After("gorm:create").Before("gorm:save_after_associations").Register("snowkey:settle", p.settle),
	)
	if err != nil {
		return fmt.Errorf("gormplugin: register the callbacks: %w", err)
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
	keeper, err := grant.Open(context.Background(), grant.SQL(pool, dialect, p.grants...), p.config)
	if err != nil {
		return fmt.Errorf("gormplugin: acquiring a node number: %w", err)
	}
	p.keeper = keeper
	p.source, err = newSource(keeper)
	return err
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

// fill is the callback before the hooks of a model.
func (p *Plugin) fill(db *gorm.DB) {
	if plan := p.planOf(db); plan != nil && p.fillRows(db, plan) {
		upsertOf(db.Statement)
	}
}

// refill is the callback before the INSERT.
func (p *Plugin) refill(db *gorm.DB) {
	if plan := p.planOf(db); plan != nil && !p.splits(plan) && p.fillRows(db, plan) && p.checkRows(db, plan) {
		p.prepareInsert(db, plan)
	}
}

// prepareInsert has the statement insert the rows as they are to be.
func (p *Plugin) prepareInsert(db *gorm.DB, plan *plan) {
	if plan.schema != nil {
		plan.setSchema(db.Statement, plan.insertSchema(db.Statement))
	}
	if err := plan.prepareUpsert(db.Statement); err != nil {
		_ = db.AddError(fmt.Errorf("gormplugin: key of %s: %w", db.Statement.Table, err))
	}
}

// settle is the callback after the INSERT.
func (p *Plugin) settle(db *gorm.DB) {
	stmt := db.Statement
	restoreSchema(stmt)
	plan := p.tablePlan(stmt)
	if stmt.Schema != nil {
		plan, _ = p.plan(stmt.Schema) // the error is one that the callbacks before have found
	}
	if plan != nil && !p.splits(plan) {
		p.settleInsert(db, plan)
	}
}

// settleInsert gives the rows the keys that they have.
func (p *Plugin) settleInsert(db *gorm.DB, plan *plan) {
	stmt := db.Statement
	if plan.schema == nil && plan.keys[0].selected(stmt) {
		removeGuess(stmt)
	}
	if err := plan.settleUpsert(db); err != nil {
		_ = db.AddError(fmt.Errorf("gormplugin: key of %s: %w", stmt.Table, err))
	}
}

// planOf returns what to fill in the rows of a statement, nil for nothing.
func (p *Plugin) planOf(db *gorm.DB) *plan {
	if db.Error != nil {
		return nil
	}
	if db.Statement.Schema == nil {
		return p.tablePlan(db.Statement)
	}
	plan, err := p.plan(db.Statement.Schema)
	if plan != nil {
		err = plan.checkCollation(db)
	}
	if err != nil {
		_ = db.AddError(fmt.Errorf("gormplugin: key of %s: %w", db.Statement.Schema.Name, err))
		return nil
	}
	return plan
}

// fillRows fills what is missing and tells whether that went well.
func (p *Plugin) fillRows(db *gorm.DB, plan *plan) bool {
	for _, k := range plan.keys {
		if err := k.fill(db.Statement); err != nil {
			_ = db.AddError(fmt.Errorf("gormplugin: key %s of %s: %w", k.column, db.Statement.Table, err))
			return false
		}
	}
	return true
}

// planned is a plan, nil for nothing to fill, or why there is none.
type planned struct {
	*plan
	err error
}

// plan returns what to fill in rows of a schema, nil for nothing. The error wraps [ErrKey] or [ErrNoSource].
func (p *Plugin) plan(s *schema.Schema) (*plan, error) {
	if cached, ok := p.plans.Load(s); ok {
		return cached.(*planned).plan, cached.(*planned).err
	}
	made, err := p.newPlan(s)
	cached, _ := p.plans.LoadOrStore(s, &planned{made, err})
	return cached.(*planned).plan, cached.(*planned).err
}
