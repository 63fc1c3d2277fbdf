package plan

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
)

// mysqlRekey is the grammar of MySQL and MariaDB.
type mysqlRekey struct{ *builder }

// session has no foreign key look at a batch, which MySQL would do row by row. The statements that it runs have all references in them, so
// that none is broken at its end, which the counts of orphans show. sql_mode: with NO_ZERO_DATE, a zero date could not be assigned to itself.
func (g mysqlRekey) session() []string {
	settings := []string{
		"SET SESSION foreign_key_checks=0",
		"SET SESSION sql_safe_updates=0",
		"SET SESSION sql_mode='STRICT_ALL_TABLES,ALLOW_INVALID_DATES'",
		"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
	}
	if len(g.guards) > 0 {
		settings = append([]string{"SET " + catalog.GuardVariable + " = 1"}, settings...)
	}
	return settings
}

func (mysqlRekey) around([]move) (before, after []string) { return nil, nil }

func (g mysqlRekey) column(m move) string { return "c." + g.quote(m.column) }

// update joins with STRAIGHT_JOIN, which reads the map first, whatever the statistics of a map say that was just filled.
func (g mysqlRekey) update(source string, m move, from, to, where, more string) []string {
	table := g.quoted(m.table)
	if m.path == nil {
		return []string{fmt.Sprintf("UPDATE %s m STRAIGHT_JOIN %s c ON %s SET %s = %s%s%s WHERE %s",
			source, table, g.equal(m, "m."+from), g.column(m), g.value(m, to), more, g.unchanged(m), where)}
	}
	// Two statements: one expression for both would make the numbers texts.
	statement := func(types, value string) string {
		return fmt.Sprintf("UPDATE %s c STRAIGHT_JOIN %s m ON m.%s = %s SET %s = JSON_SET(%[5]s, %s, %s)%s WHERE %s%s",
			table, source, from, g.inside(m, types), g.column(m), g.literal(dollarPath(m.path)), value, g.unchanged(m), where, m.owner)
	}
	return []string{statement(jsonNumbers, "m."+to), statement(jsonTexts, fmt.Sprintf("CONVERT(m.%s, CHAR)", to))}
}

func (mysqlRekey) value(m move, to string) string {
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
func (g mysqlRekey) unchanged(m move) string {
	var text strings.Builder
	for _, c := range g.tables[m.table].Columns {
		if c.OnUpdate != "" && c.Name != m.column {
			fmt.Fprintf(&text, ", c.%s = c.%[1]s", g.quote(c.Name))
		}
	}
	return text.String()
}

func (g mysqlRekey) equal(m move, id string) string {
	switch {
	case m.path != nil:
		return fmt.Sprintf("%s = %s%s", g.number(m), id, m.owner)
	case m.text:
		// In the column's own collation, so that an index on it is used. There '7 ' may be equal to '7', and other characters to
		// digits, but not in as many bytes.
		return fmt.Sprintf("%s = CONVERT(%s %s AND LENGTH(CONVERT(%s USING utf8mb4)) = LENGTH(%s)%s", g.column(m), id, m.encoding, g.column(m), id, m.owner)
	}
	return fmt.Sprintf("%s = %s%s", g.column(m), id, m.owner)
}

func (g mysqlRekey) number(m move) string {
	switch {
	case m.path != nil:
		return g.inside(m, jsonNumbers+", "+jsonTexts)
	case m.text:
		return parsed(fmt.Sprintf("CONVERT(%s USING utf8mb4)", g.column(m)))
	}
	return g.column(m)
}

// inside returns the id in a document, when its type there is one of those. CASE stands where AND would do, because the order in which
// the parts of AND are evaluated is not certain, and what is no JSON, or no number, may be an error.
func (g mysqlRekey) inside(m move, types string) string {
	value := fmt.Sprintf("JSON_EXTRACT(%s, %s)", g.column(m), g.literal(dollarPath(m.path)))
	return fmt.Sprintf("CASE WHEN JSON_VALID(%s) THEN CASE WHEN JSON_TYPE(%s) IN (%s) THEN %s END END", g.column(m), value, types, parsed("JSON_UNQUOTE("+value+")"))
}

// parsed returns a text's number, NULL when it is none. $ alone comes before a line's end at the end of a text, too.
func parsed(text string) string {
	return fmt.Sprintf("CASE WHEN %[1]s NOT REGEXP '[^-0-9]' AND %[1]s REGEXP '%s' THEN CAST(%[1]s AS SIGNED) END", text, decimal)
}

// encoding returns how a number becomes a text that is compared in the collation of a column: the rest of CONVERT, after the number.
func (b *builder) encoding(ctx context.Context, table catalog.Name, column string) (string, error) {
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

// schema returns the schema of a table as a value.
func (g mysqlRekey) schema(name catalog.Name) string {
	if name.Schema == "" {
		return "DATABASE()"
	}
	return g.literal(name.Schema)
}

func (g mysqlRekey) createIndex(t *catalog.Table, m move, name string) (do, undo Action) {
	part := g.quote(m.column)
	if c := g.columnOf(m.table, m.column); m.text && (c.Digits == 0 || c.Digits > 64) {
		part += "(32)" // an index has room for 768 characters, and not for all of a TEXT
	}
	there := fmt.Sprintf("FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s AND INDEX_NAME = %s",
		g.schema(t.Name), g.literal(t.Name.Name), g.literal(name))
	alter := "ALTER TABLE " + g.quoted(m.table)
	return g.alter(fmt.Sprintf("%s ADD INDEX %s (%s), ALGORITHM=INPLACE, LOCK=NONE", alter, g.quote(name), part), "SELECT COUNT(*) "+there),
		g.alter(fmt.Sprintf("%s DROP INDEX %s, ALGORITHM=INPLACE, LOCK=NONE", alter, g.quote(name)), "SELECT 1 - COUNT(*) "+there)
}

// loosen has nothing to do: the session of a batch does it. What it relies on is that the batch's statements have all references in them.
func (mysqlRekey) loosen(context.Context, []rewriting) error { return nil }
func (mysqlRekey) tighten()                                  {}

func (mysqlRekey) broken([]rewriting, *counting) {}
