package plan

import (
	"fmt"
	"slices"
	"strings"
)

// strays returns the query for how many values of a reference are ids of no row. Where nothing is declared, 0 says that there is none.
func (b *builder) strays(r rewriting, m move) string {
	zero := ""
	if !m.declared {
		zero = fmt.Sprintf(" AND %s <> 0", b.engine.number(m))
	}
	return fmt.Sprintf("SELECT COUNT(*) FROM %s c WHERE %s IS NOT NULL%s%s AND NOT EXISTS (SELECT 1 FROM %s p WHERE p.%s = %s)",
		b.quoted(m.table), b.engine.number(m), zero, m.owner, b.quoted(r.Table), b.quote(r.Column), b.engine.number(m))
}

// counting is the queries of a Count or Assert step in the making.
type counting struct {
	queries []Query
	tables  []string // that they read
	rows    int64    // of these
}

// ask adds a query of a table.
func (c *counting) ask(b *builder, table string, q Query) {
	c.queries, c.rows = append(c.queries, q), sizeOf(c.rows, b.rowsIn(table))
	if !slices.Contains(c.tables, table) {
		c.tables = append(c.tables, table)
	}
}

// step adds a step to the plan, unless there is no query, and returns its number.
func (c *counting) step(b *builder, phase, title string, do Action) int {
	if len(c.queries) == 0 {
		return 0
	}
	do.Queries = c.queries
	b.add(Step{Title: title, Phase: phase, Tables: c.tables, Rows: c.rows, Do: do})
	return len(b.plan.Steps)
}

// orphansOf returns the query that counts the orphans of a reference.
func (b *builder) orphansOf(r rewriting, m move) Query {
	return Query{About: "orphans of … → …", Names: []string{m.reference.from(), m.reference.To}, SQL: b.strays(r, m), Subject: OrphansOf(m.reference)}
}

// baseline notes what there is before the first row changes.
func (b *builder) baseline(all []rewriting) {
	var orphans, rows counting
	seen := map[string]bool{}
	var tables []string
	for _, r := range all {
		for _, m := range r.moves {
			if !seen[m.table] {
				seen[m.table] = true
				tables = append(tables, m.table)
			}
			if !m.key {
				orphans.ask(b, m.table, b.orphansOf(r, m))
			}
		}
	}
	b.engine.broken(all, &orphans)
	slices.Sort(tables)
	for _, table := range tables {
		rows.ask(b, table, Query{About: "rows of …", Names: []string{table}, SQL: "SELECT COUNT(*) FROM " + b.quoted(table), Subject: RowsOf(table)})
	}
	b.orphansCounted = orphans.step(b, "map", "count the orphans of each reference", Action{Kind: Count})
	rows.step(b, "map", "count the rows of each table", Action{Kind: Count})
	for _, table := range tables {
		b.add(Step{Title: "take the digest of the other columns of …", Names: []string{table}, Phase: "map", Tables: []string{table}, Rows: b.rows(table), Do: Action{Kind: Digest, Table: table}})
	}
}

// assertMaps makes sure of the maps before the first row changes by them.
func (b *rekeyBuilder) assertMaps() {
	var c counting
	for _, r := range b.all {
		c.ask(b.builder, r.Table, Query{About: "old rows of … without a new id", Names: []string{r.Table},
			SQL: fmt.Sprintf("SELECT COUNT(*) FROM %s c WHERE c.%s < %d AND NOT EXISTS (SELECT 1 FROM %s m WHERE m.old_id = c.%[2]s)",
				b.quoted(r.Table), b.quote(r.Column), r.Below, r.source)})
		c.ask(b.builder, r.Table, Query{About: "new ids of … that are old ones", Names: []string{r.Table},
			SQL: fmt.Sprintf("SELECT (SELECT COUNT(*) FROM %[1]s m JOIN %[2]s c ON c.%[3]s = m.new_id WHERE c.%[3]s >= %[4]d) + (SELECT COUNT(*) FROM %[1]s m WHERE m.new_id < %[4]d OR m.old_id >= %[4]d)",
				r.source, b.quoted(r.Table), b.quote(r.Column), r.Below)})
		for _, m := range r.moves[1:] {
			c.ask(b.builder, m.table, Query{About: "new ids of … that … has already", Names: []string{r.Table, m.name}, SQL: b.remaining(r, m, "new_id")})
		}
	}
	c.step(b.builder, "check", "make sure that each old row has a new id, and that no new id is known anywhere yet",
		Action{Kind: Assert, OnFailure: "Old rows without a new id came while the maps were filled: a writer still makes ids of the old kind, so stop it. New ids that are there already would be two rows' " +
			"after the rewriting, or give an orphan a row: take another node, or another layout. In each case roll back, and plan again."})
}

// assertResult makes sure of the result. Rows may come and go meanwhile: that no old id is left does not depend on them.
func (b *rekeyBuilder) assertResult() {
	var left, orphans counting
	for _, r := range b.all {
		for _, m := range r.moves {
			q := Query{About: "old ids of … in …", Names: []string{r.Table, m.name}, SQL: b.remaining(r, m, "old_id")}
			if !m.key {
				q.Remedy = strings.Join(b.engine.update(r.source, m, "old_id", "new_id", "1 = 1", ""), "; ")
			}
			left.ask(b.builder, m.table, q)
			// Where no foreign key guards a reference, orphans come and go with the rows of the application: an equal number
			// cannot be relied on, and a run could not go on. That no old id is left says that nothing was left behind; verify compares the numbers.
			if !m.key && m.declared {
				orphans.ask(b.builder, m.table, b.orphansOf(r, m))
			}
		}
	}
	left.step(b.builder, "check", "make sure that no old id is left", Action{Kind: Assert, OnFailure: "Old ids in a reference were written since it was rewritten: stop who writes them, put them right with the statements above, and run on. " +
		"Old ids in a key are rows that came with ids that were others' old ones: stop who writes them, give them ids that are new, and run on."})
	b.engine.broken(b.all, &orphans)
	orphans.step(b.builder, "check", "make sure that there are as many orphans as before", Action{Kind: Assert, Baseline: b.orphansCounted,
		OnFailure: "References that a foreign key guards have not as many values that are keys of no row as before. Look at them before going on; a rollback is possible."})
}
