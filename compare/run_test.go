package compare_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/compare"
	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/compare/strategy"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// small is a profile that a test has time for.
var small = compare.Profile{
	Name: "small", Rows: 300, Batch: 50, Rounds: 2, Slow: time.Minute, Rate: 500, Steady: 50 * time.Millisecond, Keys: 500, Kills: 1,
	Writers: []compare.Writers{{Connections: 2, Batch: 20}, {Connections: 4, Batch: 1}},
}

// sqlite is a database in a file that does not wait for the disk all the time.
func sqlite(t testing.TB) dbtest.Database {
	d := dbtest.SQLite(t)
	d.DSN += "?_journal_mode=WAL&_synchronous=NORMAL"
	return d
}

// kinds make a database of each kind.
var kinds = map[string]func(testing.TB) dbtest.Database{"sqlite": sqlite, "mysql": dbtest.MySQL, "postgres": dbtest.Postgres}

func open(t *testing.T, dsn string) *compare.Target {
	t.Helper()
	target, err := compare.OpenTarget(t.Context(), dsn, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := target.Close(); err != nil {
			t.Error(err)
		}
	})
	return target
}

func choose(t *testing.T, names ...string) []strategy.Strategy {
	t.Helper()
	chosen, err := strategy.Select(names...)
	if err != nil {
		t.Fatal(err)
	}
	return chosen
}

// requireNothingLeft fails when anything of a run is still there.
func requireNothingLeft(t *testing.T, database dbtest.Database, db *sql.DB) {
	t.Helper()
	query := map[string]string{
		"sqlite":   "SELECT count(*) FROM sqlite_master WHERE name LIKE 'snowkey%'",
		"mysql":    "SELECT count(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name LIKE 'snowkey%'",
		"postgres": "SELECT count(*) FROM pg_class WHERE relname LIKE 'snowkey%'",
	}[database.Kind]
	var n int
	if err := db.QueryRow(query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	if n != 0 {
		t.Errorf("%d tables and sequences are left behind", n)
	}
}

// requireReasons fails when a figure has neither samples nor a reason.
func requireReasons(t *testing.T, name string, v reflect.Value) {
	t.Helper()
	if figure, ok := v.Interface().(result.Figure); ok {
		if !figure.OK() && figure.Why == "" {
			t.Errorf("%s has no samples and no reason", name)
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				requireReasons(t, name+"."+v.Type().Field(i).Name, v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			requireReasons(t, name, v.Index(i))
		}
	}
}

// requireDocument fails unless the result is one that can be written and read.
func requireDocument(t *testing.T, r result.Document) {
	t.Helper()
	var document bytes.Buffer
	if err := result.Write(&document, r); err != nil {
		t.Fatal(err)
	}
	if _, err := result.Load(&document); err != nil {
		t.Fatal(err)
	}
	for _, d := range r.Databases {
		for _, s := range d.Strategies {
			requireReasons(t, s.Name, reflect.ValueOf(s))
		}
	}
}

const noPair = "it needs a second server of the same kind, so that one can stand in for the other"

func TestRun(t *testing.T) {
	for name, test := range map[string]struct {
		rounds     int
		strategies []string
		missing    string // the strategy that is not possible there
		why        string
	}{
		"sqlite":   {2, []string{"autoincrement", "snowkey", "uuidv4-text", "uuidv7", "blocks", "sequence", "flickr"}, "sequence", "SQLite has no sequences; MariaDB and PostgreSQL do"},
		"mysql":    {1, []string{"autoincrement", "snowkey", "flickr"}, "flickr", noPair},
		"postgres": {1, []string{"autoincrement", "sequence", "flickr"}, "flickr", noPair},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "sqlite" {
				dbtest.Long(t)
			}
			profile := small
			profile.Rounds = test.rounds
			database := kinds[name](t)
			db := database.Open(t)
			if _, err := db.ExecContext(t.Context(), "CREATE TABLE theirs (id INTEGER)"); err != nil {
				t.Fatal(err)
			}
			var last compare.Progress
			chosen := choose(t, test.strategies...)
			r, err := compare.Run(t.Context(), compare.Config{
				Targets: []*compare.Target{open(t, database.DSN)}, Strategies: chosen, Profile: profile,
				Progress: func(p compare.Progress) {
					if p.Doing == "" || p.Done < last.Done || p.Done > 1 || p.Left < 0 || strings.Contains(p.Doing, "kill") {
						t.Errorf("progress %+v", p)
					}
					last = p
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			if last.Done != 1 || last.Left != 0 {
				t.Errorf("progress ended with %+v", last)
			}
			requireDocument(t, r)
			requireNothingLeft(t, database, db)
			if _, err := db.ExecContext(t.Context(), "INSERT INTO theirs VALUES (1)"); err != nil {
				t.Errorf("another table: %v", err)
			}
			d := r.Databases[0]
			if d.Version == "" || len(d.Settings) == 0 || d.Failed != "" || r.Interrupted != "" || len(d.Strategies) != len(chosen) {
				t.Fatalf("got %s, %v, %q, %q and %d strategies", d.Version, d.Settings, d.Failed, r.Interrupted, len(d.Strategies))
			}
			for _, s := range d.Strategies {
				if s.Name == test.missing {
					if s.Skipped != test.why {
						t.Errorf("%s: got %q, want what it needs, %q", s.Name, s.Skipped, test.why)
					}
					continue
				}
				requireMeasured(t, s, profile.Rounds)
				requireWriters(t, s, name != "sqlite", profile.Rounds)
			}
		})
	}
}

// requireWriters fails unless a strategy has the figures of several connections, on servers.
func requireWriters(t *testing.T, s result.Strategy, server bool, rounds int) {
	t.Helper()
	if !server && len(s.Writers) == 0 {
		return
	}
	if !server || len(s.Writers) != len(small.Writers) {
		t.Fatalf("%s: got %+v", s.Name, s.Writers)
	}
	for i, w := range s.Writers {
		if w.Connections != small.Writers[i].Connections || w.Batch != small.Writers[i].Batch || w.Rows != small.Rows || len(w.RowsPerSecond.Samples) != rounds ||
			len(w.Last.Samples) != rounds || len(w.Table.Samples) != rounds || w.Table.Median() < 26 {
			t.Errorf("%s: got %+v", s.Name, w)
		}
	}
}

func TestParseWriters(t *testing.T) {
	if w, err := compare.ParseWriters("16x20"); err != nil || w != (compare.Writers{Connections: 16, Batch: 20}) {
		t.Errorf("got %v, %v", w, err)
	}
	for _, text := range []string{"", "16", "16x", "x20", "16x20x3", "016x20", "0x1", "1x0", "65x1", "1x1001", "-1x1"} {
		if _, err := compare.ParseWriters(text); !errors.Is(err, compare.ErrConfig) {
			t.Errorf("%q: got %v, want ErrConfig", text, err)
		}
	}
}

// requireMeasured fails unless a strategy has all figures that every strategy has.
func requireMeasured(t *testing.T, s result.Strategy, rounds int) {
	t.Helper()
	if s.Skipped != "" || !s.Verify.OK() || len(s.Verify.Checks) == 0 {
		t.Errorf("%s: got %q, %+v", s.Name, s.Skipped, s.Verify)
		return
	}
	if s.Growth.Rows != small.Rows || len(s.Growth.Batches) != rounds || len(s.Growth.Tenths[9].RowsPerSecond.Samples) != rounds {
		t.Errorf("%s: its table has %d rows in %d rounds: %+v", s.Name, s.Growth.Rows, len(s.Growth.Batches), s.Growth.Tenths)
	}
	if len(s.Storage.Table.Samples) != rounds || s.Storage.Table.Median() < 26 || len(s.Read.Ordered.Samples) != rounds {
		t.Errorf("%s: got %+v, %+v", s.Name, s.Storage.Table, s.Read.Ordered)
	}
	if s.Key.Column == "" || len(s.Key.Sample) == 0 {
		t.Errorf("%s: got the key %+v", s.Name, s.Key)
	}
	if made := s.Name != "autoincrement"; made != (len(s.Latency.Samples) > 0) {
		t.Errorf("%s: got %d latencies, %q", s.Name, len(s.Latency.Samples), s.Latency.Why)
	}
	if !strings.Contains(s.Crash.Twice.Why, "kill") {
		t.Errorf("%s: got the crash %+v", s.Name, s.Crash.Twice)
	}
}

func TestStrategyThatFailsIsNotTimed(t *testing.T) {
	t.Parallel()
	database := sqlite(t)
	twice := own("twice", func(n int64) (int64, error) {
		if n%400 == 0 {
			return n - 1, nil
		}
		return n, nil
	})
	r, err := compare.Run(t.Context(), compare.Config{
		Targets: []*compare.Target{open(t, database.DSN)}, Strategies: append(choose(t, "uuidv7"), twice), Profile: small,
	})
	if err != nil {
		t.Fatal(err)
	}
	requireDocument(t, r)
	requireNothingLeft(t, database, database.Open(t))
	good, failing := r.Databases[0].Strategies[0], r.Databases[0].Strategies[1]
	requireMeasured(t, good, small.Rounds)
	if failing.Verify.OK() || !strings.Contains(failing.Verify.Checks[0].Evidence, "399") {
		t.Errorf("got %+v, want the equal keys", failing.Verify)
	}
	if len(failing.Growth.Batches)+len(failing.Generation.Capped)+len(failing.Latency.Samples) != 0 || !strings.Contains(failing.Growth.Why, "does not hold") {
		t.Errorf("it was timed: %+v", failing)
	}
}

// A source that breaks down after it was verified drops out, with what was measured before, and the run has its error.
func TestStrategyThatBreaksDown(t *testing.T) {
	t.Parallel()
	database := sqlite(t)
	var broken atomic.Bool
	breaking := own("breaking", func(n int64) (int64, error) {
		if broken.Load() {
			return 0, errors.New("the counter is used up")
		}
		return n, nil
	})
	r, err := compare.Run(t.Context(), compare.Config{
		Targets: []*compare.Target{open(t, database.DSN)}, Strategies: append(choose(t, "uuidv7"), breaking), Profile: small,
		Progress: func(p compare.Progress) { broken.CompareAndSwap(false, strings.Contains(p.Doing, "round 2")) },
	})
	if err == nil || !strings.Contains(err.Error(), "insert breaking: ") || !strings.Contains(err.Error(), "used up") {
		t.Errorf("got %v, want what broke down", err)
	}
	if r.Databases[0].Failed != "" {
		t.Errorf("the database failed: %s", r.Databases[0].Failed)
	}
	requireDocument(t, r)
	requireNothingLeft(t, database, database.Open(t))
	requireMeasured(t, r.Databases[0].Strategies[0], small.Rounds)
	if s := r.Databases[0].Strategies[1]; !strings.HasPrefix(s.Skipped, "while rows were inserted: ") || !strings.Contains(s.Skipped, "used up") || len(s.Growth.Batches) != 1 {
		t.Errorf("got %q and %d rounds, want the error and the round before it", s.Skipped, len(s.Growth.Batches))
	}
}

// The command's own tests interrupt it on MariaDB.
func TestInterrupted(t *testing.T) {
	for _, name := range []string{"sqlite", "postgres"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "sqlite" {
				dbtest.Long(t)
			}
			database := kinds[name](t)
			why := errors.New("the test has seen enough")
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			r, err := compare.Run(ctx, compare.Config{
				Targets:    []*compare.Target{open(t, database.DSN), open(t, sqlite(t).DSN)},
				Strategies: choose(t, "snowkey"), Profile: small,
				Progress: func(p compare.Progress) {
					if strings.Contains(p.Doing, "round 2") {
						cancel(why)
					}
				},
			})
			if !errors.Is(err, why) || strings.Contains(err.Error(), "\n") || r.Interrupted != why.Error() {
				t.Errorf("got %v, %q, want that it was interrupted", err, r.Interrupted)
			}
			requireDocument(t, r)
			requireNothingLeft(t, database, database.Open(t))
			if r.Databases[0].Failed != "" {
				t.Errorf("got the database failed with %q, want that the run was interrupted and no more", r.Databases[0].Failed)
			}
			if len(r.Databases) != 1 || len(r.Databases[0].Strategies) != 1 || len(r.Databases[0].Strategies[0].Growth.Batches) != 1 {
				t.Errorf("got %d databases, want one with what was measured", len(r.Databases))
			}
		})
	}
}

// A context that ends before the run, or after its last step, interrupts nothing.
func TestInterruptedOutside(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	config := compare.Config{
		Targets: []*compare.Target{open(t, sqlite(t).DSN)}, Strategies: choose(t, "autoincrement"), Profile: small,
		Progress: func(p compare.Progress) {
			if p.Done == 1 && strings.HasPrefix(p.Doing, "done") {
				cancel()
			}
		},
	}
	r, err := compare.Run(ctx, config)
	if err != nil || r.Interrupted != "" || ctx.Err() == nil {
		t.Errorf("after the last step: got %v, %q, %v", err, r.Interrupted, ctx.Err())
	}
	r, err = compare.Run(ctx, config)
	if !errors.Is(err, context.Canceled) || len(r.Databases) != 0 {
		t.Errorf("before the first step: got %v and %d databases", err, len(r.Databases))
	}
}

// A server that dies ends the measuring on it, and on no other.
func TestServerDies(t *testing.T) {
	for name, start := range map[string]func(testing.TB, ...string) *dbtest.Server{"mysql": dbtest.StartMySQL, "postgres": dbtest.StartPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Long(t)
			server := start(t)
			var once atomic.Bool
			r, err := compare.Run(t.Context(), compare.Config{
				Targets:    []*compare.Target{open(t, server.Database(t).DSN), open(t, sqlite(t).DSN)},
				Strategies: choose(t, "snowkey"), Profile: small,
				Progress: func(p compare.Progress) {
					if strings.Contains(p.Doing, "round 2") && once.CompareAndSwap(false, true) {
						if err := server.Kill(); err != nil {
							t.Error(err)
						}
					}
				},
			})
			if err == nil || strings.Count(err.Error(), "may be left behind") != 1 {
				t.Errorf("got %v, want the error, and once what may be left behind", err)
			}
			requireDocument(t, r)
			if len(r.Databases) != 2 || r.Databases[0].Failed == "" || r.Databases[1].Failed != "" {
				t.Fatalf("got %+v", r.Databases)
			}
			if s := r.Databases[0].Strategies[0]; len(s.Growth.Batches) != 1 || s.Skipped != "" {
				t.Errorf("got %d rounds, %q, want what was measured", len(s.Growth.Batches), s.Skipped)
			}
			requireMeasured(t, r.Databases[1].Strategies[0], small.Rounds)
		})
	}
}

// Who may not make tables is told so, and nothing is measured.
func TestNoRights(t *testing.T) {
	t.Parallel()
	database := dbtest.SQLite(t)
	if _, err := database.Open(t).ExecContext(t.Context(), "CREATE TABLE theirs (id INTEGER)"); err != nil {
		t.Fatal(err)
	}
	target := open(t, "sqlite:file:"+database.DriverDSN+"?mode=ro")
	r, err := compare.Run(t.Context(), compare.Config{Targets: []*compare.Target{target}, Strategies: choose(t, "snowkey"), Profile: small})
	if !errors.Is(err, compare.ErrDatabase) || !strings.Contains(err.Error(), "create tables") {
		t.Errorf("got %v, want what may not be done", err)
	}
	requireDocument(t, r)
	if d := r.Databases[0]; !strings.Contains(d.Failed, "create tables") || !strings.Contains(d.Strategies[0].Growth.Why, "create tables") {
		t.Errorf("got %q, %q", d.Failed, d.Strategies[0].Growth.Why)
	}
}

// A private server is killed under each strategy; an interrupt amid that keeps what was measured.
func TestPrivateServers(t *testing.T) {
	dbtest.Long(t)
	dbtest.MySQL(t) // skips the test where there are none
	t.Parallel()
	target := open(t, "private:mysql?innodb_buffer_pool_size=16M")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	config := compare.Config{Targets: []*compare.Target{target}, Strategies: choose(t, "flickr", "autoincrement"), Profile: small}
	config.Profile.Rounds = 1
	config.Progress = func(p compare.Progress) {
		if strings.HasPrefix(p.Doing, "kill the server under autoincrement") {
			cancel()
		}
	}
	r, err := compare.Run(ctx, config)
	if !errors.Is(err, context.Canceled) || r.Interrupted == "" {
		t.Fatalf("got %v, %q, want that it was interrupted", err, r.Interrupted)
	}
	requireDocument(t, r)
	d := r.Databases[0]
	if !d.Private || d.Name != "private:mysql?innodb_buffer_pool_size=16M" || d.Cache.Median() != 16<<20 {
		t.Errorf("got %s with a cache of %v, private %v", d.Name, d.Cache, d.Private)
	}
	if s := d.Strategies[0]; !s.Crash.Twice.OK() || s.Crash.Twice.Samples[0] != 0 || !s.Crash.Down.OK() {
		t.Errorf("%s: got %q and the crash %+v", s.Name, s.Skipped, s.Crash)
	}
	s := d.Strategies[1]
	if len(s.Growth.Batches) != 1 || s.Crash.Down.OK() || !strings.Contains(s.Crash.Down.Why, "ended before") {
		t.Errorf("%s: got %d rounds and the crash %+v", s.Name, len(s.Growth.Batches), s.Crash)
	}
	if s.Key.Gap.Median() != 0 {
		t.Errorf("%s: got a gap of %v bits, want none beside a second server that counts even numbers", s.Name, s.Key.Gap)
	}
	if left, err := target.Leftovers(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("%v is left behind (%v)", left, err)
	}
}

// A budget that does not suffice for the rows of the profile gets fewer, and the result says so.
func TestBudget(t *testing.T) {
	t.Parallel()
	dbtest.Long(t)
	profile := small
	profile.Rows, profile.Batch, profile.Slow, profile.Budget = 400_000, 100, time.Minute, compare.MinBudget
	began := time.Now()
	r, err := compare.Run(t.Context(), compare.Config{
		Targets: []*compare.Target{open(t, sqlite(t).DSN)}, Strategies: choose(t, "autoincrement"), Profile: profile,
		Progress: func(p compare.Progress) {
			// A busy machine may take longer for the tenth of the rows that is inserted whatever the budget, and then what is left is what that takes.
			if p.Left > profile.Budget && time.Since(began) < profile.Budget {
				t.Errorf("%v are left of a budget of %v", p.Left, profile.Budget)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	requireDocument(t, r)
	g := r.Databases[0].Strategies[0].Growth
	if g.Rows < profile.Rows/10 || g.Rows >= profile.Rows {
		t.Errorf("got %d rows", g.Rows)
	}
	if last := g.Tenths[9].RowsPerSecond; !last.OK() || !strings.Contains(last.Why, "budget of 5s") {
		t.Errorf("got %+v, want why there are no more rows", last)
	}
	if fewer := len(g.Batches) < profile.Rounds; fewer != strings.Contains(r.Interrupted, "round 1 of 2") {
		t.Errorf("got %d rounds and %q", len(g.Batches), r.Interrupted)
	}
}

// A budget that suffices changes nothing, not even a number of rows that is not round.
func TestBudgetThatSuffices(t *testing.T) {
	t.Parallel()
	profile := small
	profile.Rows, profile.Rounds, profile.Budget = 1234, 1, time.Hour
	r, err := compare.Run(t.Context(), compare.Config{
		Targets: []*compare.Target{open(t, sqlite(t).DSN)}, Strategies: choose(t, "autoincrement"), Profile: profile,
	})
	if err != nil {
		t.Fatal(err)
	}
	if g := r.Databases[0].Strategies[0].Growth; g.Rows != profile.Rows || g.Tenths[9].RowsPerSecond.Why != "" || r.Interrupted != "" {
		t.Errorf("got %d rows, %q, %q", g.Rows, g.Tenths[9].RowsPerSecond.Why, r.Interrupted)
	}
}

func TestConfigOutOfRange(t *testing.T) {
	target := open(t, dbtest.SQLite(t).DSN)
	for name, change := range map[string]func(*compare.Config){
		"no name": func(c *compare.Config) { c.Profile.Name = "" },
		"no rows": func(c *compare.Config) { c.Profile.Rows = 0 },
		"rows":    func(c *compare.Config) { c.Profile.Rows = compare.MaxRows + 1 },
		"batch":   func(c *compare.Config) { c.Profile.Batch = compare.MaxBatch + 1 },
		"rounds":  func(c *compare.Config) { c.Profile.Rounds = -1 },
		"budget":  func(c *compare.Config) { c.Profile.Budget = time.Second },
		"no time": func(c *compare.Config) { c.Profile.Steady = 0 },
		"no rate": func(c *compare.Config) { c.Profile.Rate = math.NaN() },
		"rate":    func(c *compare.Config) { c.Profile.Rate = compare.MaxRate + 1 },
		"no key":  func(c *compare.Config) { c.Profile.Rate = 1 },
		"connections": func(c *compare.Config) {
			c.Profile.Writers = []compare.Writers{{Connections: compare.MaxConnections + 1, Batch: 1}}
		},
		"writers":       func(c *compare.Config) { c.Profile.Writers = []compare.Writers{{Connections: 1}} },
		"writers twice": func(c *compare.Config) { c.Profile.Writers = []compare.Writers{{1, 2}, {3, 4}, {1, 2}} },
		"negative kill": func(c *compare.Config) { c.Profile.Kills = -1 },
		"no target":     func(c *compare.Config) { c.Targets = nil },
		"nil target":    func(c *compare.Config) { c.Targets = append(c.Targets, nil) },
	} {
		config := compare.Config{Targets: []*compare.Target{target}, Strategies: choose(t, "snowkey"), Profile: small}
		change(&config)
		if _, err := compare.Run(t.Context(), config); !errors.Is(err, compare.ErrConfig) {
			t.Errorf("%s: got %v, want ErrConfig", name, err)
		}
	}
	// A document has each name once.
	mine := own("mine", nil)
	for name, chosen := range map[string][]strategy.Strategy{"twice": {mine, mine}, "a nil one": {nil}, "no name": {own("", nil)}} {
		if _, err := compare.Run(t.Context(), compare.Config{Targets: []*compare.Target{target}, Strategies: chosen}); !errors.Is(err, strategy.ErrStrategy) {
			t.Errorf("%s: got %v, want ErrStrategy", name, err)
		}
	}
}

// TestProfileChooses has strategies of sharded tables in a full run, and in a quick one only by name, whose budget is short without them.
func TestProfileChooses(t *testing.T) {
	for _, profile := range compare.Profiles() {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r, err := compare.Run(ctx, compare.Config{Targets: []*compare.Target{open(t, sqlite(t).DSN)}, Profile: profile, Progress: func(compare.Progress) { cancel() }})
		if !errors.Is(err, context.Canceled) || !slices.Contains(r.Plan.Strategies, "snowkey") {
			t.Fatalf("got %v, %v", r.Plan.Strategies, err)
		}
		if got, want := slices.Contains(r.Plan.Strategies, "snowkey-sharded"), profile.Name == "full"; got != want {
			t.Errorf("%s: snowkey-sharded takes part: %t, want %t", profile.Name, got, want)
		}
	}
}
