package verify

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/compare/strategy"
)

// The names of the checks, in the order in which they are run.
const (
	Goroutines = "unique: goroutines"
	Processes  = "unique: processes"
	Order      = "order"
	RoundTrip  = "round trip"
	ClockBack  = "clock steps back"
	Restart    = "clock steps back: restart"
)

var names = []string{Goroutines, Processes, Order, RoundTrip, ClockBack, Restart}

// Tables makes a fresh table of the keys, over a session of its own, by calling [strategy.Keys].Table. It is called once in a run, and whoever
// gave it drops the table.
type Tables func(ctx context.Context, keys strategy.Keys) (strategy.Table, error)

// Options says how much is looked at. The zero value is what [Run] does by default.
type Options struct {
	// Keys are drawn in each check of uniqueness, by all goroutines together; 0: 20,000, or 400 where each costs a round trip. Fewer are drawn
	// where a second of the source's limit is less. Beside them up to 1,000 are drawn by one call, see the package's documentation.
	Keys       int
	Rows       int // inserted for the round trip; 0: 200
	Goroutines int // that share one Keys; 0: 8
	Processes  int // 0: 4
	Seed       uint64
	// CallTimeout is for how long one call may wait for a clock that has stepped back; 0: 100 ms. A few calls in a run may wait for so long.
	CallTimeout time.Duration
	// Bound ends the drawing of keys of one check, and the inserting and finding of rows; what was drawn and found until then is looked at. One
	// call, or one statement, that lasts for longer is a fault. 0: 10 s.
	Bound time.Duration
}

func (o Options) defaults(info strategy.Info) Options {
	or := func(n *int, standard int) {
		if *n <= 0 {
			*n = standard
		}
	}
	or(&o.Keys, 20_000)
	if info.RoundTrip {
		o.Keys = min(o.Keys, 400)
	}
	or(&o.Rows, 200)
	or(&o.Goroutines, 8)
	or(&o.Processes, 4)
	if o.CallTimeout <= 0 {
		o.CallTimeout = 100 * time.Millisecond
	}
	if o.Bound <= 0 {
		o.Bound = 10 * time.Second
	}
	return o
}

// run is what the checks of one strategy share.
type run struct {
	s      strategy.Strategy
	info   strategy.Info
	at     strategy.Environment
	tables Tables
	o      Options

	keys  strategy.Keys // of process 0
	byRow bool          // the database makes the keys
	turns atomic.Int64  // of the beginnings and ends of all calls
	drawn []call        // by the goroutines, from keys
	sound bool          // and no two of them are equal
}

// Run checks a strategy at a place, whose Process and Processes it sets itself. It opens the strategy's keys under the place's prefix, and for the
// checks of a stepping clock under one that begins with it.
//
// The error is that of the context, or tells that a database does not answer any more, or that the strategy does not open or close; it does not
// name the strategy. Where the place has not what the strategy needs it is that of [strategy.Strategy], which wraps [strategy.ErrUnavailable]. The
// checks that were done before the error are returned with it.
func Run(ctx context.Context, s strategy.Strategy, at strategy.Environment, tables Tables, o Options) (result.Verify, error) {
	r := &run{s: s, info: s.Info(), at: at, tables: tables}
	r.o = o.defaults(r.info)
	r.at.Process, r.at.Processes = 0, r.o.Processes
	var v result.Verify
	var err error
	switch r.keys, err = s.Open(ctx, r.at); {
	case notHere(err):
		return v, err
	case err != nil:
		return v, fmt.Errorf("open the keys of process 0: %w", err)
	}
	for _, check := range []func(context.Context) ([]result.Check, error){r.goroutines, r.processes, r.rows, r.clock} {
		var checks []result.Check
		checks, err = check(ctx)
		v.Checks = append(v.Checks, checks...)
		if err != nil {
			break
		}
	}
	if closing := r.keys.Close(); closing != nil && err == nil {
		err = fmt.Errorf("close the keys of process 0: %w", closing)
	}
	slices.SortStableFunc(v.Checks, func(a, b result.Check) int { return slices.Index(names, a.Name) - slices.Index(names, b.Name) })
	return v, err
}

// fatal returns the error that ends the run where the context has ended or a database does not answer; nil where the error given is the
// source's own.
func (r *run) fatal(ctx context.Context, cause error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, db := range []*sql.DB{r.at.DB, r.at.Pair} {
		if db == nil {
			continue
		}
		ping, cancel := context.WithTimeout(ctx, 5*time.Second)
		err := db.PingContext(ping)
		cancel()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return fmt.Errorf("the database does not answer after %w: %w", cause, err)
		}
	}
	return nil
}

// failed is a check that ended with an error of the source, unless the error ends the run, or says that the place has not what was needed.
func (r *run) failed(ctx context.Context, check result.Check, cause error) (result.Check, error) {
	if err := r.fatal(ctx, cause); err != nil {
		check.State, check.Detail = result.NotRun, "ended: "+err.Error()
		return check, err
	}
	if notHere(cause) {
		check.State, check.Detail = result.NotRun, cause.Error()
		return check, nil
	}
	check.State, check.Evidence = result.Failed, cause.Error()
	return check, nil
}

// notHere reports whether an error says that the place has not what a strategy needs.
func notHere(err error) bool { return errors.Is(err, strategy.ErrUnavailable) }
