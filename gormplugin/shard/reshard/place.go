package reshard

import (
	"context"
	"fmt"
	"slices"
	"strings"

	idshard "github.com/snowkey-go/snowkey/idgen/shard"
	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// place is the table of a shard.
type place struct {
	table   Table
	shard   idshard.Shard
	name    catalog.Name
	quoted  string
	there   *catalog.Table    // nil when there is none
	columns []*catalog.Column // without those that are computed
}

// newPlaces returns tables of one database as its catalog has them, in the order of shards, which are those of tables.
func newPlaces(ctx context.Context, c *catalog.Catalog, tables []Table, shards []idshard.Shard) ([]*place, error) {
	var places []*place
	var names []catalog.Name
	for i, t := range tables {
		name, err := catalog.Parse(t.Name)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrPlan, err)
		}
		name.Name += shards[i].Suffix
		places, names = append(places, &place{table: t, shard: shards[i], name: name, quoted: c.Quoted(name)}), append(names, name)
	}
	found, err := c.Load(ctx, names...)
	if err != nil {
		return nil, fmt.Errorf("reshard: %w", err)
	}
	for i, p := range places {
		if p.there = found[i]; p.there == nil {
			continue
		}
		for _, column := range p.there.Columns {
			if column.Generated == "" {
				p.columns = append(p.columns, column)
			}
		}
	}
	return places, nil
}

// gather reads the tables of shards of any databases, each once.
func gather(ctx context.Context, of func(database string) *catalog.Catalog, tables []Table, shards []idshard.Shard) (map[string]*place, error) {
	places := map[string]*place{}
	byDatabase := map[string][]int{}
	for i, s := range shards {
		byDatabase[s.Database] = append(byDatabase[s.Database], i)
	}
	for database, list := range byDatabase {
		var theirs []Table
		var in []idshard.Shard
		for _, i := range list {
			theirs, in = append(theirs, tables[i]), append(in, shards[i])
		}
		found, err := newPlaces(ctx, of(database), theirs, in)
		if err != nil {
			return nil, err
		}
		for _, p := range found {
			places[placeKey(p.table.Name, p.shard.Name)] = p
		}
	}
	return places, nil
}

// String returns the name for messages.
func (p *place) String() string {
	if p.shard.Database != "" {
		return p.name.String() + " of " + p.shard.Database
	}
	return p.name.String()
}

// check refuses what cannot be moved from or to.
func (p *place) check(d dialect.Dialect) error {
	t := p.there
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s %s", ErrPlan, p, fmt.Sprintf(format, args...))
	}
	switch {
	case t.View != "":
		return bad("is a %s", t.View)
	case t.Related == "inherited":
		return bad("shares its rows with the tables that inherit from it")
	case t.Versioned:
		return bad("keeps its history, which would not move with its rows: drop SYSTEM VERSIONING first")
	case d == dialect.MySQL && !strings.EqualFold(t.Engine, "InnoDB"):
		return bad("is of the engine %s; the triggers of a move need transactions: ALTER TABLE … ENGINE=InnoDB first", t.Engine)
	}
	fold := d != dialect.Postgres
	key, by := t.Column(p.table.Key, fold), t.Column(p.table.By, fold)
	switch {
	case key == nil:
		return bad("has no column %q", p.table.Key)
	case key.Class != catalog.Integer:
		return bad("has ids of the type %s; they have to be integers", key.Type)
	case by == nil:
		return bad("has no column %q", p.table.By)
	}
	if !slices.ContainsFunc(t.Indexes, func(i *catalog.Index) bool {
		return (i.Primary || i.Unique && !key.Nullable && i.Where == "" && i.Valid) && len(i.Columns) == 1 && i.Columns[0] == key.Name
	}) {
		return bad("has no primary key or unique index of %q alone", p.table.Key)
	}
	for _, trigger := range t.Triggers {
		if !strings.HasPrefix(trigger.Name, "snowkey_") {
			return bad("has the trigger %q, which would run for rows that are moved: drop it for the time of the move", trigger.Name)
		}
	}
	return nil
}

// same refuses tables between which rows would not stay as they are.
func (p *place) same(to *place) error {
	text := func(c *catalog.Column) string {
		return fmt.Sprintf("%s %s, NULL %v, generated %q", c.Name, c.Type, c.Nullable, c.Generated)
	}
	sorted := func(p *place) []string {
		var texts []string
		for _, c := range p.there.Columns {
			texts = append(texts, text(c))
		}
		slices.Sort(texts)
		return texts
	}
	from, into := sorted(p), sorted(to)
	if slices.Equal(from, into) {
		return nil
	}
	var only []string
	for _, lists := range [][2][]string{{from, into}, {into, from}} {
		for _, c := range lists[0] {
			if !slices.Contains(lists[1], c) {
				only = append(only, c)
			}
		}
	}
	return fmt.Errorf("%w: %s and %s have different columns: %s", ErrPlan, p, to, strings.Join(only, "; "))
}

// notes returns the name of the table beside it in which triggers note the ids that are written.
func (p *place) notes(c *catalog.Catalog) string {
	return c.Quoted(catalog.Name{Schema: p.name.Schema, Name: p.mark("notes")})
}

// mark returns a name of up to 63 letters that no other table has.
func (p *place) mark(what string) string { return "snowkey_" + what + "_" + sum64(p.name.String()) }

// fence returns the table's fence against buckets.
func (p *place) fence(m *idshard.Map, pass string, buckets []int64) idshard.Fence {
	return idshard.Fence{Table: p.quoted, Key: p.table.Key, Name: "snowkey_fence", Map: m, Buckets: buckets, Pass: pass}
}

// condition returns the condition that a row is of some buckets.
func (p *place) condition(d dialect.Dialect, m *idshard.Map, row string, buckets []int64) (string, error) {
	return p.fence(m, "", buckets).Condition(d, row)
}

// strange returns the buckets that a map has in other shards than that of a name.
func strange(m *idshard.Map, shard string) (buckets []int64) {
	for b := range m.Buckets() {
		if i, err := m.OfBucket(b); err != nil || m.Shard(i).Name != shard {
			buckets = append(buckets, b)
		}
	}
	return buckets
}
