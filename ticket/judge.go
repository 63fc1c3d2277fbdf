package ticket

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// judge returns the error that the condition of a server means for a draw, if any: a *ServerError.
func (s *server) judge(conn *sql.Conn, c condition, o order) error {
	fail := func(class Class, err error) error { return &ServerError{Server: s.name, Class: class, Err: err} }
	if c.stale && conn != nil {
		dialect.Discard(conn)
		return fail(Retry, fmt.Errorf("%w: a session with the settings of before: %w", driver.ErrBadConn, refusal(c.findings)))
	}
	if err := refusal(c.findings); err != nil {
		switch {
		case errors.Is(err, ErrReadOnly):
			return fail(Next, err)
		// While a setting is wrong nothing is drawn, so that no number is suspicious. The probe that finds the setting right again compares its number with
		// all that the server gave.
		case errors.Is(err, ErrTable), errors.Is(err, ErrUnsafe), c.offset:
			return fail(Permanent, err)
		}
		return fail(Quarantine, err)
	}
	if behind := !c.table || !c.row || c.last < o.last; behind && c.readOnly && o.last > 0 {
		return fail(Next, fmt.Errorf("%w: read_only is on, and the server lacks what this source was given, up to %d; is it a replica?", ErrReadOnly, o.last))
	}
	if !c.table || !c.row {
		return fail(Permanent, s.missing(c, o))
	}
	l, frozen, err := parseFrozen(c.text)
	switch {
	case err != nil:
		return fail(Quarantine, err)
	case frozen:
		return fail(Next, fmt.Errorf("%w, to %d; if none is at work, run it again", ErrMoving, l.servers))
	case l.number != s.number:
		return fail(Quarantine, c.misplaced(l, s.number))
	case c.last < o.last:
		return fail(Quarantine, fmt.Errorf("%w: it gave %d, and is at %d now", ErrRegression, o.last, c.last))
	}
	return nil
}

// missing returns the error for a sequence that is not there.
func (s *server) missing(c condition, o order) error {
	place := s.layoutFor(o.layout)
	if place != (layout{}) && place.servers < place.number {
		return fmt.Errorf("%w: the others have no place for number %d of %d; Resize makes one", ErrLayout, place.number, place.servers)
	}
	known := max(o.last, o.high)
	if o.last > 0 || slices.Contains(c.made, s.number) {
		return &TableError{Statement: s.statement(c, orDefault(place, s.layoutToBe()), openNumber), Err: fmt.Errorf("%w: %q in %s, of which the greatest id known here is %d; Restore makes it again, "+
			"or the statement with a number for the question mark of which all after it are greater than any id in use", ErrForgotten, s.config.Sequence, c.place.At, known)}
	}
	err := fmt.Errorf("no sequence %q in %s", s.config.Sequence, c.place.At)
	if place == (layout{}) {
		return &TableError{Err: fmt.Errorf("%w; Setup makes it when all servers can be asked", err)}
	}
	return &TableError{Statement: s.statement(c, place, 0), Err: err}
}

// statement makes what is missing for a row, after the number where one is given.
func (s *server) statement(c condition, l layout, after int64) string {
	placed := s.in(c.place.At.Schema)
	var statements []string
	if !c.table || len(c.made) == 0 {
		for _, t := range placed.tables() {
			statements = append(statements, t.create)
		}
	}
	text := l.String()
	if c.bare {
		text = ""
	}
	statements = append(statements, placed.enter(s.number))
	return strings.Join(append(statements, placed.row(text, after)...), ";\n")
}

// layoutFor is the layout of a row that is missing: the one in which the others have a place for it, or the earlier one, or the configuration's. It is zero where the
// others could not be asked.
func (s *server) layoutFor(before layout) layout {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.others != (layout{}):
		return layout{number: s.number, servers: s.others.servers, unit: s.others.unit}
	case before != (layout{}):
		return before
	case s.layout != (layout{}):
		return s.layout
	case s.unsure:
		return layout{}
	}
	return s.layoutToBe()
}

// layoutToBe is the layout of a row that Setup makes first.
func (s *server) layoutToBe() layout {
	return layout{number: s.number, servers: int64(s.config.Increment), unit: max(s.unit, 1)}
}

// refusal returns the first finding's error that keeps the server from being used.
func refusal(findings []Finding) error {
	for _, f := range findings {
		if f.Refused() {
			return fmt.Errorf("%w: %s", f.Err, f.Text)
		}
	}
	return nil
}

// classify makes what a driver said an error of the server's. The caller does not hold the lock.
func (s *server) classify(err error) *ServerError {
	var failure *ServerError
	if errors.As(err, &failure) { // it has been
		return failure
	}
	kind, code := s.dialect.Class(err), s.dialect.Code(err)
	class := classOf[kind]
	switch {
	case errors.Is(err, ErrExhausted), errors.Is(err, ErrTable), errors.Is(err, ErrLayout):
		class = Permanent
	case errors.Is(err, dialect.ErrNoPlace):
		class, err = Permanent, fmt.Errorf("%w: %w", ErrTable, err)
	case kind == dialect.Exhausted:
		s.mu.Lock()
		err = &ExhaustedError{Limit: s.limit, Err: err}
		s.mu.Unlock()
	case kind == dialect.Denied:
		return s.deny(err, false)
	case kind == dialect.Missing:
		err = &TableError{Err: err}
	case kind == dialect.ReadOnly:
		err = fmt.Errorf("%w: %w", ErrReadOnly, err)
	}
	return &ServerError{Server: s.name, Class: class, Err: err, lost: code == "", locked: s.dialect == SQLite && class == Retry && code != ""}
}

// classOf has what each kind of error asks for.
var classOf = map[dialect.Class]Class{
	dialect.Conflict: Retry, dialect.Again: Retry, dialect.Unavailable: Next, dialect.ReadOnly: Next,
	dialect.Missing: Permanent, dialect.Denied: Permanent, dialect.Exhausted: Permanent, dialect.Other: Permanent,
}
