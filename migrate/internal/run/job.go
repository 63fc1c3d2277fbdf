package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

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
		row = journal.Step{Number: number, Title: step.Title, State: row.State, Cursor: math.MinInt64, Found: row.Found}
	}
	return &job{number, step, action, row, begun, end}
}

// do does a job, by its kind.
func (r *runner) do(ctx context.Context, j *job) error {
	r.progress.begin(j.number, len(r.p.Steps), j.step.Title, j.row.Rows, j.step.Rows)
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := r.lock.keep(ctx); err != nil {
		return err
	}
	if j.action.Kind != plan.Together && j.action.Kind != plan.Apart {
		r.looked = false
	}
	var err error
	switch j.action.Kind {
	case plan.Together:
		err = r.together(ctx, j)
	case plan.Apart:
		err = r.apart(ctx, j)
	case plan.Batch:
		err = r.batch(ctx, j)
	case plan.Map:
		err = r.fill(ctx, j)
	case plan.Reserve:
		err = r.reserve(ctx, j)
	case plan.Count:
		err = r.count(ctx, j)
	case plan.Digest:
		err = r.digest(ctx, j)
	case plan.Expect:
		err = r.expect(ctx, j)
	case plan.Steady:
		err = r.steady(ctx, j)
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

// sound returns an error that wraps [ErrPlan] when an action is of no known kind, or lacks what its kind needs.
func sound(p *plan.Plan) error {
	for i := range p.Steps {
		for _, a := range []*plan.Action{&p.Steps[i].Do, p.Steps[i].Undo} {
			if a == nil {
				continue
			}
			if err := complete(p, a); err != nil {
				return fmt.Errorf("%w: step %d (%s): %w", ErrPlan, i+1, p.Steps[i].Title, err)
			}
		}
	}
	return nil
}

func complete(p *plan.Plan, a *plan.Action) error {
	switch a.Kind {
	case plan.Together:
		if len(a.SQL) == 0 {
			return errors.New("no statement")
		}
	case plan.Apart:
		if effects := a.Effects(); len(a.SQL) == 0 || len(effects) != len(a.SQL) || slices.Contains(effects, "") || len(a.SQL) > 1 && len(a.Repair) > 0 {
			return errors.New("want one statement, and a query for whether it was run; or several with one each, and no repair")
		}
	case plan.Batch:
		if len(a.SQL) == 0 || a.Cursor == "" {
			return errors.New("want statements, and a query for their ranges")
		}
	case plan.Map:
		if p.Key(a.Table) == nil {
			return fmt.Errorf("the plan has no key of the table %s", a.Table)
		}
	case plan.Count, plan.Expect:
		if err := a.Asks(); err != nil {
			return err
		}
		return alike(p, a)
	case plan.Steady:
		return a.Asks()
	case plan.Hold:
		return named(p, a)
	case plan.Reserve, plan.Digest:
	default:
		return fmt.Errorf("the kind %q is not known", a.Kind)
	}
	return nil
}

// alike returns an error when what an Expect is compared with is counted by no step.
func alike(p *plan.Plan, a *plan.Action) error {
	if a.Like == "" {
		return nil
	}
	i := slices.IndexFunc(p.Steps, func(s plan.Step) bool { return s.Title == a.Like && s.Do.Kind == plan.Count })
	if i < 0 {
		return fmt.Errorf("no step %q counts", a.Like)
	}
	for _, each := range a.Each {
		if !slices.Contains(p.Steps[i].Do.Each, each) {
			return fmt.Errorf("the step %q does not count the %s", a.Like, each)
		}
	}
	return nil
}
