package run_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/internal/journal"
	"github.com/snowkey-go/snowkey/migrate/internal/run"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// untouched wants that neither a row nor a table was written.
func (w *world) untouched(t *testing.T, before string) {
	t.Helper()
	w.want(t, before)
	for _, table := range []string{journal.PlansTable, journal.StepsTable, "map_parent", "snowkey_nodes"} {
		if w.has(t, table) {
			t.Errorf("the table %s was made", table)
		}
	}
}

// A run that must not be writes nothing.
func TestRefusedBeforeAnythingIsWritten(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		for _, c := range []struct {
			name   string
			change func(*plan.Plan, *run.Options)
			want   error
		}{
			{"another server", func(p *plan.Plan, _ *run.Options) { p.Database.ID += "x" }, run.ErrDatabase},
			{"another database", func(p *plan.Plan, _ *run.Options) { p.Database.Name += "x" }, run.ErrDatabase},
			{"another schema", func(p *plan.Plan, _ *run.Options) { p.Fingerprint = strings.Repeat("0", 64) }, run.ErrSchema},
			{"no disk", func(p *plan.Plan, _ *run.Options) { p.Steps[1].Disk = 1 << 60 }, run.ErrDisk},
			{"an unknown database", func(p *plan.Plan, _ *run.Options) { p.Database.Kind = "oracle" }, run.ErrPlan},
			{"an unknown kind", func(p *plan.Plan, _ *run.Options) { p.Steps[10].Do.Kind = "magic" }, run.ErrPlan},
			{"a bad name", func(p *plan.Plan, _ *run.Options) { p.Tables = []string{`"`} }, run.ErrPlan},
			{"a throttle of all", func(_ *plan.Plan, o *run.Options) { o.Throttle = 1 }, run.ErrOption},
			{"a negative target", func(_ *plan.Plan, o *run.Options) { o.Target = -1 }, run.ErrOption},
		} {
			t.Run(c.name, func(t *testing.T) {
				before := w.contents(t)
				p, o := *w.plan, fast
				p.Steps = append([]plan.Step{}, w.plan.Steps...)
				c.change(&p, &o)
				if _, err := run.Plan(t.Context(), w.db, &p, o); !errors.Is(err, c.want) {
					t.Errorf("got %v, want %v", err, c.want)
				}
				w.untouched(t, before)
			})
		}
		before := w.contents(t)
		if _, err := run.Plan(canceled, w.db, w.plan, fast); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the context's", err)
		}
		w.untouched(t, before)
	})
}

// The steps together have to find room on the disk: each may grow what is there, and a table that is written anew goes away after its step.
func TestDiskAtThePeak(t *testing.T) {
	w := newWorld(t, "sqlite")
	folder := filepath.Dir(w.plan.Database.Name)
	free, known := run.Free(folder)
	if !known {
		t.Skip("the free space of the test's folder is not known on this system")
	}
	dry := func(algorithm string) error {
		p, o := *w.plan, fast
		o.Dry = true
		p.Steps = slices.Clone(w.plan.Steps)
		for _, n := range []int{1, 2, 3} {
			p.Steps[n].Disk, p.Steps[n].Algorithm = int64(free/5*2), algorithm
		}
		_, err := run.Plan(t.Context(), w.db, &p, o)
		return err
	}
	before := w.contents(t)
	err := dry("batches")
	want := fmt.Sprintf("are free in %s, and the plan needs about %s more there at its peak, step 4 (", folder, plan.Size(int64(free/5*2*3)))
	if !errors.Is(err, run.ErrDisk) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want ErrDisk, %q", err, want)
	}
	if err := dry("rewrite"); err != nil {
		t.Errorf("tables that are written anew: got %v, want no error", err)
	}
	w.untouched(t, before)
}

// A pool that would make a run wait for itself is refused, and one that is just large enough does.
func TestConnections(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		dbtest.LongOn(t, w.base.Kind, "postgres")
		need := 2
		if w.dialect == dialect.SQLite {
			need = 1
		}
		before := w.contents(t)
		if need > 1 {
			w.db.SetMaxOpenConns(need - 1)
			if _, err := run.Plan(t.Context(), w.db, w.plan, fast); !errors.Is(err, run.ErrOption) {
				t.Errorf("got %v, want ErrOption", err)
			}
			w.untouched(t, before)
		}
		w.db.SetMaxOpenConns(need)
		w.run(t)
		finish(t, w.db, w.plan, run.Rollback)
		w.want(t, before)
	})
}

// Settings of a run's sessions stay there. SQLite's connections stay, too, as a database in memory ends with them: each has its cache_size after a run.
func TestSettingsDoNotLeak(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		w.db.SetMaxOpenConns(2)
		w.db.SetMaxIdleConns(2)
		query := w.of("SELECT (SELECT timeout FROM pragma_busy_timeout) || ' ' || (SELECT foreign_keys FROM pragma_foreign_keys) || ' ' || (SELECT cache_size FROM pragma_cache_size)",
			"SELECT CONCAT_WS(' ', @@lock_wait_timeout, @@innodb_lock_wait_timeout, @@foreign_key_checks, @@max_statement_time, @@tx_isolation)",
			"SELECT current_setting('lock_timeout') || current_setting('statement_timeout') || (SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))")
		ran := false
		settings := func() (got [2]string) {
			var conns [2]*sql.Conn
			for i := range conns { // both, and so all
				var err error
				if conns[i], err = w.db.Conn(t.Context()); err != nil {
					t.Fatal(err)
				}
				defer conns[i].Close()
				if w.dialect == dialect.SQLite && !ran {
					if _, err := conns[i].ExecContext(t.Context(), "PRAGMA cache_size = 1234"); err != nil {
						t.Fatal(err)
					}
				}
				if err := conns[i].QueryRowContext(t.Context(), query).Scan(&got[i]); err != nil {
					t.Fatal(err)
				}
				holder, err := w.dialect.LockHolder(t.Context(), conns[i], dialect.RunLock)
				if err != nil {
					t.Fatal(err)
				}
				got[i] += fmt.Sprint(" ", holder)
			}
			return got
		}
		before := settings()
		for i := range w.plan.Steps {
			if w.dialect == dialect.SQLite && w.plan.Steps[i].Do.Kind == plan.Transactional {
				w.plan.Steps[i].Do.Session = []string{"PRAGMA foreign_keys=ON"} // spelled as in plans
			}
		}
		w.run(t)
		ran = true
		after := settings() // a server frees the run's lock a moment after its connection was closed
		for end := time.Now().Add(time.Minute); after != before && time.Now().Before(end); after = settings() {
			<-time.After(10 * time.Millisecond)
		}
		if after != before {
			t.Errorf("got %q, want %q", after, before)
		}
	})
}

// Between two runs of a plan the schema must stay, and no other plan may come.
func TestChangedBetweenRuns(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		dbtest.LongOn(t, w.base.Kind, "postgres")
		before := w.contents(t)
		if _, err := run.Plan(t.Context(), w.db, w.plan, fast); err != nil {
			t.Fatal(err)
		}
		other := *w.plan
		other.Tool, other.Node = "another", 6
		for _, do := range []func(context.Context, *sql.DB, *plan.Plan, run.Options) (run.Outcome, error){run.Plan, run.Rollback} {
			if _, err := do(t.Context(), w.db, &other, fast); !errors.Is(err, journal.ErrOther) {
				t.Errorf("got %v, want ErrOther", err)
			}
		}
		w.exec(t, "ALTER TABLE child ADD COLUMN more int NULL")
		held := w.contents(t)
		for _, do := range []func(context.Context, *sql.DB, *plan.Plan, run.Options) (run.Outcome, error){run.Plan, run.Rollback} {
			if _, err := do(t.Context(), w.db, w.plan, fast); !errors.Is(err, run.ErrSchema) {
				t.Errorf("got %v, want ErrSchema", err)
			}
		}
		w.want(t, held)
		w.exec(t, "ALTER TABLE child DROP COLUMN more")
		w.plan.Database.ID += "x" // a plan that was begun may go on after its database has moved
		if _, err := run.Plan(t.Context(), w.db, w.plan, fast); !errors.Is(err, journal.ErrOther) {
			t.Errorf("got %v for a changed plan, want ErrOther", err)
		}
		w.plan.Database.ID = strings.TrimSuffix(w.plan.Database.ID, "x")
		w.run(t)
		finish(t, w.db, w.plan, run.Rollback)
		w.want(t, before)
		other.Node = w.plan.Node // that is taken, for all time
		if _, err := run.Plan(t.Context(), w.db, &other, fast); !errors.Is(err, run.ErrAssertion) {
			t.Errorf("got %v for a node that was granted, want ErrAssertion", err)
		}
		w.want(t, before)
		other.Node = 6
		finish(t, w.db, &other, run.Plan)
		if plans, _ := w.journal(t); len(plans) != 1 || plans[0].State != journal.Done {
			t.Errorf("got %+v, want the other plan alone", plans)
		}
		if _, err := run.Rollback(t.Context(), w.db, w.plan, fast); !errors.Is(err, journal.ErrState) {
			t.Errorf("got %v for a plan that is forgotten, want ErrState", err)
		}
	})
}

// A change that another tool makes while a run is at work stops it before the next step with DDL.
func TestChangedWhileRunning(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		changed := false
		db := w.through(t, func(query string, do func() error) error {
			if err := do(); err != nil || changed || !strings.HasPrefix(query, "SELECT COUNT(*) FROM child AS c") {
				return err
			}
			changed = true
			_, err := w.db.Exec("ALTER TABLE parent ADD COLUMN more int NULL")
			return err
		})
		if _, err := run.Plan(t.Context(), db, w.plan, fast); !errors.Is(err, run.ErrSchema) {
			t.Errorf("got %v, want ErrSchema", err)
		}
		if got := w.number(t, "SELECT COUNT(*) FROM "+journal.StepsTable+" WHERE state = 'done' AND step > 2"); got != 0 {
			t.Errorf("got %d steps done after the change, want none", got)
		}
		w.exec(t, "ALTER TABLE parent DROP COLUMN more")
		w.run(t)
	})
}

// lesser opens the database as a user with the given rights.
func (w *world) lesser(t *testing.T, name string, rights ...string) *sql.DB {
	t.Helper()
	dsn := ""
	switch w.dialect {
	case dialect.MySQL:
		config, err := mysql.ParseDSN(w.base.DriverDSN)
		if err != nil {
			t.Fatal(err)
		}
		user := name + "@'%'"
		w.exec(t, "CREATE USER "+user)
		t.Cleanup(func() { _, _ = w.db.Exec("DROP USER " + user) })
		for _, right := range rights {
			w.exec(t, "GRANT "+right+" TO "+user)
		}
		config.User, config.Passwd = name, ""
		dsn = config.FormatDSN()
	case dialect.Postgres:
		w.exec(t, "CREATE ROLE "+name+" LOGIN PASSWORD 'x'")
		t.Cleanup(func() { _, _ = w.db.Exec("DROP OWNED BY " + name + "; DROP ROLE " + name) })
		for _, right := range rights {
			w.exec(t, "GRANT "+right+" TO "+name)
		}
		if _, err := pgx.ParseConfig(w.base.DriverDSN); err != nil {
			t.Fatal(err)
		}
		// The session of the owner becomes the user's, whatever the server asks of those who log in.
		dsn = w.base.DriverDSN
		return w.opened(t, dsn, "SET ROLE "+name)
	}
	return w.opened(t, dsn, "")
}

// opened opens a DSN; a statement may come before the first of each connection.
func (w *world) opened(t *testing.T, dsn, first string) *sql.DB {
	t.Helper()
	db, err := sql.Open(w.base.DriverName, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if first == "" {
		return db
	}
	inner, err := hookedFirst(w.base.DriverName, dsn, first)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = inner.Close() })
	return inner
}

func TestRights(t *testing.T) {
	t.Run("mysql", func(t *testing.T) {
		w := newWorld(t, "mysql")
		before := w.contents(t)
		var name string
		if err := w.db.QueryRow("SELECT DATABASE()").Scan(&name); err != nil {
			t.Fatal(err)
		}
		db := w.lesser(t, "reader_of_rights", "SELECT, UPDATE, INSERT, DELETE, CREATE ON `"+name+"`.*")
		_, err := run.Plan(t.Context(), db, w.plan, fast)
		if !errors.Is(err, run.ErrRights) || !strings.Contains(err.Error(), "ALTER") || !strings.Contains(err.Error(), "DROP") {
			t.Errorf("got %v, want ErrRights of ALTER and DROP", err)
		}
		w.untouched(t, before)
		db = w.lesser(t, "writer_of_rights", "SELECT, UPDATE, INSERT, DELETE, CREATE, ALTER, DROP ON `"+strings.ReplaceAll(name, "_", `\_`)+"`.*")
		finish(t, db, w.plan, run.Plan)
	})
	t.Run("postgres", func(t *testing.T) {
		w := newWorld(t, "postgres")
		before := w.contents(t)
		db := w.lesser(t, "reader_of_rights", "SELECT, UPDATE, INSERT, DELETE ON ALL TABLES IN SCHEMA public")
		_, err := run.Plan(t.Context(), db, w.plan, fast)
		if !errors.Is(err, run.ErrRights) || !strings.Contains(err.Error(), "table parent") || !strings.Contains(err.Error(), "CREATE on the schema public") {
			t.Errorf("got %v, want ErrRights of the tables and the schema", err)
		}
		w.untouched(t, before)
	})
	t.Run("sqlite", func(t *testing.T) {
		w := newWorld(t, "sqlite")
		before := w.contents(t)
		db := w.opened(t, "file:"+w.base.DriverDSN+"?mode=ro", "")
		if _, err := run.Plan(t.Context(), db, w.plan, fast); !errors.Is(err, run.ErrRights) {
			t.Errorf("got %v, want ErrRights", err)
		}
		w.untouched(t, before)
	})
}

// TestDry checks that a dry run says what a run would do from where the journal stands, refuses what a run would refuse, and writes nothing.
func TestDry(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		dry := fast
		dry.Dry = true
		before := w.contents(t)
		outcome, err := run.Plan(t.Context(), w.db, w.plan, dry)
		if want := []int{1, 2, 3, 4, 5, 6, 7, 8}; err != nil || outcome.Done || outcome.Step != 0 || !slices.Equal(outcome.Would, want) || outcome.Held != "Deploy now." {
			t.Fatalf("got %+v, %v, want the steps %v to the hold", outcome, err, want)
		}
		if got := w.contents(t); got != before || w.has(t, journal.PlansTable) {
			t.Errorf("a dry run has written: got\n%s\nwant\n%s", got, before)
		}
		if _, err := run.Rollback(t.Context(), w.db, w.plan, dry); !errors.Is(err, run.ErrOption) {
			t.Errorf("got %v of a dry rollback, want ErrOption", err)
		}
		if _, err := run.Plan(t.Context(), w.db, w.plan, fast); err != nil {
			t.Fatal(err)
		}
		held := w.contents(t)
		outcome, err = run.Plan(t.Context(), w.db, w.plan, dry)
		if err != nil || outcome.Step != 8 || len(outcome.Would) > 0 || outcome.Held != "Deploy now." {
			t.Errorf("got %+v, %v, want it to stay at the hold", outcome, err)
		}
		dry.Continue = plan.Here
		if outcome, err = run.Plan(t.Context(), w.db, w.plan, dry); err != nil || !slices.Contains(outcome.Would, 9) || outcome.Done {
			t.Errorf("got %+v, %v, want it to pass the hold", outcome, err)
		}
		if got := w.contents(t); got != held {
			t.Error("a dry run has written")
		}
		w.exec(t, "ALTER TABLE parent ADD COLUMN more INT")
		if _, err := run.Plan(t.Context(), w.db, w.plan, dry); !errors.Is(err, run.ErrSchema) {
			t.Errorf("got %v after a change of the schema, want ErrSchema", err)
		}
	})
}
