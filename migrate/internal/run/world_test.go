package run_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/inspect"
	"github.com/snowkey-go/snowkey/migrate/internal/run"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

var kinds = []string{"sqlite", "mysql", "postgres"}

// everywhere runs a test on each database. All that is left to wait for is a server, or a lock, so that others are at work meanwhile.
func everywhere(t *testing.T, test func(t *testing.T, w *world)) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, newWorld(t, kind))
		})
	}
}

// world is a database with parents and children, and a plan that gives the parents other ids.
type world struct {
	base    dbtest.Database
	db      *sql.DB
	dialect dialect.Dialect
	plan    *plan.Plan
}

// rowCount makes four ranges of a run whose target is never met.
const rowCount = 900

// fast makes ranges small, and waits short. MySQL waits for whole seconds.
var fast = run.Options{Target: 1, LockWait: 100 * time.Millisecond, Attempts: 3}

var bases = map[string]func(testing.TB) dbtest.Database{"sqlite": dbtest.SQLite, "mysql": dbtest.MySQL, "postgres": dbtest.Postgres}

func newWorld(t *testing.T, kind string) *world { return newWorldOn(t, kind, bases[kind](t)) }

func newWorldOn(t *testing.T, kind string, base dbtest.Database) *world {
	t.Helper()
	w := &world{base: base, db: base.Open(t)}
	w.dialect, _ = dialect.Lookup(kind)
	w.exec(t, "CREATE TABLE parent (id bigint NOT NULL PRIMARY KEY, name varchar(40) NOT NULL)",
		"CREATE TABLE child (id int NOT NULL PRIMARY KEY, parent_id bigint NOT NULL, visits int NOT NULL)")
	var parents, children []string
	for i := 1; i <= rowCount; i++ {
		parents = append(parents, fmt.Sprintf("(%d, 'parent %d')", i, i))
		children = append(children, fmt.Sprintf("(%d, %d, 0)", i, rowCount+2-i)) // one is an orphan
	}
	w.exec(t, "INSERT INTO parent VALUES "+strings.Join(parents, ","), "INSERT INTO child VALUES "+strings.Join(children, ","))
	w.plan = &plan.Plan{Schema: plan.Schema, Tool: "test", Mode: plan.Rekey, Database: w.server(t), Tables: []string{"parent", "child"}, Fingerprint: w.fingerprint(t),
		Layout: idgen.Snowkey.Layout.String(), Node: 5, Grants: "snowkey_nodes", Space: "default", Steps: w.steps()}
	if w.dialect == dialect.MySQL {
		w.plan.Privileges = []string{"CREATE", "DROP", "ALTER", "INSERT"}
	}
	return w
}

func (w *world) server(t *testing.T) inspect.Database {
	t.Helper()
	c, err := catalog.New(w.db, w.dialect)
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Server(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return inspect.Database{Kind: s.Kind, Version: s.Version, Name: s.Name, ID: s.ID}
}

func (w *world) fingerprint(t *testing.T) string {
	t.Helper()
	c, err := catalog.New(w.db, w.dialect)
	if err != nil {
		t.Fatal(err)
	}
	text, err := c.Fingerprint(t.Context(), catalog.Name{Name: "parent"}, catalog.Name{Name: "child"})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// of returns the text for the world's dialect.
func (w *world) of(sqlite, mysql, postgres string) string {
	return map[dialect.Dialect]string{dialect.SQLite: sqlite, dialect.MySQL: mysql, dialect.Postgres: postgres}[w.dialect]
}

// rewriting returns the statement that gives a column the new values of the map, or the old ones.
func (w *world) rewriting(table, column, from, to string) string {
	if w.dialect == dialect.MySQL {
		return fmt.Sprintf("UPDATE %s JOIN map_parent AS m ON m.%s = %s.%s SET %[1]s.%[4]s = m.%[5]s WHERE m.old_id > :after AND m.old_id <= :upto", table, from, table, column, to)
	}
	return fmt.Sprintf("UPDATE %s SET %s = m.%s FROM map_parent AS m WHERE m.%s = %[1]s.%[2]s AND m.old_id > :after AND m.old_id <= :upto", table, column, to, from)
}

func cursor(table, column string) string {
	return fmt.Sprintf("SELECT MAX(k) FROM (SELECT %s AS k FROM %s WHERE %[1]s > :after ORDER BY %[1]s LIMIT :rows) AS r", column, table)
}

// asks returns a query that is the only one of its subject.
func asks(about, query string) plan.Query {
	return plan.Query{About: about, SQL: query, Subject: plan.RowsOf(about)}
}

const orphans = "SELECT COUNT(*) FROM child AS c LEFT JOIN parent AS p ON p.id = c.parent_id WHERE p.id IS NULL"

// autocommit returns the action that makes or drops something, and the query for whether it is there.
func autocommit(statement, there string, want bool, repair ...string) plan.Action {
	applied := "SELECT CASE WHEN (" + there + ") > 0 THEN 1 ELSE 0 END"
	if !want {
		applied = "SELECT CASE WHEN (" + there + ") > 0 THEN 0 ELSE 1 END"
	}
	return plan.Action{Kind: plan.Autocommit, SQL: []string{statement}, Applied: []string{applied}, Concurrently: strings.Contains(statement, "CONCURRENTLY"), Repair: repair}
}

// makeMap is one transaction where DDL can be in one.
func (w *world) makeMap() (do, undo plan.Action) {
	const create = "CREATE TABLE map_parent (old_id bigint NOT NULL PRIMARY KEY, new_id bigint NOT NULL UNIQUE)"
	if w.dialect == dialect.MySQL {
		const there = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'map_parent'"
		return autocommit(create, there, true), autocommit("DROP TABLE map_parent", there, false)
	}
	return plan.Action{Kind: plan.Transactional, SQL: []string{create}}, plan.Action{Kind: plan.Transactional, SQL: []string{"DROP TABLE map_parent"}}
}

// makeIndex commits by itself everywhere, and changes the fingerprint.
func (w *world) makeIndex() (do, undo plan.Action) {
	there := w.of("SELECT COUNT(*) FROM sqlite_master WHERE type = 'index' AND name = 'child_parent'",
		"SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'child' AND index_name = 'child_parent'",
		"SELECT COUNT(*) FROM pg_index WHERE indexrelid = to_regclass('child_parent') AND indisvalid")
	on := w.of("CREATE INDEX child_parent ON child (parent_id)", "ALTER TABLE child ADD INDEX child_parent (parent_id), ALGORITHM=INPLACE, LOCK=NONE",
		"CREATE INDEX CONCURRENTLY child_parent ON child (parent_id)")
	off := w.of("DROP INDEX child_parent", "ALTER TABLE child DROP INDEX child_parent", "DROP INDEX CONCURRENTLY IF EXISTS child_parent")
	do = autocommit(on, there, true)
	if w.dialect == dialect.Postgres {
		do.Repair = []string{"DROP INDEX CONCURRENTLY IF EXISTS child_parent"}
		there = "SELECT COUNT(to_regclass('child_parent'))"
	}
	return do, autocommit(off, there, false)
}

// steps has one of each kind that needs no other package.
func (w *world) steps() []plan.Step {
	makeMap, dropMap := w.makeMap()
	makeIndex, dropIndex := w.makeIndex()
	batch := func(on string, sql ...string) *plan.Action {
		a := &plan.Action{Kind: plan.Batch, SQL: sql, Cursor: on}
		if w.dialect == dialect.MySQL {
			a.Session = []string{"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", "SET SESSION foreign_key_checks = 0"}
		}
		return a
	}
	ofMap := cursor("map_parent", "old_id")
	const again = "SELECT COUNT(*) FROM parent WHERE id <= 1000 AND NOT EXISTS (SELECT 1 FROM map_parent AS m WHERE m.old_id = parent.id)"
	fill := batch(cursor("parent", "id"), "INSERT INTO map_parent SELECT id, id + 1000000 FROM parent WHERE id > :after AND id <= :upto"+
		" AND NOT EXISTS (SELECT 1 FROM map_parent AS m WHERE m.old_id = parent.id)")
	fill.Remaining = again
	longer := w.of("name || '!'", "CONCAT(name, '!')", "name || '!'")
	return []plan.Step{
		{Title: "count orphans", Do: plan.Action{Kind: plan.Count, Queries: []plan.Query{asks("sevens", "SELECT 7"), asks("orphans", orphans)}}},
		{Title: "make the map", Do: makeMap, Undo: &dropMap},
		{Title: "make an index", Do: makeIndex, Undo: &dropIndex},
		{Title: "fill the map", Rows: rowCount, Do: *fill, Undo: batch(ofMap, "DELETE FROM map_parent WHERE old_id > :after AND old_id <= :upto")},
		{Title: "rewrite", Rows: 2 * rowCount, Do: *batch(ofMap, w.rewriting("parent", "id", "old_id", "new_id"), w.rewriting("child", "parent_id", "old_id", "new_id")),
			Undo: batch(ofMap, w.rewriting("parent", "id", "new_id", "old_id"), w.rewriting("child", "parent_id", "new_id", "old_id"))},
		{Title: "count visits", Do: *batch(cursor("child", "id"), "UPDATE child SET visits = visits + 1 WHERE id > :after AND id <= :upto"),
			Undo: batch(cursor("child", "id"), "UPDATE child SET visits = visits - 1 WHERE id > :after AND id <= :upto")},
		{Title: "orphans as before", Do: plan.Action{Kind: plan.Assert, Queries: []plan.Query{asks("orphans", orphans)}, Baseline: 1, OnFailure: "Look for them."}},
		{Title: "nobody writes", Do: plan.Action{Kind: plan.AssertStable, Queries: []plan.Query{asks("parents", "SELECT COUNT(*) FROM parent")}, Window: 20 * time.Millisecond, OnFailure: "Stop the writers."}},
		{Title: "wait for the deployment", Do: plan.Action{Kind: plan.Hold, Name: plan.DeployWriters, Text: "Deploy now."}},
		{Title: "longer names", Do: plan.Action{Kind: plan.Transactional, RowsOnly: true, SQL: []string{"UPDATE parent SET name = " + longer, "UPDATE child SET visits = visits + 100"}},
			Undo: &plan.Action{Kind: plan.Transactional, RowsOnly: true, SQL: []string{"UPDATE child SET visits = visits - 100", "UPDATE parent SET name = substr(name, 1, length(name) - 1)"}}},
		{Title: "take the node", Do: plan.Action{Kind: plan.ReserveNode}, Kept: "A node is taken for all time."},
	}
}

func (w *world) exec(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if _, err := w.db.ExecContext(t.Context(), text); err != nil {
			t.Fatalf("%.200s: %v", text, err)
		}
	}
}

// contents returns all rows of the tables, the journal's rows of steps where there are any, and the schema's fingerprint.
func (w *world) contents(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, query := range []string{"SELECT id, name, 0 FROM parent ORDER BY id", "SELECT id, parent_id, visits FROM child ORDER BY id", "SELECT old_id, new_id, 0 FROM map_parent ORDER BY old_id"} {
		if strings.Contains(query, "map_parent") && !w.has(t, "map_parent") {
			continue
		}
		rows, err := w.db.QueryContext(t.Context(), query)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		for rows.Next() {
			var x, y, z string
			if err := rows.Scan(&x, &y, &z); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(&b, x, y, z)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return b.String() + w.fingerprint(t)
}

// has reports whether there is a table.
func (w *world) has(t *testing.T, table string) bool {
	t.Helper()
	return w.number(t, w.of("SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = '"+table+"'",
		"SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = '"+table+"'", "SELECT COUNT(to_regclass('"+table+"'))")) == 1
}

func (w *world) number(t *testing.T, query string) (n int64) {
	t.Helper()
	if err := w.db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// run runs the plan, past its hold.
func (w *world) run(t *testing.T) run.Outcome {
	t.Helper()
	return finish(t, w.db, w.plan, run.Plan)
}

// passing does the same as another, and passes each hold once a run stands at it.
func passing(do doing) doing {
	return func(ctx context.Context, db *sql.DB, p *plan.Plan, o run.Options) (run.Outcome, error) {
		for {
			outcome, err := do(ctx, db, p, o)
			if err != nil || outcome.Hold == "" {
				return outcome, err
			}
			o.Continue = outcome.Hold
		}
	}
}

// finish runs or rolls back to the end.
func finish(t *testing.T, db *sql.DB, p *plan.Plan, do doing) run.Outcome {
	t.Helper()
	outcome, err := passing(do)(t.Context(), db, p, fast)
	if err != nil {
		t.Fatal(err)
	}
	if !outcome.Done {
		t.Fatalf("got %+v, want it done", outcome)
	}
	return outcome
}

// want compares contents, and shows the first line that differs.
func (w *world) want(t *testing.T, want string) {
	t.Helper()
	contents := w.contents(t)
	if contents == want {
		return
	}
	got, lines := strings.Split(contents, "\n"), strings.Split(want, "\n")
	for i := range max(len(got), len(lines)) {
		if i >= len(got) || i >= len(lines) || got[i] != lines[i] {
			t.Fatalf("line %d of %d and %d: got %q, want %q", i, len(got), len(lines), got[min(i, len(got)-1)], lines[min(i, len(lines)-1)])
		}
	}
}
