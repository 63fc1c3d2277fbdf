package run

import (
	"database/sql"
	"errors"
	"time"
)

// Errors of this package; see also package journal's.
var (
	ErrDatabase = errors.New("run: the plan is for another database")
	ErrSchema   = errors.New("run: the schema is not the one that the plan was made for")
	ErrExpected = errors.New("run: not as expected") // an Expect or Steady step
	ErrLocked   = errors.New("run: no lock within the time")
	ErrFinal    = errors.New("run: cannot be rolled back any more")
	ErrRights   = errors.New("run: the user lacks rights")
	ErrDisk     = errors.New("run: not enough free space")
	ErrOption   = errors.New("run: invalid option")
	ErrPlan     = errors.New("run: the plan cannot be run") // a step of no known kind, or one that lacks what its kind needs
)

// HoldError says that Options.Continue names another hold than the one that the run stands at, or that it stands at none. Nothing was
// written. It wraps [ErrOption].
type HoldError struct {
	Stands string // the name of the hold that the run stands at; empty: at none
	reason string
}

// Error says where the run stands, and what to do.
func (e *HoldError) Error() string { return "run: " + e.reason }

// Unwrap returns [ErrOption].
func (e *HoldError) Unwrap() error { return ErrOption }

// Options say how to run.
type Options struct {
	Target   time.Duration // that a batch aims at; default 500 ms
	Throttle float64       // share of the time that batches pause, 0 to 0.99; default 0
	MaxLag   time.Duration // by which replicas may lag, 0: any; on PostgreSQL as pg_stat_replication tells, else of Replicas
	Replicas []*sql.DB     // whose lag is looked at
	LockWait time.Duration // for one attempt to get a lock; default 2 seconds
	Attempts int           // to get it, with pauses in between; default 30
	Continue string        // the name of the hold that the run stands at, to pass it; plan.Here, whichever that is; empty: none. See [HoldError]
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
	Hold  string        `json:"hold,omitempty"`  // the name of the hold that it ended at, for Options.Continue
	Held  string        `json:"held,omitempty"`  // what that hold asks for
	Would []int         `json:"would,omitempty"` // of Options.Dry: the steps that a run would do, up to Hold or the end
	Undid int           `json:"undid,omitempty"` // of Rollback: how many steps are undone, by this one or by one before it
	Rows  int64         `json:"rows"`            // changed by this run
	Took  time.Duration `json:"took_ns"`

	Warnings []string `json:"warnings,omitempty"` // of a rollback; see [Counters]
}
