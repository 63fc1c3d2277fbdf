package migrate_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// declared returns all that is declared in the database, one text for each object, in a fixed order: what SHOW CREATE TABLE, pg_get_…def and sqlite_master say. Counters of keys are left
// out.
func (d *database) declared() string { return strings.Join(d.declarations(), "\n") }

// declarations returns what is declared, sorted.
func (d *database) declarations() []string {
	d.t.Helper()
	var texts []string
	switch d.kind {
	case "mysql":
		texts = d.declaredMySQL()
	case "postgres":
		texts = d.texts(declaredPostgres)
	default:
		// Whoever renames a table gets its name in quotes.
		texts = d.texts("SELECT type || ' ' || name || ': ' || replace(coalesce(sql, ''), 'CREATE TABLE \"' || name || '\"', 'CREATE TABLE ' || name) FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_stat%' ESCAPE '\\'")
	}
	slices.Sort(texts)
	return texts
}

// texts returns the texts that a query gives.
func (d *database) texts(query string) (texts []string) {
	d.t.Helper()
	rows, err := d.pool.QueryContext(d.t.Context(), query)
	if err != nil {
		d.t.Fatalf("%s: %v", query, err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			d.t.Fatalf("%s: %v", query, err)
		}
		texts = append(texts, text)
	}
	if err := rows.Err(); err != nil {
		d.t.Fatalf("%s: %v", query, err)
	}
	return texts
}

// nextNumber is the counter in what SHOW CREATE TABLE gives.
var nextNumber = regexp.MustCompile(` AUTO_INCREMENT=\d+`)

func isIndex(line string) bool { return strings.HasPrefix(line, "  KEY ") }

func (d *database) declaredMySQL() (texts []string) {
	d.t.Helper()
	names := d.texts("SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE'")
	for _, name := range names {
		var same, text string
		quoted := "`" + strings.ReplaceAll(name, "`", "``") + "`"
		if err := d.pool.QueryRowContext(d.t.Context(), "SHOW CREATE TABLE "+quoted).Scan(&same, &text); err != nil {
			d.t.Fatal(err)
		}
		// An index that the server has made for a foreign key goes with it, and comes again with it, behind those that were not dropped.
		lines := strings.Split(strings.ReplaceAll(nextNumber.ReplaceAllString(text, ""), ",\n", "\n"), "\n")
		from := slices.IndexFunc(lines, isIndex)
		for to := from; from >= 0 && to <= len(lines); to++ {
			if to == len(lines) || !isIndex(lines[to]) {
				slices.Sort(lines[from:to])
				break
			}
		}
		texts = append(texts, strings.Join(lines, "\n"))
	}
	// InnoDB shows no action in two of the cases in which information_schema tells them apart.
	return slices.Concat(texts,
		d.texts("SELECT CONCAT_WS(' ', CONSTRAINT_NAME, TABLE_NAME, REFERENCED_TABLE_NAME, UPDATE_RULE, DELETE_RULE) FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = DATABASE()"),
		d.texts("SELECT CONCAT('view ', TABLE_NAME, ': ', REPLACE(VIEW_DEFINITION, CONCAT('`', DATABASE(), '`.'), '')) FROM information_schema.VIEWS WHERE TABLE_SCHEMA = DATABASE()"),
		d.texts("SELECT CONCAT_WS(' ', 'trigger', TRIGGER_NAME, ACTION_TIMING, EVENT_MANIPULATION, EVENT_OBJECT_TABLE, ACTION_ORDER, DEFINER, SQL_MODE, ACTION_STATEMENT) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = DATABASE() ORDER BY 1"))
}

const declaredPostgres = `
SELECT concat_ws(' ', 'column', a.attrelid::regclass, a.attname, format_type(a.atttypid, a.atttypmod), CASE WHEN a.attnotnull THEN 'NOT NULL' END,
	'identity=' || a.attidentity::text, pg_get_expr(d.adbin, d.adrelid), 'comment=' || quote_nullable(col_description(a.attrelid, a.attnum)), 'statistics=' || a.attstattarget)
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p', 'v') AND a.attnum > 0 AND NOT a.attisdropped
UNION ALL SELECT concat_ws(' ', 'constraint', conrelid::regclass, conname, pg_get_constraintdef(oid), obj_description(oid)) FROM pg_constraint WHERE connamespace = current_schema()::regnamespace
UNION ALL SELECT concat_ws(' ', 'index', pg_get_indexdef(i.indexrelid), i.indisvalid, i.indisreplident, obj_description(i.indexrelid))
	FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relnamespace = current_schema()::regnamespace
UNION ALL SELECT concat_ws(' ', 'view', viewname, definition) FROM pg_views WHERE schemaname = current_schema()
UNION ALL SELECT concat_ws(' ', 'trigger', pg_get_triggerdef(t.oid), t.tgenabled) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
	WHERE c.relnamespace = current_schema()::regnamespace AND NOT t.tgisinternal
UNION ALL SELECT concat_ws(' ', 'sequence', sequencename, data_type) FROM pg_sequences WHERE schemaname = current_schema()
UNION ALL SELECT concat_ws(' ', 'table', relname, relkind, relpersistence, relreplident, reloptions, obj_description(oid)) FROM pg_class
	WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'v')`

// difference returns the lines of two texts that the other lacks.
func difference(got, want string) string {
	var found []string
	count := map[string]int{}
	for _, line := range strings.Split(want, "\n") {
		count[line]++
	}
	for _, line := range strings.Split(got, "\n") {
		if count[line]--; count[line] < 0 {
			found = append(found, "got  "+line)
			count[line] = 0
		}
	}
	for _, line := range strings.Split(want, "\n") {
		if count[line] > 0 {
			found = append(found, "want "+line)
			count[line]--
		}
	}
	if len(found) == 0 && got != want {
		return fmt.Sprintf("in the order of lines: got %s\nwant %s", got, want)
	}
	return strings.Join(found, "\n")
}
