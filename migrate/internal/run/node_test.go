package run_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/migrate/internal/journal"
	"github.com/snowkey-go/snowkey/migrate/internal/run"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// A plan's node is taken once, and no generator gets it.
func TestReserve(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		w.plan.Steps = []plan.Step{{Title: "take the node", Do: plan.Action{Kind: plan.ReserveNode}, Kept: "It is taken for all time."}}
		w.plan.Privileges = nil
		w.run(t)
		store := grant.SQL(w.db, w.dialect)
		keeper, err := grant.Open(t.Context(), store, grant.Config{Generator: []idgen.Option{idgen.Snowkey, idgen.WithNode(w.plan.Node)}, Wait: time.Millisecond})
		if !errors.Is(err, grant.ErrTaken) {
			t.Errorf("got %v, want ErrTaken", err)
		}
		if err == nil {
			_ = keeper.Close()
		}
		finish(t, w.db, w.plan, run.Rollback)
		w.run(t) // the same plan has it still
		listing, err := store.List(t.Context(), w.plan.Space, 0, 100)
		if err != nil || len(listing.Rows) != 1 || listing.Rows[0].Number != w.plan.Node || listing.Rows[0].Until != grant.Forever {
			t.Errorf("got %+v, %v, want node %d alone, for all time", listing, err, w.plan.Node)
		}
	})
}

// Whatever refuses the node does so before anything is written, in words for who runs the command, and a dry run says the same.
func TestReserveRefused(t *testing.T) {
	t.Parallel()
	prepare := func(layout string) func(*testing.T, *world) {
		return func(t *testing.T, w *world) {
			if _, err := grant.SQL(w.db, w.dialect).Prepare(t.Context(), w.plan.Space, layout); err != nil {
				t.Fatal(err)
			}
		}
	}
	mine := idgen.Snowkey.Layout.String()
	second := func(t *testing.T, w *world) {
		prepare(mine)(t, w)
		schema := "second"
		if w.dialect == grant.MySQL {
			if err := w.db.QueryRow("SELECT CONCAT(DATABASE(), '_2')").Scan(&schema); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _, _ = w.db.Exec("DROP DATABASE " + schema) })
		}
		w.exec(t, "CREATE SCHEMA "+schema, fmt.Sprintf("CREATE TABLE %s.snowkey_nodes AS SELECT * FROM snowkey_nodes", schema))
	}
	reader := func(t *testing.T, w *world) {
		prepare(mine)(t, w)
		rights := []string{"SELECT ON snowkey_nodes"}
		if w.dialect == grant.Postgres {
			w.exec(t, "CREATE ROLE reader_of_nodes") // for the tables to be its own
			t.Cleanup(func() { _, _ = w.db.Exec("DROP OWNED BY reader_of_nodes; DROP ROLE reader_of_nodes") })
			w.exec(t, "ALTER TABLE parent OWNER TO reader_of_nodes", "ALTER TABLE child OWNER TO reader_of_nodes",
				"GRANT CREATE ON SCHEMA public TO reader_of_nodes", "GRANT SELECT ON snowkey_nodes TO reader_of_nodes")
			w.db = w.opened(t, w.base.DriverDSN, "SET ROLE reader_of_nodes")
			return
		}
		for _, table := range []string{"parent", "child", journal.PlansTable, journal.StepsTable} {
			rights = append(rights, "SELECT, INSERT, UPDATE, DELETE, CREATE ON "+table)
		}
		w.db = w.lesser(t, "reader_of_nodes", rights...)
	}
	for _, c := range []struct {
		name, kind string
		base       func(*testing.T) dbtest.Database
		change     func(*testing.T, *world)
		want       error
		texts      []string
	}{
		{"durability", "mysql", func(t *testing.T) dbtest.Database {
			return dbtest.StartMySQL(t, "--innodb-flush-log-at-trx-commit=2").Database(t)
		}, nil, grant.ErrUnsafe, []string{"innodb_flush_log_at_trx_commit is 2", "set it to 1"}},
		{"durability", "postgres", func(t *testing.T) dbtest.Database { return dbtest.StartPostgres(t, "fsync=off").Database(t) }, nil,
			grant.ErrUnsafe, []string{"fsync is off", "set it to on"}},
		{"durability", "sqlite", func(t *testing.T) dbtest.Database {
			base := dbtest.SQLite(t)
			base.DriverDSN += "?_synchronous=OFF"
			return base
		}, nil, grant.ErrUnsafe, []string{"synchronous is off", "set it to full"}},
		{"two tables", "mysql", nil, second, grant.ErrTwoTables, []string{"_2.snowkey_nodes too", "plan --grants SCHEMA.TABLE --space NAME"}},
		{"two tables", "postgres", nil, second, grant.ErrTwoTables, []string{"second.snowkey_nodes too", "plan --grants SCHEMA.TABLE --space NAME"}},
		{"rights", "mysql", nil, reader, grant.ErrTable, []string{"GRANT SELECT, INSERT, UPDATE ON", "reader_of_nodes"}},
		{"rights", "postgres", nil, reader, grant.ErrTable, []string{"GRANT SELECT, INSERT, UPDATE ON", "reader_of_nodes"}},
		{"layout", "sqlite", nil, prepare("time=40@1ms,node=11,sequence=12;epoch=2025-01-01T00:00:00Z"), run.ErrAssertion, []string{"node=11", "make a new plan with that layout"}},
	} {
		t.Run(c.name+"/"+c.kind, func(t *testing.T) {
			t.Parallel()
			if c.base == nil {
				c.base = func(t *testing.T) dbtest.Database { return bases[c.kind](t) }
			}
			w := newWorldOn(t, c.kind, c.base(t))
			w.plan.Steps = []plan.Step{{Title: "take the node", Do: plan.Action{Kind: plan.ReserveNode}, Kept: "It is taken for all time."}}
			w.plan.Privileges = nil
			if c.change != nil {
				c.change(t, w)
			}
			nodes := w.has(t, "snowkey_nodes")
			var texts [2]string
			for i, dry := range []bool{true, false} {
				o := fast
				o.Dry = dry
				_, err := run.Plan(t.Context(), w.db, w.plan, o)
				if !errors.Is(err, c.want) || strings.Contains(err.Error(), "AllowUnsafe") {
					t.Fatalf("got %v, want %v without the names of this library", err, c.want)
				}
				for _, text := range c.texts {
					if !strings.Contains(err.Error(), text) {
						t.Errorf("got %v, want %q in it", err, text)
					}
				}
				texts[i] = err.Error()
			}
			if texts[0] != texts[1] {
				t.Errorf("a dry run says %s, and a run %s", texts[0], texts[1])
			}
			if w.has(t, journal.PlansTable) || w.has(t, "snowkey_nodes") != nodes {
				t.Error("a run that is refused has made a table")
			}
			if nodes && w.number(t, "SELECT COUNT(*) FROM snowkey_nodes WHERE node >= 0") != 0 {
				t.Error("a run that is refused has taken a node")
			}
		})
	}
}
