package grant

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// Keeper is a source of keys that acquires the number they are made with, and renews the grant of it in the background. It is made by
// [Open], and safe for concurrent use.
type Keeper struct {
	store     Store
	config    Config
	generator *generators
	terms     terms

	status atomic.Pointer[status]
	demand chan struct{} // has an element when a call waits for a grant
	force  atomic.Bool   // the next renewal is to change the row
	stop   context.CancelFunc
	done   chan struct{} // closed when the keeper's goroutine has ended
	failed error         // of the release; to be read when done is closed

	// Of the keeper's goroutine, and of Open before that runs.
	row      Row    // as the last swap that succeeded left it; no holder while there is none
	asked    []Row  // what swaps have asked for that were not answered since: of the row, or of the acquisition that is tried
	holder   string // that the next acquisition is tried with, again and again until it succeeds
	id       string // the space's
	rows     string // the name that the rows of the space have
	phases   idgen.Phases
	floor    int64     // first tick of the layouts that the generators have
	known    int64     // the tick in which the store last knew the grant
	told     time.Time // by the store's clock
	sent, at time.Time // when it was asked for that, and had answered, by the monotonic clock
	lost     int64     // numbers
	losses   []Doubt   // the last ones
	untold   []Loss    // that the store does not know of yet
	halted   error     // of [Config.StopOnLoss]
	logged   logged
}

var _ idgen.Source[int64] = (*Keeper)(nil)

const (
	firstWait = 50 * time.Millisecond
	takenWait = 200 * time.Millisecond // between two looks for a free number at the start
	longWait  = 5 * time.Second        // most between two attempts while they fail
	attempts  = 5                      // of Open and of Close, when the store fails
)

// Open acquires a number in the store and returns a keeper, which renews it until the context ends or [Keeper.Close] is called, and then
// gives it back. Open itself tries a few times when the store fails, and waits when all numbers are held and one comes free within the
// configuration's Wait; it takes its Timeout and Wait together at most.
//
// The error wraps [ErrConfig] or one of package idgen for a wrong configuration, [ErrLayout] when the space has another layout, [ErrSkew]
// when the clock is too far from the store's, [ErrTaken] when all numbers are held, or the store's error.
func Open(ctx context.Context, store Store, config Config) (*Keeper, error) {
	if store == nil {
		return nil, fmt.Errorf("%w: no store", ErrConfig)
	}
	generator, err := newGenerators(config)
	if err != nil {
		return nil, err
	}
	layout := generator.Layout()
	config, err = config.complete(layout)
	if err != nil {
		return nil, err
	}
	k := &Keeper{
		store: store, config: config, generator: generator,
		terms: terms{
			first: int64(config.First / layout.Unit()), length: int64(config.For / layout.Unit()), lead: generator.Lead(),
			skew: int64(config.MaxSkew / layout.Unit()), end: layout.Max(idgen.Time),
		},
		rows:   config.Space,
		demand: make(chan struct{}, 1), done: make(chan struct{}),
	}
	k.terms.least, k.terms.most = generator.all[0].Grantable()
	if err := k.start(ctx); err != nil {
		k.abandon(ctx, generator.Seal())
		return nil, err
	}
	ctx, k.stop = context.WithCancel(ctx)
	go k.run(ctx)
	return k, nil
}

// start prepares the space and acquires the first number.
func (k *Keeper) start(ctx context.Context) error {
	wait, deadline := firstWait, time.Now().Add(k.config.Wait)
	ctx, cancel := context.WithTimeout(ctx, k.config.Timeout+k.config.Wait)
	defer cancel()
	for try := 1; ; try++ {
		err := k.within(ctx, func(ctx context.Context) error {
			if err := k.prepare(ctx); err != nil {
				return err
			}
			if err := k.probe(ctx); err != nil {
				return err
			}
			if err := k.acquire(ctx, true); err != nil {
				return err
			}
			return k.check(ctx)
		})
		var taken *TakenError
		switch {
		case errors.As(err, &taken) && time.Now().Before(deadline): // a number comes free at its grant's end, and when its holder gives it back
			wait = min(max(taken.NextFree, time.Millisecond), takenWait, time.Until(deadline))
			try-- // the store has not failed
		case err == nil || try >= attempts || k.row.Holder != "" || errors.Is(err, ErrLayout) || errors.Is(err, ErrSkew) || errors.Is(err, ErrTaken):
			k.publish(err)
			return err
		}
		if ended := dialect.Sleep(ctx, wait); ended != nil {
			return fmt.Errorf("grant: %w, after: %w", ended, err)
		}
		wait *= 2
	}
}

// prepare makes the space ready, finds its rows, and refuses one of another layout.
func (k *Keeper) prepare(ctx context.Context) error {
	rows, phases, err := findRows(ctx, k.store, k.config.Space, k.generator.Layout().Fingerprint())
	if err != nil {
		var other *LayoutError
		if errors.As(err, &other) {
			other.Wanted = k.generator.Layout().Fingerprint()
		}
		return err
	}
	floor, ok := k.generator.follow(phases)
	if !ok {
		if k.generator.end(phases) > 0 {
			k.rows = rows // to give the number back
		}
		return &LayoutError{Space: k.config.Space, InForce: phases.String(), Wanted: k.generator.Layout().Fingerprint(), phases: phases}
	}
	k.announce(phases)
	k.rows, k.floor, k.terms.end = rows, floor, phases[len(phases)-1].Layout.Max(idgen.Time)
	return nil
}

// leave gives up a number of a space that has another layout, at once; or not before the grant's end, when the layout is that of a change after it.
func (k *Keeper) leave(ctx context.Context, err error) error {
	var other *LayoutError
	if errors.As(err, &other) && k.generator.end(other.phases) >= k.row.Until {
		l, err := k.store.List(ctx, k.rows, k.row.Number, k.row.Number)
		if err != nil || l.ID == k.id && slices.ContainsFunc(l.Rows, k.owns) {
			return err
		}
		return k.lose(l)
	}
	return k.forget("the space is another one", k.known)
}

// renamed reports whether the rows have another name since the keeper has last looked, since a change of the layout was announced.
func (k *Keeper) renamed(ctx context.Context) (bool, error) {
	was := k.rows
	err := k.prepare(ctx)
	return err == nil && k.rows != was, err
}

// probe asks for a change of a row that nobody has, so that a missing right to change rows is noticed before it is needed.
func (k *Keeper) probe(ctx context.Context) error {
	nobody := Row{Number: k.terms.least, Holder: newHolder("nobody", k.generator.all[0].Layout())}
	_, err := k.store.Swap(ctx, k.rows, nobody, Row{Number: nobody.Number, Holder: nobody.Holder, Until: 1})
	return err
}

// check reads the row of the first grant, so that a store which changes what is written to it is noticed.
func (k *Keeper) check(ctx context.Context) error {
	listing, err := k.store.List(ctx, k.rows, k.row.Number, k.row.Number)
	if err == nil && (len(listing.Rows) != 1 || listing.Rows[0] != k.row) {
		err = fmt.Errorf("%w: wrote the row %+v, and read %+v", ErrStore, k.row, listing.Rows)
	}
	return err
}

// within bounds an attempt.
func (k *Keeper) within(ctx context.Context, attempt func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, k.config.Timeout)
	defer cancel()
	return attempt(ctx)
}

// run keeps the grant, until the context ends.
func (k *Keeper) run(ctx context.Context) {
	defer close(k.done)
	for ctx.Err() == nil {
		timer := time.NewTimer(k.pause())
		select {
		case <-ctx.Done():
		case <-k.demand:
		case <-k.generator.current.Load().Stepped():
		case <-timer.C:
		}
		timer.Stop()
		if ctx.Err() == nil {
			err := k.within(ctx, k.keep)
			if ctx.Err() == nil {
				k.publish(err)
			}
		}
	}
	end := k.generator.Seal()
	k.publish(ErrClosed)
	if k.row.Holder != "" {
		k.failed = k.release(context.WithoutCancel(ctx), end)
	} else {
		k.abandon(ctx, end)
	}
	if len(k.untold) > 0 {
		_ = k.within(context.WithoutCancel(ctx), func(ctx context.Context) error {
			k.tell(ctx)
			return nil
		})
		k.publish(ErrClosed)
	}
}

// pause returns how long to wait for the next attempt.
func (k *Keeper) pause() time.Duration {
	wait := k.config.Every
	if length := k.row.Until - k.known; k.row.Holder != "" && length < k.terms.length {
		// The product of a time and ticks is beyond an int64 for grants of some hours.
		wait = max(time.Duration(float64(wait)*float64(length)/float64(k.terms.length)), time.Millisecond)
	}
	if failures := k.status.Load().Failures; failures > 0 {
		wait = min(firstWait<<min(failures-1, 16), longWait, wait)
	}
	return wait*9/10 + rand.N(wait/5+1)
}

// keep renews the grant, or acquires another number when there is none. It prepares the space each time: of a store that has lost
// everything another layout may have taken possession, which numbers do not protect from.
func (k *Keeper) keep(ctx context.Context) error {
	defer k.tell(ctx)
	if k.halted != nil {
		return k.halted
	}
	if err := k.prepare(ctx); err != nil {
		if (errors.Is(err, ErrLayout) || errors.Is(err, ErrMoved)) && k.row.Holder != "" {
			return errors.Join(k.leave(ctx, err), err)
		}
		return err
	}
	err := k.renew(ctx)
	if errors.Is(err, ErrLost) && k.halted == nil {
		err = k.acquire(ctx, false)
	}
	return err
}

// tell has the store know of losses, under the space's own name: one that is restored to before a change has no other. It is tried again with the next
// renewal.
func (k *Keeper) tell(ctx context.Context) {
	for len(k.untold) > 0 && k.store.Record(ctx, k.config.Space, k.untold[0]) == nil {
		k.untold = k.untold[1:]
	}
}

// publish makes known how an attempt went.
func (k *Keeper) publish(err error) {
	next := &status{changed: make(chan struct{})}
	old := k.status.Load()
	if old != nil {
		next.State = old.State
	}
	next.Lost, next.Losses, next.Space, next.ID = k.lost, k.losses, k.config.Space, k.id
	if store, ok := k.store.(interface {
		Place() string
		Warnings() []string
	}); ok {
		next.Table, next.Warnings = store.Place(), store.Warnings()
	}
	next.Err, next.Held = err, k.row.Holder != "" && !errors.Is(err, ErrClosed)
	if next.Held {
		if next.Holder != unstamped(k.row.Holder) {
			next.Acquired++
		} else if err == nil {
			next.Renewed++
		}
		next.Number, next.Holder, next.From, next.Until = k.row.Number, unstamped(k.row.Holder), k.timeOf(k.row.From), k.timeOf(k.row.Until)
	}
	next.Failures++
	if err == nil {
		next.Failures = 0
		next.Ahead = k.generator.Now().Sub(k.told.Add(time.Since(k.at)))
	}
	next.row, next.rows, next.terms, next.Phases = k.row, k.rows, k.terms, k.phases
	k.status.Store(next)
	if old != nil {
		close(old.changed)
		k.report(&old.State, &next.State)
	} else {
		k.warn(nil, next.Warnings)
	}
	if k.config.Notify != nil {
		k.config.Notify(next.State)
	}
}

// State returns what is known of the grant. It may be called at any time.
func (k *Keeper) State() State {
	s := k.status.Load().State
	if s.Left = s.Until.Sub(k.generator.Now()); !s.Held || s.Left <= 0 {
		s.Held, s.Left = false, 0
	}
	return s
}

// Ready returns nil when keys can be made now, for a readiness probe. While the grant lasts it asks no database, also while renewals fail.
// When the grant has ended it has it renewed and waits for that, as [Keeper.Next] does, until the context ends. The error is an [EndedError]
// when the renewal has failed, wraps [ErrClosed] after the keeper's end, and else wraps the context's.
func (k *Keeper) Ready(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("grant: asking whether keys can be made: %w", err)
		}
		if k.State().Held {
			return nil
		}
		if err := k.await(ctx, k.generator.current.Load(), idgen.ErrGrant); err != nil {
			return err
		}
	}
}

// IsOf reports whether a database is the one that the number is granted in, as another connection reaches it: the grant is renewed, and has to be
// there as renewed. A copy of the database has an older row. So has a replica that has not followed yet, which is asked again until the
// context ends. The error is that of a database, of a renewal that did not come about by then, or [ErrClosed].
func (k *Keeper) IsOf(ctx context.Context, store *SQLStore) (bool, error) {
	if err := store.Locate(ctx); errors.Is(err, ErrTable) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	before := k.status.Load().row
	k.force.Store(true)
	k.hurry()
	for {
		s := k.status.Load()
		switch {
		case errors.Is(s.Err, ErrClosed):
			return false, ErrClosed
		case s.row != before && s.row.Holder != "":
			l, err := store.List(ctx, s.rows, s.row.Number, s.row.Number)
			if err != nil || l.ID != s.ID {
				return false, err
			}
			if slices.Contains(l.Rows, s.row) {
				return true, nil
			}
		}
		if ended := dialect.Sleep(ctx, firstWait); ended != nil {
			if s.row == before {
				return false, fmt.Errorf("grant: the grant was not renewed: %w", errors.Join(s.Err, ended))
			}
			return false, nil
		}
	}
}

// Layout returns the layout of the keys that are made now.
func (k *Keeper) Layout() idgen.Layout { return k.generator.Layout() }

// Phases returns the layouts that the space has had and comes to have, the last one that of a change that may still be ahead: which layout a key of the
// space has, and a key of an instant.
func (k *Keeper) Phases() idgen.Phases { return k.status.Load().Phases }

// Stats returns the counters of the generator.
func (k *Keeper) Stats() idgen.Stats { return k.generator.Stats() }

// Number returns the number that keys are made with now, in the field of a node or a datacenter.
func (k *Keeper) Number(kind idgen.Kind) idgen.NodeNumber {
	return k.generator.current.Load().Number(kind)
}

// Close ends the keeper and gives the number back, with the ticks that no key was made at. Calls fail from then on. It takes the
// configuration's Timeout at most, when the store cannot be reached, and is safe to call again. The error is that of giving back: the
// number comes free by itself then, when the grant ends; or it wraps [ErrLost] when the store has forgotten the grant.
func (k *Keeper) Close() error {
	k.stop()
	<-k.done
	return k.failed
}
