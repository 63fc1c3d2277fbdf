package grant

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// TableError says that the table is missing, that the user may not read or write it, or that it does not take what has to be written, and
// how to make it. It wraps [ErrTable] and Err.
type TableError struct {
	Statement string // makes the table, to be run once by somebody who may
	Err       error  // what the database said
}

// Error has what the database said, and the statement.
func (e *TableError) Error() string {
	return fmt.Sprintf("%v: %v; where it is missing, this statement makes it:\n%s", ErrTable, e.Err, e.Statement)
}

// Unwrap returns [ErrTable] and what the database said.
func (e *TableError) Unwrap() []error { return []error{ErrTable, e.Err} }

// SQLStore is a [Store] in a table of a database. Each call of a method is one transaction of its own, at the isolation level that the
// database's sessions have. It is safe for concurrent use.
//
// The database/sql pool and its connections stay the caller's. A connection on which a transaction could not be ended for certain is
// closed. A context that ends is heeded as far as the driver does; an SQLite database that is locked by others is waited for as long as
// its busy timeout says.
type SQLStore struct {
	db      *sql.DB
	dialect Dialect
	table   string
	texts   statements
	err     error // why no method can work
}

var _ Store = (*SQLStore)(nil)

// SQLOption is a setting of [SQL].
type SQLOption func(*SQLStore)

// Table has the grants kept in the table of that name rather than in [DefaultTable]. See [DDL] for the names that are allowed.
func Table(name string) SQLOption {
	return func(s *SQLStore) { s.table = name }
}

// SQL returns a store in a table of the database. It does nothing yet: Prepare makes the table where it is missing and may be made.
// Settings that are not valid are errors of the methods, which wrap [ErrTable] or [ErrDialect].
func SQL(db *sql.DB, dialect Dialect, options ...SQLOption) *SQLStore {
	s := &SQLStore{db: db, dialect: dialect, table: DefaultTable}
	for _, option := range options {
		if option != nil {
			option(s)
		}
	}
	if s.texts, s.err = statementsOf(dialect, s.table); s.err == nil && db == nil {
		s.err = errors.New("the *sql.DB is nil")
	}
	return s
}

const (
	headerNode = -1 // the node of a space's own row
	maxNumber  = 1<<62 - 1
	maxHolder  = 128
	maxLayout  = 255
)

// headerHolder fills the column, so that a narrower one is noticed before a grant is written to it.
var headerHolder = fmt.Sprintf("%-*s", maxHolder-1, "not a node but the space itself, with the layout of all ids made in it: do not change or delete") + "."

// headerRow is the row of a space itself.
type headerRow struct {
	space, holder string
	from, until   int64
	layout        string
}

func (h headerRow) String() string {
	return fmt.Sprintf("(space %q, holder %q, from_tick %d, until_tick %d, layout %q)", h.space, h.holder, h.from, h.until, h.layout)
}

// Prepare is [Store.Prepare]. It needs the right to make tables only where there is none yet, else SELECT, INSERT and UPDATE. The
// error wraps [ErrTable] when the table has no primary key (space, node), or does not give back what is written to it; it is a
// [*TableError] when the table is missing or may not be used.
func (s *SQLStore) Prepare(ctx context.Context, space, layout string) (inForce string, err error) {
	defer func() { err = s.explain(ctx, err, "preparing space %q", space) }()
	if err := s.check(space); err != nil {
		return "", err
	}
	if len(layout) > maxLayout || !printable(layout) {
		return "", fmt.Errorf("the layout %q is not up to %d printable ASCII characters", layout, maxLayout)
	}
	if err := s.db.PingContext(ctx); err != nil {
		return "", fmt.Errorf("connecting: %w", err)
	}
	// All rows are read in a transaction that writes nothing before another one tries to write, so that nobody needs the right to
	// write for a space that is there already.
	found, err := s.headers(ctx, space)
	if err != nil {
		// Of processes that make a table at once, PostgreSQL lets some fail, so that the error says less than the table's presence.
		_, createErr := s.db.ExecContext(ctx, s.texts.create)
		var again error
		if found, again = s.headers(ctx, space); again != nil {
			if createErr != nil {
				err = fmt.Errorf("%w; making it: %w", err, createErr)
			}
			return "", s.tableError(ctx, err)
		}
	}
	// Of processes that add the row at once, some may fail under the stricter isolation levels, and find it then.
	for attempt := 1; len(found) == 0; attempt++ {
		var added []headerRow
		if added, err = s.addHeader(ctx, space, layout); err == nil {
			found = added
			break
		}
		if errors.Is(err, ErrTable) {
			return "", err
		}
		if found, _ = s.headers(ctx, space); len(found) == 0 && (attempt == 3 || ctx.Err() != nil) {
			return "", s.tableError(ctx, err)
		}
	}
	switch h := found[0]; {
	case len(found) > 1:
		return "", noPrimaryKey(len(found))
	case h.space != space:
		return "", fmt.Errorf("%w: it holds the space %q for %q; its text columns have to be compared exactly", ErrTable, h.space, space)
	case h.from != math.MaxInt64 || h.until != math.MaxInt64 || len(h.holder) != maxHolder:
		return "", fmt.Errorf("%w: the space's own row is not as it was written, with numbers of 64 bits and a holder of %d characters: read %v",
			ErrTable, maxHolder, h)
	default:
		return h.layout, nil
	}
}

func noPrimaryKey(rows int) error {
	return fmt.Errorf("%w: %d rows for one node, so it has no PRIMARY KEY (space, node)", ErrTable, rows)
}

// headers returns the rows of a space itself: none, one, or more in a table that has no primary key.
func (s *SQLStore) headers(ctx context.Context, space string) (found []headerRow, err error) {
	err = s.transact(ctx, func(conn *sql.Conn) error {
		found, err = s.readHeaders(ctx, conn, space)
		return err
	})
	return found, err
}

func (s *SQLStore) readHeaders(ctx context.Context, conn *sql.Conn, space string) (found []headerRow, err error) {
	rows, err := conn.QueryContext(ctx, s.texts.header, space)
	if err != nil {
		return nil, fmt.Errorf("reading the space's own row: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var h headerRow
		if err := rows.Scan(&h.space, &h.holder, &h.from, &h.until, &h.layout); err != nil {
			return nil, fmt.Errorf("reading the space's own row: %w", err)
		}
		found = append(found, h)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("reading the space's own row: %w", err)
	}
	return found, nil
}

// addHeader adds the row of the space itself if there is none, and returns what is there then. It leaves no row in a table that has
// not kept what was written.
func (s *SQLStore) addHeader(ctx context.Context, space, layout string) (found []headerRow, err error) {
	err = s.transact(ctx, func(conn *sql.Conn) error {
		if err := s.makeDurable(ctx, conn); err != nil {
			return err
		}
		want := headerRow{space, headerHolder, math.MaxInt64, math.MaxInt64, layout}
		result, err := conn.ExecContext(ctx, s.texts.insert, space, headerNode, want.holder, want.from, want.until, layout)
		if err != nil {
			return fmt.Errorf("adding the space's own row: %w", err)
		}
		added, err := result.RowsAffected()
		if err != nil {
			return fmt.Errorf("adding the space's own row: counting rows: %w", err)
		}
		// Once more, and different: a primary key (space, node) is the only one that refuses that.
		if _, err := conn.ExecContext(ctx, s.texts.insert, space, headerNode, "", 0, 0, ""); err != nil {
			return fmt.Errorf("trying to add the space's own row twice: %w", err)
		}
		switch found, err = s.readHeaders(ctx, conn, space); {
		case err != nil:
			return err
		case len(found) > 1:
			return noPrimaryKey(len(found))
		case len(found) == 0:
			return fmt.Errorf("%w: wrote node -1 with %v, and found no such row", ErrTable, want)
		case added > 0 && found[0] != want:
			return fmt.Errorf("%w: wrote node -1 with %v, and read %v", ErrTable, want, found[0])
		}
		return nil
	})
	return found, err
}

// List is [Store.List].
func (s *SQLStore) List(ctx context.Context, space string, least, most int64) (l Listing, err error) {
	defer func() { err = s.explain(ctx, err, "listing nodes %d to %d of space %q", least, most, space) }()
	if err := s.check(space); err != nil {
		return Listing{}, err
	}
	err = s.transact(ctx, func(conn *sql.Conn) error {
		rows, err := conn.QueryContext(ctx, s.texts.list, space, max(least, 0), most)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var micros, number, from, until sql.NullInt64
			var holder sql.NullString
			if err := rows.Scan(&micros, &number, &holder, &from, &until); err != nil {
				return err
			}
			if !micros.Valid {
				return errors.New("the database tells no time")
			}
			l.Now = time.UnixMicro(micros.Int64).UTC()
			if !number.Valid {
				continue // the clock alone
			}
			if !holder.Valid || !from.Valid || !until.Valid {
				return fmt.Errorf("%w: node %d has a NULL", ErrTable, number.Int64)
			}
			l.Rows = append(l.Rows, Row{Number: number.Int64, Holder: holder.String, From: from.Int64, Until: until.Int64})
		}
		return rows.Err()
	})
	if err == nil && l.Now.IsZero() {
		err = errors.New("the database tells no time")
	}
	if err != nil {
		return Listing{}, err
	}
	return l, nil
}

// Swap is [Store.Swap]. It refuses, with an error, a new row that is not valid, and one that has the holder and the until of the old
// one: such a swap could be made twice, and a database that counts only the rows that became different would deny it.
func (s *SQLStore) Swap(ctx context.Context, space string, old, new Row) (swapped bool, err error) {
	defer func() { err = s.explain(ctx, err, "swapping node %d of space %q", new.Number, space) }()
	if err := s.check(space); err != nil {
		return false, err
	}
	switch {
	case old.Number != new.Number:
		return false, fmt.Errorf("the old row is of node %d", old.Number)
	case new.Number < 0 || new.Number > maxNumber:
		return false, errors.New("a node's number is 0 to 2^62-1")
	case new.From < 0 || new.From > new.Until:
		return false, fmt.Errorf("ticks %d to %d are no range", new.From, new.Until)
	case new.Holder == Absent || len(new.Holder) > maxHolder || !printable(new.Holder):
		return false, fmt.Errorf("the holder %q is not up to %d printable ASCII characters, other than %q", new.Holder, maxHolder, Absent)
	case old.Holder == new.Holder && old.Until == new.Until:
		return false, errors.New("the new row has the holder and the until of the old one")
	}
	err = s.transact(ctx, func(conn *sql.Conn) error {
		if err := s.makeDurable(ctx, conn); err != nil {
			return err
		}
		var result sql.Result
		if old.Holder == Absent {
			result, err = conn.ExecContext(ctx, s.texts.insert, space, new.Number, new.Holder, new.From, new.Until, "")
		} else {
			result, err = conn.ExecContext(ctx, s.texts.swap, new.Holder, new.From, new.Until, space, new.Number, old.Holder, old.Until)
		}
		if err != nil {
			return err
		}
		changed, err := result.RowsAffected()
		if err != nil {
			return fmt.Errorf("counting rows: %w", err)
		}
		if changed > 1 {
			return noPrimaryKey(int(changed))
		}
		swapped = changed == 1
		if !swapped || old.Holder != Absent || s.texts.echo == "" {
			return nil
		}
		var kept int
		if err := conn.QueryRowContext(ctx, s.texts.echo, space, new.Number, new.Holder, new.From, new.Until).Scan(&kept); err != nil {
			return fmt.Errorf("reading the row that was added: %w", err)
		}
		if kept != 1 {
			return fmt.Errorf("%w: wrote node %d from %d until %d with holder %q, and found %d such rows",
				ErrTable, new.Number, new.From, new.Until, new.Holder, kept)
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	return swapped, nil
}

// Space is a key space in a table.
type Space struct{ Name, Layout string }

// Spaces returns the spaces that the table has, by name. It makes no table; the error is a [*TableError] when there is none, or it may
// not be read.
func (s *SQLStore) Spaces(ctx context.Context) (spaces []Space, err error) {
	defer func() { err = s.explain(ctx, err, "listing spaces") }()
	if s.err != nil {
		return nil, s.err
	}
	if err := s.db.PingContext(ctx); err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	err = s.transact(ctx, func(conn *sql.Conn) error {
		rows, err := conn.QueryContext(ctx, s.texts.spaces)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var space Space
			if err := rows.Scan(&space.Name, &space.Layout); err != nil {
				return err
			}
			spaces = append(spaces, space)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, s.tableError(ctx, err)
	}
	return spaces, nil
}

func (s *SQLStore) transact(ctx context.Context, work func(*sql.Conn) error) error {
	return s.dialect.Transact(ctx, s.db, s.texts.begin, work)
}

func (s *SQLStore) makeDurable(ctx context.Context, conn *sql.Conn) error {
	if s.texts.commit == "" {
		return nil
	}
	if _, err := conn.ExecContext(ctx, s.texts.commit); err != nil {
		return fmt.Errorf("setting synchronous_commit: %w", err)
	}
	return nil
}

// tableError makes an error of a statement one of the table, if the database still answers.
func (s *SQLStore) tableError(ctx context.Context, err error) error {
	if ctx.Err() != nil || s.db.PingContext(ctx) != nil {
		return err
	}
	return &TableError{Statement: s.texts.create, Err: err}
}

// explain says what was being done when the error came, and that the context had ended where it had.
func (s *SQLStore) explain(ctx context.Context, err error, doing string, args ...any) error {
	if err == nil {
		return nil
	}
	if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) {
		err = fmt.Errorf("%w: %w", ended, err)
	}
	prefix := "grant: "
	if errors.Is(err, ErrTable) || errors.Is(err, ErrDialect) {
		prefix = "" // they have it
	}
	return fmt.Errorf("%s%s in table %s: %w", prefix, fmt.Sprintf(doing, args...), s.table, err)
}

func (s *SQLStore) check(space string) error {
	if s.err != nil {
		return s.err
	}
	if !validSpace.MatchString(space) {
		return errors.New("the space is not 1 to 64 of the characters a-z, A-Z, 0-9, dash, dot and underline")
	}
	return nil
}

// printable reports whether the text has ASCII characters from space to tilde only.
func printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}
