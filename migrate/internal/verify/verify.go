package verify

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/snowkey-go/snowkey/migrate/internal/journal"
	"github.com/snowkey-go/snowkey/migrate/internal/mapping"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// Check is migrate.Check.
type Check struct {
	Name, Table, Column string
	Result              Result
	Want, Got, Text     string
	Examples            []string
}

// Result is migrate.Result.
type Result string

// The results of checks.
const (
	Passed  Result = "passed"
	Failed  Result = "failed"
	Unknown Result = "unknown"
	Skipped Result = "skipped"
)

// mostExamples is how many examples a check has at most.
const mostExamples = 1000

// verifier is one verification.
type verifier struct {
	*database
	steps   map[int]journal.Step // the journal's, by number
	checks  []Check
	tasks   []task
	changes map[string]change        // by table, of those whose digest was compared
	audits  map[string]mapping.Audit // by table, of those whose map was reviewed

	baselines map[plan.Subject]baseline // what Count steps have found
}

// task is some checks of one table or column.
type task struct {
	doing string
	do    func(context.Context) error
}

// Plan checks a plan that was run, to its end or to a hold. It returns all checks, in the plan's order of tables; that one has not passed is no error. The error
// is the database's or the context's, or wraps plan's for a plan that cannot be, or the journal's ErrState for one that was never run; there are no checks then.
func Plan(ctx context.Context, db *sql.DB, p *plan.Plan, progress func(done, of int, doing string)) ([]Check, error) {
	d, err := newDatabase(db, p)
	if err != nil {
		return nil, err
	}
	hash, err := p.Hash()
	if err != nil {
		return nil, err
	}
	plans, steps, err := journal.Read(ctx, db, d.dialect, hash)
	if err != nil {
		return nil, err
	}
	if stateOf(plans, hash) == "" && len(p.Steps) > 0 {
		return nil, fmt.Errorf("%w: this plan was never run on this database, or a later plan for its tables has taken its place: there is nothing to verify", journal.ErrState)
	}
	v := &verifier{database: d, steps: map[int]journal.Step{}, changes: map[string]change{}, audits: map[string]mapping.Audit{}, baselines: map[plan.Subject]baseline{}}
	for _, s := range steps {
		v.steps[s.Number] = s
	}
	if err := v.compareBaselines(); err != nil {
		return nil, err
	}
	for _, k := range p.Keys {
		v.add("the key of "+k.Table, func(ctx context.Context) error { return v.checkKey(ctx, k) })
		if k.Map != "" {
			v.add("the map of "+k.Table, func(ctx context.Context) error { return v.checkMap(ctx, k) })
		}
	}
	for _, r := range p.References {
		v.add("the values of "+name(r), func(ctx context.Context) error { return v.checkReference(ctx, r) })
	}
	v.add("the definitions", func(ctx context.Context) error { return v.checkDefinitions(ctx, stateOf(plans, hash)) })
	for i, t := range v.tasks {
		if progress != nil {
			progress(i, len(v.tasks), t.doing)
		}
		if err := t.do(ctx); err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	if progress != nil {
		progress(len(v.tasks), len(v.tasks), "")
	}
	return v.checks, nil
}

// stateOf returns the state of the plan of a hash, empty when the journal has none.
func stateOf(plans []journal.Plan, hash string) journal.State {
	i := slices.IndexFunc(plans, func(p journal.Plan) bool { return p.Hash == hash })
	if i < 0 {
		return ""
	}
	return plans[i].State
}

// add notes a task for later.
func (v *verifier) add(doing string, do func(context.Context) error) {
	v.tasks = append(v.tasks, task{doing, do})
}

// skip notes a check that cannot be made.
func (v *verifier) skip(c Check, why string) {
	c.Result, c.Text = Skipped, why
	v.checks = append(v.checks, c)
}

// compare notes a check that has passed when what was got is what was wanted.
func (v *verifier) compare(c Check, want, got, text string) {
	v.judge(c, want == got, want, got, text)
}

// judge notes a check that has passed or failed.
func (v *verifier) judge(c Check, passed bool, want, got, text string) {
	c.Result, c.Want, c.Got = Passed, want, got
	if !passed {
		c.Result, c.Text = Failed, text
	}
	v.checks = append(v.checks, c)
}

// unknown notes a check of something that the application may have done, or the plan.
func (v *verifier) unknown(c Check, want, got, text string) {
	c.Result, c.Want, c.Got, c.Text = Unknown, want, got, text
	v.checks = append(v.checks, c)
}

// zero notes a check that has passed when there are none of something.
func (v *verifier) zero(c Check, n int64, text string) {
	v.judge(c, n == 0, "0", fmt.Sprint(n), text)
}

// name returns a reference's name: its column, and the place in it.
func name(r plan.Reference) string {
	if r.Path != "" {
		return r.Table + "." + r.Column + ":" + r.Path
	}
	return r.Table + "." + r.Column
}

// whyMissing returns a sentence about the first step of some that is not done, empty when all are, and none when the plan has no such step.
func (v *verifier) whyMissing(none string, which func(plan.Step) bool) string {
	for i, s := range v.plan.Steps {
		if !which(s) {
			continue
		}
		none = ""
		if state := v.steps[i+1].State; state == "" {
			return fmt.Sprintf("step %d was not run yet: %s", i+1, &s)
		} else if state != journal.StepDone {
			return fmt.Sprintf("step %d is %s: %s", i+1, state, &s)
		}
	}
	return none
}

// whyMissingPhase is whyMissing for the steps of some phases.
func (v *verifier) whyMissingPhase(none string, phases ...string) string {
	return v.whyMissing(none, func(s plan.Step) bool { return slices.Contains(phases, s.Phase) })
}

// whyNotRewritten returns why rows cannot be expected to have their new ids; empty when they can.
func (v *verifier) whyNotRewritten() string {
	if v.plan.Mode == plan.Shadow {
		return v.whyMissingPhase("the plan has no swap", "swap")
	}
	return v.whyMissingPhase("the plan rewrites nothing", "rewrite")
}

// whyNotWidened returns why columns cannot be expected to have 64 bits.
func (v *verifier) whyNotWidened() string {
	if v.plan.Mode == plan.Shadow {
		return v.whyNotRewritten()
	}
	return v.whyMissingPhase("", "expand")
}

// whyNotSettled returns why foreign keys cannot be expected to be as they were: a step that is not done, of those that may drop them for a while.
func (v *verifier) whyNotSettled() string {
	if len(v.steps) == 0 {
		return "the plan was not run yet"
	}
	return v.whyMissing("", func(s plan.Step) bool { return s.Phase != "contract" && s.Do.Kind != plan.Hold })
}
