package grant

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// TableError says that the table is missing, or that the account may not read, write or make it, and what mends that. It wraps [ErrTable]
// and Err.
type TableError struct {
	Table     string // where it is, or is to be made
	Statement string // to be run once by somebody who may: makes the table, or gives the account the rights on it
	Err       error  // what the database said
}

// Error has what the database said, and the statement.
func (e *TableError) Error() string {
	return fmt.Sprintf("%v: %s: %v; somebody who may has to run\n%s", ErrTable, e.Table, e.Err, e.Statement)
}

// Unwrap returns [ErrTable] and what the database said.
func (e *TableError) Unwrap() []error { return []error{ErrTable, e.Err} }

// SQLStore is a [Store] in a table of a database. Each call of a method is one transaction of its own or several, at the isolation level
// that the database's sessions have. It is safe for concurrent use.
//
// The place of the table is settled by the first Prepare that finds or makes it, and stays: USE, SET search_path and sessions that are reset
// do not matter. A name without a schema is looked up in the database's catalogue:
//
//   - on PostgreSQL it is that of the only table of the database that is called so, in whichever schema. It is made in the first schema of
//     the search path that is not called like the role and in which the role may make tables, else in the role's own;
//   - on MySQL and MariaDB it is that of the table in the session's database, which is the one of the DSN;
//   - on SQLite it is that of the table in the main file.
//
// The table is made only where the catalogue says that there is none. A second one that has the key space, anywhere the account can see, is
// an [ErrTwoTables] at the start, and a warning later.
//
// The database/sql pool and its connections stay the caller's. A connection on which a transaction could not be ended for certain is
// closed. A context that ends is heeded as far as the driver does; an SQLite database that is locked by others is waited for as long as
// its busy timeout says.
type SQLStore struct {
	db      *sql.DB
	dialect Dialect
	table   string
	unsafe  bool
	err     error // why no method can work

	settled  atomic.Pointer[settled]
	starving atomic.Int64 // since when a call waits for a connection, in nanoseconds since 1970; 0 while none does
	locking  atomic.Int64 // the same of a transaction on SQLite, which waits for the lock of another one

	mu       sync.Mutex
	prepared map[string]bool // spaces, guarded by mu
	warnings []string        // guarded by mu
}

// settled is where a store's table is.
type settled struct {
	dialect.Location
	texts statements
}

var _ Store = (*SQLStore)(nil)

// SQLOption is a setting of [SQL].
type SQLOption func(*SQLStore)

// Table has the grants kept in the table of that name rather than in [DefaultTable]. See [DDL] for the names that are allowed.
func Table(name string) SQLOption {
	return func(s *SQLStore) { s.table = name }
}

// AllowUnsafe takes a database that may lose what it has committed when it or its machine crashes, for tests and demonstrations. What is
// wrong is then a warning only.
func AllowUnsafe() SQLOption {
	return func(s *SQLStore) { s.unsafe = true }
}

// SQL returns a store in a table of the database. It does nothing yet: Prepare makes the table where it is missing and may be made.
// Settings that are not valid are errors of the methods, which wrap [ErrTable] or [ErrDialect].
func SQL(db *sql.DB, d Dialect, options ...SQLOption) *SQLStore {
	s := &SQLStore{db: db, dialect: d, table: DefaultTable, prepared: map[string]bool{}}
	for _, option := range options {
		if option != nil {
			option(s)
		}
	}
	if s.err = checkTable(d, s.table); s.err == nil && db == nil {
		s.err = errors.New("the *sql.DB is nil")
	}
	return s
}

const (
	headerNode = -1 // the node of a space's own row
	absentNode = -2 // of the one for numbers without a row
	maxNumber  = 1<<62 - 1
	maxHolder  = 128
	maxLayout  = 255
)

// The holder of a space's own row: what is around the identity fills the column, so that a narrower one is noticed before a grant is
// written to it.
const headerStart, headerEnd = "key space ", ": its layout, how many numbers were used, and until when; do not change or delete ...."

// headerRow is the row of a space itself.
type headerRow struct {
	space, holder string
	from, until   int64 // see the statements
	layout        string
}

func (h headerRow) String() string {
	return fmt.Sprintf("(space %q, holder %q, from_tick %d, until_tick %d, layout %q)", h.space, h.holder, h.from, h.until, h.layout)
}

// id returns the identity of the space, and whether the row is as one that addHeader writes.
func (h headerRow) id() (string, bool) {
	rest, started := strings.CutPrefix(h.holder, headerStart)
	id, ended := strings.CutSuffix(rest, headerEnd)
	if !started || !ended || len(h.holder) != maxHolder || h.from < maxNumber || h.until < math.MaxInt64-Forever {
		return "", false
	}
	return id, true
}

// made returns how many rows were added, and mark the greatest until of any.
func (h headerRow) made() int64 { return math.MaxInt64 - h.from }
func (h headerRow) mark() int64 { return math.MaxInt64 - h.until }

// Prepare is [Store.Prepare]. It also sees to it that the table is where it was, that the database keeps what it has committed, and at first
// that no other table has the space. It needs the right to make tables only where there is none yet, else SELECT, INSERT and UPDATE. The
// error wraps [ErrTable] when the table has no primary key (space, node), or does not give back what is written to it; it is a
// [*TableError] when the table is missing or may not be used, and wraps [ErrTwoTables], [ErrMoved], [ErrUnsafe] or [ErrReadOnly] for these.
func (s *SQLStore) Prepare(ctx context.Context, space, layout string) (inForce string, err error) {
	defer func() { err = s.explain(ctx, err, "preparing space %q", space) }()
	if err := s.check(space); err != nil {
		return "", err
	}
	if len(layout) > maxLayout || !printable(layout) {
		return "", fmt.Errorf("the layout %q is not up to %d printable ASCII characters", layout, maxLayout)
	}
	at, warnings, err := s.locate(ctx, space)
	if err != nil {
		return "", err
	}
	found, err := s.headers(ctx, at, space)
	if err != nil {
		return "", s.tableError(at, err)
	}
	// Of processes that add the row at once, some may fail under the stricter isolation levels, and find it then.
	for attempt := 1; len(found) == 0; attempt++ {
		var added []headerRow
		if added, err = s.addHeader(ctx, at, space, layout); err == nil {
			found = added
			// Another process may have added one to another table since this one looked. Both look again, so that one of them sees it.
			if at, warnings, err = s.locate(ctx, space); err != nil {
				return "", err
			}
			break
		}
		if errors.Is(err, ErrTable) {
			return "", err
		}
		if found, _ = s.headers(ctx, at, space); len(found) == 0 && (attempt == 3 || ctx.Err() != nil) {
			return "", s.tableError(at, err)
		}
	}
	_, valid := found[0].id()
	switch h := found[0]; {
	case len(found) > 1:
		return "", noPrimaryKey(len(found))
	case h.space != space:
		return "", fmt.Errorf("%w: it holds the space %q for %q; its text columns have to be compared exactly", ErrTable, h.space, space)
	case !valid:
		return "", fmt.Errorf("%w: the space's own row is not as it was written: read %v", ErrTable, h)
	default:
		if err := s.mend(ctx, at, space); err != nil {
			return "", s.tableError(at, err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.prepared[space], s.warnings = true, warnings
		return h.layout, nil
	}
}

// locate finds the table, makes it where there is none, and looks at what it relies on. At first it refuses a second table of the space;
// later that is a warning, lest a table that somebody makes elsewhere ends the processes that run.
func (s *SQLStore) locate(ctx context.Context, space string) (at *settled, warnings []string, err error) {
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
	if !at.Exists {
		if err := s.create(ctx, at); err != nil {
			return nil, nil, err
		}
		return s.locate(ctx, space) // as others, who may have made one elsewhere
	}
	s.settled.CompareAndSwap(nil, at)
	return at, warnings, nil
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
	kept, err := s.dialect.Storage(ctx, conn, at.At)
	if err != nil {
		return nil, err
	}
	for _, f := range append(findings, kept...) {
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
	switch s.dialect.Diagnose(err).Kind {
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
	err := s.transactBy(ctx, beginningAlone(s.dialect), func(conn *sql.Conn) error {
		unlock, err := s.dialect.LockTables(ctx, conn, s.table)
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
		return s.tableError(at, fmt.Errorf("making it: %w", err))
	}
	return nil
}

func noPrimaryKey(rows int) error {
	return fmt.Errorf("%w: %d rows for one node, so it has no PRIMARY KEY (space, node)", ErrTable, rows)
}

// headers returns the rows of a space itself: none, one, or more in a table that has no primary key. It reads them in a transaction that
// writes nothing before another one tries to write, so that nobody needs the right to write for a space that is there already.
func (s *SQLStore) headers(ctx context.Context, at *settled, space string) (found []headerRow, err error) {
	err = s.transact(ctx, func(conn *sql.Conn) error {
		found, err = readHeaders(ctx, conn, at, space)
		return err
	})
	return found, err
}

func readHeaders(ctx context.Context, conn *sql.Conn, at *settled, space string) (found []headerRow, err error) {
	err = dialect.Each(ctx, conn, at.texts.header, []any{space}, func(rows *sql.Rows) error {
		var h headerRow
		err := rows.Scan(&h.space, &h.holder, &h.from, &h.until, &h.layout)
		if err != nil && ctx.Err() == nil {
			err = fmt.Errorf("%w: %w", ErrTable, err) // a NULL, or what is no number
		}
		found = append(found, h)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the space's own row: %w", err)
	}
	return found, nil
}

// addHeader adds the row of the space itself if there is none, and returns what is there then. It leaves no row in a table that has
// not kept what was written.
func (s *SQLStore) addHeader(ctx context.Context, at *settled, space, layout string) (found []headerRow, err error) {
	err = s.transact(ctx, func(conn *sql.Conn) error {
		if err := s.makeDurable(ctx, conn); err != nil {
			return err
		}
		want := headerRow{space, headerStart + randomID() + headerEnd, math.MaxInt64, math.MaxInt64, layout}
		result, err := conn.ExecContext(ctx, at.texts.insert, space, headerNode, want.holder, want.from, want.until, layout)
		if err != nil {
			return fmt.Errorf("adding the space's own row: %w", err)
		}
		added, err := result.RowsAffected()
		if err != nil {
			return fmt.Errorf("adding the space's own row: counting rows: %w", err)
		}
		// Once more, and different: a primary key (space, node) is the only one that refuses that.
		if _, err := conn.ExecContext(ctx, at.texts.insert, space, headerNode, "", 0, 0, ""); err != nil {
			return fmt.Errorf("trying to add the space's own row twice: %w", err)
		}
		switch found, err = readHeaders(ctx, conn, at, space); {
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
	at, err := s.place(ctx)
	if err != nil {
		return Listing{}, err
	}
	err = s.transact(ctx, func(conn *sql.Conn) error {
		l = Listing{}
		made, rows := int64(0), int64(0)
		err := dialect.Each(ctx, conn, at.texts.list, []any{space, space, max(least, 0), most}, func(found *sql.Rows) error {
			var micros, number, from, until sql.NullInt64
			var holder sql.NullString
			if err := found.Scan(&micros, &rows, &number, &holder, &from, &until); err != nil {
				return err
			}
			if !micros.Valid {
				return errors.New("the database tells no time")
			}
			l.Now = time.UnixMicro(micros.Int64).UTC()
			switch {
			case !number.Valid: // the clock alone
			case !holder.Valid || !from.Valid || !until.Valid:
				return fmt.Errorf("%w: node %d has a NULL", ErrTable, number.Int64)
			case number.Int64 == absentNode:
				l.Absent = until.Int64
			case number.Int64 == headerNode:
				h := headerRow{holder: holder.String, from: from.Int64, until: until.Int64}
				l.ID, _ = h.id()
				made, l.Mark = h.made(), h.mark()
			default:
				l.Rows = append(l.Rows, Row{Number: number.Int64, Holder: holder.String, From: from.Int64, Until: until.Int64})
			}
			return nil
		})
		if l.ID != "" {
			l.Gone = max(0, made-rows)
		}
		return err
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
	case new.From < 0 || new.From > new.Until || new.Until > Forever:
		return false, fmt.Errorf("ticks %d to %d are no range of ticks up to 2^62", new.From, new.Until)
	case new.Holder == Absent || len(new.Holder) > maxHolder || !printable(new.Holder):
		return false, fmt.Errorf("the holder %q is not up to %d printable ASCII characters, other than %q", new.Holder, maxHolder, Absent)
	case old.Holder == new.Holder && old.Until == new.Until:
		return false, errors.New("the new row has the holder and the until of the old one")
	}
	at, err := s.place(ctx)
	if err != nil {
		return false, err
	}
	err = s.transact(ctx, func(conn *sql.Conn) error {
		swapped = false
		if err := s.makeDurable(ctx, conn); err != nil {
			return err
		}
		var result sql.Result
		var err error
		if old.Holder == Absent {
			result, err = conn.ExecContext(ctx, at.texts.insert, space, new.Number, new.Holder, new.From, new.Until, "")
		} else {
			result, err = conn.ExecContext(ctx, at.texts.swap, new.Holder, new.From, new.Until, space, new.Number, old.Holder, old.Until)
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
		if changed == 0 {
			return nil
		}
		if err := s.note(ctx, conn, at, space, old, new); err != nil {
			return err
		}
		swapped = true
		return nil
	})
	if errors.Is(err, errGone) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return swapped, nil
}

// errGone says that an added row may be one of those that are gone.
var errGone = errors.New("rows of the space are gone")

// note sees to what goes with a swap: the space's mark, and for a row that was added how many there are, that it is none of those that are gone, and
// that the table has kept it.
func (s *SQLStore) note(ctx context.Context, conn *sql.Conn, at *settled, space string, old, new Row) error {
	if old.Holder == Absent {
		if err := s.noteAdded(ctx, conn, at, space, new); err != nil {
			return err
		}
	}
	if new.Until == Forever {
		return nil
	}
	left := math.MaxInt64 - new.Until
	if _, err := conn.ExecContext(ctx, at.texts.mark, left, space, left); err != nil {
		return fmt.Errorf("raising the space's mark: %w", err)
	}
	return nil
}

// readGone returns what is known of rows that are gone.
func readGone(ctx context.Context, conn *sql.Conn, at *settled, space string) (l Listing, h headerRow, err error) {
	var rows int64
	if err := dialect.One(ctx, conn, at.texts.gone, []any{space, space, space}, &h.from, &h.until, &rows, &l.Absent); err != nil {
		return l, h, fmt.Errorf("counting the rows of the space: %w", err)
	}
	l.Mark, l.Gone = h.mark(), max(0, h.made()-rows)
	return l, h, nil
}

// mend has numbers without a row held, where some may be of rows that are gone, and counts the rows anew.
func (s *SQLStore) mend(ctx context.Context, at *settled, space string) error {
	gone := false
	err := s.transact(ctx, func(conn *sql.Conn) error {
		l, _, err := readGone(ctx, conn, at, space)
		gone = l.Gone > 0
		return err
	})
	if err != nil || !gone {
		return err
	}
	return s.transactBy(ctx, beginningAlone(s.dialect), func(conn *sql.Conn) error {
		l, h, err := readGone(ctx, conn, at, space)
		if err != nil || l.Gone == 0 {
			return err
		}
		if err := s.makeDurable(ctx, conn); err != nil {
			return err
		}
		for _, change := range []struct {
			text string
			args []any
		}{
			{at.texts.insert, []any{space, absentNode, "numbers without a row are held until until_tick, since rows were gone", 0, l.Mark, ""}},
			{at.texts.absent, []any{l.Mark, space, l.Mark}},
			{at.texts.mend, []any{h.from + l.Gone, space, h.from}},
		} {
			if _, err := conn.ExecContext(ctx, change.text, change.args...); err != nil {
				return fmt.Errorf("having numbers held whose rows are gone: %w", err)
			}
		}
		return nil
	})
}

func (s *SQLStore) noteAdded(ctx context.Context, conn *sql.Conn, at *settled, space string, new Row) error {
	result, err := conn.ExecContext(ctx, at.texts.count, space)
	if err != nil {
		return fmt.Errorf("counting the row that was added: %w", err)
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		return errors.Join(fmt.Errorf("%w: %d rows of the space itself, want one", ErrTable, n), err)
	}
	l, _, err := readGone(ctx, conn, at, space)
	if err != nil {
		return err
	}
	if l.held() > new.From {
		return errGone
	}
	if at.texts.echo == "" {
		return nil
	}
	var kept int
	if err := dialect.One(ctx, conn, at.texts.echo, []any{space, new.Number, new.Holder, new.From, new.Until}, &kept); err != nil {
		return fmt.Errorf("reading the row that was added: %w", err)
	}
	if kept != 1 {
		return fmt.Errorf("%w: wrote node %d from %d until %d with holder %q, and found %d such rows",
			ErrTable, new.Number, new.From, new.Until, new.Holder, kept)
	}
	return nil
}

// Record is [Store.Record]: a row of a node below -2.
func (s *SQLStore) Record(ctx context.Context, space string, loss Loss) (err error) {
	defer func() { err = s.explain(ctx, err, "recording a loss of space %q", space) }()
	if err := s.check(space); err != nil {
		return err
	}
	at, err := s.place(ctx)
	if err != nil {
		return err
	}
	for range 100 { // who else records one at once takes the number
		next := int64(absentNode - 1)
		added := int64(0)
		err := s.transactBy(ctx, beginningAlone(s.dialect), func(conn *sql.Conn) error {
			if err := s.makeDurable(ctx, conn); err != nil {
				return err
			}
			err := dialect.Each(ctx, conn, at.texts.losses, []any{space}, func(rows *sql.Rows) error {
				var node int64
				err := rows.Scan(&node, new(any), new(any), new(any), new(any))
				next = node - 1
				return err
			})
			if err != nil {
				return err
			}
			result, err := conn.ExecContext(ctx, at.texts.insert, space, next, loss.Holder, loss.From, loss.Until, fmt.Sprintf(lossLayout, loss.Number))
			if err != nil {
				return err
			}
			added, err = result.RowsAffected()
			return err
		})
		if err == nil && added == 1 {
			return nil
		}
		if fault := s.dialect.Diagnose(err); err != nil && (fault.Kind != dialect.Again || fault.Code == "" || s.dialect == SQLite) {
			return err
		}
		if !sleep(ctx, rand.N(firstWait/10)) {
			return errors.Join(ctx.Err(), err)
		}
	}
	return errors.New("others record losses all the time")
}

const lossLayout = "lost number %d"

// Losses is [Store.Losses].
func (s *SQLStore) Losses(ctx context.Context, space string) (losses []Loss, err error) {
	defer func() { err = s.explain(ctx, err, "listing losses of space %q", space) }()
	if err := s.check(space); err != nil {
		return nil, err
	}
	at, err := s.place(ctx)
	if err != nil {
		return nil, err
	}
	err = s.transact(ctx, func(conn *sql.Conn) error {
		losses = nil
		return dialect.Each(ctx, conn, at.texts.losses, []any{space}, func(rows *sql.Rows) error {
			var node int64
			var text string
			var l Loss
			if err := rows.Scan(&node, &l.Holder, &l.From, &l.Until, &text); err != nil {
				return err
			}
			if _, err := fmt.Sscanf(text, lossLayout, &l.Number); err != nil {
				return fmt.Errorf("%w: node %d has %q, which is no loss", ErrTable, node, text)
			}
			losses = append(losses, l)
			return nil
		})
	})
	return losses, err
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
	return &TableError{Table: at.At.String(), Statement: at.texts.create + ";", Err: errors.New("there is no such table")}
}

// Place returns where the table is: database, schema and table with dots between them; empty before Prepare or Locate has found it.
func (s *SQLStore) Place() string {
	if at := s.settled.Load(); at != nil {
		return at.At.String()
	}
	return ""
}

// Warnings returns what the last Prepare or Locate had to say of the database: settings with which it may lose what is committed when its machine
// crashes, and other tables that have the space.
func (s *SQLStore) Warnings() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.warnings
}

// Starved reports whether a call waits for a connection while all of the pool are in use, or on SQLite for the lock of another transaction: for
// statements, perhaps, that wait for a key.
func (s *SQLStore) Starved() bool {
	lasts := func(since int64, limit time.Duration) bool {
		return since != 0 && time.Since(time.Unix(0, since)) >= limit
	}
	stats := s.db.Stats()
	return lasts(s.starving.Load(), starvation) && stats.MaxOpenConnections > 0 && stats.InUse >= stats.MaxOpenConnections ||
		lasts(s.locking.Load(), lockStarvation)
}

// starvation is how long a call waits for a connection before it counts as starved, and lockStarvation for a lock, which a transaction that is written
// to a slow disk may take without.
const starvation, lockStarvation = 5 * time.Millisecond, 100 * time.Millisecond

// Space is a key space in a table.
type Space struct{ Name, Layout, ID string }

// Spaces returns the spaces that the table has, by name. It makes no table; the error is a [*TableError] when there is none, or it may
// not be read.
func (s *SQLStore) Spaces(ctx context.Context) (spaces []Space, err error) {
	defer func() { err = s.explain(ctx, err, "listing spaces") }()
	if s.err != nil {
		return nil, s.err
	}
	at, err := s.place(ctx)
	if err != nil {
		return nil, err
	}
	err = s.transact(ctx, func(conn *sql.Conn) error {
		spaces = nil
		return dialect.Each(ctx, conn, at.texts.spaces, nil, func(rows *sql.Rows) error {
			var space Space
			var h headerRow
			if err := rows.Scan(&space.Name, &space.Layout, &h.holder, &h.from, &h.until); err != nil {
				return err
			}
			space.ID, _ = h.id()
			spaces = append(spaces, space)
			return nil
		})
	})
	if err != nil {
		return nil, s.tableError(at, err)
	}
	return spaces, nil
}

// transact runs work in a transaction, again where the server has rolled it back because of others.
func (s *SQLStore) transact(ctx context.Context, work func(*sql.Conn) error) error {
	return s.transactBy(ctx, beginning(s.dialect), work)
}

// transactBy is transact with the statement that begins the transaction.
func (s *SQLStore) transactBy(ctx context.Context, begin string, work func(*sql.Conn) error) error {
	for attempt := 1; ; attempt++ {
		if s.dialect == SQLite {
			s.locking.Store(time.Now().UnixNano())
		}
		err := s.dialect.Transact(ctx, pool{s}, begin, work)
		s.locking.Store(0)
		if fault := s.dialect.Diagnose(err); fault.Kind != dialect.Again || fault.Code == "" || attempt == attempts || s.dialect == SQLite {
			return err
		}
		if !sleep(ctx, rand.N(firstWait)) {
			return err
		}
	}
}

// pool is the store's, and tells that a call waits for a connection of it.
type pool struct{ *SQLStore }

func (p pool) Conn(ctx context.Context) (*sql.Conn, error) {
	p.starving.Store(time.Now().UnixNano())
	defer p.starving.Store(0)
	return p.db.Conn(ctx)
}

func (p pool) Stats() sql.DBStats { return p.db.Stats() }

func (s *SQLStore) makeDurable(ctx context.Context, conn *sql.Conn) error {
	if s.dialect != Postgres {
		return nil
	}
	if _, err := conn.ExecContext(ctx, syncCommit); err != nil {
		return fmt.Errorf("setting synchronous_commit: %w", err)
	}
	return nil
}

// tableError makes an error of the database one of the table, where it says that the table is missing or may not be used.
func (s *SQLStore) tableError(at *settled, err error) error {
	if errors.Is(err, ErrTable) {
		return err
	}
	e := &TableError{Table: at.At.String(), Statement: at.texts.create + ";", Err: err}
	fault := s.dialect.Diagnose(err)
	switch fault.Kind {
	case dialect.Missing:
		if text := err.Error(); fault.Code == "42703" || fault.Code == "1054" || s.dialect == SQLite && strings.Contains(text, "no such column") {
			return fmt.Errorf("%w: %s is no table of grants: %w; rename it, or give the grants another table", ErrTable, at.At, err)
		}
	case dialect.Exhausted, dialect.Other:
		if fault.Code != "" { // a column is too narrow, or has to have a value: no statement here mends that
			return fmt.Errorf("%w: %s: %w", ErrTable, at.At, err)
		}
		return err
	case dialect.ReadOnly:
		if at.Exists {
			return err
		}
	case dialect.Denied:
		grants := fmt.Sprintf("GRANT SELECT, INSERT, UPDATE ON %s TO %s;", s.dialect.QuotePlace(at.At), at.Role)
		if s.dialect == Postgres {
			grants = fmt.Sprintf("GRANT USAGE ON SCHEMA %s TO %s;\n", s.dialect.QuoteAny(at.At.Schema), at.Role) + grants
		}
		if s.dialect == SQLite { // which has no accounts
			break
		}
		if at.Exists {
			e.Statement = grants
		} else { // or is there, and MySQL does not show it to who has no right on it
			e.Statement += "\n" + grants
		}
	default:
		return err
	}
	return e
}

// explain says what was being done when the error came, and that the context had ended where it had.
func (s *SQLStore) explain(ctx context.Context, err error, doing string, args ...any) error {
	if err == nil {
		return nil
	}
	if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) {
		err = fmt.Errorf("%w: %w", ended, err)
	}
	if s.dialect.Diagnose(err).Kind == dialect.ReadOnly && !errors.Is(err, ErrReadOnly) {
		err = fmt.Errorf("%w: %w", ErrReadOnly, err)
	}
	prefix := "grant: "
	for _, its := range []error{ErrTable, ErrDialect, ErrTwoTables, ErrMoved, ErrUnsafe, ErrReadOnly} {
		if errors.Is(err, its) {
			prefix = "" // they have it
		}
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
