package plan

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/inspect"
)

// move is a column whose values a map rewrites: a key, or what refers to it. Statements call its table c and the map m.
type move struct {
	table, column string
	reference     Reference
	name          string   // for people, and what tells it from others
	key           bool     // it is the key that the map is of
	text          bool     // its values are texts of numbers, of which only those without signs, spaces and zeros that need not be there are ids
	path          []string // of JSON documents, where the id is
	ownerType     string   // the column beside it that says which table is meant, of a polymorphic reference
	owner         string   // the condition on that column; it begins with AND
	declared      bool     // a foreign key of the whole table says so
	encoding      string   // how MySQL turns a number into a text that is compared as the column's are
}

// rewriting is a key that gets new ids, with all that refers to it.
type rewriting struct {
	Key
	source string // the map, as statements have it
	moves  []move // the key first, JSON last
}

// rekeyBuilder makes plans of the mode rekey.
type rekeyBuilder struct {
	*builder
	all []rewriting
}

func (b *rekeyBuilder) steps(ctx context.Context) (err error) {
	if err := b.date(ctx); err != nil {
		return err
	}
	if len(b.dated()) > 0 {
		b.reserve()
	}
	if err := (widenBuilder{b.builder}).steps(ctx); err != nil {
		return err
	}
	if b.all, err = b.rewritings(ctx); err != nil {
		return err
	}
	if err := b.refuse(ctx); err != nil {
		return err
	}
	if len(b.all) == 0 {
		b.note("All ids stay: no key gets new ones.")
		return nil
	}
	b.baseline(b.all)
	b.makeMaps("map")
	b.fillMaps()
	b.assertMaps()
	rewrite, after := b.rewriteInBatches, b.sweep
	var temporary []Step
	if b.options.Exclusive {
		rewrite, after = exclusiveBuilder{b}.rewrite, func() {}
	} else {
		if err := b.engine.loosen(ctx, b.all); err != nil {
			return err
		}
		temporary = b.indexes()
	}
	guard, open := b.engine.guard(b.all)
	b.add(guard...)
	b.rebuild("before the first row changes, so that it is known to work, and after a rollback", true)
	b.returns()
	if err := rewrite(ctx); err != nil {
		return err
	}
	b.documents()
	b.rebuild("with the new ids", false)
	after()
	b.add(open...)
	b.assertResult()
	b.add(temporary...)
	b.contract()
	return nil
}

// rewriteInBatches moves the keys, those last to which nothing refers.
func (b *rekeyBuilder) rewriteInBatches(context.Context) error {
	childless := map[string]rewriting{}
	for _, r := range b.all {
		if len(r.moves) == 1 {
			childless[r.Table] = r
		}
	}
	order := slices.Clone(b.all)
	slices.SortStableFunc(order, func(x, y rewriting) int { return cmp.Compare(min(len(y.moves), 2), min(len(x.moves), 2)) })
	for _, r := range order {
		b.batch(r, childless)
	}
	return nil
}

// rewritings collects the keys that get new ids, and their references.
func (b *builder) rewritings(ctx context.Context) ([]rewriting, error) {
	var all []rewriting
	for _, k := range b.plan.Keys {
		if k.Map == "" {
			continue
		}
		source, err := b.catalog.QuotedText(k.Map)
		if err != nil {
			return nil, fmt.Errorf("plan: the map of %s: %w", k.Table, err)
		}
		r := rewriting{Key: k, source: source}
		r.moves = append(r.moves, move{table: k.Table, column: k.Column, name: k.Table + "." + k.Column, key: true})
		var documents []move
		for _, ref := range b.plan.References {
			if ref.To != k.Table || ref.ToColumn != k.Column {
				continue
			}
			m, err := b.move(ctx, ref)
			switch {
			case err != nil:
				return nil, err
			case m.path != nil:
				documents = append(documents, m)
			case !slices.ContainsFunc(r.moves, func(o move) bool { return o.name == m.name }): // two foreign keys on one column
				r.moves = append(r.moves, m)
			}
		}
		r.moves = append(r.moves, documents...)
		all = append(all, r)
	}
	return all, nil
}

// move returns the column of a reference.
func (b *builder) move(ctx context.Context, r Reference) (move, error) {
	m := move{reference: r, table: r.Table, column: r.Column, name: r.Table + "." + r.Column, declared: r.Origin == inspect.Declared && b.guarded(r)}
	c := b.columnOf(r.Table, r.Column)
	if c == nil {
		return m, fmt.Errorf("%w: %s has no column %s any more: inspect again", ErrOption, r.Table, r.Column)
	}
	if r.Path != "" {
		var err error
		if m.path, err = jsonPath(r.Path); err != nil {
			return m, err
		}
		m.name += ":" + r.Path
	} else {
		m.text = c.Class == catalog.Text || r.Text
	}
	if r.OwnerType != "" {
		if strings.ContainsRune(r.Owner, 0) {
			return m, fmt.Errorf("%w: the owner's type %q of %s has a zero byte", ErrOption, r.Owner, m.name)
		}
		if err := checkName(r.Owner); err != nil {
			return m, err
		}
		m.name += fmt.Sprintf(" (%s)", r.Owner)
		m.ownerType, m.owner = r.OwnerType, fmt.Sprintf(" AND c.%s = %s", b.quote(r.OwnerType), b.literal(r.Owner))
	}
	return b.engine.encoded(ctx, m)
}

// guarded reports whether a foreign key guards all rows of a table, and not those of some of its partitions alone.
func (b *builder) guarded(r Reference) bool {
	return b.dialect() != dialect.Postgres || slices.ContainsFunc(b.references, func(f *catalog.Reference) bool {
		return b.names[f.Child] == r.Table && f.Partition == (catalog.Name{}) && slices.Contains(f.Columns, r.Column)
	})
}

// sizeOf adds up estimates, of which any may be unknown.
func sizeOf(parts ...int64) int64 {
	var sum int64
	for _, n := range parts {
		if n < 0 {
			return -1
		}
		sum += n
	}
	return sum
}

// weight returns the rows and bytes of the tables of moves, each table once.
func (b *builder) weight(moves []move) (rows, bytes int64) {
	seen := map[string]bool{}
	for _, m := range moves {
		if !seen[m.table] {
			seen[m.table] = true
			rows, bytes = sizeOf(rows, b.rows(m.table)), sizeOf(bytes, b.bytes(m.table))
		}
	}
	return rows, bytes
}

// growth is what rewriting rows takes: PostgreSQL writes each row anew and keeps the old one until it is vacuumed.
func (b *builder) growth(bytes int64) int64 {
	if b.dialect() == dialect.Postgres {
		return bytes
	}
	return 0
}

const (
	rangeOfMap = "m.old_id > :after AND m.old_id <= :upto"
)

var rowLock = Lock{Waits: rowWrites, Text: "writers wait for the rows of a batch, for as long as it takes"}

// cursor returns the query for the end of the next range of a map's old ids.
func cursor(source string) string {
	return fmt.Sprintf("SELECT MAX(old_id) FROM (SELECT old_id FROM %s WHERE old_id > :after ORDER BY old_id LIMIT :rows) x", source)
}

// batches returns the action that makes updates over a map's ranges. Childless are keys that nothing refers to, by their tables: a row of these gets
// its own id in the statement that rewrites its reference, which saves writing the row once more.
func (b *rekeyBuilder) batches(r rewriting, moves []move, from, to string, childless map[string]rewriting) Action {
	touched := slices.Clone(moves)
	a := Action{Kind: Batch, Session: b.engine.session(), Cursor: cursor(r.source)}
	var updates []string
	for _, m := range moves {
		more := ""
		if of, ok := childless[m.table]; ok && !m.key && m.column != of.Column {
			own, column := assignment{of.moves[0], of}, b.quote(of.Column)
			if b.dialect() == dialect.MySQL { // which could take it for one of the map's
				column = "c." + column
			}
			touched = append(touched, own.move)
			more = fmt.Sprintf(", %s = COALESCE(%s, c.%s)", column, b.looked(own, from, to), b.quote(of.Column))
		}
		updates = append(updates, b.engine.update(r.source, m, from, to, rangeOfMap, more)...)
	}
	a.Before, a.After = b.engine.around(touched)
	a.SQL = updates
	return a
}

// split returns the moves that are not in JSON documents, and those that are.
func (r rewriting) split() (columns, documents []move) {
	i := slices.IndexFunc(r.moves, func(m move) bool { return m.path != nil })
	if i < 0 {
		return r.moves, nil
	}
	return r.moves[:i], r.moves[i:]
}

// batch moves a key and the columns that refer to it, the key first: were a reference moved first, a row inserted meanwhile with the old
// id would find its parent, and be left behind; so it waits for the parent's row, and fails.
//
// Childless keys come last: what is left for their own batches is the rows without a reference.
//
// No two rows have one key at any time, though PostgreSQL and SQLite look at each row as it changes: a new id is none of the old ones.
func (b *rekeyBuilder) batch(r rewriting, childless map[string]rewriting) {
	columns, _ := r.split()
	rows, bytes := b.weight(columns)
	undo := b.batches(r, columns, "new_id", "old_id", childless)
	b.add(Step{
		Title: "give the rows of …, and all that refers to them, their new ids", Names: []string{r.Table}, Phase: "rewrite", Tables: tablesOf(columns), Lock: rowLock,
		Algorithm: "batches", Rows: rows, Bytes: bytes, Disk: b.growth(bytes),
		Do: b.batches(r, columns, "old_id", "new_id", childless), Undo: &undo,
	})
}

// unguarded returns the columns among references in which the database lets anything be. On SQLite those with foreign keys are among them,
// since each connection says for itself whether it has them looked at.
func (b *rekeyBuilder) unguarded(r rewriting) []move {
	columns, _ := r.split()
	return slices.DeleteFunc(slices.Clone(columns), func(m move) bool { return m.key || m.declared && b.dialect() != dialect.SQLite })
}

// sweepOf moves what is in unguarded columns from one id to the other until nothing is left to move.
func (b *rekeyBuilder) sweepOf(r rewriting, moves []move, from, to string) Action {
	a := b.batches(r, moves, from, to, nil)
	var left []string
	for _, m := range moves {
		left = append(left, "("+b.remaining(r, m, from)+")")
	}
	a.Remaining = "SELECT " + strings.Join(left, " + ")
	return a
}

// sweep moves what was written with old ids to unguarded columns since their batches went by.
func (b *rekeyBuilder) sweep() {
	for _, r := range b.all {
		moves := b.unguarded(r)
		if len(moves) == 0 {
			continue
		}
		rows, _ := b.weight(moves)
		b.add(Step{
			Title: "look for references to … that were written with old ids meanwhile", Names: []string{r.Table}, Phase: "rewrite", Tables: tablesOf(moves), Lock: rowLock,
			Algorithm: "batches", Rows: rows, Do: b.sweepOf(r, moves, "old_id", "new_id"), Kept: "what it moves goes back with the rest",
		})
	}
	b.engine.tighten()
}

// returns adds what a rollback does when the keys are back, which is why it undoes steps before those that move them: it looks for what was
// written with new ids meanwhile, and rewrites documents, in the order in which it is done forwards.
func (b *rekeyBuilder) returns() {
	for _, r := range b.all {
		moves := b.unguarded(r)
		if len(moves) > 0 && !b.options.Exclusive {
			rows, _ := b.weight(moves)
			undo := b.sweepOf(r, moves, "new_id", "old_id")
			b.add(Step{
				Title: "count the references to … that no foreign key guards; a rollback looks for those that are left", Names: []string{r.Table}, Phase: "rewrite", Tables: tablesOf(moves),
				Rows: rows, Do: countOld(r.Table, b.sweepOf(r, moves, "old_id", "new_id").Remaining), Undo: &undo,
			})
		}
		_, documents := r.split()
		for _, m := range documents {
			undo := b.document(r, m, "new_id", "old_id")
			b.add(Step{
				Title: "count the ids of … in the JSON of …; a rollback rewrites them here", Names: []string{r.Table, m.name}, Phase: "rewrite", Tables: []string{m.table},
				Rows: b.rows(m.table), Do: countOld(r.Table, b.remaining(r, m, "old_id")), Undo: &undo,
			})
		}
	}
}

// countOld returns the action that counts old ids of a table.
func countOld(table, query string) Action {
	return Action{Kind: Count, Queries: []Query{{About: "old ids of …", Names: []string{table}, SQL: query}}}
}

// tablesOf returns the tables of moves, each once.
func tablesOf(moves []move) (tables []string) {
	for _, m := range moves {
		if !slices.Contains(tables, m.table) {
			tables = append(tables, m.table)
		}
	}
	return tables
}

// remaining returns the query for how many rows have an id of a map's column. Only those on its side of Below are read.
func (b *builder) remaining(r rewriting, m move, column string) string {
	query := fmt.Sprintf("SELECT COUNT(*) FROM %s m JOIN %s c ON %s", r.source, b.quoted(m.table), b.equal(m, "m."+column))
	if m.path == nil {
		query += " WHERE " + b.concerned([]assignment{{m, r}}, column)
	}
	return query
}

// rebuild fills full-text tables anew whose rows go by the numbers of a table's rows.
func (b *rekeyBuilder) rebuild(when string, back bool) {
	seen := map[string]bool{}
	for _, r := range b.all {
		for _, m := range r.moves {
			for _, u := range b.tables[m.table].Users {
				if u.Kind != "full-text table" || seen[u.Name.String()] {
					continue
				}
				seen[u.Name.String()] = true
				s := Step{
					Title: "rebuild the full-text table …, " + when, Names: []string{u.Name.String()}, Phase: "rewrite", Tables: []string{m.table}, Lock: Lock{Waits: allWrites, Text: "nobody else writes to the database"},
					Rows: b.rows(m.table), Bytes: b.bytes(m.table), Kept: "a full-text table can be rebuilt at any time",
					Do: Action{Kind: Transactional, RowsOnly: true, SQL: []string{fmt.Sprintf("INSERT INTO %s (%s) VALUES ('rebuild')", b.catalog.Quoted(u.Name), b.quote(u.Name.Name))}},
				}
				if back {
					undo := s.Do
					s.Undo, s.Kept = &undo, ""
				}
				b.add(s)
			}
		}
	}
}

// contract ends the plan: it waits until somebody has looked at the result, and drops what a rollback needs.
func (b *rekeyBuilder) contract() {
	if b.options.Keep {
		return
	}
	b.add(Step{
		Title: "wait until the result was verified", Phase: "contract",
		Do: Action{Kind: Hold, Name: DropMaps, Text: "All ids are rewritten. Verify the plan, look at what else keeps ids (caches, other services), and go on when the maps of old ids " +
			"to new ones are not needed any more: they are dropped then, and there is no rollback after that."},
	})
	b.dropMaps()
}
