package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/compare/strategy"
)

// cleanup is how long dropping tables may take after the context has ended.
const cleanup = 30 * time.Second

// Config says what to run.
type Config struct {
	Targets    []*Target
	Strategies []strategy.Strategy // of different names; nil: those that the profile says
	Profile    Profile             // the zero value: [Quick]
	Seed       uint64              // of the rows and of the order of the strategies; 0: 1
	Tool       string              // the program's name and version, for the result
	// Progress is told now and then how far the run is, from the goroutine of Run; nil: nobody is.
	Progress func(Progress)
	// Planned is told before the rounds on a database how many of how many rows there will be, how long that takes, and with which budget it would be
	// what the profile asks for, from the goroutine of Run; nil: nobody is.
	Planned func(plan string)
}

func (c Config) complete() (Config, error) {
	if reflect.ValueOf(c.Profile).IsZero() {
		c.Profile = Quick
	}
	if err := c.Profile.Check(); err != nil {
		return c, err
	}
	if c.Planned == nil {
		c.Planned = func(string) {}
	}
	if len(c.Targets) == 0 || slices.Contains(c.Targets, nil) {
		return c, fmt.Errorf("%w: no database", ErrConfig)
	}
	if len(c.Strategies) == 0 {
		if c.Strategies = strategy.Usual(); c.Profile.Every {
			c.Strategies = strategy.All()
		}
	}
	if err := strategy.Check(c.Strategies); err != nil {
		return c, err
	}
	c.Seed, c.Tool = cmp.Or(c.Seed, 1), cmp.Or(c.Tool, "snowkey")
	return c, nil
}

// Run verifies and measures the strategies on the databases, one database after the other. All that it made is dropped before it returns.
//
// The result has what was measured also when there is an error: of the context, which ends the run, of a database that cannot go on, after
// which the next one is measured, or of a strategy that broke down, after which the others are. What is not there says why. A strategy that does
// not hold what it promises is no error.
func Run(ctx context.Context, c Config) (result.Document, error) {
	c, err := c.complete()
	if err != nil {
		return result.Document{}, err
	}
	if ctx.Err() != nil {
		return result.Document{}, fmt.Errorf("compare: %w", context.Cause(ctx))
	}
	began := time.Now()
	r := c.document(began)
	schedule := newSchedule(c.Profile.Budget, c.Progress)
	comparisons := make([]*comparison, len(c.Targets))
	for i, target := range c.Targets {
		comparisons[i] = newComparison(i, target, c, schedule)
	}
	var failed error
	var short []string // what the budget did not suffice for
	for i, comparison := range comparisons {
		// What is left of the budget is shared by the databases that are left.
		comparison.begun, comparison.sharing = time.Now(), len(comparisons)-i
		if budget := c.Profile.Budget; budget > 0 {
			comparison.deadline = time.Now().Add((budget - time.Since(began)) / time.Duration(comparison.sharing))
		}
		measured, err := comparison.run(ctx)
		r.Databases = append(r.Databases, measured)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("compare: on %s: %w", comparison.target, err))
		}
		if comparison.short != "" {
			short = append(short, comparison.short)
		}
		// A context that ended when all was done has interrupted nothing.
		if last := i+1 == len(comparisons); ctx.Err() != nil && (comparison.interrupted || !last) {
			short = []string{context.Cause(ctx).Error()}
			if !comparison.interrupted {
				failed = errors.Join(failed, fmt.Errorf("compare: before %s: %w", comparisons[i+1].target, context.Cause(ctx)))
			}
			break
		}
		schedule.drop(func(k kind) bool { return k.database == i })
		schedule.show(kind{database: i}, 0, fmt.Sprintf("done with %s", comparison.target))
	}
	r.Interrupted = strings.Join(short, "; ")
	r.Seconds = time.Since(began).Seconds()
	return r, failed
}

// document is a result in which nothing is measured yet.
func (c Config) document(made time.Time) result.Document {
	r := result.Document{
		Schema: result.Schema, Tool: c.Tool, Made: made.UTC().Truncate(time.Second), Machine: result.ThisMachine(),
		Plan: result.Plan{
			Profile: c.Profile.Name, Rows: c.Profile.Rows, Batch: c.Profile.Batch, Rounds: c.Profile.Rounds,
			Budget: c.Profile.Budget.Seconds(), Seed: c.Seed,
		},
	}
	for _, s := range c.Strategies {
		r.Plan.Strategies = append(r.Plan.Strategies, s.Info().Name)
	}
	return r
}
