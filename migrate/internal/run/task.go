package run

import (
	"context"
	"fmt"
	"math"

	"github.com/snowkey-go/snowkey/migrate/internal/journal"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// task is one action to be done: of a step, or of what undoes it.
type task struct {
	number int
	step   *plan.Step
	action *plan.Action
	row    journal.Step // as it was committed last
	begun  string       // the state of the row while it is done
	end    string       // and after that
}

// resumed tells whether the task was begun before, by this run or another.
func (t *task) resumed() bool { return t.row.State == t.begun }

// task returns that of an action, to be gone on with where the journal has it as begun.
func (r *runner) task(number int, step *plan.Step, action *plan.Action, begun, end string) *task {
	row := r.steps[number]
	if row.State != begun {
		row = journal.Step{Number: number, Title: step.String(), State: row.State, Cursor: math.MinInt64, Found: row.Found}
	}
	return &task{number, step, action, row, begun, end}
}

// do does a task, by its kind.
func (r *runner) do(ctx context.Context, t *task) error {
	r.progress.begin(t.number, len(r.p.Steps), t.step.String(), t.row.Rows, t.step.Rows)
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := r.lock.keep(ctx); err != nil {
		return err
	}
	if t.action.Kind != plan.Transactional && t.action.Kind != plan.Autocommit {
		r.looked = false
	}
	var err error
	switch t.action.Kind {
	case plan.Transactional:
		err = r.transactional(ctx, t)
	case plan.Autocommit:
		err = r.autocommit(ctx, t)
	case plan.Batch:
		err = r.batch(ctx, t)
	case plan.FillMap:
		err = r.fill(ctx, t)
	case plan.ReserveNode:
		err = r.reserve(ctx, t)
	case plan.Count:
		err = r.count(ctx, t)
	case plan.Digest:
		err = r.digest(ctx, t)
	case plan.Assert:
		err = r.assert(ctx, t)
	case plan.AssertStable:
		err = r.assertStable(ctx, t)
	case plan.Hold:
		r.surveyed = false
		if t.row.State != t.end { // else an earlier run has said that it stands here
			err = r.note(ctx, t, "")
		}
	}
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w (%v)", context.Cause(ctx), err)
	}
	return err
}

// commit does something in a transaction, together with the task's row, which it may change.
func (r *runner) commit(ctx context.Context, s *session, t *task, do func(row *journal.Step) error) error {
	var row journal.Step
	err := s.transact(ctx, func() error {
		row = t.row
		if err := do(&row); err != nil {
			return err
		}
		return r.journal.Put(ctx, s, row)
	})
	if err == nil {
		r.changed += row.Rows - t.row.Rows
		t.row, r.steps[t.number] = row, row
	}
	return err
}

// note writes that a task is at its end, which changes nothing but the journal.
func (r *runner) note(ctx context.Context, t *task, found string) error {
	row := t.row
	row.State = t.end
	if found != "" {
		row.Found = found
	}
	return r.within(ctx, t.action.Session, func(s *session) error {
		return r.put(ctx, s, t, row, "")
	})
}

// put writes a task's row, and a new fingerprint unless that is empty, in a transaction of its own.
func (r *runner) put(ctx context.Context, s *session, t *task, row journal.Step, fingerprint string) error {
	err := r.commit(ctx, s, t, func(now *journal.Step) error {
		*now = row
		if fingerprint == "" || fingerprint == r.fingerprint {
			return nil
		}
		return r.journal.Fingerprint(ctx, s, fingerprint)
	})
	if err == nil && fingerprint != "" {
		r.fingerprint = fingerprint
	}
	return err
}
