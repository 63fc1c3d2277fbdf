package verify

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/snowkey-go/snowkey/gormplugin/migrate/plan"
)

const notCounted = "its step was not run yet: "

// baseline is a query of a Count step, and what it has found.
type baseline struct {
	title string // of the step
	query string
	found string // empty when the step was not run yet
}

// baseline finds the query that is about something, as the plan's Each has it.
func (v *verifier) baseline(each string) (found baseline, ok bool, err error) {
	for n := range v.plan.Steps {
		s := &v.plan.Steps[n]
		i := slices.Index(s.Do.Each, each)
		if s.Do.Kind != plan.Count || i < 0 || i >= len(s.Do.SQL) {
			continue
		}
		found = baseline{title: s.Title, query: s.Do.SQL[i]}
		if text := v.steps[n+1].Found; text != "" {
			numbers, err := s.Do.Numbers(text)
			if err != nil {
				return baseline{}, false, fmt.Errorf("verify: step %d (%s): %w", n+1, s.Title, err)
			}
			found.found = strconv.FormatInt(numbers[each], 10)
		}
		return found, true, nil
	}
	return baseline{}, false, nil
}

// baselines adds the checks of what the plan's Count and Digest steps have found. After a rollback, too: then everything is to be as it was. What
// a plan that gives new ids has not counted is skipped, and so is not lost without a word.
func (v *verifier) baselines() error {
	for _, table := range v.moved() {
		b, ok, err := v.baseline(plan.RowsOf(table))
		if err != nil {
			return err
		}
		if ok || v.plan.Mode != plan.Widen {
			v.add("the rows of "+table, func(ctx context.Context) error { return v.checkRows(ctx, table, b) })
		}
	}
	for _, r := range v.plan.References {
		for _, each := range []string{plan.OrphansOf(r), plan.OrphansByKey(r.Name, r.Table)} {
			b, ok, err := v.baseline(each)
			if err != nil {
				return err
			}
			if ok {
				v.add("the "+each, func(ctx context.Context) error { return v.checkCounted(ctx, r, b) })
			}
		}
	}
	for i, s := range v.plan.Steps {
		if found := v.steps[i+1].Found; s.Do.Kind == plan.Digest {
			v.add("the other columns of "+s.Do.Table, func(ctx context.Context) error { return v.checkDigest(ctx, s, found) })
		}
	}
	return nil
}

// moved returns the tables of the plan's keys and references, each once.
func (v *verifier) moved() []string {
	var tables []string
	for _, k := range v.plan.Keys {
		tables = append(tables, k.Table)
	}
	for _, r := range v.plan.References {
		tables = append(tables, r.Table)
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(tables, func(table string) bool {
		was := seen[table]
		seen[table] = true
		return was
	})
}

// counted tells whether the plan has counted the orphans of a reference.
func (v *verifier) counted(r plan.Reference) bool {
	return slices.ContainsFunc(v.plan.Steps, func(s plan.Step) bool {
		return s.Do.Kind == plan.Count && (slices.Contains(s.Do.Each, plan.OrphansOf(r)) || slices.Contains(s.Do.Each, plan.OrphansByKey(r.Name, r.Table)))
	})
}

// checkRows compares the number of a table's rows with that before.
func (v *verifier) checkRows(ctx context.Context, table string, b baseline) error {
	c := Check{Name: "rows", Table: table}
	switch {
	case b.query == "":
		v.skip(c, "the plan does not count them")
		return nil
	case b.found == "":
		v.skip(c, notCounted+b.title)
		return nil
	}
	before, now, err := v.recount(ctx, b)
	if err != nil {
		return err
	}
	v.judge(c, now >= before, "at least "+b.found, strconv.FormatInt(now, 10), "There are fewer rows than before: they were lost, or the application has deleted them since.")
	return nil
}

// checkCounted compares the orphans of a reference with those before.
func (v *verifier) checkCounted(ctx context.Context, r plan.Reference, b baseline) error {
	c := Check{Name: "orphans", Table: r.Table, Column: r.Column}
	if b.found == "" {
		v.skip(c, notCounted+b.title)
		return nil
	}
	before, now, err := v.recount(ctx, b)
	if err != nil {
		return err
	}
	v.judge(c, now <= before, "at most "+b.found, strconv.FormatInt(now, 10), "More values than before are keys of no row: "+b.query)
	return nil
}

func (v *verifier) recount(ctx context.Context, b baseline) (before, now int64, err error) {
	if before, err = strconv.ParseInt(b.found, 10, 64); err != nil {
		return 0, 0, fmt.Errorf("verify: %s: %w", b.title, err)
	}
	now, err = v.count(ctx, b.query)
	return before, now, err
}

// checkDigest compares the digest of a table's other columns with that before.
func (v *verifier) checkDigest(ctx context.Context, s plan.Step, found string) error {
	table := s.Do.Table
	c := Check{Name: "digest", Table: table}
	if found == "" {
		v.skip(c, notCounted+s.Title)
		return nil
	}
	k := v.plan.Key(table)
	if k != nil && k.Map != "" && v.rewritten() == "" {
		m, err := v.find(ctx, k.Map)
		if err != nil {
			return err
		}
		if m == nil {
			v.skip(c, dropped(*k))
			return nil
		}
	}
	before, err := readDigest(found)
	if err != nil {
		return err
	}
	r, err := v.reading(ctx, table)
	if err != nil {
		return err
	}
	now := digest{Top: before.Top, Shift: before.Shift}
	if err := r.digest(ctx, &now); err != nil {
		return err
	}
	v.compareDigests(c, r, before, now)
	return nil
}

func dropped(k plan.Key) string { return "the map " + k.Map + " was dropped" }
