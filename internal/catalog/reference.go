package catalog

import (
	"cmp"
	"slices"
	"strings"
)

// sortReferences puts foreign keys into the order of their children and names, and on SQLite, where they have none, of their columns.
func sortReferences(found []*Reference) {
	slices.SortStableFunc(found, func(a, b *Reference) int {
		return cmp.Or(strings.Compare(a.Child.Schema, b.Child.Schema), strings.Compare(a.Child.Name, b.Child.Name), strings.Compare(a.Partition.Schema, b.Partition.Schema), strings.Compare(a.Partition.Name, b.Partition.Name), strings.Compare(a.Name, b.Name),
			slices.Compare(a.Columns, b.Columns), strings.Compare(a.Parent.Name, b.Parent.Name), slices.Compare(a.To, b.To))
	})
}

// On returns the table, or the partition, that has the foreign key: the one that ALTER TABLE names to change it.
func (r *Reference) On() Name {
	if r.Partition != (Name{}) {
		return r.Partition
	}
	return r.Child
}
