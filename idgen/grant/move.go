package grant

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
)

// errNotMoved says that a space is not as Move was told.
var errNotMoved = errors.New("the space is another one, or has changed")

// Move is [Store.Move], in one transaction. It first takes the lock of the space's own row, which each swap that adds a row or raises the mark waits for.
func (s *SQLStore) Move(ctx context.Context, space, to, old, new string, most int64) (moved bool, err error) {
	defer func() { err = s.explain(ctx, err, "moving space %q to %q", space, to) }()
	if err := errors.Join(s.check(space), s.check(to), CheckLayout(new)); err != nil {
		return false, err
	}
	at, err := s.place(ctx)
	if err != nil {
		return false, err
	}
	err = s.transactBy(ctx, s.dialect.BeginWrite(), func(conn *sql.Conn) error {
		if err := s.makeDurable(ctx, conn); err != nil {
			return err
		}
		result, err := conn.ExecContext(ctx, at.texts.name, new, space, old)
		if err != nil {
			return fmt.Errorf("changing the space's own row: %w", err)
		}
		if named, err := result.RowsAffected(); err != nil || named == 0 {
			return errors.Join(err, errNotMoved)
		}
		there, err := readHeaders(ctx, conn, at, to)
		if err != nil {
			return err
		}
		l, _, err := readGone(ctx, conn, at, space)
		if err != nil {
			return err
		}
		if len(there) > 0 || l.Mark > most {
			return errNotMoved
		}
		for _, change := range []struct {
			text string
			args []any
		}{
			{at.texts.copy, []any{to, space}},
			{at.texts.move, []any{to, space}},
			{at.texts.empty, []any{int64(math.MaxInt64), int64(math.MaxInt64), space}},
			{at.texts.insert, []any{space, absentNode, "the rows of this space have the name " + to, 0, int64(Forever), ""}},
		} {
			if _, err := conn.ExecContext(ctx, change.text, change.args...); err != nil {
				return fmt.Errorf("moving the rows: %w", err)
			}
		}
		return nil
	})
	if errors.Is(err, errNotMoved) {
		return false, nil
	}
	return err == nil, err
}
