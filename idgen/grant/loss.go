package grant

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

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
		err := s.transactBy(ctx, s.dialect.BeginWrite(), func(conn *sql.Conn) error {
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
		if err != nil && !s.retryable(err) {
			return err
		}
		if ended := dialect.Sleep(ctx, rand.N(firstWait/10)); ended != nil {
			return errors.Join(ended, err)
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
