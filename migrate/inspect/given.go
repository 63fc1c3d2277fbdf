package inspect

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
)

// given is what the user says of a reference.
type given struct {
	text             string
	none             bool // it is none
	child, parent    catalog.Name
	column, toColumn string
	path             string
	from, to         *subject // nil before they are read
}

// pathForm is what a path may be: it names one value, so it has no wildcards, filters or recursion.
var pathForm = regexp.MustCompile(`^\$(?:\.(?:[A-Za-z_][A-Za-z0-9_]*|"[^"\\\pC]+")|\[[0-9]{1,6}\])+$`)

// parseGiven reads a reference as Options has it.
func parseGiven(text string) (given, error) {
	const form = `want "table.column=table.column", "table.column:$.path=table.column", or one of them after "!"`
	wrong := func(why string) (given, error) {
		return given{}, fmt.Errorf("%w: reference %q: %s; %s", ErrOption, text, why, form)
	}
	t := given{text: text}
	rest, none := strings.CutPrefix(text, "!")
	t.none = none
	var err error
	if t.child, t.column, rest, err = cutPlace(rest); err != nil {
		return wrong(err.Error())
	}
	if path, ok := strings.CutPrefix(rest, ":"); ok {
		at := strings.IndexByte(path, '=')
		for ; at >= 0; at = nextEqual(path, at) { // a path may have one in it
			if t.parent, t.toColumn, rest, err = cutPlace(path[at+1:]); err == nil && rest == "" && pathForm.MatchString(path[:at]) {
				t.path = path[:at]
				return t, nil
			}
		}
		return wrong(`the path has to be of names and numbers, such as $.customer.id, $."a name" or $.ids[0], and to name one value; after it follows =table.column`)
	}
	rest, ok := strings.CutPrefix(rest, "=")
	if !ok {
		return wrong("there is no = after the first column")
	}
	if t.parent, t.toColumn, rest, err = cutPlace(rest); err != nil {
		return wrong(err.Error())
	}
	if rest != "" {
		return wrong(fmt.Sprintf("%q follows it", rest))
	}
	return t, nil
}

func nextEqual(text string, at int) int {
	n := strings.IndexByte(text[at+1:], '=')
	if n < 0 {
		return -1
	}
	return at + 1 + n
}

// cutPlace reads table.column or schema.table.column, any part of which may be quoted, and returns what follows it.
func cutPlace(text string) (table catalog.Name, column, rest string, err error) {
	var parts []string
	for {
		var part string
		if part, text, err = cutPart(text); err != nil {
			return table, "", "", err
		}
		parts = append(parts, part)
		if !strings.HasPrefix(text, ".") {
			break
		}
		text = text[1:]
	}
	switch len(parts) {
	case 2:
		return catalog.Name{Name: parts[0]}, parts[1], text, nil
	case 3:
		return catalog.Name{Schema: parts[0], Name: parts[1]}, parts[2], text, nil
	}
	return table, "", "", fmt.Errorf("%q is not a table with a column", strings.Join(parts, "."))
}

// cutPart reads a part of a name, up to a dot, = or : unless it is quoted.
func cutPart(text string) (part, rest string, err error) {
	if text == "" || text[0] != '"' && text[0] != '`' {
		end := strings.IndexAny(text, ".=:")
		if end < 0 {
			end = len(text)
		}
		part, rest = text[:end], text[end:]
	} else {
		quote := text[:1]
		for text = text[1:]; ; text = text[1:] {
			inside, after, closed := strings.Cut(text, quote)
			if !closed {
				return "", "", fmt.Errorf("the quote %s is not closed", quote)
			}
			part += inside
			if text = after; !strings.HasPrefix(text, quote) {
				break
			}
			part += quote
		}
		rest = text
	}
	if part == "" || strings.ContainsRune(part, 0) {
		return "", "", fmt.Errorf("a part of a name is empty or has a zero byte")
	}
	return part, rest, nil
}

// is reports whether a candidate is the reference that is spoken of.
func (t *given) is(c *candidate) bool {
	return t.from == c.child && t.to == c.parent && strings.EqualFold(t.column, c.column.Name) && strings.EqualFold(t.toColumn, c.to.Name) && t.path == c.Path
}

// findTold finds the references that the user has named.
func (i *inspector) findTold(ctx context.Context) error {
	for n := range i.given {
		t := &i.given[n]
		var err error
		if t.from, err = i.toldTable(ctx, t, t.child); err != nil {
			return err
		}
		if t.to, err = i.toldTable(ctx, t, t.parent); err != nil {
			return err
		}
		column, to := i.column(t.from, t.column), i.column(t.to, t.toColumn)
		switch {
		case column == nil:
			return fmt.Errorf("%w: reference %q: %s has no column %q", ErrOption, t.text, t.from.Name, t.column)
		case to == nil:
			return fmt.Errorf("%w: reference %q: %s has no column %q", ErrOption, t.text, t.to.Name, t.toColumn)
		case t.to.key == nil:
			return fmt.Errorf("%w: reference %q: %s has no key that can be migrated: %s", ErrOption, t.text, t.to.Name, t.to.report.NoKey)
		case to != t.to.key:
			return fmt.Errorf("%w: reference %q: the key of %s is %s, not %s", ErrOption, t.text, t.to.Name, t.to.key.Name, to.Name)
		case t.none:
		case t.path != "" && column.Class != catalog.JSON && column.Class != catalog.Text:
			return fmt.Errorf("%w: reference %q: %s is %s, which holds no JSON", ErrOption, t.text, column.Name, column.Type)
		case t.path == "" && !holdsIDs(column):
			return fmt.Errorf("%w: reference %q: %s is %s, which holds no ids; of a JSON document say where they are, with a path", ErrOption, t.text, column.Name, column.Type)
		}
		t.column, t.toColumn = column.Name, to.Name
		if t.none {
			for _, c := range i.candidates {
				if t.is(c) {
					return fmt.Errorf("%w: reference %q: it is declared as the foreign key %s: drop that first", ErrOption, t.text, c.Reference.Name)
				}
			}
			continue
		}
		i.add(&candidate{
			child: t.from, parent: t.to, column: column, to: to,
			Reference: Reference{Origin: Given, Confidence: Certain, Path: t.path, Why: "it was named as a reference"},
		})
	}
	return nil
}

func (i *inspector) toldTable(ctx context.Context, t *given, name catalog.Name) (*subject, error) {
	s, err := i.late(ctx, name)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, fmt.Errorf("%w: %s, in the reference %q", ErrTable, name, t.text)
	}
	if s.View != "" {
		return nil, fmt.Errorf("%w: %s, in the reference %q, is a %s", ErrTable, name, t.text, s.View)
	}
	return s, nil
}

// holdsIDs reports whether values of a column can be ids, as numbers or texts.
func holdsIDs(col *catalog.Column) bool {
	switch col.Class {
	case catalog.Integer, catalog.Decimal, catalog.Floating, catalog.Text:
		return true
	}
	return false
}
