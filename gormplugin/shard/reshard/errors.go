package reshard

import "errors"

// The errors of this package, beside those of idgen/shard.
var (
	ErrPlan     = errors.New("reshard: the plan cannot be run")
	ErrOther    = errors.New("reshard: another plan is at work")
	ErrMismatch = errors.New("reshard: rows differ")
	ErrState    = errors.New("reshard: not possible now")
)
