package run

import (
	"context"
	"fmt"
	"math"

	"github.com/snowkey-go/snowkey/migrate/internal/journal"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// job is one action to be done: of a step, or of what undoes it.
type job struct {
	number int
	step   *plan.Step
	action *plan.Action
	row    journal.Step // as it was committed last
	begun  string       // the state of the row while it is done
	end    string       // and after that
}

// resumed tells whether the job was begun before, by this run or another.
func (j *job) resumed() bool { return j.row.State == j.begun }

// job returns that of an action, to be gone on with where the journal has it as begun.
func (r *runner) job(number int, step *plan.Step, action *plan.Action, begun, end string) *job {
	row := r.steps[number]
	if row.State != begun {
		row = journal.Step{Number: number, Title: step.String(), State: row.State, Cursor: math.MinInt64, Found: row.Found}
	}
	return &job{number, step, action, row, begun, end}
}

// do does a job, by its kind.
func (r *runner) do(ctx context.Context, j *job) error {
	r.progress.begin(j.number, len(r.p.Steps), j.step.String(), j.row.Rows, j.step.Rows)
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := r.lock.keep(ctx); err != nil {
		return err
	}
	if j.action.Kind != plan.Transactional && j.action.Kind != plan.Autocommit {
		r.looked = false
	}
	var err error
	switch j.action.Kind {
	case plan.Transactional:
		err = r.transactional(ctx, j)
	case plan.Autocommit:
		err = r.autocommit(ctx, j)
	case plan.Batch:
		err = r.batch(ctx, j)
	case plan.FillMap:
		err = r.fill(ctx, j)
	case plan.ReserveNode:
		err = r.reserve(ctx, j)
	case plan.Count:
		err = r.count(ctx, j)
	case plan.Digest:
		err = r.digest(ctx, j)
	case plan.Assert:
		err = r.assert(ctx, j)
	case plan.AssertStable:
		err = r.assertStable(ctx, j)
	case plan.Hold:
		r.surveyed = false
		if j.row.State != j.end { // else an earlier run has said that it stands here
			err = r.note(ctx, j, "")
		}
	}
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w (%v)", context.Cause(ctx), err)
	}
	return err
}

// commit does something in a transaction, together with the job's row, which it may change.
func (r *runner) commit(ctx context.Context, s *session, j *job, do func(row *journal.Step) error) error {
	var row journal.Step
	err := s.transact(ctx, func() error {
		row = j.row
		if err := do(&row); err != nil {
			return err
		}
		return r.journal.Put(ctx, s, row)
	})
	if err == nil {
		r.changed += row.Rows - j.row.Rows
		j.row, r.steps[j.number] = row, row
	}
	return err
}

// note writes that a job is at its end, which changes nothing but the journal.
func (r *runner) note(ctx context.Context, j *job, found string) error {
	row := j.row
	row.State = j.end
	if found != "" {
		row.Found = found
	}
	return r.within(ctx, j.action.Session, func(s *session) error {
		return r.put(ctx, s, j, row, "")
	})
}

// put writes a job's row, and a new fingerprint unless that is empty, in a transaction of its own.
func (r *runner) put(ctx context.Context, s *session, j *job, row journal.Step, fingerprint string) error {
	err := r.commit(ctx, s, j, func(now *journal.Step) error {
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
