package migrate_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/migrate"
)

// lateRows is how many rows are inserted between a run and its rollback.
const lateRows = 1000

// lateRollback rolls back when new rows are there, some of which refer to old ones, and with a row whose key is 0, which databases take for a
// request to make one.
func lateRollback(t *testing.T, d *database, mode migrate.Mode) {
	d.exec(d.parents(50)...)
	d.zero()
	untouched := d.everything()
	p := d.plan(migrate.InspectOptions{}, migrate.PlanOptions{Mode: mode, Zone: "UTC"})
	d.same("the database after the inspection and the plan", d.everything(), untouched)
	counters := d.counters()
	oldParents, oldChildren := d.lines("SELECT id, name FROM parents ORDER BY id"), d.lines("SELECT id, parent_id, name FROM children ORDER BY id")

	d.runUntil(p, "contract")
	d.verify(p)
	d.none("names without their row", "SELECT COUNT(*) - 1 FROM parents p JOIN children c ON c.parent_id = p.id WHERE p.name = 'zero' AND c.name = 'zero'")
	first := d.insertLater()
	newParents := d.lines(fmt.Sprintf("SELECT id, name FROM parents WHERE id >= %d ORDER BY id", first))
	newChildren := d.lines(fmt.Sprintf("SELECT id, name FROM children WHERE id >= %d ORDER BY id", first))
	warnings := d.rollback(p)

	d.same("the old parents", d.lines(fmt.Sprintf("SELECT id, name FROM parents WHERE id < %d ORDER BY id", first)), oldParents)
	d.same("the old children", d.lines(fmt.Sprintf("SELECT id, parent_id, name FROM children WHERE id < %d ORDER BY id", first)), oldChildren)
	d.same("the new parents", d.lines(fmt.Sprintf("SELECT id, name FROM parents WHERE id >= %d ORDER BY id", first)), newParents)
	d.same("the new children", d.lines(fmt.Sprintf("SELECT id, name FROM children WHERE id >= %d ORDER BY id", first)), newChildren)
	d.none("children of other parents", wrong)
	d.same("the children of the row 0", d.lines("SELECT p.id, p.name, c.parent_id FROM parents p JOIN children c ON c.parent_id = p.id WHERE p.id = 0"), "0 | zero | 0\n0 | zero | 0\n") // one of before, and a late one
	d.same("how keys are made", d.counters(), counters)
	d.exec("INSERT INTO parents (name) VALUES ('implicit')", "INSERT INTO children (parent_id, name) SELECT id, 'implicit' FROM parents WHERE name = 'implicit'")
	d.none("rows whose key was not made", "SELECT COUNT(*) - 1 FROM parents p JOIN children c ON c.parent_id = p.id WHERE p.name = 'implicit' AND p.id > 50 AND c.id > 50")
	d.refused("INSERT INTO children (parent_id, name) VALUES (77777777, 'an orphan')")
	if d.kind != "postgres" && len(p.Steps) > 0 {
		d.counts(p, warnings)
	} else if len(warnings) > 0 {
		t.Errorf("got the warnings %q of sequences that saw no snowflake", warnings)
	}
}

// counts sees that what a rollback warns of has come true, does what ends it, and sees that it has.
func (d *database) counts(p *migrate.Plan, warnings []string) {
	d.t.Helper()
	if len(warnings) != 2 || len(d.status().Stands.Warnings) != 2 {
		d.t.Fatalf("got the warnings %q, and %q of status, want those of both tables", warnings, d.status().Stands.Warnings)
	}
	if id := d.lines("SELECT id FROM parents WHERE name = 'implicit'"); !strings.Contains(strings.Join(warnings, "\n"), "parents.id: rows without a key get the number "+strings.TrimSpace(id)+" next") {
		d.t.Errorf("got the warnings %q, and the number %s", warnings, id)
	}
	d.exec(fmt.Sprintf("DELETE FROM children WHERE id >= %d", p.Keys[0].Below), fmt.Sprintf("DELETE FROM parents WHERE id >= %d", p.Keys[0].Below))
	for _, w := range d.status().Stands.Warnings {
		_, statement, _ := strings.Cut(w, "after: ")
		d.exec(statement)
	}
	d.exec("INSERT INTO parents (name) VALUES ('small')")
	d.same("the next id", d.lines("SELECT id FROM parents WHERE name = 'small'"), fmt.Sprintln(p.Key("parents").Next))
	if left := d.status().Stands.Warnings; len(left) > 0 {
		d.t.Errorf("got the warnings %q when all is as it was", left)
	}
}

// zero adds a parent with the key 0, and a child of it.
func (d *database) zero() {
	d.t.Helper()
	at := "'2023-01-01 00:00:00+00:00'"
	if d.kind == "mysql" {
		at = "'2023-01-01 00:00:00'"
	}
	conn, err := d.pool.Conn(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	statements := []string{
		"INSERT INTO parents (id, name, created_at) VALUES (0, 'zero', " + at + ")",
		"INSERT INTO children (parent_id, name, created_at) VALUES (0, 'zero', " + at + ")",
	}
	if d.kind == "mysql" {
		statements = append(append([]string{"SET @was = @@sql_mode", "SET sql_mode = CONCAT(@@sql_mode, ',NO_AUTO_VALUE_ON_ZERO')"}, statements...), "SET sql_mode = @was")
	}
	for _, s := range statements {
		if _, err := conn.ExecContext(d.t.Context(), s); err != nil {
			d.t.Fatalf("%s: %v", s, err)
		}
	}
}

// insertLater inserts rows with keys that a generator has made, children of old parents and of new ones, also one of the row that had the key 0. It returns the first key.
func (d *database) insertLater() (first int64) {
	d.t.Helper()
	first, err := layout.MinID(time.Now())
	if err != nil {
		d.t.Fatal(err)
	}
	tx, err := d.pool.BeginTx(d.t.Context(), nil)
	if err != nil {
		d.t.Fatal(err)
	}
	exec := func(format string, args ...any) {
		if _, err := tx.Exec(fmt.Sprintf(format, args...)); err != nil {
			d.t.Fatal(err)
		}
	}
	for n := range int64(lateRows / 2) {
		id := first + n
		exec("INSERT INTO parents (id, name) VALUES (%d, 'late %d')", id, n)
		if n%2 == 0 {
			exec("INSERT INTO children (id, parent_id, name) VALUES (%d, %d, 'late %d')", id, id, n)
			continue
		}
		name := fmt.Sprint(1 + n%50)
		if n == 1 {
			name = "zero"
		}
		exec("INSERT INTO children (id, parent_id, name) SELECT %d, id, name FROM parents WHERE name = '%s'", id, name)
	}
	if err := tx.Commit(); err != nil {
		d.t.Fatal(err)
	}
	d.none("late children that were not inserted", fmt.Sprintf("SELECT COUNT(*) - %d FROM children WHERE id >= %d", lateRows/2, first))
	return first
}

// counters returns how the database makes keys, without the numbers where it stands.
func (d *database) counters() string {
	d.t.Helper()
	switch d.kind {
	case "mysql":
		return d.lines("SELECT table_name, column_name, extra FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name IN ('parents', 'children') AND extra <> '' ORDER BY 1, 2")
	case "postgres":
		return d.lines("SELECT table_name, column_name, column_default, is_identity, pg_get_serial_sequence(table_name, column_name) FROM information_schema.columns WHERE table_schema = 'public' AND table_name IN ('parents', 'children') AND column_name = 'id' ORDER BY 1")
	}
	return d.definitions()
}

// everything returns all rows of all tables, and all definitions, also of what snowkey makes.
func (d *database) everything() string {
	d.t.Helper()
	var text strings.Builder
	switch d.kind {
	case "mysql":
		text.WriteString(d.lines("SELECT table_name, auto_increment, create_time, table_comment FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY 1"))
		for table := range strings.Lines(d.lines("SHOW TABLES")) {
			table = strings.TrimSpace(table)
			text.WriteString(d.lines("SHOW CREATE TABLE `"+table+"`") + d.lines("SELECT * FROM `"+table+"` ORDER BY 1"))
		}
		text.WriteString(d.lines("SELECT trigger_name, action_statement FROM information_schema.triggers WHERE trigger_schema = DATABASE() ORDER BY 1"))
	case "postgres":
		text.WriteString(d.lines("SELECT oid, relname, relkind, relfilenode, xmin FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind <> 'r' ORDER BY 1"))
		text.WriteString(d.lines("SELECT attrelid::regclass, attname, atttypid, attnotnull, attidentity, xmin FROM pg_attribute WHERE attrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace) ORDER BY 1, 2"))
		text.WriteString(d.lines("SELECT oid, nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg_t%' ORDER BY 1") + d.lines("SELECT oid, tgname FROM pg_trigger ORDER BY 1") + d.lines("SELECT oid, proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace"))
		for table := range strings.Lines(d.lines("SELECT oid::regclass::text FROM pg_class WHERE relkind IN ('r', 'S') AND relnamespace = 'public'::regnamespace ORDER BY 1")) {
			table = strings.TrimSpace(table)
			text.WriteString(table + "\n" + d.lines("SELECT xmin, * FROM "+table+" ORDER BY 2"))
		}
	default:
		text.WriteString(d.lines("PRAGMA schema_version") + d.lines("PRAGMA user_version") + d.lines("SELECT * FROM sqlite_master ORDER BY rowid"))
		for table := range strings.Lines(d.lines("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1")) {
			text.WriteString(d.lines("SELECT rowid, * FROM \"" + strings.TrimSpace(table) + "\" ORDER BY 1"))
		}
	}
	return text.String()
}
