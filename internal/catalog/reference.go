package catalog

import (
	"cmp"
	"slices"
	"strings"
)

// Reference is a foreign key: columns of the table Child refer to those of the table Parent.
type Reference struct {
	Name          string   // empty on SQLite, where it has none
	Child, Parent Name     // full; of a foreign key that partitions of PostgreSQL hold or are referred to by, the tables that these are of
	Partition     Name     // full; the partition, or partition with partitions, that alone has it; empty when Child has
	Columns       []string // of Child
	To            []string // of Parent, one for each of Columns
	OnDelete      string   // NO ACTION, RESTRICT, CASCADE, SET NULL, SET DEFAULT; empty for who may not see it, on MySQL
	OnUpdate      string
	Deferrable    bool   // may be, on PostgreSQL and SQLite
	Deferred      bool   // is at the start of a transaction
	Valid         bool   // all rows were checked; PostgreSQL's NOT VALID is false
	Definition    string // on PostgreSQL and MySQL, as ADD CONSTRAINT name takes it; empty for who may not see all of it, on MySQL
}

// On returns the table, or the partition, that has the foreign key: the one that ALTER TABLE names to change it.
func (r *Reference) On() Name {
	if r.Partition != (Name{}) {
		return r.Partition
	}
	return r.Child
}

// sortReferences puts foreign keys into the order of their children and names, and on SQLite, where they have none, of their columns.
func sortReferences(found []*Reference) {
	slices.SortStableFunc(found, func(a, b *Reference) int {
		return cmp.Or(strings.Compare(a.Child.Schema, b.Child.Schema), strings.Compare(a.Child.Name, b.Child.Name), strings.Compare(a.Partition.Schema, b.Partition.Schema), strings.Compare(a.Partition.Name, b.Partition.Name), strings.Compare(a.Name, b.Name),
			slices.Compare(a.Columns, b.Columns), strings.Compare(a.Parent.Name, b.Parent.Name), slices.Compare(a.To, b.To))
	})
}
