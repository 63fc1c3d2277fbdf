package journal

import (
	"errors"
	"time"
)

// The tables of the journal.
const (
	PlansTable = "snowkey_migrate"
	StepsTable = "snowkey_migrate_steps"
)

// Errors of this package.
var (
	ErrRunning = errors.New("journal: another run is at work")       // its runner lives
	ErrLost    = errors.New("journal: another run has taken over")   // found by a transaction of the one before
	ErrOther   = errors.New("journal: another plan is not finished") // and has to be run to its end or rolled back first
	ErrState   = errors.New("journal: not in this state")            // such as to run a plan that is being undone
)

// State is a plan's.
type State string

// The states of a plan.
const (
	Running State = "running"
	Done    State = "done"
	Undoing State = "undoing"
	Undone  State = "undone"
)

// Plan is a plan's row.
type Plan struct {
	Hash        string    `json:"plan"`
	Mode        string    `json:"mode"`
	State       State     `json:"state"`
	Runner      string    `json:"runner"`      // host, process and a random number; who runs it; empty when its run has ended
	Fingerprint string    `json:"fingerprint"` // of the schema after the last step that was done or undone
	Tables      []string  `json:"tables"`      // that it changes
	Started     time.Time `json:"started"`     // by the database's clock, in UTC
	Changed     time.Time `json:"changed"`
}

// The states of a step. A step is undoing when what undoes it commits by itself or in batches, and was begun. A hold is held once a run has
// reached it, and done once a run has passed it.
const (
	StepBegun   = "begun"
	StepHeld    = "held"
	StepDone    = "done"
	StepUndoing = "undoing"
	StepUndone  = "undone"
)

// Step is a step's row. There is none of a step that was not begun.
type Step struct {
	Number  int       `json:"step"` // from 1
	Title   string    `json:"title"`
	State   string    `json:"state"`           // begun, held, done, undoing, undone
	Cursor  int64     `json:"cursor"`          // of batches: up to which they are done, or undone while the state is undoing
	Pass    int       `json:"pass"`            // of batches that began anew
	Rows    int64     `json:"rows"`            // changed so far
	Found   string    `json:"found,omitempty"` // the numbers of a Count as a JSON array, the digest of a Digest
	Started time.Time `json:"started"`
	Changed time.Time `json:"changed"`
}
