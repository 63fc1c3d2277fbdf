package ticket

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// State is what a server is used for. See the diagram in the package's documentation.
type State int

// The states.
const (
	// HalfOpen is a server that is probed before it is used: at the start, and after it was Open.
	HalfOpen State = iota
	// Closed is a server in use.
	Closed
	// Open is a server that failed, or whose settings are refused, and is left alone for a while.
	Open
	// Quarantined is a server that gave, or is about to give, a number that cannot be trusted, and that is left alone until Readmit.
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
	dialect Dialect
	names   names // of the configuration
	counter func(names) counter
	unit    int64 // of blocks, in rows that are made; 0 of single tickets
	config  Config
	// gate has a place for the one that may draw on SQLite, which has one writer: without it, those who lose wait in ever longer sleeps, deaf to
	// their contexts. It is nil for other dialects.
	gate chan struct{}

	told   State // to Notify; guarded by Servers.telling
	missed bool  // the log has that it is no longer used; guarded by Servers.telling

	mu        sync.Mutex       // guards all below
	schema    string           // that the table was found in; empty before
	place     dialect.Location // where the table is, or is to be made, as it was seen last
	state     State
	probing   bool          // HalfOpen, and somebody is at it
	lasting   bool          // Open, and not by itself closed again
	failures  int           // in a row
	backoff   time.Duration // of the next time that it is opened
	due       time.Time     // Open until then
	layout    layout        // that it is drawn with
	bare      bool          // its row has no layout
	limit     int64         // the greatest id: the configuration's, or its column's
	last      int64         // the greatest id it has given
	most      int64         // the greatest id that was drawn from it, given or not
	restores  int           // that were begun, by this source
	others    layout        // that another server's row has, for one that is missing here
	unsure    bool          // of others: not all could be asked
	spare     span          // drawn by a probe, not given out yet; units is 0 where there is none
	warned    bool          // that it comes to its end
	abandoned bool          // not Closed, and the stock was thrown away for it
	err       *ServerError  // the latest
	since     time.Time     // it is in the state
	good      time.Time     // it gave a ticket last
	draws     int64
	fences    int64
	discarded int64
	faults    map[Class]int64
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

// readySQLite makes sure that a statement on the connection is a transaction of its own, and waits for no lock beyond its context.
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

// retryFactor is how many times the timeout of an attempt there is for what takes about as many round trips.
const retryFactor = 5

// look inspects the server on a connection of its own, one that has the settings of now if there is one.
func (s *server) look(ctx context.Context) (c condition, err error) {
	ctx, cancel := context.WithTimeout(ctx, retryFactor*s.config.ServerTimeout)
	defer cancel()
	for stale := s.db.Stats().Idle + 1; ; stale-- {
		err = s.with(ctx, func(conn *sql.Conn) error {
			if c, err = s.inspect(ctx, conn); err == nil && c.stale {
				dialect.Discard(conn)
			}
			return err
		})
		if err != nil || !c.stale || stale <= 0 {
			break
		}
	}
	c.stale = false
	for i := range c.findings {
		c.findings[i].Server, c.findings[i].Place = s.name, c.place.At.String()
	}
	return c, err
}

// unprepared is PostgreSQL's code for a prepared statement that a session has no more, as after a pooler's DISCARD ALL.
const unprepared = "26000"

// with calls the function with a connection, again with another one where the server has closed that. The error is a *ServerError.
func (s *server) with(ctx context.Context, work func(*sql.Conn) error) error {
	return s.repeat(ctx, true, func() error {
		conn, err := s.connect(ctx)
		if err != nil {
			return err
		}
		defer conn.Close() // which gives it back to the pool
		err = work(conn)
		if s.dialect.Code(err) == unprepared { // nor are the others that the driver takes to be prepared on it
			dialect.Discard(conn)
			err = fmt.Errorf("%w: %w", driver.ErrBadConn, err)
		}
		return err
	})
}

// repeat does something, again where that helps. The error is a *ServerError.
func (s *server) repeat(ctx context.Context, harmless bool, do func() error) error {
	stale := s.db.Stats().Idle + 1 // connections that may have to be found out to be closed
	for attempt := 1; ; attempt++ {
		err := do()
		if err == nil {
			return nil
		}
		failure := s.classify(err)
		// A connection to a server that was restarted may show so only when it is written to. What is harmless can be done twice then.
		if broken := harmless && failure.Class == Next && failure.lost && stale > 1 && ctx.Err() == nil; broken || errors.Is(err, driver.ErrBadConn) && stale > 0 {
			stale--
			attempt--
			continue
		}
		if !s.again(ctx, failure, attempt) {
			return failure
		}
	}
}
