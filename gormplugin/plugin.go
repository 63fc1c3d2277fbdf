package gormplugin

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/uid"
)

// Plugin fills in primary keys. It is made by [New] and registered with db.Use.
type Plugin struct {
	err     error // of the options
	source  *source
	uuids   *source // of keys of type sqltype.UUID, where source makes none of 16 bytes
	ulids   *source // of type sqltype.ULID
	named   map[string]*source
	allKeys bool
	tables  []tableKey
	models  []any // to prepare

	generator   []idgen.Option
	config      grant.Config
	grants      []grant.SQLOption
	grantsIn    grant.Store // nil: the database
	beforeHooks bool
	logger      *slog.Logger // nil: slog.Default()
	unwarned    bool         // of traps

	mu   sync.Mutex // held by Initialize
	node node

	tablePlans map[string]*plan
	plans      sync.Map // *schema.Schema → planned
	asked      sync.Map // string → true: tables that are known to count or not
	failures   failures
}

var _ gorm.Plugin = (*Plugin)(nil)

// New returns the plugin. Without [From] its keys are snowflakes of the default layout, and db.Use acquires a node number in the database,
// in the table snowkey_nodes, which it makes when it is missing, see package idgen/grant. [Plugin.Close] gives the number back. A process that
// ends without Close keeps it for as long as the process has had it, at most ten minutes.
func New(options ...Option) *Plugin {
	p := &Plugin{named: map[string]*source{}, tablePlans: map[string]*plan{}}
	p.uuids, _ = newSource(uid.V7()) // fails for nil alone
	p.ulids, _ = newSource(uid.ULID())
	for _, o := range options {
		if o != nil {
			p.err = errors.Join(p.err, o(p))
		}
	}
	return p
}

// Name returns the name under which GORM keeps the plugin.
func (*Plugin) Name() string { return "snowkey" }

// Initialize registers the callbacks, and acquires a node number unless [From] gives a source. db.Use calls it, and so does gorm.Open for
// gorm.Config.Plugins. A second connection to the same database gets the same number. The error wraps that of an option; [ErrDatabase] for a
// database that cannot grant a number, or is not the database of the number; [ErrKey] for a table or a model to prepare whose key cannot be filled; or is
// one of [grant.Open].
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
	} else if p.node.keeper != nil && p.grantsIn == nil {
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

// Keeper returns the keeper of the plugin's node number, with its state and counters; nil before db.Use, and with [From].
func (p *Plugin) Keeper() *grant.Keeper { return p.node.keeper }

// Close gives the node number back. Call it before closing the database: it needs a connection of the pool, and waits at most ten seconds for one.
// Later creates that need a key fail. With [From] it does nothing.
func (p *Plugin) Close() error {
	if p.node.keeper == nil {
		return nil
	}
	return p.node.keeper.Close()
}
