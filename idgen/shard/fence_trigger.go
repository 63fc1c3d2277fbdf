package shard

import (
	"fmt"
	"hash/fnv"
	"math"
	"strings"
)

// create returns the statement that makes a trigger of MySQL or SQLite, after the row was written: no other trigger can change it then.
func (f Fence) create(d Dialect, table fenceTable, event, name string) string {
	var conditions []string
	if event != "DELETE" {
		conditions = append(conditions, f.condition(d, "NEW."))
	}
	if event != "INSERT" {
		conditions = append(conditions, f.condition(d, "OLD."))
	}
	condition := strings.Join(conditions, " OR ")
	if d == SQLite {
		return fmt.Sprintf("CREATE TRIGGER IF NOT EXISTS %s AFTER %s ON %s FOR EACH ROW WHEN %s BEGIN SELECT RAISE(ABORT, '%s'); END", name, event, table.name, condition, fenced)
	}
	if f.Pass != "" {
		condition = fmt.Sprintf("NOT (@snowkey_mover <=> '%s') AND (%s)", f.Pass, condition)
	}
	return fmt.Sprintf("CREATE TRIGGER IF NOT EXISTS %s AFTER %s ON %s FOR EACH ROW IF %s THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '%s'; END IF",
		name, event, f.Table, condition, fenced)
}

// makePostgres returns one statement, which does all or nothing, and waits for those who write before it looks.
func (f Fence) makePostgres(table fenceTable) string {
	pass := ""
	if f.Pass != "" {
		pass = fmt.Sprintf("pg_catalog.current_setting('snowkey.mover', true) IS DISTINCT FROM '%s' AND ", f.Pass)
	}
	function := f.trigger(Postgres, table, "", "")
	inserted, deleted := f.condition(Postgres, "NEW."), f.condition(Postgres, "OLD.")
	var b, drops strings.Builder
	var names []string
	for _, t := range []struct{ event, timing, each, condition string }{
		{"INSERT", "AFTER INSERT", "ROW", inserted}, {"UPDATE", "AFTER UPDATE", "ROW", inserted + " OR " + deleted},
		{"DELETE", "AFTER DELETE", "ROW", deleted}, {"TRUNCATE", "BEFORE TRUNCATE", "STATEMENT", "true"},
	} {
		name := f.trigger(Postgres, fenceTable{name: table.name}, t.event, "")
		names = append(names, "'"+strings.Trim(name, `"`)+"'")
		fmt.Fprintf(&drops, "DROP TRIGGER IF EXISTS %s ON %s;\n", name, f.Table)
		fmt.Fprintf(&b, "CREATE TRIGGER %s %s ON %s FOR EACH %s WHEN (%s(%s)) EXECUTE FUNCTION %s();\n", name, t.timing, f.Table, t.each, pass, t.condition, function)
	}
	// To drop a trigger, readers have to be waited for as well.
	return fmt.Sprintf("DO $snowkey_do$ BEGIN\n"+
		"IF EXISTS (SELECT FROM pg_catalog.pg_trigger WHERE tgrelid = '%s'::pg_catalog.regclass AND tgname IN (%s)) THEN\nLOCK TABLE %s IN ACCESS EXCLUSIVE MODE;\n%sEND IF;\n"+
		"LOCK TABLE %[3]s IN SHARE ROW EXCLUSIVE MODE;\n"+
		"CREATE OR REPLACE FUNCTION %[5]s() RETURNS trigger LANGUAGE plpgsql AS $snowkey_fence$ BEGIN RAISE EXCEPTION USING MESSAGE = '%[6]s', "+
		"ERRCODE = 'object_not_in_prerequisite_state'; END $snowkey_fence$;\n%[7]sEND $snowkey_do$",
		strings.ReplaceAll(f.Table, "'", "''"), strings.Join(names, ", "), f.Table, drops.String(), function, fenced, b.String())
}

// dropPostgres returns one statement. It drops the function of a table that is gone as well, and that of a session with another search_path.
func (f Fence) dropPostgres(table fenceTable) string {
	var names []string
	for _, event := range []string{"INSERT", "UPDATE", "DELETE", "TRUNCATE"} {
		names = append(names, "'"+strings.Trim(f.trigger(Postgres, fenceTable{name: table.name}, event, ""), `"`)+"'")
	}
	return fmt.Sprintf("DO $snowkey_do$ DECLARE function pg_catalog.regprocedure; BEGIN\nDROP FUNCTION IF EXISTS %s() CASCADE;\n"+
		"FOR function IN SELECT DISTINCT tgfoid FROM pg_catalog.pg_trigger WHERE tgrelid = pg_catalog.to_regclass('%s') AND tgname IN (%s) LOOP\n"+
		"EXECUTE 'DROP FUNCTION ' || function::pg_catalog.text || ' CASCADE';\nEND LOOP;\nEND $snowkey_do$",
		f.trigger(Postgres, table, "", ""), strings.ReplaceAll(f.Table, "'", "''"), strings.Join(names, ", "))
}

// trigger returns the quoted name of a trigger, or of PostgreSQL's function without an event. On MySQL and SQLite, and for functions, the names of all
// tables are one namespace, so that the table's is in it.
func (f Fence) trigger(d Dialect, table fenceTable, event, which string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(f.Table)) // never fails
	name := fmt.Sprintf("%s_%012x", f.Name, h.Sum64()&(math.MaxUint64>>16))
	if event != "" {
		name += "_" + strings.ToLower(event[:1]) + which
	}
	if table.schema == "" {
		return quotePart(d, name)
	}
	return table.schema + "." + quotePart(d, name)
}

// quotePart quotes one part of a name.
func quotePart(d Dialect, part string) string {
	mark := `"`
	if d == MySQL {
		mark = "`"
	}
	return mark + strings.ReplaceAll(part, mark, mark+mark) + mark
}

// lastDot returns where the last dot outside of quotes is, -1 without one.
func lastDot(name string) int {
	at, quote := -1, byte(0)
	for i := range len(name) {
		switch c := name[i]; {
		case quote != 0 && c == quote:
			quote = 0 // a doubled one begins the next quoted piece at once
		case quote != 0:
		case c == '"' || c == '`':
			quote = c
		case c == '.':
			at = i
		}
	}
	return at
}
