package ticket

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Setup makes the tables and the sequence's row on all servers, where they are missing. It may be run at each start, and by many processes at once. What
// is there stays as it is, also where the configuration differs, since the row is the authority.
//
// It needs the right to make tables only where there are none. The error joins those of the servers, each a [*ServerError]. One that wraps
// [ErrForgotten] says that a sequence was there before and is not any more: it is not made again by itself, because it would begin with
// numbers that are in use. One that wraps [ErrLayout] says that the rows which are there have no place for a new server: see [Servers.Resize].
func (s *Servers) Setup(ctx context.Context) error {
	conditions, err := s.lookAtAll(ctx)
	if err != nil {
		return err
	}
	wanted, err := s.placeFor(conditions)
	if err != nil {
		return err
	}
	var errs []error
	for i, p := range s.servers {
		l := wanted
		l.number = p.number
		errs = append(errs, p.make(ctx, conditions[i], l.String()))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	// Another process may have made rows meanwhile, with another configuration.
	if conditions, err = s.lookAtAll(ctx); err != nil {
		return err
	}
	if _, err := s.placeFor(conditions); err != nil {
		return err
	}
	s.reconsider()
	return nil
}

// reconsider has servers probed that were given up because of what was missing.
func (s *Servers) reconsider() {
	for _, p := range s.servers {
		p.mu.Lock()
		if p.state == Open {
			p.become(HalfOpen)
		}
		p.mu.Unlock()
	}
	s.changed.broadcast()
}

// lookAtAll inspects all servers. One that cannot be asked is an error.
func (s *Servers) lookAtAll(ctx context.Context) ([]condition, error) {
	conditions := make([]condition, len(s.servers))
	var errs []error
	for i, p := range s.servers {
		c, err := p.look(ctx)
		if err == nil {
			if refused := refusal(c.findings); errors.Is(refused, ErrTable) || errors.Is(refused, ErrReadOnly) {
				err = &ServerError{Server: p.name, Class: Permanent, Err: refused}
			}
		}
		if err != nil {
			errs = append(errs, err)
		}
		conditions[i] = c
	}
	return conditions, errors.Join(errs...)
}

// placeFor returns the layout of rows that are made, whichever their number: that of the rows which are there, or the configuration's.
func (s *Servers) placeFor(conditions []condition) (layout, error) {
	wanted, from := layout{}, (*server)(nil)
	for i, p := range s.servers {
		if !conditions[i].row {
			continue
		}
		l, frozen, err := parseFrozen(conditions[i].text)
		switch {
		case err != nil:
		case frozen:
			err = fmt.Errorf("%w, to %d; if none is at work, run it again", ErrMoving, l.servers)
		case l.number != p.number:
			err = fmt.Errorf("%w: it is number %d of %d, and in the list it is number %d", ErrLayout, l.number, l.servers, p.number)
		case from != nil && (wanted.servers != l.servers || wanted.unit != l.unit):
			err = fmt.Errorf("%w: it has %s, and %s has %s; Resize gives them one", ErrLayout, l, from.name, wanted)
		case int(l.servers) < len(s.servers):
			err = fmt.Errorf("%w: it has %s, and there are %d servers; Resize makes place for them", ErrLayout, l, len(s.servers))
		}
		if err != nil {
			return wanted, &ServerError{Server: p.name, Class: Quarantine, Err: err}
		}
		wanted, from = l, p
	}
	if from == nil {
		wanted = s.servers[0].layoutToBe()
	}
	return wanted, nil
}

// make makes what is missing on a server.
func (s *server) make(ctx context.Context, c condition, layout string) error {
	if c.row && c.registered {
		return nil
	}
	if c.bare && c.table {
		layout = ""
	}
	// Of processes that are at it at once, some fail, and find what they need then.
	var err error
	for range 20 {
		err = s.with(ctx, func(conn *sql.Conn) error { return s.makeOnce(ctx, conn, layout) })
		if err == nil || errors.Is(err, ErrForgotten) || ctx.Err() != nil {
			return err
		}
		if c, lookErr := s.look(ctx); lookErr == nil && c.row && c.registered {
			return nil
		}
		if pause(ctx, 20*time.Millisecond) != nil {
			break
		}
	}
	return err
}

// makeOnce makes the tables, and in one transaction the row and its entry in the register.
func (s *server) makeOnce(ctx context.Context, conn *sql.Conn, layout string) error {
	c, err := s.counter.inspect(ctx, conn)
	if err != nil {
		return err
	}
	for _, statement := range s.counter.tables() {
		if _, err := conn.ExecContext(ctx, statement); err != nil && !c.row {
			return fmt.Errorf("making a table: %w", err)
		}
	}
	begin := map[Dialect]string{MySQL: "START TRANSACTION", Postgres: "BEGIN", SQLite: "BEGIN IMMEDIATE"}[s.dialect]
	if _, err := conn.ExecContext(ctx, begin); err != nil {
		return fmt.Errorf("beginning a transaction: %w", err)
	}
	if err := s.makeRow(ctx, conn, layout); err != nil {
		s.abandon(ctx, conn)
		return err
	}
	if _, err := conn.ExecContext(ctx, "COMMIT"); err != nil {
		s.abandon(ctx, conn)
		return fmt.Errorf("committing: %w", err)
	}
	return nil
}

func (s *server) makeRow(ctx context.Context, conn *sql.Conn, layout string) error {
	if s.dialect == Postgres {
		if _, err := conn.ExecContext(ctx, "SELECT "+durable); err != nil {
			return fmt.Errorf("setting synchronous_commit: %w", err)
		}
	}
	// The entry comes first: whoever makes the row holds its lock.
	result, err := conn.ExecContext(ctx, s.enter())
	if err != nil {
		return fmt.Errorf("entering the sequence into the register: %w", err)
	}
	entered, err := result.RowsAffected()
	if err != nil {
		return err
	}
	c, err := s.counter.inspect(ctx, conn)
	switch {
	case err != nil:
		return err
	case c.row:
		return nil
	case entered == 0:
		return s.missing(c, order{})
	}
	for _, statement := range s.counter.row(layout, 0) {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("making the row: %w", err)
		}
	}
	return nil
}
