package ticket

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// Setup makes the tables and the sequence's row on all servers, where they are missing. It may be run at each start, and by many processes at once. What
// is there stays as it is, also where the configuration differs, since the row is the authority. A server that is down does no harm where another one
// knows that it was set up, and nothing else is missing.
//
// It needs the right to make tables only where there are none. The error joins those of the servers, each a [*ServerError]. One that wraps
// [ErrForgotten] says that a row was there before and is not any more: it is not made again by itself, because it would begin with
// numbers that are in use. One that wraps [ErrLayout] says that the rows which are there have no place for a new server: see [Servers.Resize].
func (s *Servers) Setup(ctx context.Context) error {
	ctx, cancel := s.config.bound(ctx, retryFactor*s.config.Timeout)
	defer cancel()
	conditions, err := s.survey(ctx)
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
		errs = append(errs, p.ensure(ctx, conditions[i], l.String(), madeOnce(conditions)))
		if i > 0 || conditions[i].row || conditions[i].down {
			continue
		}
		// Another process, with another list, may have been faster: the first server's row says which layout all others get.
		if err := errs[0]; err != nil {
			return err
		}
		if conditions[i], err = p.look(ctx); err != nil {
			return err
		}
		if wanted, err = s.placeFor(conditions); err != nil {
			return err
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	// Another process may have made rows meanwhile, with another configuration.
	if conditions, err = s.survey(ctx); err != nil {
		return err
	}
	if _, err := s.placeFor(conditions); err != nil {
		return err
	}
	if err := s.spread(ctx, conditions); err != nil {
		return err
	}
	s.reconsider()
	return nil
}

// survey looks at all servers. One that is down has the zero condition, and is an error unless it is known to have been set up and no row is missing.
func (s *Servers) survey(ctx context.Context) ([]condition, error) {
	conditions, errs := s.lookAtAll(ctx)
	made := madeOnce(conditions)
	missing := false
	for i, c := range conditions {
		missing = missing || errs[i] == nil && !c.row
	}
	for i, p := range s.servers {
		var failure *ServerError
		if errors.As(errs[i], &failure) && failure.Class == Next && !errors.Is(failure, ErrReadOnly) && !missing && slices.Contains(made, p.number) {
			errs[i] = nil
			conditions[i] = condition{down: true}
		}
	}
	return conditions, errors.Join(errs...)
}

// madeOnce returns the numbers of the servers whose rows were ever made, as far as any register knows.
func madeOnce(conditions []condition) (numbers []int64) {
	for _, c := range conditions {
		numbers = append(numbers, c.made...)
	}
	return numbers
}

// learn notes for a server whose row is missing what the others' say.
func (s *Servers) learn(p *server, conditions []condition, errs []error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.others, p.unsure = layout{}, false
	for i, c := range conditions {
		p.unsure = p.unsure || errs[i] != nil
		l, frozen, err := parseFrozen(c.text)
		if err != nil || !c.row || s.servers[i] == p {
			continue
		}
		disagree := p.others != (layout{}) && (p.others.servers != l.servers || p.others.unit != l.unit)
		p.unsure = p.unsure || frozen || disagree
		p.others = l
	}
	if p.unsure {
		p.others = layout{}
	}
}

// spread has each register know all servers that have a row, so that the others remember one whose database is lost altogether.
func (s *Servers) spread(ctx context.Context, conditions []condition) error {
	var errs []error
	numbers := madeOnce(conditions)
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	for i, p := range s.servers {
		if conditions[i].down {
			continue
		}
		err := p.with(ctx, func(conn *sql.Conn) error {
			for _, number := range numbers {
				if slices.Contains(conditions[i].made, number) {
					continue
				}
				if _, err := conn.ExecContext(ctx, p.sql().enter(number)); err != nil {
					return fmt.Errorf("entering number %d into the register: %w", number, err)
				}
			}
			return nil
		})
		errs = append(errs, unless(denied(p.dialect, err), err))
	}
	return errors.Join(errs...)
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

// lookAtAll inspects all servers at once, and returns what it finds or an error for each.
func (s *Servers) lookAtAll(ctx context.Context) ([]condition, []error) {
	conditions, errs := make([]condition, len(s.servers)), make([]error, len(s.servers))
	var group sync.WaitGroup
	for i, p := range s.servers {
		group.Go(func() {
			c, err := p.look(ctx)
			if err == nil {
				if refused := refusal(c.findings); errors.Is(refused, ErrTable) || errors.Is(refused, ErrReadOnly) {
					err = &ServerError{Server: p.name, Class: Permanent, Err: refused}
				}
			}
			conditions[i], errs[i] = c, err
		})
	}
	group.Wait()
	return conditions, errs
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
			err = conditions[i].misplaced(l, p.number)
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

// ensure makes what is missing on a server. Made are the numbers of the servers whose rows were ever made.
func (s *server) ensure(ctx context.Context, c condition, layout string, made []int64) error {
	if c.down || c.row && slices.Contains(c.made, s.number) {
		return nil
	}
	if !c.row && slices.Contains(made, s.number) {
		// Perhaps by another process, since the look.
		now, err := s.look(ctx)
		if err != nil {
			return err
		}
		if !now.row {
			now.made = made
			return &ServerError{Server: s.name, Class: Permanent, Err: s.missing(now, order{})}
		}
	}
	if c.bare && c.table {
		layout = ""
	}
	// Of processes that are at it at once, some fail, and find what they need then.
	var err error
	for range 20 {
		err = s.with(ctx, func(conn *sql.Conn) error { return s.makeRow(ctx, conn, layout, 0) })
		if err == nil || errors.Is(err, ErrForgotten) || ctx.Err() != nil {
			return err
		}
		if denied(s.dialect, err) { // who may draw need not be allowed to use the register
			return unless(c.row, err)
		}
		if c, lookErr := s.look(ctx); lookErr == nil && c.row && slices.Contains(c.made, s.number) {
			return nil
		}
		if dialect.Sleep(ctx, 20*time.Millisecond) != nil {
			break
		}
	}
	return err
}

// makeRow makes the tables, and in one transaction the row and its entry in the register. After is 0 for a new sequence; otherwise the row is made also where
// the entry is there already.
func (s *server) makeRow(ctx context.Context, conn *sql.Conn, layout string, after int64) error {
	if s.dialect == MySQL { // to make a table ends a transaction
		if _, err := s.makeTables(ctx, conn); err != nil {
			return err
		}
	}
	return s.dialect.TransactOn(ctx, conn, s.dialect.BeginWrite(), func(conn *sql.Conn) error { return s.insertRow(ctx, conn, layout, after) })
}

// makeTables makes the tables that the catalogue does not have, and returns the counter of the place where they are. PostgreSQL's lock, which lasts until the end of the
// transaction, has one process at a time look for the place and make them; elsewhere there is but one place.
func (s *server) makeTables(ctx context.Context, conn *sql.Conn) (counter, error) {
	if s.dialect == Postgres {
		if _, err := s.dialect.LockCreate(ctx, conn, s.config.Table); err != nil {
			return nil, err
		}
	}
	at, err := s.sql().find(ctx, conn)
	if err != nil {
		return nil, err
	}
	s.note(condition{place: at})
	placed := s.in(at.At.Schema)
	for _, t := range placed.tables() {
		found, err := s.dialect.LocateAt(ctx, conn, dialect.Place{Schema: at.At.Schema, Table: t.name})
		if err != nil {
			return nil, err
		}
		if found.Exists {
			continue
		}
		if _, err := conn.ExecContext(ctx, t.create); denied(s.dialect, err) {
			return nil, s.deny(fmt.Errorf("making a table: %w", err), true)
		} else if err != nil {
			return nil, fmt.Errorf("making a table: %w", err)
		}
	}
	return placed, nil
}

func (s *server) insertRow(ctx context.Context, conn *sql.Conn, layout string, after int64) error {
	placed := s.sql()
	if s.dialect == Postgres {
		if _, err := conn.ExecContext(ctx, "SELECT "+durable); err != nil {
			return fmt.Errorf("setting synchronous_commit: %w", err)
		}
	}
	if s.dialect != MySQL {
		var err error
		if placed, err = s.makeTables(ctx, conn); err != nil {
			return err
		}
	}
	// The entry comes first: whoever makes the row holds its lock.
	result, err := conn.ExecContext(ctx, placed.enter(s.number))
	if err != nil {
		return fmt.Errorf("entering the sequence into the register: %w", err)
	}
	entered, err := result.RowsAffected()
	if err != nil {
		return err
	}
	c, err := placed.inspect(ctx, conn)
	switch {
	case err != nil:
		return err
	case c.twice: // since the look
		return refusal(c.findings)
	case c.row && after != 0:
		return fmt.Errorf("%w: somebody else made the row meanwhile; run Restore again", ErrTable)
	case c.row:
		return nil
	case entered == 0 && after == 0:
		return s.missing(c, order{})
	}
	for _, statement := range placed.row(layout, after) {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("making the row: %w", err)
		}
	}
	return nil
}
