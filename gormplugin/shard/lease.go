package shard

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	idshard "github.com/snowkey-go/snowkey/idgen/shard"
)

// lease keeps the map in force, and asks the database in time whether it still is. It does so in the background, three times a lease: a statement may be
// in a transaction that has the pool's only connection, and would wait for itself if it had to ask. It could not ask over that connection: a transaction
// of REPEATABLE READ sees the map that was in force when it began. A statement asks only when nothing in the background could for a whole lease.
type lease struct {
	began time.Time
	store *idshard.Store
	name  string
	time  time.Duration
	wait  time.Duration // for an answer, at most

	state   atomic.Pointer[state]
	doubted atomic.Int64 // instant from which on the map has to be confirmed anew

	mu     sync.Mutex
	flight *flight // that is under way, guarded by mu
	stop   context.CancelFunc
	done   chan struct{}
}

// state is a map and when it was the one in force for certain: the instant before it was asked for, as now has it.
type state struct {
	m     *idshard.Map
	at    time.Duration
	since time.Duration // that this version is known
	long  bool          // it is known for a lease, as it will be from then on

	before int64         // version that was known before, 0 for none
	until  time.Duration // when that was the one in force for certain, for the last time
}

// flight is a question to the database that any number of statements wait for.
type flight struct {
	done chan struct{}
	err  error // to be read when done is closed
}

// patience is how long a statement waits for the database to confirm the map, unless the lease is shorter.
const patience = 2 * time.Second

// now returns the time since the router was made, by the clock that nobody sets.
func (l *lease) now() time.Duration { return time.Since(l.began) }

// start begins to keep the lease of a map that was read.
func (l *lease) start(store *idshard.Store, config Config, first *state) {
	l.store, l.name, l.time, l.wait = store, config.Name, config.Lease, min(config.Lease, patience)
	l.state.Store(first)
	ctx, stop := context.WithCancel(context.Background())
	l.stop, l.done = stop, make(chan struct{})
	go l.run(ctx)
}

// run renews the lease until the context ends. An error is for the statements, which meet it when they ask themselves.
func (l *lease) run(ctx context.Context) {
	defer close(l.done)
	ticker := time.NewTicker(l.time / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			_ = l.await(ctx, l.ask())
		}
	}
}

// close ends the renewals in the background, and waits for the one that is under way.
func (l *lease) close() {
	if l.stop == nil {
		return
	}
	l.stop()
	<-l.done
	l.mu.Lock()
	last := l.flight
	l.mu.Unlock()
	if last != nil {
		<-last.done
	}
}

// known returns the map without a look at its lease, nil when there is none.
func (l *lease) known() *idshard.Map {
	if s := l.state.Load(); s != nil {
		return s.m
	}
	return nil
}

// fresh returns the map while its lease lasts, else nil.
func (l *lease) fresh() *idshard.Map {
	s := l.state.Load()
	if s == nil || l.now()-s.at >= l.time || int64(s.at) < l.doubted.Load() {
		return nil
	}
	return s.m
}

// current returns the map, which the database has confirmed within the lease.
func (l *lease) current(ctx context.Context) (*idshard.Map, error) {
	if m := l.fresh(); m != nil {
		return m, nil
	}
	if l.known() == nil {
		return nil, fmt.Errorf("%w: the router has no database; call db.Use", ErrConfig)
	}
	for range 2 { // what is under way may have been asked before the doubt
		if err := l.await(ctx, l.ask()); err != nil {
			return nil, l.moved(err)
		}
		if m := l.fresh(); m != nil {
			return m, nil
		}
	}
	return nil, fmt.Errorf("%w: the answer took longer than the lease of %s", ErrLease, l.time)
}

// still returns nil when the rows are where a map says up to this moment: while it is the one in force, and for a lease after it was that for certain. A
// statement that was routed by it in time may have come too late nevertheless, and then has not seen the rows that were removed. The error is an
// [ErrMoved], or an [ErrLease] when the database does not tell.
func (l *lease) still(ctx context.Context, in *idshard.Map) error {
	for range 3 {
		s, now := l.state.Load(), l.now()
		same := s.m.Version() == in.Version()
		switch {
		case same && now-s.at < l.time, s.before == in.Version() && now-s.until < l.time:
			return nil
		case !same:
			return fmt.Errorf("%w: the statement has taken longer than the lease of version %d of the map, and %d is in force", ErrMoved, in.Version(), s.m.Version())
		}
		if err := l.await(ctx, l.ask()); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: the answer took longer than the lease of %s", ErrLease, l.time)
}

// moved returns the error for a map that is in doubt since a table has refused a row: what is refused is to be tried again then, see Retry. In a
// transaction that holds the only connection no question is answered: there is one more, for when it is rolled back.
func (l *lease) moved(err error) error {
	if s := l.state.Load(); l.now()-s.at < l.time {
		return &askedError{fmt.Errorf("%w: %w", ErrMoved, err), l.ask()}
	}
	return err
}

// askedError is an ErrMoved with the question that tells where the rows are now. Who tries again before it is answered may fail again.
type askedError struct {
	error
	asked *flight
}

// Unwrap returns the error.
func (e *askedError) Unwrap() error { return e.error }

// everywhere tells whether the routers of all processes have this version of the map, or one after it: since it is known for a lease here.
func (l *lease) everywhere() bool {
	s := l.state.Load()
	return s.long || l.now()-s.since >= s.m.Lease()
}

// doubt has the next statement ask for the map.
func (l *lease) doubt() { l.doubted.Store(int64(l.now())) }

// reload asks for the map in force, by a question that is put after the call.
func (l *lease) reload(ctx context.Context) error {
	if l.known() == nil {
		return fmt.Errorf("%w: the router has no database; call db.Use", ErrConfig)
	}
	l.mu.Lock()
	before := l.flight
	l.mu.Unlock()
	if before != nil {
		if err := l.await(ctx, before); err != nil && ctx.Err() != nil {
			return err
		}
	}
	return l.await(ctx, l.ask())
}

// ask joins the question that is under way, or puts one. It goes on when who has put it does not wait any more, for a limited time.
func (l *lease) ask() *flight {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.flight != nil {
		return l.flight
	}
	f := &flight{done: make(chan struct{})}
	l.flight = f
	go func() {
		f.err = l.renew()
		l.mu.Lock()
		l.flight = nil
		l.mu.Unlock()
		close(f.done)
	}()
	return f
}

// await waits for the answer.
func (l *lease) await(ctx context.Context, f *flight) error {
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrLease, ctx.Err())
	}
}

// renew asks for the version, and for the map when that has changed.
func (l *lease) renew() error {
	ctx, cancel := context.WithTimeout(context.Background(), l.wait)
	defer cancel()
	known, at := l.state.Load(), l.now()
	version, err := l.store.Version(ctx, l.name)
	if err == nil && version == known.m.Version() {
		l.state.Store(&state{m: known.m, at: at, since: known.since, long: at-known.since >= known.m.Lease(), before: known.before, until: known.until})
		return nil
	}
	var m *idshard.Map
	if err == nil {
		m, err = l.store.Load(ctx, l.name)
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: no answer within %s; the database is not reached, or a transaction holds the pool's only connection: %w", ErrLease, l.wait, err)
	case err != nil:
		return fmt.Errorf("%w: %w", ErrLease, err)
	case m.Layout() != known.m.Layout():
		return fmt.Errorf("%w: version %d of the map %q is of another layout, %s: %w", ErrLease, m.Version(), l.name, m.Layout(), idshard.ErrLayout)
	case m.Version() < known.m.Version():
		return fmt.Errorf("%w: the map %q is of version %d, and was of %d: %w", ErrLease, l.name, m.Version(), known.m.Version(), idshard.ErrVersion)
	}
	next := &state{m: m, at: at, since: known.since, before: known.before, until: known.until}
	if m.Version() != known.m.Version() {
		next.since, next.before, next.until = at, known.m.Version(), known.at
	}
	l.state.Store(next)
	return nil
}
