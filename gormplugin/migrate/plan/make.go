package plan

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/snowkey-go/snowkey/gormplugin/migrate/inspect"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/catalog"
)

// Errors of this package.
var (
	ErrOption  = errors.New("plan: invalid option")              // a table, column, time or number that cannot be
	ErrBlocked = errors.New("plan: something stands in the way") // the message has all of it, and what to do
	ErrText    = errors.New("plan: not a plan")                  // Parse
	ErrChanged = errors.New("plan: changed since it was made")   // Parse: the file is not what it was made as
)

// Options say what to plan.
type Options struct {
	Mode    Mode              // default Widen
	Tables  []string          // whose keys are changed; default: all of the report that have a key
	Layout  idgen.Layout      // of the new ids; default idgen.Snowkey's
	Node    int64             // of the new ids of old rows; -1: the greatest that was never granted. The zero Options mean node 0, so set it
	Grants  string            // table of grants; default grant.DefaultTable
	Space   string            // key space in it; default grant.DefaultSpace
	Created map[string]string // by table: a column, a time as RFC 3339, "through COLUMN" (a reference, whose row's time it has too), or "keep" (its ids stay)
	Zone    string            // IANA name, of times that say none; without it such times are refused
	Below   int64             // ids below are old; default 2^42
	Accept  []string          // what stands in the way and is accepted: "KIND:TABLE.NAME", as the error prints them
	Window  time.Duration     // how long nothing may be written by old writers before the flip; default 10 seconds
	Keep    bool              // without the last phase, which drops maps and old columns
	Tool    string            // the program and its version, for the plan's head
	Now     time.Time         // default time.Now
}

// Make plans. It reads the database that the report is of, and writes nothing. The error wraps [ErrOption] or [ErrBlocked], or is the
// database's.
func Make(ctx context.Context, db *sql.DB, report *inspect.Report, o Options) (*Plan, error) {
	return nil, errors.ErrUnsupported
}

// builder is one making of a plan. Its parts are files: widen_*.go, rekey_*.go, shadow_*.go.
type builder struct {
	catalog    *catalog.Catalog
	db         *sql.DB
	report     *inspect.Report
	options    Options
	tables     map[string]*catalog.Table // by the name that the report has; of all keys and references
	references []*catalog.Reference      // the foreign keys of and to these
	plan       *Plan                     // Keys and References are complete before the steps are made
	blocked    []string                  // what stands in the way, in sentences
}

// add appends a step.
func (b *builder) add(s Step) { b.plan.Steps = append(b.plan.Steps, s) }

// block notes that something stands in the way.
func (b *builder) block(sentence string) { b.blocked = append(b.blocked, sentence) }
