package plan

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
)

// widen plans for MySQL and MariaDB, where both sides of a foreign key have the same type, none of them can be changed while the key is
// there (1832, 1833), and a snowflake that is written to an AUTO_INCREMENT column makes the counter go on from it.
func (b mysqlEngine) widen(context.Context) error {
	keys := b.made()
	for _, t := range b.ofTable(func(c *column) bool { return c.narrow() || c.key && c.column.Auto != "" }) {
		b.check(t[0])
	}
	b.gates(slices.DeleteFunc(slices.Clone(keys), func(k *column) bool { return !counts(k) }))
	var cascades []*catalog.Reference
	for _, g := range b.connected() {
		b.widenConnected(g)
		for _, r := range g.keys {
			if b.cascade(r) != "" {
				cascades = append(cascades, r)
			}
		}
	}
	if len(cascades) > 0 {
		b.note("From the first step of expand to its last, foreign keys with ON DELETE CASCADE or SET NULL are missing" + b.among(cascades) + ": a row that is deleted meanwhile leaves the rows that " +
			"refer to it. The run stops once the keys are back, and has the statement that does what ON DELETE would have done.")
	}
	if len(keys) > 0 {
		b.flip(keys)
	}
	return nil
}

// check blocks tables of which it is not certain that a type change keeps everything.
func (b mysqlEngine) check(c *column) {
	t := c.of
	if t.Engine != "InnoDB" {
		b.block(fmt.Sprintf("%s has the engine %s, and a step cannot be done together with the journal's row: ALTER TABLE %s ENGINE = InnoDB first.", c.table, t.Engine, b.quoted(c.table)))
	}
	if t.Related != "" && !b.reported("partition", c.table) {
		b.refuse("partition", c.table, "", fmt.Sprintf("%s is %s: where the partitions are ranges of the key, snowflakes are beyond the last one. Make one for values up to MAXVALUE first.", c.table, t.Related))
	}
	if least, err := b.options.Layout.MinID(b.options.Now); err == nil && c.key && t.Next > least && t.Next < math.MaxInt64 { // else the report says it
		b.refuse("counter", c.table, c.column.Name, fmt.Sprintf("The counter of %s stands at %d, which is above the ids that are made now: generators would make ids that are there.", c.table, t.Next))
	} else if c.key && t.Next > b.options.Below {
		b.note(fmt.Sprintf("The counter of %s stands at %d, for snowflakes were written to it before: until the flip, the database goes on from there.", c.table, t.Next))
	}
}

// gateName is the trigger's: in the schema of its table, and one of its own for each there, however long the table's name is.
func (b mysqlEngine) gateName(k *column) catalog.Name {
	sum := sha256.Sum256([]byte(k.of.Full.Name))
	return catalog.Name{Schema: k.of.Schema, Name: "snowkey_gate_" + hex.EncodeToString(sum[:6])}
}

// gateThere is the end of a query for a gate.
func (b mysqlEngine) gateThere(k *column) string {
	return fmt.Sprintf("FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = %s AND TRIGGER_NAME = %s", b.literal(k.of.Full.Schema), b.literal(b.gateName(k).Name))
}

// counterThere is the end of a query for a column that is AUTO_INCREMENT.
func (b mysqlEngine) counterThere(k *column) string {
	return fmt.Sprintf("FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %[2]s AND BINARY TABLE_NAME = %[2]s AND COLUMN_NAME = %s AND EXTRA LIKE '%%auto_increment%%'",
		b.literal(k.of.Full.Schema), b.literal(k.of.Full.Name), b.literal(k.column.Name))
}

// gates keep snowflakes out of columns for as long as they are AUTO_INCREMENT: from the first one on the counter would make snowflakes, too,
// which the generators make a moment later (1062), and a transaction that is rolled back does not set it back.
//
// A gate looks for itself whether the counter is there, so that the statement that ends the counter opens the gate: there is no moment in
// which neither rows with a key nor rows without one come in, and nobody has to open a gate that a run has left.
func (b mysqlEngine) gates(keys []*column) {
	if len(keys) == 0 {
		return
	}
	var all []watched
	var do, undo, there, gone, tables []string
	for _, k := range keys {
		trigger := b.catalog.Quoted(b.gateName(k))
		// At most 128 letters, and a plain text.
		message := fmt.Sprintf("snowkey migrate: no snowflakes in %.40s before the flip; next: snowkey migrate status", strings.ReplaceAll(k.table, `\`, "/"))
		all, tables = append(all, watched{key: k.full()}), append(tables, k.table)
		do = append(do, fmt.Sprintf("CREATE TRIGGER %s BEFORE INSERT ON %s FOR EACH ROW IF NEW.%s >= %d AND EXISTS (SELECT 1 %s) THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = %s; END IF",
			trigger, b.quoted(k.table), b.quote(k.column.Name), b.options.Below, b.counterThere(k), b.literal(message)))
		undo = append(undo, "DROP TRIGGER IF EXISTS "+trigger)
		there, gone = append(there, "SELECT COUNT(*) "+b.gateThere(k)), append(gone, "SELECT COUNT(*) = 0 "+b.gateThere(k))
	}
	b.add(Step{
		Title: "keep snowflakes out of … until the flip", Names: []string{listed(all)}, Phase: "expand", Tables: tables,
		Lock: writesInTurn, Algorithm: "catalog only", Do: b.autocommit(do, there, "TRIGGER"), Undo: ref(b.autocommit(undo, gone, "TRIGGER")),
	})
	b.gated = len(b.plan.Steps)
}

// connection is a set of columns to widen that foreign keys connect, by table, and those foreign keys.
type connection struct {
	tables [][]*column
	keys   []*catalog.Reference
}

// connected returns what has to be widened in sets: between the first and the last step of a set its foreign keys are missing.
func (b mysqlEngine) connected() []connection {
	groups := b.ofTable((*column).narrow)
	touched := func(r *catalog.Reference, set []int) bool {
		return slices.ContainsFunc(set, func(i int) bool {
			return slices.ContainsFunc(groups[i], func(c *column) bool {
				return r.Child == c.of.Full && slices.Contains(r.Columns, c.column.Name) || r.Parent == c.of.Full && slices.Contains(r.To, c.column.Name)
			})
		})
	}
	var sets [][]int // of groups, in their order
	for i := range groups {
		sets = append(sets, []int{i})
	}
	for _, r := range b.references {
		for first, i := -1, 0; i < len(sets); i++ {
			switch {
			case !touched(r, sets[i]):
			case first < 0:
				first = i
			default:
				sets[first] = append(sets[first], sets[i]...)
				sets = slices.Delete(sets, i, i+1)
				i--
			}
		}
	}
	found := make([]connection, len(sets))
	for n, set := range sets {
		slices.Sort(set)
		for _, i := range set {
			found[n].tables = append(found[n].tables, groups[i])
		}
		for _, r := range b.references {
			if touched(r, set) {
				found[n].keys = append(found[n].keys, r)
			}
		}
	}
	return found
}

// widenConnected drops the foreign keys of a set, changes the types, and makes the keys again.
func (b mysqlEngine) widenConnected(c connection) {
	var orphans counting
	cascades := false
	for _, r := range c.keys {
		if r.Definition == "" {
			b.block(fmt.Sprintf("the foreign key %s of %s cannot be seen in full, so that it could not be made again: use a user with rights on both tables.", r.Name, r.Child))
		}
		table := b.short(r.Child).String()
		orphans.ask(b.builder, table, Query{About: "orphans by the foreign key … of …", Names: []string{r.Name, table}, SQL: b.orphans(r), Subject: BrokenOf(table, r.Name), Remedy: b.cascade(r)})
		cascades = cascades || b.cascade(r) != ""
	}
	deleted := ""
	if cascades {
		deleted = " Or rows were deleted that others refer to: where there were no orphans before, the statements in parentheses do what ON DELETE would have done."
	}
	counted := orphans.step(b.builder, "expand", "count the orphans of the foreign keys that are dropped for a while"+b.among(c.keys), Action{Kind: Count})
	for _, r := range c.keys {
		b.add(b.dropKey(r))
	}
	// The next steps do nothing but look. A rollback that begins between the type changes comes by here before it makes the foreign keys again,
	// which need both sides to have one type: it goes forward, and changes the types that are left. One that begins before the first type change
	// changes none. Either way all tables of the set are treated alike, for each step here was done before the first type was changed.
	if len(c.keys) > 0 {
		var counts []string
		for _, t := range c.tables {
			counts = append(counts, b.wideCount(t))
		}
		for i, t := range c.tables {
			change := b.modify(t)
			change.Applied = []string{fmt.Sprintf("SELECT %s = %d OR %s = 0", counts[i], len(t), strings.Join(counts, " + "))}
			b.add(Step{
				Title: "make sure that no foreign key is left on …", Names: []string{t[0].table}, Phase: "expand", Tables: []string{t[0].table},
				Do: Action{Kind: Assert, Queries: []Query{{About: "foreign keys of and to …", Names: []string{t[0].table}, SQL: b.leftKeys(t)}},
					OnFailure: "A foreign key was made since the plan was: roll back, and plan again."},
				Undo: &change,
			})
		}
	}
	for _, t := range c.tables {
		var names []string
		for _, col := range t {
			names = append(names, col.column.Name)
		}
		b.add(Step{
			Title: widenTitle, Names: []string{strings.Join(names, ", "), t[0].table}, Phase: "expand", Tables: []string{t[0].table},
			Lock: Lock{Waits: allWrites, Text: "writes to the table wait for as long as it is copied"}, Algorithm: "COPY",
			Rows: t[0].of.Rows, Bytes: t[0].of.Bytes, Disk: t[0].of.Bytes,
			Do: b.modify(t), Kept: keptWide, Changes: b.widened(t),
		})
	}
	for _, r := range c.keys {
		b.add(Step{
			Title: "make the foreign key … of … again", Names: []string{r.Name, b.short(r.Child).String()}, Phase: "expand", Tables: b.tied(r),
			Lock: writesOfBoth, Algorithm: "INPLACE",
			Do: b.addKey(r), Kept: "it is what was there before",
		})
	}
	orphans.step(b.builder, "expand", "make sure that the foreign keys have no new orphans"+b.among(c.keys), Action{Kind: Assert, Baseline: counted,
		OnFailure: "While the foreign keys were not there, rows came that refer to no row: mend them (the queries count them), and run again." + deleted})
}

// cascade returns the statement that does to a foreign key's orphans what its ON DELETE would have done; empty where that would have refused.
func (b mysqlEngine) cascade(r *catalog.Reference) string {
	var on, set, null []string
	for i, name := range r.Columns {
		column := "c." + b.quote(name)
		on, set, null = append(on, fmt.Sprintf("p.%s = %s", b.quote(r.To[i]), column)), append(set, column+" IS NOT NULL"), append(null, column+" = NULL")
	}
	join := fmt.Sprintf("%s c LEFT JOIN %s p ON %s", b.catalog.Quoted(b.short(r.Child)), b.catalog.Quoted(b.short(r.Parent)), strings.Join(on, " AND "))
	where := fmt.Sprintf("WHERE %s AND p.%s IS NULL", strings.Join(set, " AND "), b.quote(r.To[0]))
	switch r.OnDelete {
	case "CASCADE":
		return fmt.Sprintf("DELETE c FROM %s %s", join, where)
	case "SET NULL":
		return fmt.Sprintf("UPDATE %s SET %s %s", join, strings.Join(null, ", "), where)
	}
	return ""
}

// among returns the tables of foreign keys, as the end of a title: there may be several sets of them in a plan.
func (b mysqlEngine) among(keys []*catalog.Reference) string {
	var tables []string
	for _, r := range keys {
		if table := b.short(r.Child).String(); !slices.Contains(tables, table) {
			tables = append(tables, table)
		}
	}
	return ", of " + strings.Join(tables, ", ")
}

// keyThere is the end of a query for a foreign key. The comparisons of information_schema know no case.
func (b mysqlEngine) keyThere(r *catalog.Reference) string {
	return fmt.Sprintf("FROM information_schema.TABLE_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = %[1]s AND TABLE_SCHEMA = %[1]s AND TABLE_NAME = %[2]s AND BINARY TABLE_NAME = %[2]s"+
		" AND CONSTRAINT_NAME = %[3]s AND CONSTRAINT_TYPE = 'FOREIGN KEY'", b.literal(r.Child.Schema), b.literal(r.Child.Name), b.literal(r.Name))
}

func (b mysqlEngine) dropKey(r *catalog.Reference) Step {
	undo := b.addKey(r)
	return Step{
		Title: "drop the foreign key … of … until the types are changed", Names: []string{r.Name, b.short(r.Child).String()}, Phase: "expand", Tables: b.tied(r),
		Lock: writesOfBoth, Algorithm: "INPLACE",
		Do: b.alter(fmt.Sprintf("ALTER TABLE %s DROP FOREIGN KEY %s%s, ALGORITHM=INPLACE, LOCK=NONE", b.catalog.Quoted(b.short(r.Child)), b.quote(r.Name), b.ownIndexes(r)),
			"SELECT COUNT(*) = 0 "+b.keyThere(r)),
		Undo: &undo,
	}
}

// ownIndexes renames an index that MariaDB may have made for a foreign key to the name that it has. That makes it one of the table's own. Else, when the key is
// made again, the server would make another under the key's name, and drop this one, whose name statements may have as a hint.
func (b mysqlEngine) ownIndexes(r *catalog.Reference) string {
	name, ok := b.names[r.Child]
	if !ok || !strings.HasPrefix(b.plan.Database.Version, "MariaDB") {
		return ""
	}
	var text strings.Builder
	for _, i := range b.tables[name].Indexes {
		if !i.Primary && !i.Unique && slices.Equal(i.Columns, r.Columns) {
			fmt.Fprintf(&text, ", RENAME INDEX %s TO %[1]s", b.quote(i.Name))
		}
	}
	return text.String()
}

// addKey makes a foreign key without looking at the rows that are there, which lets others write; an Expect looks then. It takes no time where there is an
// index for it.
func (b mysqlEngine) addKey(r *catalog.Reference) Action {
	a := b.autocommit([]string{fmt.Sprintf("ALTER TABLE %s ADD CONSTRAINT %s %s, ALGORITHM=INPLACE, LOCK=NONE", b.catalog.Quoted(b.short(r.Child)), b.quote(r.Name), b.definition(r))},
		[]string{"SELECT COUNT(*) " + b.keyThere(r)}, append(slices.Clone(altering), "REFERENCES")...)
	a.Session = []string{mysqlStrict, "SET foreign_key_checks = 0"}
	return a
}

// altering are the privileges of ALTER TABLE, which makes a table anew.
var altering = []string{"ALTER", "CREATE", "INSERT"}

// alter returns the action of an ALTER TABLE, read strictly.
func (b mysqlEngine) alter(sql, applied string) Action {
	a := b.autocommit([]string{sql}, []string{applied}, altering...)
	a.Session = []string{mysqlStrict}
	return a
}

// tied returns the tables of the plan that a foreign key connects.
func (b mysqlEngine) tied(r *catalog.Reference) (tables []string) {
	for _, name := range []catalog.Name{r.Child, r.Parent} {
		if table := b.names[name]; table != "" && !slices.Contains(tables, table) {
			tables = append(tables, table)
		}
	}
	return tables
}

// What waits for the steps of MySQL.
var (
	writesInTurn = Lock{allWrites, true, "writes to one table after another wait for a moment"}
	writesOfBoth = Lock{allWrites, true, "writes to both tables wait for a moment"}
)

// definition returns a foreign key as SHOW CREATE TABLE has it, where it can be read there. What is made of information_schema means the same, but is
// shown in other words: it does not tell an action that was left out, beside one that was not, from NO ACTION.
func (b mysqlEngine) definition(r *catalog.Reference) string {
	if name, ok := b.names[r.Child]; ok {
		begin := "\n  CONSTRAINT " + b.quote(r.Name) + " "
		if _, rest, ok := strings.Cut(b.tables[name].Create, begin); ok && strings.HasPrefix(rest, "FOREIGN KEY ") {
			line, _, _ := strings.Cut(rest, "\n")
			return strings.TrimSuffix(line, ",")
		}
	}
	return r.Definition
}

// leftKeys returns the query for the number of foreign keys that columns of one table have, or are referred to by.
func (b mysqlEngine) leftKeys(t []*column) string {
	names := make([]string, len(t))
	for i, c := range t {
		names[i] = b.literal(c.column.Name)
	}
	in, schema, table := strings.Join(names, ", "), b.literal(t[0].of.Full.Schema), b.literal(t[0].of.Full.Name)
	return fmt.Sprintf("SELECT COUNT(*) FROM information_schema.KEY_COLUMN_USAGE WHERE REFERENCED_TABLE_NAME IS NOT NULL AND (TABLE_SCHEMA = %[1]s AND BINARY TABLE_NAME = %[2]s"+
		" AND COLUMN_NAME IN (%[3]s) OR REFERENCED_TABLE_SCHEMA = %[1]s AND BINARY REFERENCED_TABLE_NAME = %[2]s AND REFERENCED_COLUMN_NAME IN (%[3]s))", schema, table, in)
}

// wideCount returns the query, in parentheses, for how many of some columns of one table have 64 bits.
func (b mysqlEngine) wideCount(t []*column) string {
	names := make([]string, len(t))
	for i, c := range t {
		names[i] = b.literal(c.column.Name)
	}
	return fmt.Sprintf("(SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %[2]s AND BINARY TABLE_NAME = %[2]s AND COLUMN_NAME IN (%s) AND DATA_TYPE = 'bigint')",
		b.literal(t[0].of.Full.Schema), b.literal(t[0].of.Full.Name), strings.Join(names, ", "))
}

// modify changes the types of columns of one table, and nothing else of them: the rest is as SHOW CREATE TABLE has it.
func (b mysqlEngine) modify(t []*column) Action {
	var parts []string
	for _, c := range t {
		define := catalog.Wide(c.column)
		if define == c.column.Define || strings.Contains(strings.ToLower(c.column.Type), "zerofill") {
			b.block(fmt.Sprintf("%s is declared as %q, of which it is not certain what it would be with 64 bits: change it first.", c.full(), c.column.Define))
		}
		parts = append(parts, fmt.Sprintf("MODIFY %s %s", b.quote(c.column.Name), define))
	}
	// A session that is not strict would change values that do not fit; NO_AUTO_VALUE_ON_ZERO keeps a row 0.
	return b.alter(fmt.Sprintf("ALTER TABLE %s %s, ALGORITHM=COPY, LOCK=SHARED", b.quoted(t[0].table), strings.Join(parts, ", ")), fmt.Sprintf("SELECT %s = %d", b.wideCount(t), len(t)))
}

// mysqlStrict leaves out the modes that change how a definition is read, such as ANSI_QUOTES, or refuse defaults and values that are there, such as
// NO_ZERO_DATE: every ALTER TABLE looks at the defaults of all columns, whichever it is about (1067).
const mysqlStrict = "SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO'"

// flip has the database make no keys any more: one look at all tables for writers that leave their keys to it, then one statement a table
// in immediate succession, each of which ends the table's counter and lets snowflakes in. What is left of the gates is tidied away afterwards.
func (b mysqlEngine) flip(keys []*column) {
	var all []watched
	var do, done, undo, undone, gates, gone, tables, gatedTables []string
	size, rows := int64(0), int64(0)
	var changes []Change
	for _, k := range keys {
		changes = append(changes, b.gone(k.of, "numbers of column "+k.column.Name)...)
		all, tables = append(all, b.greatest(k)), append(tables, k.table)
		if !counts(k) {
			do, done, undo, undone = b.flipDefault(k, do, done, undo, undone)
			continue
		}
		algorithm, lock := "INSTANT", "DEFAULT"
		if !b.instantFlip() {
			algorithm, lock = "COPY", "SHARED"
			size, rows = sizeOf(size, k.of.Bytes), sizeOf(rows, k.of.Rows)
		}
		wide := catalog.Wide(k.column)
		modify := fmt.Sprintf("ALTER TABLE %s MODIFY %s ", b.quoted(k.table), b.quote(k.column.Name))
		do = append(do, fmt.Sprintf("%s%s, ALGORITHM=%s, LOCK=%s", modify, catalog.Uncounted(wide), algorithm, lock))
		done = append(done, "SELECT COUNT(*) = 0 "+b.counterThere(k))
		// From the number that was next when the plan was made, or one more than the greatest id, where that is more.
		undo = append(undo, fmt.Sprintf("%s%s, AUTO_INCREMENT = %d, ALGORITHM=COPY, LOCK=SHARED", modify, wide, max(k.of.Next, 1)))
		undone = append(undone, "SELECT COUNT(*) "+b.counterThere(k))
		gatedTables = append(gatedTables, k.table)
		gates = append(gates, "DROP TRIGGER IF EXISTS "+b.catalog.Quoted(b.gateName(k)))
		gone = append(gone, "SELECT COUNT(*) = 0 "+b.gateThere(k))
	}
	session := []string{mysqlStrict, "SET foreign_key_checks = 0"}
	action, back := b.autocommit(do, done, altering...), b.autocommit(undo, undone, altering...)
	action.Session, back.Session = session, session
	flip := Step{
		Title: "end the keys that the database makes, of …", Names: []string{listed(all)}, Phase: "flip", Tables: tables,
		Lock: writesInTurn, Algorithm: "INSTANT", Do: action, Undo: &back, Changes: changes,
	}
	if !b.instantFlip() {
		flip.Lock, flip.Algorithm, flip.Rows, flip.Bytes, flip.Disk = Lock{Waits: allWrites, Text: "writes to one table after another wait for as long as it is copied"}, "COPY", rows, size, size
	}
	deploy := heldSince
	if len(gates) > 0 {
		deploy += " " + b.gateRefuses(len(gates), flip)
	}
	b.beforeFlip(deploy, all)
	b.add(flip)
	b.refusesKeyless()
	if len(gates) == 0 {
		return
	}
	b.refusesFilling(len(gates))
	b.add(Step{
		Title: "drop the triggers that kept snowflakes out", Phase: "flip", Tables: gatedTables, Lock: writesInTurn, Algorithm: "catalog only",
		Do:   b.autocommit(gates, gone, "TRIGGER"),
		Kept: "a rollback does not refuse what is written while it runs; with snowflakes in the table the counter goes on from the greatest",
	})
}

// flipDefault adds what has a sequence of MariaDB make no keys any more. A sequence does not move for keys that are given, so there is no gate.
func (b mysqlEngine) flipDefault(k *column, do, done, undo, undone []string) (_, _, _, _ []string) {
	wide := catalog.Wide(k.column)
	there := fmt.Sprintf("FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %[2]s AND BINARY TABLE_NAME = %[2]s AND COLUMN_NAME = %s AND COLUMN_DEFAULT IS NOT NULL",
		b.literal(k.of.Full.Schema), b.literal(k.of.Full.Name), b.literal(k.column.Name))
	return append(do, fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s DROP DEFAULT, ALGORITHM=INSTANT", b.quoted(k.table), b.quote(k.column.Name))), append(done, "SELECT COUNT(*) = 0 "+there),
		append(undo, fmt.Sprintf("ALTER TABLE %s MODIFY %s %s", b.quoted(k.table), b.quote(k.column.Name), wide)), append(undone, "SELECT COUNT(*) "+there)
}

// counts reports whether the key's numbers are a counter of the table, rather than a sequence's of MariaDB.
func counts(k *column) bool { return k.column.Auto == "AUTO_INCREMENT" }

// instantFlip reports whether a counter ends without a copy of its table: to MySQL the column is of another type then.
func (b *builder) instantFlip() bool { return strings.HasPrefix(b.plan.Database.Version, "MariaDB") }
