package plan

import (
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
)

// swapShadow adds the one transaction in which first and second columns change places.
func (b *shadowBuilder) swapShadow(x *exchange) {
	var names []string
	var tables []catalog.Name
	var changes, left []Change
	for _, t := range x.tables {
		names, tables = append(names, t.name), append(tables, t.of.Full)
		does, leaves := b.swapChanges(t)
		changes, left = append(changes, does...), append(left, leaves...)
	}
	b.add(Step{
		Title: "swap the columns of …", Names: []string{strings.Join(names, ", ")}, Phase: "swap", Tables: names, Algorithm: "catalog only",
		Lock: Lock{readsAndWrites, true, "everything on all of the tables, for the moment in which the catalog is changed; no row is read or written. Its undo reads all rows under the lock, " +
			"writes those that have changed since, builds the old primary keys, and rewrites tables whose keys had less than 64 bits: it is no swap of a moment"},
		Do:      transactional(b.locked(toDrop, tables, b.swap(x))...),
		Undo:    ref(transactional(b.locked(toDrop, tables, b.unswap(x))...)),
		Changes: changes, Left: left,
	})
}

// swap returns the statements of the swap, after the lock.
func (b *shadowBuilder) swap(x *exchange) []string {
	var sql []string
	add := func(format string, args ...any) { sql = append(sql, fmt.Sprintf(format, args...)) }
	for i := len(x.views) - 1; i >= 0; i-- {
		add("DROP VIEW %s", x.views[i].name)
	}
	for _, t := range x.tables {
		_, dropping := b.keeper(t)
		sql = append(sql, dropping...)
	}
	for _, l := range x.links {
		add("ALTER TABLE %s DROP CONSTRAINT %s", b.whole(l.child), b.quote(l.of.Name))
	}
	for _, t := range x.tables {
		for _, m := range t.columns {
			if !m.column.Nullable {
				// In a statement of its own, for which the check is still there, and spares it the scan.
				add("ALTER TABLE %s ALTER COLUMN %s SET NOT NULL", b.whole(t), b.quote(m.second))
				add("ALTER TABLE %s DROP CONSTRAINT %s", b.whole(t), b.quote(t.made("null", m.column.Name)))
			}
		}
	}
	for _, w := range x.twins {
		sql = append(sql, b.exchangeIndex(w)...)
	}
	for _, t := range x.tables {
		for _, m := range t.columns {
			sql = append(sql, b.exchangeColumn(m)...)
		}
	}
	for _, l := range x.links {
		add("ALTER TABLE %s RENAME CONSTRAINT %s TO %s", b.whole(l.child), b.quote(l.name), b.quote(l.of.Name))
		sql = append(sql, l.comment...)
	}
	for _, v := range x.views {
		sql = append(sql, v.make...)
	}
	return sql
}

// exchangeIndex returns the statements that put a twin in its index's place.
func (b *shadowBuilder) exchangeIndex(w *twin) []string {
	table, name, other := "ALTER TABLE "+b.whole(w.table)+" ", b.quote(w.index.Name), b.quote(w.name)
	var sql []string
	switch {
	case w.index.Primary:
		sql = []string{fmt.Sprintf("%sDROP CONSTRAINT %s, ADD CONSTRAINT %s PRIMARY KEY USING INDEX %s", table, name, name, other)}
	case w.constraint:
		sql = []string{fmt.Sprintf("%sRENAME CONSTRAINT %s TO %s", table, name, b.quote(w.was)), fmt.Sprintf("%sADD CONSTRAINT %s UNIQUE USING INDEX %s", table, name, other)}
	default:
		sql = []string{
			fmt.Sprintf("ALTER INDEX %s RENAME TO %s", b.beside(w.table, w.index.Name), b.quote(w.was)),
			fmt.Sprintf("ALTER INDEX %s RENAME TO %s", b.beside(w.table, w.name), name),
		}
	}
	return append(sql, w.comments...)
}

// exchangeColumn returns the statements that put a second column in the first one's place.
func (b *shadowBuilder) exchangeColumn(m *moved) []string {
	table, first, second := "ALTER TABLE "+b.whole(m.table)+" ", b.quote(m.column.Name), b.quote(m.second)
	var sql []string
	switch {
	case strings.Contains(m.column.Auto, "IDENTITY"):
		sql = append(sql, table+"ALTER COLUMN "+first+" DROP IDENTITY")
	case m.column.Default != "":
		sql = append(sql, table+"ALTER COLUMN "+first+" DROP DEFAULT")
	}
	if !m.column.Nullable {
		sql = append(sql, table+"ALTER COLUMN "+first+" DROP NOT NULL")
	}
	sql = append(sql, table+"RENAME COLUMN "+first+" TO "+b.quote(m.old), table+"RENAME COLUMN "+second+" TO "+first)
	switch {
	case m.own && m.column.Auto != "":
		sql = append(sql, table+"ALTER COLUMN "+first+" SET DEFAULT "+b.mint(m.table).now())
	case m.fromZero:
		sql = append(sql, table+"ALTER COLUMN "+first+" SET DEFAULT 0")
	}
	return sql
}

// unswap returns the statements that undo the swap. What was written since is taken over: rows that are new keep their ids, in old columns that get
// 64 bits, and references have the old ids of rows that have any. No trigger of the application fires for that, for the owner of a table may disable it: one that
// writes another table of the plan would leave rows there without old columns. The second columns are as they were before the swap but not kept any more.
func (b *shadowBuilder) unswap(x *exchange) []string {
	var sql []string
	add := func(format string, args ...any) { sql = append(sql, fmt.Sprintf(format, args...)) }
	for i := len(x.views) - 1; i >= 0; i-- {
		add("DROP VIEW %s", x.views[i].name)
	}
	for _, l := range x.links {
		add("ALTER TABLE %s DROP CONSTRAINT %s", b.whole(l.child), b.quote(l.of.Name))
	}
	var enable []string
	for _, t := range x.tables {
		for _, g := range t.of.Triggers {
			if strings.Contains(g.Timing, "UPDATE") && g.Enabled != "disabled" {
				add("ALTER TABLE %s DISABLE TRIGGER %s", b.whole(t), b.quote(g.Name))
				enable = append(enable, fmt.Sprintf("ALTER TABLE %s %s TRIGGER %s", b.whole(t), strings.TrimSpace("ENABLE "+strings.ToUpper(g.Enabled)), b.quote(g.Name)))
			}
		}
	}
	for _, t := range x.tables {
		sql = append(sql, b.takeBack(t)...)
	}
	add("SET CONSTRAINTS ALL IMMEDIATE")
	sql = append(sql, enable...)
	for _, w := range x.twins {
		table, name := "ALTER TABLE "+b.whole(w.table)+" ", b.quote(w.index.Name)
		switch {
		case w.index.Primary:
			add("%sDROP CONSTRAINT %s", table, name)
		case w.constraint:
			add("%sDROP CONSTRAINT %s", table, name)
			add("%sRENAME CONSTRAINT %s TO %s", table, b.quote(w.was), name)
		default:
			add("DROP INDEX %s", b.beside(w.table, w.index.Name))
			add("ALTER INDEX %s RENAME TO %s", b.beside(w.table, w.was), name)
		}
	}
	for _, t := range x.tables {
		for _, m := range t.columns {
			sql = append(sql, b.restoreColumn(m, x.extras[m])...)
		}
	}
	for _, w := range x.twins {
		if w.index.Primary {
			add("ALTER TABLE %s ADD CONSTRAINT %s PRIMARY KEY (%s)", b.whole(w.table), b.quote(w.index.Name), b.catalog.List(w.index.Columns))
			sql = append(sql, w.comments...)
		}
	}
	for _, l := range x.links {
		text := l.definition(b, l.of.Columns, l.of.To)
		if !l.of.Valid {
			text += " NOT VALID"
		}
		add("ALTER TABLE %s ADD CONSTRAINT %s %s", b.whole(l.child), b.quote(l.of.Name), text)
		sql = append(sql, l.comment...)
	}
	for _, v := range x.views {
		sql = append(sql, v.make...)
	}
	return sql
}

// takeBack returns the statements that bring the old columns up to date.
func (b *shadowBuilder) takeBack(t *moving) []string {
	var sql, set, where []string
	for _, m := range t.columns {
		if m.column.Bits < 64 {
			sql = append(sql, fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s TYPE bigint", b.whole(t), b.quote(m.old)))
		}
		now := b.whole(t) + "." + b.quote(m.column.Name)
		before := fmt.Sprintf("COALESCE((SELECT m.old_id FROM %s m WHERE m.new_id = %s), %s)", b.mapped(m.key), now, now)
		if m.own {
			before = fmt.Sprintf("COALESCE(%s, %s)", b.quote(m.old), now)
		}
		set = append(set, b.quote(m.old)+" = "+before)
		where = append(where, fmt.Sprintf("%s IS DISTINCT FROM %s", b.quote(m.old), before))
	}
	return append(sql, fmt.Sprintf("UPDATE %s SET %s WHERE %s", b.whole(t), strings.Join(set, ", "), strings.Join(where, " OR ")))
}

// restoreColumn returns the statements that give a column its first name again, and what it had.
func (b *shadowBuilder) restoreColumn(m *moved, e extra) []string {
	table, first := "ALTER TABLE "+b.whole(m.table)+" ", b.quote(m.column.Name)
	var sql []string
	if m.own && m.column.Auto != "" || m.fromZero {
		sql = append(sql, table+"ALTER COLUMN "+first+" DROP DEFAULT")
	}
	if !m.column.Nullable {
		sql = append(sql, table+"ALTER COLUMN "+first+" DROP NOT NULL", table+"ALTER COLUMN "+b.quote(m.old)+" SET NOT NULL")
	}
	sql = append(sql, table+"RENAME COLUMN "+first+" TO "+b.quote(m.second), table+"RENAME COLUMN "+b.quote(m.old)+" TO "+first)
	switch {
	case strings.Contains(m.column.Auto, "IDENTITY"):
		sql = append(append(sql, fmt.Sprintf("%sALTER COLUMN %s ADD %s (%s)", table, first, m.column.Auto, e.identity)), e.next...)
	case m.column.Default != "":
		sql = append(sql, table+"ALTER COLUMN "+first+" SET DEFAULT "+m.column.Default)
	}
	return sql
}

// endShadow adds what follows the swap: the database stops making ids, and the old columns and the maps go.
func (b *shadowBuilder) endShadow(x *exchange) {
	var flipped []*moving
	for _, t := range x.tables {
		if own := t.own; own != nil && own.column.Auto != "" {
			flipped = append(flipped, t)
		}
	}
	if len(flipped) > 0 {
		b.flip(flipped)
	}
	if b.options.Keep {
		return
	}
	b.add(Step{Title: "before old ids are dropped", Phase: "contract", Do: Action{Kind: Hold, Name: DropMaps,
		Text: "What comes now drops the old columns and the maps, and cannot be undone. Verify first. Whatever keeps old ids elsewhere needs the maps: copy them."}})
	for _, t := range x.tables {
		var drops []string
		for _, m := range t.columns {
			drops = append(drops, "DROP COLUMN "+b.quote(m.old))
		}
		b.add(Step{
			Title: "drop the old columns of …", Names: []string{t.name}, Phase: "contract", Tables: []string{t.name}, Lock: brief, Algorithm: "catalog only", Final: true, Kept: "The old ids are gone.",
			Do:      transactional(b.locked(toDrop, []catalog.Name{t.of.Full}, []string{"ALTER TABLE " + b.whole(t) + " " + strings.Join(drops, ", ")})...),
			Changes: b.dropChanges(t),
		})
	}
	var rest []string
	for _, t := range x.tables {
		if own := t.own; own != nil && own.column.Auto == "" {
			rest = append(rest, b.mint(t).dropping...)
		}
	}
	b.dropMaps(rest...)
}

// flip adds the steps after which the database makes no ids for tables.
func (b *shadowBuilder) flip(tables []*moving) {
	var watched []watched
	var names []catalog.Name
	var of, do, undo []string
	var changes []Change
	for _, t := range tables {
		of, changes = append(of, t.name), append(changes, b.gone(t.of, "default of column "+t.own.column.Name)...)
		m, table := b.mint(t), "ALTER TABLE "+b.whole(t)+" ALTER COLUMN "+b.quote(t.own.column.Name)
		watched = append(watched, sequenceWatched(t.name, t.name+"."+t.own.column.Name, m.sequence))
		names = append(names, t.of.Full)
		do = append(append(do, table+" DROP DEFAULT"), m.dropping...)
		undo = append(append(undo, m.defining...), table+" SET DEFAULT "+m.now())
	}
	b.beforeFlip("The columns are swapped: keys and references are the new ids. Writers that leave keys to the database get snowflakes from it. "+
		"Deploy the writers that fill keys themselves: past this hold the database makes no more ids.", watched)
	b.add(Step{
		Title: "end the keys that the database makes, of …", Names: []string{listed(watched)}, Phase: "flip", Tables: of, Lock: waitTogether(len(tables)), Algorithm: "catalog only",
		Do:      transactional(b.locked(toDrop, names, do)...),
		Undo:    ref(transactional(b.locked(toDrop, names, undo)...)),
		Changes: changes,
	})
	b.refusesKeyless()
}

// swapChanges returns what a swap changes of a table: each first column is there under another name until it is dropped, and the second one, the last of the table,
// has its place.
func (b *shadowBuilder) swapChanges(t *moving) (changes, left []Change) {
	of := b.of(t.of)
	changes = []Change{{Of: of, What: "columns", Text: strings.Join(t.order(true), ", ")}}
	for _, m := range t.columns {
		name := "column " + m.column.Name
		for _, what := range columnWhats {
			changes = append(changes, Change{Of: of, What: what + "column " + m.old, Any: true})
		}
		changes = append(changes,
			Change{Of: of, What: "type of " + name, Text: "bigint"}, Change{Of: of, What: "identity of " + name, Gone: true},
			Change{Of: of, What: "sequence of " + name, Gone: true}, Change{Of: of, What: "type of the sequence of " + name, Gone: true})
		if m.own && m.column.Auto != "" {
			changes = append(changes, Change{Of: of, What: "default of " + name, Any: true})
		}
		left = append(left, Change{Of: of, What: "type of " + name, Text: "bigint"})
		if typ := "type of the sequence of " + name; b.text(of, "identity of "+name) != "" {
			left = append(left, Change{Of: of, What: typ, Text: integer.ReplaceAllString(b.text(of, typ), "bigint")})
		}
	}
	return changes, left
}

// columnWhats begin the names of the definitions of a column.
var columnWhats = []string{"", "type of ", "default of ", "identity of ", "rights on ", "comment of ", "sequence of ", "type of the sequence of "}

// order returns the names of a table's columns after the swap, in their order, with the first ones or without.
func (t *moving) order(first bool) []string {
	var names, last []string
	for _, c := range t.of.Columns {
		m := t.find(c.Name)
		switch {
		case m == nil:
			names = append(names, c.Name)
		case first:
			names = append(names, m.old)
		}
	}
	for _, m := range t.columns {
		last = append(last, m.column.Name)
	}
	return append(names, last...)
}

// dropChanges returns what dropping the first columns changes.
func (b *shadowBuilder) dropChanges(t *moving) []Change {
	of := b.of(t.of)
	changes := []Change{{Of: of, What: "columns", Text: strings.Join(t.order(false), ", ")}}
	for _, m := range t.columns {
		for _, what := range columnWhats {
			changes = append(changes, Change{Of: of, What: what + "column " + m.old, Gone: true})
		}
	}
	return changes
}
