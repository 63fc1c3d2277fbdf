package verify

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/snowkey-go/snowkey/migrate/inspect"
	"github.com/snowkey-go/snowkey/migrate/internal/journal"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

const notCounted = "its step was not run yet: "

// baseline is a query of a Count step, and what it has found.
type baseline struct {
	query plan.Query
	title string // of the step
	found *int64 // nil when the step was not run yet
}

// readBaselines reads what the plan's Count steps have found; of two that count the same the first.
func (v *verifier) readBaselines() error {
	for n := range v.plan.Steps {
		s := &v.plan.Steps[n]
		if s.Do.Kind != plan.Count {
			continue
		}
		var numbers []int64
		if text := v.steps[n+1].Found; text != "" {
			var err error
			if numbers, err = s.Do.Numbers(text); err != nil {
				return fmt.Errorf("verify: step %d (%s): %w", n+1, s, err)
			}
		}
		for i, q := range s.Do.Queries {
			if _, twice := v.baselines[q.Subject]; twice || q.Subject == (plan.Subject{}) {
				continue
			}
			b := baseline{query: q, title: s.String()}
			if numbers != nil {
				b.found = &numbers[i]
			}
			v.baselines[q.Subject] = b
		}
	}
	return nil
}

// compareBaselines adds the checks of what the plan's Count and Digest steps have found. After a rollback, too: then everything is to be as it was. What
// a plan that gives new ids has not counted is skipped, and so is not lost without a word.
func (v *verifier) compareBaselines() error {
	if err := v.readBaselines(); err != nil {
		return err
	}
	// Digests come first: other checks ask what they have found.
	for i := range v.plan.Steps {
		if s, row := &v.plan.Steps[i], v.steps[i+1]; s.Do.Kind == plan.Digest {
			v.add("the other columns of "+s.Do.Table, func(ctx context.Context) error { return v.checkDigest(ctx, s, row) })
		}
	}
	for _, table := range v.tablesToCount() {
		b, ok := v.baselines[plan.RowsOf(table)]
		if ok || v.plan.Mode != plan.Widen {
			v.add("the rows of "+table, func(ctx context.Context) error { return v.checkRows(ctx, table, b) })
		}
	}
	for _, r := range v.plan.References {
		for _, subject := range subjects(r) {
			if b, ok := v.baselines[subject]; ok {
				v.add("the "+b.query.String(), func(ctx context.Context) error { return v.checkCounted(ctx, r, b) })
			}
		}
	}
	return nil
}

// subjects returns what a plan may count of a reference's orphans.
func subjects(r plan.Reference) []plan.Subject {
	if r.Name == "" {
		return []plan.Subject{plan.OrphansOf(r)}
	}
	return []plan.Subject{plan.OrphansOf(r), plan.BrokenOf(r.Table, r.Name)}
}

// tablesToCount returns the tables of the plan's keys and references, each once.
func (v *verifier) tablesToCount() []string {
	var tables []string
	add := func(table string) {
		if !slices.Contains(tables, table) {
			tables = append(tables, table)
		}
	}
	for _, k := range v.plan.Keys {
		add(k.Table)
	}
	for _, r := range v.plan.References {
		add(r.Table)
	}
	return tables
}

// counted reports whether the plan has counted the orphans of a reference.
func (v *verifier) counted(r plan.Reference) bool {
	return slices.ContainsFunc(subjects(r), func(s plan.Subject) bool {
		_, ok := v.baselines[s]
		return ok
	})
}

// checkRows compares the number of a table's rows with that before.
func (v *verifier) checkRows(ctx context.Context, table string, b baseline) error {
	c := Check{Name: "rows", Table: table}
	switch {
	case b.query.SQL == "":
		v.skip(c, "the plan does not count them")
		return nil
	case b.found == nil:
		v.skip(c, notCounted+b.title)
		return nil
	}
	const text = "They were deleted by the application, or lost. "
	if k := v.plan.Key(table); k != nil {
		a, why, err := v.audit(ctx, *k)
		switch {
		case err != nil:
			return err
		case why == "" && a.Gone == 0:
			v.judge(c, true, fmt.Sprintf("%d old rows", a.Pairs), fmt.Sprintf("%d old rows", a.Pairs), "")
			return nil
		case why == "":
			c.Examples = pairs(a.Lost)
			v.unknown(c, fmt.Sprintf("%d old rows", a.Pairs), fmt.Sprintf("%d are gone", a.Gone), text+"The map "+k.Map+" has the ids of all: look for them in a backup, "+
				"or ask the application whether it has deleted them.")
			return nil
		}
	}
	now, err := v.count(ctx, b.query.SQL)
	if err != nil {
		return err
	}
	want := fmt.Sprintf("at least %d", *b.found)
	if now >= *b.found {
		v.judge(c, true, want, strconv.FormatInt(now, 10), "")
		return nil
	}
	v.unknown(c, want, strconv.FormatInt(now, 10), text+"Compare with a backup.")
	return nil
}

// checkCounted compares the orphans of a reference with those before.
func (v *verifier) checkCounted(ctx context.Context, r plan.Reference, b baseline) error {
	c := Check{Name: "orphans", Table: r.Table, Column: r.Column}
	if b.found == nil {
		v.skip(c, notCounted+b.title)
		return nil
	}
	now, err := v.count(ctx, b.query.SQL)
	if err != nil {
		return err
	}
	return v.judgeOrphans(ctx, c, r, *b.found, now, b.query.SQL)
}

// judgeOrphans notes how many values of a reference are keys of no row. Where a foreign key guards it, more than before is a fault. Else the application
// may have deleted the row that a value refers to: that is unknown, but for values that were no row's id at any time that the plan knows of.
func (v *verifier) judgeOrphans(ctx context.Context, c Check, r plan.Reference, before, now int64, query string) error {
	want, got := fmt.Sprintf("at most %d", before), strconv.FormatInt(now, 10)
	if now <= before {
		v.judge(c, true, want, got, "")
		return nil
	}
	k := v.plan.Key(r.To)
	changed, taken := v.changes[r.To]
	if r.Origin == inspect.Declared || k == nil || !taken {
		v.judge(c, false, want, got, "More values than before are keys of no row. Count them with: "+query)
		return nil
	}
	never, example, err := v.countNever(ctx, r, *k, changed.Top)
	if err != nil {
		return err
	}
	if never > before {
		c.Examples = []string{example}
		v.judge(c, false, want, fmt.Sprintf("%s, of which %d were never a row's", got, never), "Values that are no row's id were written since. Find out who writes them. Count them with: "+query)
		return nil
	}
	v.unknown(c, want, got, "More values than before are keys of no row, and nothing declares this reference: the application has deleted the rows that they refer to, or these were lost. "+
		"Look at the check rows of "+r.To+", and count the values with: "+query)
	return nil
}

// countNever counts the values of a reference that are no row's id, and were none's at any time: above all old ids, not in the map, and below what is written since.
func (v *verifier) countNever(ctx context.Context, r plan.Reference, k plan.Key, top int64) (n int64, example string, err error) {
	t, err := v.table(ctx, r.Table)
	if err != nil {
		return 0, "", err
	}
	column := t.Column(r.Column, false)
	m, err := v.mapOf(ctx, &k)
	if err != nil || m == "" || column == nil || r.ToColumn != k.Column {
		return 0, "", err
	}
	from, number, err := v.values(r, column)
	if err != nil {
		return 0, "", err
	}
	to, err := v.quoted(r.To)
	if err != nil {
		return 0, "", err
	}
	where := " FROM " + from + " AND " + number + " > " + v.number(top) + " AND " + number + " < " + v.number(k.Below) +
		" AND NOT EXISTS (SELECT 1 FROM " + to + " p WHERE p." + v.catalog.Quote(k.Column) + " = " + number + ")" +
		" AND NOT EXISTS (SELECT 1 FROM " + m + " m WHERE m.old_id = " + number + ")"
	n, least, err := v.countLeast(ctx, number, where)
	return n, fmt.Sprintf("value %d", least), err
}

// checkDigest compares the digest of a table's other columns with that before.
func (v *verifier) checkDigest(ctx context.Context, s *plan.Step, row journal.Step) error {
	table := s.Do.Table
	c := Check{Name: "digest", Table: table}
	if row.Found == "" {
		v.skip(c, notCounted+s.String())
		return nil
	}
	if v.whyNotRewritten() == "" {
		for _, k := range v.mapped(table) {
			m, err := v.find(ctx, k.Map)
			if err != nil {
				return err
			}
			if m == nil {
				v.skip(c, dropped(*k))
				return nil
			}
		}
	}
	before, err := readDigest(row.Found)
	if err != nil {
		return err
	}
	r, err := v.readerOf(ctx, table)
	if err != nil {
		return err
	}
	now := digest{Top: before.Top, Shift: before.Shift}
	if err := r.digest(ctx, &now); err != nil {
		return err
	}
	return v.compareDigests(ctx, c, r, row.Started, before, now)
}

// mapped returns the keys whose maps tell what the new ids of a table were before: its own, and those that it refers to.
func (v *verifier) mapped(table string) (keys []*plan.Key) {
	add := func(k *plan.Key) {
		if k != nil && k.Map != "" && !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	add(v.plan.Key(table))
	for _, r := range v.plan.References {
		if r.Table == table {
			add(v.plan.Key(r.To))
		}
	}
	return keys
}

func dropped(k plan.Key) string { return "the map " + k.Map + " was dropped" }
