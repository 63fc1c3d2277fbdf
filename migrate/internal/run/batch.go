package run

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/snowkey-go/snowkey/migrate/internal/journal"
	"github.com/snowkey-go/snowkey/migrate/internal/mapping"
)

// mostPasses is how often batches begin anew.
const mostPasses = 10

// round does a range of up to so many rows in the transaction of s. It moves the row's cursor and counts its rows; end tells that there was
// no range any more.
type round func(ctx context.Context, s *session, row *journal.Step, rows int) (end bool, err error)

// batch does an action's statements for one range after another.
func (r *runner) batch(ctx context.Context, j *job) error {
	return r.rounds(ctx, j, func(ctx context.Context, s *session, row *journal.Step, rows int) (bool, error) {
		query, args := bind(r.dialect, j.action.Cursor, map[string]int64{"after": row.Cursor, "rows": int64(rows)})
		var upto sql.NullInt64
		if err := s.QueryRowContext(ctx, query, args...).Scan(&upto); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return false, fmt.Errorf("%s: %w", brief(j.action.Cursor), err)
		}
		if !upto.Valid {
			return r.passed(ctx, s, j, row)
		}
		if upto.Int64 <= row.Cursor {
			return false, fmt.Errorf("%w: the range after %d ends at %d: %s", ErrPlan, row.Cursor, upto.Int64, brief(j.action.Cursor))
		}
		if err := s.runAll(ctx, j.action.Before); err != nil {
			return false, err
		}
		for _, text := range j.action.SQL {
			query, args := bind(r.dialect, text, map[string]int64{"after": row.Cursor, "upto": upto.Int64})
			n, err := s.run(ctx, query, args...)
			if err != nil {
				return false, err
			}
			row.Rows += n
		}
		row.Cursor = upto.Int64
		return false, s.runAll(ctx, j.action.After)
	})
}

// passed begins anew when rows have come meanwhile.
func (r *runner) passed(ctx context.Context, s *session, j *job, row *journal.Step) (end bool, err error) {
	if j.action.Remaining == "" {
		return true, nil
	}
	left, err := s.number(ctx, j.action.Remaining)
	if err != nil || left <= 0 {
		return err == nil, err
	}
	if row.Pass >= mostPasses {
		return false, fmt.Errorf("%w: after %d passes %d rows are left still: something goes on making them. %s", ErrExpected, mostPasses, left, j.action.OnFailure)
	}
	row.Pass++
	row.Cursor = math.MinInt64
	return false, nil
}

// fill fills the map of a key.
func (r *runner) fill(ctx context.Context, j *job) error {
	k := r.p.Key(j.action.Table)
	if !j.resumed() && !r.surveyed {
		if err := r.survey(ctx, *k); err != nil {
			return err
		}
	}
	var filler *mapping.Filler
	var filled int64 // up to which it has filled; the cursor is another when that was not committed
	return r.rounds(ctx, j, func(ctx context.Context, s *session, row *journal.Step, rows int) (end bool, err error) {
		if filler == nil || row.Cursor != filled {
			filled = row.Cursor
			err := r.replanned(func() (err error) {
				filler, err = mapping.NewFiller(ctx, r.db, r.p, *k)
				return err
			})
			if err != nil {
				return false, err
			}
		}
		upto, mapped, done, err := filler.Fill(ctx, s, row.Cursor, rows)
		if err != nil {
			filler = nil // as it is of no use any more
			return false, err
		}
		row.Rows += mapped
		if !done {
			row.Cursor, filled = upto, upto
		}
		return done, nil
	})
}

// rounds does rounds, one transaction each, until one says that it was the last. They are as large as fits the target, smaller after a
// lock that was waited for in vain, and pause for throttle and replicas.
func (r *runner) rounds(ctx context.Context, j *job, do round) error {
	pace := newPace(r.o)
	var s *session
	defer func() {
		if s != nil {
			s.close()
		}
	}()
	for j.row.State != j.end {
		if err := r.follow(ctx); err != nil {
			return err
		}
		if err := r.lock.keep(ctx); err != nil {
			return err
		}
		var took time.Duration
		err := r.patient(ctx, func() (err error) {
			if s != nil && s.broken {
				s.close()
				s = nil
			}
			if s == nil {
				if s, err = r.open(ctx, j.action.Session); err != nil {
					return err
				}
			}
			began := time.Now()
			if err := r.round(ctx, s, j, do, pace.rows); err != nil {
				pace.blocked()
				return err
			}
			took = time.Since(began)
			return nil
		})
		if err != nil {
			return err
		}
		pace.took(took)
		r.progress.rows(j.row.Rows)
		if j.row.State == j.end {
			return nil
		}
		if err := pace.rest(ctx, took); err != nil {
			return err
		}
	}
	return nil
}

// round does one.
func (r *runner) round(ctx context.Context, s *session, j *job, do round, rows int) error {
	return r.commit(ctx, s, j, func(row *journal.Step) error {
		row.State = j.begun
		end, err := do(ctx, s, row, rows)
		if end && err == nil {
			row.State = j.end
		}
		return err
	})
}
