package ticket

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Servers are the databases that a source draws from, with what can be done to them; every source of this package has them. Its methods are safe for
// concurrent use.
type Servers struct {
	config  Config
	blocks  bool // ids of one source increase: servers are drawn from with a floor
	servers []*server
	turn    atomic.Uint64 // of the round robin
	high    atomic.Int64  // the greatest id from any server

	changed   broadcast     // of a server's state
	telling   sync.Mutex    // guards what servers have told, and calls of Notify
	admission chan struct{} // one place: see admit

	closing context.Context // ends with Close
	end     context.CancelFunc
	mu      sync.Mutex // guards closed, and probes against it
	closed  bool
	probes  sync.WaitGroup
}

var _ allocator = (*Servers)(nil)

// newServers takes a complete configuration.
func newServers(config Config, unit int64, list []Server) (*Servers, error) {
	s := &Servers{config: config, blocks: unit > 0, admission: make(chan struct{}, 1)}
	s.closing, s.end = context.WithCancel(context.Background())
	taken := map[string]bool{}
	for i, given := range list {
		p := &server{
			name: orDefault(given.Name, fmt.Sprintf("server %d", i+1)), number: int64(i + 1), db: given.DB, dialect: given.Dialect, config: config, unit: unit,
			backoff: config.Backoff, limit: config.Limit, since: time.Now(), faults: map[Class]int64{},
		}
		switch {
		case p.db == nil:
			return nil, fmt.Errorf("%w: %s has no *sql.DB", ErrConfig, p.name)
		case !p.dialect.Valid():
			return nil, fmt.Errorf("%w: %s has %v, want ticket.MySQL, ticket.Postgres or ticket.SQLite", ErrDialect, p.name, p.dialect)
		case taken[p.name]:
			return nil, fmt.Errorf("%w: two servers with the name %q", ErrConfig, p.name)
		}
		taken[p.name] = true
		if p.dialect == SQLite {
			p.gate = make(chan struct{}, 1)
		}
		n := newNames(p.dialect, config, p.number)
		switch {
		case s.blocks:
			n.verbs, p.counter = "SELECT, UPDATE", func(n names) counter { return blockCounter{n} }
		case p.dialect == Postgres:
			if n.object = n.table + "." + n.sequence; len(n.object) > maxSequenceName {
				return nil, fmt.Errorf("%w: the SEQUENCE's name %q has %d characters, at most %d", ErrConfig, n.object, len(n.object), maxSequenceName)
			}
			n.verbs, p.counter = "USAGE, SELECT, UPDATE", func(n names) counter { return sequenceCounter{n} }
		default:
			n.verbs, p.counter = "SELECT, INSERT, UPDATE, DELETE", func(n names) counter { return replaceCounter{n, int64(config.Increment)} }
		}
		p.names = n
		s.servers = append(s.servers, p)
	}
	return s, nil
}

// begin reports whether a probe may begin, which it ends with probes.Done.
func (s *Servers) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.probes.Add(1)
	}
	return !s.closed
}

// close stops and awaits the probes.
func (s *Servers) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.end()
	s.probes.Wait()
}

// allocate is [allocator.allocate]: a round robin over the servers in use, until one gives.
func (s *Servers) allocate(ctx context.Context, count int64) (allocation, error) {
	troubled := false
	for round := 0; ; round++ {
		if s.closing.Err() != nil {
			return allocation{}, ErrClosed
		}
		if ctx.Err() != nil {
			return allocation{}, s.unavailable(ctx.Err())
		}
		changed := s.changed.next()
		s.probeDue()
		tried := make([]bool, len(s.servers))
		for p := s.pick(tried); p != nil; p = s.pick(tried) {
			start := time.Now()
			allocated, err := s.drawFrom(ctx, p, count, tried)
			if err == nil {
				return allocation{span: allocated, took: time.Since(start), troubled: troubled}, nil
			}
			troubled = true
			if ctx.Err() != nil {
				break
			}
		}
		wait, hopeless := s.wait(round, troubled)
		if hopeless {
			return allocation{}, s.unavailable(nil)
		}
		if wait == 0 {
			troubled = true
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-changed:
		case <-timer.C:
			troubled = true
		case <-ctx.Done():
		case <-s.closing.Done():
		}
		timer.Stop()
	}
}

// drawFrom draws from one server, within its share of the time.
func (s *Servers) drawFrom(ctx context.Context, p *server, count int64, tried []bool) (span, error) {
	limit := s.config.ServerTimeout
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline)/time.Duration(1+s.left(tried)))
	}
	attempt, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	high := int64(0)
	if s.blocks {
		high = s.high.Load()
	}
	allocated, err := p.draw(ctx, attempt, count, high)
	if err != nil {
		if !p.used() {
			s.changed.broadcast()
		}
		s.notify(p)
		return span{}, err
	}
	for last := allocated.last(); ; {
		high := s.high.Load()
		if last <= high || s.high.CompareAndSwap(high, last) {
			break
		}
	}
	s.warn(p)
	return allocated, nil
}

// left is how many servers in use were not tried yet.
func (s *Servers) left(tried []bool) (left int) {
	for i, p := range s.servers {
		if !tried[i] && p.used() {
			left++
		}
	}
	return left
}

// pick returns the next server in use that was not tried yet, and marks it as tried. It is nil where there is none.
func (s *Servers) pick(tried []bool) *server {
	n := uint64(len(s.servers))
	first := s.turn.Add(1) - 1
	for i := range n {
		k := (first + i) % n
		if tried[k] {
			continue
		}
		if p := s.servers[k]; p.used() {
			tried[k] = true
			return p
		}
	}
	return nil
}

// wait returns how long to wait until a server may be asked again. It is hopeless where that would not help: each has an error that
// lasts.
func (s *Servers) wait(round int, failed bool) (wait time.Duration, hopeless bool) {
	hopeless, wait = true, s.config.MaxBackoff
	for _, p := range s.servers {
		p.mu.Lock()
		switch p.state {
		case Closed:
			hopeless = false
			if failed {
				wait = min(wait, s.config.Backoff/10<<min(round, 3))
			} else {
				wait = 0
			}
		case HalfOpen:
			hopeless = false // it is probed, and tells when it was
		case Open:
			if !p.lasting {
				hopeless = false
				wait = min(wait, time.Until(p.due))
			}
		}
		p.mu.Unlock()
	}
	return max(wait, 0), hopeless
}

// unavailable is [allocator.unavailable].
func (s *Servers) unavailable(ended error) error {
	e := &UnavailableError{Ended: ended}
	for _, p := range s.servers {
		p.mu.Lock()
		if p.err != nil && (p.state != Closed || ended != nil) {
			e.Servers = append(e.Servers, p.err)
		}
		p.mu.Unlock()
	}
	return e
}

// notify tells of a server's new state.
func (s *Servers) notify(p *server) {
	s.telling.Lock() // so that the last that is told is how it is
	defer s.telling.Unlock()
	stats := p.stats()
	if p.told == stats.State {
		return
	}
	p.told = stats.State
	s.log(p, stats)
	if s.config.Notify != nil {
		s.config.Notify(stats)
	}
}

// log logs that a server is no longer used, and that it is again: warnings, so that a log of these alone has the end of a trouble too.
func (s *Servers) log(p *server, stats ServerStats) {
	log := s.config.Logger.With("sequence", s.config.Sequence, "server", stats.Name, "place", stats.Place)
	switch {
	case stats.State == Quarantined:
		log.Warn("snowkey: a ticket server is quarantined; it is not used until Readmit", "err", stats.Err)
	case stats.State == Open:
		log.Warn("snowkey: a ticket server is left alone for a while", "err", stats.Err)
	case stats.State == Closed && p.missed:
		log.Warn("snowkey: a ticket server is in use again")
	}
	p.missed = stats.State != Closed && (p.missed || stats.State != HalfOpen)
}

// warn tells once that a server comes to the end of its ids.
func (s *Servers) warn(p *server) {
	p.mu.Lock()
	near := !p.warned && float64(p.last) >= nearlyUsed*float64(p.limit)
	p.warned = p.warned || near
	p.mu.Unlock()
	if !near {
		return
	}
	stats := p.stats()
	s.config.Logger.Warn("snowkey: a ticket server comes to the end of its ids", "sequence", s.config.Sequence, "server", stats.Name, "place", stats.Place,
		"last", stats.Last, "used", stats.Used)
	if s.config.Notify != nil {
		s.config.Notify(stats)
	}
}

// nearlyUsed is the part of the ids after which there are warnings.
const nearlyUsed = 0.9

// broadcast wakes all who wait for the next change.
type broadcast struct {
	mu sync.Mutex
	ch chan struct{} // guarded by mu; nil where nobody waits
}

// next returns a channel that the next broadcast closes.
func (b *broadcast) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

func (b *broadcast) broadcast() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}

// Readmit has a server that is open or quarantined probed by the next call, after somebody has looked at it and mended it. The name is the one that errors and
// Stats have; the error for another one wraps [ErrConfig]. What the server gave to this source before stays known: one that was set back
// has to be moved forward first: see [Servers.Restore].
func (s *Servers) Readmit(name string) error {
	p, err := s.find(name)
	if err != nil {
		return err
	}
	p.readmit()
	s.changed.broadcast()
	s.notify(p)
	return nil
}

// find returns the server with the name.
func (s *Servers) find(name string) (*server, error) {
	for _, p := range s.servers {
		if p.name == name {
			return p, nil
		}
	}
	return nil, fmt.Errorf("%w: no server %q", ErrConfig, name)
}

// Check looks at the settings, tables and rows of all servers, and returns what matters: what keeps a server from being used, and what is worth to be
// known. The error joins those of the servers that could not be asked, and of those whose sequence is missing, each a [*ServerError].
func (s *Servers) Check(ctx context.Context) ([]Finding, error) {
	ctx, cancel := s.config.bound(ctx, retryFactor*s.config.Timeout)
	defer cancel()
	var findings []Finding
	var errs []error
	var used *layout
	conditions, failures := s.lookAtAll(ctx)
	for i, p := range s.servers {
		c, err := conditions[i], failures[i]
		s.learn(p, conditions, failures)
		findings = append(findings, c.findings...)
		if err != nil && refusal(c.findings) != nil {
			err = nil // which the finding says
		}
		if err == nil && refusal(c.findings) == nil {
			if err = p.judge(nil, c, order{}); err == nil {
				findings = append(findings, p.compare(c, &used)...)
			}
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return findings, errors.Join(errs...)
}

// compare finds what is to be said of a row that may be used: whether its layout is that of the others, and how much is left.
func (s *server) compare(c condition, used **layout) (findings []Finding) {
	l, err := parseLayout(c.text)
	if err != nil {
		return nil // judge has found it
	}
	if *used == nil {
		*used = &l
	}
	if first := **used; first.servers != l.servers || first.unit != l.unit {
		findings = append(findings, Finding{Server: s.name, Err: ErrLayout, Text: fmt.Sprintf("the layout is %s, and another server has %s", l, first)})
	}
	if limit := min(s.config.Limit, c.limit); float64(c.last) >= nearlyUsed*float64(limit) {
		findings = append(findings, Finding{Server: s.name, Text: fmt.Sprintf("%.1f %% of the ids up to %d are used", 100*float64(c.last)/float64(limit), limit)})
	}
	return findings
}
