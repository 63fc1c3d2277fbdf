package ticket

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// Resize divides the ids anew among the servers, by this source's list and configuration, while sources everywhere go on: those that have the
// servers' earlier rows get nothing until it ends, which takes a few round trips, and go on by the new layout then. It makes the rows of
// servers that are new.
//
// All servers have to be there, also the earlier ones, at their places in the list. On MySQL and MariaDB, tickets by REPLACE need the new increment
// and offset in the servers' configuration; Resize also sets them for new sessions, which needs a privilege, if they are not yet. What can be found to be
// in the way is found before anything is changed. An error after that leaves rows frozen, from which nothing is allocated: run it again. Two at once
// for the same list do no harm, and all sequences on the same MySQL or MariaDB servers have to be resized one after the other, as they share the increment.
func (s *Servers) Resize(ctx context.Context) error {
	ctx, cancel := s.config.bound(ctx, retryFactor*s.config.Timeout)
	defer cancel()
	var err error
	for range resizeAttempts {
		if err = s.resize(ctx); !errors.Is(err, errMeanwhile) || dialect.Sleep(ctx, 10*time.Millisecond+rand.N(50*time.Millisecond)) != nil {
			return err
		}
	}
	return err
}

// resizeAttempts is how often a Resize begins anew that met another one.
const resizeAttempts = 20

// errMeanwhile says that a row has not the layout that it was given.
var errMeanwhile = fmt.Errorf("%w: somebody else changed a row meanwhile; run Resize again", ErrMoving)

func (s *Servers) resize(ctx context.Context) error {
	conditions, errs := s.lookAtAll(ctx)
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for i, p := range s.servers {
		if err := refusal(conditions[i].findings); errors.Is(err, ErrUnsafe) {
			return &ServerError{Server: p.name, Class: Permanent, Err: err}
		}
	}
	if err := s.labelled(conditions, layout.String); err == nil {
		return s.resized(ctx, conditions)
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
		if i > 0 {
			continue
		}
		// The first one is in all lists: whoever froze it is the only one to go on.
		if c, err := p.look(ctx); err != nil {
			return fmt.Errorf("freezing the rows: %w", err)
		} else if c.text != p.layoutToBe().frozen() {
			return errMeanwhile
		}
	}
	// From here on nobody draws, and what was drawn is in the rows.
	conditions, errs = s.lookAtAll(ctx)
	if err := errors.Join(append(errs, s.labelled(conditions, layout.frozen))...); err != nil {
		return err
	}
	greatest := int64(0)
	for _, c := range conditions {
		greatest = max(greatest, c.last)
	}
	for _, p := range s.servers {
		if err := p.with(ctx, func(conn *sql.Conn) error { return p.sql().thaw(ctx, conn, p.layoutToBe(), greatest) }); err != nil {
			return fmt.Errorf("giving the rows their layout: %w", err)
		}
	}
	conditions, errs = s.lookAtAll(ctx)
	if err := errors.Join(append(errs, s.labelled(conditions, layout.String))...); err != nil {
		return err
	}
	return s.resized(ctx, conditions)
}

// labelled reports whether each row has the text of its layout to be.
func (s *Servers) labelled(conditions []condition, text func(layout) string) error {
	for i, p := range s.servers {
		if c, want := conditions[i], text(p.layoutToBe()); !c.row || c.text != want {
			return &ServerError{Server: p.name, Class: Permanent, Err: fmt.Errorf("%w: it has %q, want %q", errMeanwhile, c.text, want)}
		}
	}
	return nil
}

// resized has all know of the new layout: the registers, and this source.
func (s *Servers) resized(ctx context.Context, conditions []condition) error {
	for _, p := range s.servers {
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
			return c.misplaced(l, s.number)
		case l != to && int(l.servers) > servers:
			return fmt.Errorf("%w: it has %s, so that all %d servers have to be in the list, which has %d", ErrLayout, l, l.servers, servers)
		}
		if err := s.with(ctx, func(conn *sql.Conn) error { return s.sql().preflight(ctx, conn, to) }); err != nil {
			return err
		}
	} else if slices.Contains(c.made, s.number) {
		return s.missing(c, order{})
	}
	return nil
}

// freeze stops the draws, also those by the layout to be: it may be a row of that layout beside one of another. A row that is missing is made, frozen.
func (s *server) freeze(ctx context.Context, c condition) error {
	to := s.layoutToBe()
	if !c.row {
		return s.ensure(ctx, c, to.frozen(), nil)
	}
	l, frozen, err := parseFrozen(c.text)
	if err != nil || frozen {
		return err
	}
	return s.with(ctx, func(conn *sql.Conn) error { return s.sql().freeze(ctx, conn, l, to) })
}
