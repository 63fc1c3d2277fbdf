package gormplugin

import (
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/idgen"
)

// CreatedBetween selects the rows that were created from one instant on and before another, by their keys alone: a range of the primary
// key, which needs no other column and no other index.
//
//	db.Scopes(gormplugin.CreatedBetween(yesterday, today)).Find(&orders)
//
// It fits db.Scopes, Preload, and with [Generic] GORM's generic interface, and goes with any statement that has a model: Find, Count,
// Pluck, Rows, Update, Delete, joins, subqueries. It narrows what all other conditions select, whatever Or they have, in GORM or in SQL.
// Their SQL is put in brackets, so each has to be a condition and nothing more, such as an ORDER BY. Called by itself, as
// CreatedBetween(from, to)(db), it does the same, also with the conditions that follow.
//
// GORM accepts a scope in a few places where it never calls it, such as the condition of a join: docs/statements.md lists them.
//
// Keys hold the tick of their creation and nothing finer, as the clock of their generator told it, so both instants are cut to the tick
// that they lie in: a key of the tick of from is in the range, one of the tick of to is not. Ranges that meet share no row and miss none,
// and a range that ends now has only ticks that are over. With to in the tick of from no row is selected.
//
// What lies outside of the layout's time holds no keys: a range that begins before the epoch begins with the epoch, so the zero
// [time.Time] is a beginning of all, and one that ends past the last tick ends with it. A range that is outside altogether selects no
// rows. Keys that the layout cannot make, negative or too large, are in no range; those set by hand are taken for what they would be.
//
// The layout is that of the source from which the plugin fills in the key of the model: an [idgen.Snowflake], a [grant.Keeper], or
// any with a method Layout() idgen.Layout. The statement fails with [ErrRange] when from is after to, [ErrNoPlugin], [ErrNotFilled],
// [ErrNoLayout] when the source has none or one with the time not on top, [ErrKey] for keys that are text in the database,
// [gorm.ErrModelValueRequired] without a model, as in the condition of a join, and [ErrScope] for raw SQL, of Raw and of Exec.
func CreatedBetween(from, to time.Time) func(*gorm.DB) *gorm.DB { return Created{}.Between(from, to) }

// CreatedAfter selects the rows that were created in the tick of an instant or later, so that none of those after it is missed. It is
// [CreatedBetween] without an end.
func CreatedAfter(t time.Time) func(*gorm.DB) *gorm.DB { return Created{}.After(t) }

// CreatedBefore selects the rows that were created before the tick of an instant. It is [CreatedBetween] from the epoch on: each row is
// in one of CreatedBefore(t) and CreatedAfter(t).
func CreatedBefore(t time.Time) func(*gorm.DB) *gorm.DB { return Created{}.Before(t) }

// Created selects by time as [CreatedBetween] and its like do, in keys of a layout that is given: of a database without the plugin, of
// rows that another program writes. It takes any primary key that is a number. The zero Layout is the plugin's.
type Created struct{ Layout idgen.Layout }

// Between is [CreatedBetween] in keys of the layout.
func (c Created) Between(from, to time.Time) func(*gorm.DB) *gorm.DB {
	return created{layout: c.Layout, from: from.Round(0), to: to.Round(0)}.scope
}

// After is [CreatedAfter] in keys of the layout.
func (c Created) After(t time.Time) func(*gorm.DB) *gorm.DB {
	return created{layout: c.Layout, from: t.Round(0), endless: true}.scope
}

// Before is [CreatedBefore] in keys of the layout.
func (c Created) Before(t time.Time) func(*gorm.DB) *gorm.DB { return c.Between(time.Time{}, t) }

// created is a range of time as a condition on the primary key. It becomes one of keys when the statement is built, since only then is
// the model known. The times have no monotonic reading, which would order them otherwise than the keys are.
type created struct {
	layout   idgen.Layout // zero for the plugin's
	from, to time.Time
	endless  bool // there is no to
}

var _ clause.Expression = created{}

func (c created) scope(db *gorm.DB) *gorm.DB { return narrow(db, c) }

// Build writes the condition.
func (c created) Build(builder clause.Builder) {
	key, layout, err := c.key(builder)
	if err != nil {
		refuse(builder, err)
		return
	}
	least, greatest, err := c.bounds(layout)
	if err != nil {
		refuse(builder, err)
		return
	}
	builder.WriteQuoted(clause.Column{Table: clause.CurrentTable, Name: key.DBName})
	_, _ = builder.WriteString(" BETWEEN ")
	builder.AddVar(builder, least)
	_, _ = builder.WriteString(" AND ")
	builder.AddVar(builder, greatest)
}

// key returns the primary key of the statement's model and the layout of its values.
func (c created) key(builder clause.Builder) (*schema.Field, idgen.Layout, error) {
	stmt, err := statementOf(builder)
	if err != nil {
		return nil, idgen.Layout{}, err
	}
	key, layout := stmt.Schema.PrioritizedPrimaryField, c.layout
	if layout == (idgen.Layout{}) {
		plugin, ok := stmt.DB.Plugins[(*Plugin)(nil).Name()].(*Plugin)
		if !ok {
			return nil, idgen.Layout{}, fmt.Errorf("%w: call db.Use, or give the layout with Created", ErrNoPlugin)
		}
		if key, layout, err = plugin.layoutOf(stmt.Schema); err != nil {
			return nil, idgen.Layout{}, err
		}
	}
	return key, layout, requireNumber(stmt, key)
}

// bounds returns the least and the greatest id of the range, 0 and -1 when there is none.
func (c created) bounds(layout idgen.Layout) (least, greatest int64, err error) {
	if greatest, err = layout.MaxID(layout.ExhaustsAt().Add(-1)); err != nil {
		return 0, 0, fmt.Errorf("%w: %w", ErrNoLayout, err)
	}
	return c.boundsBelow(layout, idgen.Parts{}, 0, greatest)
}

// boundsBelow is bounds among the ids from least to greatest, which are those with some parts above the time.
func (c created) boundsBelow(layout idgen.Layout, above idgen.Parts, least, greatest int64) (int64, int64, error) {
	if !c.endless && c.from.After(c.to) {
		return 0, 0, fmt.Errorf("%w: %s is after %s", ErrRange, c.from.UTC().Format(time.RFC3339Nano), c.to.UTC().Format(time.RFC3339Nano))
	}
	epoch, end := layout.Epoch(), layout.ExhaustsAt()
	if !c.from.Before(end) || !c.endless && !c.to.After(epoch) {
		return 0, -1, nil
	}
	if c.from.After(epoch) {
		above.Time = c.from
		first, err := layout.Compose(above)
		if err != nil {
			return 0, 0, err
		}
		least = first
	}
	if !c.endless && c.to.Before(end) {
		above.Time = c.to
		first, err := layout.Compose(above)
		if err != nil {
			return 0, 0, err
		}
		greatest = first - 1
	}
	return least, greatest, nil
}

// layoutOf returns the primary key that the plugin fills in rows of a schema, and the layout of its source.
func (p *Plugin) layoutOf(s *schema.Schema) (*schema.Field, idgen.Layout, error) {
	plan, err := p.plan(s)
	if err != nil {
		return nil, idgen.Layout{}, err
	}
	if plan != nil {
		for _, k := range plan.keys {
			if !k.field.PrimaryKey {
				continue
			}
			layout, ok := k.source.layout()
			if !ok {
				err = fmt.Errorf("%w: the source of %s.%s has the type %T, and no layout", ErrNoLayout, s.Name, k.field.Name, k.source.of)
			}
			return k.field, layout, err
		}
	}
	return nil, idgen.Layout{}, fmt.Errorf("%w: of %s; give the layout with Created", ErrNotFilled, s.Name)
}
