package plan

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// indexes makes an index for each reference that has none to find its rows by, and returns the steps that drop them again.
func (b *builder) indexes(g grammar, all []rewriting) (drops []Step) {
	seen := map[[2]string]bool{}
	for _, r := range all {
		columns, _ := r.split()
		for _, m := range columns[1:] {
			at := [2]string{m.table, m.column}
			if seen[at] || b.indexed(m) {
				continue
			}
			seen[at] = true
			rows := b.rows(m.table)
			bytes := rows
			if rows > 0 {
				bytes = 40 * rows
			}
			do, undo := g.createIndex(m, b.cut("snowkey_index_"+m.table+"_"+m.column, 1))
			again, gone := do, undo
			lock, algorithm := "writers of the table wait", ""
			switch {
			case b.dialect() == dialect.MySQL:
				lock, algorithm = "none for longer than a moment", "INPLACE"
			case do.Kind == Apart:
				lock = "none; it waits for transactions that are open"
			}
			b.add(Step{
				Title: fmt.Sprintf("index %s, for as long as it is rewritten", m.name), Phase: "rewrite", Lock: lock, Algorithm: algorithm,
				Rows: rows, Bytes: bytes, Disk: bytes, Do: do, Undo: &undo,
			})
			drops = append([]Step{{
				Title: fmt.Sprintf("drop the index of %s again", m.name), Phase: "check", Lock: "none for longer than a moment", Algorithm: "catalog only",
				Do: gone, Undo: &again,
			}}, drops...)
		}
	}
	return drops
}

// otherIndex are PostgreSQL's that do not find a number or text by its value.
var otherIndex = regexp.MustCompile(` USING (?:gin|gist|spgist|brin) `)

// indexed reports whether an index finds the rows of a reference.
func (b *builder) indexed(m move) bool {
	return slices.ContainsFunc(b.tables[m.table].Indexes, func(i *catalog.Index) bool {
		if i.Where != "" || !i.Valid || len(i.Columns) == 0 || otherIndex.MatchString(i.Definition) {
			return false
		}
		return i.Columns[0] == m.column || len(i.Columns) > 1 && m.ownerType != "" && i.Columns[0] == m.ownerType && i.Columns[1] == m.column
	})
}
