package migrate_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/snowkey-go/snowkey/gormplugin/migrate"
	"github.com/snowkey-go/snowkey/gormplugin/migrate/plan"
)

// unguarded is the query for foreign keys whose parent's column is no unique index's first: MariaDB lets it come to that, and guards nothing from then on.
const unguarded = `SELECT COUNT(*) FROM information_schema.key_column_usage k WHERE k.table_schema = DATABASE() AND k.referenced_table_name IS NOT NULL AND NOT EXISTS (
	SELECT 1 FROM information_schema.statistics s WHERE s.table_schema = k.referenced_table_schema AND s.table_name = k.referenced_table_name
	AND s.column_name = k.referenced_column_name AND s.seq_in_index = 1 AND s.non_unique = 0)`

// foreignKeys is the query for all of them, and what they refer to.
const foreignKeys = `SELECT GROUP_CONCAT(table_name, ' ', constraint_name, ' ', column_name, ' ', referenced_table_name, ' ', referenced_column_name ORDER BY 1)
	FROM information_schema.key_column_usage WHERE table_schema = DATABASE() AND referenced_table_name IS NOT NULL`

// swapUnderForeignKey shows what the server does when a primary key is replaced that a foreign key needs, and that the mode shadow never does it.
func swapUnderForeignKey(t *testing.T, d *database) {
	d.exec(
		"CREATE TABLE raw_p (id INT PRIMARY KEY, sid BIGINT NOT NULL UNIQUE) ENGINE=InnoDB",
		"CREATE TABLE raw_c (id INT PRIMARY KEY, p_id INT, FOREIGN KEY (p_id) REFERENCES raw_p (id) ON DELETE CASCADE) ENGINE=InnoDB",
		"INSERT INTO raw_p VALUES (1, 101), (2, 102)", "INSERT INTO raw_c VALUES (1, 1), (2, 2)",
	)
	if _, err := d.pool.ExecContext(t.Context(), "ALTER TABLE raw_p DROP PRIMARY KEY, ADD PRIMARY KEY (sid)"); err != nil {
		t.Logf("this server refuses the swap: %v", err) // then there is nothing that a plan could do wrong
	} else if n := d.number(unguarded); n != 1 {
		t.Errorf("the server has done the swap, and %d foreign keys are without a unique index, want 1", n)
	}
	d.exec("DROP TABLE raw_c", "DROP TABLE raw_p")

	d.exec(d.parents(500)...)
	d.exec("ALTER TABLE parents ADD boss_id INT, ADD CONSTRAINT fk_boss FOREIGN KEY (boss_id) REFERENCES parents (id) ON DELETE SET NULL",
		"UPDATE parents SET boss_id = id - 1 WHERE id > 1")
	d.none("foreign keys that nothing guards, before", unguarded)
	p := d.plan(migrate.InspectOptions{}, migrate.PlanOptions{Mode: migrate.Shadow, Zone: "UTC"})
	swapped := slices.IndexFunc(p.Steps, func(s plan.Step) bool {
		return slices.ContainsFunc(s.Do.SQL, func(q string) bool {
			return strings.Contains(q, "`parents`") && strings.Contains(q, "DROP PRIMARY KEY")
		})
	})
	if swapped < 0 {
		t.Fatal("no step swaps the primary key of parents, so nothing is shown")
	}
	d.runGuarded(p)
	d.verify(p)
	want := d.lines("SELECT id, name FROM parents ORDER BY id")
	d.refused("INSERT INTO children (id, parent_id, name) VALUES (7130316800000020481, 7, 'an old id')")
	d.refused("INSERT INTO children (id, parent_id, name) VALUES (7130316800000020481, 99, 'an orphan')")
	d.refused("UPDATE parents SET boss_id = 5 WHERE name = '9'")
	d.same("the foreign keys", d.lines(`SELECT k.table_name, k.constraint_name, k.column_name, k.referenced_table_name, k.referenced_column_name, r.delete_rule, r.unique_constraint_name
		FROM information_schema.key_column_usage k JOIN information_schema.referential_constraints r ON r.constraint_schema = k.table_schema AND r.constraint_name = k.constraint_name
		WHERE k.table_schema = DATABASE() AND k.referenced_table_name IS NOT NULL ORDER BY 1, 2`),
		"children | fk_parent | parent_id | parents | id | CASCADE | PRIMARY\nparents | fk_boss | boss_id | parents | id | SET NULL | PRIMARY\n")
	d.same("the rows that nothing was to change", d.lines("SELECT id, name FROM parents ORDER BY id"), want)
	d.none("children of other parents", wrong)
	d.none("old ids", "SELECT COUNT(*) FROM parents WHERE id < 4398046511104 OR boss_id < 4398046511104")
	d.exec("DELETE FROM parents WHERE name = '9'")
	d.none("children of a parent that went", "SELECT COUNT(*) FROM children WHERE name = '9'")
	d.none("whose boss went", "SELECT COUNT(*) - 1 FROM parents WHERE name = '10' AND boss_id IS NULL")
	d.same("the others", d.lines("SELECT COUNT(*) FROM children"), "499\n")
}

// runGuarded runs a plan to its end while another looks, all the time, for foreign keys without an index.
func (d *database) runGuarded(p *migrate.Plan) {
	d.t.Helper()
	ctx, cancel := context.WithCancel(d.t.Context())
	var looks sync.WaitGroup
	looked := 0
	looks.Go(func() {
		for ; ctx.Err() == nil; looked++ {
			// The server looks at one table after another: what changed in between is not seen as it ever was.
			var before, after string
			var n int
			for _, q := range []struct {
				query string
				into  any
			}{{foreignKeys, &before}, {unguarded, &n}, {foreignKeys, &after}} {
				if d.pool.QueryRowContext(ctx, q.query).Scan(q.into) != nil {
					n = 0
				}
			}
			if n > 0 && before == after {
				d.t.Errorf("%d foreign keys have no unique index on what they refer to: %s", n, before)
				return
			}
		}
	})
	d.runUntil(p, "")
	cancel()
	looks.Wait()
	if looked == 0 {
		d.t.Error("nobody has looked")
	}
}
