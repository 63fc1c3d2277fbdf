package migrate

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/migrate/internal/run"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// The names of holds, for RunOptions.Continue; see Outcome.Hold.
const (
	DeployWriters = plan.DeployWriters
	DropMaps      = plan.DropMaps
	Here          = plan.Here // whichever hold the run stands at
)

// Errors of [Run] and [Rollback], beside those of a database that fails.
var (
	ErrDatabase  = run.ErrDatabase  // the plan is for another database
	ErrSchema    = run.ErrSchema    // the schema is not the one that the plan, or its last run, has left
	ErrRights    = run.ErrRights    // the user lacks rights
	ErrDisk      = run.ErrDisk      // there is not enough free space
	ErrAssertion = run.ErrAssertion // an assertion of the plan failed
	ErrLocked    = run.ErrLocked    // a lock was not to be had in all attempts
	ErrFinal     = run.ErrFinal     // the old ids are dropped, and there is no rollback any more
)

// RunOptions say how to run. Their zero value runs to the first hold.
type RunOptions struct {
	Target   time.Duration // that a batch aims at; default 500 ms
	Throttle float64       // share of the time that batches pause, 0 to 0.99; default 0
	MaxLag   time.Duration // by which replicas may lag, 0: any; on PostgreSQL as pg_stat_replication tells, else of Replicas
	Replicas []*sql.DB     // whose lag is looked at
	LockWait time.Duration // for one attempt to get a lock; default 2 seconds
	Attempts int           // to get it, with pauses in between; default 30
	Continue string        // the name of the hold that the run stands at, to pass it; Here, whichever that is; empty: none. See [HoldError]
	Dry      bool          // look whether a run may begin, and say what it would do in Outcome.Would; nothing is written. Of Run alone
	Progress func(Progress)
}

// Progress is how far a run is.
type Progress struct {
	Step  int // from 1
	Steps int
	Title string
	Rows  int64         // of the step so far
	Total int64         // of the step, estimated; -1 when unknown
	Rate  float64       // rows a second, of late; 0 when unknown
	Left  time.Duration // of the step; -1 when unknown
	Waits string        // what it waits for: a lock, a replica, a hold; empty when it works
}

// Outcome is what a run came to.
type Outcome struct {
	Done  bool          `json:"done"`            // the plan's last step is done
	Step  int           `json:"step"`            // the last that was done, from 1
	Hold  string        `json:"hold,omitempty"`  // the name of the hold that it ended at, for RunOptions.Continue
	Held  string        `json:"held,omitempty"`  // what that hold asks for
	Would []int         `json:"would,omitempty"` // of RunOptions.Dry: the steps that a run would do, up to Hold or the end
	Undid int           `json:"undid,omitempty"` // of Rollback: how many steps are undone, by this one or by one before it
	Rows  int64         `json:"rows"`            // changed by this run
	Took  time.Duration `json:"took_ns"`

	Warnings []string `json:"warnings,omitempty"` // of a rollback: keys for which the database goes on from a snowflake, and what has it go on from the old ids
}

// HoldError says that RunOptions.Continue names another hold than the one that the run stands at, or that it stands at none. Nothing was written.
type HoldError struct {
	Stands string // the name of the hold that the run stands at; empty: at none
	err    error
}

// Error says where the run stands, and what to do.
func (e *HoldError) Error() string { return e.err.Error() }

// Unwrap returns an error of [UsageErrors].
func (e *HoldError) Unwrap() error { return e.err }

// Run does the steps of a plan that are not done yet, up to its end or its next hold. It can be killed and called again. When the context ends, Run stops after the
// transaction or statement that it is in, or rolls that back. A plan that is done is no error. An error says how to go on; those before
// anything is written are [ErrDatabase], [ErrSchema], [ErrRights], [ErrDisk], [HoldError], [ErrState] and those of the plan's node; later [ErrAssertion], [ErrLocked] and [ErrSchema].
func Run(ctx context.Context, db *gorm.DB, p *Plan, o RunOptions) (Outcome, error) {
	return runWith(ctx, db, p, o, run.Plan)
}

// Rollback undoes the steps of a plan, the last first, as far as they were done or begun. It can be killed and called again. Steps without an undo stay
// as they are; the plan says why. Outcome.Step is the last that was undone. The errors are [ErrFinal], [ErrState] for a plan that was never run, and Run's.
func Rollback(ctx context.Context, db *gorm.DB, p *Plan, o RunOptions) (Outcome, error) {
	return runWith(ctx, db, p, o, run.Rollback)
}

func runWith(ctx context.Context, db *gorm.DB, p *Plan, o RunOptions, do func(context.Context, *sql.DB, *plan.Plan, run.Options) (run.Outcome, error)) (Outcome, error) {
	pool, err := poolFor(db, p)
	if err != nil {
		return Outcome{}, err
	}
	options := run.Options{Target: o.Target, Throttle: o.Throttle, MaxLag: o.MaxLag, Replicas: o.Replicas, LockWait: o.LockWait, Attempts: o.Attempts, Continue: o.Continue, Dry: o.Dry}
	if o.Progress != nil {
		options.Progress = func(now run.Progress) { o.Progress(Progress(now)) }
	}
	outcome, err := do(ctx, pool, p, options)
	if hold := new(run.HoldError); errors.As(err, &hold) {
		err = &HoldError{hold.Stands, err}
	}
	return Outcome(outcome), err
}
