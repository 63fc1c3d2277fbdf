package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// exclusiveWindow stands for none: nobody writes who would have to be waited for.
const exclusiveWindow = time.Millisecond

// exclusiveBuilder makes plans of the mode rekey in which nobody else writes.
type exclusiveBuilder struct{ *rekeyBuilder }

// exclusively is what differs between databases in the one transaction that rewrites all tables at once.
type exclusively struct {
	session  []string
	before   []string // statements that lock the tables, and drop what would look at each row
	after    []string // those that put it back
	lock     Lock
	rowsOnly bool // the statements change no definitions
}

// rewrite adds the step that rewrites all keys and references in one transaction, with one statement a table, or two. It has no need of
// indexes for ranges, of batches, or of a sweep: nobody writes until it is committed.
func (b exclusiveBuilder) rewrite(ctx context.Context) error {
	by := map[string][]assignment{}
	var tables []string
	var moves []move
	for _, r := range b.all {
		columns, _ := r.split()
		for _, m := range columns {
			if by[m.table] == nil {
				tables = append(tables, m.table)
			}
			by[m.table] = append(by[m.table], assignment{m, r})
			moves = append(moves, m)
		}
	}
	a, err := b.engine.exclusively(ctx, b.all, tables)
	if err != nil {
		return err
	}
	undo := Action{Kind: Transactional, RowsOnly: a.rowsOnly, Session: a.session, SQL: slices.Clone(a.before)}
	do := Action{Kind: Transactional, RowsOnly: a.rowsOnly, Session: a.session, SQL: slices.Clone(a.before)}
	for _, table := range tables {
		do.SQL = append(do.SQL, b.engine.assign(table, by[table], "old_id", "new_id")...)
		undo.SQL = append(undo.SQL, b.engine.assign(table, by[table], "new_id", "old_id")...)
	}
	do.SQL, undo.SQL = append(do.SQL, a.after...), append(undo.SQL, a.after...)
	rows, bytes := b.weight(moves)
	b.add(Step{
		Title: "give all rows, and all that refers to them, their new ids at once", Phase: "rewrite", Tables: tables, Lock: a.lock, Algorithm: "one statement a table",
		Rows: rows, Bytes: bytes, Disk: b.growth(bytes), Do: do, Undo: &undo,
	})
	b.note("The plan is exclusive: whoever runs it says that nobody else writes to its tables from the first step to the last. While the ids are rewritten, in one transaction, " + a.lock.Text +
		". A row that comes before the tables are locked, and has no new id yet, stops the run; one that comes after them with an old id is found by the checks that follow.")
	return nil
}

// assignment is a column of a table, and the key whose map has its new values.
type assignment struct {
	move
	of rewriting
}

// sets returns the columns that are assigned, each once, with their expressions: the map's value, or their own where the map has none.
func (b *builder) sets(list []assignment, to string, value func(assignment) string) []string {
	var names []string
	values := map[string][]string{}
	for _, a := range list {
		if values[a.column] == nil {
			names = append(names, a.column)
		}
		values[a.column] = append(values[a.column], value(a))
	}
	for i, name := range names {
		expression := values[name][0]
		if all := values[name]; len(all) > 1 || strings.HasPrefix(expression, "(SELECT ") {
			expression = fmt.Sprintf("COALESCE(%s, c.%s)", strings.Join(all, ", "), b.quote(name))
		}
		names[i] = fmt.Sprintf("%s = %s", b.quote(name), expression)
	}
	return names
}

// looked returns the subquery for what a map has for a column, NULL when it has nothing.
func (b *builder) looked(a assignment, from, to string) string {
	return fmt.Sprintf("(SELECT %s FROM %s m WHERE m.%s = %s%s)", b.engine.value(a.move, to), a.of.source, from, b.engine.number(a.move), a.owner)
}

// concerned returns the condition on the rows in which the map may have something for one of the columns: all others are not written.
func (b *builder) concerned(list []assignment, from string) string {
	var any []string
	for _, a := range list {
		column := "c." + b.quote(a.column)
		switch c := b.columnOf(a.table, a.column); {
		case a.text || c.Class != catalog.Integer:
			any = append(any, fmt.Sprintf("(%s IS NOT NULL%s)", column, a.owner))
		case from == "old_id":
			any = append(any, fmt.Sprintf("(%s < %d%s)", column, a.of.Below, a.owner))
		default:
			any = append(any, fmt.Sprintf("(%s >= %d%s)", column, a.of.Below, a.owner))
		}
	}
	return strings.Join(any, " OR ")
}

// lookUp returns the statement that assigns the columns of a table by looking each value up in its map. More is what is assigned besides, beginning with a comma.
func (b *builder) lookUp(table string, list []assignment, from, to, more string) string {
	sets := b.sets(list, to, func(a assignment) string { return b.looked(a, from, to) })
	as := " c"
	if b.dialect() == dialect.SQLite {
		as = " AS c"
	}
	return fmt.Sprintf("UPDATE %s%s SET %s%s WHERE %s", b.quoted(table), as, strings.Join(sets, ", "), more, b.concerned(list, from))
}
