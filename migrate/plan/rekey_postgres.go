package plan

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
)

// postgresRekey is the grammar of PostgreSQL.
type postgresRekey struct {
	*builder
	after []Step // tighten's
}

// session has a batch's rows found by the map's range, and by the indexes on what refers to them: the planner would rather read whole tables,
// for the range of each batch anew, which takes the longer the more rows there are. Where it has to read one nevertheless, that seems so dear to it that it would compile each query.
//
// READ COMMITTED has each statement of a batch see what was committed before it, so that the references find the rows that were written while
// the batch waited for their parent. In a session without triggers nothing else would.
func (g *postgresRekey) session() []string {
	return append([]string{"SET default_transaction_isolation = 'read committed'", "SET enable_hashjoin=off", "SET enable_mergejoin=off", "SET enable_seqscan=off", "SET jit=off"}, g.silence()...)
}

// silence returns what keeps triggers from firing in a session, where the user may have it, and with them those that foreign keys are made of; but not those
// that are ENABLE ALWAYS, or ENABLE REPLICA. Foreign keys hold all the same: the statements of a batch have all references in them, the key's first, and what
// other sessions write is looked at by their own triggers, which wait for the key's row.
func (b *builder) silence() []string {
	if !b.silent {
		return nil
	}
	b.plan.Silent = true
	return []string{"SET session_replication_role = replica"}
}

// around has foreign keys looked at when the batch is committed: loosen has made all deferrable that are in the way.
func (g *postgresRekey) around([]move) (before, after []string) {
	if g.silent {
		return nil, nil
	}
	return []string{"SET CONSTRAINTS ALL DEFERRED"}, nil
}

func (g *postgresRekey) column(m move) string { return "c." + g.quote(m.column) }

// update adds 0 to the map's id where it is compared, so that the map is read by its range, and not once for each row of the table.
func (g *postgresRekey) update(source string, m move, from, to, where, more string) []string {
	value, id := g.value(m, to), "m."+from+" + 0"
	if m.path != nil {
		id = "m." + from // found by the document's id
		document := g.jsonb(m)
		value = fmt.Sprintf("jsonb_set(%[1]s, %[2]s, CASE WHEN jsonb_typeof(%[1]s #> %[2]s) = 'string' THEN to_jsonb(CAST(m.%[3]s AS text)) ELSE to_jsonb(m.%[3]s) END)",
			document, g.path(m), to)
		if document != g.column(m) {
			value = fmt.Sprintf("CAST(%s AS json)", value)
		}
	}
	return []string{fmt.Sprintf("UPDATE %s c SET %s = %s%s FROM %s m WHERE %s AND %s",
		g.quoted(m.table), g.quote(m.column), value, more, source, g.equal(m, id), where)}
}

func (g *postgresRekey) value(m move, to string) string {
	if m.text {
		return fmt.Sprintf("CAST(m.%s AS text)", to)
	}
	return "m." + to
}

func (g *postgresRekey) equal(m move, id string) string {
	switch {
	case m.path != nil:
		return fmt.Sprintf("%s = %s%s", g.number(m), id, m.owner)
	case m.text:
		id = fmt.Sprintf("CAST(%s AS text)", id)
		if g.padded(m) {
			id = fmt.Sprintf("CAST(%s AS bpchar)", id) // padded; an index on it is not used for a text
		}
	}
	return fmt.Sprintf("%s = %s%s", g.column(m), id, m.owner)
}

// padded reports whether a column has spaces at the end of its texts.
func (g *postgresRekey) padded(m move) bool {
	declared := g.columnOf(m.table, m.column).Type
	return strings.HasPrefix(declared, "char") && !strings.HasPrefix(declared, "character varying")
}

// jsonb returns a JSON column as jsonb.
func (g *postgresRekey) jsonb(m move) string {
	if g.columnOf(m.table, m.column).Type == "json" {
		return fmt.Sprintf("CAST(%s AS jsonb)", g.column(m))
	}
	return g.column(m)
}

func (g *postgresRekey) path(m move) string {
	var parts []string
	for _, part := range m.path {
		parts = append(parts, g.literal(strings.Trim(part, "[]")))
	}
	return fmt.Sprintf("CAST(ARRAY[%s] AS text[])", strings.Join(parts, ", "))
}

// number has CASE where AND would do, because the order in which the parts of AND are evaluated is not certain.
func (g *postgresRekey) number(m move) string {
	value, condition := g.column(m), ""
	switch {
	case m.path != nil:
		document := g.jsonb(m)
		value = fmt.Sprintf("(%s #>> %s)", document, g.path(m))
		condition = fmt.Sprintf("jsonb_typeof(%s #> %s) IN ('number', 'string') AND ", document, g.path(m))
	case !m.text:
		return value
	case g.padded(m):
		value = fmt.Sprintf("CAST(%s AS text)", value) // without the spaces at its end
	}
	return fmt.Sprintf("CASE WHEN %s%s ~ '%s' THEN CAST(%[2]s AS bigint) END", condition, value, decimal)
}

func (g *postgresRekey) createIndex(t *catalog.Table, m move, name string) (do, undo Action) {
	quoted := g.catalog.Quoted(catalog.Name{Schema: t.Full.Schema, Name: name})
	there := "FROM pg_catalog.pg_index WHERE indexrelid = to_regclass(" + g.literal(quoted) + ")"
	drop := fmt.Sprintf("DROP INDEX CONCURRENTLY IF EXISTS %s", quoted)
	return concurrently(fmt.Sprintf("CREATE INDEX CONCURRENTLY %s ON %s (%s)", g.quote(name), g.catalog.Quoted(t.Name), g.quote(m.column)),
		"SELECT COUNT(*) "+there+" AND indisvalid", drop), concurrently(drop, "SELECT 1 - COUNT(*) "+there)
}

// remark notes what is to be known of rewritten tables.
func (g *postgresRekey) remark() {
	g.note("Rewritten rows are written anew, and the old ones are space to be used again after a VACUUM of the rewritten tables, which autovacuum does in time. " +
		"VACUUM (ANALYZE) them after the run; only VACUUM FULL or pg_repack gives the space back to the system.")
	if g.silent && len(g.quiet) > 0 {
		g.note("For the rows that the plan rewrites these triggers do not fire, for session_replication_role is replica in its own sessions; for all others they go on: " + strings.Join(g.quiet, ", ") + ". " +
			"What they keep of ids in other places has the old ones, unless that is a reference of the plan.")
	}
}

// concern returns the foreign keys that refer to columns which are rewritten.
func (g *postgresRekey) concern(all []rewriting) (keys []*catalog.Reference) {
	moved := g.moved(all)
	for _, f := range g.references {
		if slices.ContainsFunc(f.To, func(column string) bool { return moved[[2]string{f.Parent.String(), column}] }) {
			keys = append(keys, f)
		}
	}
	return keys
}

// moved returns the columns that are rewritten, by their full tables.
func (b *builder) moved(all []rewriting) map[[2]string]bool {
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
func (g *postgresRekey) loosen(ctx context.Context, all []rewriting) error {
	g.remark()
	if g.silent {
		g.enclosed(g.moved(all))
		return nil
	}
	var children []catalog.Name
	by := map[catalog.Name][]*catalog.Reference{}
	for _, f := range g.concern(all) {
		if by[f.On()] == nil {
			children = append(children, f.On())
		}
		by[f.On()] = append(by[f.On()], f)
	}
	slices.SortFunc(children, compareNames)
	for _, child := range children {
		slices.SortFunc(by[child], func(x, y *catalog.Reference) int { return strings.Compare(x.Name, y.Name) })
		if err := g.loosenChild(ctx, child, by[child]); err != nil {
			return err
		}
	}
	return nil
}

// enclosed blocks foreign keys that lead to a column that moves, full table and name, from one that does not: a silent session would not notice.
func (g *postgresRekey) enclosed(moved map[[2]string]bool) {
	for _, f := range g.references {
		for i := range f.To {
			if moved[[2]string{f.Parent.String(), f.To[i]}] && !moved[[2]string{f.Child.String(), f.Columns[i]}] {
				g.block(fmt.Sprintf("%s: its foreign key %s refers to %s.%s, which gets new ids, and %s is not known as a reference to it: inspect again.", f.Child, f.Name, f.Parent, f.To[i], f.Columns[i]))
			}
		}
	}
}

// What a change of foreign keys locks: to alter one, its table alone; to add or drop one, the table that it refers to as well.
var (
	alteringWaits = Lock{ReadsAndWrites, true, "reads and writes of the table wait for a moment"}
	swappingWaits = Lock{ReadsAndWrites, true, "reads and writes of the table, and of those that its foreign keys refer to, wait for a moment"}
)

// The modes of locks that foreign keys take of both tables. To add one is let in beside readers.
const (
	toAdd  = "SHARE ROW EXCLUSIVE"
	toDrop = "ACCESS EXCLUSIVE"
)

// locked puts before statements what takes the locks of several tables at once, in the order of their names, which is that of all steps.
func (b *builder) locked(mode string, tables []catalog.Name, sql []string) []string {
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
func (g *postgresRekey) loosenChild(ctx context.Context, child catalog.Name, keys []*catalog.Reference) error {
	var swaps []swap
	var alone change
	for _, f := range keys {
		if f.OnUpdate != "NO ACTION" {
			s, err := g.replace(ctx, f)
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
		alter := fmt.Sprintf("ALTER TABLE %s ALTER CONSTRAINT %s ", g.catalog.Quoted(child), g.quote(f.Name))
		alone.then([]string{alter + "DEFERRABLE INITIALLY IMMEDIATE"}, []string{alter + "NOT DEFERRABLE"})
	}
	before, after := alone, change{do: alone.undo, undo: alone.do}
	for _, s := range g.exchange(&before, swaps, "stand in for those whose ON UPDATE cannot be deferred", "let the foreign keys of … wait for the end of a transaction", child) {
		g.add(s)
	}
	for i := range swaps {
		swaps[i] = swaps[i].back()
	}
	g.after = append(g.after, g.exchange(&after, swaps, "are as they were", "have the foreign keys of … as they were", child)...)
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
func (g *postgresRekey) exchange(first *change, swaps []swap, why, title string, child catalog.Name) []Step {
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
		first.do, first.undo = g.locked(toDrop, tables, first.do), g.locked(toDrop, tables, first.undo)
		drop.do, drop.undo = g.locked(toDrop, tables, drop.do), g.locked(toAdd, tables, drop.undo)
	}
	table := g.short(child).String()
	steps := first.step(nil, title, table)
	if n := len(steps); len(validate.do) > 0 {
		steps = validate.step(steps, "check the rows of … by the foreign keys that "+why, table)
		steps[n].Lock, steps[n].Algorithm, steps[n].Rows, steps[n].Kept = Lock{}, "", g.rowsIn(table), "it goes with the foreign keys"
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
func (g *postgresRekey) replace(ctx context.Context, f *catalog.Reference) (*swap, error) {
	was, stand, err := definitions(f.Definition)
	if err != nil {
		return nil, fmt.Errorf("plan: the foreign key %s of %s: %w", f.Name, f.On(), err)
	}
	if g.divided(f) {
		g.block(fmt.Sprintf("%s: its foreign key %s has ON UPDATE %s, which is in the way of rewriting, and on a partitioned table it cannot be replaced without a long lock. "+
			"Replace it by one without ON UPDATE first.", f.On(), f.Name, f.OnUpdate))
		return nil, nil
	}
	comment, err := g.comment(ctx, f)
	if err != nil {
		return nil, err
	}
	return &swap{
		in:    constraint{name: g.quote(g.cut("snowkey_foreign_"+f.Name, 1)), definition: stand},
		out:   constraint{name: g.quote(f.Name), definition: was, comment: comment},
		child: g.catalog.Quoted(f.On()), parent: f.Parent, valid: f.Valid,
	}, nil
}

// divided reports whether a foreign key is of what has partitions: a table, or a partition that has some of its own.
func (g *postgresRekey) divided(f *catalog.Reference) bool {
	table := g.tables[g.names[f.Child]]
	return table != nil && table.Related == "partitioned" && !slices.ContainsFunc(g.leaves[table], func(leaf *catalog.Table) bool { return leaf.Full == f.Partition })
}

// comment returns the statement that says of a constraint what is said of it now.
func (b *builder) comment(ctx context.Context, f *catalog.Reference) ([]string, error) {
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

// broken adds nothing: the counts of orphans say it all.
func (*postgresRekey) broken([]rewriting, *counting) {}

// tighten has the foreign keys as they were.
func (g *postgresRekey) tighten() {
	for _, s := range g.after {
		g.add(s)
	}
}
