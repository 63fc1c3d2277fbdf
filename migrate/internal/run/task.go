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

// resumed reports whether the task was begun before, by this run or another.
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
	if err := r.lock.ensure(ctx); err != nil {
		return err
	}
	if t.action.Kind != plan.Transactional && t.action.Kind != plan.Autocommit {
		r.checked = false
	}
	do := map[plan.Kind]func(context.Context, *task) error{
		plan.Transactional: r.transactional, plan.Autocommit: r.autocommit, plan.Batch: r.batch, plan.FillMap: r.fillMap, plan.ReserveNode: r.reserveNode,
		plan.Count: r.count, plan.Digest: r.digest, plan.Assert: r.assert, plan.AssertStable: r.assertStable, plan.Hold: r.hold,
	}[t.action.Kind] // plan.Validate knows no other kind
	err := do(ctx, t)
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w (%v)", context.Cause(ctx), err)
	}
	return err
}

// hold ends the part of a run that a survey of the rows is true for.
func (r *runner) hold(ctx context.Context, t *task) error {
	r.surveyed = false
	if t.row.State == t.end { // an earlier run has said that it stands here
		return nil
	}
	return r.finishTask(ctx, t, "")
}

// commitStep does something in a transaction, together with the task's row, which it may change.
func (r *runner) commitStep(ctx context.Context, s *session, t *task, do func(row *journal.Step) error) error {
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

// finishTask writes that a task is at its end, which changes nothing but the journal.
func (r *runner) finishTask(ctx context.Context, t *task, found string) error {
	row := t.row
	row.State = t.end
	if found != "" {
		row.Found = found
	}
	return r.within(ctx, t.action.Session, func(s *session) error {
		return r.writeStep(ctx, s, t, row, "")
	})
}

// writeStep writes a task's row, and a new fingerprint unless that is empty, in a transaction of its own.
func (r *runner) writeStep(ctx context.Context, s *session, t *task, row journal.Step, fingerprint string) error {
	err := r.commitStep(ctx, s, t, func(now *journal.Step) error {
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
