package plan

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
)

// postgresEngine is PostgreSQL.
type postgresEngine struct {
	plainEngine
	after []Step // tighten's
}

// session has a batch's rows found by the map's range, and by the indexes on what refers to them: the planner would rather read whole tables,
// for the range of each batch anew, which takes the longer the more rows there are. Where it has to read one nevertheless, that seems so dear to it that it would compile each query.
//
// READ COMMITTED has each statement of a batch see what was committed before it, so that the references find the rows that were written while
// the batch waited for their parent. In a session without triggers nothing else would.
func (b *postgresEngine) session() []string {
	return append([]string{"SET default_transaction_isolation = 'read committed'", "SET enable_hashjoin=off", "SET enable_mergejoin=off", "SET enable_seqscan=off", "SET jit=off"}, b.silence()...)
}

// silence returns what keeps triggers from firing in a session, where the user may have it, and with them those that foreign keys are made of; but not those
// that are ENABLE ALWAYS, or ENABLE REPLICA. Foreign keys hold all the same: the statements of a batch have all references in them, the key's first, and what
// other sessions write is looked at by their own triggers, which wait for the key's row.
func (b *postgresEngine) silence() []string {
	if !b.silent {
		return nil
	}
	b.plan.Silent = true
	return []string{"SET session_replication_role = replica"}
}

// around has foreign keys looked at when the batch is committed: loosen has made all deferrable that are in the way.
func (b *postgresEngine) around([]move) (before, after []string) {
	if b.silent {
		return nil, nil
	}
	return []string{"SET CONSTRAINTS ALL DEFERRED"}, nil
}

// update adds 0 to the map's id where it is compared, so that the map is read by its range, and not once for each row of the table.
func (b *postgresEngine) update(source string, m move, from, to, where, more string) []string {
	value, id := b.value(m, to), "m."+from+" + 0"
	if m.path != nil {
		id = "m." + from // found by the document's id
		document := b.jsonb(m)
		value = fmt.Sprintf("jsonb_set(%[1]s, %[2]s, CASE WHEN jsonb_typeof(%[1]s #> %[2]s) = 'string' THEN to_jsonb(CAST(m.%[3]s AS text)) ELSE to_jsonb(m.%[3]s) END)",
			document, b.path(m), to)
		if document != b.column(m) {
			value = fmt.Sprintf("CAST(%s AS json)", value)
		}
	}
	return []string{fmt.Sprintf("UPDATE %s c SET %s = %s%s FROM %s m WHERE %s AND %s",
		b.quoted(m.table), b.quote(m.column), value, more, source, b.equal(m, id), where)}
}

func (b *postgresEngine) value(m move, to string) string {
	if m.text {
		return fmt.Sprintf("CAST(m.%s AS text)", to)
	}
	return "m." + to
}

func (b *postgresEngine) equalText(m move, id string) string {
	id = fmt.Sprintf("CAST(%s AS text)", id)
	if b.padded(m) {
		id = fmt.Sprintf("CAST(%s AS bpchar)", id) // padded; an index on it is not used for a text
	}
	return b.column(m) + " = " + id
}

// padded reports whether a column has spaces at the end of its texts.
func (b *postgresEngine) padded(m move) bool {
	declared := b.columnOf(m.table, m.column).Type
	return strings.HasPrefix(declared, "char") && !strings.HasPrefix(declared, "character varying")
}

// jsonb returns a JSON column as jsonb.
func (b *postgresEngine) jsonb(m move) string {
	if b.columnOf(m.table, m.column).Type == "json" {
		return fmt.Sprintf("CAST(%s AS jsonb)", b.column(m))
	}
	return b.column(m)
}

func (b *postgresEngine) path(m move) string {
	var parts []string
	for _, part := range m.path {
		parts = append(parts, b.literal(strings.Trim(part, "[]")))
	}
	return fmt.Sprintf("CAST(ARRAY[%s] AS text[])", strings.Join(parts, ", "))
}

// number has CASE where AND would do, because the order in which the parts of AND are evaluated is not certain.
func (b *postgresEngine) number(m move) string {
	value, condition := b.column(m), ""
	switch {
	case m.path != nil:
		document := b.jsonb(m)
		value = fmt.Sprintf("(%s #>> %s)", document, b.path(m))
		condition = fmt.Sprintf("jsonb_typeof(%s #> %s) IN ('number', 'string') AND ", document, b.path(m))
	case !m.text:
		return value
	case b.padded(m):
		value = fmt.Sprintf("CAST(%s AS text)", value) // without the spaces at its end
	}
	return fmt.Sprintf("CASE WHEN %s%s ~ '%s' THEN CAST(%[2]s AS bigint) END", condition, value, decimal)
}

func (b *postgresEngine) createIndex(t *catalog.Table, m move, name string) (do, undo Action) {
	quoted := b.catalog.Quoted(catalog.Name{Schema: t.Full.Schema, Name: name})
	there := "FROM pg_catalog.pg_index WHERE indexrelid = to_regclass(" + b.literal(quoted) + ")"
	drop := fmt.Sprintf("DROP INDEX CONCURRENTLY IF EXISTS %s", quoted)
	return concurrently(fmt.Sprintf("CREATE INDEX CONCURRENTLY %s ON %s (%s)", b.quote(name), b.catalog.Quoted(t.Name), b.quote(m.column)),
		"SELECT COUNT(*) "+there+" AND indisvalid", drop), concurrently(drop, "SELECT 1 - COUNT(*) "+there)
}

// remark notes what is to be known of rewritten tables.
func (b *postgresEngine) remark() {
	b.note("Rewritten rows are written anew, and the old ones are space to be used again after a VACUUM of the rewritten tables, which autovacuum does in time. " +
		"VACUUM (ANALYZE) them after the run; only VACUUM FULL or pg_repack gives the space back to the system.")
	if b.silent && len(b.quiet) > 0 {
		b.note("For the rows that the plan rewrites these triggers do not fire, for session_replication_role is replica in its own sessions; for all others they go on: " + strings.Join(b.quiet, ", ") + ". " +
			"What they keep of ids in other places has the old ones, unless that is a reference of the plan.")
	}
}

// concern returns the foreign keys that refer to columns which are rewritten.
func (b *postgresEngine) concern(all []rewriting) (keys []*catalog.Reference) {
	moved := b.moved(all)
	for _, f := range b.references {
		if slices.ContainsFunc(f.To, func(column string) bool { return moved[[2]string{f.Parent.String(), column}] }) {
			keys = append(keys, f)
		}
	}
	return keys
}

// moved returns the columns that are rewritten, by their full tables.
func (b *postgresEngine) moved(all []rewriting) map[[2]string]bool {
	moved := map[[2]string]bool{}
	for _, r := range all {
		columns, _ := r.split()
		for _, m := range columns {
			moved[[2]string{b.tables[m.table].Full.String(), m.column}] = true
		}
	}
	return moved
}

// loosen makes foreign keys deferrable, and has none change references by itself, for what it would change could not be told from the rest.
func (b *postgresEngine) loosen(ctx context.Context, all []rewriting) error {
	b.remark()
	if b.silent {
		b.enclosed(b.moved(all))
		return nil
	}
	var children []catalog.Name
	by := map[catalog.Name][]*catalog.Reference{}
	for _, f := range b.concern(all) {
		if by[f.On()] == nil {
			children = append(children, f.On())
		}
		by[f.On()] = append(by[f.On()], f)
	}
	slices.SortFunc(children, compareNames)
	for _, child := range children {
		slices.SortFunc(by[child], func(x, y *catalog.Reference) int { return strings.Compare(x.Name, y.Name) })
		if err := b.loosenChild(ctx, child, by[child]); err != nil {
			return err
		}
	}
	return nil
}

// enclosed blocks foreign keys that lead to a column that moves, full table and name, from one that does not: a silent session would not notice.
func (b *postgresEngine) enclosed(moved map[[2]string]bool) {
	for _, f := range b.references {
		for i := range f.To {
			if moved[[2]string{f.Parent.String(), f.To[i]}] && !moved[[2]string{f.Child.String(), f.Columns[i]}] {
				b.block(fmt.Sprintf("%s: its foreign key %s refers to %s.%s, which gets new ids, and %s is not known as a reference to it: inspect again.", f.Child, f.Name, f.Parent, f.To[i], f.Columns[i]))
			}
		}
	}
}

// What a change of foreign keys locks: to alter one, its table alone; to add or drop one, the table that it refers to as well.
var (
	alteringWaits = Lock{readsAndWrites, true, "reads and writes of the table wait for a moment"}
	swappingWaits = Lock{readsAndWrites, true, "reads and writes of the table, and of those that its foreign keys refer to, wait for a moment"}
)

// The modes of locks that foreign keys take of both tables. To add one is let in beside readers.
const (
	toAdd  = "SHARE ROW EXCLUSIVE"
	toDrop = "ACCESS EXCLUSIVE"
)

// locked puts before statements what takes the locks of several tables at once, in the order of their names, which is that of all steps.
func (b *postgresEngine) locked(mode string, tables []catalog.Name, sql []string) []string {
	sorted := slices.Clone(tables)
	slices.SortFunc(sorted, compareNames)
	var names []string
	for _, t := range slices.Compact(sorted) {
		names = append(names, b.catalog.Quoted(t))
	}
	if len(names) == 1 {
		return append([]string{patience, fmt.Sprintf("LOCK TABLE %s IN %s MODE", names[0], mode)}, sql...)
	}
	var texts []string
	for _, name := range names {
		texts = append(texts, b.literal(name))
	}
	return append([]string{fmt.Sprintf(lockAll, strings.Join(texts, ", "), mode), patience}, sql...)
}

// lockAll waits for the locks of all tables together for no longer than patience: lock_timeout alone is for each table anew, and writers
// wait for the first one all the while.
const lockAll = "DO $snowkey$ DECLARE t text; ends timestamptz := clock_timestamp() + interval '800 ms'; BEGIN FOREACH t IN ARRAY ARRAY[%s] LOOP " +
	"PERFORM set_config('lock_timeout', greatest(1, ceil(1000 * extract(epoch FROM ends - clock_timestamp())))::int || 'ms', true); " +
	"EXECUTE 'LOCK TABLE ' || t || ' IN %s MODE'; END LOOP; END $snowkey$"

// change is some statements, and those that undo them.
type change struct{ do, undo []string }

// then adds statements. They are undone in the other order.
func (c *change) then(do, undo []string) {
	c.do, c.undo = append(c.do, do...), append(slices.Clone(undo), c.undo...)
}

// step adds a step of the change to some, unless it is empty.
func (c *change) step(steps []Step, title, table string) []Step {
	if len(c.do) == 0 {
		return steps
	}
	s := Step{Title: title, Names: []string{table}, Phase: "rewrite", Tables: []string{table}, Lock: alteringWaits, Algorithm: "catalog only", Do: transactional(c.do...)}
	if len(c.undo) > 0 {
		s.Undo = ref(transactional(c.undo...))
	}
	return append(steps, s)
}

// loosenChild does it for the foreign keys of one table, or of one partition alone, in the order of their names, in one transaction as far as no rows have to be read.
func (b *postgresEngine) loosenChild(ctx context.Context, child catalog.Name, keys []*catalog.Reference) error {
	var swaps []swap
	var alone change
	for _, f := range keys {
		if f.OnUpdate != "NO ACTION" {
			s, err := b.replace(ctx, f)
			if err != nil {
				return err
			}
			if s != nil {
				swaps = append(swaps, *s)
			}
			continue
		}
		if f.Deferrable {
			continue
		}
		alter := fmt.Sprintf("ALTER TABLE %s ALTER CONSTRAINT %s ", b.catalog.Quoted(child), b.quote(f.Name))
		alone.then([]string{alter + "DEFERRABLE INITIALLY IMMEDIATE"}, []string{alter + "NOT DEFERRABLE"})
	}
	before, after := alone, change{do: alone.undo, undo: alone.do}
	b.add(b.exchange(&before, swaps, "stand in for those whose ON UPDATE cannot be deferred", "let the foreign keys of … wait for the end of a transaction", child)...)
	for i := range swaps {
		swaps[i] = swaps[i].back()
	}
	b.after = append(b.after, b.exchange(&after, swaps, "are as they were", "have the foreign keys of … as they were", child)...)
	return nil
}

var onUpdate = regexp.MustCompile(` ON UPDATE (?:NO ACTION|RESTRICT|CASCADE|SET NULL|SET DEFAULT)`)

// swap puts one foreign key in the place of another.
type swap struct {
	in, out constraint
	child   string // as statements have it
	parent  catalog.Name
	valid   bool
}

// constraint is a foreign key as it is made.
type constraint struct {
	name, definition string
	comment          []string
}

func (s swap) back() swap {
	s.in, s.out = s.out, s.in
	return s
}

func (s swap) add(c constraint) string {
	return fmt.Sprintf("ALTER TABLE %s ADD CONSTRAINT %s %s NOT VALID", s.child, c.name, c.definition)
}

func (s swap) statement(verb string, c constraint) string {
	return fmt.Sprintf("ALTER TABLE %s %s CONSTRAINT %s", s.child, verb, c.name)
}

// exchange returns the steps of a change and some swaps: the foreign keys that come are added, their rows are checked, and those that go are dropped; the
// row is under one of both at any time.
func (b *postgresEngine) exchange(first *change, swaps []swap, why, title string, child catalog.Name) []Step {
	var validate, drop change
	tables := []catalog.Name{child}
	for _, s := range swaps {
		tables = append(tables, s.parent)
		first.then(append([]string{s.add(s.in)}, s.in.comment...), []string{s.statement("DROP", s.in)})
		again := append([]string{s.add(s.out)}, s.out.comment...)
		if s.valid {
			validate.then([]string{s.statement("VALIDATE", s.in)}, nil)
			again = append(again, s.statement("VALIDATE", s.out))
		}
		drop.then([]string{s.statement("DROP", s.out)}, again)
	}
	if len(swaps) > 0 {
		first.do, first.undo = b.locked(toDrop, tables, first.do), b.locked(toDrop, tables, first.undo)
		drop.do, drop.undo = b.locked(toDrop, tables, drop.do), b.locked(toAdd, tables, drop.undo)
	}
	table := b.short(child).String()
	steps := first.step(nil, title, table)
	if n := len(steps); len(validate.do) > 0 {
		steps = validate.step(steps, "check the rows of … by the foreign keys that "+why, table)
		steps[n].Lock, steps[n].Algorithm, steps[n].Rows, steps[n].Kept = Lock{}, "", b.rowsIn(table), "it goes with the foreign keys"
	}
	steps = drop.step(steps, "drop the foreign keys of … in whose place are others that "+why, table)
	for i := range steps {
		if len(swaps) > 0 && steps[i].Undo != nil {
			steps[i].Lock = swappingWaits
		}
	}
	return steps
}

// replace puts another foreign key in the place of one with an action, which cannot be deferred. It returns nil when it has blocked.
func (b *postgresEngine) replace(ctx context.Context, f *catalog.Reference) (*swap, error) {
	was, stand, err := definitions(f.Definition)
	if err != nil {
		return nil, fmt.Errorf("plan: the foreign key %s of %s: %w", f.Name, f.On(), err)
	}
	if b.divided(f) {
		b.block(fmt.Sprintf("%s: its foreign key %s has ON UPDATE %s, which is in the way of rewriting, and on a partitioned table it cannot be replaced without a long lock. "+
			"Replace it by one without ON UPDATE first.", f.On(), f.Name, f.OnUpdate))
		return nil, nil
	}
	comment, err := b.comment(ctx, f)
	if err != nil {
		return nil, err
	}
	return &swap{
		in:    constraint{name: b.quote(b.cut("snowkey_foreign_"+f.Name, 1)), definition: stand},
		out:   constraint{name: b.quote(f.Name), definition: was, comment: comment},
		child: b.catalog.Quoted(f.On()), parent: f.Parent, valid: f.Valid,
	}, nil
}

// divided reports whether a foreign key is of what has partitions: a table, or a partition that has some of its own.
func (b *postgresEngine) divided(f *catalog.Reference) bool {
	table := b.tables[b.names[f.Child]]
	return table != nil && table.Related == "partitioned" && !slices.ContainsFunc(b.leaves[table], func(leaf *catalog.Table) bool { return leaf.Full == f.Partition })
}

// comment returns the statement that says of a constraint what is said of it now.
func (b *postgresEngine) comment(ctx context.Context, f *catalog.Reference) ([]string, error) {
	var text string
	err := b.db.QueryRowContext(ctx, `SELECT COALESCE(obj_description(c.oid, 'pg_constraint'), '') FROM pg_catalog.pg_constraint c
		JOIN pg_catalog.pg_class t ON t.oid = c.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace
		WHERE c.conname = $1 AND t.relname = $2 AND n.nspname = $3`, f.Name, f.On().Name, f.On().Schema).Scan(&text)
	if err != nil {
		return nil, fmt.Errorf("plan: the comment of the foreign key %s of %s: %w", f.Name, f.On(), err)
	}
	if text == "" {
		return nil, nil
	}
	return []string{fmt.Sprintf("COMMENT ON CONSTRAINT %s ON %s IS %s", b.quote(f.Name), b.catalog.Quoted(f.On()), b.literal(text))}, nil
}

// definitions returns a foreign key's definition, as it is, and as one that can stand in for it while keys move.
func definitions(definition string) (was, stand string, err error) {
	was = strings.TrimSuffix(definition, " NOT VALID")
	end, closed, quoted := -1, 0, false
	for i, r := range was {
		switch {
		case r == '"':
			quoted = !quoted
		case r == ')' && !quoted:
			if closed++; closed == 2 {
				end = i + 1
			}
		}
		if end >= 0 {
			break
		}
	}
	if end < 0 {
		return "", "", fmt.Errorf("%w: it is not defined as a foreign key is: %s", ErrBlocked, definition)
	}
	rest := onUpdate.ReplaceAllString(was[end:], "")
	for _, clause := range []string{" INITIALLY DEFERRED", " INITIALLY IMMEDIATE", " NOT DEFERRABLE", " DEFERRABLE"} {
		rest = strings.ReplaceAll(rest, clause, "")
	}
	return was, was[:end] + rest + " DEFERRABLE INITIALLY IMMEDIATE", nil
}

// tighten has the foreign keys as they were.
func (b *postgresEngine) tighten() { b.add(b.after...) }

func (b *postgresEngine) partitioning(ctx context.Context, t *catalog.Table) (by string, err error) {
	err = b.db.QueryRowContext(ctx, "SELECT COALESCE(pg_get_partkeydef($1::oid), '')", int64(t.OID)).Scan(&by)
	return by, err
}

// exclusively has no trigger fire, and so no foreign key looked at, where the user may do that. Else it drops the foreign keys, which would have a query run for each
// row, and makes them again, by one query for each.
func (b *postgresEngine) exclusively(ctx context.Context, all []rewriting, tables []string) (exclusively, error) {
	b.remark()
	var locked []catalog.Name
	for _, table := range tables {
		locked = append(locked, b.tables[table].Full)
	}
	// READ COMMITTED has the statements see what was committed before the lock was there.
	a := exclusively{session: append([]string{"SET default_transaction_isolation = 'read committed'", "SET jit=off"}, b.silence()...)}
	if b.silent {
		b.enclosed(b.moved(all))
		const waits = "writes of all tables of the plan wait for as long as all are rewritten; readers see the rows as they were"
		a.before, a.lock = b.locked("EXCLUSIVE", locked, nil), Lock{Waits: allWrites, Text: waits}
		return a, nil
	}
	const waits = "reads and writes of all tables of the plan wait for as long as all are rewritten"
	a.lock = Lock{Waits: readsAndWrites, Text: waits}
	a.after = []string{"SET CONSTRAINTS ALL IMMEDIATE"} // ALTER TABLE is refused while triggers are to be fired at the end
	var drop []string
	for _, f := range b.concern(all) {
		locked = append(locked, f.Child, f.Parent)
		for _, side := range []catalog.Name{f.Child, f.Parent} {
			if t := b.tables[b.names[side]]; t == nil || t.Related != "" || f.Partition != (catalog.Name{}) {
				b.block(fmt.Sprintf("%s: its foreign key %s is of a table with partitions or heirs, or of one that the plan does not read, and cannot be dropped and made again in one "+
					"transaction with the rows: plan without exclusive, or as a user who may set session_replication_role.", f.Child, f.Name))
				break
			}
		}
		comment, err := b.comment(ctx, f)
		if err != nil {
			return exclusively{}, err
		}
		alter := "ALTER TABLE " + b.catalog.Quoted(f.Child)
		drop = append(drop, fmt.Sprintf("%s DROP CONSTRAINT %s", alter, b.quote(f.Name)))
		a.after = append(append(a.after, fmt.Sprintf("%s ADD CONSTRAINT %s %s", alter, b.quote(f.Name), f.Definition)), comment...)
	}
	a.before = b.locked(toDrop, locked, drop)
	return a, nil
}

// assign joins what each row has in a map, as its key and its columns with foreign keys that are not NULL, and looks the rest up. The second statement is for
// the rows that the join leaves out, with a reference to a row that came later or to none.
func (b *postgresEngine) assign(table string, list []assignment, from, to string) []string {
	rest := b.lookUp(table, list, from, to, "")
	var sources, conditions []string
	sets := b.sets(list, to, func(a assignment) string {
		if a.text || a.owner != "" || !a.key && (!a.declared || b.columnOf(table, a.column).Nullable) {
			return b.looked(a, from, to)
		}
		alias := fmt.Sprintf("m%d", len(sources)+1)
		sources = append(sources, a.of.source+" "+alias)
		conditions = append(conditions, fmt.Sprintf("%s.%s = %s", alias, from, b.number(a.move)))
		return alias + "." + to
	})
	if len(sources) == 0 {
		return []string{rest}
	}
	return []string{fmt.Sprintf("UPDATE %s c SET %s FROM %s WHERE %s", b.quoted(table), strings.Join(sets, ", "), strings.Join(sources, ", "), strings.Join(conditions, " AND ")), rest}
}
