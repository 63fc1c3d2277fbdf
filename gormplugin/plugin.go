package gormplugin

import (
	"context"
	"fmt"
	"sync"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/idgen"
)

// Plugin fills in primary keys. It is made by [New] and registered with db.Use.
type Plugin struct {
	source idgen.Source[int64]
	plans  sync.Map // *schema.Schema → *plan
	keys   sync.Pool
}

var _ gorm.Plugin = (*Plugin)(nil)

// Option is something that [New] can be told.
type Option func(*Plugin)

// New returns the plugin. It needs a source, see [From]; db.Use returns [ErrNoSource] without one.
func New(options ...Option) *Plugin {
	p := &Plugin{keys: sync.Pool{New: func() any { return new([]int64) }}}
	for _, o := range options {
		o(p)
	}
	return p
}

// From gives the source of the keys. Keys of one table must all come from sources that never make the same: for snowflake
// generators, of one layout and with different node numbers.
func From(source idgen.Source[int64]) Option {
	return func(p *Plugin) { p.source = source }
}

// Name returns the name under which GORM keeps the plugin.
func (*Plugin) Name() string { return "snowkey" }

// Initialize registers the callbacks; db.Use calls it.
func (p *Plugin) Initialize(db *gorm.DB) error {
	if p.source == nil {
		return fmt.Errorf("%w: use gormplugin.New(gormplugin.From(source))", ErrNoSource)
	}
	create := db.Callback().Create()
	// Before the model's hooks, so that they can read the key, and again after them, since a hook may overwrite the struct.
	if err := create.Before("gorm:before_create").Register("snowkey:fill", p.fill); err != nil {
		return fmt.Errorf("gormplugin: register the callback: %w", err)
	}
	if err := create.Before("gorm:create").Register("snowkey:refill", p.fill); err != nil {
		return fmt.Errorf("gormplugin: register the callback: %w", err)
	}
	return nil
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
