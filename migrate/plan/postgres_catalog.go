package plan

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// look reads what a type change on PostgreSQL has to know beyond a catalog, in a transaction that cannot write, and in which all names are
// written with their schemas, so that statements mean the same whatever the search path is when they are run.
type look struct{ tx *sql.Tx }

func (b *postgresEngine) lookAtPostgres(ctx context.Context) (*look, error) {
	tx, err := b.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	l := &look{tx}
	if _, err := tx.ExecContext(ctx, "SET LOCAL search_path = ''"); err != nil {
		l.end()
		return nil, fmt.Errorf("plan: %w", err)
	}
	return l, nil
}

// end ends the transaction, of which nothing has to stay.
func (l *look) end() { _ = l.tx.Rollback() }

// texts returns the columns of rows, which are all texts.
func (l *look) texts(ctx context.Context, query string, args ...any) (found [][]string, err error) {
	err = dialect.Each(ctx, l.tx, query, args, func(rows *sql.Rows) error {
		columns, err := rows.Columns()
		if err != nil {
			return err
		}
		row, into := make([]string, len(columns)), make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		found = append(found, row)
		return rows.Scan(into...)
	})
	if err != nil {
		return nil, fmt.Errorf("plan: what depends on a column: %w", err)
	}
	return found, nil
}

// columnsText begins queries about columns $2, with \x01 between them, of the table $1 and its partitions.
const columnsText = `WITH RECURSIVE tree AS (SELECT $1::bigint::oid AS oid UNION SELECT relid FROM pg_catalog.pg_partition_tree($1::bigint::regclass)),
	cols AS (SELECT a.attrelid, a.attnum FROM pg_catalog.pg_attribute a JOIN tree ON a.attrelid = tree.oid WHERE a.attname = ANY (pg_catalog.string_to_array($2, chr(1)))),
	uses AS (SELECT d.classid, d.objid, d.objsubid, cols.attnum FROM pg_catalog.pg_depend d JOIN cols
		ON d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = cols.attrelid AND d.refobjsubid = cols.attnum)`

// blockers returns what PostgreSQL refuses a type change for, as it calls it, beside views.
func (l *look) blockers(ctx context.Context, table uint32, columns []string) (found []string, err error) {
	rows, err := l.texts(ctx, columnsText+`
		SELECT DISTINCT pg_catalog.pg_describe_object(u.classid, u.objid, u.objsubid) FROM uses u
		LEFT JOIN pg_catalog.pg_attrdef f ON u.classid = 'pg_catalog.pg_attrdef'::regclass AND f.oid = u.objid
		LEFT JOIN pg_catalog.pg_trigger g ON u.classid = 'pg_catalog.pg_trigger'::regclass AND g.oid = u.objid
		LEFT JOIN pg_catalog.pg_rewrite r ON u.classid = 'pg_catalog.pg_rewrite'::regclass AND r.oid = u.objid
		LEFT JOIN pg_catalog.pg_class v ON v.oid = r.ev_class
		WHERE u.classid IN ('pg_catalog.pg_policy'::regclass, 'pg_catalog.pg_proc'::regclass, 'pg_catalog.pg_publication_rel'::regclass)
			OR f.adnum <> u.attnum OR NOT g.tgisinternal OR v.relkind NOT IN ('v', 'm')
		UNION SELECT 'the partition key of ' || p.partrelid::regclass FROM pg_catalog.pg_partitioned_table p JOIN cols c ON c.attrelid = p.partrelid AND c.attnum = ANY (p.partattrs::int2[])
		UNION SELECT 'the column ' || a.attname || ' of ' || a.attrelid::regclass FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type y ON y.oid = a.atttypid
			LEFT JOIN pg_catalog.pg_type e ON e.oid = y.typelem JOIN tree ON tree.oid IN (y.typrelid, e.typrelid) JOIN pg_catalog.pg_class k ON k.oid = a.attrelid
			WHERE NOT a.attisdropped AND k.relkind IN ('r', 'p', 'm', 'f')
		ORDER BY 1`, int64(table), strings.Join(columns, "\x01"))
	for _, row := range rows {
		found = append(found, row[0])
	}
	return found, err
}

// view is a view that has to be dropped for a type change.
type view struct {
	name    string   // quoted, with its schema
	what    string   // for sentences
	make    []string // the statements that make it again
	blocked string   // why it cannot be made again
}

// viewsText finds the views that are made of the columns, and those that are made of these, in an order in which they can be made.
const viewsText = columnsText + `,
	deep AS (SELECT r.ev_class AS oid, 1 AS depth FROM uses u JOIN pg_catalog.pg_rewrite r ON u.classid = 'pg_catalog.pg_rewrite'::regclass AND r.oid = u.objid
			JOIN pg_catalog.pg_class v ON v.oid = r.ev_class AND v.relkind IN ('v', 'm')
		UNION SELECT r.ev_class, deep.depth + 1 FROM deep JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = deep.oid
			JOIN pg_catalog.pg_rewrite r ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND r.oid = d.objid AND r.ev_class <> deep.oid AND deep.depth < 100),
	found AS (SELECT oid, max(depth) AS depth FROM deep GROUP BY oid)
	SELECT c.oid::bigint::text, format('%I.%I', n.nspname, c.relname), pg_catalog.pg_describe_object('pg_catalog.pg_class'::regclass, c.oid, 0),
		format('CREATE VIEW %I.%I%s AS', n.nspname, c.relname, ' WITH (' || array_to_string(c.reloptions, ', ') || ')') || E'\n' || rtrim(pg_catalog.pg_get_viewdef(c.oid), ';'),
		CASE WHEN c.relkind = 'm' THEN 'a materialized view would have to be computed anew: drop it first, and make it again afterwards.'
			WHEN EXISTS (SELECT FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attacl IS NOT NULL) THEN 'rights were granted on columns of it: drop it first, and make it again afterwards.'
			WHEN EXISTS (SELECT FROM aclexplode(c.relacl) g WHERE g.grantor <> c.relowner) THEN 'rights on it were granted by somebody else than its owner: drop it first, and make it again afterwards.'
			WHEN EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.refobjid IN (c.oid, c.reltype, (SELECT typarray FROM pg_catalog.pg_type WHERE oid = c.reltype))
				AND d.deptype = 'n' AND d.classid <> 'pg_catalog.pg_rewrite'::regclass) THEN 'something else than views is made of it: drop it first, and make it again afterwards.'
			WHEN EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e') THEN 'it belongs to an extension: drop that first.'
			WHEN EXISTS (SELECT FROM pg_catalog.pg_seclabel l WHERE l.objoid = c.oid) THEN 'it has a security label: drop it first, and make it again afterwards.'
			ELSE '' END
	FROM found JOIN pg_catalog.pg_class c ON c.oid = found.oid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace ORDER BY found.depth, c.oid`

// restText finds the statements that give a view $1 all that CREATE VIEW has not.
const restText = `WITH v AS (SELECT c.oid, c.relowner, c.relacl, format('%I.%I', n.nspname, c.relname) AS name, '' AS kind
		FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = $1::bigint::oid)
	SELECT text FROM (
	SELECT 0 AS part, 0 AS n, ` + revokeText + ` AS text FROM v WHERE EXISTS (SELECT FROM pg_catalog.pg_default_acl WHERE defaclobjtype = 'r')
	UNION ALL SELECT 1, 0, format('ALTER VIEW %s OWNER TO %I', name, pg_catalog.pg_get_userbyid(relowner)) FROM v
	UNION ALL SELECT 2, 0, format('REVOKE ALL ON %s FROM %I', name, pg_catalog.pg_get_userbyid(relowner)) FROM v WHERE relacl IS NOT NULL
	UNION ALL SELECT 3, row_number() OVER (), ` + grantText + ` FROM v, aclexplode(v.relacl) g
	UNION ALL SELECT 4, 0, format('COMMENT ON VIEW %s IS %L', name, pg_catalog.obj_description(oid, 'pg_class')) FROM v WHERE pg_catalog.obj_description(oid, 'pg_class') IS NOT NULL
	UNION ALL SELECT 5, a.attnum, format('COMMENT ON COLUMN %s.%I IS %L', name, a.attname, pg_catalog.col_description(v.oid, a.attnum)) FROM v JOIN pg_catalog.pg_attribute a ON a.attrelid = v.oid
		WHERE a.attnum > 0 AND pg_catalog.col_description(v.oid, a.attnum) IS NOT NULL
	UNION ALL SELECT 6, a.attnum, format('ALTER VIEW %s ALTER COLUMN %I SET DEFAULT %s', name, a.attname, pg_catalog.pg_get_expr(d.adbin, d.adrelid)) FROM v
		JOIN pg_catalog.pg_attrdef d ON d.adrelid = v.oid JOIN pg_catalog.pg_attribute a ON a.attrelid = v.oid AND a.attnum = d.adnum
	UNION ALL SELECT 7, row_number() OVER (ORDER BY r.rulename), rtrim(pg_catalog.pg_get_ruledef(r.oid), ';') FROM v JOIN pg_catalog.pg_rewrite r ON r.ev_class = v.oid AND r.rulename <> '_RETURN'
	UNION ALL SELECT 8, row_number() OVER (ORDER BY t.tgname), pg_catalog.pg_get_triggerdef(t.oid) FROM v JOIN pg_catalog.pg_trigger t ON t.tgrelid = v.oid AND NOT t.tgisinternal
	) s ORDER BY part, n`

// revokeText makes a statement that takes the rights away that default privileges have given on v, which was made a moment ago.
const revokeText = `format('DO $snowkey$ DECLARE who text; BEGIN FOR who IN SELECT DISTINCT CASE g.grantee WHEN 0 THEN ''PUBLIC'' ELSE quote_ident(pg_catalog.pg_get_userbyid(g.grantee)) END
		FROM pg_catalog.pg_class c, aclexplode(c.relacl) g WHERE c.oid = %L::regclass AND g.grantee <> c.relowner
		LOOP EXECUTE concat(''REVOKE ALL ON '', %L, '' FROM '', who); END LOOP; END $snowkey$', v.name, v.kind || v.name)`

// grantText makes a statement of a right g on v.
const grantText = `format('GRANT %s ON %s%s TO %s', g.privilege_type, v.kind, v.name, CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_catalog.pg_get_userbyid(g.grantee)) END)
		|| CASE WHEN g.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END`

// views returns the views to drop for a type change, in the order in which they can be made again.
func (l *look) views(ctx context.Context, table uint32, columns []string) (found []view, err error) {
	rows, err := l.texts(ctx, viewsText, int64(table), strings.Join(columns, "\x01"))
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		v := view{name: row[1], what: row[2], make: []string{row[3]}, blocked: row[4]}
		rest, err := l.texts(ctx, restText, row[0])
		if err != nil {
			return nil, err
		}
		for _, statement := range rest {
			v.make = append(v.make, statement[0])
		}
		found = append(found, v)
	}
	return found, nil
}

// sequence is what makes a key's numbers.
type sequence struct {
	name    string // quoted, with its schema
	options string // as CREATE SEQUENCE takes them
	owner   string // the statement that gives it to its owner
	rest    []string
	alone   bool // nothing else is known to take numbers from it, and it goes with the column
	start   int64
	step    int64
	next    int64 // when the plan was made
}

// sequenceText reads the sequence $1, of the column $3 of the table $2.
const sequenceText = `WITH tree AS (SELECT $2::bigint::oid AS oid UNION SELECT relid FROM pg_catalog.pg_partition_tree($2::bigint::regclass)),
	v AS (SELECT c.oid, c.relowner, c.relacl, format('%I.%I', n.nspname, c.relname) AS name, 'SEQUENCE ' AS kind
		FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = $1::regclass)
	SELECT v.name, q.seqtypid::regtype::text, q.seqstart, q.seqincrement, q.seqmin, q.seqmax, q.seqcache, q.seqcycle, coalesce(pg_catalog.pg_sequence_last_value(v.oid), q.seqstart - q.seqincrement),
		format('ALTER SEQUENCE %s OWNER TO %I', v.name, pg_catalog.pg_get_userbyid(v.relowner)),
		NOT EXISTS (SELECT FROM pg_catalog.pg_depend d LEFT JOIN pg_catalog.pg_attrdef f ON d.classid = 'pg_catalog.pg_attrdef'::regclass AND f.oid = d.objid
			LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = f.adrelid AND a.attnum = f.adnum
			WHERE d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = v.oid AND (f.oid IS NULL OR f.adrelid NOT IN (SELECT oid FROM tree) OR a.attname <> $3)),
		coalesce((SELECT string_agg(text, chr(1)) FROM (
			SELECT ` + revokeText + ` AS text WHERE EXISTS (SELECT FROM pg_catalog.pg_default_acl WHERE defaclobjtype = 'S')
			UNION ALL SELECT format('REVOKE ALL ON SEQUENCE %s FROM %I', v.name, pg_catalog.pg_get_userbyid(v.relowner)) WHERE v.relacl IS NOT NULL
			UNION ALL SELECT ` + grantText + ` FROM aclexplode(v.relacl) g
			UNION ALL SELECT format('COMMENT ON SEQUENCE %s IS %L', v.name, pg_catalog.obj_description(v.oid, 'pg_class')) WHERE pg_catalog.obj_description(v.oid, 'pg_class') IS NOT NULL) s), ''),
		coalesce((SELECT string_agg(o.objid::regclass::text, ', ') FROM pg_catalog.pg_depend i JOIN pg_catalog.pg_depend o USING (classid, refclassid, refobjid, refobjsubid) JOIN pg_catalog.pg_sequence ON seqrelid = o.objid
			WHERE i.classid = 'pg_catalog.pg_class'::regclass AND i.objid = v.oid AND i.deptype = 'i' AND o.deptype = 'a'), '')
	FROM v JOIN pg_catalog.pg_sequence q ON q.seqrelid = v.oid`

// sequenceOf reads the sequence of a key, nil when it has none.
func (b *postgresEngine) sequenceOf(ctx context.Context, l *look, k *column) (*sequence, error) {
	if k.column.Sequence == (catalog.Name{}) {
		return nil, nil
	}
	var s sequence
	var typ, rest, unused string
	var least, most, cache, last int64
	var cycle bool
	err := l.tx.QueryRowContext(ctx, sequenceText, b.catalog.Quoted(k.column.Sequence), int64(k.of.OID), k.column.Name).Scan(
		&s.name, &typ, &s.start, &s.step, &least, &most, &cache, &cycle, &last, &s.owner, &s.alone, &rest, &unused)
	if err != nil {
		return nil, fmt.Errorf("plan: the sequence %s of %s: %w", k.column.Sequence, k.full(), err)
	}
	if unused != "" {
		b.block(fmt.Sprintf("%s takes its numbers from its identity, and the sequence %s belongs to it, too: DROP SEQUENCE %[2]s first.", k.full(), unused))
	}
	if s.step < 1 {
		b.block(fmt.Sprintf("the sequence %s of %s counts down: the plan could not undo its end. Give %s a sequence that counts up first.", s.name, k.full(), k.full()))
		s.step = 1
	}
	if map[string]int64{"smallint": math.MaxInt16, "integer": math.MaxInt32}[typ] == most {
		most = math.MaxInt64 // as it gets together with the type
	}
	s.options = fmt.Sprintf("INCREMENT BY %d MINVALUE %d MAXVALUE %d START WITH %d CACHE %d", s.step, least, most, s.start, cache)
	if cycle {
		s.options += " CYCLE"
	}
	if rest != "" {
		s.rest = strings.Split(rest, "\x01")
	}
	s.next, s.alone = last+s.step, s.alone && k.column.Owned
	return &s, nil
}

// set returns the statement by which a sequence that was made again goes on: not with a number that it gave before the plan was made, nor
// with one of an old row, and in its own steps, for databases that are to be merged number their rows in turns.
func (s *sequence) set(table, column string, below int64) string {
	return fmt.Sprintf("SELECT pg_catalog.setval('%s'::regclass, %d + ((GREATEST(COALESCE((SELECT MAX(%s) FROM %s WHERE %[3]s < %[5]d) + %d, %[2]d), %[7]d) - %[2]d + %[6]d - 1) / %[6]d) * %[6]d, false)",
		strings.ReplaceAll(s.name, "'", "''"), s.start, column, table, below, s.step, s.next)
}
