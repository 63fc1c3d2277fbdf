package run

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/internal/journal"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// runner does the steps of a plan, or undoes them. It is used by one goroutine.
type runner struct {
	db          *sql.DB
	dialect     dialect.Dialect
	catalog     *catalog.Catalog
	p           *plan.Plan
	o           Options
	hash        string
	names       []catalog.Name // whose fingerprint it is
	lock        *lock
	journal     *journal.Writer
	was         *journal.Plan // the plan's row when the run began; nil when there was none, or an undone one
	undone      bool          // the plan was rolled back to its end
	steps       map[int]journal.Step
	fingerprint string   // of the schema after the last step that was done or undone
	checked     bool     // the schema was seen to be that after the step before, which was the last thing that was done
	kept        *session // that the action before has left, for the next one with the same settings; nil when there is none
	last        *session // that was opened last
	progress    progress
	changed     int64  // rows, by this run
	surveyed    bool   // the rows to be mapped were surveyed by this run, which has passed no hold since
	passedHold  int    // the step of the hold that this run passes, for it stood there when it began; 0: none
	window      window // of the step that this run begins with
	owner       bool   // the plan is this runner's
}

// Plan runs a plan: it does the steps that the journal does not have as done. When the context ends it stops after what it is in the middle of, or rolls that
// back; the error is the context's then. A plan that is done already is no error,
// nor is one without steps, of which the journal says nothing.
//
// The error wraps, before anything is written, [ErrDatabase], [ErrSchema], [ErrRights], [ErrDisk], [ErrOption], [HoldError], [ErrPlan],
// mapping.ErrRefused, grant's ErrUnsafe, ErrTwoTables, ErrTable or ErrReadOnly of the plan's node, or the journal's ErrRunning, ErrOther and ErrState; and later [ErrAssertion], [ErrLocked], [ErrSchema], the journal's
// ErrLost, or the database's. It says how to go on.
func Plan(ctx context.Context, db *sql.DB, p *plan.Plan, o Options) (Outcome, error) {
	return start(ctx, db, p, o, (*runner).forward)
}

// start prepares a runner, and lets it do its work.
func start(ctx context.Context, db *sql.DB, p *plan.Plan, o Options, work func(*runner, context.Context, *Outcome) error) (outcome Outcome, err error) {
	began := time.Now()
	r, err := newRunner(db, p)
	if err != nil {
		return Outcome{}, err
	}
	if r.o, err = o.complete(r.dialect); err != nil {
		return Outcome{}, err
	}
	if err := r.checkConnections(); err != nil {
		return Outcome{}, err
	}
	if err := p.Validate(); err != nil {
		return Outcome{}, fmt.Errorf("%w: %w", ErrPlan, err)
	}
	if r.lock, err = newLock(ctx, db, r.dialect); err != nil {
		return Outcome{}, err
	}
	defer r.lock.release()
	defer r.drop() // before the lock is free
	r.progress.tell = o.Progress
	if r.journal, err = journal.NewWriter(r.dialect, r.hash); err != nil {
		return Outcome{}, err
	}
	defer r.journal.Close()
	err = work(r, ctx, &outcome)
	if left := r.release(ctx); err == nil { // otherwise the reason may be the same
		err = left
	}
	outcome.Rows, outcome.Took = r.changed, time.Since(began)
	if err != nil && ctx.Err() != nil && !errors.Is(err, context.Cause(ctx)) {
		err = fmt.Errorf("%w (%v)", context.Cause(ctx), err) // what drivers say of a statement that was cut short is of many kinds
	}
	return outcome, err
}

// newRunner returns one that can look, but has no lock yet.
func newRunner(db *sql.DB, p *plan.Plan) (r *runner, err error) {
	d, ok := dialect.Lookup(p.Database.Kind)
	if !ok {
		return nil, fmt.Errorf("%w: its database is of the kind %q", ErrPlan, p.Database.Kind)
	}
	r = &runner{db: db, dialect: d, p: p}
	if r.catalog, err = catalog.New(db, d); err != nil {
		return nil, err
	}
	if r.hash, err = p.Hash(); err != nil {
		return nil, err
	}
	for _, text := range p.Tables {
		name, err := catalog.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrPlan, err)
		}
		r.names = append(r.names, name)
	}
	return r, nil
}

// readJournal reads the journal. It wraps journal.ErrOther when another plan is not finished, and journal.ErrRunning when this one's runner is
// known to live.
func (r *runner) readJournal(ctx context.Context) error {
	plans, steps, err := journal.Read(ctx, r.db, r.dialect, r.hash)
	if err != nil {
		return err
	}
	if err := journal.Other(plans, r.hash); err != nil {
		return err
	}
	r.steps = map[int]journal.Step{}
	for i := range plans {
		if plans[i].Hash != r.hash {
			continue
		}
		if r.undone = plans[i].State == journal.Undone; !r.undone {
			r.was = &plans[i]
		}
	}
	if r.was == nil {
		r.fingerprint = r.p.Fingerprint
		return nil
	}
	r.fingerprint = r.was.Fingerprint
	if err := r.setSteps(steps); err != nil {
		return err
	}
	// Where sessions have locks, this one has it.
	if r.dialect == dialect.SQLite && r.was.State != journal.Done && journal.Alive(r.was.Runner) {
		return fmt.Errorf("%w: %s", journal.ErrRunning, r.was.Runner)
	}
	return nil
}

// setSteps takes the steps of the journal.
func (r *runner) setSteps(steps []journal.Step) error {
	r.steps = map[int]journal.Step{}
	for _, s := range steps {
		if s.Number < 1 || s.Number > len(r.p.Steps) {
			return fmt.Errorf("%w: the journal has a step %d, the plan has %d", ErrPlan, s.Number, len(r.p.Steps))
		}
		r.steps[s.Number] = s
	}
	return nil
}

// forward is the work of Plan.
func (r *runner) forward(ctx context.Context, outcome *Outcome) error {
	if err := r.readJournal(ctx); err != nil {
		return err
	}
	if r.was != nil {
		switch r.was.State {
		case journal.Done:
			*outcome = Outcome{Done: true, Step: len(r.p.Steps)}
			return nil
		case journal.Undoing:
			return fmt.Errorf("%w: the plan is being rolled back; roll it back to the end, then make a new plan", journal.ErrState)
		}
	}
	if err := r.findHold(); err != nil {
		return err
	}
	if !r.o.Dry {
		r.openWindow(ctx)
	}
	if err := r.preconditions(ctx); err != nil {
		return err
	}
	if len(r.p.Steps) == 0 { // there was nothing to do, and so there is nothing to keep
		outcome.Done = true
		return nil
	}
	if r.o.Dry {
		r.dryRun(outcome)
		return nil
	}
	if err := r.takeOver(ctx, journal.Running); err != nil {
		return err
	}
	for n := 1; n <= len(r.p.Steps); n++ {
		step := &r.p.Steps[n-1]
		if r.steps[n].State == journal.StepDone {
			outcome.Step = n
			continue
		}
		begun, end := journal.StepBegun, journal.StepDone
		held := step.Do.Kind == plan.Hold && n != r.passedHold
		if held {
			begun, end = journal.StepHeld, journal.StepHeld
		}
		if err := r.do(ctx, r.task(n, step, &step.Do, begun, end)); err != nil {
			return r.stepError(n, "run", err)
		}
		if held {
			outcome.Hold, outcome.Held = step.Do.Name, step.Do.Text
			return nil
		}
		outcome.Step = n
	}
	if err := r.finish(ctx, journal.Done); err != nil {
		return r.stepError(len(r.p.Steps), "run", err)
	}
	outcome.Done = true
	return nil
}

// dryRun says what a run would do.
func (r *runner) dryRun(outcome *Outcome) {
	for i, step := range r.p.Steps {
		switch {
		case r.steps[i+1].State == journal.StepDone:
			outcome.Step = i + 1
		case step.Do.Kind == plan.Hold && i+1 != r.passedHold:
			outcome.Hold, outcome.Held = step.Do.Name, step.Do.Text
			return
		default:
			outcome.Would = append(outcome.Would, i+1)
		}
	}
}

// takeOver makes this runner the plan's. It is the first thing that is written. The steps are read again then: taking the plan over waits for a
// transaction of the run before that the server had not ended yet, when that run was killed.
func (r *runner) takeOver(ctx context.Context, state journal.State) error {
	var text []byte // of a plan that the journal does not have
	if r.was == nil {
		var err error
		if text, err = r.p.Encode(); err != nil {
			return err
		}
	}
	err := r.within(ctx, nil, func(s *session) error {
		if err := journal.Create(ctx, s, r.dialect); err != nil {
			return err
		}
		return s.transactAs(ctx, func() error {
			if r.was != nil {
				return r.journal.Take(ctx, s, *r.was, state)
			}
			return r.journal.Begin(ctx, s, string(r.p.Mode), r.fingerprint, string(text), r.p.Tables)
		}, func() error { return nil })
	})
	if err != nil {
		return err
	}
	r.owner = true
	if r.was == nil {
		return nil
	}
	r.drop() // the pool may have no other connection
	_, steps, err := journal.Read(ctx, r.db, r.dialect, r.hash)
	if err != nil {
		return err
	}
	return r.setSteps(steps)
}

// leaving bounds how long a run that ends waits to say so.
const leaving = 5 * time.Second

// release writes that the plan is nobody's, if it is this runner's still. It is done when the context has ended, too.
func (r *runner) release(ctx context.Context) error {
	if !r.owner {
		return nil
	}
	r.owner = false
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaving)
	defer cancel()
	r.drop()
	s, err := r.open(ctx, nil)
	if err != nil {
		return err
	}
	defer s.close()
	return s.transact(ctx, func() error { return r.journal.Leave(ctx, s) })
}

// finish writes the plan's last state.
func (r *runner) finish(ctx context.Context, state journal.State) error {
	return r.within(ctx, nil, func(s *session) error {
		if err := s.transact(ctx, func() error { return r.journal.Finish(ctx, s, state) }); err != nil {
			return err
		}
		r.owner = false
		return nil
	})
}

// stepError says at which step it was, and how to go on. Of an end of the context, the error is the context's alone: drivers say it in many
// ways.
func (r *runner) stepError(number int, command string, err error) error {
	where := fmt.Sprintf("step %d of %d (%s)", number, len(r.p.Steps), &r.p.Steps[number-1])
	how := fmt.Sprintf("%s again goes on at step %d of %d", command, number, len(r.p.Steps))
	switch {
	case errors.Is(err, journal.ErrLost):
		how = "this one has stopped, and the other goes on"
	case errors.Is(err, ErrSchema):
		how = "undo that change, and " + how
	case errors.Is(err, ErrAssertion):
		how += ", and looks once more"
	}
	return fmt.Errorf("run: %s: %w; %s", where, err, how)
}
