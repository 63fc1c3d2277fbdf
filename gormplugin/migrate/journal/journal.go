// Package journal is what a run of a plan keeps in the database: which plan it is, who runs it, and how far it is.
package journal

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/snowkey-go/snowkey/internal/dialect"
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
	Runner      string    `json:"runner"`      // host, process and a random number; who runs it, or did last
	Fingerprint string    `json:"fingerprint"` // of the schema after the last step that was done
	Started     time.Time `json:"started"`     // by the database's clock, in UTC
	Changed     time.Time `json:"changed"`
}

// Step is a step's row. There is none of a step that was not begun.
type Step struct {
	Number  int       `json:"step"` // from 1
	Title   string    `json:"title"`
	State   string    `json:"state"`           // begun, done, undone
	Cursor  int64     `json:"cursor"`          // of batches: up to which they are done
	Pass    int       `json:"pass"`            // of batches that began anew
	Rows    int64     `json:"rows"`            // changed so far
	Found   string    `json:"found,omitempty"` // the number of a Count, the digest of a Digest
	Started time.Time `json:"started"`
	Changed time.Time `json:"changed"`
}

// Read returns the plans and the steps of the plan that a hash names; none when there is no journal. It writes nothing.
func Read(ctx context.Context, db *sql.DB, d dialect.Dialect, hash string) (plans []Plan, steps []Step, err error) {
	return nil, nil, errors.ErrUnsupported
}
