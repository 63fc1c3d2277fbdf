package run

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/internal/journal"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// gatherFor is how long an AssertStable that has seen one value move goes on, within its window, to name the others that move too.
const gatherFor = time.Second

// window is the first look of an AssertStable.
type window struct {
	step  int // whose it is; 0: there was none
	first []sql.NullString
	began time.Time
}

// openWindow takes the first look of an AssertStable that is the first thing this run does, but for the hold that it passes. So the window runs while the run looks
// whether it may begin: writers that wait for the step after the window do not wait for both. An error is none here: what stands in the way is
// said by the preconditions.
func (r *runner) openWindow(ctx context.Context) {
	n := 1
	for n <= len(r.p.Steps) && (n == r.passedHold || r.steps[n].State == journal.StepDone) {
		n++
	}
	if n > len(r.p.Steps) || r.p.Steps[n-1].Do.Kind != plan.AssertStable {
		return
	}
	defer r.drop() // the pool may have no other connection
	s, err := r.open(ctx, r.p.Steps[n-1].Do.Session)
	if err != nil {
		return
	}
	defer s.close()
	if first, err := s.values(ctx, r.p.Steps[n-1].Do.Queries); err == nil {
		r.window = window{n, first, time.Now()}
	}
}

// assertStable asks queries for as long as the window is, and begins anew when it is run again. The schema is looked at within the window, so that
// the step after it, which writers may wait for, need not.
func (r *runner) assertStable(ctx context.Context, t *task) error {
	a := t.action
	err := r.within(ctx, a.Session, func(s *session) error {
		first, began := r.window.first, r.window.began
		if r.window.step != t.number {
			var err error
			if first, err = s.values(ctx, a.Queries); err != nil {
				return err
			}
			began = time.Now()
		}
		end := began.Add(a.Window)
		if err := r.checkSchema(ctx, s, "since the last step"); err != nil {
			return err
		}
		every := min(max(a.Window/10, 10*time.Millisecond), time.Second)
		moved := false
		for {
			left := time.Until(end)
			now, err := s.values(ctx, a.Queries)
			if err != nil {
				return err
			}
			if !moved && !slices.Equal(first, now) {
				moved = true
				end = time.Now().Add(max(min(left, gatherFor), 0))
				left = time.Until(end)
			}
			if left <= 0 {
				if moved {
					return r.moved(ctx, s, t, first, now, time.Since(began))
				}
				return nil
			}
			r.progress.left(left)
			if err := dialect.Sleep(ctx, min(every, left)); err != nil {
				return err
			}
		}
	})
	if err != nil {
		return err
	}
	if err := r.finishTask(ctx, t, ""); err != nil {
		return err
	}
	r.checked = true
	return nil
}

// values returns what queries for one value each give.
func (s *session) values(ctx context.Context, queries []plan.Query) ([]sql.NullString, error) {
	values := make([]sql.NullString, len(queries))
	for i, q := range queries {
		if err := s.QueryRowContext(ctx, q.SQL).Scan(&values[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", brief(q.SQL), err)
		}
	}
	return values, nil
}

// moved returns the error that names each value that has not stayed the same, how fast it moves, and who was seen to insert.
func (r *runner) moved(ctx context.Context, s *session, t *task, first, now []sql.NullString, within time.Duration) error {
	var moves []string
	for i, q := range t.action.Queries {
		if first[i] == now[i] {
			continue
		}
		move := fmt.Sprintf("%s moved from %s to %s", q, first[i].String, now[i].String)
		from, err := strconv.ParseInt(first[i].String, 10, 64)
		to, toErr := strconv.ParseInt(now[i].String, 10, 64)
		if err == nil && toErr == nil {
			move += fmt.Sprintf(", about %.1f a second", float64(to-from)/within.Seconds())
		}
		moves = append(moves, move)
	}
	err := fmt.Errorf("%w: within %s, of a window of %s, %s. %s", ErrAssertion, within.Round(time.Millisecond), t.action.Window, strings.Join(moves, "; "), t.action.OnFailure)
	if seen := s.inserters(ctx); seen != "" {
		err = fmt.Errorf("%w Sessions whose last statement is an INSERT: %s", err, seen)
	}
	return err
}

// inserters names the sessions of PostgreSQL whose last statement is an INSERT, and whose text the user may see. Nothing depends on it, so an
// error of it is none.
func (s *session) inserters(ctx context.Context) string {
	if s.r.dialect != dialect.Postgres {
		return ""
	}
	const query = `SELECT COALESCE(string_agg(DISTINCT w, '; '), '') FROM (SELECT concat_ws(' ', usename, 'from', COALESCE(host(client_addr), 'this machine'),
		'application', quote_literal(application_name)) AS w FROM pg_catalog.pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid() AND query ILIKE '%insert into%' AND state_change > now() - interval '1 minute' LIMIT 100) x`
	var seen string
	if err := s.QueryRowContext(ctx, query).Scan(&seen); err != nil {
		return ""
	}
	return seen
}
