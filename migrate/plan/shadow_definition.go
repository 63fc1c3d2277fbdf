package plan

import (
	"strings"
)

// swapChanges returns what a swap changes of a table: each first column is there under another name until it is dropped, and the second one, the last of the table,
// has its place.
func (b *builder) swapChanges(t *moving) (changes, left []Change) {
	of := b.of(t.of)
	changes = []Change{{Of: of, What: "columns", Text: strings.Join(t.order(true), ", ")}}
	for _, m := range t.columns {
		name := "column " + m.column.Name
		for _, what := range columnWhats {
			changes = append(changes, Change{Of: of, What: what + "column " + m.old, Any: true})
		}
		changes = append(changes,
			Change{Of: of, What: "type of " + name, Text: "bigint"}, Change{Of: of, What: "identity of " + name, Gone: true},
			Change{Of: of, What: "sequence of " + name, Gone: true}, Change{Of: of, What: "type of the sequence of " + name, Gone: true})
		if m.own && m.column.Auto != "" {
			changes = append(changes, Change{Of: of, What: "default of " + name, Any: true})
		}
		left = append(left, Change{Of: of, What: "type of " + name, Text: "bigint"})
		if typ := "type of the sequence of " + name; b.text(of, "identity of "+name) != "" {
			left = append(left, Change{Of: of, What: typ, Text: integer.ReplaceAllString(b.text(of, typ), "bigint")})
		}
	}
	return changes, left
}

// columnWhats begin the names of the definitions of a column.
var columnWhats = []string{"", "type of ", "default of ", "identity of ", "rights on ", "comment of ", "sequence of ", "type of the sequence of "}

// order returns the names of a table's columns after the swap, in their order, with the first ones or without.
func (t *moving) order(first bool) []string {
	var names, last []string
	for _, c := range t.of.Columns {
		m := t.find(c.Name)
		switch {
		case m == nil:
			names = append(names, c.Name)
		case first:
			names = append(names, m.old)
		}
	}
	for _, m := range t.columns {
		last = append(last, m.column.Name)
	}
	return append(names, last...)
}

// dropChanges returns what dropping the first columns changes.
func (b *builder) dropChanges(t *moving) []Change {
	of := b.of(t.of)
	changes := []Change{{Of: of, What: "columns", Text: strings.Join(t.order(false), ", ")}}
	for _, m := range t.columns {
		for _, what := range columnWhats {
			changes = append(changes, Change{Of: of, What: what + "column " + m.old, Gone: true})
		}
	}
	return changes
}
