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

// alone is what differs between dialects in the one transaction that rewrites all tables at once.
type alone struct {
	session  []string
	before   []string // statements that lock the tables, and drop what would look at each row
	after    []string // those that put it back
	lock     Lock
	rowsOnly bool // the statements change no definitions
}

// atOnce adds the step that rewrites all keys and references in one transaction, with one statement a table, or two. It has no need of
// indexes for ranges, of batches, or of a sweep: nobody writes until it is committed.
func (b *builder) atOnce(ctx context.Context, g grammar, all []rewriting) error {
	by := map[string][]assignment{}
	var tables []string
	var moves []move
	for _, r := range all {
		columns, _ := r.split()
		for _, m := range columns {
			if by[m.table] == nil {
				tables = append(tables, m.table)
			}
			by[m.table] = append(by[m.table], assignment{m, r})
			moves = append(moves, m)
		}
	}
	a, err := g.alone(ctx, all, tables)
	if err != nil {
		return err
	}
	undo := Action{Kind: Transactional, RowsOnly: a.rowsOnly, Session: a.session, SQL: slices.Clone(a.before)}
	do := Action{Kind: Transactional, RowsOnly: a.rowsOnly, Session: a.session, SQL: slices.Clone(a.before)}
	for _, table := range tables {
		do.SQL = append(do.SQL, g.assign(table, by[table], "old_id", "new_id")...)
		undo.SQL = append(undo.SQL, g.assign(table, by[table], "new_id", "old_id")...)
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
func (b *builder) sets(g grammar, list []assignment, to string, value func(assignment) string) []string {
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
func looked(g grammar, a assignment, from, to string) string {
	return fmt.Sprintf("(SELECT %s FROM %s m WHERE m.%s = %s%s)", g.value(a.move, to), a.of.source, from, g.number(a.move), a.owner)
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
func (b *builder) lookUp(g grammar, table string, list []assignment, from, to, more string) string {
	sets := b.sets(g, list, to, func(a assignment) string { return looked(g, a, from, to) })
	as := " c"
	if b.dialect() == dialect.SQLite {
		as = " AS c"
	}
	return fmt.Sprintf("UPDATE %s%s SET %s%s WHERE %s", b.quoted(table), as, strings.Join(sets, ", "), more, b.concerned(list, from))
}

// alone has the rows locked by the statements themselves: under REPEATABLE READ one that reads a whole table locks all its rows, and the gaps between them, until
// the transaction ends. LOCK TABLES would be undone by the beginning of the transaction.
func (g mysqlRekey) alone(context.Context, []rewriting, []string) (alone, error) {
	session := slices.Clone(g.session())
	session[len(session)-1] = "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"
	const waits = "writers of a table wait from when it is rewritten until all are; readers see the rows as they were"
	return alone{session: session, lock: Lock{Waits: Writes, Text: waits}, rowsOnly: true}, nil
}

func (g mysqlRekey) assign(table string, list []assignment, from, to string) []string {
	return []string{g.lookUp(g, table, list, from, to, g.unchanged(list[0].move))}
}

func (g *sqliteRekey) alone(context.Context, []rewriting, []string) (alone, error) {
	const waits = "writers of the database wait; readers see the rows as they were, in the journal mode WAL, else they wait, too"
	return alone{session: g.session(), lock: Lock{Waits: Writes, Text: waits}, rowsOnly: true}, nil
}

func (g *sqliteRekey) assign(table string, list []assignment, from, to string) []string {
	return []string{g.lookUp(g, table, list, from, to, "")}
}

// alone has no trigger fire, and so no foreign key looked at, where the user may do that. Else it drops the foreign keys, which would have a query run for each
// row, and makes them again, by one query for each.
func (g *postgresRekey) alone(ctx context.Context, all []rewriting, tables []string) (alone, error) {
	g.remark()
	var locked []catalog.Name
	for _, table := range tables {
		locked = append(locked, g.tables[table].Full)
	}
	// READ COMMITTED has the statements see what was committed before the lock was there.
	a := alone{session: append([]string{"SET default_transaction_isolation = 'read committed'", "SET jit=off"}, g.silence()...)}
	if g.silent {
		g.enclosed(g.moved(all))
		const waits = "writes of all tables of the plan wait for as long as all are rewritten; readers see the rows as they were"
		a.before, a.lock = g.locked("EXCLUSIVE", locked, nil), Lock{Waits: Writes, Text: waits}
		return a, nil
	}
	const waits = "reads and writes of all tables of the plan wait for as long as all are rewritten"
	a.lock = Lock{Waits: ReadsAndWrites, Text: waits}
	a.after = []string{"SET CONSTRAINTS ALL IMMEDIATE"} // ALTER TABLE is refused while triggers are to be fired at the end
	var drop []string
	for _, f := range g.concern(all) {
		locked = append(locked, f.Child, f.Parent)
		for _, side := range []catalog.Name{f.Child, f.Parent} {
			if t := g.tables[g.names[side]]; t == nil || t.Related != "" || f.Partition != (catalog.Name{}) {
				g.block(fmt.Sprintf("%s: its foreign key %s is of a table with partitions or heirs, or of one that the plan does not read, and cannot be dropped and made again in one "+
					"transaction with the rows: plan without exclusive, or as a user who may set session_replication_role.", f.Child, f.Name))
				break
			}
		}
		comment, err := g.comment(ctx, f)
		if err != nil {
			return alone{}, err
		}
		alter := "ALTER TABLE " + g.catalog.Quoted(f.Child)
		drop = append(drop, fmt.Sprintf("%s DROP CONSTRAINT %s", alter, g.quote(f.Name)))
		a.after = append(append(a.after, fmt.Sprintf("%s ADD CONSTRAINT %s %s", alter, g.quote(f.Name), f.Definition)), comment...)
	}
	a.before = g.locked(toDrop, locked, drop)
	return a, nil
}

// assign joins what each row has in a map, as its key and its columns with foreign keys that are not NULL, and looks the rest up. The second statement is for
// the rows that the join leaves out, with a reference to a row that came later or to none.
func (g *postgresRekey) assign(table string, list []assignment, from, to string) []string {
	rest := g.lookUp(g, table, list, from, to, "")
	var sources, conditions []string
	sets := g.sets(g, list, to, func(a assignment) string {
		if a.text || a.owner != "" || !a.key && (!a.declared || g.columnOf(table, a.column).Nullable) {
			return looked(g, a, from, to)
		}
		alias := fmt.Sprintf("m%d", len(sources)+1)
		sources = append(sources, a.of.source+" "+alias)
		conditions = append(conditions, fmt.Sprintf("%s.%s = %s", alias, from, g.number(a.move)))
		return alias + "." + to
	})
	if len(sources) == 0 {
		return []string{rest}
	}
	return []string{fmt.Sprintf("UPDATE %s c SET %s FROM %s WHERE %s", g.quoted(table), strings.Join(sets, ", "), strings.Join(sources, ", "), strings.Join(conditions, " AND ")), rest}
}
