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
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// What the steps take and give, for those who import this package alone.
type (
	Report         = inspect.Report
	InspectOptions = inspect.Options
	Plan           = plan.Plan
	PlanOptions    = plan.Options
	Blocked        = plan.Blocked
	Mode           = plan.Mode
)

// The modes of a plan.
const (
	Widen  = plan.Widen
	Rekey  = plan.Rekey
	Shadow = plan.Shadow
)

// ErrState is wrapped when the journal forbids a command: a run of a plan that is being rolled back, a check of one that was never run.
var ErrState = journal.ErrState

// UsageErrors lists the errors caused by invalid input: another table, option, file or database would do.
func UsageErrors() []error {
	return []error{inspect.ErrOption, inspect.ErrTable, plan.ErrOption, plan.ErrText, plan.ErrChanged, run.ErrDatabase, run.ErrOption, merge.ErrOption}
}

// Inspect finds the keys of a database, all references to them, and what stands in the way of a migration. It writes nothing.
func Inspect(ctx context.Context, db *gorm.DB, o InspectOptions) (*Report, error) {
	return inspect.Read(ctx, db, o)
}

// ReadPlan reads what [Plan.Encode] has written.
func ReadPlan(text []byte) (*Plan, error) { return plan.Parse(text) }

// ReadPlanFiles reads a plan by the path of one of its two files, as [Plan.WriteFiles] has written them; see [plan.ReadFiles].
func ReadPlanFiles(path string) (*Plan, error) { return plan.ReadFiles(path) }

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
