package ticket

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Restore makes a server go on after a number: all that it gives from then on is greater. It is for a server that has forgotten its sequence, or was set back, as
// by a restored backup; who calls it has to know a number that is no less than any id in use, from the tables that have them. A row that is
// missing is made again, one that is there is moved forward and never back, and the server is probed by the next call.
//
// The name is the one that errors and Stats have. The error wraps [ErrConfig] for a name or a number that is none.
func (s *Servers) Restore(ctx context.Context, name string, after int64) error {
	ctx, cancel := s.config.bound(ctx)
	defer cancel()
	p := s.find(name)
	if p == nil {
		return fmt.Errorf("%w: no server %q", ErrConfig, name)
	}
	if after < 1 || after >= s.config.Limit {
		return fmt.Errorf("%w: to go on after %d, want 1 to less than the limit, %d", ErrConfig, after, s.config.Limit)
	}
	conditions, errs := s.lookAtAll(ctx)
	s.learn(p, conditions, errs)
	c := conditions[p.number-1]
	if err := errs[p.number-1]; err != nil {
		return err
	}
	if err := p.restore(ctx, c, after); err != nil {
		return err
	}
	p.mu.Lock()
	if p.state == Closed {
		p.become(HalfOpen)
	}
	p.mu.Unlock()
	return s.Readmit(name)
}

func (s *server) restore(ctx context.Context, c condition, after int64) error {
	if !c.row {
		l := s.place(layout{})
		switch {
		case l == (layout{}):
			return &ServerError{Server: s.name, Class: Next, Err: fmt.Errorf("%w: the row's layout is not known unless all servers can be asked", ErrTable)}
		case l.servers < s.number:
			return &ServerError{Server: s.name, Class: Permanent, Err: fmt.Errorf("%w: the others have no place for number %d of %d; Resize makes one", ErrLayout, s.number, l.servers)}
		}
		text := l.String()
		if c.bare && c.table {
			text = ""
		}
		return s.with(ctx, func(conn *sql.Conn) error { return s.makeOnce(ctx, conn, text, after) })
	}
	// The statements do nothing where something is not as it has to be, and would not say so.
	if err := s.judge(nil, c, order{}); err != nil {
		return err
	}
	l, err := parseLayout(c.text)
	if err != nil {
		return &ServerError{Server: s.name, Class: Quarantine, Err: err} // cannot happen: judge has parsed it
	}
	o := order{layout: l, bare: c.bare, units: 1, high: after, limit: min(s.config.Limit, c.limit)}
	if _, blocks := s.counter.(blockCounter); blocks {
		_, err := s.try(ctx, o) // a unit beyond the number, which nobody gets
		return err
	}
	err = s.with(ctx, func(conn *sql.Conn) error { return s.counter.fence(ctx, conn, o) })
	if errors.Is(err, errUnmatched) {
		err = &ServerError{Server: s.name, Class: Permanent, Err: &ExhaustedError{Limit: o.limit}}
	}
	return err
}
