package verify_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/snowkey-go/snowkey/compare/internal/verify"
	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/compare/strategy"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// place is on an SQLite database, with what makes tables there.
func place(t *testing.T) (strategy.Environment, verify.Tables) {
	t.Helper()
	d := dbtest.SQLite(t)
	db := session(t, d)
	return strategy.Environment{DB: d.Open(t), Kind: d.Kind, Prefix: "sk_"}, func(ctx context.Context, keys strategy.Keys) (strategy.Table, error) {
		return keys.Table(ctx, db, "sk_verify")
	}
}

// until is a counter whose calls, after the first 99, do something else.
func until(then func(context.Context) error) func() *source {
	return func() *source {
		s := counter()
		s.fill = nil
		next := s.next
		s.next = func(ctx context.Context) (int64, error) {
			n, err := next(ctx)
			if n >= 100 {
				return n, then(ctx)
			}
			return n, err
		}
		return s
	}
}

// An end of the context ends the run with its cause, awaits what was begun, and is no fault of the strategy.
func TestRunEndsWithItsContext(t *testing.T) {
	at, tables := place(t)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	cause := errors.New("the user has enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	s := apart(strategy.Increasing, until(func(ctx context.Context) error {
		cancel(cause)
		<-ctx.Done()
		return ctx.Err()
	}))
	v, err := verify.Run(ctx, s, at, tables, small)
	if !errors.Is(err, cause) {
		t.Errorf("got %v, want the cause", err)
	}
	if !v.OK() || len(v.Checks) != 1 || v.Checks[0].State != result.NotRun || v.Checks[0].Keys != 99 {
		t.Errorf("%+v", v)
	}
}

// A database that no longer answers ends the run with an error, beside what was seen until then.
func TestRunEndsWithTheDatabase(t *testing.T) {
	at, tables := place(t)
	opened := 0
	s := planted{info: strategy.Info{Name: "planted"}, open: func(strategy.Environment) (*source, error) {
		if opened++; opened == 1 {
			return counter(), nil
		}
		return until(func(context.Context) error { return errors.Join(at.DB.Close(), errors.New("connection lost")) })(), nil
	}}
	v, err := verify.Run(t.Context(), s, at, tables, small)
	if err == nil || !strings.HasPrefix(err.Error(), "the database does not answer after process ") || !strings.Contains(err.Error(), "connection lost") {
		t.Errorf("got %v", err)
	}
	if len(v.Checks) != 2 || v.Checks[0].State != result.Passed || v.Checks[1].Name != verify.Processes {
		t.Errorf("%+v", v)
	}
}

func TestRunWithoutWhatTheStrategyNeeds(t *testing.T) {
	at, tables := place(t)
	s := planted{open: func(strategy.Environment) (*source, error) {
		return nil, fmt.Errorf("%w: no pair", strategy.ErrUnavailable)
	}}
	if v, err := verify.Run(t.Context(), s, at, tables, small); !errors.Is(err, strategy.ErrUnavailable) || err.Error() != "not possible here: no pair" || len(v.Checks) != 0 {
		t.Errorf("%+v, %v", v, err)
	}
}

// A source that hangs is a fault; one that is slow is looked at as far as it came.
func TestRunBoundsASource(t *testing.T) {
	at, tables := place(t)
	options := small
	options.Bound = 300 * time.Millisecond
	hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	s := apart(strategy.Increasing, func() *source {
		s := counter()
		s.next = func(ctx context.Context) (int64, error) { return 0, hang(ctx) }
		return s
	})
	v, err := verify.Run(t.Context(), s, at, tables, options)
	if err != nil || v.OK() || v.Checks[0].State != result.Failed || v.Checks[0].Evidence != "no key within 300ms" {
		t.Errorf("%+v, %v", v, err)
	}
	at, tables = place(t)
	v, err = verify.Run(t.Context(), apart(strategy.Increasing, until(hang)), at, tables, options)
	if err != nil || v.Checks[0].State != result.Passed || v.Checks[0].Keys != 99 || !strings.Contains(v.Checks[0].Detail, "ended after 300ms") {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestRunTellsOfACloseThatFails(t *testing.T) {
	at, tables := place(t)
	s := lasting(strategy.Increasing, func(process int) *source {
		s := above(counter(), int64(process+1)<<40)
		if process == 0 {
			s.close = func() error { return errors.New("still in use") }
		}
		return s
	})
	v, err := verify.Run(t.Context(), s, at, tables, small)
	if err == nil || err.Error() != "close the keys of process 0: still in use" || len(v.Checks) != 6 || !v.OK() {
		t.Errorf("%+v, %v", v, err)
	}
}

// A table that cannot be made fails the round trip, and nothing before it.
func TestRunWithoutATable(t *testing.T) {
	at, _ := place(t)
	tables := func(context.Context, strategy.Keys) (strategy.Table, error) {
		return nil, errors.New("no right to CREATE")
	}
	v, err := verify.Run(t.Context(), apart(strategy.Increasing, counter), at, tables, small)
	if err != nil || len(v.Checks) != 6 {
		t.Fatalf("%+v, %v", v, err)
	}
	for _, c := range v.Checks {
		if want := c.Name == verify.RoundTrip; (c.State == result.Failed) != want || want && c.Evidence != "make the table: no right to CREATE" {
			t.Errorf("%+v", c)
		}
	}
}

// The strategies of this module pass, but for what is published of them: all on SQLite, and on servers one of each kind of column and source.
func TestRunOnBuiltInStrategies(t *testing.T) {
	t.Parallel()
	databases := map[string]func(testing.TB) dbtest.Database{"sqlite": dbtest.SQLite, "mysql": dbtest.MySQL, "postgres": dbtest.Postgres}
	for name, database := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && name != "sqlite" {
				t.Skip("it starts a server: -short leaves it out")
			}
			d := database(t)
			pool := d.Open(t)
			for i, s := range strategy.All() {
				if d.Kind != "sqlite" && !slices.Contains([]string{"autoincrement", "uuidv4", "uuidv7-text", "ticket", "sequence", "snowkey"}, s.Info().Name) {
					continue
				}
				t.Run(s.Info().Name, func(t *testing.T) {
					place := strategy.Environment{DB: pool, Kind: d.Kind, Prefix: fmt.Sprintf("sk_%d", i)}
					tables := func(ctx context.Context, keys strategy.Keys) (strategy.Table, error) {
						return keys.Table(ctx, session(t, d), place.Prefix+"_verify")
					}
					started := time.Now()
					options := verify.Options{Keys: 800, Rows: 30, CallTimeout: 20 * time.Millisecond}
					if s.Info().RoundTrip {
						options.Keys = 80
					}
					v, err := verify.Run(t.Context(), s, place, tables, options)
					if errors.Is(err, strategy.ErrUnavailable) {
						t.Skipf("missing: %v", err)
					}
					if err != nil || len(v.Checks) != 6 {
						t.Fatalf("%+v, %v", v, err)
					}
					t.Logf("took %v", time.Since(started))
					for _, c := range v.Checks {
						t.Logf("%s: %s, %d keys; %s; evidence: %s", c.Name, c.State, c.Keys, c.Detail, c.Evidence)
						if c.State == result.Failed {
							t.Errorf("%s fails: %s", c.Name, c.Evidence)
						}
						if strings.HasPrefix(s.Info().Name, "uuidv1") && strings.Contains(c.Detail, "weakness") {
							t.Errorf("%s has a weakness that the standard's store of the clock sequence prevents: %s", c.Name, c.Evidence)
						}
						if c.Name == verify.Processes && s.Info().Granted && !strings.Contains(c.Detail, "closed and opened again") {
							t.Errorf("no grant was given back and acquired again: %s", c.Detail)
						}
					}
				})
			}
		})
	}
}
