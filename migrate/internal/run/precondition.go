package run

import (
	"context"
	"fmt"

	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/internal/journal"
	"github.com/snowkey-go/snowkey/migrate/internal/mapping"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// preconditions returns an error when a run must not write. It writes nothing itself. Of a plan that the journal has, its hash says that the
// database is the plan's, even after it has moved to another server.
func (r *runner) preconditions(ctx context.Context) error {
	if r.was == nil {
		if err := r.checkDatabase(ctx); err != nil {
			return err
		}
		since := "since the plan was made"
		if r.undone {
			since = "by the rollback of this plan, which leaves types wide, or since"
		}
		if err := r.checkSchema(ctx, r.db, since); err != nil {
			return fmt.Errorf("%w; make a new plan", err)
		}
	} else if err := r.checkSinceLastRun(ctx, false); err != nil {
		return err
	}
	r.drop()
	if err := r.checkRights(ctx); err != nil {
		return err
	}
	if err := r.checkDisk(ctx); err != nil {
		return err
	}
	if err := r.checkNode(ctx); err != nil {
		return err
	}
	if r.was != nil {
		return nil // the rows are surveyed before a map that was not begun
	}
	for _, step := range r.p.Steps {
		if step.Do.Kind != plan.FillMap {
			continue
		}
		if err := r.survey(ctx, *r.p.Key(step.Do.Table)); err != nil {
			return err
		}
		r.surveyed = true
	}
	return nil
}

// checkDatabase compares the database with the plan's. The version may have become another.
func (r *runner) checkDatabase(ctx context.Context) error {
	server, err := r.catalog.Server(ctx)
	if err != nil {
		return fmt.Errorf("which database it is: %w", err)
	}
	if want := r.p.Database; server.Kind != want.Kind || server.Name != want.Name || server.ID != want.ID {
		return fmt.Errorf("%w: %s %q of server %s, and this is %s %q of server %s", ErrDatabase, want.Kind, want.Name, want.ID, server.Kind, server.Name, server.ID)
	}
	return nil
}

// checkSinceLastRun compares the schema with the one that the last run has left. A statement that commits by itself and was begun may have changed it:
// its query tells. Of one that can leave half of its effect, which Repair
// is for, and of several, there is no telling. On the way back, columns that were added and do no harm are taken as they are.
func (r *runner) checkSinceLastRun(ctx context.Context, back bool) error {
	fingerprint, err := r.readFingerprint(ctx, r.db)
	if err != nil {
		return err
	}
	if fingerprint == r.fingerprint {
		return nil
	}
	for n, row := range r.steps {
		action := &r.p.Steps[n-1].Do
		if row.State == journal.StepUndoing {
			action = r.p.Steps[n-1].Undo
		}
		if row.State != journal.StepBegun && row.State != journal.StepUndoing || action == nil || action.Kind != plan.Autocommit {
			continue
		}
		if len(action.Repair) > 0 || len(action.SQL) > 1 {
			return nil
		}
		s, err := r.open(ctx, action.Session)
		if err != nil {
			return err
		}
		missing, err := s.missingEffect(ctx, action)
		s.close()
		if err != nil || missing == "" {
			return err
		}
	}
	now, found, err := r.differences(ctx, r.db)
	if err != nil {
		return err
	}
	if back {
		if harmless, err := r.harmless(now, found); err != nil || harmless {
			r.fingerprint = fingerprint
			return err
		}
	}
	return fmt.Errorf("%w; undo that change", r.schemaError("since the last run", fingerprint, found))
}

// survey returns an error that wraps mapping.ErrRefused when rows of a key cannot get new ids.
func (r *runner) survey(ctx context.Context, k plan.Key) error {
	r.drop()
	var survey mapping.Survey
	err := r.retryStalePlan(func() (err error) {
		survey, err = mapping.SurveyRows(ctx, r.db, r.p, k)
		return err
	})
	if err != nil {
		return err
	}
	return survey.Refused(k)
}

// retryStalePlan reads through the pool, whose connections may each have a plan of PostgreSQL's for the same query from before a column's type
// was changed: that is refused once on each, and forgotten by the driver.
func (r *runner) retryStalePlan(read func() error) error {
	for n := 0; ; n++ {
		err := read()
		if r.dialect != dialect.Postgres || r.dialect.Code(err) != "0A000" || n >= r.db.Stats().OpenConnections {
			return err
		}
	}
}
