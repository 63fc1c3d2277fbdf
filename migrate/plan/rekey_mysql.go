package plan

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
)

// mysqlEngine is MySQL and MariaDB.
type mysqlEngine struct{ plainEngine }

// session has no foreign key look at a batch, which MySQL would do row by row. The statements that it runs have all references in them, so
// that none is broken at its end, which the counts of orphans show. sql_mode: with NO_ZERO_DATE, a zero date could not be assigned to itself.
func (b mysqlEngine) session() []string {
	settings := []string{
		"SET SESSION foreign_key_checks=0",
		"SET SESSION sql_safe_updates=0",
		"SET SESSION sql_mode='STRICT_ALL_TABLES,ALLOW_INVALID_DATES'",
		"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
	}
	if len(b.guards) > 0 {
		settings = append([]string{"SET " + catalog.GuardVariable + " = 1"}, settings...)
	}
	return settings
}

// update joins with STRAIGHT_JOIN, which reads the map first, whatever the statistics of a map say that was just filled.
func (b mysqlEngine) update(source string, m move, from, to, where, more string) []string {
	table := b.quoted(m.table)
	if m.path == nil {
		return []string{fmt.Sprintf("UPDATE %s m STRAIGHT_JOIN %s c ON %s SET %s = %s%s%s WHERE %s",
			source, table, b.equal(m, "m."+from), b.column(m), b.value(m, to), more, b.unchanged(m), where)}
	}
	// Two statements: one expression for both would make the numbers texts.
	statement := func(types, value string) string {
		return fmt.Sprintf("UPDATE %s c STRAIGHT_JOIN %s m ON m.%s = %s SET %s = JSON_SET(%[5]s, %s, %s)%s WHERE %s%s",
			table, source, from, b.inside(m, types), b.column(m), b.literal(dollarPath(m.path)), value, b.unchanged(m), where, m.owner)
	}
	return []string{statement(jsonNumbers, "m."+to), statement(jsonTexts, fmt.Sprintf("CONVERT(m.%s, CHAR)", to))}
}

func (mysqlEngine) value(m move, to string) string {
	if m.text {
		return fmt.Sprintf("CONVERT(m.%s, CHAR)", to)
	}
	return "m." + to
}

// What JSON_TYPE calls what can be an id.
const (
	jsonNumbers = "'INTEGER', 'UNSIGNED INTEGER'"
	jsonTexts   = "'STRING'"
)

// unchanged assigns columns with ON UPDATE CURRENT_TIMESTAMP to themselves: no time of the application's is lost.
func (b mysqlEngine) unchanged(m move) string {
	var text strings.Builder
	for _, c := range b.tables[m.table].Columns {
		if c.OnUpdate != "" && c.Name != m.column {
			fmt.Fprintf(&text, ", c.%s = c.%[1]s", b.quote(c.Name))
		}
	}
	return text.String()
}

// equalText compares in the column's own collation, so that an index on it is used. There '7 ' may be equal to '7', and other characters to
// digits, but not in as many bytes.
func (b mysqlEngine) equalText(m move, id string) string {
	return fmt.Sprintf("%s = CONVERT(%s %s AND LENGTH(CONVERT(%[1]s USING utf8mb4)) = LENGTH(%[2]s)", b.column(m), id, m.encoding)
}

func (b mysqlEngine) number(m move) string {
	switch {
	case m.path != nil:
		return b.inside(m, jsonNumbers+", "+jsonTexts)
	case m.text:
		return parsed(fmt.Sprintf("CONVERT(%s USING utf8mb4)", b.column(m)))
	}
	return b.column(m)
}

// inside returns the id in a document, when its type there is one of those. CASE stands where AND would do, because the order in which
// the parts of AND are evaluated is not certain, and what is no JSON, or no number, may be an error.
func (b mysqlEngine) inside(m move, types string) string {
	value := fmt.Sprintf("JSON_EXTRACT(%s, %s)", b.column(m), b.literal(dollarPath(m.path)))
	return fmt.Sprintf("CASE WHEN JSON_VALID(%s) THEN CASE WHEN JSON_TYPE(%s) IN (%s) THEN %s END END", b.column(m), value, types, parsed("JSON_UNQUOTE("+value+")"))
}

// parsed returns a text's number, NULL when it is none. $ alone comes before a line's end at the end of a text, too.
func parsed(text string) string {
	return fmt.Sprintf("CASE WHEN %[1]s NOT REGEXP '[^-0-9]' AND %[1]s REGEXP '%s' THEN CAST(%[1]s AS SIGNED) END", text, decimal)
}

// schema returns the schema of a table as a value.
func (b mysqlEngine) schema(name catalog.Name) string {
	if name.Schema == "" {
		return "DATABASE()"
	}
	return b.literal(name.Schema)
}

func (b mysqlEngine) createIndex(t *catalog.Table, m move, name string) (do, undo Action) {
	part := b.quote(m.column)
	if c := b.columnOf(m.table, m.column); m.text && (c.Digits == 0 || c.Digits > 64) {
		part += "(32)" // an index has room for 768 characters, and not for all of a TEXT
	}
	there := fmt.Sprintf("FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s AND INDEX_NAME = %s",
		b.schema(t.Name), b.literal(t.Name.Name), b.literal(name))
	alter := "ALTER TABLE " + b.quoted(m.table)
	return b.alter(fmt.Sprintf("%s ADD INDEX %s (%s), ALGORITHM=INPLACE, LOCK=NONE", alter, b.quote(name), part), "SELECT COUNT(*) "+there),
		b.alter(fmt.Sprintf("%s DROP INDEX %s, ALGORITHM=INPLACE, LOCK=NONE", alter, b.quote(name)), "SELECT 1 - COUNT(*) "+there)
}

// encoding returns how a number becomes a text that is compared in the collation of a column: the rest of CONVERT, after the number.
func (b mysqlEngine) encoding(ctx context.Context, table catalog.Name, column string) (string, error) {
	var charset, collation sql.NullString
	err := b.db.QueryRowContext(ctx, "SELECT CHARACTER_SET_NAME, COLLATION_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND COLUMN_NAME = ?",
		table.Schema, table.Name, column).Scan(&charset, &collation)
	switch {
	case err != nil:
		return "", fmt.Errorf("plan: the collation of %s.%s: %w", table, column, err)
	case !charset.Valid:
		return "USING binary)", nil
	}
	return fmt.Sprintf("USING %s) COLLATE %s", charset.String, collation.String), nil
}

// encoded finds the collation of a column of text.
func (b mysqlEngine) encoded(ctx context.Context, m move) (_ move, err error) {
	if m.text {
		m.encoding, err = b.encoding(ctx, b.tables[m.table].Full, m.column)
	}
	return m, err
}

// partitioning returns what a table is partitioned by.
func (b mysqlEngine) partitioning(ctx context.Context, t *catalog.Table) (by string, err error) {
	err = b.db.QueryRowContext(ctx, `SELECT COALESCE(MAX(CONCAT_WS(' and ', PARTITION_EXPRESSION, SUBPARTITION_EXPRESSION)), '')
		FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?`, t.Full.Schema, t.Full.Name).Scan(&by)
	return by, err
}

// guarded is a trigger of MariaDB that does not fire for the rows that batches rewrite.
type guarded struct {
	of *catalog.Table
	catalog.Trigger
}

// guard returns the steps that put the bodies of triggers into an IF, and those that take them out again: one for all triggers that were made under the same
// settings. Each of them undoes the other, so that no batch fires a trigger, forwards or back.
func (b mysqlEngine) guard(all []rewriting) (on, off []Step) {
	written := map[string]bool{}
	for _, r := range all {
		for _, m := range r.moves {
			written[m.table] = true
		}
	}
	for _, table := range slices.Sorted(maps.Keys(written)) {
		for _, t := range b.tables[table].Triggers {
			if t.Guard != nil {
				b.guards = append(b.guards, guarded{b.tables[table], t})
			}
		}
	}
	var names []string
	for rest := b.guards; len(rest) > 0; {
		session := rest[0].Guard.Session
		var left []guarded
		var of, tables []string
		var put, there, take, gone []string
		var changes, as []Change
		for _, t := range rest {
			if !slices.Equal(t.Guard.Session, session) {
				left = append(left, t)
				continue
			}
			of = append(of, t.of.Name.String()+"."+t.Name)
			if !slices.Contains(tables, t.of.Name.String()) {
				tables = append(tables, t.of.Name.String())
			}
			query := fmt.Sprintf("FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = %s AND TRIGGER_NAME = %[2]s AND BINARY TRIGGER_NAME = %[2]s AND ACTION_STATEMENT LIKE %[3]s",
				b.literal(t.of.Full.Schema), b.literal(t.Name), b.literal(catalog.Guarded+"%"))
			put, there = append(put, t.Guard.On), append(there, "SELECT COUNT(*) "+query)
			// One that somebody else has replaced meanwhile is left as it is.
			take, gone = append(take, t.Guard.Off), append(gone, "SELECT COUNT(*) = 0 "+query)
			what := "trigger " + t.Name
			changes = append(changes, Change{Of: b.of(t.of), What: what, Any: true})
			as = append(as, Change{Of: b.of(t.of), What: what, Text: b.text(b.of(t.of), what)})
		}
		rest, names = left, append(names, of...)
		step := func(verb string, do, undo Action, changes []Change) Step {
			do.Session, undo.Session = session, session
			return Step{
				Title: verb + " …", Names: []string{strings.Join(of, ", ")}, Phase: "rewrite", Tables: tables, Lock: writesInTurn, Algorithm: "catalog only",
				Do: do, Undo: &undo, Changes: changes,
			}
		}
		on = append(on, step("keep these triggers from firing in the sessions of the plan:", b.autocommit(put, there, "TRIGGER"), b.autocommit(take, gone, "TRIGGER"), changes))
		off = append(off, step("make these triggers as they were:", b.autocommit(take, gone, "TRIGGER"), b.autocommit(put, there, "TRIGGER"), as))
	}
	if len(names) > 0 {
		b.note(fmt.Sprintf("For the rows that the plan rewrites these triggers do not fire, for they are replaced for the time by ones that do nothing where %s is set, as it is in the plan's "+
			"own sessions; for all others they go on: %s. What they keep of ids in other places has the old ones, unless that is a reference of the plan. "+
			"Deploy no change of these triggers until the rows are rewritten: the run stops and says so.", catalog.GuardVariable, strings.Join(names, ", ")))
	}
	return on, off
}

// exclusively has the rows locked by the statements themselves: under REPEATABLE READ one that reads a whole table locks all its rows, and the gaps between them, until
// the transaction ends. LOCK TABLES would be undone by the beginning of the transaction.
func (b mysqlEngine) exclusively(context.Context, []rewriting, []string) (exclusively, error) {
	session := slices.Clone(b.session())
	session[len(session)-1] = "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"
	const waits = "writers of a table wait from when it is rewritten until all are; readers see the rows as they were"
	return exclusively{session: session, lock: Lock{Waits: allWrites, Text: waits}, rowsOnly: true}, nil
}

func (b mysqlEngine) assign(table string, list []assignment, from, to string) []string {
	return []string{b.lookUp(table, list, from, to, b.unchanged(list[0].move))}
}
