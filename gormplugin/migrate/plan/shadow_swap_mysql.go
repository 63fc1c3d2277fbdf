package plan

import (
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
)

// swapMySQL adds the statements of the swap; see shadow_mysql.go.
func (b *builder) swapMySQL(tables []*moving, links []*link) {
	for _, t := range tables {
		b.triggers(t, "no more keeping of the second columns of ", "swap", b.keepMySQL(t), false)
	}
	for _, l := range links {
		there := b.hasForeignKey(l.child, l.of.Name)
		b.alone(Step{Title: fmt.Sprintf("drop foreign key %s of %s, beside which there is one over the second columns", l.of.Name, l.child.name), Phase: "swap", Lock: instant, Algorithm: "INPLACE"}, unchecked,
			fmt.Sprintf("ALTER TABLE %s DROP FOREIGN KEY %s, %s", b.whole(l.child), b.quote(l.of.Name), inplace), b.not(there),
			fmt.Sprintf("ALTER TABLE %s ADD CONSTRAINT %s %s", b.whole(l.child), b.quote(l.of.Name), l.definition(b, l.of.Columns, l.of.To)), there)
	}
	for _, t := range tables {
		b.remake(t)
	}
	for _, t := range tables {
		b.rename(t)
	}
	b.restore(tables)
	for _, t := range tables {
		b.triggers(t, "open ", "swap", b.closing(t), false)
	}
	for _, l := range links {
		b.nameLink(l)
	}
}

// primary returns the table's primary key where it is over a column that changes, else nil.
func (t *moving) primary() *catalog.Index {
	for _, i := range t.twinned() {
		if i.Primary {
			return i
		}
	}
	return nil
}

// remake adds the step that makes second columns what the first ones are: the primary key, and never NULL.
func (b *builder) remake(t *moving) {
	var do, undo []string
	done := ""
	for _, m := range t.columns {
		first, second := b.quote(m.column.Name), b.quote(m.second)
		if m.column.Nullable {
			if m.fromZero {
				do, undo = append(do, "ALTER COLUMN "+second+" SET DEFAULT 0"), append(undo, "ALTER COLUMN "+second+" SET DEFAULT NULL")
				if done == "" {
					done = b.hasColumns(t, []string{m.second}, " AND column_default = '0'")
				}
			}
			continue
		}
		done = b.hasColumns(t, []string{m.column.Name}, " AND is_nullable = 'YES'")
		auto := ""
		if m.column.Auto != "" {
			auto = " AUTO_INCREMENT"
		}
		do = append(do, "MODIFY "+first+" "+b.defined(strings.ToUpper(m.column.Type), "NULL", m), "MODIFY "+second+" "+b.defined(m.integer(), "NOT NULL"+m.zero(), m))
		// The undo of what follows has given the first column 64 bits, and rows that came since the swap have ids that need them. The second
		// ones may be NULL again when the foreign keys between them are gone: see loose.
		undo = append(undo, "MODIFY "+first+" "+b.defined(m.integer(), "NOT NULL"+auto+m.zero(), m))
	}
	if done == "" {
		return
	}
	if own := t.own(); own != nil && own.column.Auto != "" && t.of.Next > 0 { // numbers of rows that were deleted are not given again
		undo = append(undo, fmt.Sprintf("AUTO_INCREMENT = %d", t.of.Next))
	}
	if i := t.primary(); i != nil {
		twin, was := b.quote(t.made("x", i.Name)), b.quote(t.made("was", i.Name))
		columns, second := b.list(i.Columns), b.list(t.swapped(i.Columns))
		do = append(do, "DROP PRIMARY KEY", "ADD PRIMARY KEY ("+second+")", "ADD UNIQUE KEY "+was+" ("+columns+")", "DROP INDEX "+twin)
		undo = append(undo, "DROP PRIMARY KEY", "ADD PRIMARY KEY ("+columns+")", "ADD UNIQUE KEY "+twin+" ("+second+")", "DROP INDEX "+was)
	}
	b.alone(Step{Title: "make the second columns of " + t.name + " its key, and never NULL", Phase: "swap", Algorithm: "INPLACE", Rows: t.of.Rows, Bytes: t.of.Bytes, Disk: t.of.Bytes,
		Lock: "the table is rebuilt while rows are read, changed and deleted; the definition for a moment. Its undo copies the table, and lets it be read only"}, []string{mysqlStrict}, // the copy would give a row 0 another number
		"ALTER TABLE "+b.whole(t)+" "+strings.Join(do, ", ")+", "+inplace, done,
		"ALTER TABLE "+b.whole(t)+" "+strings.Join(undo, ", "), b.not(done))
}

// zero returns the default 0 of a column that has it.
func (m *moved) zero() string {
	if m.fromZero {
		return " DEFAULT 0"
	}
	return ""
}

// loose adds the steps that do nothing, and whose undo lets second columns be NULL again before writers come that do not fill them. There are no foreign
// keys between them then: MariaDB lets no column be NULL that one points to with ON UPDATE CASCADE from a column that cannot be (1833).
func (b *builder) loose(tables []*moving) {
	for _, t := range tables {
		var parts, names []string
		for _, m := range t.columns {
			if !m.column.Nullable {
				parts, names = append(parts, "MODIFY "+b.quote(m.second)+" "+b.defined(m.integer(), "NULL", m)), append(names, m.second)
			}
		}
		if len(names) == 0 {
			continue
		}
		b.add(Step{Title: "a rollback lets the second columns of " + t.name + " be NULL here", Phase: "flip", Lock: "none",
			Do: Action{Kind: Count, SQL: []string{"SELECT count(*) FROM " + b.whole(t)}, Each: []string{"rows of " + t.name + " before the second columns take their place"}},
			Undo: &Action{Kind: Apart, Session: []string{mysqlStrict}, SQL: []string{"ALTER TABLE " + b.whole(t) + " " + strings.Join(parts, ", ")},
				Applied: b.hasColumns(t, names, " AND is_nullable = 'YES'")}})
	}
}

// rename adds the step that gives columns and indexes each other's names.
func (b *builder) rename(t *moving) {
	var do, undo, now []string
	swap := func(what, first, old, second string) {
		do = append(do, fmt.Sprintf("RENAME %s %s TO %s", what, b.quote(first), b.quote(old)), fmt.Sprintf("RENAME %s %s TO %s", what, b.quote(second), b.quote(first)))
		undo = append(undo, fmt.Sprintf("RENAME %s %s TO %s", what, b.quote(first), b.quote(second)), fmt.Sprintf("RENAME %s %s TO %s", what, b.quote(old), b.quote(first)))
	}
	for _, m := range t.columns {
		swap("COLUMN", m.column.Name, m.old, m.second)
		now = append(now, m.old)
	}
	for _, i := range t.twinned() {
		if !i.Primary {
			swap("INDEX", i.Name, t.made("was", i.Name), t.made("x", i.Name))
		}
	}
	done := b.hasColumns(t, now, "")
	b.alone(Step{Title: "swap the columns of " + t.name, Phase: "swap", Algorithm: "INPLACE", Lock: instant + ". Until all tables are swapped, joins between them find no rows"}, nil,
		"ALTER TABLE "+b.whole(t)+" "+strings.Join(do, ", ")+", "+inplace, done,
		"ALTER TABLE "+b.whole(t)+" "+strings.Join(undo, ", ")+", "+inplace, b.not(done))
}

// restore adds the steps that do nothing, and whose undo, before the columns are swapped back, brings the old columns up to date: the one that comes
// later here is undone first.
func (b *builder) restore(tables []*moving) {
	for _, t := range tables {
		var set, where, wide, narrow []string
		for _, m := range t.columns {
			now := b.whole(t) + "." + b.quote(m.column.Name)
			before := fmt.Sprintf("COALESCE((SELECT m.old_id FROM %s m WHERE m.new_id = %s), %s)", b.mapped(m.key), now, now)
			if m.own {
				before = fmt.Sprintf("COALESCE(%s, %s)", b.quote(m.old), now)
			}
			set = append(set, b.quote(m.old)+" = "+before)
			where = append(where, fmt.Sprintf("NOT (%s <=> %s)", b.quote(m.old), before))
			null := "NULL"
			if m.column.Nullable { // else it comes back when the column is NOT NULL again
				null += m.zero()
			}
			wide = append(wide, "MODIFY "+b.quote(m.old)+" "+b.defined(m.integer(), null, m))
			if m.column.Bits < 64 {
				narrow = append(narrow, m.old)
			}
		}
		for _, c := range t.of.Columns {
			if c.OnUpdate != "" {
				set = append(set, fmt.Sprintf("%s = %s", b.quote(c.Name), b.whole(t)+"."+b.quote(c.Name)))
			}
		}
		through := b.quote(t.through)
		count := Action{Kind: Count, SQL: []string{"SELECT count(*) FROM " + b.whole(t)}, Each: []string{"rows of " + t.name + " at the swap"}}
		b.add(Step{Title: "a rollback gives the rows of " + t.name + " old ids here", Phase: "swap", Lock: "none", Do: count, Undo: &Action{
			Kind: Batch, Session: mysqlFilling,
			SQL:    []string{fmt.Sprintf("UPDATE %s SET %s WHERE %s > :after AND %s <= :upto AND (%s)", b.whole(t), strings.Join(set, ", "), through, through, strings.Join(where, " OR "))},
			Cursor: fmt.Sprintf("SELECT max(r.x) FROM (SELECT %s AS x FROM %s WHERE %s > :after ORDER BY %s LIMIT :rows) r", through, b.whole(t), through, through),
		}})
		if len(narrow) > 0 {
			b.add(Step{Title: "a rollback gives the old columns of " + t.name + " 64 bits here, for rows that come now", Phase: "swap", Lock: "none", Do: count, Undo: &Action{
				Kind: Apart, Session: []string{mysqlStrict}, SQL: []string{"ALTER TABLE " + b.whole(t) + " " + strings.Join(wide, ", ")},
				Applied: b.hasColumns(t, narrow, " AND data_type = 'bigint'"),
			}})
		}
	}
}

// nameLink adds the step that gives a foreign key the name of the one whose place it has taken.
func (b *builder) nameLink(l *link) {
	there := b.hasForeignKey(l.child, l.of.Name)
	definition := l.definition(b, l.of.Columns, l.of.To)
	change := func(from, to string) string {
		return fmt.Sprintf("ALTER TABLE %s DROP FOREIGN KEY %s, ADD CONSTRAINT %s %s, %s", b.whole(l.child), b.quote(from), b.quote(to), definition, inplace)
	}
	b.alone(Step{Title: fmt.Sprintf("give the foreign key %s of %s its name", l.of.Name, l.child.name), Phase: "swap", Lock: instant, Algorithm: "INPLACE"}, unchecked,
		change(l.name, l.of.Name), there, change(l.of.Name, l.name), b.not(there))
}

// endMySQL adds what follows the swap: the old columns and the maps go.
func (b *builder) endMySQL(tables []*moving, links []*link) {
	for _, l := range links {
		l.columns, l.to = l.of.Columns, l.of.To
	}
	b.unlinked(links, "make sure that each reference has its row after the swap")
	if b.options.Keep {
		return
	}
	b.add(Step{Title: "before old ids are dropped", Phase: "contract", Lock: "none", Do: Action{Kind: Hold,
		Text: "The columns are swapped: keys and references are the new ids. What comes now drops the old columns and the maps, and cannot be undone. Verify first. " +
			"Whatever keeps old ids elsewhere needs the maps: copy them."}})
	for _, t := range tables {
		var drops, names []string
		for _, i := range t.twinned() {
			drops = append(drops, "DROP INDEX "+b.quote(t.made("was", i.Name)))
		}
		for _, m := range t.columns {
			drops, names = append(drops, "DROP COLUMN "+b.quote(m.old)), append(names, m.old)
		}
		gone := strings.Replace(b.hasColumns(t, names, ""), fmt.Sprintf("= %d", len(names)), "= 0", 1)
		b.alone(Step{Title: "drop the old columns of " + t.name, Phase: "contract", Lock: "the table is rebuilt while it is read and written", Algorithm: "INPLACE", Final: true,
			Kept: "The old ids are gone.", Rows: t.of.Rows, Bytes: t.of.Bytes, Disk: t.of.Bytes}, nil,
			"ALTER TABLE "+b.whole(t)+" "+strings.Join(drops, ", ")+", "+inplace, gone, "", "")
	}
	b.dropMaps()
}
