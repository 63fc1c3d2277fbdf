package catalog

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// Definition is one thing that a database says of a table, or of what depends on one. Of two definitions of one table, What differs.
type Definition struct {
	Of   string `json:"of"`   // the table, partition or view, without the current schema where that is a database's
	What string `json:"what"` // such as "type of column id", or "index orders_at"
	Text string `json:"text"` // as the database writes it
}

// Rights reports whether it is the rights that were granted on something, with commas between them.
func (d Definition) Rights() bool {
	return d.What == "rights" || strings.HasPrefix(d.What, "rights on ")
}

// Definitions returns all that a database says of tables, of their partitions, and of what depends on them, but nothing that changes by use (numbers of rows, the
// next number of a sequence, statistics): what it says of two tables with the same definitions is the same. They are in the order of Of and What,
// whatever that of the names is. What the user may not see is not among them, and PostgreSQL writes definitions by a session's search_path, TimeZone and DateStyle.
func (c *Catalog) Definitions(ctx context.Context, names ...Name) ([]Definition, error) {
	home, hidden, err := c.source.current(ctx)
	if err != nil {
		return nil, failed(err, "the current schema")
	}
	found, err := c.source.described(ctx, names)
	if err != nil {
		return nil, failed(err, listed(names))
	}
	var all []Definition
	var tables, ends []*Table // each once; those for References are as they were
	for i, t := range found {
		switch {
		case t == nil:
			all = append(all, Definition{relative(names[i], home).String(), "table", "there is none"})
		case !slices.Contains(tables, t):
			tables, ends = append(tables, t), append(ends, &Table{Full: t.Full, OID: t.OID, Related: t.Related})
		}
	}
	others, err := c.source.otherDefinitions(ctx, tables)
	if err != nil {
		return nil, failed(err, listed(names))
	}
	references, err := c.References(ctx, ends...)
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		c.stabilize(t, hidden)
		all = append(append(all, c.source.define(t)...), others[t]...)
		for _, u := range t.Users {
			all = append(all, Definition{t.Full.String(), u.Kind + " " + u.Name.String(), cmp.Or(u.Definition, strings.Join(u.Columns, ", "))})
		}
	}
	for _, r := range references {
		if !slices.ContainsFunc(ends, func(t *Table) bool { return t.Full == r.Child }) { // else it is among the table's own
			text := fmt.Sprintf("(%s) to %s (%s) on delete %s on update %s valid %t deferrable %t deferred %t %s", strings.Join(r.Columns, ", "), relative(r.Parent, hidden), strings.Join(r.To, ", "),
				r.OnDelete, r.OnUpdate, r.Valid, r.Deferrable, r.Deferred, c.source.stable(r.Definition, hidden))
			all = append(all, Definition{relative(r.On(), hidden).String(), strings.TrimSpace("foreign key " + r.Name), text})
		}
	}
	slices.SortFunc(all, func(a, b Definition) int {
		return cmp.Or(strings.Compare(a.Of, b.Of), strings.Compare(a.What, b.What), strings.Compare(a.Text, b.Text))
	})
	return united(all), nil
}

// Stable returns the statement that makes a table as a definition has it.
func (c *Catalog) Stable(create string) string { return c.source.stable(create, "") }

// united makes one of definitions that go by one name, such as two of SQLite's foreign keys.
func united(all []Definition) (found []Definition) {
	for _, d := range all {
		if n := len(found) - 1; n >= 0 && found[n].Of == d.Of && found[n].What == d.What {
			found[n].Text += "\n" + d.Text
			continue
		}
		found = append(found, d)
	}
	return found
}

// Difference is a definition that is not what it should be.
type Difference struct {
	Definition
	Now  string // what it is
	Gone bool   // there is none
	New  bool   // there should be none
}

// String returns what it is of, what was and what is.
func (d Difference) String() string {
	switch {
	case d.Gone:
		return fmt.Sprintf("%s: the %s is gone; it was %s", d.Of, d.What, d.Text)
	case d.New:
		return fmt.Sprintf("%s: the %s is new: %s", d.Of, d.What, d.Now)
	}
	return fmt.Sprintf("%s: the %s was %s, and is %s", d.Of, d.What, d.Text, d.Now)
}

// Compare returns where definitions differ from others, in the order of Of and What.
func Compare(want, got []Definition) (found []Difference) {
	type key struct{ of, what string }
	now := map[key]string{}
	for _, d := range got {
		now[key{d.Of, d.What}] = d.Text
	}
	for _, d := range want {
		text, ok := now[key{d.Of, d.What}]
		delete(now, key{d.Of, d.What})
		if !ok || text != d.Text {
			found = append(found, Difference{Definition: d, Now: text, Gone: !ok})
		}
	}
	for k, text := range now {
		found = append(found, Difference{Definition: Definition{Of: k.of, What: k.what}, Now: text, New: true})
	}
	slices.SortFunc(found, func(a, b Difference) int { return cmp.Or(strings.Compare(a.Of, b.Of), strings.Compare(a.What, b.What)) })
	return found
}
