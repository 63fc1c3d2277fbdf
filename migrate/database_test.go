package migrate_test

import (
	"database/sql"
	"os"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dsn"
	"github.com/snowkey-go/snowkey/migrate"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// kinds are the databases that tests run on, by their names.
var kinds = map[string]func(testing.TB) dbtest.Database{"sqlite": dbtest.SQLite, "mysql": dbtest.MySQL, "postgres": dbtest.Postgres}

// database is one database of a test.
type database struct {
	t    testing.TB
	kind string
	name string // its DSN
	pool *sql.DB
	gorm *gorm.DB
}

// forEach runs a test on new databases of the kinds, all when none is named.
func forEach(t *testing.T, test func(t *testing.T, d *database), names ...string) {
	if len(names) == 0 {
		names = []string{"sqlite", "mysql", "postgres"}
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t, name))
		})
	}
}

// maxConns is how many connections a pool opens, and keeps.
const maxConns = 8

// open returns a new database.
func open(t testing.TB, kind string) *database {
	t.Helper()
	made := kinds[kind](t)
	name := made.DSN
	if kind == "sqlite" {
		name += "?_journal_mode=WAL&_synchronous=NORMAL&_foreign_keys=on&_busy_timeout=10000"
	}
	return connect(t, kind, name)
}

// connect opens a pool of its own on a database.
func connect(t testing.TB, kind, name string) *database {
	t.Helper()
	parsed, err := dsn.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := parsed.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	pool.SetMaxOpenConns(maxConns)
	pool.SetMaxIdleConns(maxConns) // with the default of two, five writers open a connection for every third statement
	db, err := gorm.Open(parsed.Dialector(pool), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	return &database{t, kind, name, pool, db}
}

// exec runs statements, a few times each where writers are in their way.
func (d *database) exec(statements ...string) {
	d.t.Helper()
	for _, s := range statements {
		_, err := d.pool.ExecContext(d.t.Context(), s)
		for tries := 0; err != nil && again(err) && tries < 10; tries++ {
			_, err = d.pool.ExecContext(d.t.Context(), s)
		}
		if err != nil {
			d.t.Fatalf("%s: %v", s, err)
		}
	}
}

// number returns the number that a query gives.
func (d *database) number(query string) (n int64) {
	d.t.Helper()
	if err := d.pool.QueryRowContext(d.t.Context(), query).Scan(&n); err != nil {
		d.t.Fatalf("%s: %v", query, err)
	}
	return n
}

// layout is that of the tests: the epoch is before all times in them.
var layout = func() idgen.Layout {
	l, err := idgen.ParseLayout("time=41@1ms,node=10,sequence=12;epoch=2010-01-01T00:00:00Z")
	if err != nil {
		panic(err)
	}
	return l
}()

// plan inspects the database and plans; the plan has been written and read once.
func (d *database) plan(i migrate.InspectOptions, o migrate.PlanOptions) *migrate.Plan {
	d.t.Helper()
	p, err := d.tryPlan(i, o)
	if err != nil {
		d.t.Fatal(err)
	}
	return p
}

func (d *database) tryPlan(i migrate.InspectOptions, o migrate.PlanOptions) (*migrate.Plan, error) {
	report, err := migrate.Inspect(d.t.Context(), d.gorm, i)
	if err != nil {
		return nil, err
	}
	if o.Layout == (idgen.Layout{}) {
		o.Layout = layout
	}
	if o.Window == 0 {
		o.Window = 50 * time.Millisecond
	}
	p, err := migrate.MakePlan(d.t.Context(), d.gorm, report, o)
	if err != nil {
		return nil, err
	}
	text, err := p.Encode()
	if err != nil {
		return nil, err
	}
	return plan.Parse(text)
}

// run runs a plan through all its holds to its end, and verifies it.
func (d *database) run(p *migrate.Plan) {
	d.t.Helper()
	d.runUntil(p, "contract")
	d.verify(p)
	if outcome := d.runUntil(p, ""); !outcome.Done {
		d.t.Fatalf("got %+v, want the end of the plan", outcome)
	}
}

// runUntil runs a plan through its holds up to that which is of a phase, or to its end.
func (d *database) runUntil(p *migrate.Plan, phase string) (outcome migrate.Outcome) {
	d.t.Helper()
	for range len(p.Steps) + 1 {
		var err error
		if outcome, err = migrate.Run(d.t.Context(), d.gorm, p, migrate.RunOptions{Continue: outcome.Hold}); err != nil {
			d.t.Fatal(err)
		}
		if outcome.Done || p.Steps[outcome.Step].Phase == phase {
			return outcome
		}
	}
	d.t.Fatalf("the plan has no end: %+v", outcome)
	return outcome
}

// verify fails the test for each check that has not passed.
func (d *database) verify(p *migrate.Plan) {
	d.t.Helper()
	for _, c := range d.checks(p) {
		if !c.Result.Good() {
			d.t.Errorf("verify: %+v", c)
		}
	}
}

// checks verifies a plan.
func (d *database) checks(p *migrate.Plan) []migrate.Check {
	d.t.Helper()
	checks, err := migrate.Verify(d.t.Context(), d.gorm, p, migrate.VerifyOptions{})
	if err != nil {
		d.t.Fatal(err)
	}
	return checks
}

// tortured reports whether tests do all of what `make torture` does, and not the part of it that `make test` has the time for.
func tortured() bool { return os.Getenv("SNOWKEY_TORTURE") != "" }
