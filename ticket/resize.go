package ticket

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
)

// Resize divides the ids anew among the servers, by this source's list and configuration, while sources everywhere go on: those that have the
// servers' rows of before get nothing until it ends, which takes a few round trips, and go on by the new layout then. It makes the rows of
// servers that are new.
//
// All servers have to be there, also those of before, at their places in the list. On MySQL and MariaDB, tickets by REPLACE need the new increment
// and offset in the servers' configuration; Resize also sets them for new sessions, which needs a privilege, if they are not yet. What can be found to be
// in the way is found before anything is changed. An error after that leaves rows frozen, from which nothing is sold: run it again. Two at once
// for the same list do no harm.
func (s *Servers) Resize(ctx context.Context) error {
	ctx, cancel := s.config.bound(ctx)
	defer cancel()
	conditions, errs := s.lookAtAll(ctx)
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for i, p := range s.servers {
		if !conditions[i].row && slices.Contains(madeOnce(conditions), p.number) {
			conditions[i].made = append(conditions[i].made, p.number) // which another one remembers
		}
		if err := p.resizable(ctx, conditions[i], len(s.servers)); errors.As(err, new(*ServerError)) {
			return err
		} else if err != nil {
			return &ServerError{Server: p.name, Class: Permanent, Err: err}
		}
	}
	for i, p := range s.servers {
		if err := p.freeze(ctx, conditions[i]); err != nil {
			return fmt.Errorf("freezing the rows: %w", err)
		}
	}
	// From here on nobody draws by another layout, and what was drawn is in the rows.
	conditions, errs = s.lookAtAll(ctx)
	if err := errors.Join(errs...); err != nil {
		return err
	}
	greatest := int64(0)
	for i, p := range s.servers {
		if err := p.resized(conditions[i], true); err != nil {
			return err
		}
		greatest = max(greatest, conditions[i].last)
	}
	for _, p := range s.servers {
		if err := p.with(ctx, func(conn *sql.Conn) error { return p.counter.thaw(ctx, conn, p.layoutToBe(), greatest) }); err != nil {
			return fmt.Errorf("giving the rows their layout: %w", err)
		}
	}
	conditions, errs = s.lookAtAll(ctx)
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for i, p := range s.servers {
		if err := p.resized(conditions[i], false); err != nil {
			return err
		}
		p.suspect()
	}
	if err := s.spread(ctx, conditions); err != nil {
		return err
	}
	s.reconsider()
	return nil
}

// resizable reports what keeps the server from getting its new layout.
func (s *server) resizable(ctx context.Context, c condition, servers int) error {
	to := s.layoutToBe()
	if err := refusal(c.findings); errors.Is(err, ErrUnsafe) {
		return err
	}
	if c.row {
		l, frozen, err := parseFrozen(c.text)
		switch {
		case err != nil:
			return err
		case c.bare:
			return fmt.Errorf("%w: the row has no layout, as published; move to a table that has, or choose a greater Increment from the start", ErrLayout)
		case frozen && l != to:
			return fmt.Errorf("%w, to %s, and this is to %s; end that one first", ErrMoving, l, to)
		case l.number != s.number:
			return fmt.Errorf("%w: it is number %d of %d, and in the list it is number %d", ErrLayout, l.number, l.servers, s.number)
		case l != to && int(l.servers) > servers:
			return fmt.Errorf("%w: it has %s, so that all %d servers have to be in the list, which has %d", ErrLayout, l, l.servers, servers)
		}
		if err := s.with(ctx, func(conn *sql.Conn) error { return s.counter.preflight(ctx, conn, to) }); err != nil {
			return err
		}
	} else if slices.Contains(c.made, s.number) {
		return s.missing(c, order{})
	}
	return nil
}

// freeze stops the draws by another layout than the one to be. A row that is missing is made, frozen.
func (s *server) freeze(ctx context.Context, c condition) error {
	to := s.layoutToBe()
	if !c.row {
		return s.make(ctx, c, to.frozen(), nil)
	}
	l, frozen, err := parseFrozen(c.text)
	if err != nil || frozen || l == to {
		return err
	}
	return s.with(ctx, func(conn *sql.Conn) error { return s.counter.freeze(ctx, conn, l, to) })
}

// resized reports whether the row has the layout to be, or is on its way.
func (s *server) resized(c condition, onItsWay bool) error {
	l, frozen, err := parseFrozen(c.text)
	if err == nil && c.row && l == s.layoutToBe() && (onItsWay || !frozen) {
		return nil
	}
	return &ServerError{Server: s.name, Class: Permanent, Err: fmt.Errorf("%w: the row has %q, want %q: somebody else changed it; run Resize again", ErrMoving, c.text, s.layoutToBe())}
}
