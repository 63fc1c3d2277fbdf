package grant

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dialect"
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

// Prepare is [Store.Prepare]. It also makes sure that the table is where it was, that the database keeps what it has committed, and at first
// that no other table has the space. It needs the right to make tables only where there is none yet, else SELECT, INSERT and UPDATE. The
// error wraps [ErrTable] when the table has no primary key (space, node), or does not give back what is written to it; it is a
// [*TableError] when the table is missing or may not be used, and wraps [ErrTwoTables], [ErrMoved], [ErrUnsafe] or [ErrReadOnly] for these.
func (s *SQLStore) Prepare(ctx context.Context, space, layout string) (inForce string, err error) {
	defer func() { err = s.explain(ctx, err, "preparing space %q", space) }()
	if err := s.check(space); err != nil {
		return "", err
	}
	if err := CheckLayout(layout); err != nil {
		return "", err
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
		if err := s.repair(ctx, at, space, h.layout); err != nil {
			return "", s.tableError(at, err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.prepared[space], s.warnings = true, warnings
		return h.layout, nil
	}
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

// readGone returns what is known of rows that are gone.
func readGone(ctx context.Context, conn *sql.Conn, at *settled, space string) (l Listing, h headerRow, err error) {
	var rows int64
	if err := dialect.One(ctx, conn, at.texts.gone, []any{space, space, space}, &h.from, &h.until, &rows, &l.Absent); err != nil {
		return l, h, fmt.Errorf("counting the rows of the space: %w", err)
	}
	l.Mark, l.Gone = h.mark(), max(0, h.made()-rows)
	return l, h, nil
}

// repair has numbers without a row held, where some may be of rows that are gone, and counts the rows anew. It counts under the lock of the space's own
// row, which no change then has between the row that it adds and the count of it: sessions may read what is not committed, and MariaDB is known to show one
// row of a commit without the other.
func (s *SQLStore) repair(ctx context.Context, at *settled, space, layout string) error {
	gone := false
	err := s.transact(ctx, func(conn *sql.Conn) error {
		l, _, err := readGone(ctx, conn, at, space)
		gone = l.Gone > 0
		return err
	})
	if err != nil || !gone {
		return err
	}
	return s.transactBy(ctx, s.dialect.BeginWrite(), func(conn *sql.Conn) error {
		if err := s.makeDurable(ctx, conn); err != nil {
			return err
		}
		if _, err := conn.ExecContext(ctx, at.texts.name, layout, space, layout); err != nil {
			return fmt.Errorf("locking the space's own row: %w", err)
		}
		l, h, err := readGone(ctx, conn, at, space)
		if err != nil || l.Gone == 0 {
			return err
		}
		for _, change := range []struct {
			text string
			args []any
		}{
			{at.texts.insert, []any{space, absentNode, "numbers without a row are held until until_tick, since rows were gone", 0, l.Mark, ""}},
			{at.texts.absent, []any{l.Mark, space, l.Mark}},
			{at.texts.recount, []any{h.from + l.Gone, space, h.from}},
		} {
			if _, err := conn.ExecContext(ctx, change.text, change.args...); err != nil {
				return fmt.Errorf("having numbers held whose rows are gone: %w", err)
			}
		}
		return nil
	})
}

// Space is a key space in a table.
type Space struct {
	Name     string
	Layout   string // the text form of the layouts that it has had and comes to have, see [idgen.Phases]
	ID       string
	StoredAs string // the name by which its rows are listed; another one after a change of the layout
}

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
			if err := rows.Scan(&space.StoredAs, &space.Layout, &h.holder, &h.from, &h.until); err != nil {
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
	return LatestSpaces(spaces), nil
}

// LatestSpaces returns, for a [Store] that lists its spaces, those that have not come to be by a change of a layout, in their order, each as it is stored now. It is
// given all that are stored, each with the name that it is stored as.
func LatestSpaces(stored []Space) (spaces []Space) {
	found := map[string]Space{}
	for _, space := range stored {
		found[space.StoredAs] = space
	}
	for _, space := range stored {
		name := space.StoredAs
		if strings.Contains(name, "~") {
			continue
		}
		for {
			phases, err := idgen.ParsePhases(space.Layout)
			moved, there := found[rowsName(name, phases)]
			if err != nil || !there || moved.StoredAs <= space.StoredAs {
				break
			}
			space = moved
		}
		space.Name = name
		spaces = append(spaces, space)
	}
	return spaces
}
