package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
)

// On MySQL and MariaDB each change of a definition is a statement that commits by itself, so the swap is not one moment but several. The
// order, of which each statement was seen on MariaDB 10.11 to be INSTANT or INPLACE with LOCK=NONE:
//
//	close      triggers refuse new rows, and references that change: from here on f of every row stays what it is
//	map, fill  the last rows, which came since the maps were made
//	link       foreign keys between second columns, beside the old ones: there is no moment without
//	rebuild    drop the old foreign keys; one ALTER a table makes the second columns the primary key, NOT NULL where the first are, and the first
//	           ones NULL, with an index in place of the primary key. It rebuilds the table, while rows are read, changed and deleted
//	rename     one ALTER a table, of the catalog alone: columns and indexes change names. Foreign keys follow their columns
//	open       the triggers go
//
// The primary key is not replaced under a foreign key that points to it: what points to it is dropped before, and what takes its place
// has a unique index of its own. (DROP PRIMARY KEY under a foreign key that points to it succeeds with checks off, and corrupts it.)

const (
	inplace = "ALGORITHM=INPLACE, LOCK=NONE"
	instant = "the definition, for a moment: it waits for the transactions that use the table"
)

// shadowMySQL adds the steps of MySQL and MariaDB.
func (b *builder) shadowMySQL(_ context.Context, tables []*moving) error {
	for _, t := range tables {
		b.admitMySQL(t)
	}
	if len(b.blocked) > 0 {
		return nil
	}
	links := b.links(tables)
	b.noteMySQL(tables)
	for _, t := range tables {
		b.secondMySQL(t)
	}
	for _, t := range tables {
		b.triggers(t, "keep the second columns of ", "expand", b.keepMySQL(t), true)
	}
	b.fillMaps("map", "give the old rows of the map new ids: ")
	for _, t := range tables {
		b.fill(t, "rewrite", "fill the second columns of "+t.name)
	}
	for _, t := range tables {
		b.twinsMySQL(t)
	}
	b.close(tables)
	b.loose(tables)
	for _, l := range links {
		b.linkMySQL(l)
	}
	for _, t := range tables {
		b.fill(t, "check", "fill what is still missing of "+t.name)
	}
	b.filled(tables, "check")
	b.unlinked(links, "make sure that each second reference has its row")
	b.swapMySQL(tables, links)
	b.endMySQL(tables, links)
	return nil
}

func (b *builder) noteMySQL(tables []*moving) {
	var names []string
	for _, t := range tables {
		names = append(names, t.name)
	}
	b.note("Until the hold only writers that leave keys to AUTO_INCREMENT can write: a key that is given from " + fmt.Sprint(b.options.Below) + " on is refused by a trigger (1644), " +
		"for AUTO_INCREMENT would go on from it, or by the column (1264) where it is an INT. At the hold deploy the writers that fill keys. Until the tables are open again these cannot add rows, and have to try again.")
	b.note("The swap is not one moment: each ALTER commits by itself. From closing to opening, which is the time of rebuilding " + strings.Join(names, ", ") + ", new rows and changes of references " +
		"fail with 1644 (SQLSTATE 45000) and a message that begins with \"snowkey: closed\", or, once their table is rebuilt, with 1364, that a second column has no default; rows are read, changed and deleted meanwhile. Between the first renaming and the last, some milliseconds a table, " +
		"or for as long as a transaction holds one of the tables, a statement that joins two of them finds no or not all rows: stop readers then if that is not to be.")
	b.note("What else writers may see: 1213 (deadlock) or 1205 (lock wait timeout) when they meet a batch at the same rows, and, in a statement that is at work while a trigger is made, 1146, that the map does not exist; tried again they succeed. With the binary log on, and without the right SUPER, " +
		"triggers need log_bin_trust_function_creators=1 (error 1419).")
	b.note("Who has read an id before the swap finds no row by it afterwards, and writing it as a reference fails with 1452, or leaves an orphan where nothing enforces the reference. The map tells the new id.")
	b.note("A rollback after rows were added since the swap brings AUTO_INCREMENT back above them: their ids are snowflakes, and so are those that it makes then.")
}

// admitMySQL blocks indexes that cannot be copied from their columns alone.
func (b *builder) admitMySQL(t *moving) {
	for _, i := range t.of.Indexes {
		if t.touches(i.Columns) && (slices.Contains(i.Columns, "") || i.Where != "") {
			b.block(fmt.Sprintf("The index %s of %s has an expression or a part of a column beside a column that changes: drop it, and make it again afterwards.", i.Name, t.name))
		}
	}
	if strings.Contains(strings.ToUpper(t.of.Create), "` DESC") {
		b.block(fmt.Sprintf("%s has an index in descending order: the mode shadow does not copy it.", t.name))
	}
	for _, m := range t.columns {
		if c := m.column.Comment; c != "" && (strings.Contains(c, `\`) || checkName(c) != nil) {
			b.block(fmt.Sprintf("The comment of %s.%s has a backslash, a control character, or a mark of the plan's statements: drop it, and set it again afterwards.", t.name, m.column.Name))
		}
	}
	for _, m := range t.columns {
		if extra := strings.ToUpper(m.column.Extra); strings.Contains(strings.ToLower(m.column.Type), "zerofill") || strings.Contains(extra, "INVISIBLE") {
			b.block(fmt.Sprintf("%s.%s is %s: the mode shadow does not keep that of a column.", t.name, m.column.Name, strings.TrimSpace(m.column.Type+" "+m.column.Extra)))
		}
	}
	if t.of.Engine != "" && !strings.EqualFold(t.of.Engine, "InnoDB") {
		b.block(fmt.Sprintf("%s has the engine %s: the mode shadow needs InnoDB.", t.name, t.of.Engine))
	}
}

// integer returns the type of a column's second one.
func (m *moved) integer() string {
	if m.column.Unsigned {
		return "BIGINT UNSIGNED"
	}
	return "BIGINT"
}

// defined returns what ALTER has of a column after its name.
func (b *builder) defined(kind, null string, m *moved) string {
	if m.column.Comment == "" {
		return kind + " " + null
	}
	return kind + " " + null + " COMMENT '" + strings.ReplaceAll(m.column.Comment, "'", "''") + "'"
}

// alone adds a step of one statement that commits by itself, and of one that undoes it. NO_AUTO_VALUE_ON_ZERO of [mysqlStrict] keeps a row 0 when a
// table is copied that numbers its rows again.
func (b *builder) alone(s Step, session []string, do, applied, undo, undone string) {
	session = append([]string{mysqlStrict}, session...)
	s.Do = Action{Kind: Apart, Session: session, SQL: []string{do}, Applied: applied}
	if undo != "" {
		s.Undo = &Action{Kind: Apart, Session: session, SQL: []string{undo}, Applied: undone}
	}
	b.add(s)
}

// at returns the condition on information_schema that is about a table.
func (b *builder) at(t *moving) string {
	return fmt.Sprintf("table_schema = %s AND table_name = %s", b.literal(t.of.Full.Schema), b.literal(t.of.Full.Name))
}

// hasColumns returns a query for 1 when a table has all of some columns.
func (b *builder) hasColumns(t *moving, names []string, more string) string {
	return fmt.Sprintf("SELECT count(*) = %d FROM information_schema.columns WHERE %s AND column_name IN (%s)%s", len(names), b.at(t), b.literals(names), more)
}

// hasIndexes returns a query for 1 when a table has all of some indexes.
func (b *builder) hasIndexes(t *moving, names []string) string {
	return fmt.Sprintf("SELECT count(DISTINCT index_name) = %d FROM information_schema.statistics WHERE %s AND index_name IN (%s)", len(names), b.at(t), b.literals(names))
}

// hasForeignKey returns a query for 1 when a table has a foreign key.
func (b *builder) hasForeignKey(t *moving, name string) string {
	return fmt.Sprintf("SELECT count(*) FROM information_schema.table_constraints WHERE %s AND constraint_type = 'FOREIGN KEY' AND constraint_name = %s", b.at(t), b.literal(name))
}

func (b *builder) literals(texts []string) string {
	quoted := slices.Clone(texts)
	for i, text := range quoted {
		quoted[i] = b.literal(text)
	}
	return strings.Join(quoted, ", ")
}

// secondMySQL adds the step that adds second columns.
func (b *builder) secondMySQL(t *moving) {
	var adds, drops, names []string
	for _, m := range t.columns {
		adds = append(adds, "ADD COLUMN "+b.quote(m.second)+" "+b.defined(m.integer(), "NULL", m))
		drops = append(drops, "DROP COLUMN "+b.quote(m.second))
		names = append(names, m.second)
	}
	there := b.hasColumns(t, names, "")
	b.alone(Step{Title: "add second columns to " + t.name, Phase: "expand", Lock: instant, Algorithm: "INSTANT"}, nil,
		"ALTER TABLE "+b.whole(t)+" "+strings.Join(adds, ", ")+", ALGORITHM=INSTANT", there,
		"ALTER TABLE "+b.whole(t)+" "+strings.Join(drops, ", "), b.not(there))
}

// trigger is a trigger of the plan's.
type trigger struct{ name, event, body string }

// triggers adds a step for each trigger that makes it, or one that drops it; the other one undoes it.
func (b *builder) triggers(t *moving, title, phase string, triggers []trigger, make bool) {
	for _, g := range triggers {
		name := b.beside(t, g.name)
		there := fmt.Sprintf("SELECT count(*) FROM information_schema.triggers WHERE trigger_schema = %s AND trigger_name = %s", b.literal(t.of.Full.Schema), b.literal(g.name))
		create := fmt.Sprintf("CREATE TRIGGER %s BEFORE %s ON %s FOR EACH ROW BEGIN\n%sEND", name, g.event, b.whole(t), g.body)
		do, applied, undo, undone := create, there, "DROP TRIGGER "+name, b.not(there)
		if !make {
			do, applied, undo, undone = undo, undone, do, applied
		}
		b.alone(Step{Title: fmt.Sprintf("%s%s (%s)", title, t.name, strings.ToLower(g.event)), Phase: phase, Lock: instant, Algorithm: "catalog only"}, nil, do, applied, undo, undone)
	}
}

// signal refuses a statement.
func (b *builder) signal(text string) string {
	return "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = " + b.literal(text) + ";\n"
}

// keepMySQL returns the triggers that keep second columns.
func (b *builder) keepMySQL(t *moving) []trigger {
	insert, update := "", ""
	for _, m := range t.columns {
		first, second := "NEW."+b.quote(m.column.Name), "NEW."+b.quote(m.second)
		changed := fmt.Sprintf("\tIF NOT (%s <=> OLD.%s) THEN ", first, b.quote(m.column.Name))
		if m.own {
			insert += fmt.Sprintf("\tIF %s >= %d THEN %s\tEND IF;\n\tSET %s = NULL;\n", first, m.key.Below, b.signal("snowkey: keys are not to be given before the swap"), second)
			update += changed + b.signal("snowkey: the key of a row cannot be changed while its table is migrated") + "\tEND IF;\n"
			continue
		}
		set := fmt.Sprintf("SET %s = %s;\n", second, b.follows(m, first))
		insert += "\t" + set
		update += changed + set + "\tEND IF;\n"
	}
	return []trigger{{t.made("i"), "INSERT", insert}, {t.made("u"), "UPDATE", update}}
}

// closing returns the triggers that let f of every row stay as it is. They name columns that are there before and after the swap.
func (b *builder) closing(t *moving) []trigger {
	var changed []string
	for _, m := range t.columns {
		changed = append(changed, fmt.Sprintf("NOT (NEW.%s <=> OLD.%s)", b.quote(m.column.Name), b.quote(m.column.Name)))
	}
	refuse := b.signal("snowkey: closed while keys are swapped, try again")
	return []trigger{{t.made("ci"), "INSERT", "\t" + refuse}, {t.made("cu"), "UPDATE", "\tIF " + strings.Join(changed, " OR ") + " THEN " + refuse + "\tEND IF;\n"}}
}

// close adds the hold, and what makes sure that no row comes any more, and maps those that came.
func (b *builder) close(tables []*moving) {
	b.add(Step{Title: "deploy writers that fill keys", Phase: "flip", Lock: "none", Do: Action{Kind: Hold,
		Text: "All that can be done while old writers write is done. Deploy the writers that fill keys themselves, then run on with Continue: " +
			"the tables are closed for new rows, swapped, and opened again. Until then the new writers' rows are refused by a trigger."}})
	for _, t := range tables {
		if own := t.own(); own != nil {
			b.add(Step{Title: "no writer leaves the keys of " + t.name + " to the database", Phase: "flip", Lock: "none", Do: Action{Kind: Steady,
				SQL: []string{fmt.Sprintf("SELECT COALESCE(max(%s), 0) FROM %s", b.quote(own.column.Name), b.whole(t))}, Window: b.options.Window,
				Otherwise: "A writer still leaves the keys of " + t.name + " to the database: deploy it as one that fills them, and run again with Continue."}})
		}
	}
	for _, t := range tables {
		b.triggers(t, "close ", "flip", b.closing(t), true)
	}
	b.fillMaps("flip", "give the rows that came since new ids: ")
	for _, t := range tables {
		b.fill(t, "flip", "fill the second columns of the last rows of "+t.name)
	}
	b.filled(tables, "flip")
}

// twinned returns the table's indexes that get twins.
func (t *moving) twinned() []*catalog.Index {
	var found []*catalog.Index
	for _, i := range t.of.Indexes {
		if t.touches(i.Columns) {
			found = append(found, i)
		}
	}
	return found
}

// twinsMySQL adds the step that builds the twins of a table's indexes.
func (b *builder) twinsMySQL(t *moving) {
	var adds, drops, names []string
	for _, i := range t.twinned() {
		unique := ""
		if i.Unique || i.Primary {
			unique = "UNIQUE "
		}
		name := t.made("x", i.Name)
		adds = append(adds, fmt.Sprintf("ADD %sKEY %s (%s)", unique, b.quote(name), b.list(t.swapped(i.Columns))))
		drops, names = append(drops, "DROP INDEX "+b.quote(name)), append(names, name)
	}
	if len(names) == 0 {
		return
	}
	there := b.hasIndexes(t, names)
	b.alone(Step{Title: "indexes over the second columns of " + t.name, Phase: "check", Lock: instant, Algorithm: "INPLACE", Rows: t.of.Rows,
		Bytes: max(t.of.Rows, 0) * 24 * int64(len(names)), Disk: max(t.of.Rows, 0) * 24 * int64(len(names))}, nil,
		"ALTER TABLE "+b.whole(t)+" "+strings.Join(adds, ", ")+", "+inplace, there,
		"ALTER TABLE "+b.whole(t)+" "+strings.Join(drops, ", ")+", "+inplace, b.not(there))
}

// unchecked lets a foreign key be added in place; what it would have checked is counted afterwards.
var unchecked = []string{"SET SESSION foreign_key_checks = 0"}

// linkMySQL adds the step that adds a foreign key between second columns.
func (b *builder) linkMySQL(l *link) {
	there := b.hasForeignKey(l.child, l.name)
	b.alone(Step{Title: fmt.Sprintf("foreign key %s over the second columns of %s", l.of.Name, l.child.name), Phase: "check", Lock: instant, Algorithm: "INPLACE"}, unchecked,
		fmt.Sprintf("ALTER TABLE %s ADD CONSTRAINT %s %s, %s", b.whole(l.child), b.quote(l.name), l.definition(b, l.columns, l.to), inplace), there,
		fmt.Sprintf("ALTER TABLE %s DROP FOREIGN KEY %s, %s", b.whole(l.child), b.quote(l.name), inplace), b.not(there))
}

// unlinked adds the step that expects every reference of foreign keys to have its row.
func (b *builder) unlinked(links []*link, title string) {
	var q questions
	for _, l := range links {
		var on, set []string
		for i := range l.columns {
			on = append(on, fmt.Sprintf("p.%s = c.%s", b.quote(l.to[i]), b.quote(l.columns[i])))
			set = append(set, fmt.Sprintf("c.%s IS NOT NULL", b.quote(l.columns[i])))
		}
		q.ask(OrphansByKey(l.of.Name, l.child.name), fmt.Sprintf("SELECT count(*) FROM %s c LEFT JOIN %s p ON %s WHERE p.%s IS NULL AND %s", b.whole(l.child), b.whole(l.parent),
			strings.Join(on, " AND "), b.quote(l.to[0]), strings.Join(set, " AND ")), l.child.of.Rows)
	}
	b.put("check", title, q.expect("Rows refer to rows that are not there: they were orphans before, in spite of the foreign key. Set them right, and run again."))
}
