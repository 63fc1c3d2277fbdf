package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
)

// sqliteRekey is the grammar of SQLite.
type sqliteRekey struct{ *builder }

// session turns foreign keys off, which has to be done outside of a transaction: deferred ones would do for some, but RESTRICT is looked
// at in the middle of a statement, and a CASCADE would move references before their own statement.
func (*sqliteRekey) session() []string { return []string{"PRAGMA foreign_keys=OFF"} }

// around drops the triggers that an UPDATE of the moves would fire, and makes them again: in one transaction, so that no other connection sees the tables
// without them.
func (g *sqliteRekey) around(moves []move) (before, after []string) {
	var tables []string
	for _, m := range moves {
		if slices.Contains(tables, m.table) {
			continue
		}
		tables = append(tables, m.table)
		for _, t := range g.tables[m.table].Triggers {
			if quiets(g.tables[m.table].Full.Name, t) && slices.ContainsFunc(moves, func(o move) bool { return o.table == m.table && t.Updates([]string{o.column}) }) {
				before, after = append(before, "DROP TRIGGER "+g.quote(t.Name)), append(after, t.Definition)
			}
		}
	}
	return before, after
}

// quiets tells whether batches of SQLite drop a trigger of a table and make it again: one that changes no other table, and whose text has nothing that
// stands for a number in a plan's statements.
func quiets(table string, t catalog.Trigger) bool {
	return checkName(t.Name) == nil && marked(t.Definition) == "" && t.Stays(table)
}

func (g *sqliteRekey) column(m move) string { return "c." + g.quote(m.column) }

// update has a plus in front of the map's id where it is compared, so that the map is read by its range and not row by row.
func (g *sqliteRekey) update(source string, m move, from, to, where, more string) []string {
	value := g.value(m, to)
	if m.path != nil {
		path := g.literal(dollarPath(m.path))
		value = fmt.Sprintf("json_set(%[1]s, %[2]s, CASE WHEN json_type(%[1]s, %[2]s) = 'text' THEN CAST(m.%[3]s AS TEXT) ELSE m.%[3]s END)", g.column(m), path, to)
	}
	id := "+m." + from
	switch {
	case m.path != nil:
		id = "m." + from // found by the document's id
	case g.untyped(m):
		// A number in a text is a reference as well: the foreign key compares as the key does, and a plus would not.
		id = "CAST(m." + from + " AS INTEGER)"
	}
	return []string{fmt.Sprintf("UPDATE %s AS c SET %s = %s%s FROM %s AS m WHERE %s AND %s", g.quoted(m.table), g.quote(m.column), value, more, source, g.equal(m, id), where)}
}

func (g *sqliteRekey) value(m move, to string) string {
	switch {
	case m.text:
		return fmt.Sprintf("CAST(m.%s AS TEXT)", to)
	case g.untyped(m):
		return fmt.Sprintf("CASE typeof(%s) WHEN 'text' THEN CAST(m.%s AS TEXT) ELSE m.%[2]s END", g.column(m), to)
	}
	return "m." + to
}

// untyped tells whether a column keeps numbers and texts as they come.
func (g *sqliteRekey) untyped(m move) bool {
	declared := strings.ToUpper(g.columnOf(m.table, m.column).Type)
	return m.path == nil && !m.text && (declared == "" || strings.Contains(declared, "BLOB") || declared == "ANY")
}

func (g *sqliteRekey) equal(m move, id string) string {
	switch {
	case m.path != nil:
		return fmt.Sprintf("%s = %s%s", g.number(m), id, m.owner)
	case m.text:
		// In the column's own collation, so that an index on it is used; with RTRIM '7 ' would be equal to '7', but is longer.
		return fmt.Sprintf("%s = CAST(%s AS TEXT) AND length(%s) = length(%s)%s", g.column(m), id, g.column(m), id, m.owner)
	}
	return fmt.Sprintf("%s = %s%s", g.column(m), id, m.owner)
}

// number takes for a number's text what that number is written as.
func (g *sqliteRekey) number(m move) string {
	written := func(value string) string {
		return fmt.Sprintf("CASE WHEN CAST(CAST(%[1]s AS INTEGER) AS TEXT) = CAST(%[1]s AS TEXT) THEN CAST(%[1]s AS INTEGER) END", value)
	}
	switch {
	case m.path != nil:
		// CASE stands where AND would do, because what is no JSON is an error.
		path := g.literal(dollarPath(m.path))
		return fmt.Sprintf("CASE WHEN json_valid(%[1]s) THEN CASE WHEN json_type(%[1]s, %[2]s) IN ('integer', 'text') THEN %[3]s END END",
			g.column(m), path, written(fmt.Sprintf("json_extract(%s, %s)", g.column(m), path)))
	case m.text:
		return written(g.column(m))
	}
	return g.column(m)
}

func (g *sqliteRekey) createIndex(_ *catalog.Table, m move, name string) (do, undo Action) {
	return transactional(fmt.Sprintf("CREATE INDEX %s ON %s (%s)", g.quote(name), g.quoted(m.table), g.quote(m.column))), transactional("DROP INDEX " + g.quote(name))
}

// broken counts what the database says of the tables that hold a foreign key to a key that moves. The pragma without a table would fail for what is
// wrong with others.
func (g *sqliteRekey) broken(all []rewriting, c *counting) {
	for _, r := range all {
		for _, m := range r.moves {
			subject := Subject{Counts: Broken, Table: m.table}
			if m.declared && !slices.ContainsFunc(c.queries, func(q Query) bool { return q.Subject == subject }) {
				c.ask(g.builder, m.table, Query{About: "rows of … that break a foreign key", Names: []string{m.table}, Subject: subject,
					SQL: fmt.Sprintf("SELECT COUNT(*) FROM pragma_foreign_key_check(%s)", g.literal(g.tables[m.table].Name.Name))})
			}
		}
	}
}

// loosen and tighten have nothing to do: the foreign keys are off in the sessions of batches alone.
func (*sqliteRekey) loosen(context.Context, []rewriting) error { return nil }
func (*sqliteRekey) tighten()                                  {}
