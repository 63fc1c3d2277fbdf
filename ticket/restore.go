package ticket

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Restore makes a server go on after a number: all that it gives from then on is greater. It is for a server that has forgotten its sequence, or was set back, as
// by a restored backup; who calls it has to know a number that is no less than any id in use: from the tables that have them, and of blocks from the
// processes that hold some, which are best ended before. What this source has is known. A row that is
// missing is made again, one that is there is moved forward and never back, and the server is probed by the next call. Where a Resize was interrupted, the
// row is made for it, and the error wraps [ErrMoving]: run Resize again. Where all rows are gone, the list has to be that of all servers.
//
// The name is the one that errors and Stats have. The error wraps [ErrConfig] for a name or a number that is none.
func (s *Servers) Restore(ctx context.Context, name string, after int64) error {
	ctx, cancel := s.config.bound(ctx, retryFactor*s.config.Timeout)
	defer cancel()
	p, err := s.find(name)
	if err != nil {
		return err
	}
	if after < 1 || after >= s.config.Limit {
		return fmt.Errorf("%w: to go on after %d, want 1 to less than the limit, %d", ErrConfig, after, s.config.Limit)
	}
	after = max(after, s.high.Load(), p.restoring()) // also what is in a buffer is in use
	conditions, errs := s.lookAtAll(ctx)
	c := conditions[p.number-1]
	if err := errs[p.number-1]; err != nil {
		return err
	}
	if c.row {
		if err := p.advance(ctx, c, after); err != nil {
			return err
		}
	} else if err := s.replaceRow(ctx, p, conditions, errs, after); err != nil {
		return err
	}
	// The statements do nothing where something is not as it has to be, and somebody else may have made the row meanwhile.
	if c, err = p.look(ctx); err != nil {
		return err
	}
	if err := p.judge(nil, c, order{}); err != nil {
		return err
	}
	if got := max(c.last, c.at); got < after {
		return &ServerError{Server: p.name, Class: Permanent, Err: fmt.Errorf("%w: the row is at %d, want %d or more: somebody else changed it; run Restore again", ErrTable, got, after)}
	}
	p.mu.Lock()
	if p.state == Closed {
		p.become(HalfOpen)
	}
	p.mu.Unlock()
	return s.Readmit(name)
}

// replaceRow makes a row that is gone, in the layout of the others.
func (s *Servers) replaceRow(ctx context.Context, p *server, conditions []condition, errs []error, after int64) error {
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("the row's layout is not known unless all servers can be asked: %w", err)
	}
	l, err := s.placeFor(conditions)
	text := layout.String
	if moving, ok := frozenTo(conditions); ok {
		// The row is made as the others are, and the Resize that was interrupted goes on with it.
		l, text, err = moving, layout.frozen, nil
	}
	if err != nil {
		return err
	}
	if most := slices.Max(append(madeOnce(conditions), 0)); !slices.ContainsFunc(conditions, func(c condition) bool { return c.row }) && most > int64(len(s.servers)) {
		return &ServerError{Server: p.name, Class: Permanent, Err: fmt.Errorf("%w: no row is left that says it, and there was a server %d; give the list of all of them", ErrLayout, most)}
	}
	l.number = p.number
	if _, ok := l.after(after); !ok {
		return &ServerError{Server: p.name, Class: Permanent, Err: &ExhaustedError{Limit: math.MaxInt64}}
	}
	label, c := text(l), conditions[p.number-1]
	if c.bare && c.table {
		label = ""
	}
	return p.with(ctx, func(conn *sql.Conn) error { return p.makeRow(ctx, conn, label, after) })
}

// frozenTo returns the layout that a row is on its way to, if there is one.
func frozenTo(conditions []condition) (layout, bool) {
	for _, c := range conditions {
		if l, frozen, err := parseFrozen(c.text); err == nil && c.row && frozen {
			return l, true
		}
	}
	return layout{}, false
}

// advance moves a row that is there beyond a number.
func (s *server) advance(ctx context.Context, c condition, after int64) error {
	if err := s.judge(nil, c, order{}); err != nil {
		return err
	}
	l, err := parseLayout(c.text)
	if err != nil {
		return &ServerError{Server: s.name, Class: Quarantine, Err: err} // cannot happen: judge has parsed it
	}
	o := order{layout: l, bare: c.bare, units: 1, high: after, limit: min(s.config.Limit, c.limit)}
	if s.unit > 0 {
		o.unused = true // a unit beyond the number
		_, err := s.try(ctx, o)
		return err
	}
	err = s.with(ctx, func(conn *sql.Conn) error { return s.sql().fence(ctx, conn, o) })
	if errors.Is(err, errUnmatched) {
		err = &ServerError{Server: s.name, Class: Permanent, Err: &ExhaustedError{Limit: o.limit}}
	}
	return err
}
