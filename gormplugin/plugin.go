package gormplugin

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"
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

	config      grant.Config
	grants      []grant.SQLOption
	beforeHooks bool

	mu   sync.Mutex // held by Initialize
	node node

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

// Initialize registers the callbacks, and acquires a node number unless [From] gives a source; db.Use calls it, and so does gorm.Open for
// what is in gorm.Config.Plugins. For another connection to the same database it does the same, with the same number. The error wraps that
// of an option, [ErrDatabase] for a database that no number can be granted in or another one than that of the number, [ErrKey] for a table
// or a model to prepare with a key that cannot be filled, or is one of [grant.Open].
func (p *Plugin) Initialize(db *gorm.DB) (err error) {
	if p.err != nil {
		return p.err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.node.keeper != nil && p.node.isCopy(db) {
		return refuseCopies(db)
	}
	if p.source == nil {
		if err := p.acquire(db); err != nil {
			return err
		}
		defer func() {
			if err != nil {
				err = errors.Join(err, p.Close())
				p.node, p.source = node{}, nil
			}
		}()
	} else if p.node.keeper != nil {
		if err := p.requireSame(db); err != nil {
			return err
		}
	}
	if err := p.planTables(); err != nil {
		return err
	}
	for _, model := range p.models {
		if err := p.prepare(db, model); err != nil {
			return err
		}
	}
	if err := p.register(db); err != nil {
		return fmt.Errorf("gormplugin: register the callbacks: %w", err)
	}
	return nil
}

// register registers the callbacks: at the beginning of a statement, before and after its INSERT, and at its end.
func (p *Plugin) register(db *gorm.DB) error {
	was := db.Config.Logger // which would tell of each callback that is wrapped
	db.Config.Logger = logger.Discard
	defer func() { db.Config.Logger = was }()
	p.watchUpdates(db)
	create, update := db.Callback().Create(), db.Callback().Update()
	first := p.begin
	if p.beforeHooks {
		first = p.fillFirst
	}
	return errors.Join(
		create.Before("gorm:before_create").Register("snowkey:begin", first),
		create.Before("gorm:create").Register("snowkey:fill", p.fill),
		create.After("gorm:create").Before("gorm:save_after_associations").Register("snowkey:settle", p.settle),
		wrap(create, p.guard, "gorm:before_create", "gorm:save_before_associations", "gorm:create", "gorm:save_after_associations", "gorm:after_create"),
		wrapEnd(create, create.After("gorm:after_create"), p.end),
		update.Before("gorm:before_update").Register("snowkey:begin", p.begin),
		wrap(update, p.guard, "gorm:before_update", "gorm:save_before_associations", "gorm:update", "gorm:save_after_associations", "gorm:after_update"),
		wrapEnd(update, update.After("gorm:after_update"), p.end),
	)
}

// Keeper returns what keeps the node number that the plugin has acquired, to ask for its state; nil before db.Use, and with [From].
func (p *Plugin) Keeper() *grant.Keeper { return p.node.keeper }

// Close gives the node number back that the plugin has acquired, before the database is closed. Creates that need a key fail from then on.
// It needs a connection of the pool, and waits ten seconds for one at most.
// With [From] it does nothing.
func (p *Plugin) Close() error {
	if p.node.keeper == nil {
		return nil
	}
	return p.node.keeper.Close()
}

// fillFirst is the callback before the hooks of a model with [BeforeHooks]. The callback that follows them fills what they have lost.
func (p *Plugin) fillFirst(db *gorm.DB) {
	s := beginStatement(db.Statement)
	if plan := p.planOf(db); plan != nil && s.fill(db, plan) {
		s.remember()
	}
}

// fill is the callback before the INSERT.
func (p *Plugin) fill(db *gorm.DB) {
	plan := p.planOf(db)
	if plan == nil {
		return
	}
	s := (*statement)(nil)
	if p.beforeHooks || savesOthers(plan.schema) {
		s = currentStatement(db.Statement)
	}
	if s == nil {
		s = beginStatement(db.Statement)
	}
	if s.given != nil {
		s.recall()
	}
	if s.fill(db, plan) && s.checkSharded(db) {
		s.prepareInsert(db)
	}
}

// fill fills what is missing, and tells whether that went well.
func (s *statement) fill(db *gorm.DB, plan *plan) bool {
	s.plan, s.ctx, s.rows = plan, s.of.Context, rowsOf(s.of)
	if s.given == nil {
		s.given = s.one[:]
		if len(plan.keys) > 1 {
			s.given = make([]given, len(plan.keys))
		}
	}
	for _, k := range plan.keys {
		err := context.Cause(s.ctx)
		if err == nil {
			err = k.fill(s)
		}
		if err != nil {
			_ = db.AddError(fmt.Errorf("gormplugin: key %s of %s: %w", k.column, s.of.Table, err))
			return false
		}
	}
	return true
}

// prepareInsert has the statement insert the rows as they are to be.
func (s *statement) prepareInsert(db *gorm.DB) {
	if s.plan.schema != nil {
		s.setSchema(s.plan.insertSchema(s.of))
	}
	if err := s.prepareUpsert(); err != nil {
		_ = db.AddError(fmt.Errorf("gormplugin: key of %s: %w", s.of.Table, err))
		return
	}
	s.sent = true
}

// settle is the callback after the INSERT.
func (p *Plugin) settle(db *gorm.DB) {
	if db.Error != nil {
		p.explainOverflow(db)
	}
	s := currentStatement(db.Statement)
	if s == nil || s.plan == nil {
		return
	}
	s.restoreSchema()
	s.settleInsert(db)
	if s.written = db.Error == nil && !db.DryRun; db.Error != nil {
		s.takeBackUnwritten(isLost(db)) // a callback may forgive the error
	}
}

// settleInsert gives the rows the keys that they have.
func (s *statement) settleInsert(db *gorm.DB) {
	if s.plan.schema == nil && s.plan.keys[0].selected(s.of) {
		removeGuess(s.of)
	}
	if err := s.settleUpsert(db); err != nil {
		_ = db.AddError(fmt.Errorf("gormplugin: key of %s: %w", s.of.Table, err))
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
	of := p.planned(db.Statement.Schema)
	plan, err := of.plan, of.err
	if plan != nil {
		err = plan.checkCollation(db)
	}
	if err != nil {
		_ = db.AddError(fmt.Errorf("gormplugin: key of %s: %w", db.Statement.Schema.Name, err))
		return nil
	}
	of.warn(db)
	return plan
}

// planned is a plan, nil for nothing to fill, or why there is none.
type planned struct {
	*plan
	err    error
	narrow bool        // AllKeys leaves the key
	warned atomic.Bool // that it does
}

// plan returns what to fill in rows of a schema, nil for nothing. The error wraps [ErrKey] or [ErrNoSource].
func (p *Plugin) plan(s *schema.Schema) (*plan, error) {
	of := p.planned(s)
	return of.plan, of.err
}

func (p *Plugin) planned(s *schema.Schema) *planned {
	if cached, ok := p.plans.Load(s); ok {
		return cached.(*planned)
	}
	made := &planned{narrow: p.leavesNarrow(s)}
	made.plan, made.err = p.newPlan(s)
	cached, _ := p.plans.LoadOrStore(s, made)
	return cached.(*planned)
}

// removeGuess takes the key out of maps without a model that GORM puts there from LastInsertId: it is right of the first one at most.
func removeGuess(stmt *gorm.Statement) {
	_ = rowsOf(stmt).each(func(_ int, r row) error {
		delete(r.columns, "@id")
		return nil
	})
}
