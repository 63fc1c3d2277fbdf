package run

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/internal/journal"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// shown is how many differences an error names.
const shown = 5

// readFingerprint returns the schema's fingerprint, as a connection sees it.
func (r *runner) readFingerprint(ctx context.Context, db dialect.Queryer) (string, error) {
	fingerprint, err := r.catalog.Over(db).Fingerprint(ctx, r.names...)
	if err != nil {
		return "", fmt.Errorf("the schema's fingerprint: %w", err)
	}
	return fingerprint, nil
}

// Unchanged returns an error that wraps [ErrSchema], and names what has changed, when the schema is not as the last run of a plan has left it. Amid a step that was
// begun there is no telling. It writes nothing, and needs no lock.
func Unchanged(ctx context.Context, db *sql.DB, p *plan.Plan) error {
	r, err := newRunner(db, p)
	if err == nil {
		err = r.readJournal(ctx)
	}
	if err != nil || r.was == nil {
		return err
	}
	for _, row := range r.steps {
		if row.State == journal.StepBegun || row.State == journal.StepUndoing {
			return nil
		}
	}
	return r.checkSchema(ctx, db, "since the last run")
}

// checkSchema returns an error that wraps [ErrSchema] when the schema is not as the last step has left it.
func (r *runner) checkSchema(ctx context.Context, db dialect.Queryer, since string) error {
	fingerprint, err := r.readFingerprint(ctx, db)
	if err != nil || fingerprint == r.fingerprint {
		return err
	}
	_, found, err := r.differences(ctx, db)
	if err != nil {
		return err
	}
	for _, d := range found {
		if d.What != "table" || d.Now != "there is none" {
			continue
		}
		name, err := catalog.Parse(d.Of)
		if err != nil {
			return err
		}
		if where, err := catalog.Elsewhere(ctx, db, r.dialect, name.Name); err != nil || where != "" {
			return cmp.Or(err, fmt.Errorf("%w: %s", ErrSchema, where))
		}
	}
	return r.schemaError(since, fingerprint, found)
}

// schemaError returns an error that wraps [ErrSchema], and names the first differences.
func (r *runner) schemaError(since, fingerprint string, found []catalog.Difference) error {
	if len(found) == 0 { // the plan has no definitions, or the change is one of spelling
		return fmt.Errorf("%w: %s a table of the plan, or what depends on one, has changed (fingerprint %.12s, want %.12s)", ErrSchema, since, fingerprint, r.fingerprint)
	}
	var said []string
	for _, d := range found[:min(len(found), shown)] {
		said = append(said, shortDifference(d))
	}
	if more := len(found) - shown; more > 0 {
		said = append(said, fmt.Sprintf("and %d more", more))
		if r.atHold() {
			said = append(said, "snowkey migrate verify names all")
		}
	}
	return fmt.Errorf("%w: changed %s: %s", ErrSchema, since, strings.Join(said, "; "))
}

// atHold reports whether the first step that is not done is a hold: verify compares definitions there.
func (r *runner) atHold() bool {
	for n := range r.p.Steps {
		switch r.steps[n+1].State {
		case journal.StepDone:
		case journal.StepHeld:
			return true
		default:
			return false
		}
	}
	return false
}

// differences returns the definitions, and what of them is not as the steps have left it. Of a step that was begun, or is undone and has no undo, either state is right.
func (r *runner) differences(ctx context.Context, db dialect.Queryer) (now []plan.Definition, found []catalog.Difference, err error) {
	if len(r.p.Definitions) == 0 { // of a plan that [plan.Make] has not made
		return nil, nil, nil
	}
	if now, err = r.catalog.Over(db).Definitions(ctx, r.names...); err != nil {
		return nil, nil, fmt.Errorf("the tables' definitions: %w", err)
	}
	in := func(states ...string) plan.Standing {
		return plan.Standing{Done: func(n int) bool { return slices.Contains(states, r.steps[n].State) }}
	}
	others := [][]catalog.Difference{r.p.Differences(now, in(journal.StepDone, journal.StepBegun, journal.StepUndoing))}
	for _, row := range r.steps {
		if row.State == journal.StepUndone || row.State == journal.StepUndoing {
			others = append(others, r.p.Differences(now, plan.Standing{Undone: true}))
			break
		}
	}
	for _, d := range r.p.Differences(now, in(journal.StepDone)) {
		everywhere := !slices.ContainsFunc(others, func(other []catalog.Difference) bool {
			return !slices.ContainsFunc(other, func(o catalog.Difference) bool { return o.Of == d.Of && o.What == d.What })
		})
		if everywhere && d.What != "owner" && !d.Rights() { // which are not in a fingerprint
			found = append(found, d)
		}
	}
	return now, found, nil
}

// harmless reports whether the schema is as the last step has left it but for new columns that may be NULL, have no default and come after all others.
// A rollback names the columns that it writes to, and no step but those of [plan.Shadow] makes a table anew.
func (r *runner) harmless(now []plan.Definition, found []catalog.Difference) (bool, error) {
	var before []plan.Definition
	for _, d := range now {
		i := slices.IndexFunc(found, func(f catalog.Difference) bool { return f.Of == d.Of && f.What == d.What })
		if i < 0 {
			before = append(before, d)
			continue
		}
		switch f := found[i]; {
		case !f.New && f.What == "columns" && strings.HasPrefix(f.Now, f.Text+", "):
			before = append(before, f.Definition)
		case f.New && strings.HasPrefix(f.What, "type of column "):
		case f.New && strings.HasPrefix(f.What, "column ") && (f.Now == "DEFAULT NULL" || strings.HasPrefix(f.Now, "NULL ") && !strings.Contains(f.Now, "DEFAULT")):
		default:
			return false, nil
		}
	}
	fingerprint, err := catalog.Digest(before)
	return r.p.Mode != plan.Shadow && fingerprint == r.fingerprint, err
}

// shortDifference returns a difference in one line. Of long texts it leaves out what both begin with.
func shortDifference(d catalog.Difference) string {
	clean := func(text string) []rune { return []rune(strings.Join(strings.Fields(text), " ")) }
	was, is := clean(d.Text), clean(d.Now)
	if len(was) > 80 && len(is) > 80 {
		alike := 0
		for alike < min(len(was), len(is)) && was[alike] == is[alike] {
			alike++
		}
		if begin := alike - 20; begin > 0 {
			was, is = append([]rune("…"), was[begin:]...), append([]rune("…"), is[begin:]...)
		}
	}
	d.Text, d.Now = brief(string(was)), brief(string(is))
	return d.String()
}
