package run

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/migrate/internal/journal"
	"github.com/snowkey-go/snowkey/migrate/internal/verify"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// count writes the numbers that queries give to the journal.
func (r *runner) count(ctx context.Context, t *task) error {
	var numbers []int64
	err := r.within(ctx, t.action.Session, func(s *session) (err error) {
		numbers, err = s.numbers(ctx, t.action.Queries)
		return err
	})
	if err != nil {
		return err
	}
	found, err := plan.Found(numbers)
	if err != nil {
		return err
	}
	return r.finishTask(ctx, t, found)
}

// numbers returns what queries for one number each give.
func (s *session) numbers(ctx context.Context, queries []plan.Query) ([]int64, error) {
	numbers := make([]int64, len(queries))
	for i, q := range queries {
		var err error
		if numbers[i], err = s.number(ctx, q.SQL); err != nil {
			return nil, err
		}
	}
	return numbers, nil
}

// digest writes the digest of a table's other columns to the journal.
func (r *runner) digest(ctx context.Context, t *task) error {
	r.drop()
	var found string
	err := r.retryStalePlan(func() (err error) {
		found, err = verify.Digest(ctx, r.db, r.p, t.action.Table)
		return err
	})
	if err != nil {
		return err
	}
	return r.finishTask(ctx, t, found)
}

// assert compares the numbers that queries give with what they have to be.
func (r *runner) assert(ctx context.Context, t *task) error {
	a := t.action
	want, err := r.wanted(a)
	if err != nil {
		return err
	}
	err = r.within(ctx, a.Session, func(s *session) error {
		numbers, err := s.numbers(ctx, a.Queries)
		if err != nil {
			return err
		}
		var differ []string
		for i, q := range a.Queries {
			if numbers[i] == want[i] {
				continue
			}
			text := fmt.Sprintf("%s: got %d, want %d", q, numbers[i], want[i])
			if q.Remedy != "" {
				text += " (" + q.Remedy + ")"
			}
			differ = append(differ, text)
		}
		if len(differ) > 0 {
			return fmt.Errorf("%w: %s. %s", ErrAssertion, strings.Join(differ, "; "), a.OnFailure)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return r.finishTask(ctx, t, "")
}

// wanted returns the number that each query of an Assert has to give.
func (r *runner) wanted(a *plan.Action) ([]int64, error) {
	if a.Baseline == 0 {
		return slices.Repeat([]int64{a.Want}, len(a.Queries)), nil
	}
	count, row := &r.p.Steps[a.Baseline-1].Do, r.steps[a.Baseline]
	if row.State != journal.StepDone {
		return nil, fmt.Errorf("%w: step %d has not counted yet", ErrPlan, a.Baseline)
	}
	counted, err := count.Numbers(row.Found)
	if err != nil {
		return nil, fmt.Errorf("what step %d has found: %w", a.Baseline, err)
	}
	want := make([]int64, len(a.Queries))
	for i, q := range a.Queries { // [plan.Plan.Validate] has seen that it is there
		want[i] = counted[slices.IndexFunc(count.Queries, func(o plan.Query) bool { return o.Subject == q.Subject })]
	}
	return want, nil
}
