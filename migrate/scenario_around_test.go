package migrate_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/snowkey-go/snowkey/migrate"
)

// aroundTable has what SQLite loses, or what deletes rows, when a table is rewritten with too little care, and readers meanwhile.
func aroundTable(t *testing.T, d *database, mode migrate.Mode) {
	const rows = 2000
	d.pool.SetMaxOpenConns(5)
	d.exec(d.parents(rows)...)
	d.exec(
		"CREATE TABLE log (name TEXT NOT NULL, parent INTEGER NOT NULL)",
		"CREATE TRIGGER logged AFTER INSERT ON parents BEGIN INSERT INTO log (name, parent) VALUES (new.name, new.id); END",
		"CREATE TRIGGER \"went away\" AFTER DELETE ON parents BEGIN INSERT INTO log (name, parent) VALUES ('gone ' || old.name, old.id); END",
		"CREATE UNIQUE INDEX \"some children\" ON children (parent_id, name) WHERE name > '5'",
		"CREATE INDEX upper_name ON parents (upper(name)) WHERE id > 0",
		"CREATE VIEW pairs AS SELECT p.id, p.name, c.id AS child FROM parents p JOIN children c ON c.parent_id = p.id",
		"DELETE FROM sqlite_sequence WHERE name = 'parents'",
		"INSERT INTO sqlite_sequence VALUES ('parents', 5000)",
	)
	names := d.lines("SELECT name FROM pairs ORDER BY name")
	whole := d.definitions()
	counter := d.lines("SELECT * FROM sqlite_sequence ORDER BY name")
	content := d.lines("SELECT * FROM pairs ORDER BY id") + d.lines("SELECT * FROM log")
	p := d.plan(migrate.InspectOptions{References: []string{"!log.parent=parents.id"}}, migrate.PlanOptions{
		Mode: mode, Zone: "UTC", Accept: []string{"trigger:parents.logged", `trigger:parents.went away`, `trigger:parents."went away"`},
	})
	stop := d.read(rows)
	d.runUntil(p, "contract")
	d.verify(p)
	stop()
	d.same("the schema after the run", d.definitions(), whole)
	d.same("the view after the run", d.lines("SELECT name FROM pairs ORDER BY name"), names)
	d.none("rows that a trigger wrote", "SELECT COUNT(*) FROM log")
	d.none("old ids", "SELECT COUNT(*) FROM pairs WHERE id < 4398046511104")
	d.works(7130316800000020481)
	stop = d.read(rows)
	d.rollback(p)
	stop()
	d.same("the schema after the rollback", d.definitions(), whole)
	d.same("the rows after the rollback", d.lines("SELECT * FROM pairs ORDER BY id")+d.lines("SELECT * FROM log"), content)
	d.same("the counter after the rollback", d.lines("SELECT * FROM sqlite_sequence WHERE name NOT LIKE 'snowkey%' ORDER BY name"), counter)
	d.works(0)
	d.same("the integrity", d.lines("PRAGMA integrity_check"), "ok\n")
	d.same("foreign keys that are broken", d.lines("PRAGMA foreign_key_check"), "")
}

// definitions returns all that a database of SQLite has of the application's.
func (d *database) definitions() string {
	d.t.Helper()
	return d.lines("SELECT type, name, sql FROM sqlite_master WHERE tbl_name NOT LIKE 'snowkey%' ORDER BY type, name")
}

// works sees that triggers, foreign keys and unique indexes do what they did, and leaves nothing. With the id 0 the database makes it.
func (d *database) works(id int64) {
	d.t.Helper()
	column, value := "", ""
	if id != 0 {
		column, value = "id, ", fmt.Sprint(id)+", "
	}
	child := "INSERT INTO children (" + column + "parent_id, name) SELECT " + value + "id, 'works' FROM parents WHERE name = 'works'"
	sequence := d.lines("SELECT * FROM sqlite_sequence ORDER BY name")
	d.exec("INSERT INTO parents ("+column+"name) VALUES ("+value+"'works')", child)
	d.refused(strings.Replace(child, "SELECT "+value, "SELECT "+strings.Replace(value, ",", " + 1,", 1), 1)) // the partial index
	d.refused("INSERT INTO children (" + column + "parent_id, name) VALUES (" + value + "77777777, 'orphan')")
	d.exec("DELETE FROM parents WHERE name = 'works'")
	d.none("children of the parent that went", "SELECT COUNT(*) FROM children WHERE name = 'works'")
	d.none("triggers that did nothing", "SELECT COUNT(*) - 2 FROM log WHERE name IN ('works', 'gone works')")
	d.exec("DELETE FROM log")
	if id == 0 && sequence == d.lines("SELECT * FROM sqlite_sequence ORDER BY name") {
		d.t.Error("the counter stayed where it was")
	}
}

// read has others read until what it returns is called: each sees all pairs at any time.
func (d *database) read(rows int64) (stop func()) {
	ctx, cancel := context.WithCancel(d.t.Context())
	var readers sync.WaitGroup
	var count atomic.Int64
	for range 3 {
		readers.Go(func() {
			for ctx.Err() == nil {
				var n, children sql.NullInt64
				err := d.pool.QueryRowContext(ctx, "SELECT COUNT(*), COUNT(DISTINCT child) FROM pairs").Scan(&n, &children)
				if err == nil && (n.Int64 != rows || children.Int64 != rows) {
					d.t.Errorf("a reader saw %d pairs with %d children, want %d", n.Int64, children.Int64, rows)
				}
				if err != nil && ctx.Err() == nil {
					d.t.Errorf("a reader failed: %v", err)
				}
				count.Add(1)
			}
		})
	}
	return func() {
		d.t.Helper()
		cancel()
		readers.Wait()
		if count.Load() == 0 {
			d.t.Error("nobody has read")
		}
	}
}
