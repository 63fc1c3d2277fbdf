package ticket

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
)

// State is what a server is used for. See the diagram in the package's documentation.
type State int

// The states.
const (
	// HalfOpen is a server that is probed before it is used: at the start, and after it was Open.
	HalfOpen State = iota
	// Closed is a server in use.
	Closed
	// Open is a server that failed, and is left alone for a while.
	Open
	// Quarantined is a server whose numbers cannot be trusted, and that is left alone until Readmit.
	Quarantined
)

var stateNames = [...]string{HalfOpen: "half-open", Closed: "closed", Open: "open", Quarantined: "quarantined"}

// String returns "half-open", "closed", "open" or "quarantined".
func (s State) String() string {
	if s < 0 || int(s) >= len(stateNames) {
		return fmt.Sprintf("State(%d)", int(s))
	}
	return stateNames[s]
}

// server is one of the [Servers], with the state of its circuit breaker.
type server struct {
	name    string
	number  int64 // 1 is the first
	db      *sql.DB
	names   // of the sequence
	counter counter
	config  Config
	// gate has a place for the one that may draw on SQLite, which has one writer: without it, those who lose wait in ever longer sleeps, deaf to
	// their contexts. It is nil for other dialects.
	gate chan struct{}

	told State // to Notify; guarded by Servers.telling

	mu       sync.Mutex // guards all below
	state    State
	probing  bool          // HalfOpen, and somebody is at it
	lasting  bool          // Open, and not by itself closed again
	failures int           // in a row
	backoff  time.Duration // of the next time that it is opened
	due      time.Time     // Open until then
	layout   layout        // that it is drawn with
	bare     bool          // its row has no layout
	limit    int64         // the greatest id: the configuration's, or its column's
	last     int64         // the greatest id it has given
	others   layout        // that another server's row has, for one that is missing here
	unsure   bool          // of others: not all could be asked
	spare    span          // drawn by a probe, not given out yet; units is 0 where there is none
	warned   bool          // that it comes to its end
	err      *ServerError  // the latest
	since    time.Time     // it is in the state
	good     time.Time     // it gave a ticket last
	draws    int64
	fences   int64
	burnt    int64
	faults   map[Class]int64
}

// retries is how often an error that is gone with the next attempt is tried again at once.
const retries = 3

// draw draws count ids from a server in use, rounded up to units. An error is a *ServerError, and counted. Parent is the caller's context, ctx
// the one of this attempt.
func (s *server) draw(parent, ctx context.Context, count, high int64) (span, error) {
	s.mu.Lock()
	good := s.good
	o := order{layout: s.layout, bare: s.bare, units: (count + s.layout.unit - 1) / s.layout.unit, high: high, last: s.last, limit: s.limit}
	if sold := s.spare; sold.units > 0 {
		s.spare = span{}
		if sold.first > high {
			s.mu.Unlock()
			return sold, nil
		}
		s.burnt += sold.count()
	}
	s.mu.Unlock()
	start := time.Now()
	sold, err := s.try(ctx, o)
	if err != nil {
		// A deadline that comes soon says little about the server, however late this machine notices it; that it has given nothing for
		// so long says more.
		deadline, bound := ctx.Deadline()
		short := ctx.Err() != nil && bound && deadline.Sub(start) < s.config.ServerTimeout/20 && start.Sub(good) < s.config.ServerTimeout
		return span{}, s.failed(err, o, short || errors.Is(parent.Err(), context.Canceled))
	}
	s.drawn(sold)
	return sold, nil
}

// errChanged says that the row has another layout than the one it is drawn with.
var errChanged = fmt.Errorf("%w: it was changed", ErrLayout)

// try draws, again where that helps. An error is a *ServerError.
func (s *server) try(ctx context.Context, o order) (span, error) {
	stale := s.db.Stats().Idle + 1 // connections that may have to be found out to be closed
	for attempt := 1; ; attempt++ {
		sold, err := s.once(ctx, &o)
		if err == nil {
			return sold, nil
		}
		if errors.Is(err, driver.ErrBadConn) && stale > 0 {
			stale--
			attempt--
			continue
		}
		failure := s.classify(err)
		if !s.again(ctx, failure, attempt) {
			return span{}, failure
		}
	}
}

// pause waits for a time, and no longer than the context.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// once draws on one connection, and finds out why where nothing was drawn. It may make the order smaller for the next time.
func (s *server) once(ctx context.Context, o *order) (span, error) {
	if s.gate != nil {
		select {
		case s.gate <- struct{}{}:
			defer func() { <-s.gate }()
		case <-ctx.Done():
			failure := s.classify(ctx.Err())
			failure.lost = false
			return span{}, failure
		}
	}
	conn, err := s.connect(ctx)
	if err != nil {
		return span{}, err
	}
	defer conn.Close() // which gives it back to the pool
	sold, err := s.counter.draw(ctx, conn, *o)
	if errors.Is(err, errUnmatched) {
		return span{}, s.unmatched(ctx, conn, o)
	}
	if err != nil {
		if diagnose(s.dialect, err).kind == ErrTable {
			// Also which statement makes it, and after which number.
			if why := s.unmatched(ctx, conn, o); errors.Is(why, ErrTable) {
				err = why
			}
		}
		return span{}, err
	}
	if err := s.verify(*o, sold); err != nil {
		// The statement of a SEQUENCE does not name the layout: a resize may have changed it since.
		if _, ok := s.counter.(sequenceCounter); ok && errors.Is(err, ErrLayout) {
			if found := s.unmatched(ctx, conn, o); !errors.Is(found, errUnmatched) {
				var failure *ServerError
				if !errors.As(found, &failure) {
					failure = s.classify(found)
				}
				failure.lost = true
				return span{}, failure
			}
		}
		return span{}, err
	}
	return sold, nil
}

// connect returns a connection. The error is a *ServerError.
func (s *server) connect(ctx context.Context) (*sql.Conn, error) {
	conn, err := s.db.Conn(ctx)
	if err == nil && s.dialect == SQLite {
		if err = s.readySQLite(ctx, conn); err != nil {
			_ = conn.Close() // which gives it back to the pool
		}
	}
	if err == nil {
		return conn, nil
	}
	if stats := s.db.Stats(); ctx.Err() != nil && stats.MaxOpenConnections > 0 && stats.InUse >= stats.MaxOpenConnections {
		err = fmt.Errorf("all %d connections of the pool are in use: %w", stats.InUse, err)
	}
	failure := s.classify(fmt.Errorf("connecting: %w", err))
	failure.lost = false
	return nil, failure
}

// busyTimeout is how long SQLite sleeps at once for the lock of another one. The driver's sleep, of five seconds, does not end with a context.
const busyTimeout = 10 * time.Millisecond

// readySQLite sees to it that a statement on the connection is a transaction of its own, and waits for no lock beyond its context.
func (s *server) readySQLite(ctx context.Context, conn *sql.Conn) error {
	err := conn.Raw(func(driverConn any) error {
		if c, ok := driverConn.(interface{ AutoCommit() bool }); ok && !c.AutoCommit() {
			return &ServerError{Server: s.name, Class: Permanent, Err: fmt.Errorf("%w: a transaction was begun on the connection and not ended, so that nothing is committed; end it", ErrUnsafe)}
		}
		return nil
	})
	if err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", busyTimeout.Milliseconds()))
	return err
}

// again reports whether to try again at once after that many attempts. On SQLite a lock of another one is waited for as long as the context lasts.
func (s *server) again(ctx context.Context, failure *ServerError, attempts int) bool {
	if failure.Class != Retry || ctx.Err() != nil || attempts > retries && !failure.locked {
		return false
	}
	// Those who met in a deadlock do not meet again.
	return pause(ctx, time.Duration(rand.Int64N(int64(time.Millisecond)))) == nil
}

// verify checks what was drawn. An error is a *ServerError.
func (s *server) verify(o order, sold span) error {
	var err error
	class := Quarantine
	switch {
	case !o.layout.begins(sold.first):
		err = fmt.Errorf("%w: it gave %d, which is not a number of %s", ErrLayout, sold.first, o.layout)
	case sold.first <= o.last:
		err = fmt.Errorf("%w: it gave %d after %d", ErrRegression, sold.first, o.last)
	case sold.last() > o.limit || sold.last() < sold.first:
		class, err = Permanent, &ExhaustedError{Limit: o.limit}
	default:
		return nil
	}
	return &ServerError{Server: s.name, Class: class, Err: err, lost: true}
}

// unmatched finds out why a statement drew nothing.
func (s *server) unmatched(ctx context.Context, conn *sql.Conn, o *order) error {
	c, err := s.counter.inspect(ctx, conn)
	if err != nil {
		return err
	}
	if err := s.judge(conn, c, *o); err != nil {
		return err
	}
	if l, _ := parseLayout(c.text); l != o.layout || c.bare != o.bare {
		return &ServerError{Server: s.name, Class: Next, Err: errChanged}
	}
	left := (min(o.limit, c.limit) - max(c.last, c.at, o.high)) / o.layout.jump()
	switch {
	case left <= 1 && o.units == 1:
		return &ServerError{Server: s.name, Class: Permanent, Err: &ExhaustedError{Limit: min(o.limit, c.limit)}}
	case left <= o.units:
		o.units = max(1, left-1)
	}
	return &ServerError{Server: s.name, Class: Retry, Err: errUnmatched}
}

// judge returns the error that the condition of a server means for a draw, if any: a *ServerError.
func (s *server) judge(conn *sql.Conn, c condition, o order) error {
	fail := func(class Class, err error) error { return &ServerError{Server: s.name, Class: class, Err: err} }
	if c.stale && conn != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // which closes it
		return fail(Retry, fmt.Errorf("%w: a session with the settings of before: %w", driver.ErrBadConn, refusal(c.findings)))
	}
	if err := refusal(c.findings); err != nil {
		switch {
		case errors.Is(err, ErrReadOnly):
			return fail(Next, err)
		case errors.Is(err, ErrTable):
			return fail(Permanent, err)
		}
		return fail(Quarantine, err)
	}
	if !c.table || !c.row {
		return fail(Permanent, s.missing(c, o))
	}
	l, frozen, err := parseFrozen(c.text)
	switch {
	case err != nil:
		return fail(Quarantine, err)
	case frozen:
		return fail(Next, fmt.Errorf("%w, to %d; if none is at work, run it again", ErrMoving, l.servers))
	case l.number != s.number:
		return fail(Quarantine, fmt.Errorf("%w: it is number %d of %d, and in the list it is number %d", ErrLayout, l.number, l.servers, s.number))
	case c.last < o.last:
		return fail(Quarantine, fmt.Errorf("%w: it gave %d, and is at %d now", ErrRegression, o.last, c.last))
	}
	return nil
}

// missing returns the error for a sequence that is not there.
func (s *server) missing(c condition, o order) error {
	place := s.place(o.layout)
	if place != (layout{}) && place.servers < place.number {
		return fmt.Errorf("%w: the others have no place for number %d of %d; Resize makes one", ErrLayout, place.number, place.servers)
	}
	known := max(o.last, o.high)
	if o.last > 0 || slices.Contains(c.made, s.number) {
		return &TableError{Statement: s.statement(c, orDefault(place, s.layoutToBe()), openNumber), Err: fmt.Errorf("%w: %q in %s, of which the greatest id known here is %d; Restore makes it again, "+
			"or the statement with a number for the question mark of which all after it are greater than any id in use", ErrForgotten, s.config.Sequence, s.config.Table, known)}
	}
	err := fmt.Errorf("no sequence %q in %s", s.config.Sequence, s.config.Table)
	if place == (layout{}) {
		return &TableError{Err: fmt.Errorf("%w; Setup makes it when all servers can be asked", err)}
	}
	return &TableError{Statement: s.statement(c, place, 0), Err: err}
}

// statement makes what is missing for a row, after the number where one is given.
func (s *server) statement(c condition, l layout, after int64) string {
	var statements []string
	if !c.table || len(c.made) == 0 {
		statements = s.counter.tables()
	}
	text := l.String()
	if c.bare {
		text = ""
	}
	statements = append(statements, s.enter(s.number))
	return strings.Join(append(statements, s.counter.row(text, after)...), ";\n")
}

// place is the layout of a row that is missing: the one in which the others have a place for it, or that of before, or the configuration's. It is zero where the
// others could not be asked.
func (s *server) place(before layout) layout {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.others != (layout{}):
		return layout{number: s.number, servers: s.others.servers, unit: s.others.unit}
	case before != (layout{}):
		return before
	case s.layout != (layout{}):
		return s.layout
	case s.unsure:
		return layout{}
	}
	return s.layoutToBe()
}

// layoutToBe is the layout of a row that Setup makes first.
func (s *server) layoutToBe() layout {
	return layout{number: s.number, servers: int64(s.config.Increment), unit: s.unit()}
}

func (s *server) unit() int64 {
	if b, ok := s.counter.(blockCounter); ok {
		return b.unit
	}
	return 1
}

// refusal returns the first finding's error that keeps the server from being used.
func refusal(findings []Finding) error {
	for _, f := range findings {
		if f.Refused() {
			return fmt.Errorf("%w: %s", f.Err, f.Text)
		}
	}
	return nil
}

// classify makes what a driver said an error of the server's. The caller does not hold the lock.
func (s *server) classify(err error) *ServerError {
	var failure *ServerError
	if errors.As(err, &failure) { // it has been
		return failure
	}
	fault := diagnose(s.dialect, err)
	switch {
	case errors.Is(err, ErrExhausted), errors.Is(err, ErrTable), errors.Is(err, ErrLayout):
		fault.class = Permanent
	case fault.kind == ErrExhausted:
		s.mu.Lock()
		err = &ExhaustedError{Limit: s.limit, Err: err}
		s.mu.Unlock()
	case fault.kind == ErrTable && denied[fault.code]:
		err = fmt.Errorf("%w: the user has not the right to: %w", ErrTable, err)
	case fault.kind == ErrTable:
		err = &TableError{Err: err}
	case fault.kind != nil:
		err = fmt.Errorf("%w: %w", fault.kind, err)
	}
	return &ServerError{Server: s.name, Class: fault.class, Err: err, lost: fault.code == "", locked: s.dialect == SQLite && fault.class == Retry && fault.code != ""}
}

// patience is how many times the timeout of an attempt there is for what takes about as many round trips.
const patience = 5

// look inspects the server on a connection of its own, one that has the settings of now if there is one.
func (s *server) look(ctx context.Context) (c condition, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience*s.config.ServerTimeout)
	defer cancel()
	for stale := s.db.Stats().Idle + 1; ; stale-- {
		err = s.with(ctx, func(conn *sql.Conn) error {
			if c, err = s.counter.inspect(ctx, conn); err == nil && c.stale {
				_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // which closes it
			}
			return err
		})
		if err != nil || !c.stale || stale <= 0 {
			break
		}
	}
	c.stale = false
	for i := range c.findings {
		c.findings[i].Server = s.name
	}
	return c, err
}

// with calls the function with a connection, again with another one where the server has closed that. The error is a *ServerError.
func (s *server) with(ctx context.Context, work func(*sql.Conn) error) error {
	stale := s.db.Stats().Idle + 1
	for attempt := 1; ; attempt++ {
		err := func() error {
			conn, err := s.connect(ctx)
			if err != nil {
				return err
			}
			defer conn.Close() // which gives it back to the pool
			return work(conn)
		}()
		if err == nil {
			return nil
		}
		failure := s.classify(err)
		// A connection to a server that was restarted may show so only when it is written to. What is done here can be done twice.
		if broken := failure.Class == Next && failure.lost && stale > 1; ctx.Err() == nil && (broken || errors.Is(err, driver.ErrBadConn) && stale > 0) {
			stale--
			attempt--
			continue
		}
		if !s.again(ctx, failure, attempt) {
			return failure
		}
	}
}

// end is the statement that ends a transaction, and on MySQL begins none, whatever completion_type says.
func (s *server) end(statement string) string {
	if s.dialect == MySQL {
		return statement + " AND NO CHAIN NO RELEASE"
	}
	return statement
}

// abandonLimit bounds the wait for the end of a transaction that failed.
const abandonLimit = 2 * time.Second

// abandon ends the connection's transaction without a commit, or else the connection.
func (s *server) abandon(ctx context.Context, conn *sql.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonLimit)
	defer cancel()
	if _, err := conn.ExecContext(ctx, s.end("ROLLBACK")); err != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // which closes it
	}
}
