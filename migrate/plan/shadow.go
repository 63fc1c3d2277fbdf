package plan

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/migrate/inspect"
)

// # Mode shadow
//
// The mode is PostgreSQL's. Beside each key, and each reference to one, there is a second column of 64 bits. What it has to hold follows from the first column alone:
//
//	f(v) = v          where v is no old id (at or above Below), or an orphan of a reference that the database does not enforce
//	f(v) = map[v]     where v is an old id, and the map has it
//	f(v) = NULL       where v is NULL, or an old id that the map does not have yet
//
// A map only grows, and an entry never changes. So a second column is either NULL for now, or right, and there is no order in which keys and references
// have to be filled: a reference is never read from the row that it refers to, which may be locked, not there yet, or not filled. That is what every
// interleaving comes down to:
//
//   - A child is written before its parent's second column is filled: both get map[v], each when it is its turn.
//   - A child is written while the map gets its parent: the trigger finds an entry or NULL, and NULL is what the batches look for.
//   - A child moves to another parent while a batch fills it: who comes second waits for the row's lock, and computes f of the row as it is then, for
//     an UPDATE that has waited evaluates its expressions anew.
//   - ON DELETE SET NULL is an UPDATE, which fires the child's trigger.
//   - A parent goes with its children, or without, where nothing enforces it: what f is of does not change, only who has it.
//   - Self-references, composite keys, many-to-many: each column for itself.
//   - The key of a row is changed: refused by the trigger, since f of the new key is another row's.
//
// New rows: the trigger of a key makes the map's entry of a row together with the row, in one transaction. So from when the trigger is
// there, no row is ever without an entry for those who see it; the rows before it are mapped by a Map step. MySQL and MariaDB have no such trigger: an
// AUTO_INCREMENT is not known before the row is written, and a trigger cannot change the row afterwards (error 1442). Rows that kept coming were never all
// mapped there, which is why [Make] refuses the mode.
//
// After the swap the columns have changed names, so that statements find the new ids under the old name.

// moved is a column that gets a second one.
type moved struct {
	table    *moving
	column   *catalog.Column
	key      *Key   // whose map its values are in: of its own table, or of the one that it refers to
	own      bool   // it is the key
	strict   bool   // each value is a key for certain: the database sees to it
	second   string // the second column's name
	old      string // the first column's name after the swap
	fromZero bool   // its default is 0
}

// moving is a table with such columns.
type moving struct {
	name    string // as the report has it
	of      *catalog.Table
	columns []*moved
	own     *moved // of these the table's key, nil when it is not among the plan's
	through string // the integer column that batches go along: not NULL, and first in an index
}

// shadowBuilder makes plans of the mode shadow, which is PostgreSQL's.
type shadowBuilder struct{ *postgresEngine }

func (b *shadowBuilder) steps(ctx context.Context) error {
	if err := b.date(ctx); err != nil {
		return err
	}
	tables := b.movings()
	for _, t := range tables {
		b.admit(t)
	}
	b.admitForeignKeys(tables)
	if len(b.blocked) > 0 {
		return nil
	}
	b.note("The mode shadow: in place of changing ids it fills second columns beside them, and changes the names of both in a moment, the swap. " +
		"The second columns are the last of their tables: after the swap SELECT * has another order of columns, and an INSERT without a list of columns, which goes on until the swap, puts values in others than before.")
	b.note("From the first trigger to the swap the key of a row cannot be changed: an UPDATE that does it fails with a message that says so.")
	b.reserve()
	b.makeMaps("expand")
	all, err := b.rewritings(ctx)
	if err != nil {
		return err
	}
	b.baseline(all)
	return b.shadowSteps(ctx, tables)
}

// movings returns the tables and columns, in the order of their names, which is the order of locks.
func (b *shadowBuilder) movings() []*moving {
	by := map[string]*moving{}
	for _, c := range b.columns {
		t := by[c.table]
		if t == nil {
			t = &moving{name: c.table, of: c.of}
			by[c.table] = t
		}
		m := &moved{table: t, column: c.column}
		b.source(m)
		if t.columns = append(t.columns, m); m.own {
			t.own = m
		}
	}
	var tables []*moving
	for _, t := range by {
		tables = append(tables, t)
		slices.SortFunc(t.columns, func(x, y *moved) int { return strings.Compare(x.column.Name, y.column.Name) })
		for _, m := range t.columns {
			m.second, m.old = b.free(t, m.column.Name+"_sf"), b.free(t, m.column.Name+"_old")
			b.write(m)
		}
		t.through = t.ordered()
	}
	slices.SortFunc(tables, func(x, y *moving) int { return compareNames(x.of.Full, y.of.Full) })
	return tables
}

// source finds whose map a column's values are in.
func (b *shadowBuilder) source(m *moved) {
	for i := range b.plan.Keys {
		if k := &b.plan.Keys[i]; k.Table == m.table.name && k.Column == m.column.Name {
			m.key, m.own, m.strict = k, true, true
			return
		}
	}
	for _, r := range b.plan.References {
		if r.Table != m.table.name || r.Column != m.column.Name {
			continue
		}
		for i := range b.plan.Keys {
			k := &b.plan.Keys[i]
			if k.Table != r.To {
				continue
			}
			if m.key != nil && m.key != k || r.Path != "" || r.OwnerType != "" || r.Text {
				b.block(fmt.Sprintf("%s.%s refers to several tables, or is a text or JSON: the mode shadow has one integer column beside each one. "+
					"Use the mode rekey.", r.Table, r.Column))
			}
			m.key = k
			if r.Origin == inspect.Declared {
				m.strict = true
			}
		}
	}
	for _, f := range b.references { // one that was never validated enforces nothing of what was there before it
		if f.Child == m.table.of.Full && slices.Contains(f.Columns, m.column.Name) && !f.Valid {
			m.strict = false
		}
	}
	if m.key == nil {
		b.block(fmt.Sprintf("It is not known whose keys %s.%s has: it is connected with a key only through another reference. Name all tables, "+
			"or use the mode rekey.", m.table.name, m.column.Name))
	}
}

// write tells the plan the second column's name, and the first one's after the swap.
func (b *shadowBuilder) write(m *moved) {
	if m.own {
		m.key.Shadow, m.key.Old = m.second, m.old
	}
	for i := range b.plan.References {
		if r := &b.plan.References[i]; r.Table == m.table.name && r.Column == m.column.Name {
			r.Shadow, r.Old = m.second, m.old
		}
	}
}

// free returns a name that no column of the table has, and that PostgreSQL does not cut, as it does longer ones, to names that are there already.
func (b *shadowBuilder) free(t *moving, wanted string) string {
	name := b.cut(wanted, 0)
	for n := 2; slices.ContainsFunc(t.of.Columns, func(c *catalog.Column) bool { return strings.EqualFold(c.Name, name) }); n++ {
		name = b.cut(fmt.Sprintf("%s%d", wanted, n), 0)
	}
	return name
}

// ordered returns the column that batches go along, empty when there is none.
func (t *moving) ordered() string {
	for _, i := range t.of.Indexes {
		if len(i.Columns) == 0 || i.Where != "" {
			continue
		}
		for _, c := range t.of.Columns {
			if c.Name == i.Columns[0] && c.Class == catalog.Integer && !c.Nullable {
				return c.Name
			}
		}
	}
	return ""
}

// find returns the table's column of a name that gets a second one, nil when it gets none.
func (t *moving) find(column string) *moved {
	if i := slices.IndexFunc(t.columns, func(m *moved) bool { return m.column.Name == column }); i >= 0 {
		return t.columns[i]
	}
	return nil
}

// swapped returns the second names in place of the first.
func (t *moving) swapped(columns []string) []string {
	names := slices.Clone(columns)
	for i, name := range names {
		if m := t.find(name); m != nil {
			names[i] = m.second
		}
	}
	return names
}

// touches reports whether one of the columns gets a second one.
func (t *moving) touches(columns []string) bool {
	return slices.ContainsFunc(columns, func(name string) bool { return t.find(name) != nil })
}

// made returns the name of something that the plan makes: of at most 63 bytes, and of nobody else's.
func (t *moving) made(what string, parts ...string) string {
	sum := sha256.Sum256([]byte(t.of.Full.Schema + "\x00" + t.of.Full.Name + "\x00" + strings.Join(parts, "\x00")))
	return fmt.Sprintf("snowkey_%x_%s", sum[:5], what)
}

// admit blocks what the mode cannot keep of a table for certain.
func (b *shadowBuilder) admit(t *moving) {
	if t.of.Related != "" {
		b.block(fmt.Sprintf("%s is %s: the mode shadow is for plain tables.", t.name, t.of.Related))
	}
	if t.through == "" {
		b.block(fmt.Sprintf("%s has no index that begins with an integer that is never NULL, along which it could be gone through.", t.name))
	}
	for _, g := range t.of.Triggers {
		if b.silent {
			g = g.Silenced()
		}
		if g.Updates(nil) && !b.reported("trigger", t.name) {
			b.refuse("trigger", t.name, g.Name, fmt.Sprintf("The trigger %s of %s is for updates, and filling the second columns updates each row: it would act on each.", g.Name, t.name))
		}
	}
	for _, u := range t.of.Users {
		if u.Kind == "statistics" && t.touches(u.Columns) {
			b.block(fmt.Sprintf("The extended statistics %s of %s would stay with the old column: drop them first, and make them again afterwards.", u.Name, t.name))
		}
	}
	for _, m := range t.columns {
		c := m.column
		if c.Class != catalog.Integer || c.Domain || c.Generated != "" {
			b.block(fmt.Sprintf("%s.%s is %s: the mode shadow is for plain integers.", t.name, c.Name, c.Type))
		}
		if m.own && m.key.Map == "" {
			b.block(fmt.Sprintf("%s: its ids are to be kept, by --created %[1]s=keep, and the mode shadow changes those of all its tables. Leave the table out, or use the mode rekey.", t.name))
		}
		if !m.own && c.Auto != "" {
			b.block(fmt.Sprintf("The database makes the reference %s.%s (%s): that cannot be kept.", t.name, c.Name, c.Auto))
		}
		plain := strings.Trim(strings.ToUpper(c.Default), "'()")
		m.fromZero = plain == "0"
		if c.Auto == "" && plain != "" && plain != "0" && !strings.HasPrefix(plain, "NULL") {
			b.block(fmt.Sprintf("%s.%s has the default %s, which is an old id: drop the default.", t.name, c.Name, c.Default))
		}
		for _, check := range t.of.Checks {
			if mentions(check.Text, c.Name) {
				b.refuse("check", t.name, check.Name, fmt.Sprintf("The CHECK %s of %s may be about %s, and would stay with the old column: drop it, and make it again afterwards.",
					check.Name, t.name, c.Name))
			}
		}
		for _, other := range t.of.Columns {
			if other.Generated != "" && mentions(other.Generated, c.Name) {
				b.block(fmt.Sprintf("%s.%s may be computed from %s, and would stay with the old column.", t.name, other.Name, c.Name))
			}
		}
	}
}

// admitForeignKeys blocks foreign keys of which one side is replaced and the other is not, and actions that cannot be kept.
func (b *shadowBuilder) admitForeignKeys(tables []*moving) {
	for _, f := range b.references {
		child, parent := movingOf(tables, f.Child), movingOf(tables, f.Parent)
		for i := range f.Columns {
			down, up := child != nil && child.find(f.Columns[i]) != nil, parent != nil && parent.find(f.To[i]) != nil
			if down != up && (up || parent != nil) {
				b.block(fmt.Sprintf("The foreign key %s of %s connects a column that changes with one that does not.", f.Name, f.Child))
			}
		}
		definition := strings.ToUpper(f.Definition)
		if strings.Contains(definition, "MATCH FULL") || strings.Contains(definition, "SET NULL (") || strings.Contains(definition, "SET DEFAULT") {
			b.block(fmt.Sprintf("The foreign key %s of %s has MATCH FULL, SET DEFAULT, or SET NULL with columns: the mode shadow does not keep them.", f.Name, f.Child))
		}
		if f.Deferrable {
			b.note(fmt.Sprintf("The foreign key %s of %s is deferrable: before the swap, a row that is written before the old row that it refers to, "+
				"in one transaction, is refused once the columns are filled.", f.Name, f.Child))
		}
	}
}

// movingOf returns the table of a full name, nil when it is none of them.
func movingOf(tables []*moving, full catalog.Name) *moving {
	if i := slices.IndexFunc(tables, func(t *moving) bool { return t.of.Full == full }); i >= 0 {
		return tables[i]
	}
	return nil
}
