package migrate_test

import (
	"testing"

	"github.com/snowkey-go/snowkey/migrate"
)

// setAtUpdate has columns that the server sets to the time of each update, unless they are assigned. They are of rows, not of migrations.
func setAtUpdate(t *testing.T, d *database, mode migrate.Mode) {
	d.exec(d.parents(200)...)
	for _, table := range []string{"parents", "children"} {
		d.exec("ALTER TABLE "+table+" ADD updated_at TIMESTAMP(3) NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3), ADD `seen at` DATETIME NOT NULL DEFAULT '2020-02-02' ON UPDATE CURRENT_TIMESTAMP",
			"UPDATE "+table+" SET updated_at = TIMESTAMP('2024-01-01') + INTERVAL id SECOND, `seen at` = TIMESTAMP('2024-02-02') + INTERVAL id MINUTE",
			"UPDATE "+table+" SET updated_at = NULL, `seen at` = `seen at` WHERE id = 7")
	}
	stamps := func() string {
		return d.lines("SELECT name, updated_at, `seen at` FROM parents ORDER BY 1 + name") + d.lines("SELECT name, updated_at, `seen at` FROM children ORDER BY 1 + name")
	}
	before := stamps()
	p := d.plan(migrate.InspectOptions{}, migrate.PlanOptions{Mode: mode, Zone: "UTC"})
	d.runUntil(p, "contract")
	d.same("the times of updates after the run", stamps(), before)
	if mode != migrate.Widen {
		d.none("parents with old ids", "SELECT COUNT(*) FROM parents WHERE id < 4398046511104")
	}
	d.verify(p)
	d.rollback(p)
	d.same("the times of updates after the rollback", stamps(), before)
	d.none("children of other parents", wrong)
	for _, table := range []string{"parents", "children"} { // they go on to be set
		d.exec("UPDATE " + table + " SET name = CONCAT(name, '') , created_at = '2001-01-01' WHERE name = '9'")
		d.none("rows that were not stamped", "SELECT COUNT(*) FROM "+table+" WHERE name = '9' AND (updated_at < '2025-01-01' OR `seen at` < '2025-01-01')")
	}
}
