package ticket

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// probe checks a server, and draws from it. It is the only one at it, and what brings a server into use.
func (s *Servers) probe(ctx context.Context, p *server) (allocated span, err error) {
	c, err := p.look(ctx)
	if err != nil {
		return span{}, err
	}
	p.mu.Lock()
	o := order{units: 1, high: s.high.Load(), last: p.last}
	p.mu.Unlock()
	if !c.row && len(s.servers) > 1 {
		conditions, errs := s.lookAtAll(ctx)
		s.learn(p, conditions, errs)
	}
	if err := p.judge(nil, c, o); err != nil {
		return span{}, err
	}
	l, err := parseLayout(c.text)
	if err != nil {
		return span{}, &ServerError{Server: p.name, Class: Quarantine, Err: err} // cannot happen: judge has parsed it
	}
	o.layout, o.bare, o.limit = l, c.bare, min(p.config.Limit, c.limit)
	o.last = max(o.last, c.last) // a counter that is behind its row was set back
	if !s.blocks {
		o.high = 0 // single tickets have no floor
	}
	if allocated, err = p.try(ctx, o); err != nil {
		p.lose(err, o)
		return span{}, err
	}
	// A block that others got ahead of meanwhile is thrown away by the allocation that finds it, which has a floor of its own.
	if high := s.high.Load(); !s.blocks && allocated.first <= high {
		if allocated, err = s.fence(ctx, p, o, allocated, high); err != nil {
			return span{}, err
		}
	}
	p.mu.Lock()
	p.layout, p.bare, p.limit = o.layout, o.bare, o.limit
	p.mu.Unlock()
	return allocated, nil
}

// admit brings a server into use, if its layout agrees with those of the servers that are. One at a time, so that each is held against those before.
func (s *Servers) admit(ctx context.Context, p *server, allocated span) {
	var err error
	select {
	case s.admission <- struct{}{}:
		defer func() { <-s.admission }()
		err = s.agree(ctx, p)
	case <-ctx.Done():
		err = p.classify(ctx.Err())
	}
	p.settle(err, allocated)
}

// fence moves a server that is behind the others beyond them, and draws again.
func (s *Servers) fence(ctx context.Context, p *server, o order, allocated span, high int64) (span, error) {
	p.mu.Lock()
	p.fences++
	p.discarded += allocated.count()
	p.last = max(p.last, allocated.last())
	o.last, o.high = p.last, high
	p.mu.Unlock()
	if high >= o.limit {
		return span{}, &ServerError{Server: p.name, Class: Permanent, Err: &ExhaustedError{Limit: o.limit}}
	}
	if err := p.with(ctx, func(conn *sql.Conn) error { return p.sql().fence(ctx, conn, o) }); err != nil {
		return span{}, err
	}
	o.high = 0
	allocated, err := p.try(ctx, o)
	if err == nil && allocated.first <= high {
		err = &ServerError{Server: p.name, Class: Next, Err: fmt.Errorf("it is at %d, behind %d of the others, and could not be moved forward", allocated.first, high), lost: true}
	}
	p.lose(err, o)
	return allocated, err
}

// agree reports whether the servers have one way to divide the ids. While they are resized some have the earlier layout, are frozen, or have the new
// one, but never two of them one and one the other at the same time.
func (s *Servers) agree(ctx context.Context, p *server) error {
	p.mu.Lock()
	l := p.layout
	p.mu.Unlock()
	for _, other := range s.servers {
		if other == p {
			continue
		}
		other.mu.Lock()
		theirs, used := other.layout, other.state == Closed
		other.mu.Unlock()
		if !used || theirs.servers == l.servers && theirs.unit == l.unit {
			continue
		}
		// What is known of the other may be old: it is probed again before it is used.
		other.suspect()
		now, err := other.look(ctx)
		if err != nil {
			continue
		}
		if theirs, frozen, err := parseFrozen(now.text); err != nil || frozen || theirs.servers == l.servers && theirs.unit == l.unit {
			continue
		}
		again, err := p.look(ctx)
		if err != nil {
			return err
		}
		if again.text != l.String() && !again.bare {
			return &ServerError{Server: p.name, Class: Next, Err: errChanged}
		}
		err = fmt.Errorf("%w: %s has %s, and %s has %s, so that they give the same numbers", ErrLayout, p.name, l, other.name, now.text)
		other.quarantine(err)
		s.notify(other)
		return &ServerError{Server: p.name, Class: Quarantine, Err: err}
	}
	return nil
}

// quarantine puts a server aside.
func (s *server) quarantine(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = &ServerError{Server: s.name, Class: Quarantine, Err: err}
	s.faults[Quarantine]++
	s.become(Quarantined)
}

// probeDue has all servers probed that are due. Each probe has a goroutine of its own, so that no call waits for a server that hangs; it
// ends after some of the server's timeouts, and Close awaits it.
func (s *Servers) probeDue() {
	now := time.Now()
	for _, p := range s.servers {
		if !p.claim(now) {
			continue
		}
		if !s.begin() {
			p.settle(ErrClosed, span{})
			return
		}
		go func() {
			defer s.probes.Done()
			ctx, cancel := context.WithTimeout(s.closing, retryFactor*p.config.ServerTimeout)
			defer cancel()
			if allocated, err := s.probe(ctx, p); err == nil {
				s.admit(ctx, p, allocated)
			} else if s.closing.Err() != nil {
				p.settle(ErrClosed, span{})
			} else {
				p.settle(err, span{})
			}
			s.changed.broadcast()
			s.notify(p)
		}()
	}
}
