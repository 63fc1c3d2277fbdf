package run

import (
	"context"
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/migrate/internal/journal"
	"github.com/snowkey-go/snowkey/migrate/internal/verify"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// count writes the numbers that queries give to the journal.
func (r *runner) count(ctx context.Context, j *job) error {
	var numbers []int64
	err := r.within(ctx, j.action.Session, func(s *session) (err error) {
		numbers, err = s.numbers(ctx, j.action.SQL)
		return err
	})
	if err != nil {
		return err
	}
	found, err := plan.Found(numbers)
	if err != nil {
		return err
	}
	return r.note(ctx, j, found)
}

// numbers returns what queries for one number each give.
func (s *session) numbers(ctx context.Context, queries []string) ([]int64, error) {
	numbers := make([]int64, len(queries))
	for i, query := range queries {
		var err error
		if numbers[i], err = s.number(ctx, query); err != nil {
			return nil, err
		}
	}
	return numbers, nil
}

// digest writes the digest of a table's other columns to the journal.
func (r *runner) digest(ctx context.Context, j *job) error {
	r.drop()
	var found string
	err := r.replanned(func() (err error) {
		found, err = verify.Digest(ctx, r.db, r.p, j.action.Table)
		return err
	})
	if err != nil {
		return err
	}
	return r.note(ctx, j, found)
}

// expect compares the numbers that queries give with what they have to be.
func (r *runner) expect(ctx context.Context, j *job) error {
	a := j.action
	var before map[string]int64
	if a.Like != "" {
		var err error
		if before, err = r.counted(a.Like); err != nil {
			return err
		}
	}
	err := r.within(ctx, j.action.Session, func(s *session) error {
		numbers, err := s.numbers(ctx, a.SQL)
		if err != nil {
			return err
		}
		var differ []string
		for i, got := range numbers {
			want := a.Want
			if a.Like != "" {
				var known bool
				if want, known = before[a.Each[i]]; !known {
					return fmt.Errorf("%w: the step %q has not counted the %s", ErrPlan, a.Like, a.Each[i])
				}
			}
			if got == want {
				continue
			}
			text := fmt.Sprintf("%s: got %d, want %d", a.Each[i], got, want)
			if len(a.Remedy) > 0 && a.Remedy[i] != "" {
				text += " (" + a.Remedy[i] + ")"
			}
			differ = append(differ, text)
		}
		if len(differ) > 0 {
			return fmt.Errorf("%w: %s. %s", ErrExpected, strings.Join(differ, "; "), a.Otherwise)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return r.note(ctx, j, "")
}

// counted returns what the Count step of a title has found, by Each.
func (r *runner) counted(title string) (map[string]int64, error) {
	for i := range r.p.Steps {
		step, row := &r.p.Steps[i], r.steps[i+1]
		if step.Title != title || step.Do.Kind != plan.Count || row.State != journal.StepDone {
			continue
		}
		numbers, err := step.Do.Numbers(row.Found)
		if err != nil {
			return nil, fmt.Errorf("what step %d has found: %w", i+1, err)
		}
		return numbers, nil
	}
	return nil, fmt.Errorf("%w: no step %q has counted", ErrPlan, title)
}
