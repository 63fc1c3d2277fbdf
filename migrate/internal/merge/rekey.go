package merge

import (
	"context"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/migrate/inspect"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// plan plans new ids for the databases whose ids clash, each with a node of its own that no id of any of them has, and room for them in
// Into.
func (m *merger) plan(ctx context.Context, into *gorm.DB, from []*gorm.DB, found *clashing) error {
	if !found.ids() {
		return nil
	}
	m.outcome.Rekeys = make([]*plan.Plan, len(from))
	node := m.layout.Generators() >> m.layout.Bits(idgen.Shard)
	for i, db := range from {
		tables := found.tables[i+1]
		if len(tables) == 0 {
			continue
		}
		for node--; node >= 0 && found.nodes[node]; node-- {
		}
		if node < 0 {
			return fmt.Errorf("merge: no rekey of %s: ids have each of the layout's %d nodes already", m.sides[i+1].label, m.layout.Generators())
		}
		p, err := m.rekey(ctx, db, tables, node, found.top[i+1])
		if err != nil {
			return fmt.Errorf("merge: no rekey of %s could be planned: %w", m.sides[i+1].label, err)
		}
		m.outcome.Rekeys[i] = p
	}
	return m.widen(ctx, into, found)
}

// widen plans to make Into's columns as wide as the new ids need.
func (m *merger) widen(ctx context.Context, into *gorm.DB, found *clashing) error {
	var tables []string
	for _, t := range m.tables {
		again := slices.ContainsFunc(found.tables, func(names []string) bool { return slices.Contains(names, t.text) })
		if again && t.columns[t.key[0]].Bits < 64 {
			tables = append(tables, t.text)
		}
	}
	if len(tables) == 0 {
		return nil
	}
	o := m.options.Plan
	o.Mode, o.Tables, o.Layout = plan.Widen, tables, m.layout
	p, err := m.make(ctx, into, o)
	if err != nil {
		return fmt.Errorf("merge: no widening of %s could be planned: %w", m.sides[0].label, err)
	}
	m.outcome.Widen = p
	return nil
}

// make inspects a database, and plans.
func (m *merger) make(ctx context.Context, db *gorm.DB, o plan.Options) (*plan.Plan, error) {
	report, err := inspect.Read(ctx, db, m.options.Inspect)
	if err != nil {
		return nil, err
	}
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	return plan.Make(ctx, pool, report, o)
}

// rekey plans new ids for tables of one database.
func (m *merger) rekey(ctx context.Context, db *gorm.DB, tables []string, node, top int64) (*plan.Plan, error) {
	o := m.options.Plan
	o.Mode, o.Tables, o.Layout, o.Node = plan.Rekey, tables, m.layout, &node
	note := ""
	if top >= m.below {
		o.Below = top + 1 // so that snowflakes get new ids as well
		note = fmt.Sprintf("Ids up to %d count as old, although they are snowflakes: another database has the same.", top)
	}
	p, err := m.make(ctx, db, o)
	if err != nil {
		return nil, err
	}
	if note != "" {
		p.Notes = append(p.Notes, note)
	}
	return p, nil
}
