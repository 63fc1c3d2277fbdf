package plan

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
)

// widen plans for PostgreSQL, where a type change is undone with its transaction, needs views that use the column to be made again,
// and keys that are given do not move a sequence, so that writers of both kinds can be at work together.
func (b *postgresEngine) widen(ctx context.Context) error {
	look, err := b.lookAtPostgres(ctx)
	if err != nil {
		return err
	}
	defer look.end()
	changes := b.ofTable((*column).narrow)
	for _, t := range changes {
		if err := b.widenTable(ctx, look, t); err != nil {
			return err
		}
	}
	if len(changes) > 0 {
		b.noteRewrites()
		b.analyze(changes)
		b.note("Clients with prepared statements may fail once with \"cached plan must not change result type\" after a type change: recycle the pools.")
	}
	keys := b.made()
	if len(keys) == 0 {
		return nil
	}
	sequences := make([]*sequence, len(keys))
	all := make([]watched, len(keys))
	for i, k := range keys {
		if k.column.Always {
			b.given(k)
		}
		if sequences[i], err = b.sequenceOf(ctx, look, k); err != nil {
			return err
		}
		all[i] = b.greatest(k)
		if s := sequences[i]; s != nil && s.alone {
			all[i] = sequenceWatched(k.table, k.full(), s.name)
		}
	}
	b.beforeFlip(heldSince+fmt.Sprintf(" No insert that fills keys is refused. Those that leave keys to the database are, for good, once the run that goes on from here has looked for them for %s.", b.options.Window), all)
	var tables []catalog.Name
	var of, do, undo []string
	var ended, left []Change
	for i, k := range keys {
		ends, begins := b.flip(k, sequences[i])
		does, leaves := b.ended(k, sequences[i])
		ended, left = append(ended, does...), append(left, leaves...)
		of, tables, do, undo = append(of, k.table), append(tables, k.of.Full), append(do, ends...), append(undo, begins...)
	}
	b.add(Step{
		Title: "end the keys that the database makes, of …", Names: []string{listed(all)}, Phase: "flip", Tables: of,
		Lock: waitTogether(len(keys)), Algorithm: "catalog only",
		Do: transactional(b.locked(toDrop, tables, do)...), Undo: ref(transactional(b.locked(toDrop, tables, undo)...)),
		Changes: ended, Left: left,
	})
	b.refusesKeyless()
	return nil
}

// noteRewrites says who waits, and for how long at most, while tables get wide columns.
func (b *postgresEngine) noteRewrites() {
	var longest *Step
	for i := range b.plan.Steps {
		if s := &b.plan.Steps[i]; s.copies() && (longest == nil || s.Bytes > longest.Bytes) {
			longest = s
		}
	}
	b.note(fmt.Sprintf("Inserts, and all other reads and writes of a table, wait while it is written anew with wide columns: of %s, the largest, for %s (%s rows, %s). "+
		"Where that is too long, --mode shadow is the way without: it locks no table for longer than a moment, and gives old rows new ids, too.",
		strings.Join(longest.Tables, ", "), cmp.Or(magnitude(longest.expected()), "a moment"), grouped(longest.Rows), Size(longest.Bytes)))
}

// widenTable changes the types of columns of one table, and makes the views again that are made of them.
func (b *postgresEngine) widenTable(ctx context.Context, look *look, t []*column) error {
	table := t[0].of
	var names, parts, sequences []string
	for _, c := range t {
		names = append(names, c.column.Name)
		parts = append(parts, fmt.Sprintf("ALTER COLUMN %s TYPE bigint", b.quote(c.column.Name)))
		if col := c.column; col.Sequence.Name != "" && col.SequenceBits < 64 && !identity(c) && col.Owned {
			sequences = append(sequences, fmt.Sprintf("ALTER SEQUENCE %s AS bigint", b.catalog.Quoted(col.Sequence)))
		}
	}
	blockers, err := look.blockers(ctx, table.OID, names)
	if err != nil {
		return err
	}
	for _, what := range blockers {
		b.block(fmt.Sprintf("%s uses %s of %s, and PostgreSQL refuses the type change for it: drop it first, and make it again afterwards.", what, strings.Join(names, ", "), t[0].table))
	}
	views, err := look.views(ctx, table.OID, names)
	if err != nil {
		return err
	}
	var sql []string
	for _, v := range slices.Backward(views) {
		if v.blocked != "" {
			b.block(fmt.Sprintf("The %s uses %s of %s: %s", v.what, strings.Join(names, ", "), t[0].table, v.blocked))
		}
		sql = append(sql, "DROP VIEW "+v.name)
	}
	before, after, err := b.attached(ctx, look, table.OID, names)
	if err != nil {
		return err
	}
	sql = append(sql, before...)
	sql = append(sql, fmt.Sprintf("ALTER TABLE %s %s", b.quoted(t[0].table), strings.Join(parts, ", ")))
	sql = append(sql, after...)
	sql = append(sql, sequences...)
	for _, v := range views {
		sql = append(sql, v.make...)
	}
	if tables := b.tiedTo(table.Full, names); len(tables) > 1 {
		sql = b.locked(toDrop, tables, sql)
	}
	b.add(Step{
		Title: widenTitle, Names: []string{strings.Join(names, ", "), t[0].table}, Phase: "expand", Tables: []string{t[0].table},
		Lock: Lock{Waits: readsAndWrites, Text: "reads and writes of the table, and writes of those that foreign keys connect with it, wait for as long as it is written anew"}, Algorithm: "rewrite",
		Rows: table.Rows, Bytes: table.Bytes, Disk: table.Bytes,
		Do: transactional(sql...), Kept: keptWide, Changes: b.widened(t),
	})
	return nil
}

// tiedTo returns a table and those that foreign keys tie to some of its columns, which a change of their type locks as well: the foreign keys are made
// anew. ALTER TABLE alone takes these locks one after the other, and waits for the next for as long as it may; a transaction that writes child and parent, and
// has the one and waits for the other, ends in a deadlock then.
func (b *postgresEngine) tiedTo(table catalog.Name, columns []string) []catalog.Name {
	tables := []catalog.Name{table}
	uses := func(of []string) bool {
		return slices.ContainsFunc(of, func(c string) bool { return slices.Contains(columns, c) })
	}
	for _, r := range b.references {
		if r.Child == table && uses(r.Columns) || r.Parent == table && uses(r.To) {
			tables = append(tables, r.Child, r.Parent)
		}
	}
	slices.SortFunc(tables, compareNames)
	return slices.Compact(tables)
}

// analyze gathers statistics of tables with changed types, of which the server has none any more: without them it sorts all the rest of a table for each page
// that somebody reads of it, so that reading 3 million rows in pages took 92 s.
func (b *postgresEngine) analyze(changes [][]*column) {
	var names, tables []string
	var rows int64
	for _, t := range changes {
		names, tables, rows = append(names, b.quoted(t[0].table)), append(tables, t[0].table), sizeOf(rows, t[0].of.Rows)
	}
	b.add(Step{
		Title: "gather statistics of the tables with changed types", Phase: "expand", Tables: tables, Rows: rows,
		Do: Action{Kind: Transactional, RowsOnly: true, SQL: []string{"ANALYZE " + strings.Join(names, ", ")}}, Kept: "statistics are gathered at any time",
	})
}

// given lets keys be given to a column that makes them always.
func (b *postgresEngine) given(k *column) {
	alter := fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s SET GENERATED ", b.quoted(k.table), b.quote(k.column.Name))
	b.add(Step{
		Title: "let … be given", Names: []string{k.full()}, Phase: "expand", Tables: []string{k.table}, Lock: alteringWaits, Algorithm: "catalog only",
		Do:      transactional(alter + "BY DEFAULT"),
		Undo:    ref(transactional(alter + "ALWAYS")),
		Changes: []Change{{Of: b.of(k.of), What: "identity of column " + k.column.Name, Text: "GENERATED BY DEFAULT"}},
	})
}

// flip returns the statements by which the database makes no keys of a column any more, and those that undo them.
func (b *postgresEngine) flip(k *column, s *sequence) (do, undo []string) {
	table, name := b.quoted(k.table), b.quote(k.column.Name)
	alter := fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s ", table, name)
	drop, back := alter+"DROP DEFAULT", alter+"SET DEFAULT "+k.column.Default
	switch {
	case strings.Contains(k.column.Auto, " of the domain "):
		b.block(fmt.Sprintf("%s has the default of its domain %s: give the column a type or domain without one first.", k.full(), k.column.Type))
		return nil, nil
	case s != nil && identity(k):
		undo = append([]string{fmt.Sprintf("%sADD GENERATED BY DEFAULT AS IDENTITY (SEQUENCE NAME %s %s)", alter, s.name, s.options)}, s.rest...)
		return []string{alter + "DROP IDENTITY"}, append(undo, s.set(table, name, b.options.Below))
	case s != nil && s.alone:
		undo = append([]string{fmt.Sprintf("CREATE SEQUENCE %s AS bigint %s", s.name, s.options)}, s.owner,
			fmt.Sprintf("ALTER SEQUENCE %s OWNED BY %s.%s", s.name, b.catalog.Quoted(k.of.Full), name))
		return []string{drop, "DROP SEQUENCE " + s.name}, append(append(undo, s.rest...), s.set(table, name, b.options.Below), back)
	}
	return []string{drop}, []string{back} // there is no sequence, or others take numbers from it
}

// A type change makes the indexes of a partitioned table anew, and with each of them those of its partitions: under names that PostgreSQL chooses, without what
// was said of them, without being what rows are clustered or published by; and of an index that is not on all partitions yet, on all of them. These
// are the indexes of partitions that are part of another index, each after that one.
const attachedText = `WITH RECURSIVE tree AS (SELECT $1::bigint::oid AS oid UNION SELECT relid FROM pg_catalog.pg_partition_tree($1::bigint::regclass)),
	cols AS (SELECT a.attrelid, a.attnum FROM pg_catalog.pg_attribute a JOIN tree ON a.attrelid = tree.oid WHERE a.attname = ANY (pg_catalog.string_to_array($2, chr(1)))),
	top AS (SELECT x.indexrelid AS oid, x.indisvalid AND NOT EXISTS (SELECT FROM pg_catalog.pg_partition_tree(x.indexrelid) t JOIN pg_catalog.pg_index n ON n.indexrelid = t.relid WHERE NOT n.indisvalid) AS whole
		FROM pg_catalog.pg_index x JOIN tree ON tree.oid = x.indrelid JOIN pg_catalog.pg_class c ON c.oid = x.indexrelid
		WHERE c.relkind = 'I' AND NOT c.relispartition AND EXISTS (SELECT FROM cols WHERE cols.attrelid = x.indrelid AND (cols.attnum = ANY (x.indkey::int2[])
			OR EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = x.indexrelid
				AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = cols.attrelid AND d.refobjsubid = cols.attnum))))
	SELECT top.oid::regclass::text, top.whole::text, node.relid::regclass::text, coalesce(node.parentrelid::regclass::text, ''), i.indrelid::regclass::text, c.relname, pg_catalog.pg_get_indexdef(node.relid),
		coalesce(f.conname, ''), coalesce(pg_catalog.obj_description(c.oid, 'pg_class'), ''), coalesce(pg_catalog.obj_description(f.oid, 'pg_constraint'), ''),
		i.indisclustered::text, i.indisreplident::text, coalesce(array_to_string(c.reloptions, ', '), ''), coalesce(s.spcname, ''), node.level::text
	FROM top JOIN LATERAL pg_catalog.pg_partition_tree(top.oid) node ON true JOIN pg_catalog.pg_index i ON i.indexrelid = node.relid JOIN pg_catalog.pg_class c ON c.oid = node.relid
	LEFT JOIN pg_catalog.pg_constraint f ON f.conindid = c.oid AND f.conrelid = i.indrelid AND f.contype IN ('p', 'u', 'x') LEFT JOIN pg_catalog.pg_tablespace s ON s.oid = c.reltablespace
	ORDER BY top.oid, node.level, 3`

// attached returns the statements that are run before and after a type change of a partitioned table, so that the indexes of its partitions are what they were.
func (b *postgresEngine) attached(ctx context.Context, l *look, table uint32, columns []string) (before, after []string, err error) {
	rows, err := l.texts(ctx, attachedText, int64(table), strings.Join(columns, "\x01"))
	if err != nil {
		return nil, nil, err
	}
	var named, rest []string
	for _, row := range rows {
		top, whole, node, parent, of, name := row[0], row[1] == "true", row[2], row[3], row[4], row[5]
		definition, constraint, comment, constraintComment, clustered, replica, options, space := row[6], row[7], row[8], row[9], row[10], row[11], row[12], row[13]
		root := row[14] == "0"
		switch {
		case !whole && root && constraint != "":
			b.block(fmt.Sprintf("The constraint %s of %s is not on all partitions, and PostgreSQL would make it on all in a type change: attach what is missing, or drop it first.", constraint, of))
		case !whole && root:
			before, after = append(before, "DROP INDEX "+node), append(after, definition)
		case !whole:
			after = append(after, definition, fmt.Sprintf("ALTER INDEX %s ATTACH PARTITION %s", parent, node))
		case !root:
			named = append(named, fmt.Sprintf("(%s, %s, %s)", b.literal(top), b.literal(of), b.literal(name)))
		}
		if whole && root {
			continue // PostgreSQL keeps what is said of it
		}
		say := func(statement string, args ...any) { rest = append(rest, fmt.Sprintf(statement, args...)) }
		if comment != "" {
			say("COMMENT ON INDEX %s IS %s", node, b.literal(comment))
		}
		if constraintComment != "" {
			say("COMMENT ON CONSTRAINT %s ON %s IS %s", b.quote(constraint), of, b.literal(constraintComment))
		}
		if clustered == "true" {
			say("ALTER TABLE %s CLUSTER ON %s", of, b.quote(name))
		}
		if replica == "true" {
			say("ALTER TABLE %s REPLICA IDENTITY USING INDEX %s", of, b.quote(name))
		}
		if options != "" && whole {
			say("ALTER INDEX %s SET (%s)", node, options)
		}
		if space != "" {
			say("ALTER INDEX %s SET TABLESPACE %s", node, b.quote(space))
		}
	}
	if len(named) > 0 {
		after = append(after, fmt.Sprintf(renameText, strings.Join(named, ", ")))
	}
	return before, append(after, rest...), nil
}

// renameText gives the indexes of partitions their names: by way of names that nothing has, for the name of one may be what another was given.
const renameText = `DO $snowkey$
DECLARE i record;
BEGIN
	FOR pass IN 1..2 LOOP
		FOR i IN SELECT x.indexrelid AS oid, w.name, c.relname FROM (VALUES %s) AS w (top, part, name)
			JOIN LATERAL pg_catalog.pg_partition_tree(w.top::regclass) t ON true JOIN pg_catalog.pg_index x ON x.indexrelid = t.relid AND x.indrelid = w.part::regclass
			JOIN pg_catalog.pg_class c ON c.oid = x.indexrelid WHERE c.relname <> w.name
		LOOP
			EXECUTE pg_catalog.format('ALTER INDEX %%s RENAME TO %%I', i.oid::regclass, CASE pass WHEN 1 THEN 'snowkey_index_' || i.oid ELSE i.name END);
		END LOOP;
	END LOOP;
END $snowkey$`
