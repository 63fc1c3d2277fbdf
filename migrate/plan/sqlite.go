package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
)

// sqliteEngine is SQLite.
type sqliteEngine struct{ plainEngine }

// session turns foreign keys off, which has to be done outside of a transaction: deferred ones would do for some, but RESTRICT is looked
// at in the middle of a statement, and a CASCADE would move references before their own statement.
func (sqliteEngine) session() []string { return []string{"PRAGMA foreign_keys=OFF"} }

// around drops the triggers that an UPDATE of the moves would fire, and makes them again: in one transaction, so that no other connection sees the tables
// without them.
func (b sqliteEngine) around(moves []move) (before, after []string) {
	var tables []string
	for _, m := range moves {
		if slices.Contains(tables, m.table) {
			continue
		}
		tables = append(tables, m.table)
		for _, t := range b.tables[m.table].Triggers {
			if quiets(b.tables[m.table].Full.Name, t) && slices.ContainsFunc(moves, func(o move) bool { return o.table == m.table && t.Updates([]string{o.column}) }) {
				before, after = append(before, "DROP TRIGGER "+b.quote(t.Name)), append(after, t.Definition)
			}
		}
	}
	return before, after
}

// quiets reports whether batches of SQLite drop a trigger of a table and make it again: one that changes no other table, and whose text has nothing that
// stands for a number in a plan's statements.
func quiets(table string, t catalog.Trigger) bool {
	return checkName(t.Name) == nil && marked(t.Definition) == "" && t.Stays(table)
}

// update has a plus in front of the map's id where it is compared, so that the map is read by its range and not row by row.
func (b sqliteEngine) update(source string, m move, from, to, where, more string) []string {
	value := b.value(m, to)
	if m.path != nil {
		path := b.literal(dollarPath(m.path))
		value = fmt.Sprintf("json_set(%[1]s, %[2]s, CASE WHEN json_type(%[1]s, %[2]s) = 'text' THEN CAST(m.%[3]s AS TEXT) ELSE m.%[3]s END)", b.column(m), path, to)
	}
	id := "+m." + from
	switch {
	case m.path != nil:
		id = "m." + from // found by the document's id
	case b.untyped(m):
		// A number in a text is a reference as well: the foreign key compares as the key does, and a plus would not.
		id = "CAST(m." + from + " AS INTEGER)"
	}
	return []string{fmt.Sprintf("UPDATE %s AS c SET %s = %s%s FROM %s AS m WHERE %s AND %s", b.quoted(m.table), b.quote(m.column), value, more, source, b.equal(m, id), where)}
}

func (b sqliteEngine) value(m move, to string) string {
	switch {
	case m.text:
		return fmt.Sprintf("CAST(m.%s AS TEXT)", to)
	case b.untyped(m):
		return fmt.Sprintf("CASE typeof(%s) WHEN 'text' THEN CAST(m.%s AS TEXT) ELSE m.%[2]s END", b.column(m), to)
	}
	return "m." + to
}

// untyped reports whether a column keeps numbers and texts as they come.
func (b sqliteEngine) untyped(m move) bool {
	declared := strings.ToUpper(b.columnOf(m.table, m.column).Type)
	return m.path == nil && !m.text && (declared == "" || strings.Contains(declared, "BLOB") || declared == "ANY")
}

// equalText compares in the column's own collation, so that an index on it is used; with RTRIM '7 ' would be equal to '7', but is longer.
func (b sqliteEngine) equalText(m move, id string) string {
	return fmt.Sprintf("%s = CAST(%s AS TEXT) AND length(%[1]s) = length(%[2]s)", b.column(m), id)
}

// number takes for a number's text what that number is written as.
func (b sqliteEngine) number(m move) string {
	written := func(value string) string {
		return fmt.Sprintf("CASE WHEN CAST(CAST(%[1]s AS INTEGER) AS TEXT) = CAST(%[1]s AS TEXT) THEN CAST(%[1]s AS INTEGER) END", value)
	}
	switch {
	case m.path != nil:
		// CASE stands where AND would do, because what is no JSON is an error.
		path := b.literal(dollarPath(m.path))
		return fmt.Sprintf("CASE WHEN json_valid(%[1]s) THEN CASE WHEN json_type(%[1]s, %[2]s) IN ('integer', 'text') THEN %[3]s END END",
			b.column(m), path, written(fmt.Sprintf("json_extract(%s, %s)", b.column(m), path)))
	case m.text:
		return written(b.column(m))
	}
	return b.column(m)
}

func (b sqliteEngine) createIndex(_ *catalog.Table, m move, name string) (do, undo Action) {
	return transactional(fmt.Sprintf("CREATE INDEX %s ON %s (%s)", b.quote(name), b.quoted(m.table), b.quote(m.column))), transactional("DROP INDEX " + b.quote(name))
}

// broken counts what the database says of the tables that hold a foreign key to a key that moves. The pragma without a table would fail for what is
// wrong with others.
func (b sqliteEngine) broken(all []rewriting, c *counting) {
	for _, r := range all {
		for _, m := range r.moves {
			subject := BrokenOf(m.table, "")
			if m.declared && !slices.ContainsFunc(c.queries, func(q Query) bool { return q.Subject == subject }) {
				c.ask(b.builder, m.table, Query{About: "rows of … that break a foreign key", Names: []string{m.table}, Subject: subject,
					SQL: fmt.Sprintf("SELECT COUNT(*) FROM pragma_foreign_key_check(%s)", b.literal(b.tables[m.table].Name.Name))})
			}
		}
	}
}

// widen has nothing to widen: SQLite's integers have 64 bits, whatever their type is called. Nor can it have SQLite stop numbering rows that
// come without an INTEGER PRIMARY KEY, with AUTOINCREMENT or without it: the plan says so, and before a rekey looks for writers that rely on it.
func (b sqliteEngine) widen(context.Context) error {
	var numbered []*column
	var all []watched // that get new ids
	var names, back []string
	for _, c := range b.columns {
		if !c.key || !c.of.Counts(c.column) {
			continue
		}
		numbered, names = append(numbered, c), append(names, c.full())
		if key := b.plan.Key(c.table); key != nil && key.Map != "" { // nil where something stands in the way
			all = append(all, b.greatest(c))
			if c.column.Auto != "" && key.Next <= key.Below { // new rows that are gone again have left their number
				back = append(back, fmt.Sprintf("UPDATE %s.sqlite_sequence SET seq = max(%d, (SELECT coalesce(max(%s), 0) FROM %s)) WHERE name = %s AND seq >= %d",
					b.quote(c.of.Full.Schema), max(key.Next-1, 0), b.quote(c.column.Name), b.quoted(c.table), b.literal(c.of.Full.Name), key.Below))
			}
		}
	}
	if len(numbered) == 0 {
		return nil
	}
	// NEW has -1 for a key that the INSERT leaves out or has NULL for: SQLite 3.53.4, in all forms of INSERT.
	k := numbered[0]
	b.note(fmt.Sprintf("SQLite goes on to number rows that come without their key, with AUTOINCREMENT and without it: by the greatest key there is, or was with AUTOINCREMENT, plus 1. "+
		"After the first snowflake that is a number that a generator may make, too, so see that every writer fills its keys. It is so of %s. A trigger refuses such rows, once no writer is left that needs them: "+
		"CREATE TRIGGER %s BEFORE INSERT ON %s WHEN NEW.%s = -1 BEGIN SELECT RAISE(ABORT, 'no key'); END",
		strings.Join(names, ", "), b.quote(k.of.Full.Name+"_key"), b.quoted(k.table), b.quote(k.column.Name)))
	if len(all) > 0 {
		b.beforeFlip(heldSince, all)
	}
	if len(back) > 0 {
		b.plan.Steps[len(b.plan.Steps)-1].Undo = &Action{Kind: Transactional, RowsOnly: true, SQL: back}
	}
	return nil
}

func (b sqliteEngine) exclusively(context.Context, []rewriting, []string) (exclusively, error) {
	const waits = "writers of the database wait; readers see the rows as they were, in the journal mode WAL, else they wait, too"
	return exclusively{session: b.session(), lock: Lock{Waits: allWrites, Text: waits}, rowsOnly: true}, nil
}

func (b sqliteEngine) assign(table string, list []assignment, from, to string) []string {
	return []string{b.lookUp(table, list, from, to, "")}
}
