package merge

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// ours begins the names of snowkey's own tables.
const ours = "snowkey_"

// schema reads the tables, and refuses databases whose tables differ, or cannot be merged.
func (m *merger) schema(ctx context.Context) error {
	list, wrong, err := m.named(ctx)
	if err != nil {
		return err
	}
	into := m.sides[0]
	tables, err := into.catalog.Load(ctx, list...)
	if err != nil {
		return err
	}
	others := make([][]*catalog.Table, len(m.sides)-1)
	for i, s := range m.sides[1:] {
		if others[i], err = s.catalog.Outlines(ctx, list...); err != nil {
			return err
		}
	}
	for i, name := range list {
		read := tables[i]
		if read == nil {
			return fmt.Errorf("%w: %s has no table %s", ErrOption, into.label, name)
		}
		t, why := tableOf(into, name, read)
		if t == nil {
			wrong = append(wrong, why)
			continue
		}
		for _, trigger := range read.Triggers {
			wrong = append(wrong, fmt.Sprintf("%s has the trigger %s (%s) in %s, which would act on every row: drop it for as long as the merge lasts", t.text, trigger.Name, trigger.Timing, into.label))
		}
		for side, s := range m.sides[1:] {
			wrong = append(wrong, differences(t, others[side][i], into.label, s.label)...)
		}
		m.tables = append(m.tables, t)
	}
	more, err := m.order(ctx)
	if err != nil {
		return err
	}
	if wrong = append(wrong, more...); len(wrong) > 0 {
		return fmt.Errorf("%w:\n  %s", ErrSchema, strings.Join(wrong, "\n  "))
	}
	return nil
}

// named returns the names of the tables to be merged, and which a database has and others have not.
func (m *merger) named(ctx context.Context) (found []catalog.Name, wrong []string, err error) {
	for _, text := range m.options.Tables {
		name, err := catalog.Parse(text)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %w", ErrOption, err)
		}
		if name.Schema != "" && m.sides[0].dialect != dialect.Postgres {
			return nil, nil, fmt.Errorf("%w: the table %s is named with its database, and would be the same one for all", ErrOption, name)
		}
		if slices.Contains(found, name) {
			return nil, nil, fmt.Errorf("%w: the table %s is named twice", ErrOption, name)
		}
		found = append(found, name)
	}
	if found != nil {
		return found, nil, nil
	}
	lists := make([][]catalog.Name, len(m.sides))
	for i, s := range m.sides {
		all, err := s.catalog.Tables(ctx)
		if err != nil {
			return nil, nil, err
		}
		for _, name := range all {
			if !strings.HasPrefix(name.Name, ours) && name.Name != m.options.Plan.Grants {
				lists[i] = append(lists[i], name)
			}
		}
	}
	if len(lists[0]) == 0 {
		return nil, nil, fmt.Errorf("%w: %s has no tables", ErrOption, m.sides[0].label)
	}
	for i, s := range m.sides[1:] {
		for _, name := range lists[i+1] {
			if !slices.Contains(lists[0], name) {
				wrong = append(wrong, fmt.Sprintf("%s has the table %s, and %s has not", s.label, name, m.sides[0].label))
			}
		}
	}
	return lists[0], wrong, nil
}

var integerWidth = regexp.MustCompile(`^(\w*int)\(\d+\)`) // which older servers show, and newer ones do not

// differences says what is not the same in a table of Into and that of another database.
func differences(t *table, other *catalog.Table, into, label string) (found []string) {
	if other == nil {
		return []string{fmt.Sprintf("%s has no table %s", label, t.text)}
	}
	note := func(format string, args ...any) {
		found = append(found, t.text+": "+fmt.Sprintf(format, args...))
	}
	for _, c := range t.Columns {
		i := slices.IndexFunc(other.Columns, func(o *catalog.Column) bool { return o.Name == c.Name })
		if i < 0 {
			note("%s has no column %s", label, c.Name)
			continue
		}
		o := other.Columns[i]
		if !holds(c, o) {
			note("the column %s is %s in %s and %s in %s", c.Name, c.Type, into, o.Type, label)
		}
		if (c.Generated == "") != (o.Generated == "") {
			note("the column %s is computed in one of %s and %s", c.Name, into, label)
		}
		if o.Nullable && !c.Nullable {
			note("the column %s may be NULL in %s, and not in %s", c.Name, label, into)
		}
	}
	for _, o := range other.Columns {
		if !slices.ContainsFunc(t.Columns, func(c *catalog.Column) bool { return o.Name == c.Name }) {
			note("%s has the column %s, and %s has not", label, o.Name, into)
		}
	}
	if a, b := t.Key(), other.Key(); !slices.Equal(a, b) {
		note("the primary key is (%s) in %s and (%s) in %s", strings.Join(a, ", "), into, strings.Join(b, ", "), label)
	}
	return found
}

// holds reports whether a column can hold all that another one does, and keeps it as it is: an integer may be wider.
func holds(c, o *catalog.Column) bool {
	if c.Class == catalog.Integer && o.Class == catalog.Integer && c.Unsigned == o.Unsigned {
		return c.Bits >= o.Bits
	}
	return integerWidth.ReplaceAllString(strings.ToLower(c.Type), "$1") == integerWidth.ReplaceAllString(strings.ToLower(o.Type), "$1")
}
