package run

import "errors"

// Errors of this package; see also package journal's.
var (
	ErrDatabase  = errors.New("run: the plan is for another database")
	ErrSchema    = errors.New("run: the schema is not the one that the plan was made for")
	ErrAssertion = errors.New("run: not as expected") // an Assert or AssertStable step
	ErrLocked    = errors.New("run: no lock within the time")
	ErrFinal     = errors.New("run: cannot be rolled back any more")
	ErrRights    = errors.New("run: the user lacks rights")
	ErrDisk      = errors.New("run: not enough free space")
	ErrOption    = errors.New("run: invalid option")
	ErrPlan      = errors.New("run: the plan cannot be run") // a step of no known kind, or one that lacks what its kind needs
)

// HoldError is migrate.HoldError. It wraps [ErrOption].
type HoldError struct {
	Stands string // the name of the hold that the run stands at; empty: at none
	reason string
}

// Error says where the run stands, and what to do.
func (e *HoldError) Error() string { return "run: " + e.reason }

// Unwrap returns [ErrOption].
func (e *HoldError) Unwrap() error { return ErrOption }
