package catalog

import (
	"cmp"
	"slices"
	"strings"
)

// sortReferences puts foreign keys into the order of their children and names, and on SQLite, where they have none, of their columns.
func sortReferences(found []*Reference) {
	slices.SortStableFunc(found, func(a, b *Reference) int {
		return cmp.Or(strings.Compare(a.Child.Schema, b.Child.Schema), strings.Compare(a.Child.Name, b.Child.Name), strings.Compare(a.Name, b.Name),
			slices.Compare(a.Columns, b.Columns), strings.Compare(a.Parent.Name, b.Parent.Name), slices.Compare(a.To, b.To))
	})
}
