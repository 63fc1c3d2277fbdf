package grant

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// TableError says that the table is missing, or that the account may not read, write or make it, and what mends that. It wraps [ErrTable]
// and Err.
type TableError struct {
	Table     string // where it is, or is to be made
	Statement string // for an administrator to run once: makes the table, or gives the account the rights on it
	Err       error  // what the database said
}

// Error has what the database said, and the statement.
func (e *TableError) Error() string {
	return fmt.Sprintf("%v: %s: %v; have an administrator run\n%s", ErrTable, e.Table, e.Err, e.Statement)
}

// Unwrap returns [ErrTable] and what the database said.
func (e *TableError) Unwrap() []error { return []error{ErrTable, e.Err} }

// settled is where a store's table is.
type settled struct {
	dialect.Location
	texts statements
}

// locate finds the table, makes it where there is none, and looks at what it relies on.
func (s *SQLStore) locate(ctx context.Context, space string) (at *settled, warnings []string, err error) {
	if at, warnings, err = s.look(ctx, space); err != nil {
		return nil, nil, err
	}
	if !at.Exists {
		if err := s.create(ctx, at); err != nil {
			return nil, nil, err
		}
		return s.locate(ctx, space) // as others, who may have made one elsewhere
	}
	s.settled.CompareAndSwap(nil, at)
	return at, warnings, nil
}

// look finds the table, or where it is to be made, and looks at what it relies on. At first it refuses a second table of the space; later that
// is a warning, lest a table that somebody makes elsewhere ends the processes that run.
func (s *SQLStore) look(ctx context.Context, space string) (at *settled, warnings []string, err error) {
	err = s.transact(ctx, func(conn *sql.Conn) error {
		at, err = s.find(ctx, conn)
		if err != nil || !at.Exists {
			return err
		}
		warnings, err = s.durability(ctx, conn, at)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	started := s.prepared[space]
	s.mu.Unlock()
	for _, other := range at.Others {
		if err := s.elsewhere(ctx, at, other, space); err != nil && (!started || !at.Exists) {
			return nil, nil, err
		} else if err != nil {
			warnings = append(warnings, strings.TrimPrefix(err.Error(), "grant: "))
		}
	}
	return at, warnings, nil
}

// Check returns the error with which Prepare would refuse the database, the table or the space, or nodes could not be granted there: settings with
// which commits are lost, a second table that has the space, rights on the table. It changes nothing, and there need not be a table. The error
// wraps what Prepare's does.
func (s *SQLStore) Check(ctx context.Context, space string) (err error) {
	defer func() { err = s.explain(ctx, err, "checking space %q", space) }()
	if err := s.check(space); err != nil {
		return err
	}
	at, _, err := s.look(ctx, space)
	if err != nil {
		return err
	}
	err = s.transact(ctx, func(conn *sql.Conn) error {
		if !at.Exists {
			_, err := s.durability(ctx, conn, at)
			return err
		}
		for _, text := range at.texts.rights {
			if _, err := conn.ExecContext(ctx, text); err != nil {
				return fmt.Errorf("trying whether the table may be written to: %w", err)
			}
		}
		return nil
	})
	if err != nil {
		return s.tableError(at, err)
	}
	return nil
}

// find asks the catalogue for the table, at its settled place if it has one.
func (s *SQLStore) find(ctx context.Context, conn *sql.Conn) (*settled, error) {
	was := s.settled.Load()
	var found dialect.Location
	var err error
	if was == nil {
		found, err = s.dialect.Locate(ctx, conn, s.table)
	} else {
		found, err = s.dialect.LocateAt(ctx, conn, was.At)
	}
	if err != nil {
		return nil, err
	}
	if s.dialect == SQLite && found.At.Catalog != "" && found.File == nil { // its connections go on with what nobody else finds
		return nil, fmt.Errorf("%w: there is no file %s any more", ErrMoved, found.At.Catalog)
	}
	if was != nil && (found.At != was.At || was.File != nil && (found.File == nil || !os.SameFile(was.File, found.File))) {
		return nil, fmt.Errorf("%w: it was in %s when this process started, and is in %s now, or in another file of that name; end the processes that use the one of before, "+
			"then start anew", ErrMoved, was.At, found.At)
	}
	return &settled{found, statementsOf(s.dialect, s.dialect.QuotePlace(found.At))}, nil
}

// durability returns what is to be said of the database, and an error for what is refused.
func (s *SQLStore) durability(ctx context.Context, conn *sql.Conn, at *settled) (warnings []string, err error) {
	if s.dialect == SQLite && at.At.Catalog == "" {
		return nil, nil // what is in memory is gone with all who know it
	}
	findings, err := s.dialect.Durability(ctx, conn, at.At.Schema)
	if err != nil {
		return nil, err
	}
	if at.Exists {
		kept, err := s.dialect.Storage(ctx, conn, at.At)
		if err != nil {
			return nil, err
		}
		findings = append(findings, kept...)
	}
	for _, f := range findings {
		switch {
		case f.Refused && f.ReadOnly:
			return nil, fmt.Errorf("%w: %s", ErrReadOnly, f.Text)
		case f.Refused && !s.unsafe:
			return nil, fmt.Errorf("%w: %s", ErrUnsafe, f.Text)
		}
		warnings = append(warnings, f.Text)
	}
	return warnings, nil
}

// elsewhere returns the error for another table of the name, if it has the space. One that cannot be read may have it; who names the
// schema of the table has said that it does not.
func (s *SQLStore) elsewhere(ctx context.Context, at *settled, other dialect.Place, space string) error {
	has := false
	err := s.transact(ctx, func(conn *sql.Conn) error {
		return dialect.Each(ctx, conn, statementsOf(s.dialect, s.dialect.QuotePlace(other)).has, []any{space}, func(*sql.Rows) error {
			has = true
			return nil
		})
	})
	twice := &TwoTablesError{Space: space, Tables: [2]string{at.At.String(), other.String()}}
	if has {
		return twice
	}
	switch s.dialect.Class(err) {
	case 0, dialect.Missing: // it has other columns, or was dropped meanwhile
		return nil
	case dialect.Denied:
		if schema, _ := dialect.SplitName(s.table); schema != "" {
			return nil
		}
		twice.Err = err
		return twice
	}
	return err
}

// create makes the table, if nobody else has made it meanwhile.
func (s *SQLStore) create(ctx context.Context, at *settled) error {
	err := s.transactBy(ctx, s.dialect.BeginWrite(), func(conn *sql.Conn) error {
		unlock, err := s.dialect.LockCreate(ctx, conn, s.table)
		if err != nil {
			return err
		}
		defer unlock()
		now, err := s.find(ctx, conn)
		switch {
		case err != nil || now.Exists:
			return err
		case now.At != at.At:
			return fmt.Errorf("%w: one connection of the pool would have it in %s, another one in %s; name it with its schema", ErrTable, at.At, now.At)
		}
		if _, err := conn.ExecContext(ctx, at.texts.create); err != nil {
			return err
		}
		if now, err = s.find(ctx, conn); err == nil && !now.Exists {
			err = fmt.Errorf("%w: %s is there and is no table, but a view perhaps", ErrTable, at.At)
		}
		return err
	})
	if err != nil {
		return s.tableError(at, fmt.Errorf("making the table: %w", err))
	}
	return nil
}

// place returns where the table is: where Prepare has found it, or where the catalogue says. The error is a [*TableError] when there is none.
func (s *SQLStore) place(ctx context.Context) (at *settled, err error) {
	if at = s.settled.Load(); at != nil {
		return at, nil
	}
	err = s.transact(ctx, func(conn *sql.Conn) error {
		at, err = s.find(ctx, conn)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case !at.Exists:
		return nil, s.missing(at)
	}
	return at, nil
}

// missing returns the error for a table that is not there.
func (s *SQLStore) missing(at *settled) error {
	return &TableError{Table: at.At.String(), Statement: at.texts.create + ";", Err: errors.New("there is no such table, or this user has no right to see it")}
}

// Place returns where the table is: database, schema and table with dots between them; empty before Prepare or Locate has found it.
func (s *SQLStore) Place() string {
	if at := s.settled.Load(); at != nil {
		return at.At.String()
	}
	return ""
}

// Table returns the names of the table and of its schema, which is a database on MySQL. Both are empty before Prepare or Locate has found the table.
func (s *SQLStore) Table() (schema, table string) {
	if at := s.settled.Load(); at != nil {
		return at.At.Schema, at.At.Table
	}
	return "", ""
}

// Warnings returns what the last Prepare or Locate had to say of the database: settings with which it may lose what is committed when its machine
// crashes, and other tables that have the space.
func (s *SQLStore) Warnings() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.warnings
}

// tableError makes an error of the database one of the table, where it says that the table is missing or may not be used.
func (s *SQLStore) tableError(at *settled, err error) error {
	if errors.Is(err, ErrTable) {
		return err
	}
	e := &TableError{Table: at.At.String(), Statement: at.texts.create + ";", Err: err}
	code := s.dialect.Code(err)
	switch s.dialect.Class(err) {
	case dialect.Missing:
		if text := err.Error(); code == "42703" || code == "1054" || s.dialect == SQLite && strings.Contains(text, "no such column") {
			return fmt.Errorf("%w: %s is no table of grants: %w; rename it, or give the grants another table", ErrTable, at.At, err)
		}
	case dialect.Exhausted, dialect.Other:
		if code != "" { // a column is too narrow, or has to have a value: no statement here mends that
			return fmt.Errorf("%w: %s: %w", ErrTable, at.At, err)
		}
		return err
	case dialect.Denied:
		if s.isLogin(code) {
			return err
		}
		grants := fmt.Sprintf("GRANT SELECT, INSERT, UPDATE ON %s TO %s;", s.dialect.QuotePlace(at.At), at.Role)
		if s.dialect == Postgres {
			grants = fmt.Sprintf("GRANT USAGE ON SCHEMA %s TO %s;\n", s.dialect.QuoteAny(at.At.Schema), at.Role) + grants
		}
		if s.dialect == SQLite { // which has no accounts
			break
		}
		if at.Exists {
			e.Statement = grants
		} else {
			e.Statement += "\n" + grants
			if s.dialect == MySQL {
				e.Err = fmt.Errorf("it is missing, or it is there and hidden, as from each account without a right on it: %w", err)
			}
		}
	default:
		return err
	}
	return e
}

// isLogin reports whether a refusal is of the account itself, which no right on a table mends.
func (s *SQLStore) isLogin(code string) bool {
	switch s.dialect {
	case MySQL:
		return !slices.Contains([]string{"1044", "1142", "1143", "1227"}, code)
	case Postgres:
		return code != "42501"
	}
	return false
}

// readOnlyError says what keeps the database from the write that it refused with the error.
func (s *SQLStore) readOnlyError(ctx context.Context, err error) error {
	var reasons []string
	_ = s.transact(ctx, func(conn *sql.Conn) error {
		at, err := s.find(ctx, conn)
		if err != nil {
			return err
		}
		findings, err := s.dialect.Durability(ctx, conn, at.At.Schema)
		for _, f := range findings {
			if f.ReadOnly {
				reasons = append(reasons, f.Text)
			}
		}
		if s.dialect == SQLite && len(reasons) == 0 {
			reasons = []string{fmt.Sprintf("the file %s was opened with mode=ro or immutable=1, or the process may not write to it or to its folder", at.At.Catalog)}
		}
		return err
	})
	if len(reasons) == 0 { // the database has said it
		return fmt.Errorf("%w: %w", ErrReadOnly, err)
	}
	return fmt.Errorf("%w: %s: %w", ErrReadOnly, strings.Join(reasons, ", "), err)
}

// Locate finds the table as Prepare does, but makes none: [SQLStore.Place] says where it is, and [SQLStore.Warnings] what there is to say of the
// database, also of one that Prepare would refuse as unsafe or read-only. The error is a [*TableError] when there is no table.
func (s *SQLStore) Locate(ctx context.Context) (err error) {
	defer func() { err = s.explain(ctx, err, "locating") }()
	if s.err != nil {
		return s.err
	}
	var at *settled
	var warnings []string
	err = s.transact(ctx, func(conn *sql.Conn) error {
		var err error
		if at, err = s.find(ctx, conn); err != nil || !at.Exists {
			return err
		}
		warnings, err = s.durability(ctx, conn, at)
		if errors.Is(err, ErrUnsafe) || errors.Is(err, ErrReadOnly) {
			warnings, err = []string{err.Error()}, nil
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case !at.Exists:
		return s.missing(at)
	}
	s.settled.CompareAndSwap(nil, at)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.warnings = warnings
	return nil
}

// Others returns a store for each other table of the name that has the space too, as far as the account sees them. With them comes an error that
// joins a [*TwoTablesError] for each, and for each table that cannot be read and may have the space. It changes nothing.
func (s *SQLStore) Others(ctx context.Context, space string) (others []*SQLStore, err error) {
	defer func() { err = s.explain(ctx, err, "looking for space %q", space) }()
	if err := s.check(space); err != nil {
		return nil, err
	}
	var at *settled
	err = s.transact(ctx, func(conn *sql.Conn) error {
		var err error
		at, err = s.find(ctx, conn)
		return err
	})
	if err != nil {
		return nil, err
	}
	var twice error
	for _, place := range at.Others {
		err := s.elsewhere(ctx, at, place, space)
		var two *TwoTablesError
		if err != nil && !errors.As(err, &two) {
			return nil, err
		}
		twice = errors.Join(twice, err)
		if two != nil && two.Err == nil {
			other := &SQLStore{db: s.db, dialect: s.dialect, table: place.String(), unsafe: s.unsafe, prepared: map[string]bool{}}
			other.settled.Store(&settled{
				dialect.Location{At: place, Exists: true, Role: at.Role},
				statementsOf(s.dialect, s.dialect.QuotePlace(place)),
			})
			others = append(others, other)
		}
	}
	return others, twice
}
