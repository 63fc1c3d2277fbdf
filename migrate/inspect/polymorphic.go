package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
)

// maxTypes is how many types of owners a column may have; one with more is none of types.
const maxTypes = 100

// findPolymorphic finds pairs of columns such as owner_id and owner_type, of which the second says which table the first refers to.
func (i *inspector) findPolymorphic(ctx context.Context) error {
	for _, s := range i.subjects {
		if s.View != "" {
			continue
		}
		for _, col := range s.Columns {
			stem, many := stemOf(col.Name)
			if len(stem) == 0 || many || !holdsIDs(col) || i.pointed(s, col) {
				continue
			}
			typ := typeBeside(s, stem)
			if typ == nil {
				continue
			}
			if err := i.findOwners(ctx, s, col, typ, stem); err != nil {
				return fmt.Errorf("reading the types in %s.%s: %w", s.Name, typ.Name, err)
			}
		}
	}
	return nil
}

// pointed reports whether a column is a reference to one table alone, for certain.
func (i *inspector) pointed(s *subject, col *catalog.Column) bool {
	return slices.ContainsFunc(i.candidates, func(c *candidate) bool { return c.child == s && c.column == col && c.OwnerType == "" })
}

// typeBeside returns the column with the type of the owner whose id has a stem; nil when there is none.
func typeBeside(s *subject, stem []string) *catalog.Column {
	for _, col := range s.Columns {
		if (col.Class == catalog.Text || col.Class == catalog.Other) && slices.Equal(words(col.Name), append(slices.Clone(stem), "type")) {
			return col
		}
	}
	return nil
}

// findOwners finds the tables that the types of owners name.
func (i *inspector) findOwners(ctx context.Context, s *subject, col, typ *catalog.Column, stem []string) error {
	types, err := i.typesOf(ctx, s, typ)
	if err != nil {
		return err
	}
	if len(types) > maxTypes || types == nil && s.huge() {
		why := fmt.Sprintf("it has more than %d values", maxTypes)
		if types == nil {
			why = "the table is too large to read them without an index of it"
		}
		i.obstacle(s, Obstacle{
			Column: typ.Name, Kind: "polymorphic", Name: typ.Name, Text: fmt.Sprintf("it seems to say what %s refers to, but %s, so they were not looked at", col.Name, why),
			Do: "name the reference, or say that it is none, and accept it", Blocks: rewriting,
		})
		return nil
	}
	var unknown []string
	known := false
	for _, value := range types {
		if slices.ContainsFunc(i.candidates, func(c *candidate) bool {
			return c.child == s && c.column == col && c.OwnerType == typ.Name && c.Owner == value
		}) {
			known = true // by a model
			continue
		}
		parents := i.owners(value)
		for _, parent := range parents {
			known = true
			i.add(&candidate{
				child: s, parent: parent, column: col, to: parent.key, ownerType: typ, weak: len(parents) > 1,
				Reference: Reference{
					Origin: Polymorphic, OwnerType: typ.Name, Owner: value,
					Why: fmt.Sprintf("where %s is %q, %s reads as a key of %s", typ.Name, value, col.Name, parent.Name),
				},
			})
		}
		if len(parents) == 0 {
			unknown = append(unknown, value)
		}
	}
	if tables, _ := i.named(s, stem); !known && len(tables) > 0 { // customer_type of a customer_id: what kind of customer, not of table
		return nil
	}
	for _, value := range unknown {
		if err := i.noteOwner(ctx, s, col, typ, value); err != nil {
			return err
		}
	}
	return nil
}

// noteOwner notes a type that names no table that is known, when what is beside it are numbers.
func (i *inspector) noteOwner(ctx context.Context, s *subject, col, typ *catalog.Column, value string) error {
	if col.Class == catalog.Text {
		c := &candidate{child: s, column: col, ownerType: typ, Reference: Reference{Owner: value, OwnerType: typ.Name}}
		values, _, err := i.sample(ctx, c)
		if err != nil || !slices.ContainsFunc(values, func(v string) bool { _, ok := idOf(v); return ok }) {
			return err
		}
	}
	i.obstacle(s, Obstacle{
		Column: col.Name, Kind: "polymorphic", Name: value,
		Text: fmt.Sprintf("where %s is %q, it is not known which table it refers to, so such rows are not rewritten", typ.Name, value),
		Do:   "give the model that has it as polymorphic value; or accept it when it is no table of this database", Blocks: rewriting,
	})
	return nil
}

// typesOf returns the distinct types in a column, at most one more than maxTypes; nil when that is too much to read.
func (i *inspector) typesOf(ctx context.Context, s *subject, typ *catalog.Column) ([]string, error) {
	name := i.quote(typ.Name)
	value := name
	if typ.Class != catalog.Text {
		value = i.text(name)
	}
	if !s.huge() {
		return i.texts(ctx, fmt.Sprintf("SELECT DISTINCT %s FROM %s WHERE %s IS NOT NULL LIMIT %d", value, i.quoted(s), name, maxTypes+1))
	}
	if typ.Class != catalog.Text || !s.indexed(typ.Name) {
		return nil, nil
	}
	found, err := i.texts(ctx, fmt.Sprintf("SELECT MIN(%s) FROM %s", name, i.quoted(s)))
	for err == nil && len(found) > 0 && len(found) <= maxTypes { // from one to the next through the index
		var next []string
		if next, err = i.texts(ctx, fmt.Sprintf("SELECT MIN(%s) FROM %s WHERE %s > %s", name, i.quoted(s), name, i.mark(1)), found[len(found)-1]); len(next) == 0 {
			break
		}
		found = append(found, next...)
	}
	return found, err
}

// owners returns the tables with a key that a type names: by the table's name, in singular or plural, or by the name of a Go type or
// another language's, with a package or namespace before it.
func (i *inspector) owners(value string) (tables []*subject) {
	last := value[strings.LastIndexAny(value, `\./:*`)+1:]
	w := words(last)
	for _, p := range i.subjects {
		if p.key == nil {
			continue
		}
		if p.Name.String() == value || p.Full.String() == value || strings.EqualFold(p.Name.Name, value) || i.models.typeNames[p.Full][last] ||
			len(w) > 0 && i.singular(w) == i.singular(p.words) {
			tables = append(tables, p)
		}
	}
	return tables
}
