package plan

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/inspect"
)

// scope finds what has to change: the keys, all that refers to them, and what refers to that where a reference is itself its table's key.
// It fills the builder's tables, references and columns, and the plan's Keys, References, Tables and Fingerprint.
func (b *builder) scope(ctx context.Context) error {
	chosen, err := b.chosen()
	if err != nil {
		return err
	}
	s := selection{b: b, keys: map[string]string{}, roots: map[string]string{}, shared: map[string]bool{}}
	for _, t := range chosen {
		s.keys[t.Name], s.roots[t.Name] = t.Key.Column, t.Name
	}
	if err := s.follow(); err != nil {
		return err
	}
	if err := s.load(ctx); err != nil {
		return err
	}
	if err := b.link(ctx); err != nil {
		return err
	}
	for _, t := range chosen {
		if !s.shared[t.Name] {
			b.plan.Keys = append(b.plan.Keys, Key{Table: t.Name, Column: t.Key.Column, Below: b.options.Below, Next: b.tables[t.Name].Next})
		}
	}
	for name := range b.tables {
		b.plan.Tables = append(b.plan.Tables, name)
	}
	slices.Sort(b.plan.Tables)
	names := make([]catalog.Name, len(b.plan.Tables)) // in the order in which the plan has them: a fingerprint is of that, too
	for i, name := range b.plan.Tables {
		if names[i], err = catalog.Parse(name); err != nil {
			return fmt.Errorf("%w: the report's table %q: %v", ErrOption, name, err)
		}
	}
	if b.plan.Definitions, err = b.catalog.Definitions(ctx, names...); err != nil {
		return fmt.Errorf("plan: the tables' definitions: %w", err)
	}
	if b.plan.Fingerprint, err = catalog.Digest(b.plan.Definitions); err != nil {
		return fmt.Errorf("plan: the tables' definitions: %w", err)
	}
	return nil
}

func compareNames(x, y catalog.Name) int {
	return cmp.Or(cmp.Compare(x.Schema, y.Schema), cmp.Compare(x.Name, y.Name))
}

// chosen returns the report's tables whose keys are to change.
func (b *builder) chosen() ([]inspect.Table, error) {
	var chosen []inspect.Table
	var named, without []string
	for _, name := range b.options.Tables {
		bare, out := strings.CutPrefix(name, "!")
		if !out {
			named = append(named, name)
			continue
		}
		left, err := catalog.Parse(bare)
		if err != nil {
			return nil, fmt.Errorf("%w: the table %q: %v", ErrOption, name, err)
		}
		without = append(without, left.String()) // the report need not have it: an inspection with the same names has left it out
	}
	if len(named) == 0 {
		for _, t := range b.report.Tables {
			if t.Key != nil && !slices.Contains(without, t.Name) {
				chosen = append(chosen, t)
			}
		}
		if len(chosen) == 0 {
			return nil, fmt.Errorf("%w: none of the report's %d tables has a key that can be migrated", ErrOption, len(b.report.Tables))
		}
	}
	for _, name := range named {
		i, err := b.find(name)
		switch {
		case err != nil:
			return nil, err
		case b.report.Tables[i].Key == nil:
			return nil, fmt.Errorf("%w: %s has no key that can be migrated: %s", ErrOption, name, b.report.Tables[i].NoKey)
		case slices.Contains(without, b.report.Tables[i].Name):
			return nil, fmt.Errorf("%w: the table %s is named both with and without ! in front", ErrOption, name)
		case !slices.ContainsFunc(chosen, func(t inspect.Table) bool { return t.Name == b.report.Tables[i].Name }):
			chosen = append(chosen, b.report.Tables[i])
		}
	}
	for table := range b.options.Created {
		if table == everyTable {
			continue
		}
		if _, err := b.find(table); err != nil {
			return nil, err
		}
	}
	for _, accepted := range b.options.Accept {
		if !b.acceptable(accepted) {
			return nil, fmt.Errorf("%w: accepted is %q, want KIND:TABLE.NAME of a table of the database, as what stands in the way is called", ErrOption, accepted)
		}
	}
	return chosen, nil
}

// acceptable reports whether a word could be the name of something that stands in the way, be it there or not any more.
func (b *builder) acceptable(word string) bool {
	_, rest, ok := strings.Cut(word, ":")
	return ok && slices.ContainsFunc(b.report.Obstacles, func(o inspect.Obstacle) bool { return o.Accept() == word }) ||
		slices.ContainsFunc(b.report.Tables, func(t inspect.Table) bool {
			return rest == t.Name || strings.HasPrefix(rest, t.Name+".")
		})
}

// inReport returns what the report says of a table by its own name for it, nothing of one that it does not have.
func (b *builder) inReport(table string) inspect.Table {
	for _, t := range b.report.Tables {
		if t.Name == table {
			return t
		}
	}
	return inspect.Table{}
}

// find returns the place of a table in the report. The name may be quoted in another way than there.
func (b *builder) find(name string) (int, error) {
	want, err := catalog.Parse(name)
	if err != nil {
		return 0, fmt.Errorf("%w: the table %q: %v", ErrOption, name, err)
	}
	i := slices.IndexFunc(b.report.Tables, func(t inspect.Table) bool { return t.Name == want.String() })
	if i < 0 {
		return 0, fmt.Errorf("%w: the report has no table %s", ErrOption, want)
	}
	return i, nil
}

// selection is what scope has found so far. A column is named by its table, and "column" there: a table's key, or "" for none.
type selection struct {
	b      *builder
	keys   map[string]string // columns that are keys of their tables and hold snowflakes, by table
	roots  map[string]string // of a table with such a key, the table whose ids it has: itself, or, where the key is a reference, another
	shared map[string]bool   // whether the key is a reference
	refs   []Reference
	pairs  [][2]string // table and column of what is widened beside the keys
}

// follow takes in the references to the keys, until no table's key is added.
func (s *selection) follow() error {
	report := s.b.report
	used := make([]bool, len(report.References))
	for again := true; again; {
		again = false
		for i, r := range report.References {
			if used[i] || s.keys[r.To] == "" || s.keys[r.To] != r.ToColumn || r.Confidence == inspect.Unlikely {
				continue
			}
			used[i], again = true, true
			s.refs = append(s.refs, Reference{Reference: r})
			if r.Path == "" {
				s.pairs = append(s.pairs, [2]string{r.Table, r.Column})
			}
			if r.Path != "" || r.OwnerType != "" || r.Confidence == inspect.Possible || s.b.keyOf(r.Table) != r.Column || r.Table == r.To {
				continue
			}
			s.shared[r.Table], s.keys[r.Table], s.roots[r.Table] = true, r.Column, r.To
		}
	}
	for i, r := range report.References {
		if used[i] || s.keys[r.Table] != r.Column || r.Path != "" || r.OwnerType != "" || r.Confidence != inspect.Certain && r.Confidence != inspect.Likely || r.Table == r.To {
			continue
		}
		return fmt.Errorf("%w: the key %s.%s is a reference to %s.%s and has its ids: name the table %s too", ErrOption, r.Table, r.Column, r.To, r.ToColumn, r.To)
	}
	return s.root()
}

// root makes every reference one to the table that the ids come from: what refers to a shared key refers to the key that is shared.
func (s *selection) root() error {
	for i := range s.refs {
		r := &s.refs[i]
		to := r.To
		for n := 0; s.roots[to] != to; n++ {
			if n > len(s.roots) {
				return fmt.Errorf("%w: the keys of %s and %s are references to each other: it cannot be told whose ids they are", ErrOption, r.To, to)
			}
			to = s.roots[to]
		}
		if to != r.To {
			r.Via, r.ViaColumn = r.To, r.ToColumn
		}
		r.To, r.ToColumn = to, s.keys[to]
	}
	s.b.plan.References = append(s.b.plan.References, s.refs...)
	return nil
}

// load reads the tables, and makes the columns of what was found.
func (s *selection) load(ctx context.Context) error {
	var names []string
	for table := range s.keys {
		names = append(names, table)
	}
	for _, r := range s.refs {
		names = append(names, r.Table)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		parsed, err := catalog.Parse(name)
		if err != nil {
			return fmt.Errorf("%w: the report's table %q: %v", ErrOption, name, err)
		}
		if err := s.b.load(ctx, name, parsed); err != nil {
			return err
		}
	}
	for _, r := range s.refs {
		if r.Path != "" && s.b.columnOf(r.Table, r.Column) == nil {
			return fmt.Errorf("%w: %s has no column %s any more: inspect again", ErrOption, r.Table, r.Column)
		}
		if r.OwnerType != "" && s.b.columnOf(r.Table, r.OwnerType) == nil {
			return fmt.Errorf("%w: %s has no column %s any more: inspect again", ErrOption, r.Table, r.OwnerType)
		}
	}
	for _, t := range s.b.report.Tables { // in the report's order
		if key := s.keys[t.Name]; key != "" {
			if err := s.b.take(t.Name, key, true); err != nil {
				return err
			}
		}
	}
	for _, p := range s.pairs {
		if err := s.b.take(p[0], p[1], false); err != nil {
			return err
		}
	}
	return nil
}

// load reads a table that is not read yet.
func (b *builder) load(ctx context.Context, name string, parsed catalog.Name) error {
	if b.tables[name] != nil {
		return nil
	}
	t, err := b.catalog.Table(ctx, parsed)
	switch {
	case err != nil:
		return fmt.Errorf("plan: the table %s: %w", name, err)
	case t == nil:
		return fmt.Errorf("%w: there is no table %s any more: inspect again", ErrOption, name)
	case t.View != "":
		return fmt.Errorf("%w: %s is a %s", ErrOption, name, t.View)
	}
	names := []string{t.Full.Schema, t.Full.Name}
	for _, c := range t.Columns {
		names = append(names, c.Name)
	}
	for _, part := range names {
		if err := checkName(part); err != nil {
			return err
		}
	}
	b.tables[name], b.names[t.Full] = t, name
	if b.leaves[t], err = b.catalog.Leaves(ctx, t); err != nil {
		return fmt.Errorf("plan: the partitions of %s: %w", name, err)
	}
	return nil
}

// columnOf returns a column of a table that is read, nil when there is none.
func (b *builder) columnOf(table, name string) *catalog.Column {
	return b.tables[table].Column(name, false)
}

// take adds a column to those that have to hold snowflakes, unless it is among them.
func (b *builder) take(table, name string, key bool) error {
	if b.taken(table, name) {
		return nil
	}
	c := b.columnOf(table, name)
	if c == nil {
		return fmt.Errorf("%w: %s has no column %s any more: inspect again", ErrOption, table, name)
	}
	b.columns = append(b.columns, &column{table: table, of: b.tables[table], column: c, key: key})
	return nil
}

func (b *builder) taken(table, name string) bool {
	return slices.ContainsFunc(b.columns, func(c *column) bool { return c.table == table && c.column.Name == name })
}

// link reads the foreign keys. On MySQL, where both sides of one have the same type, it also takes in what they connect: a column that has
// to be as wide as another, though no snowflakes are known to come into it.
func (b *builder) link(ctx context.Context) error {
	for again := true; again; {
		again = false
		tables := make([]*catalog.Table, 0, len(b.tables))
		for _, t := range b.tables {
			tables = append(tables, t)
		}
		slices.SortFunc(tables, func(x, y *catalog.Table) int { return compareNames(x.Full, y.Full) })
		var err error
		if b.references, err = b.catalog.References(ctx, tables...); err != nil {
			return fmt.Errorf("plan: the foreign keys: %w", err)
		}
		for _, r := range b.references {
			added, err := b.connect(ctx, r)
			if err != nil {
				return err
			}
			again = again || added
		}
	}
	b.declare()
	return nil
}

// declare notes what the foreign keys of the plan's references are that the report has not, or that scope has changed: the tables that they name.
func (b *builder) declare() {
	for i := range b.plan.References {
		r := &b.plan.References[i]
		if r.Origin != inspect.Declared || r.Name == "" { // SQLite's have no names to know them by
			continue
		}
		for _, f := range b.references {
			at := slices.Index(f.Columns, r.Column)
			if f.Name != r.Name || b.names[f.Child] != r.Table || at < 0 {
				continue
			}
			r.Loose = r.Loose || !f.Valid // partitions may have some of one name
			if parent := b.names[f.Parent]; parent != r.To || f.To[at] != r.ToColumn {
				r.Via, r.ViaColumn, r.Columns, r.ToColumns = b.short(f.Parent).String(), f.To[at], f.Columns, f.To
			}
		}
	}
}

// above returns the references of the plan that a column is which a foreign key names as the parent of another: the second column of a composite key,
// or the key of a table that is not in the report. What refers to it has the same ids.
func (b *builder) above(f *catalog.Reference, at int) (found []Reference) {
	for _, r := range b.plan.References {
		if r.Table == b.names[f.Parent] && r.Column == f.To[at] && r.Path == "" && r.OwnerType == "" {
			found = append(found, r)
		}
	}
	return found
}

// hand takes a column of a foreign key for a reference to what the column above it refers to.
func (b *builder) hand(f *catalog.Reference, at int, above []Reference) {
	for _, up := range above {
		b.plan.References = append(b.plan.References, Reference{Reference: inspect.Reference{
			Table: b.names[f.Child], Column: f.Columns[at], To: up.To, ToColumn: up.ToColumn, Origin: inspect.Declared, Name: f.Name,
			Columns: f.Columns, ToColumns: f.To, OnDelete: f.OnDelete, OnUpdate: f.OnUpdate, Confidence: up.Confidence, Text: up.Text, Orphans: -1,
			Why: fmt.Sprintf("the foreign key %s has it be one of %s.%s, which is such a reference", f.Name, up.Table, up.Column),
		}, Via: b.short(f.Parent).String(), ViaColumn: f.To[at]})
	}
}

// connect reports whether a foreign key has brought in a column.
func (b *builder) connect(ctx context.Context, r *catalog.Reference) (added bool, err error) {
	child, parent := b.names[r.Child], b.names[r.Parent]
	if r.Name != "" {
		if err := checkName(r.Name); err != nil {
			return false, err
		}
	}
	for i, name := range r.Columns {
		up, down := parent != "" && b.taken(parent, r.To[i]), child != "" && b.taken(child, name)
		switch {
		case up && !down:
			above := b.above(r, i)
			if len(above) == 0 && !b.wide(parent, r.To[i]) {
				return false, fmt.Errorf("%w: the report does not have the foreign key %s of %s to %s: inspect again", ErrOption, r.Name, r.Child, r.Parent)
			}
			if child, added, err = b.bring(ctx, r.Child, name); err == nil {
				b.hand(r, i, above)
			}
		case down && !up && b.dialect() == dialect.MySQL:
			parent, added, err = b.bring(ctx, r.Parent, r.To[i])
		}
		if err != nil {
			return false, err
		}
	}
	return added, nil
}

// wide reports whether a column is one that was brought in for its type alone.
func (b *builder) wide(table, name string) bool {
	return !slices.ContainsFunc(b.plan.References, func(r Reference) bool { return r.Table == table && r.Column == name }) &&
		!slices.ContainsFunc(b.columns, func(c *column) bool { return c.table == table && c.column.Name == name && c.key })
}

// bring takes in a column of a table that may not be in the report.
func (b *builder) bring(ctx context.Context, full catalog.Name, name string) (table string, added bool, err error) {
	table = b.names[full]
	if table == "" {
		t, err := b.catalog.Table(ctx, full)
		if err != nil || t == nil {
			return "", false, fmt.Errorf("plan: the table %s of a foreign key: %w", full, cmp.Or(err, ErrOption))
		}
		table = t.Name.String()
		if err := b.load(ctx, table, full); err != nil {
			return "", false, err
		}
	}
	return table, true, b.take(table, name, false)
}
