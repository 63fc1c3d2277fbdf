package ticket

import (
	"errors"
	"math/rand/v2"
	"time"
)

// used reports whether the server is in use.
func (s *server) used() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state == Closed
}

// drawn notes a draw that succeeded.
func (s *server) drawn(allocated span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = max(s.last, allocated.last())
	s.failures, s.backoff, s.good = 0, s.config.Backoff, time.Now()
	s.draws++
}

// failed notes an error of a draw, and returns it. One that is excused says nothing about the server.
func (s *server) failed(err error, o order, excused bool) error {
	var failure *ServerError
	if !errors.As(err, &failure) {
		return err // cannot happen: all errors of a draw are
	}
	s.lose(failure, o)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[failure.Class]++
	if s.state != Closed && (failure.Class != Quarantine || s.state == Quarantined) { // by another call meanwhile, whose error is the reason
		return failure
	}
	s.err = failure
	switch {
	case errors.Is(err, errChanged), errors.Is(err, errRestored):
		s.become(HalfOpen)
	case failure.Class == Quarantine:
		s.become(Quarantined)
	case failure.Class == Permanent:
		s.open(failure.Class)
	case excused:
	default:
		if s.failures++; s.failures >= s.config.Failures {
			s.open(failure.Class)
		}
	}
	return failure
}

// lose counts what a draw that failed may have drawn: at most, as it may not have been committed.
func (s *server) lose(err error, o order) {
	var failure *ServerError
	if !errors.As(err, &failure) || !failure.lost {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.discarded += o.units * o.layout.unit
}

// open leaves the server alone for a while. The caller holds the lock.
func (s *server) open(class Class) {
	s.lasting = class == Permanent
	wait := s.config.MaxBackoff
	if !s.lasting {
		wait = s.backoff
		s.backoff = min(2*s.backoff, s.config.MaxBackoff)
	}
	s.due = time.Now().Add(time.Duration(float64(wait) * (0.8 + 0.4*rand.Float64())))
	s.become(Open)
}

// become changes the state. The caller holds the lock.
func (s *server) become(state State) {
	s.state, s.since = state, time.Now()
	s.abandoned = s.abandoned && state != Closed
	if state != Closed { // perhaps because of what it gives
		s.discarded += s.spare.count()
		s.spare = span{}
	}
	if state == HalfOpen || state == Closed {
		s.lasting = false
	}
}

// claim reports whether the caller is to probe the server now.
func (s *server) claim(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == Open && !now.Before(s.due) {
		s.become(HalfOpen)
	}
	if s.state != HalfOpen || s.probing {
		return false
	}
	s.probing = true
	return true
}

// settle ends a probe: with the error, or with what it drew.
func (s *server) settle(err error, allocated span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.probing = false
	var failure *ServerError
	switch {
	case err == nil:
		s.draws++
		used := s.state == HalfOpen
		if !used || s.last > allocated.last() { // put aside by another one's probe, or behind a call that was under way
			s.discarded += allocated.count()
			allocated = span{}
		}
		if !used {
			return
		}
		s.last = max(s.last, allocated.last())
		s.failures, s.backoff, s.good = 0, s.config.Backoff, time.Now()
		s.discarded += s.spare.count()
		s.spare = allocated
		s.become(Closed)
		return
	case errors.As(err, &failure):
		s.faults[failure.Class]++
		s.err = failure
	}
	if s.state != HalfOpen {
		return
	}
	switch {
	case failure == nil: // the source was closed
	case errors.Is(err, errRestored): // to be probed again, at once
	case failure.Class == Quarantine:
		s.become(Quarantined)
	default:
		s.open(failure.Class)
	}
}

// suspect has a server in use probed before it is used again.
func (s *server) suspect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == Closed {
		s.become(HalfOpen)
	}
}

// readmit has a server probed, whatever its state. What it gave is not forgotten.
func (s *server) readmit() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != Closed {
		s.failures, s.backoff = 0, s.config.Backoff
		s.become(HalfOpen)
	}
}
