package measure_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/compare/internal/measure"
	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/compare/strategy"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dsn"
)

// application opens pools on a database for each process.
func application(d dbtest.Database, prefix string) func(context.Context) (measure.Application, error) {
	return func(context.Context) (measure.Application, error) {
		parsed, err := dsn.Parse(d.DSN)
		if err != nil {
			return measure.Application{}, err
		}
		pool, err := parsed.Open()
		if err != nil {
			return measure.Application{}, err
		}
		pool.SetMaxIdleConns(8)
		return measure.Application{
			Environment: strategy.Environment{DB: pool, Kind: d.Kind, Prefix: prefix},
			Session: func(ctx context.Context) (*gorm.DB, error) {
				db, err := gorm.Open(parsed.Dialector(pool), &gorm.Config{Logger: logger.Discard})
				if err != nil {
					return nil, err
				}
				return db.WithContext(ctx), nil
			},
			Close: func() { _ = pool.Close() }, // its connections may be dead
		}, nil
	}
}

// drawing is a source that asks a database for each number by a function, after what prepares the database.
func drawing(name, prepare string, next func(context.Context, *sql.DB) (int64, error)) strategy.Strategy {
	return strategy.New(strategy.Info{Name: name, RoundTrip: true}, func(ctx context.Context, at strategy.Environment) (idgen.Source[int64], error) {
		if _, err := at.DB.ExecContext(ctx, prepare); err != nil {
			return nil, err
		}
		return asking(func(ctx context.Context) (int64, error) { return next(ctx, at.DB) }), nil
	})
}

type asking func(context.Context) (int64, error)

func (s asking) Next(ctx context.Context) (int64, error) { return s(ctx) }

func (asking) Fill(context.Context, []int64) error { return errors.ErrUnsupported }

// queried asks for a number by a query.
func queried(query string) func(context.Context, *sql.DB) (int64, error) {
	return func(ctx context.Context, db *sql.DB) (n int64, err error) {
		err = db.QueryRowContext(ctx, query).Scan(&n)
		return n, err
	}
}

// executed asks for a number by a statement that sets the last insert id.
func executed(statement string) func(context.Context, *sql.DB) (int64, error) {
	return func(ctx context.Context, db *sql.DB) (int64, error) {
		done, err := db.ExecContext(ctx, statement)
		if err != nil {
			return 0, err
		}
		return done.LastInsertId()
	}
}

// TestCrashServers kills servers under strategies of which it is known whether they give keys twice.
func TestCrashServers(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it starts servers and kills them: -short leaves it out")
	}
	type plan struct {
		strategy strategy.Strategy
		twice    string // never, always, perhaps
		survives bool   // keys come without the server
	}
	const count = "INSERT INTO counted (one, n) VALUES (1, LAST_INSERT_ID(1)) ON DUPLICATE KEY UPDATE n = LAST_INSERT_ID(n + 1)"
	memory := drawing("memory", "CREATE TABLE IF NOT EXISTS counted (one INT PRIMARY KEY, n BIGINT) ENGINE=MEMORY", executed(count))
	sequence := drawing("planted-sequence", "CREATE SEQUENCE IF NOT EXISTS drawn NOCACHE", queried("SELECT NEXTVAL(drawn)"))
	for _, test := range []struct {
		kind  string
		start func(testing.TB, ...string) *dbtest.Server
		plans []plan
	}{
		{"mysql", dbtest.StartMySQL, []plan{
			{memory, "always", false}, {sequence, "perhaps", false}, // with what its versions know, and when the disk was written to
			{builtIn(t, "autoincrement"), "never", false}, {builtIn(t, "snowkey"), "never", true},
		}},
		{"postgres", dbtest.StartPostgres, []plan{{builtIn(t, "autoincrement"), "never", false}}},
	} {
		t.Run(test.kind, func(t *testing.T) {
			t.Parallel()
			server := test.start(t)
			d := server.Database(t)
			for _, plan := range test.plans {
				if name := plan.strategy.Info().Name; name == "planted-sequence" && !strings.HasPrefix(server.Version(), "MariaDB") {
					continue // MySQL has no sequences
				}
				o := measure.CrashOptions{Kills: 1, Before: 150 * time.Millisecond, Down: 200 * time.Millisecond, After: 150 * time.Millisecond, Seed: 1}
				w := &watch{Server: server}
				got, err := measure.Crash(t.Context(), watched{plan.strategy, w}, application(d, "snowkey_t"), w, o)
				if err != nil {
					t.Fatal(err)
				}
				t.Log(plan.strategy.Info().Name, crashText(got))
				checkCrash(t, got, o, plan.twice, plan.survives)
				if plan.survives && w.received.Load() == 0 {
					t.Error("no key was received while the server was down")
				}
			}
			var left int
			const tables = "SELECT COUNT(*) FROM information_schema.tables WHERE table_name LIKE 'snowkey%crash%'"
			if err := d.Open(t).QueryRowContext(t.Context(), tables).Scan(&left); err != nil || left != 0 {
				t.Errorf("%d tables of its own are left, %v, want none", left, err)
			}
		})
	}
}

func builtIn(t *testing.T, name string) strategy.Strategy {
	t.Helper()
	found, err := strategy.Select(name)
	if err != nil {
		t.Fatal(err)
	}
	return found[0]
}

func checkCrash(t *testing.T, got result.Crash, o measure.CrashOptions, twice string, survives bool) {
	t.Helper()
	if len(got.Twice.Samples) != o.Kills || len(got.Outage.Samples) != o.Kills || len(got.Down.Samples) != o.Kills {
		t.Fatalf("got other than %d samples", o.Kills)
	}
	for i, n := range got.Twice.Samples {
		if n > 0 && twice == "never" || n == 0 && twice == "always" {
			t.Errorf("kill %d: got %v keys twice, want some: %s", i+1, n, twice)
		}
		// A server takes longer to start than a key that it gave before to be noted.
		if outage, down := got.Outage.Samples[i], milliseconds(o.Down); !survives && outage < down {
			t.Errorf("kill %d: got an outage of %.1f ms, want at least %.1f", i+1, outage, down)
		}
	}
	if got.Lost.OK() == survives {
		t.Errorf("lost: got %+v, want a figure for what counts, and none for snowkey", got.Lost)
	}
}

// watch is a server that knows when it is down, and how many keys were received meanwhile.
type watch struct {
	*dbtest.Server
	down     atomic.Bool
	received atomic.Int64
}

func (w *watch) Kill() error {
	defer w.down.Store(true)
	return w.Server.Kill()
}

func (w *watch) Start(settings ...string) error {
	w.down.Store(false)
	return w.Server.Start(settings...)
}

// watched counts the keys received while the server is down.
type watched struct {
	strategy.Strategy
	watch *watch
}

func (w watched) Open(ctx context.Context, at strategy.Environment) (strategy.Keys, error) {
	keys, err := w.Strategy.Open(ctx, at)
	return watchedKeys{keys, w.watch}, err
}

type watchedKeys struct {
	strategy.Keys
	watch *watch
}

func (w watchedKeys) Next(ctx context.Context) (strategy.Key, error) {
	key, err := w.Keys.Next(ctx)
	if err == nil && w.watch.down.Load() {
		w.watch.received.Add(1)
	}
	return key, err
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
