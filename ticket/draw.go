package ticket

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// retries is how often an error that is gone with the next attempt is tried again at once.
const retries = 3

// draw draws count ids from a server in use, rounded up to units. An error is a *ServerError, and counted. Parent is the caller's context, ctx
// the one of this attempt.
func (s *server) draw(parent, ctx context.Context, count, high int64) (span, error) {
	s.mu.Lock()
	good := s.good
	o := order{layout: s.layout, bare: s.bare, units: (count + s.layout.unit - 1) / s.layout.unit, high: high, last: s.last, limit: s.limit}
	if allocated := s.spare; allocated.units > 0 {
		s.spare = span{}
		if allocated.first > high {
			s.mu.Unlock()
			return allocated, nil
		}
		s.discarded += allocated.count()
	}
	s.mu.Unlock()
	start := time.Now()
	allocated, err := s.try(ctx, o)
	if err != nil {
		// A deadline that comes soon says little about the server, however late this machine notices it; that it has given nothing for
		// so long says more.
		deadline, bound := ctx.Deadline()
		short := ctx.Err() != nil && bound && deadline.Sub(start) < s.config.ServerTimeout/20 && start.Sub(good) < s.config.ServerTimeout
		return span{}, s.failed(err, o, short || errors.Is(parent.Err(), context.Canceled))
	}
	s.drawn(allocated)
	return allocated, nil
}

// errChanged says that the row has another layout than the one it is drawn with.
var errChanged = fmt.Errorf("%w: it was changed", ErrLayout)

// try draws, again where that helps. An error is a *ServerError.
func (s *server) try(ctx context.Context, o order) (allocated span, err error) {
	err = s.repeat(ctx, false, func() (err error) {
		restores := s.begun()
		if allocated, err = s.once(ctx, &o); err == nil && !o.unused {
			err = s.take(allocated, restores)
		}
		return err
	})
	if err != nil {
		return span{}, err
	}
	return allocated, nil
}

// errRestored says that a Restore was begun while an answer was under way.
var errRestored = errors.New("ticket: the server was restored meanwhile")

// begun returns how many Restores there were.
func (s *server) begun() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.restores
}

// take notes what was drawn, of which Restore then knows. What comes after a Restore has asked is thrown away: the row that was made again may
// give the same ids.
func (s *server) take(allocated span, restores int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.restores != restores {
		return &ServerError{Server: s.name, Class: Next, Err: errRestored, lost: true}
	}
	s.most = max(s.most, allocated.last())
	return nil
}

// restoring returns the greatest id that this source has drawn from the server, and has all thrown away that is under way.
func (s *server) restoring() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.restores++
	return s.most
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
	allocated, err := s.sql().draw(ctx, conn, *o)
	if errors.Is(err, errUnmatched) {
		return span{}, s.unmatched(ctx, conn, o)
	}
	if err != nil {
		if unusable(s.dialect, err) {
			// Also which statement makes it, and after which number.
			if why := s.unmatched(ctx, conn, o); errors.Is(why, ErrTable) {
				err = why
			}
		}
		return span{}, err
	}
	if err := s.verify(*o, allocated); err != nil {
		// The statement of a SEQUENCE does not name the layout: a resize may have changed it since.
		if s.names.object != "" && errors.Is(err, ErrLayout) {
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
	return allocated, nil
}

// again reports whether to try again at once after that many attempts. On SQLite a lock of another one is waited for as long as the context lasts.
func (s *server) again(ctx context.Context, failure *ServerError, attempts int) bool {
	if failure.Class != Retry || ctx.Err() != nil || attempts > retries && !failure.locked {
		return false
	}
	// Those who met in a deadlock do not meet again.
	return dialect.Sleep(ctx, time.Duration(rand.Int64N(int64(time.Millisecond)))) == nil
}

// verify checks what was drawn. An error is a *ServerError.
func (s *server) verify(o order, allocated span) error {
	var err error
	class := Quarantine
	switch {
	case !o.layout.begins(allocated.first):
		err = fmt.Errorf("%w: it gave %d, which is not a number of %s", ErrLayout, allocated.first, o.layout)
	case allocated.first <= o.last:
		err = fmt.Errorf("%w: it gave %d after %d", ErrRegression, allocated.first, o.last)
	case allocated.last() > o.limit || allocated.last() < allocated.first:
		class, err = Permanent, &ExhaustedError{Limit: o.limit}
	default:
		return nil
	}
	return &ServerError{Server: s.name, Class: class, Err: err, lost: true}
}

// unmatched finds out why a statement drew nothing.
func (s *server) unmatched(ctx context.Context, conn *sql.Conn, o *order) error {
	c, err := s.inspect(ctx, conn)
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
