package migrate

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/internal/journal"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// Config says how [Up] and [Down] migrate. Its zero value widens all keys.
type Config struct {
	Inspect InspectOptions // of Up; the models, and the references that nothing declares
	Plan    PlanOptions    // of Up
	Run     RunOptions     // Run.Continue names the hold that a call passes; see Outcome.Hold

	// Through passes all holds, and does not wait for Plan.Window unless that is set. It is for databases that nobody else uses meanwhile,
	// such as a developer's or a test's: a hold is where writers have to be deployed first.
	Through bool
}

// throughWindow is the window of a database that nobody else writes to.
const throughWindow = time.Millisecond

// Up goes on with the plan that the journal has unfinished, which is the one that began, whatever Config.Plan says now; or it inspects, plans
// and runs. It ends when the plan is done, or at a hold: Outcome.Held says what has to be done before Up is called once more with
// Outcome.Hold as Run.Continue. It can be killed and called again, at each start of a program, too: when the keys are as they should be nothing
// is done, and nothing written. So can a call that names a hold: once that is passed, it goes on.
//
// The errors are those of [Inspect], [MakePlan] and [Run], [HoldError] for a call that names a hold before another has reached it; that of a plan which is being rolled back wraps the journal's ErrState: [Down]
// goes on with it.
func Up(ctx context.Context, db *gorm.DB, c Config) (Outcome, error) {
	pool, d, err := database(db)
	if err != nil {
		return Outcome{}, err
	}
	p, err := kept(ctx, pool, d, journal.Running, journal.Undoing)
	if err != nil {
		return Outcome{}, err
	}
	if p == nil {
		if c.Through && c.Plan.Window == 0 {
			c.Plan.Window = throughWindow
		}
		report, err := Inspect(ctx, db, c.Inspect)
		if err != nil {
			return Outcome{}, err
		}
		if p, err = plan.Make(ctx, pool, report, c.Plan); err != nil { // the run that follows looks at the times of rows itself
			return Outcome{}, err
		}
		if done, err := did(ctx, pool, d, p); err != nil || done {
			return Outcome{Done: done}, err
		}
	}
	if behind, err := passed(ctx, pool, d, p, c.Run.Continue); err != nil {
		return Outcome{}, err
	} else if behind {
		c.Run.Continue = ""
	}
	return through(ctx, db, p, c)
}

// passed reports whether a run has passed the hold of a name, and stands at no other.
func passed(ctx context.Context, pool *sql.DB, d dialect.Dialect, p *Plan, hold string) (behind bool, err error) {
	hash, err := p.Hash()
	if err != nil {
		return false, err
	}
	_, steps, err := journal.Read(ctx, pool, d, hash)
	for _, s := range steps {
		if s.State == journal.StepHeld {
			return false, err
		}
		do := &p.Steps[s.Number-1].Do
		behind = behind || s.State == journal.StepDone && do.Kind == plan.Hold && do.Name == hold
	}
	return behind, err
}

// did reports whether a plan has nothing to do: no steps, or those of one of the same mode and tables that was done, and has left the schema as
// it is. A rekey would look for old ids in all rows otherwise, and take another node for them.
func did(ctx context.Context, pool *sql.DB, d dialect.Dialect, p *Plan) (bool, error) {
	plans, _, err := journal.Read(ctx, pool, d, "")
	return len(p.Steps) == 0 || slices.ContainsFunc(plans, func(was journal.Plan) bool {
		return was.State == journal.Done && was.Mode == string(p.Mode) && was.Fingerprint == p.Fingerprint && slices.Equal(was.Tables, p.Tables)
	}), err
}

// through runs a plan to its end or the next hold, or with Through to its end.
func through(ctx context.Context, db *gorm.DB, p *Plan, c Config) (Outcome, error) {
	var rows int64
	var took time.Duration
	if c.Through {
		c.Run.Continue = "" // the first run finds out at which hold it stands
	}
	for {
		outcome, err := Run(ctx, db, p, c.Run)
		rows, took = rows+outcome.Rows, took+outcome.Took
		outcome.Rows, outcome.Took = rows, took
		if err != nil || outcome.Held == "" || !c.Through {
			return outcome, err
		}
		c.Run.Continue = outcome.Hold
	}
}

// Down rolls the latest plan back that is not undone, as far as the journal has any; without one there is nothing to do, and it is done. It
// can be killed and called again. The errors are those of [Rollback]; a plan whose old ids are dropped cannot be rolled back, which
// Config.Plan.Keep keeps from being done.
func Down(ctx context.Context, db *gorm.DB, c Config) (Outcome, error) {
	pool, d, err := database(db)
	if err != nil {
		return Outcome{}, err
	}
	p, err := kept(ctx, pool, d, journal.Running, journal.Undoing, journal.Done)
	if err != nil {
		return Outcome{}, err
	}
	if p == nil {
		return Outcome{Done: true}, nil
	}
	return Rollback(ctx, db, p, c.Run)
}

// kept returns the latest of the journal's plans in one of some states, nil when there is none.
func kept(ctx context.Context, pool *sql.DB, d dialect.Dialect, states ...journal.State) (*Plan, error) {
	plans, _, err := journal.Read(ctx, pool, d, "")
	if err != nil {
		return nil, err
	}
	for _, p := range slices.Backward(plans) {
		if !slices.Contains(states, p.State) {
			continue
		}
		return parsed(ctx, pool, d, p.Hash)
	}
	return nil, nil
}

// parsed returns a plan of the journal.
func parsed(ctx context.Context, pool *sql.DB, d dialect.Dialect, hash string) (*Plan, error) {
	text, err := journal.Text(ctx, pool, d, hash)
	if err != nil {
		return nil, err
	}
	read, err := plan.Parse([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("migrate: plan %.12s of the journal: %w", hash, err)
	}
	return read, nil
}

// database returns the pool below GORM, and its dialect.
func database(db *gorm.DB) (*sql.DB, dialect.Dialect, error) {
	pool, err := poolOf(db)
	if err != nil {
		return nil, 0, err
	}
	d, ok := dialect.Lookup(db.Name())
	if !ok {
		return nil, 0, fmt.Errorf("migrate: the dialect is %q, want mysql, postgres or sqlite", db.Name())
	}
	return pool, d, nil
}
