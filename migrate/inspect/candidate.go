package inspect

import (
	"context"
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
)

// candidate is a reference, or what looks like one.
type candidate struct {
	Reference
	child, parent *subject
	column, to    *catalog.Column
	ownerType     *catalog.Column    // of a polymorphic one
	foreign       *catalog.Reference // of a declared one
	weak          bool               // its name is only in part that of the table, so it is never better than possible
}

// add takes a reference, unless a surer one of the same column is there, or the user has said that it is none. It is of no matter when
// no key is at its end that was asked for; declared ones of tables that were asked for are taken in any case.
func (i *inspector) add(c *candidate) {
	if !c.parent.wanted && (c.Origin != Declared || !c.child.wanted) {
		return
	}
	for _, t := range i.given {
		if t.none && t.is(c) && c.Origin != Declared {
			return
		}
	}
	for _, other := range i.candidates {
		if other.child != c.child || other.column != c.column || other.Path != c.Path {
			continue
		}
		same := other.parent == c.parent && other.to == c.to
		switch {
		case same && (other.Owner == c.Owner && other.OwnerType == c.OwnerType || other.OwnerType == "" || c.OwnerType == ""):
			return // of two that differ in the owner's type alone, the one that has none holds for all rows
		case c.Origin == Named && !(other.Origin == Named && other.weak && c.weak):
			return // what is known for certain is not guessed at
		}
	}
	c.Table, c.To = c.child.Name.String(), c.parent.Name.String()
	c.Reference.Column, c.ToColumn = c.column.Name, c.to.Name
	c.Type, c.Nullable, c.Indexed = c.column.Type, c.column.Nullable, c.Path == "" && c.child.indexed(c.column.Name)
	c.Text = c.Path == "" && c.column.Class == catalog.Text
	i.candidates = append(i.candidates, c)
}

// findDeclared finds the foreign keys.
func (i *inspector) findDeclared(ctx context.Context) error {
	var tables []*catalog.Table
	for _, s := range i.subjects {
		if s.wanted {
			tables = append(tables, s.Table)
		}
	}
	if len(tables) == 0 {
		return nil
	}
	references, err := i.catalog.References(ctx, tables...)
	if err != nil {
		return fmt.Errorf("reading the foreign keys: %w", err)
	}
	for _, r := range references {
		if err := i.addDeclared(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

func (i *inspector) addDeclared(ctx context.Context, r *catalog.Reference) error {
	child, err := i.late(ctx, r.Child)
	if err != nil || child == nil {
		return err
	}
	parent, err := i.late(ctx, r.Parent)
	if err != nil {
		return err
	}
	other := func(text string) {
		i.report.Obstacles = append(i.report.Obstacles, Obstacle{
			Table: child.Name.String(), Column: strings.Join(r.Columns, ", "), Kind: "reference", Name: r.Name,
			Text: "the foreign key " + r.Name + " refers to " + r.Parent.String() + " (" + strings.Join(r.To, ", ") + "), " + text,
		})
	}
	if parent == nil {
		other("which is not there; no row with a value can be written while foreign keys are enforced")
		return nil
	}
	at := -1
	for n := range r.To {
		if col := i.column(parent, r.To[n]); col != nil && col == parent.key {
			at = n
		}
	}
	if at < 0 {
		other("which is no key that alone identifies rows by an integer: a migration leaves it as it is")
		return nil
	}
	c := &candidate{
		child: child, parent: parent, column: i.column(child, r.Columns[at]), to: parent.key, foreign: r,
		Reference: Reference{Origin: Declared, Confidence: Certain, Name: r.Name, OnDelete: r.OnDelete, OnUpdate: r.OnUpdate, Why: "it is declared as a foreign key"},
	}
	if c.column == nil {
		return fmt.Errorf("the foreign key %s of %s is of a column %s, which is not there", r.Name, r.Child, r.Columns[at])
	}
	if r.Name != "" {
		c.Why = "it is declared as the foreign key " + r.Name
	}
	if !r.Valid {
		c.Why += ", which was never validated"
	}
	if len(r.Columns) > 1 {
		c.Columns, c.ToColumns = r.Columns, r.To
	}
	// Two foreign keys of one column, to the same key, are one reference, but both are declared: the plan finds the other in the catalog.
	i.add(c)
	return nil
}

// judge samples what is not certain, counts orphans of what is certain or likely, and notes which columns a migration changes.
func (i *inspector) judge(ctx context.Context) error {
	for n, c := range i.candidates {
		i.progress(n, len(i.candidates), "looking at "+c.Table+"."+c.Reference.Column)
		if err := i.confirm(ctx, c); err != nil {
			return fmt.Errorf("sampling %s.%s: %w", c.Table, c.Reference.Column, err)
		}
		c.Orphans = -1
		if c.Confidence == Certain || c.Confidence == Likely {
			if err := i.countOrphans(ctx, c); err != nil {
				return fmt.Errorf("counting orphans of %s.%s: %w", c.Table, c.Reference.Column, err)
			}
		}
	}
	for _, c := range i.candidates {
		if c.Confidence != Unlikely {
			c.child.changes(c.column.Name)
		}
	}
	for _, s := range i.subjects {
		if s.wanted && s.key != nil {
			s.changes(s.key.Name)
		}
	}
	return nil
}
