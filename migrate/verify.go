package migrate

import (
	"context"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/migrate/internal/verify"
)

// Check is one thing that [Verify] looked at.
type Check struct {
	Name   string `json:"name"` // rows, bijection, orphans, digest, times, order, old values, types, auto-increment, foreign keys, definitions
	Table  string `json:"table"`
	Column string `json:"column,omitempty"`
	Result Result `json:"result"`
	Want   string `json:"want,omitempty"` // what was before, or has to be
	Got    string `json:"got,omitempty"`  // what is now
	Text   string `json:"text,omitempty"` // what it means and what to do, when it has not passed; why it was not looked at, when it was skipped

	Examples []string `json:"examples,omitempty"` // of what is not as it was, up to a thousand: "new id 7, once 3", "old id 5 to 8"; the most doubtful first
}

// Result is what came of a [Check].
type Result string

// The results of checks.
const (
	Passed  Result = "passed"
	Failed  Result = "failed"  // something is wrong, whatever the application did
	Unknown Result = "unknown" // something differs, which the application may have done, or the plan
	Skipped Result = "skipped" // it cannot be looked at yet, or any more
)

// Good reports whether a check found nothing that differs.
func (r Result) Good() bool { return r == Passed || r == Skipped }

// VerifyOptions say how.
type VerifyOptions struct {
	Progress func(done, of int, doing string)
}

// Verify looks at what a plan has made of a database, at a hold or at its end, while the application is at work or not. It writes nothing. The error is one of
// reading, or [ErrState] for a plan that was never run; what has not passed is in the checks.
func Verify(ctx context.Context, db *gorm.DB, p *Plan, o VerifyOptions) ([]Check, error) {
	pool, err := poolFor(db, p)
	if err != nil {
		return nil, err
	}
	found, err := verify.Plan(ctx, pool, p, o.Progress)
	if err != nil {
		return nil, err
	}
	checks := make([]Check, len(found))
	for i, c := range found {
		checks[i] = Check{c.Name, c.Table, c.Column, Result(c.Result), c.Want, c.Got, c.Text, c.Examples}
	}
	return checks, nil
}
