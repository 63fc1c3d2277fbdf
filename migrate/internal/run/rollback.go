package run

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/snowkey-go/snowkey/migrate/internal/journal"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// Rollback undoes the steps that the journal has as done or begun, the last first. It can be killed and run again as Plan can. Steps that have
// no undo are left as they are; the plan says why. Outcome.Step is the last that was undone. A plan that is undone already is no error.
//
// The error wraps [ErrFinal] when a final step was done or begun, the journal's ErrState when the plan was never run, and otherwise what
// Plan's does.
func Rollback(ctx context.Context, db *sql.DB, p *plan.Plan, o Options) (Outcome, error) {
	if o.Dry {
		return Outcome{}, fmt.Errorf("%w: Dry is of Run alone", ErrOption)
	}
	return start(ctx, db, p, o, (*runner).backward)
}

// backward is the work of Rollback.
func (r *runner) backward(ctx context.Context, outcome *Outcome) error {
	if err := r.readJournal(ctx); err != nil {
		return err
	}
	if r.was == nil {
		return r.nothingToUndo(ctx, outcome)
	}
	for n, step := range r.p.Steps {
		if row, ok := r.steps[n+1]; ok && step.Final && row.State != journal.StepUndone {
			return fmt.Errorf("%w: step %d (%s) is %s. %s", ErrFinal, n+1, &step, row.State, step.Kept)
		}
	}
	if err := r.checkSinceLastRun(ctx, true); err != nil {
		return err
	}
	r.drop()
	if err := r.checkRights(ctx); err != nil {
		return err
	}
	if err := r.takeOver(ctx, journal.Undoing); err != nil {
		return err
	}
	for n := len(r.p.Steps); n > 0; n-- {
		row, ok := r.steps[n]
		if !ok || row.State == journal.StepUndone {
			continue
		}
		if err := r.undo(ctx, n); err != nil {
			return r.stepError(n, "rollback", err)
		}
		outcome.Step = n
	}
	var err error
	if outcome.Warnings, err = CounterWarnings(ctx, r.db, r.p); err != nil {
		return r.stepError(1, "rollback", err)
	}
	if err := r.finish(ctx, journal.Undone); err != nil {
		return r.stepError(1, "rollback", err)
	}
	outcome.Done, outcome.Undid = true, len(r.steps)
	return nil
}

// nothingToUndo is the end of a rollback that has nothing to undo: the plan is undone or has no steps, which is fine, or was never
// begun.
func (r *runner) nothingToUndo(ctx context.Context, outcome *Outcome) error {
	if len(r.p.Steps) == 0 {
		if err := r.checkDatabase(ctx); err != nil {
			return err
		}
		outcome.Done = true
		return nil
	}
	plans, steps, err := journal.Read(ctx, r.db, r.dialect, r.hash)
	if err != nil {
		return err
	}
	for _, p := range plans {
		if p.Hash == r.hash {
			outcome.Done, outcome.Undid = true, len(steps)
			return nil
		}
	}
	return fmt.Errorf("%w: this plan was never run on this database, or a later plan for its tables has taken its place: there is nothing to roll back", journal.ErrState)
}

// undo undoes a step.
func (r *runner) undo(ctx context.Context, n int) error {
	step := &r.p.Steps[n-1]
	if r.steps[n].State == journal.StepBegun && step.Do.Kind == plan.Autocommit {
		applied, err := r.settleBegun(ctx, n, step)
		if err != nil || !applied {
			return err
		}
	}
	if step.Undo == nil {
		t := r.task(n, step, &step.Do, journal.StepUndoing, journal.StepUndone)
		r.progress.begin(n, len(r.p.Steps), step.String(), 0, 0)
		if err := ctx.Err(); err != nil {
			return err
		}
		return r.finishTask(ctx, t, "")
	}
	return r.do(ctx, r.task(n, step, step.Undo, journal.StepUndoing, journal.StepUndone))
}

// settleBegun finds out whether a statement that was begun has its effect. If so the step is done, else undone, without what an attempt may have
// left. Of several some may have theirs: then the step counts as done, and its undo passes over those that have none.
func (r *runner) settleBegun(ctx context.Context, n int, step *plan.Step) (applied bool, err error) {
	err = r.within(ctx, step.Do.Session, func(s *session) error {
		if err := r.lockStatements(ctx, s); err != nil {
			return err
		}
		missing, err := s.missingEffect(ctx, &step.Do)
		if err != nil {
			return err
		}
		applied = missing == "" || len(step.Do.SQL) > 1
		row := r.steps[n]
		row.State = journal.StepDone
		if !applied {
			row.State = journal.StepUndone
			if err := r.repair(ctx, s, &step.Do); err != nil {
				return err
			}
		}
		fingerprint, err := r.readFingerprint(ctx, s)
		if err != nil {
			return err
		}
		return r.writeStep(ctx, s, &task{number: n, row: row}, row, fingerprint)
	})
	return applied, err
}
