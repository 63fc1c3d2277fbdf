package gormplugin

import (
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/sqltype"
)

// CreatedBetween selects the rows created at or after one instant and before another, by a range of their primary keys. It needs no other column and
// no other index.
//
//	db.Scopes(gormplugin.CreatedBetween(yesterday, today)).Find(&orders)
//
// It goes with any statement that has a model: Find, Count, Pluck, Rows, Update, Delete, Preload, joins, subqueries; with [Generic] also with GORM's
// generic interface. It narrows all other conditions, also those with an Or, in GORM or in SQL, and puts their SQL in brackets: so each must be a
// condition alone, without an ORDER BY. CreatedBetween(from, to)(db) does the same, also for conditions that follow. GORM accepts a
// scope in a few places where it never calls it, such as the condition of a join: docs/statements.md lists them.
//
// Keys of [sqltype.UUID], [sqltype.UUIDKey], [sqltype.PublicUUID] and [sqltype.ULID] are selected by their milliseconds. UUIDs of other versions than 7
// count as the time that their first bytes would be; in a column of MariaDB's uuid these have an order of their own.
//
// Both instants are cut to their ticks: a key of the tick of from is in the range, a key of the tick of to is not. Adjoining ranges share no row and miss
// none. When from and to are in one tick, no row is selected.
//
// A range that begins before the layout's epoch begins with the epoch, so the zero [time.Time] selects from the start; one that ends past the last tick
// ends with that. Keys that the layout cannot make, negative or too large, are in no range. Keys set by hand count as the time that they decode to.
//
// The layout is that of the source of the model's key: an [idgen.Snowflake], a [grant.Keeper], or any source with a method Layout() idgen.Layout, or
// Phases() idgen.Phases where the layout changes: then the range has the keys of each layout that lie in it. The
// statement fails with [ErrRange] when from is after to, [ErrNoPlugin], [ErrNotFilled], [ErrNoLayout] when the source has no layout or one with the
// time not on top, [ErrKey] for keys that are text in the database, [gorm.ErrModelValueRequired] without a model, and [ErrScope] for raw SQL.
func CreatedBetween(from, to time.Time) func(*gorm.DB) *gorm.DB { return Created{}.Between(from, to) }

// CreatedAfter selects the rows created in the tick of an instant or later: [CreatedBetween] without an end.
func CreatedAfter(t time.Time) func(*gorm.DB) *gorm.DB { return Created{}.After(t) }

// CreatedBefore selects the rows created before the tick of an instant: [CreatedBetween] from the epoch on. Each row is in one of CreatedBefore(t) and
// CreatedAfter(t).
func CreatedBefore(t time.Time) func(*gorm.DB) *gorm.DB { return Created{}.Before(t) }

// Created selects by time in keys of a given layout: of a database without the plugin, or of rows that another program writes. It takes any primary
// key that is a number. The zero Layout is the plugin's.
type Created struct {
	Layout idgen.Layout
	Phases idgen.Phases // in place of Layout, of keys whose layout changes
}

// Between is [CreatedBetween] in keys of the layout.
func (c Created) Between(from, to time.Time) func(*gorm.DB) *gorm.DB {
	return created{phases: c.phases(), from: from.Round(0), to: to.Round(0)}.scope
}

// After is [CreatedAfter] in keys of the layout.
func (c Created) After(t time.Time) func(*gorm.DB) *gorm.DB {
	return created{phases: c.phases(), from: t.Round(0), endless: true}.scope
}

// Before is [CreatedBefore] in keys of the layout.
func (c Created) Before(t time.Time) func(*gorm.DB) *gorm.DB { return c.Between(time.Time{}, t) }

func (c Created) phases() idgen.Phases {
	if c.Phases == nil && c.Layout != (idgen.Layout{}) {
		return idgen.Phases{{Layout: c.Layout}}
	}
	return c.Phases
}

// created is a range of time as a condition on the primary key. It becomes one of keys when the statement is built, since only then is
// the model known. The times have no monotonic reading, which would order them otherwise than the keys are.
type created struct {
	phases   idgen.Phases // none for the plugin's
	from, to time.Time
	endless  bool // there is no to
}

var _ clause.Expression = created{}

func (c created) scope(db *gorm.DB) *gorm.DB { return narrow(db, c) }

// Build writes the condition.
func (c created) Build(builder clause.Builder) {
	if stmt, ok := builder.(*gorm.Statement); ok && stmt.Schema != nil && len(c.phases) == 0 {
		if least := leastOctets(stmt.Schema.PrioritizedPrimaryField); least != nil {
			c.buildOctets(stmt, least)
			return
		}
	}
	key, phases, err := c.key(builder)
	if err != nil {
		refuse(builder, err)
		return
	}
	r, err := c.boundsOf(phases)
	if err != nil {
		refuse(builder, err)
		return
	}
	column := clause.Column{Table: clause.CurrentTable, Name: key.DBName}
	builder.WriteQuoted(column)
	_, _ = builder.WriteString(" BETWEEN ")
	builder.AddVar(builder, r.least)
	_, _ = builder.WriteString(" AND ")
	builder.AddVar(builder, r.greatest)
	_, _ = builder.WriteString(r.edges(builder.(*gorm.Statement).Quote(column)))
}

// leastOctets returns what gives the least key of a millisecond, nil for keys that are no UUIDs or ULIDs.
func leastOctets(key *schema.Field) func(time.Time) any {
	switch {
	case key == nil || key.Serializer != nil:
	case isUUID(key.IndirectFieldType):
		return func(t time.Time) any { return sqltype.UUID(sqltype.MinULID(t)) } // also of other versions than 7
	case key.IndirectFieldType == ulidType:
		return func(t time.Time) any { return sqltype.MinULID(t) }
	}
	return nil
}

// buildOctets writes the condition on keys of 16 bytes.
func (c created) buildOctets(stmt *gorm.Statement, least func(time.Time) any) {
	if err := c.checkOrder(); err != nil {
		refuse(stmt, err)
		return
	}
	column := clause.Column{Table: clause.CurrentTable, Name: stmt.Schema.PrioritizedPrimaryField.DBName}
	stmt.WriteQuoted(column)
	_, _ = stmt.WriteString(" >= ")
	stmt.AddVar(stmt, least(c.from))
	if !c.endless {
		_, _ = stmt.WriteString(" AND ")
		stmt.WriteQuoted(column)
		_, _ = stmt.WriteString(" < ")
		stmt.AddVar(stmt, least(c.to))
	}
}

// checkOrder fails when the range ends before it begins.
func (c created) checkOrder() error {
	if c.endless || !c.from.After(c.to) {
		return nil
	}
	return fmt.Errorf("%w: %s is after %s", ErrRange, c.from.UTC().Format(time.RFC3339Nano), c.to.UTC().Format(time.RFC3339Nano))
}

// key returns the primary key of the statement's model and the layouts of its values.
func (c created) key(builder clause.Builder) (*schema.Field, idgen.Phases, error) {
	stmt, err := statementOf(builder)
	if err != nil {
		return nil, nil, err
	}
	key, phases := stmt.Schema.PrioritizedPrimaryField, c.phases
	if len(phases) == 0 {
		plugin, ok := stmt.DB.Plugins[(*Plugin)(nil).Name()].(*Plugin)
		if !ok {
			return nil, nil, fmt.Errorf("%w: call db.Use, or give the layout with Created", ErrNoPlugin)
		}
		if key, phases, err = plugin.phasesOf(stmt.Schema); err != nil {
			return nil, nil, err
		}
	}
	return key, phases, requireNumber(stmt, key)
}

// idRange is the ids of a range of time: those from least to greatest, but for some of the first and the last band where the time stands in two places.
type idRange struct {
	least, greatest int64
	first, last     idgen.Layout // of the first and of the last band
	firstEnd, from  int64        // ids up to firstEnd have a lower part of the time of at least from, unless that is 0
	lastBegin, to   int64        // ids from lastBegin on have a lower part of the time below to, unless that is 0
}

// edges returns the conditions beside that of the range, each after an AND. All dialects bind >> and & more tightly than comparisons.
func (r idRange) edges(column string) (sql string) {
	low := func(layout idgen.Layout) string {
		shift, bits := layout.LowTime()
		return fmt.Sprintf("((%s >> %d) & %d)", column, shift, int64(1)<<bits-1)
	}
	if r.from > 0 {
		sql = fmt.Sprintf(" AND (%s > %d OR %s >= %d)", column, r.firstEnd, low(r.first), r.from)
	}
	if r.to > 0 {
		sql += fmt.Sprintf(" AND (%s < %d OR %s < %d)", column, r.lastBegin, low(r.last), r.to)
	}
	return sql
}

// boundsOf is bounds in keys of several layouts, one after the other. Each is above the one before, so the ranges of each adjoin, and only the first and the
// last have edges.
func (c created) boundsOf(phases idgen.Phases) (all idRange, err error) {
	all.greatest = -1
	for i, phase := range phases {
		r, err := c.bounds(phase.Layout)
		if err != nil {
			return r, err
		}
		if first := phase.FirstID(); i > 0 && r.least < first {
			r.least, r.from = first, 0
		}
		if i+1 < len(phases) {
			if last := phases[i+1].FirstID() - 1; r.greatest > last {
				r.greatest, r.to = last, 0
			}
		}
		switch {
		case r.least > r.greatest:
		case all.greatest < 0:
			all = r
		default:
			all.greatest, all.last, all.lastBegin, all.to = r.greatest, r.last, r.lastBegin, r.to
		}
	}
	return all, nil
}

// bounds returns the ids of the range, 0 to -1 when there is none.
func (c created) bounds(layout idgen.Layout) (idRange, error) {
	greatest, err := layout.MaxID(layout.ExhaustsAt().Add(-1))
	if err != nil {
		return idRange{}, fmt.Errorf("%w: %w", ErrNoLayout, err)
	}
	return c.boundsBelow(layout, idgen.Parts{}, 0, greatest)
}

// boundsBelow is bounds among the ids from least to greatest, which are those with some parts above the time.
func (c created) boundsBelow(layout idgen.Layout, above idgen.Parts, least, greatest int64) (idRange, error) {
	r := idRange{least: least, greatest: greatest, first: layout, last: layout}
	if err := c.checkOrder(); err != nil {
		return r, err
	}
	epoch, end := layout.Epoch(), layout.ExhaustsAt()
	if !c.from.Before(end) || !c.endless && !c.to.After(epoch) {
		return idRange{greatest: -1}, nil
	}
	band := int64(1)<<layout.Shift(idgen.Time) - 1 // the bits of an id within its band
	shift, bits := layout.LowTime()
	split := func(t time.Time) (begin, low int64, err error) {
		above.Time = t
		id, err := layout.Compose(above)
		low = id >> shift & (1<<bits - 1)
		return id - low<<shift, low, err
	}
	var err error
	if c.from.After(epoch) {
		if r.least, r.from, err = split(c.from); err != nil {
			return r, err
		}
		r.firstEnd = r.least | band
	}
	if !c.endless && c.to.Before(end) {
		if r.lastBegin, r.to, err = split(c.to); err != nil {
			return r, err
		}
		r.greatest = r.lastBegin - 1 // before the first id of the tick
		if r.to > 0 {
			r.greatest = r.lastBegin | band
		}
	}
	return r, nil
}

// phasesOf returns the primary key that the plugin fills in rows of a schema, and the layouts of its source.
func (p *Plugin) phasesOf(s *schema.Schema) (*schema.Field, idgen.Phases, error) {
	plan, err := p.plan(s)
	if err != nil {
		return nil, nil, err
	}
	if plan != nil {
		for _, k := range plan.keys {
			if !k.field.PrimaryKey {
				continue
			}
			phases := k.source.phases()
			if len(phases) == 0 {
				err = fmt.Errorf("%w: the source of %s.%s has the type %T, and no layout", ErrNoLayout, s.Name, k.field.Name, k.source.of)
			}
			return k.field, phases, err
		}
	}
	return nil, nil, fmt.Errorf("%w: of %s; give the layout with Created", ErrNotFilled, s.Name)
}
