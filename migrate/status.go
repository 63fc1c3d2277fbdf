package migrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/migrate/internal/journal"
	"github.com/snowkey-go/snowkey/migrate/internal/run"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// Status is what the journal of a database says of its plans, the latest first, and of the steps of the first of them.
type Status struct {
	Plans  []PlanStatus `json:"plans"`
	Steps  []StepStatus `json:"steps"`
	Stands *Standing    `json:"stands,omitempty"` // where the first of them stands; nil where there is none

	Elsewhere string `json:"elsewhere,omitempty"` // where PostgreSQL has a journal that the search_path does not find; without plans alone
}

// PlanStatus is what the journal says of a plan.
type PlanStatus struct {
	Hash        string    `json:"plan"`
	Mode        string    `json:"mode"`
	State       string    `json:"state"`       // running, done, undoing, undone
	Runner      string    `json:"runner"`      // host, process and a random number of the run; empty when no run is at work
	Fingerprint string    `json:"fingerprint"` // of the schema after the last step that was done or undone
	Tables      []string  `json:"tables"`      // that it changes
	Started     time.Time `json:"started"`     // by the database's clock, in UTC
	Changed     time.Time `json:"changed"`
}

// StepStatus is what the journal says of a step that was begun.
type StepStatus struct {
	Number  int       `json:"step"` // from 1
	Title   string    `json:"title"`
	State   string    `json:"state"`           // begun, held, done, undoing, undone
	Cursor  int64     `json:"cursor"`          // of batches: up to which they are done, or undone while the state is undoing
	Pass    int       `json:"pass"`            // of batches that began anew
	Rows    int64     `json:"rows"`            // changed so far
	Found   string    `json:"found,omitempty"` // the numbers that were counted as a JSON array, or the digest
	Started time.Time `json:"started"`
	Changed time.Time `json:"changed"`
}

// Standing is where a plan stands, whoever or whatever has ended its last run.
type Standing struct {
	Where   string `json:"where"`          // at which step or hold
	Writers string `json:"writers"`        // who can insert rows
	Next    string `json:"next,omitempty"` // the command of snowkey migrate that goes on, without database and plan; empty when there is nothing to do

	Warnings []string `json:"warnings,omitempty"` // of a plan that is undone; see Outcome
}

// String returns where the plan stands and who can write, in one line.
func (s Standing) String() string { return s.Where + ". Writers: " + s.Writers }

// ReadStatus reads the journal. It writes nothing; a database without one has an empty Status.
func ReadStatus(ctx context.Context, db *gorm.DB) (s Status, err error) {
	pool, d, err := database(db)
	if err != nil {
		return s, err
	}
	plans, _, err := journal.Read(ctx, pool, d, "")
	if err != nil {
		return s, err
	}
	if len(plans) == 0 {
		s.Elsewhere, err = catalog.Elsewhere(ctx, pool, d, journal.PlansTable)
		return s, err
	}
	slices.Reverse(plans)
	for _, p := range plans {
		s.Plans = append(s.Plans, PlanStatus{p.Hash, p.Mode, string(p.State), p.Runner, p.Fingerprint, p.Tables, p.Started, p.Changed})
	}
	_, steps, err := journal.Read(ctx, pool, d, plans[0].Hash)
	if err != nil {
		return s, err
	}
	for _, step := range steps {
		s.Steps = append(s.Steps, StepStatus(step))
	}
	p, err := parsed(ctx, pool, d, plans[0].Hash)
	if err != nil { // one of another version: its rows are of use all the same
		s.Stands = &Standing{Where: err.Error(), Writers: "unknown"}
		return s, nil
	}
	stands := standing(p, plans[0].State, steps)
	if stands.Writers, err = writers(ctx, pool, p, steps); err != nil {
		return s, fmt.Errorf("migrate: who can insert rows: %w", err)
	}
	switch {
	case stands.Next == "":
	case plans[0].Runner != "":
		stands.Where += "; a run is at work there, or was killed"
	default:
		if err := run.Unchanged(ctx, pool, p); errors.Is(err, run.ErrSchema) {
			stands.Where += "; but " + strings.TrimPrefix(err.Error(), "run: ")
		} else if err != nil {
			return s, err
		}
	}
	if s.Stands = &stands; plans[0].State == journal.Undone {
		stands.Warnings, err = run.CounterWarnings(ctx, pool, p)
	}
	return s, err
}

// standing says where a plan stands by the rows of its steps.
func standing(p *Plan, state journal.State, rows []journal.Step) Standing {
	states := map[int]string{}
	for _, row := range rows {
		states[row.Number] = row.State
	}
	s := Standing{}
	at := func(n int) string { return fmt.Sprintf("step %d of %d (%s)", n, len(p.Steps), &p.Steps[n-1]) }
	switch state {
	case journal.Done:
		s.Where = "all steps are done"
	case journal.Undone:
		s.Where = "rolled back to the end"
	case journal.Undoing:
		s.Where, s.Next = "being rolled back, and cannot be run on", "rollback"
		for n := len(p.Steps); n > 0; n-- {
			if was := states[n]; was != "" && was != journal.StepUndone {
				s.Where += "; next is " + at(n)
				break
			}
		}
	default:
		s.Where, s.Next = "all steps are done, and the plan is not closed yet", "run"
		for n := 1; n <= len(p.Steps); n++ {
			if states[n] == journal.StepDone {
				continue
			}
			s.Where = "before " + at(n)
			switch states[n] {
			case journal.StepHeld:
				name := p.Steps[n-1].Do.Name
				s.Where, s.Next = "at the hold "+name+", "+at(n), "run --continue="+name
			case journal.StepBegun:
				s.Where = "amid " + at(n)
			}
			break
		}
	}
	return s
}

// writers says who can insert rows: programs that fill their keys, those that leave them to the database, or both. Statements that commit by
// themselves may have effects that the journal does not know, so that the database is asked for these.
func writers(ctx context.Context, pool *sql.DB, p *Plan, rows []journal.Step) (string, error) {
	if p.Database.Kind == "sqlite" {
		return "those that fill their keys, and those that leave them to SQLite, which gives them the greatest key + 1", nil
	}
	flips, flipped, gates, gated := 0, 0, 0, 0
	for _, refusal := range p.Refusals {
		does, done, err := effects(ctx, pool, p, refusal.From, rows)
		if err != nil {
			return "", err
		}
		if refusal.Writers == plan.Keyless {
			flips, flipped = flips+does, flipped+done
		} else {
			gates, gated = gates+does, gated+done
		}
	}
	switch {
	case flips == 0:
		return "as before, the plan changes nothing about them", nil
	case flipped == flips:
		return "only those that fill their keys", nil
	case flipped > 0:
		return "each table takes one kind: those that fill their keys behind its flip, those that leave them to the database before; go on at once", nil
	case gated > 0 && gated == gates:
		return "only those that leave their keys to the database; a gate refuses snowflakes until the flip", nil
	case gated > 0:
		return fmt.Sprintf("those that leave their keys to the database; %d of %d tables have a gate, which refuses snowflakes until the flip", gated, gates), nil
	}
	return "those that leave their keys to the database, and those that fill them where the columns have 64 bits", nil
}

// effects returns how many effects a step has, and how many of them are there.
func effects(ctx context.Context, pool *sql.DB, p *Plan, number int, rows []journal.Step) (all, there int, err error) {
	do := &p.Steps[number-1].Do
	if do.Kind != plan.Autocommit {
		if slices.ContainsFunc(rows, func(row journal.Step) bool { return row.Number == number && row.State == journal.StepDone }) {
			there = 1
		}
		return 1, there, nil
	}
	for _, query := range do.Applied {
		n := 0
		if err := pool.QueryRowContext(ctx, query).Scan(&n); err != nil {
			return 0, 0, err
		}
		there += n
	}
	return len(do.Applied), there, nil
}
