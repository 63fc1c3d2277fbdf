package ticket

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// lookEvery is how long a source goes on at the most with ids that others may get too, beside the time that one look takes.
const lookEvery = time.Second

// watch looks each second whether the ids of the buffer may be others' too.
func (s *Buffer) watch() {
	for dialect.Sleep(s.ctx, lookEvery) == nil {
		s.mu.Lock()
		empty := s.left == 0
		s.mu.Unlock()
		if empty {
			continue
		}
		if err := s.allocator.recheck(s.ctx); err != nil {
			s.mu.Lock()
			discarded := s.discard()
			s.mu.Unlock()
			s.tell(discarded, err)
		}
	}
}

// tell logs that ids were thrown away, if any were. The caller does not hold the lock: a logger may ask for a key.
func (s *Buffer) tell(discarded int64, why error) {
	if discarded > 0 {
		s.config.Logger.Warn("snowkey: a source throws its stock of ids away, since others may get the same", "sequence", s.config.Sequence, "ids", discarded, "err", why)
	}
}

// setBack reports whether an error says that a server, or a store, has lost what it had allocated.
func setBack(err error) bool {
	return errors.Is(err, ErrRegression) || errors.Is(err, ErrForgotten)
}

// recheck is [allocator.recheck]. All servers are looked at, at once.
func (s *Servers) recheck(ctx context.Context) error {
	errs := make([]error, len(s.servers))
	var looks sync.WaitGroup
	for i, p := range s.servers {
		looks.Go(func() {
			errs[i] = p.untrusted(p.recheck(ctx))
			s.notify(p)
		})
	}
	looks.Wait()
	return errors.Join(errs...)
}

// recheck reads the row of blocks, whether or not the server is in use: one that was down may be back before it is probed. Where the row is behind what the server gave, or gone, it draws a unit for
// nobody: what answers reads may be behind, and what draws is not. A draw that fails has the server put aside, and is the error.
func (s *server) recheck(ctx context.Context) error {
	blocks, ok := s.sql().(blockCounter)
	s.mu.Lock()
	o := order{layout: s.layout, bare: s.bare, units: 1, last: s.last, limit: s.limit, unused: true}
	known := s.state == Quarantined || s.abandoned
	s.mu.Unlock()
	if !ok || known || o.last == 0 { // tickets are not kept
		return nil
	}
	read, cancel := context.WithTimeout(ctx, s.config.ServerTimeout)
	defer cancel()
	var next int64
	err := s.with(read, func(conn *sql.Conn) (err error) {
		next, _, err = blocks.read(read, conn)
		return err
	})
	if err == nil && next > o.last {
		return nil
	}
	if gone := errors.Is(err, sql.ErrNoRows) || errors.Is(err, ErrTable); err != nil && !gone {
		return nil // the next look, or the next draw, tells more
	}
	allocated, err := s.try(read, o)
	if err != nil {
		return s.failed(err, o, ctx.Err() != nil)
	}
	s.drawn(allocated)
	s.mu.Lock()
	s.discarded += allocated.count()
	s.mu.Unlock()
	return nil
}

// untrusted returns why what the server gave is doubtful, by an error or by the one for which it was put aside: once for each time.
func (s *server) untrusted(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if aside := s.state == Open || s.state == Quarantined; err == nil && aside && s.err != nil {
		err = s.err
	}
	if s.state == Closed || s.abandoned || !doubtful(err) {
		return nil
	}
	s.abandoned = true
	return err
}

// doubtful reports whether an error of a server makes what it has given doubtful.
func doubtful(err error) bool {
	var failure *ServerError
	return setBack(err) || errors.As(err, &failure) && failure.Class == Quarantine
}
