package run

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/migrate/internal/journal"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// findHold finds the hold that this run passes. The error is a [*HoldError].
func (r *runner) findHold() error {
	name := r.o.Continue
	if name == "" {
		return nil
	}
	if holds := r.p.Holds(); name != plan.Here && !slices.Contains(holds, name) {
		return &HoldError{reason: fmt.Sprintf("the plan has no hold %q, it has %s", name, cmp.Or(strings.Join(holds, ", "), "none"))}
	}
	next := 0 // the first step that is not done
	for n := 1; n <= len(r.p.Steps); n++ {
		step, state := &r.p.Steps[n-1], r.steps[n].State
		switch {
		case state == journal.StepHeld && (name == plan.Here || name == step.Do.Name):
			r.passedHold = n
			return nil
		case state == journal.StepHeld:
			return &HoldError{Stands: step.Do.Name, reason: fmt.Sprintf("the run stands at the hold %q, step %d of %d, and not at %q. %s Once that is done, continue with its name",
				step.Do.Name, n, len(r.p.Steps), name, step.Do.Text)}
		case state != journal.StepDone && next == 0:
			next = n
		}
	}
	where := "it was not begun"
	switch {
	case r.was != nil && next == 0:
		where = "it was ended after its last step"
	case r.was != nil:
		where = fmt.Sprintf("it was ended before step %d of %d (%s) was done", next, len(r.p.Steps), &r.p.Steps[next-1])
	}
	return &HoldError{reason: "the run stands at no hold that could be passed: " + where + "; run on, to the next one or to the end"}
}
