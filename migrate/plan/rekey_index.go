package plan

import (
	"regexp"
	"slices"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// indexes makes an index for each reference that has none to find its rows by, and returns the steps that drop them again. Of a partitioned table of PostgreSQL each
// partition that has none gets one of its own: an index of the whole would adopt those that partitions have already, and take them along when it is dropped.
func (b *rekeyBuilder) indexes() (drops []Step) {
	seen := map[[2]string]bool{}
	for _, r := range b.all {
		columns, _ := r.split()
		for _, m := range columns[1:] {
			t, at := b.tables[m.table], [2]string{m.table, m.column}
			if seen[at] || indexed(t, m) {
				continue
			}
			seen[at] = true
			if t.Related != "partitioned" || b.dialect() != dialect.Postgres {
				drops = append([]Step{b.index(t, m, m.name)}, drops...)
			}
			for _, leaf := range b.leaves[t] {
				if !indexed(leaf, m) {
					drops = append([]Step{b.index(leaf, m, leaf.Name.String()+"."+m.column)}, drops...)
				}
			}
		}
	}
	return drops
}

// index makes one index, of a table or of a partition, and returns the step that drops it.
func (b *rekeyBuilder) index(t *catalog.Table, m move, of string) Step {
	bytes := t.Rows
	if bytes > 0 {
		bytes *= 40
	}
	do, undo := b.engine.createIndex(t, m, b.cut("snowkey_index_"+t.Name.String()+"_"+m.column, 1))
	again, gone := do, undo
	lock, algorithm := Lock{Waits: allWrites, Text: "writers of the table wait"}, ""
	switch {
	case b.dialect() == dialect.MySQL:
		lock, algorithm = Lock{}, "INPLACE"
	case do.Concurrently:
		lock = Lock{}
	}
	b.add(Step{
		Title: "index …, for as long as it is rewritten", Names: []string{of}, Phase: "rewrite", Tables: []string{m.table}, Lock: lock, Algorithm: algorithm,
		Rows: t.Rows, Bytes: bytes, Disk: bytes, Do: do, Undo: &undo,
	})
	return Step{
		Title: "drop the index of … again", Names: []string{of}, Phase: "check", Tables: []string{m.table}, Algorithm: "catalog only",
		Do: gone, Undo: &again,
	}
}

// otherIndex are PostgreSQL's that do not find a number or text by its value.
var otherIndex = regexp.MustCompile(` USING (?:gin|gist|spgist|brin) `)

// indexed reports whether an index of a table, or of a partition of it, finds the rows of a reference.
func indexed(t *catalog.Table, m move) bool {
	return slices.ContainsFunc(t.Indexes, func(i *catalog.Index) bool {
		if i.Where != "" || !i.Valid || len(i.Columns) == 0 || otherIndex.MatchString(i.Definition) {
			return false
		}
		return i.Columns[0] == m.column || len(i.Columns) > 1 && m.ownerType != "" && i.Columns[0] == m.ownerType && i.Columns[1] == m.column
	})
}
