package run

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/internal/journal"
	"github.com/snowkey-go/snowkey/migrate/internal/mapping"
)

// maxPasses is how often batches begin anew.
const maxPasses = 10

// batchFunc does a range of up to so many rows in the transaction of s. It moves the row's cursor and counts its rows; end tells that there was
// no range any more.
type batchFunc func(ctx context.Context, s *session, row *journal.Step, rows int) (end bool, err error)

// batch does an action's statements for one range after another.
func (r *runner) batch(ctx context.Context, t *task) error {
	return r.batches(ctx, t, func(ctx context.Context, s *session, row *journal.Step, rows int) (bool, error) {
		query, args := bind(r.dialect, t.action.Cursor, map[string]int64{"after": row.Cursor, "rows": int64(rows)})
		var upto sql.NullInt64
		if err := s.QueryRowContext(ctx, query, args...).Scan(&upto); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return false, fmt.Errorf("%s: %w", brief(t.action.Cursor), err)
		}
		if !upto.Valid {
			return r.nextPass(ctx, s, t, row)
		}
		if upto.Int64 <= row.Cursor {
			return false, fmt.Errorf("%w: the range after %d ends at %d: %s", ErrPlan, row.Cursor, upto.Int64, brief(t.action.Cursor))
		}
		if err := s.runAll(ctx, t.action.Before); err != nil {
			return false, err
		}
		for _, text := range t.action.SQL {
			query, args := bind(r.dialect, text, map[string]int64{"after": row.Cursor, "upto": upto.Int64})
			n, err := s.run(ctx, query, args...)
			if err != nil {
				return false, err
			}
			row.Rows += n
		}
		row.Cursor = upto.Int64
		return false, s.runAll(ctx, t.action.After)
	})
}

// nextPass begins anew when rows have come meanwhile.
func (r *runner) nextPass(ctx context.Context, s *session, t *task, row *journal.Step) (end bool, err error) {
	if t.action.Remaining == "" {
		return true, nil
	}
	left, err := s.number(ctx, t.action.Remaining)
	if err != nil || left <= 0 {
		return err == nil, err
	}
	if row.Pass >= maxPasses {
		return false, fmt.Errorf("%w: after %d passes %d rows are left still: something goes on making them. %s", ErrAssertion, maxPasses, left, t.action.OnFailure)
	}
	row.Pass++
	row.Cursor = math.MinInt64
	return false, nil
}

// fillMap fills the map of a key.
func (r *runner) fillMap(ctx context.Context, t *task) error {
	k := r.p.Key(t.action.Table)
	if !t.resumed() && !r.surveyed {
		if err := r.survey(ctx, *k); err != nil {
			return err
		}
	}
	var filler *mapping.Filler
	var filled int64 // up to which it has filled; the cursor is another when that was not committed
	return r.batches(ctx, t, func(ctx context.Context, s *session, row *journal.Step, rows int) (end bool, err error) {
		if filler == nil || row.Cursor != filled {
			filled = row.Cursor
			err := r.retryStalePlan(func() (err error) {
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

// batches does ranges, one transaction each, until one was the last. Ranges are as large as fits the target, smaller after a
// lock that was waited for in vain, and pause for throttle and replicas.
func (r *runner) batches(ctx context.Context, t *task, do batchFunc) error {
	size := newBatchSize(r.o)
	for t.row.State != t.end {
		if err := r.awaitReplicas(ctx); err != nil {
			return err
		}
		if err := r.lock.ensure(ctx); err != nil {
			return err
		}
		var took time.Duration
		err := r.within(ctx, t.action.Session, func(s *session) error {
			began := time.Now()
			err := r.commitStep(ctx, s, t, func(row *journal.Step) error {
				row.State = t.begun
				end, err := do(ctx, s, row, size.rows)
				if end && err == nil {
					row.State = t.end
				}
				return err
			})
			if err != nil {
				size.blocked()
			}
			took = time.Since(began)
			return err
		})
		if err != nil {
			return err
		}
		size.took(took)
		r.progress.rows(t.row.Rows)
		if t.row.State == t.end {
			return nil
		}
		if err := size.rest(ctx, took); err != nil {
			return err
		}
	}
	return nil
}

// The bounds of a range's rows, and how many the first has.
const (
	minRows   = 1
	firstRows = 500
	maxRows   = 1_000_000
)

// batchSize is how many rows a range has, so that it takes about as long as it should.
type batchSize struct {
	target   time.Duration
	throttle float64
	rows     int
}

func newBatchSize(o Options) *batchSize { return &batchSize{o.Target, o.Throttle, firstRows} }

// took says how long a range has taken. The next has at least half and at most twice as many rows.
func (b *batchSize) took(d time.Duration) {
	factor := 2.0
	if d > 0 {
		factor = min(max(float64(b.target)/float64(d), 0.5), 2)
	}
	b.rows = min(max(int(float64(b.rows)*factor), minRows), maxRows)
}

// blocked says that a range met the lock of another: smaller ones hold fewer.
func (b *batchSize) blocked() { b.rows = max(b.rows/2, minRows) }

// rest pauses for the throttle's share of the time, after a range that has taken d.
func (b *batchSize) rest(ctx context.Context, d time.Duration) error {
	if b.throttle == 0 {
		return ctx.Err()
	}
	return dialect.Sleep(ctx, time.Duration(float64(d)*b.throttle/(1-b.throttle)))
}

// marks finds a range's tokens, such as :after, and what is none though it looks like one: in quotes of any kind, which may be open, and ::rows.
var marks = regexp.MustCompile("'[^']*'?|\"[^\"]*\"?|`[^`]*`?|:+[_\\pL\\pN]+")

// bind returns a statement with a range's tokens as parameters of the dialect's, and their values in order. PostgreSQL would take a parameter's
// type from the column that it is compared with, which may be narrower than the least int64, so its type is said there.
func bind(d dialect.Dialect, text string, values map[string]int64) (query string, args []any) {
	query = marks.ReplaceAllStringFunc(text, func(found string) string {
		value, ok := values[strings.TrimPrefix(found, ":")]
		if !ok {
			return found
		}
		args = append(args, value)
		if d == dialect.Postgres {
			return fmt.Sprintf("CAST($%d AS bigint)", len(args))
		}
		return "?"
	})
	return query, args
}
