package verify

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/internal/journal"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// checkDefinitions compares what the database says of the plan's tables, and of what depends on them, with what it said when the plan was made, and the changes that
// the plan has announced.
func (v *verifier) checkDefinitions(ctx context.Context, state journal.State) error {
	if len(v.plan.Definitions) == 0 { // of a plan that [plan.Make] has not made
		return nil
	}
	why := ""
	standing := plan.Standing{Undone: state == journal.Undone, Finished: state == journal.Done, Done: func(n int) bool { return v.steps[n].State == journal.StepDone }}
	switch state {
	case journal.Undone, journal.Done:
	case journal.Running:
		why = v.whyMidRun()
	case journal.Undoing:
		why = "the plan is being rolled back: definitions are compared when it is"
	default:
		why = "the plan was not run yet"
	}
	if why != "" {
		for _, table := range v.plan.Tables {
			v.skip(Check{Name: "definitions", Table: table}, why)
		}
		return nil
	}
	names := make([]catalog.Name, len(v.plan.Tables))
	for i, table := range v.plan.Tables {
		var err error
		if names[i], err = catalog.Parse(table); err != nil {
			return fmt.Errorf("verify: the plan's table: %w", err)
		}
	}
	now, err := v.catalog.Definitions(ctx, names...)
	if err != nil {
		return fmt.Errorf("verify: the tables' definitions: %w", err)
	}
	found := v.plan.Differences(now, standing)
	wrong := map[string]bool{}
	for _, d := range found {
		wrong[d.Of] = true
		c := Check{Name: "definitions", Table: d.Of}
		if granted(d) {
			v.unknown(c, d.What+": "+wanted(d), d.What+": "+has(d), "Rights were granted that were not there before, as a run may need some. The plan grants none: revoke what is not meant to stay.")
			continue
		}
		v.judge(c, false, d.What+": "+wanted(d), d.What+": "+has(d), v.meaning(d))
	}
	for i, table := range v.plan.Tables {
		of := names[i]
		if t, err := v.find(ctx, table); err != nil {
			return err
		} else if t != nil {
			of = t.Full
		}
		if !wrong[of.String()] && !wrong[names[i].String()] {
			v.judge(Check{Name: "definitions", Table: table}, true, "", "", "")
		}
	}
	return nil
}

// granted reports whether a difference is of rights of which none was lost.
func granted(d catalog.Difference) bool {
	now := strings.Split(d.Now, ", ")
	return d.Rights() && !d.Gone && (d.New || !slices.ContainsFunc(strings.Split(d.Text, ", "), func(right string) bool { return !slices.Contains(now, right) }))
}

func wanted(d catalog.Difference) string {
	if d.New {
		return "none"
	}
	return d.Text
}

func has(d catalog.Difference) string {
	if d.Gone {
		return "none"
	}
	return d.Now
}

// meaning says what a difference means, and what would bring a definition back, where that is known.
func (v *verifier) meaning(d catalog.Difference) string {
	text := "It is not as it was before, and the plan has not announced that it changes it."
	switch {
	case d.New && strings.Contains(d.What, "snowkey_"):
		text = "The plan made it for a while, and it should be gone."
	case d.New:
		text = "It was not there before, and the plan has not announced it."
	case d.Gone:
		text = "It was there before, and the plan has not announced that it drops it."
	}
	if statement := v.restore(d); statement != "" {
		text += " This brings it back: " + statement
	}
	return text
}

// restore returns the statement that makes again what is gone, empty where that is not known.
func (v *verifier) restore(d catalog.Difference) string {
	kind, name, _ := strings.Cut(d.What, " ")
	table := d.Of
	if n, err := catalog.Parse(d.Of); err == nil {
		table = v.catalog.Quoted(n)
	}
	switch {
	case d.What == "primary key" && d.Gone && v.dialect == dialect.MySQL:
		return "ALTER TABLE " + table + " ADD " + d.Text
	case strings.HasPrefix(d.What, "default of column ") && v.dialect == dialect.Postgres && !d.New && !strings.HasPrefix(d.Text, "generated ") && !strings.HasPrefix(d.Text, "of the type"):
		return "ALTER TABLE " + table + " ALTER COLUMN " + v.catalog.Quote(strings.TrimPrefix(d.What, "default of column ")) + " SET DEFAULT " + d.Text
	case strings.HasPrefix(d.What, "comment of column ") && !d.New:
		return "COMMENT ON COLUMN " + table + "." + v.catalog.Quote(strings.TrimPrefix(d.What, "comment of column ")) + " IS " + v.literal(d.Text)
	case !d.Gone:
		return ""
	case v.dialect == dialect.MySQL && (kind == "index" || kind == "constraint"):
		return "ALTER TABLE " + table + " ADD " + d.Text
	case kind == "index":
		statement, _, _ := strings.Cut(d.Text, " part of ")
		return strings.TrimSuffix(strings.TrimSuffix(statement, " clustered"), " not valid")
	case kind == "constraint":
		return "ALTER TABLE " + table + " ADD CONSTRAINT " + v.catalog.Quote(name) + " " + strings.TrimSuffix(d.Text, " not its own")
	case kind == "trigger" && v.dialect != dialect.Postgres, kind == "trigger" && !strings.HasSuffix(d.Text, " disabled"), kind == "view":
		return d.Text
	}
	return ""
}

// whyMidRun returns why definitions cannot be compared: the first step that is not done is no hold.
func (v *verifier) whyMidRun() string {
	for i, s := range v.plan.Steps {
		if state := v.steps[i+1].State; state != journal.StepDone {
			if s.Do.Kind == plan.Hold && (state == "" || state == journal.StepHeld) {
				return ""
			}
			return fmt.Sprintf("the run is in the middle of its steps, at step %d: %s", i+1, &s)
		}
	}
	return ""
}
