package migrate

import (
	"context"
	"database/sql"
	"fmt"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/migrate/inspect"
	"github.com/snowkey-go/snowkey/migrate/internal/journal"
	"github.com/snowkey-go/snowkey/migrate/internal/merge"
	"github.com/snowkey-go/snowkey/migrate/internal/run"
	"github.com/snowkey-go/snowkey/migrate/internal/verify"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// What the steps take and give, for those who import this package alone.
type (
	Report         = inspect.Report
	InspectOptions = inspect.Options
	Plan           = plan.Plan
	PlanOptions    = plan.Options
	Blocked        = plan.Blocked
	RunOptions     = run.Options
	Progress       = run.Progress
	Outcome        = run.Outcome
	HoldError      = run.HoldError
	Check          = verify.Check
	Result         = verify.Result
	VerifyOptions  = verify.Options
	MergeOptions   = merge.Options
	MergeOutcome   = merge.Outcome
	MergeProgress  = merge.Progress
	Mode           = plan.Mode
)

// The modes of a plan.
const (
	Widen  = plan.Widen
	Rekey  = plan.Rekey
	Shadow = plan.Shadow
)

// The names of holds, for RunOptions.Continue; see Outcome.Hold.
const (
	DeployWriters = plan.DeployWriters
	DropMaps      = plan.DropMaps
	Here          = plan.Here
)

// The results of a [Check].
const (
	Passed  = verify.Passed
	Failed  = verify.Failed
	Unknown = verify.Unknown
	Skipped = verify.Skipped
)

// ErrState is wrapped when the journal forbids a command: a run of a plan that is being rolled back, a check of one that was never run.
var ErrState = journal.ErrState

// Misuse returns the errors that say that what was asked for is wrong: another table, option, file or database would do. Others are of what
// was found or failed on the way.
func Misuse() []error {
	return []error{inspect.ErrOption, inspect.ErrTable, plan.ErrOption, plan.ErrText, plan.ErrChanged, run.ErrDatabase, run.ErrOption, merge.ErrOption}
}

// Inspect finds the keys of a database, all references to them, and what stands in the way of a migration. It writes nothing.
func Inspect(ctx context.Context, db *gorm.DB, o InspectOptions) (*Report, error) {
	return inspect.Inspect(ctx, db, o)
}

// ReadPlan reads what [Plan.Encode] has written.
func ReadPlan(text []byte) (*Plan, error) { return plan.Parse(text) }

// ReadPlanFiles reads a plan by the path of one of its two files, as [Plan.WriteFiles] has written them; see [plan.ReadFiles].
func ReadPlanFiles(path string) (*Plan, error) { return plan.ReadFiles(path) }

// Run does the steps of a plan that are not done yet, up to its end or its next hold; see package [run].
func Run(ctx context.Context, db *gorm.DB, p *Plan, o RunOptions) (Outcome, error) {
	pool, err := poolFor(db, p)
	if err != nil {
		return Outcome{}, err
	}
	return run.Run(ctx, pool, p, o)
}

// Rollback undoes the steps of a plan, the last first; see package [run].
func Rollback(ctx context.Context, db *gorm.DB, p *Plan, o RunOptions) (Outcome, error) {
	pool, err := poolFor(db, p)
	if err != nil {
		return Outcome{}, err
	}
	return run.Rollback(ctx, pool, p, o)
}

// Verify looks at what a plan has made of a database. It writes nothing. The error is one of reading; what has not passed is in the checks.
func Verify(ctx context.Context, db *gorm.DB, p *Plan, o VerifyOptions) ([]Check, error) {
	pool, err := poolFor(db, p)
	if err != nil {
		return nil, err
	}
	return verify.Verify(ctx, pool, p, o)
}

// Merge copies the rows of databases whose ids clash nowhere into one; see package [merge].
func Merge(ctx context.Context, into *gorm.DB, from []*gorm.DB, o MergeOptions) (MergeOutcome, error) {
	return merge.Merge(ctx, into, from, o)
}

// poolFor returns the pool of a database that is of the plan's kind. Of another kind not even the journal could be looked for.
func poolFor(db *gorm.DB, p *Plan) (*sql.DB, error) {
	pool, d, err := database(db)
	if err == nil && d.String() != p.Database.Kind {
		err = fmt.Errorf("%w: it is for one of %s, and this is %s", run.ErrDatabase, p.Database.Kind, d)
	}
	return pool, err
}

// poolOf returns the pool below GORM: a run has transactions and connections of its own, so one of GORM's transactions will not do.
func poolOf(db *gorm.DB) (*sql.DB, error) {
	if db == nil || db.Config == nil {
		return nil, fmt.Errorf("migrate: no connection to a database")
	}
	pool, err := db.DB()
	if err != nil {
		return nil, fmt.Errorf("migrate: needs a *sql.DB below GORM, not a transaction: %w", err)
	}
	return pool, nil
}
