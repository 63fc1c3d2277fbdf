package plan

import (
	"context"
	"fmt"
	"strings"
)

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
func (b *builder) attached(ctx context.Context, l *look, table uint32, columns []string) (before, after []string, err error) {
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
