package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
)

// brief is the lock of statements that change the catalog alone.
var brief = Lock{readsAndWrites, true, "everything on the table, for the moment in which the catalog is changed; waited for briefly, and asked for again"}

// scanned is the lock of statements that read a table for as long as others read and write it.
var scanned = Lock{Waits: definitionChanges, Text: "other changes of the table's definition; readers and writers go on"}

// patience is how long steps that take locks on which writers may stand in each other's way wait, in place of what the run allows: less than PostgreSQL's
// deadlock_timeout of a second, so that it is the step that gives up and is tried again, and never a writer that is ended as the deadlock's victim.
const patience = "SET LOCAL lock_timeout = '800ms'"

// twin is an index of a table over second columns, that takes the place of one over the first.
type twin struct {
	table      *moving
	index      *catalog.Index
	name       string // before the swap
	was        string // what the index is called after the swap
	constraint bool   // the index is one of a UNIQUE or PRIMARY KEY
	comments   []string
}

// link is a foreign key between second columns.
type link struct {
	of            *catalog.Reference
	child, parent *moving
	name          string // before the swap
	columns, to   []string
	comment       []string // the statement that makes it, under the name of the foreign key
}

// exchange is all that is exchanged.
type exchange struct {
	tables []*moving
	twins  []*twin
	links  []*link
	views  []view
	extras map[*moved]extra
}

// shadowSteps adds the steps by which second columns take the places of the first.
func (b *shadowBuilder) shadowSteps(ctx context.Context, tables []*moving) error {
	x := &exchange{tables: tables, links: b.links(tables)}
	if err := b.readExchange(ctx, x); err != nil || len(b.blocked) > 0 {
		return err
	}
	b.noteShadow()
	b.expandShadow(x)
	b.fillMaps()
	for _, t := range tables {
		b.fill(t, "rewrite", "fill the second columns of …")
	}
	b.settle(tables)
	for _, w := range x.twins {
		b.twinStep(w)
	}
	for _, l := range x.links {
		b.linkSteps(l)
	}
	b.swapShadow(x)
	b.endShadow(x)
	return nil
}

func (b *shadowBuilder) noteShadow() {
	b.note("Writers that leave keys to the database can go on until after the swap, and from the swap on get snowflakes from it: their programs must hold ids in 64 bits by then. " +
		"Writers that fill keys can be deployed before the swap where the key is a bigint and not GENERATED ALWAYS, else after it, at the hold that follows.")
	b.note("What writers may see: a statement that meets a batch at two rows in the other order is ended by the database as a deadlock (40P01); " +
		"a REPEATABLE READ or SERIALIZABLE transaction that is older than the map of ids, or changes a row that a batch has changed, fails with 40001. " +
		"Each succeeds when its transaction is tried again. A statement prepared before the swap may fail once with \"cached plan must not change result type\": recycle the pools. " +
		"The swap waits for the locks of all tables together for 0.8 seconds at a time, and is tried again; others wait as long.")
	b.note("Who has read an id before the swap, in a transaction before, finds no row by it afterwards: an UPDATE or DELETE by that id changes none, and writing it as a reference " +
		"fails with the foreign key's error (23503), or leaves an orphan where nothing enforces the reference. The map tells the new id.")
	b.note("Subscribers of a publication see the columns of the plan under their new names from the swap on, and have to have the second columns before it is run.")
}

// expandShadow adds the second columns, and what keeps them.
func (b *shadowBuilder) expandShadow(x *exchange) {
	for _, t := range x.tables {
		var adds, drops, rest []string
		for _, m := range t.columns {
			adds = append(adds, fmt.Sprintf("ADD COLUMN %s BIGINT", b.quote(m.second)))
			drops = append(drops, fmt.Sprintf("DROP COLUMN %s", b.quote(m.second)))
			rest = append(rest, x.extras[m].statements...)
		}
		table := "ALTER TABLE " + b.whole(t) + " "
		b.add(Step{
			Title: "add second columns to …", Names: []string{t.name}, Phase: "expand", Tables: []string{t.name}, Lock: brief, Algorithm: "catalog only",
			Do:   transactional(append([]string{table + strings.Join(adds, ", ")}, rest...)...),
			Undo: ref(transactional(table + strings.Join(drops, ", "))),
		})
	}
	for _, t := range x.tables {
		making, dropping := b.keeper(t)
		if own := t.own; own != nil {
			m := b.mint(t)
			making, dropping = append(slices.Clone(m.defining), making...), append(dropping, m.dropping...)
		}
		b.add(Step{
			Title: "keep the second columns of …", Names: []string{t.name}, Phase: "expand", Tables: []string{t.name}, Lock: Lock{allWrites, true, "writers of the table, for a moment"}, Algorithm: "catalog only",
			Do: transactional(append([]string{patience}, making...)...), Undo: ref(transactional(dropping...)),
		})
	}
}

// settle adds the steps after which no second column is missing, nor ever will be. The function that tells stale transactions to begin anew
// is there for all who come after a lock that writers have to let go; what those before it have left is filled, and then counted.
func (b *shadowBuilder) settle(tables []*moving) {
	for _, t := range tables {
		b.add(Step{
			Title: "let the trigger of … refuse what the map does not have", Names: []string{t.name}, Phase: "check", Tables: []string{t.name}, Algorithm: "catalog only",
			Do:   transactional(b.function(t, "CREATE OR REPLACE FUNCTION", true)),
			Undo: ref(transactional(b.function(t, "CREATE OR REPLACE FUNCTION", false))),
		})
	}
	for _, t := range tables {
		do, undo := b.checks(t)
		b.add(Step{
			Title: "no new row of … without its second columns", Names: []string{t.name}, Phase: "check", Tables: []string{t.name}, Lock: brief, Algorithm: "catalog only",
			Do: transactional(do...), Undo: ref(transactional(undo...)),
		})
	}
	for _, t := range tables {
		b.fill(t, "check", "fill what is still missing of …")
	}
	b.filled(tables)
	for _, t := range tables {
		var columns, parts []string
		for _, m := range t.columns {
			if !m.column.Nullable {
				columns, parts = append(columns, m.second), append(parts, "VALIDATE CONSTRAINT "+b.quote(t.made("null", m.column.Name)))
			}
		}
		if len(parts) == 0 {
			continue
		}
		b.add(Step{
			Title: "make sure that … of … is never NULL", Names: []string{strings.Join(columns, ", "), t.name}, Phase: "check", Tables: []string{t.name}, Rows: t.of.Rows,
			Lock: scanned, Algorithm: "a scan of the table",
			Do:   transactional(fmt.Sprintf("ALTER TABLE %s %s", b.whole(t), strings.Join(parts, ", "))),
			Kept: "it goes with the check",
		})
	}
}

// checks returns the statements that add and drop the checks of columns that cannot be NULL. A reference that can be NULL has none: where two
// foreign keys set both columns to NULL there is a moment in which one of them is not yet.
func (b *shadowBuilder) checks(t *moving) (do, undo []string) {
	do = b.locked(toDrop, []catalog.Name{t.of.Full}, nil) // at once what the rest needs: raising a lock is how deadlocks come
	for _, m := range t.columns {
		if m.column.Nullable {
			continue
		}
		name := b.quote(t.made("null", m.column.Name))
		do = append(do, fmt.Sprintf("ALTER TABLE %s ADD CONSTRAINT %s CHECK (%s IS NOT NULL) NOT VALID", b.whole(t), name, b.quote(m.second)))
		undo = append(undo, fmt.Sprintf("ALTER TABLE %s DROP CONSTRAINT IF EXISTS %s", b.whole(t), name))
	}
	if len(undo) == 0 {
		undo = []string{"SELECT 1"}
	}
	return do, undo
}

// twinStep adds the step that builds an index over second columns.
func (b *shadowBuilder) twinStep(w *twin) {
	schema := b.literal(w.table.of.Full.Schema)
	name := b.beside(w.table, w.name)
	valid := fmt.Sprintf("SELECT count(*) FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "+
		"WHERE n.nspname = %s AND c.relname = %s AND i.indisvalid", schema, b.literal(w.name))
	there := fmt.Sprintf("SELECT count(*) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s",
		schema, b.literal(w.name))
	drop := "DROP INDEX CONCURRENTLY IF EXISTS " + name
	b.add(Step{
		Title: "index … over the second columns of …", Names: []string{w.index.Name, w.table.name}, Phase: "check", Tables: []string{w.table.name}, Rows: w.table.of.Rows,
		Bytes: max(w.table.of.Rows, 0) * 24, Disk: max(w.table.of.Rows, 0) * 24,
		Lock: Lock{Waits: definitionChanges, Text: scanned.Text + ". It waits for the transactions that are open when it begins"}, Algorithm: "concurrently",
		Do: concurrently(w.statement(b), valid, drop),
		// After the swap was undone it may be gone already, or be there again.
		Undo: ref(concurrently(drop, "SELECT 1 - ("+there+")")),
	})
}

// statement returns the statement that makes the twin: that of the index, with other columns.
func (w *twin) statement(b *shadowBuilder) string {
	_, rest, _ := strings.Cut(w.index.Definition, " USING ")
	unique := ""
	if w.index.Unique {
		unique = "UNIQUE "
	}
	return fmt.Sprintf("CREATE %sINDEX CONCURRENTLY %s ON %s USING %s", unique, b.quote(w.name), b.whole(w.table), renamed(rest, func(name string) (string, bool) {
		m := w.table.find(name)
		if m == nil {
			return "", false
		}
		return b.quote(m.second), true
	}))
}

// renamed returns SQL with other names of columns. Texts are left alone, and so are names of functions and types.
func renamed(sql string, rename func(string) (string, bool)) string {
	var out strings.Builder
	for i := 0; i < len(sql); {
		end, name := i+1, ""
		switch c := sql[i]; {
		case c == '\'':
			end = closing(sql, i)
		case c == '"':
			end = closing(sql, i)
			name = strings.ReplaceAll(sql[i+1:end-1], `""`, `"`)
		case wordByte(c):
			for end < len(sql) && wordByte(sql[end]) {
				end++
			}
			name = sql[i:end]
		}
		before, after := strings.TrimRight(sql[:i], " "), strings.TrimLeft(sql[end:], " ")
		to, ok := rename(name)
		if name != "" && ok && !strings.HasSuffix(before, "::") && !strings.HasSuffix(before, ".") && !strings.HasPrefix(after, "(") {
			out.WriteString(to)
		} else {
			out.WriteString(sql[i:end])
		}
		i = end
	}
	return out.String()
}

// closing returns the place behind what is quoted from a place on. A quote is doubled in it.
func closing(sql string, from int) int {
	for i := from + 1; i < len(sql); i++ {
		if sql[i] != sql[from] {
			continue
		}
		if i+1 < len(sql) && sql[i+1] == sql[from] {
			i++
			continue
		}
		return i + 1
	}
	return len(sql)
}

func wordByte(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// links returns the foreign keys between second columns.
func (b *shadowBuilder) links(tables []*moving) []*link {
	var links []*link
	for _, f := range b.references {
		child, parent := movingOf(tables, f.Child), movingOf(tables, f.Parent)
		if child == nil || parent == nil || !child.touches(f.Columns) {
			continue
		}
		links = append(links, &link{of: f, child: child, parent: parent, name: child.made("fk", f.Name), columns: child.swapped(f.Columns), to: parent.swapped(f.To)})
	}
	return links
}

// definition returns what is behind ADD CONSTRAINT name.
func (l *link) definition(b *shadowBuilder, columns, to []string) string {
	text := fmt.Sprintf("FOREIGN KEY (%s) REFERENCES %s (%s)", b.catalog.List(columns), b.whole(l.parent), b.catalog.List(to))
	if l.of.OnDelete != "NO ACTION" {
		text += " ON DELETE " + l.of.OnDelete
	}
	if l.of.OnUpdate != "NO ACTION" {
		text += " ON UPDATE " + l.of.OnUpdate
	}
	if l.of.Deferrable {
		text += " DEFERRABLE"
	}
	if l.of.Deferred {
		text += " INITIALLY DEFERRED"
	}
	return text
}

// tables returns the tables that it connects.
func (l *link) tables() []string {
	return slices.Compact([]string{l.child.name, l.parent.name})
}

// linkSteps adds the foreign key between second columns, and validates it, unless its model never was.
func (b *shadowBuilder) linkSteps(l *link) {
	table, name := "ALTER TABLE "+b.whole(l.child)+" ", b.quote(l.name)
	b.add(Step{
		Title: "foreign key … over the second columns of …", Names: []string{l.of.Name, l.child.name}, Phase: "check", Tables: l.tables(), Algorithm: "catalog only",
		Lock: Lock{allWrites, true, "writers of both tables, for a moment"},
		Do: transactional(b.locked(toAdd, []catalog.Name{l.parent.of.Full, l.child.of.Full}, []string{
			table + "ADD CONSTRAINT " + name + " " + l.definition(b, l.columns, l.to) + " NOT VALID"})...),
		Undo: ref(transactional(table + "DROP CONSTRAINT IF EXISTS " + name)),
	})
	if !l.of.Valid {
		return
	}
	b.add(Step{
		Title: "validate foreign key … over the second columns of …", Names: []string{l.of.Name, l.child.name}, Phase: "check", Tables: l.tables(), Rows: l.child.of.Rows, Algorithm: "a scan of the table",
		Lock: scanned, Do: transactional(table + "VALIDATE CONSTRAINT " + name), Kept: "it goes with the foreign key",
	})
}
