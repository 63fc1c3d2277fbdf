package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// dated returns the keys that get new ids, and so have maps, in the order of their tables' names.
func (b *builder) dated() []*Key {
	var keys []*Key
	for i := range b.plan.Keys {
		if b.plan.Keys[i].Map != "" {
			keys = append(keys, &b.plan.Keys[i])
		}
	}
	slices.SortStableFunc(keys, func(x, y *Key) int { return strings.Compare(x.Table, y.Table) })
	return keys
}

// mapped returns the map of a key as statements have it: with its table's schema, where it has one.
func (b *builder) mapped(k *Key) string {
	name, err := catalog.Parse(k.Map)
	if err != nil {
		b.block(fmt.Sprintf("The map of %s has the name %q: %v.", k.Table, k.Map, err))
	}
	if name.Schema == "" && b.plan.Mode == Shadow { // functions and triggers run with other search paths
		name.Schema = b.tables[k.Table].Full.Schema
	}
	return b.catalog.Quoted(name)
}

// reserve adds the step that takes the node of the new ids. It is the plan's first: what refuses the node leaves all else as it was.
func (b *builder) reserve() {
	b.add(Step{
		Title: fmt.Sprintf("take node %d of the key space %s for the new ids of old rows", b.plan.Node, b.plan.Space), Phase: "expand",
		Do: Action{Kind: ReserveNode}, Kept: "ids with it may be known elsewhere, so no generator ever gets it",
	})
}

// makeMaps adds what makes the maps: one step, where DDL is part of transactions, else one for each.
func (b *builder) makeMaps(phase string) {
	format, integer := "CREATE TABLE %s (old_id %s NOT NULL PRIMARY KEY, new_id %[2]s NOT NULL UNIQUE)", "BIGINT"
	switch {
	case b.dialect() == dialect.SQLite:
		integer = "INTEGER"
	case b.keyedLater():
		format = "CREATE TABLE %s (old_id %s NOT NULL, new_id %[2]s NOT NULL UNIQUE)"
	}
	var do, undo []string
	for _, k := range b.dated() {
		table := b.mapped(k)
		create, drop := fmt.Sprintf(format, table, integer), "DROP TABLE "+table
		if b.dialect() == dialect.MySQL {
			there := b.hasTable(k.Map)
			b.add(Step{
				Title: "make the map of the ids of …", Names: []string{k.Table}, Phase: phase, Tables: []string{k.Table}, Algorithm: "catalog only",
				Do:   b.autocommit([]string{create + " ENGINE=InnoDB"}, []string{there}, "CREATE"),
				Undo: ref(b.autocommit([]string{drop}, []string{"SELECT 1 - (" + there + ")"}, "DROP")),
			})
			continue
		}
		do, undo = append(do, create), append(undo, drop)
	}
	if len(do) > 0 {
		b.add(Step{
			Title: "make the maps of old ids to new ones", Phase: phase, Algorithm: "catalog only",
			Do: transactional(do...), Undo: ref(transactional(undo...)),
		})
	}
}

// fillMaps adds the steps in which package mapping gives the old rows their new ids, in the order of the plan's keys: a row's time may come through one before.
func (b *builder) fillMaps() {
	for _, k := range b.plan.Keys {
		if k.Map == "" {
			continue
		}
		rows := b.rows(k.Table)
		bytes := rows
		if rows > 0 {
			bytes = 100 * rows // two indexes of two numbers
		}
		b.add(Step{
			Title: "fill the map of the ids of …", Names: []string{k.Table}, Phase: "map", Tables: []string{k.Table}, Algorithm: "batches", Rows: rows, Bytes: bytes, Disk: bytes,
			Do: Action{Kind: FillMap, Table: k.Table}, Kept: "it goes with the map",
		})
	}
	if keys := b.dated(); b.keyedLater() && len(keys) > 0 {
		s := Step{
			Title: "give the maps their primary keys, and gather their statistics", Phase: "map", Do: transactional(),
			Kept: "they go with the maps",
		}
		var names []string
		for _, k := range keys {
			names, s.Rows = append(names, b.mapped(k)), sizeOf(s.Rows, b.rows(k.Table))
			s.Do.SQL = append(s.Do.SQL, fmt.Sprintf("ALTER TABLE %s ADD PRIMARY KEY (old_id)", b.mapped(k)))
		}
		s.Do.SQL = append(s.Do.SQL, "ANALYZE "+strings.Join(names, ", "))
		b.add(s)
	}
}

// keyedLater reports whether maps get their primary key when they are filled, which is faster. On MySQL and SQLite that is the table itself; in mode shadow
// triggers need it.
func (b *builder) keyedLater() bool { return b.dialect() == dialect.Postgres && b.plan.Mode == Rekey }

// dropMaps adds the step that drops all maps, with what rest drops beside them where DDL is part of transactions.
func (b *builder) dropMaps(rest ...string) {
	var names, left []string
	for _, k := range b.dated() {
		names, left = append(names, b.mapped(k)), append(left, "("+b.hasTable(k.Map)+")")
	}
	if len(names) == 0 {
		return
	}
	s := Step{
		Title: "drop the maps", Phase: "contract", Algorithm: "catalog only", Final: true,
		Kept: "Without the maps nobody knows the old ids.",
	}
	switch b.dialect() {
	case dialect.MySQL: // where each table goes by itself, so that a server that dies may leave some
		s.Do = b.autocommit([]string{"DROP TABLE IF EXISTS " + strings.Join(names, ", ")}, []string{"SELECT " + strings.Join(left, " + ") + " = 0"}, "DROP")
	case dialect.Postgres:
		s.Do = transactional(append([]string{"DROP TABLE " + strings.Join(names, ", ")}, rest...)...)
	case dialect.SQLite:
		s.Do = transactional()
		for _, name := range names {
			s.Do.SQL = append(s.Do.SQL, "DROP TABLE "+name)
		}
	}
	b.add(s)
}

// hasTable returns a query for 1 when a table is there, on MySQL.
func (b *builder) hasTable(name string) string {
	parsed, err := catalog.Parse(name)
	if err != nil {
		return ""
	}
	schema := "DATABASE()"
	if parsed.Schema != "" {
		schema = b.literal(parsed.Schema)
	}
	return fmt.Sprintf("SELECT count(*) FROM information_schema.tables WHERE table_schema = %s AND table_name = %s", schema, b.literal(parsed.Name))
}
