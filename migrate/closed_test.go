package migrate_test

import (
	"fmt"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/migrate"
)

// TestNeverClosed tries to insert a row without a key, and one with a snowflake, before each step of a plan: one of the two always comes in.
func TestNeverClosed(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		dbtest.LongOn(t, d.kind, "postgres")
		key := map[string]string{"mysql": "INT PRIMARY KEY AUTO_INCREMENT", "postgres": "serial PRIMARY KEY", "sqlite": "INTEGER PRIMARY KEY AUTOINCREMENT"}[d.kind]
		at := map[string]string{"mysql": "TIMESTAMP NOT NULL DEFAULT '2025-06-01 00:00:00'", "postgres": "timestamptz NOT NULL DEFAULT '2025-06-01Z'", "sqlite": "TIMESTAMP NOT NULL DEFAULT '2025-06-01 00:00:00+00:00'"}[d.kind]
		modes := []migrate.Mode{migrate.Widen, migrate.Rekey}
		if d.kind == "postgres" {
			modes = append(modes, migrate.Shadow)
		}
		other := connect(t, d.kind, d.name)
		for _, mode := range modes {
			parent, child := "parent_"+string(mode), "child_"+string(mode)
			d.exec("CREATE TABLE "+parent+" (id "+key+", name VARCHAR(9), created_at "+at+")",
				"CREATE TABLE "+child+" (id "+key+", name VARCHAR(9), created_at "+at+", parent_id INT, CONSTRAINT fk_"+string(mode)+" FOREIGN KEY (parent_id) REFERENCES "+parent+" (id))",
				"INSERT INTO "+parent+" (name) VALUES ('old')", "INSERT INTO "+child+" (name, parent_id) VALUES ('old', 1)")
			in := func(statement string) bool {
				tx, err := other.pool.Begin()
				if err != nil {
					t.Error(err)
					return false
				}
				defer func() { _ = tx.Rollback() }()
				_, err = tx.Exec(statement)
				return err == nil
			}
			tables := []string{parent, child}
			p := d.plan(migrate.InspectOptions{Tables: tables}, migrate.PlanOptions{Mode: mode, Tables: tables, Zone: "UTC"})
			last := 0
			for outcome := (migrate.Outcome{}); !outcome.Done; {
				var err error
				outcome, err = migrate.Run(t.Context(), d.gorm, p, migrate.RunOptions{Continue: outcome.Hold, Progress: func(now migrate.Progress) {
					if now.Step == last {
						return
					}
					last = now.Step
					for _, table := range tables {
						// The one without a key comes second: it moves a sequence, which the run has been watching since it began.
						if !in(fmt.Sprintf("INSERT INTO %s (id, name) VALUES (7130316800000020481, 'filled')", table)) && !in("INSERT INTO "+table+" (name) VALUES ('keyless')") {
							t.Errorf("%s, before step %d (%s): nobody can insert into %s", mode, now.Step, now.Title, table)
						}
					}
				}})
				if err != nil {
					t.Fatalf("%s: %v", mode, err)
				}
			}
			if last != len(p.Steps) {
				t.Errorf("%s: tried before step %d at last, of %d", mode, last, len(p.Steps))
			}
		}
	})
}
