package migrate_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/gormplugin/migrate"
)

// refusalTables is how many tables the measured schema has: as many as Chinook.
const refusalTables = 11

// TestRefusals logs for how long an application's inserts were refused, or waited, in a whole migration, by mode, database and step: the time
// from an insert's first attempt to the one that succeeded. The application makes 50 inserts a second. It leaves keys to the database until
// the hold, and fills them from then on. A refused insert is tried again after 20 ms; one that fills no key fills it once it is told that the
// database makes none.
//
// The times are logged, and no limit is asserted: they are the machine's, too. Rows are counted.
func TestRefusals(t *testing.T) {
	const rows = 5000
	if !tortured() {
		t.Skip("SNOWKEY_TORTURE is not set: it takes as long as the default windows do, and asserts no time; make torture runs it")
	}
	for _, c := range []struct {
		kind string
		mode migrate.Mode
	}{{"mysql", migrate.Rekey}, {"postgres", migrate.Rekey}, {"postgres", migrate.Shadow}} {
		t.Run(fmt.Sprintf("%s/%s", c.kind, c.mode), func(t *testing.T) {
			testRefusals(t, c.kind, c.mode, rows)
		})
	}
}

func testRefusals(t *testing.T, kind string, mode migrate.Mode, rows int) {
	d := open(t, kind)
	key, at := "INT PRIMARY KEY AUTO_INCREMENT", "TIMESTAMP(6) NULL DEFAULT CURRENT_TIMESTAMP(6)"
	series, past := "SELECT seq AS n FROM seq_1_to_%d", "TIMESTAMP('2025-11-14 22:13:20') + INTERVAL n SECOND"
	if kind == "postgres" {
		key, at = "serial PRIMARY KEY", "timestamptz DEFAULT clock_timestamp()"
		series, past = "SELECT n FROM generate_series(1, %d) AS n", "timestamptz '2025-11-14 22:13:20+00' + n * interval '1 second'"
	}
	var tables []string
	for i := range refusalTables {
		name, parent := fmt.Sprintf("t%02d", i), ""
		if i > 0 {
			parent = fmt.Sprintf(", parent_id INT NOT NULL, CONSTRAINT fk_%s FOREIGN KEY (parent_id) REFERENCES t%02d (id)", name, (i-1)/2)
		}
		d.exec("CREATE TABLE " + name + " (id " + key + ", name VARCHAR(20) NOT NULL, created_at " + at + parent + ")")
		columns, values := "name, created_at", "'row', "+past
		if i > 0 {
			columns, values = columns+", parent_id", values+", n"
		}
		d.exec(fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM (%s) s", name, columns, values, fmt.Sprintf(series, rows)))
		tables = append(tables, name)
	}
	report, err := migrate.Inspect(t.Context(), d.gorm, migrate.InspectOptions{Tables: tables})
	if err != nil {
		t.Fatal(err)
	}
	p, err := migrate.MakePlan(t.Context(), d.gorm, report, migrate.PlanOptions{Mode: mode, Layout: layout})
	if err != nil {
		t.Fatal(err)
	}
	app := &application{t: t, d: connect(t, kind, d.name), tables: tables}
	app.start()
	began := time.Now()
	for outcome := (migrate.Outcome{}); !outcome.Done; {
		o := migrate.RunOptions{Continue: outcome.Hold, Progress: func(now migrate.Progress) { app.step.Store(&now.Title) }}
		if outcome, err = migrate.Run(t.Context(), d.gorm, p, o); err != nil {
			t.Fatal(err)
		}
		if outcome.Held != "" && p.Steps[outcome.Step].Phase == "flip" {
			app.fills.Store(true)
			app.await(refusalTables)
		}
	}
	t.Logf("the run took %s", time.Since(began).Round(time.Millisecond))
	app.stop()
	for _, name := range tables {
		if got, want := d.number("SELECT COUNT(*) FROM "+name), int64(rows)+app.made[name]; got != want {
			t.Errorf("%s: got %d rows, want %d", name, got, want)
		}
	}
}

// application is a writer of [TestRefusals].
type application struct {
	t      *testing.T
	d      *database
	tables []string
	fills  atomic.Bool            // its keys
	step   atomic.Pointer[string] // that the run is at
	group  sync.WaitGroup
	end    context.CancelFunc
	tries  atomic.Int64

	mutex sync.Mutex // of the rest
	made  map[string]int64
	waits []wait
}

// wait is how long one insert took, from its first attempt on.
type wait struct {
	table, step, why string
	took             time.Duration
	attempts         int
}

// start starts a writer for each table, which together make 50 inserts a second.
func (a *application) start() {
	ctx, cancel := context.WithCancel(a.t.Context())
	a.end, a.made = cancel, map[string]int64{}
	for n, table := range a.tables {
		a.group.Go(func() {
			pace := time.NewTicker(time.Duration(len(a.tables)) * 20 * time.Millisecond)
			defer pace.Stop()
			for i := int64(0); ctx.Err() == nil && a.insert(ctx, table, int64(n)<<12|i%4096); i++ {
				<-pace.C
			}
		})
	}
}

// stop ends the inserts, and logs the longest ones.
func (a *application) stop() {
	a.end()
	a.group.Wait()
	slices.SortFunc(a.waits, func(x, y wait) int { return cmp.Compare(y.took, x.took) })
	seen := map[string]bool{}
	for _, w := range a.waits {
		if key := w.step + w.why; !seen[key] && len(seen) < 8 {
			seen[key] = true
			a.t.Logf("%8s  %s, %d attempts, at %q %s", w.took.Round(time.Millisecond), w.table, w.attempts, w.step, w.why)
		}
	}
	a.t.Logf("%d inserts", len(a.waits))
}

// await waits for so many attempts.
func (a *application) await(n int64) {
	for want := a.tries.Load() + n; a.tries.Load() < want && a.t.Context().Err() == nil; {
		time.Sleep(time.Millisecond)
	}
}

// insert makes one row, however often it is refused, and reports whether it has. The key that it may have has some last bits of its own.
func (a *application) insert(ctx context.Context, table string, bits int64) bool {
	id, err := layout.MinID(time.Now())
	if err != nil {
		a.t.Error(err)
		return false
	}
	columns, values := "name", "'app'"
	if i := slices.Index(a.tables, table); i > 0 {
		columns, values = columns+", parent_id", values+", (SELECT MIN(id) FROM "+a.tables[(i-1)/2]+")"
	}
	w := wait{table: table}
	both := false
	for began := time.Now(); ; {
		statement := fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", table, columns, values)
		if both || a.fills.Load() {
			statement = fmt.Sprintf("INSERT INTO %s (id, %s) VALUES (%d, %s)", table, columns, id|bits, values)
		}
		step := a.step.Load()
		_, err := a.d.pool.Exec(statement)
		w.took = time.Since(began)
		w.attempts++
		a.tries.Add(1)
		if step != nil && w.step == "" {
			w.step = *step
		}
		if err == nil {
			a.mutex.Lock()
			defer a.mutex.Unlock()
			a.made[table]++
			a.waits = append(a.waits, w)
			return true
		}
		text := err.Error()
		switch {
		case strings.Contains(text, "snowkey migrate: no snowflakes"), strings.Contains(strings.ToLower(text), "foreign key"), again(err):
		case strings.Contains(text, "Error 1364 "), strings.Contains(text, "SQLSTATE 23502"):
			both = true
		default:
			a.t.Errorf("an insert into %s: %v", table, err)
			return false
		}
		if w.why = text; len(text) > 60 {
			w.why = text[:60]
		}
		if ctx.Err() != nil {
			a.t.Errorf("an insert into %s was refused %d times, and the run has ended: %v", table, w.attempts, err)
			return false
		}
		time.Sleep(20 * time.Millisecond)
	}
}
