package plan

import (
	"fmt"
	"slices"
	"strings"
)

// The titles of the Count steps before the first row changes.
const (
	orphansTitle = "count the orphans of each reference"
	rowsTitle    = "count the rows of each table"
)

func digestTitle(table string) string { return "take the digest of the other columns of " + table }

// strays returns the query for how many values of a reference are ids of no row. Where nothing is declared, 0 says that there is none.
func (b *builder) strays(g grammar, r rewriting, m move) string {
	zero := ""
	if !m.declared {
		zero = fmt.Sprintf(" AND %s <> 0", g.number(m))
	}
	return fmt.Sprintf("SELECT COUNT(*) FROM %s c WHERE %s IS NOT NULL%s%s AND NOT EXISTS (SELECT 1 FROM %s p WHERE p.%s = %s)",
		b.quoted(m.table), g.number(m), zero, m.owner, b.quoted(r.Table), b.quote(r.Column), g.number(m))
}

// questions are the queries of a Count or Expect step in the making.
type questions struct {
	sql, each, remedy []string
	rows              int64 // of the tables that they read
}

// ask adds a query.
func (q *questions) ask(each, query string, rows int64) {
	q.each, q.sql, q.rows = append(q.each, each), append(q.sql, query), sizeOf(q.rows, rows)
}

// count and expect return the steps; both are to be given a title.
func (q *questions) count() Step {
	return Step{Lock: "none", Rows: q.rows, Do: Action{Kind: Count, SQL: q.sql, Each: q.each}}
}

func (q *questions) expect(otherwise string) Step {
	return Step{Lock: "none", Rows: q.rows, Do: Action{Kind: Expect, SQL: q.sql, Each: q.each, Remedy: q.remedy, Otherwise: otherwise}}
}

// put adds a step of questions to the plan, unless it has none.
func (b *builder) put(phase, title string, s Step) {
	if len(s.Do.SQL) == 0 {
		return
	}
	s.Phase, s.Title = phase, title
	b.add(s)
}

// baseline notes what there is before the first row changes.
func (b *builder) baseline(g grammar, all []rewriting) {
	var orphans, rows questions
	seen := map[string]bool{}
	var tables []string
	for _, r := range all {
		for _, m := range r.moves {
			if !seen[m.table] {
				seen[m.table] = true
				tables = append(tables, m.table)
			}
			if !m.key {
				orphans.ask(OrphansOf(m.reference), b.strays(g, r, m), b.rows(m.table))
			}
		}
	}
	g.broken(all, &orphans)
	slices.Sort(tables)
	for _, table := range tables {
		rows.ask(RowsOf(table), "SELECT COUNT(*) FROM "+b.quoted(table), b.rows(table))
	}
	b.put("map", orphansTitle, orphans.count())
	b.put("map", rowsTitle, rows.count())
	for _, table := range tables {
		b.add(Step{Title: digestTitle(table), Phase: "map", Lock: "none", Rows: b.rows(table), Do: Action{Kind: Digest, Table: table}})
	}
}

// maps makes and fills the maps, and makes sure of what the rest relies on.
func (b *builder) maps(g grammar, all []rewriting) {
	b.makeMaps("map")
	b.fillMaps()
	b.certain(g, all)
}

// certain makes sure of the maps before the first row changes by them.
func (b *builder) certain(g grammar, all []rewriting) {
	var q questions
	for _, r := range all {
		rows := b.rows(r.Table)
		q.ask(fmt.Sprintf("old rows of %s without a new id", r.Table),
			fmt.Sprintf("SELECT COUNT(*) FROM %s c WHERE c.%s < %d AND NOT EXISTS (SELECT 1 FROM %s m WHERE m.old_id = c.%[2]s)",
				b.quoted(r.Table), b.quote(r.Column), r.Below, r.source), rows)
		q.ask(fmt.Sprintf("new ids of %s that are old ones", r.Table),
			fmt.Sprintf("SELECT (SELECT COUNT(*) FROM %[1]s m JOIN %[2]s c ON c.%[3]s = m.new_id WHERE c.%[3]s >= %[4]d) + (SELECT COUNT(*) FROM %[1]s m WHERE m.new_id < %[4]d OR m.old_id >= %[4]d)",
				r.source, b.quoted(r.Table), b.quote(r.Column), r.Below), rows)
		for _, m := range r.moves[1:] {
			q.ask(fmt.Sprintf("new ids of %s that %s has already", r.Table, m.name), b.remaining(g, r, m, "new_id"), b.rows(m.table))
		}
	}
	b.put("check", "make sure that each old row has a new id, and that no new id is known anywhere yet",
		q.expect("Old rows without a new id came while the maps were filled: a writer still makes ids of the old kind, so stop it. New ids that are there already would be two rows' "+
			"after the rewriting, or give an orphan a row: take another node, or another layout. In each case roll back, and plan again."))
}

// expect makes sure of the result. Rows may come and go meanwhile: that no old id is left does not depend on them.
func (b *builder) expect(g grammar, all []rewriting) {
	var left, orphans questions
	for _, r := range all {
		for _, m := range r.moves {
			left.ask(fmt.Sprintf("old ids of %s in %s", r.Table, m.name), b.remaining(g, r, m, "old_id"), b.rows(m.table))
			remedy := ""
			if !m.key {
				remedy = strings.Join(g.update(r.source, m, "old_id", "new_id", "1 = 1", ""), "; ")
			}
			left.remedy = append(left.remedy, remedy)
			// Where no foreign key guards a reference, orphans come and go with the rows of the application: an equal number
			// cannot be relied on, and a run could not go on. That no old id is left says that nothing was left behind; verify compares the numbers.
			if !m.key && m.declared {
				orphans.ask(OrphansOf(m.reference), b.strays(g, r, m), b.rows(m.table))
			}
		}
	}
	b.put("check", "make sure that no old id is left", left.expect("Old ids in a reference were written since it was rewritten: stop who writes them, put them right with the statements above, and run on. "+
		"Old ids in a key are rows that came with ids that were others' old ones: stop who writes them, give them ids that are new, and run on."))
	g.broken(all, &orphans)
	same := orphans.expect("References that a foreign key guards have not as many values that are keys of no row as before. Look at them before going on; a rollback is possible.")
	same.Do.Like = orphansTitle
	b.put("check", "make sure that there are as many orphans as before", same)
}
