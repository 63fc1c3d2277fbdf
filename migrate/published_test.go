package migrate_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/migratetest"
	"github.com/snowkey-go/snowkey/migrate"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// publishedRows is how many rows the largest table of a published schema has.
const publishedRows = 300

// published is a published schema, what is said at its migration, and what is written to it meanwhile.
type published struct {
	name, kind string
	make       func(testing.TB, *sql.DB, string, int)
	modes      []migrate.Mode
	inspect    migrate.InspectOptions
	created    map[string]string // of rekey and shadow
	shadow     []string          // tables whose keys shadow changes; all where there are none
	before     []string          // what the plan says is to be done before
	refer      [][3]string       // references that are not declared: table, column, table
	except     map[string]string // conditions for the rows of writers, by table
	writers    []tableWriter     // what the application inserts
	wrong      []string          // queries for how many rows of writers refer to another row than the one that was meant
}

// TestPublished takes published schemas through each mode while writers insert: those that leave keys to the database up to the hold, those
// that fill keys after it. Rows and relations are compared by the tests' own SQL: they stay what they were, no acknowledged row is lost, and
// a rollback brings the old ids back; then, for Chinook, the plan is made and run again, to its end. How long inserts were refused is logged.
func TestPublished(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	for _, p := range []published{chinook("sqlite"), chinook("mysql"), chinook("postgres"), sakila(), pagila()} {
		for _, mode := range p.modes {
			if mode == migrate.Widen && !tortured() {
				continue // rekey begins with it
			}
			t.Run(fmt.Sprintf("%s/%s/%s", p.name, p.kind, mode), func(t *testing.T) {
				t.Parallel()
				p.migrate(t, mode)
			})
		}
	}
}

func (p published) migrate(t *testing.T, mode migrate.Mode) {
	d := open(t, p.kind)
	p.make(t, d.pool, p.kind, publishedRows)
	d.exec(p.before...)
	shape, err := migratetest.ReadShape(t.Context(), d.pool, p.kind)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range p.refer {
		shape.Refer(r[0], r[1], r[2])
	}
	for table, where := range p.except {
		shape.Except(table, where)
	}
	before := d.content(shape)
	ids := d.keys(shape)

	planned := d.planAccepting(p.inspect, p.options(mode))
	load := d.runBeside(p, planned, 40*time.Millisecond, nil) // four or five writers
	for _, r := range load.Stop() {
		t.Log(r)
	}
	d.keeps(p, shape, load, "after the run", before)
	d.verifyBeside(planned, p.writers)
	d.rollback(planned)
	d.keeps(p, shape, load, "after the rollback", before)
	if now := d.keys(shape); now != ids {
		d.same("the ids after the rollback", now, ids)
	}
	if p.name != "chinook" { // where it takes long, and shows nothing more
		return
	}
	planned = d.planAccepting(p.inspect, p.options(mode))
	if outcome := d.runUntil(planned, ""); !outcome.Done {
		t.Fatalf("got %+v, want the end of the plan", outcome)
	}
	d.keeps(p, shape, load, "after the second run", before)
}

// runBeside runs a plan up to its last phase while the application inserts, each writer a row every so often: without keys up to the hold, and with
// keys from then on.
func (d *database) runBeside(p published, planned *migrate.Plan, every time.Duration, tell func(migrate.Progress)) *writerGroup {
	d.t.Helper()
	writers := slices.Clone(p.writers)
	for i, w := range writers {
		writers[i].Every = every
		if planned.Mode == migrate.Shadow && p.shadow != nil && !slices.Contains(p.shadow, w.Table) {
			writers[i].Key = "" // the database goes on making it
		}
	}
	load := startWriters(d.t, connect(d.t, p.kind, d.name).pool, writers...)
	load.Await(5)
	outcome, err := migrate.Run(d.t.Context(), d.gorm, planned, migrate.RunOptions{Progress: tell})
	if err != nil || outcome.Held == "" {
		d.t.Fatalf("got %+v, %v, want a hold", outcome, err)
	}
	load.Await(5)
	generator := d.generator()
	load.Fill(func() int64 {
		id, err := generator.Next(context.Background())
		if err != nil {
			d.t.Error(err)
		}
		return int64(id)
	})
	if p.kind == "mysql" {
		load.AwaitRefused(1)
	}
	for !outcome.Done && (outcome.Held == "" || planned.Steps[outcome.Step].Phase != "contract") {
		if tell != nil {
			tell(migrate.Progress{Title: "the run's beginning"})
		}
		if outcome, err = migrate.Run(d.t.Context(), d.gorm, planned, migrate.RunOptions{Continue: outcome.Hold, LockWait: 500 * time.Millisecond, Attempts: 100, Progress: tell}); err != nil {
			d.t.Fatal(err)
		}
	}
	load.Await(5)
	return load
}

// keeps compares what the tables hold with what they held before, without the rows of writers, and sees that these are all there.
func (d *database) keeps(p published, shape *migratetest.Shape, load *writerGroup, when string, before map[string]string) {
	d.t.Helper()
	after := d.content(shape)
	for _, table := range slices.Sorted(maps.Keys(before)) {
		if after[table] != before[table] {
			d.t.Errorf("%s: %s has other content: %s, was %s", when, table, after[table], before[table])
		}
	}
	if orphans, err := shape.Orphans(d.t.Context(), d.pool); err != nil || len(orphans) > 0 {
		d.t.Errorf("%s: got orphans %v, %v", when, orphans, err)
	}
	for _, query := range p.wrong {
		d.none(when, query)
	}
	load.Check()
}

// verifyBeside fails the test for each check that has not passed, but where rows of writers make the answer unknown.
func (d *database) verifyBeside(p *migrate.Plan, writers []tableWriter) {
	d.t.Helper()
	for _, c := range d.checks(p) {
		written := slices.ContainsFunc(writers, func(w tableWriter) bool { return w.Table == c.Table })
		if !c.Result.Good() && !(written && c.Result == migrate.Unknown) {
			d.t.Errorf("verify: %+v", c)
		}
	}
}

// content returns a digest of each table.
func (d *database) content(shape *migratetest.Shape) map[string]string {
	d.t.Helper()
	digests, err := shape.Digests(d.t.Context(), d.pool)
	if err != nil {
		d.t.Fatal(err)
	}
	return digests
}

// keys returns the ids of the rows of before.
func (d *database) keys(shape *migratetest.Shape) string {
	d.t.Helper()
	text, err := shape.IDs(d.t.Context(), d.pool)
	if err != nil {
		d.t.Fatal(err)
	}
	return text
}

// offered finds what a plan's error offers to accept.
var offered = regexp.MustCompile(`--accept (?:'([^']+)'|(\S+))`)

// planAccepting plans and accepts all that the plan offers to accept.
func (d *database) planAccepting(i migrate.InspectOptions, o migrate.PlanOptions) *migrate.Plan {
	d.t.Helper()
	for range 5 {
		p, err := d.tryPlan(i, o)
		if err == nil {
			return p
		}
		found := offered.FindAllStringSubmatch(err.Error(), -1)
		if !errors.Is(err, plan.ErrBlocked) || len(found) == 0 {
			d.t.Fatal(err)
		}
		for _, f := range found {
			o.Accept = append(o.Accept, f[1]+f[2])
		}
		slices.Sort(o.Accept)
		if len(slices.Compact(slices.Clone(o.Accept))) < len(o.Accept) {
			d.t.Fatalf("what was accepted is offered again: %v", err)
		}
	}
	d.t.Fatal("the plan goes on offering")
	return nil
}

func (p published) options(mode migrate.Mode) migrate.PlanOptions {
	o := migrate.PlanOptions{Mode: mode}
	if mode != migrate.Widen {
		o.Created, o.Zone = p.created, "UTC"
	}
	if mode == migrate.Shadow {
		o.Tables = p.shadow
		o.Created = maps.Clone(o.Created)
		maps.DeleteFunc(o.Created, func(table, _ string) bool { return p.shadow != nil && !slices.Contains(p.shadow, table) })
	}
	return o
}

// text is a text that no other row of a table has, and that says that a writer made it.
func text(n int) string { return fmt.Sprintf("'w-%d'", n) }

// writes says how a writer inserts rows that are marked by a text in the first column.
func writes(table, key, columns string, more func(n int) string, parents func(n int) []string) tableWriter {
	mark, _, _ := strings.Cut(columns, ",")
	return tableWriter{Table: table, Key: key, Columns: columns, Parents: parents, Mark: mark, MarkOf: text,
		Values: func(n int) string {
			if more == nil {
				return text(n)
			}
			return text(n) + ", " + more(n)
		}}
}
