package catalog

import (
	"context"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/table"
)

// The names of PostgreSQL's schemas are no names of databases.
func (s postgresSource) current(ctx context.Context) (home, hidden string, err error) {
	found, err := s.Texts(ctx, "SELECT current_schema()")
	return strings.Join(found, ""), "", err
}

func (postgresSource) stable(definition, _ string) string { return definition }

// described reads the users of tables alone. The definitions of tables are one query's, in otherDefinitions.
func (s postgresSource) described(ctx context.Context, names []Name) ([]*Table, error) {
	tables, err := s.Named(ctx, names)
	if err != nil {
		return nil, err
	}
	return tables, s.readUsers(ctx, whole(tables))
}

// define leaves all to otherDefinitions, and takes out the users that are among them.
func (postgresSource) define(t *Table) []Definition {
	t.Users = slices.DeleteFunc(slices.Clone(t.Users), func(u User) bool {
		return u.Kind == "partition" || u.Kind == "replica identity" || u.Kind == "generated column"
	})
	if t.View != "" {
		return []Definition{{t.Full.String(), "table", t.View}}
	}
	return nil
}

// definitionsQuery has a part for each kind of definition of tables and of their partitions: whose it is, what, and its text; NULL and the empty text for none.
// Rights are in the order of their texts: they change places when they are granted anew. Those that views and sequences have without any GRANT are none: a REVOKE writes them down.
const definitionsQuery = "WITH " + postgresTree + `,
	r AS (SELECT tree.root, c.*, format('%I.%I', n.nspname, c.relname) AS full, n.nspname FROM tree JOIN pg_catalog.pg_class c ON c.oid = tree.oid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace),
	a AS (SELECT r.root, r.nspname, r.relname, r.full, a.*, y.typdefault FROM r JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid JOIN pg_catalog.pg_type y ON y.oid = a.atttypid WHERE a.attnum > 0 AND NOT a.attisdropped),
	q AS (SELECT r.root, r.nspname, r.relname, a.attname, d.deptype, k.relname AS sequence, k.relacl, k.relowner, k.oid AS seqoid, q.* FROM r JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = r.oid
		AND d.classid = 'pg_catalog.pg_class'::regclass AND d.deptype IN ('a', 'i') JOIN pg_catalog.pg_sequence q ON q.seqrelid = d.objid JOIN pg_catalog.pg_class k ON k.oid = q.seqrelid
		JOIN pg_catalog.pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid),
	i AS (SELECT r.root, r.nspname, r.relname, k.relname AS name, k.reloptions, k.reltablespace, x.* FROM r JOIN pg_catalog.pg_index x ON x.indrelid = r.oid JOIN pg_catalog.pg_class k ON k.oid = x.indexrelid),
	f AS (SELECT r.root, r.nspname, r.relname, f.* FROM r JOIN pg_catalog.pg_constraint f ON f.conrelid = r.oid WHERE f.contype <> 't' AND (f.contype <> 'f' OR f.conparentid = 0)),
	g AS (SELECT r.root, r.nspname, r.relname, p.prosrc, g.* FROM r JOIN pg_catalog.pg_trigger g ON g.tgrelid = r.oid AND NOT g.tgisinternal JOIN pg_catalog.pg_proc p ON p.oid = g.tgfoid)
	SELECT root::bigint, nspname, relname, what, text FROM (
	SELECT root, nspname, relname, 'table' AS what, concat_ws(' ', relkind::text, relpersistence::text, reloptions::text, (SELECT amname FROM pg_catalog.pg_am WHERE oid = r.relam), (SELECT spcname FROM pg_catalog.pg_tablespace WHERE oid = r.reltablespace),
			CASE WHEN relkind = 'p' THEN 'partitioned by ' || pg_catalog.pg_get_partkeydef(oid) END, CASE WHEN reloftype <> 0 THEN 'of ' || reloftype::regtype END,
			(SELECT CASE WHEN r.relispartition THEN 'partition of ' ELSE 'inherits ' END || string_agg(h.inhparent::regclass::text, ', ' ORDER BY h.inhseqno) FROM pg_catalog.pg_inherits h WHERE h.inhrelid = r.oid), pg_catalog.pg_get_expr(relpartbound, oid)) AS text FROM r
	UNION ALL SELECT root, nspname, relname, 'children', (SELECT string_agg(h.inhrelid::regclass::text, ', ' ORDER BY h.inhrelid::regclass::text) FROM pg_catalog.pg_inherits h WHERE h.inhparent = r.oid) FROM r WHERE relkind = 'r'
	UNION ALL SELECT root, nspname, relname, 'owner', pg_catalog.pg_get_userbyid(relowner) FROM r
	UNION ALL SELECT root, nspname, relname, 'rights', (SELECT string_agg(x::text, ', ' ORDER BY x::text) FROM unnest(relacl) x) FROM r
	UNION ALL SELECT root, nspname, relname, 'row security', CASE WHEN relforcerowsecurity THEN 'forced ' ELSE '' END || CASE WHEN relrowsecurity THEN 'enabled' ELSE '' END FROM r
	UNION ALL SELECT root, nspname, relname, 'comment', pg_catalog.obj_description(oid, 'pg_class') FROM r
	UNION ALL SELECT root, nspname, relname, 'replica identity', CASE relreplident WHEN 'f' THEN 'FULL' WHEN 'n' THEN 'NOTHING' WHEN 'i' THEN 'USING INDEX ' || coalesce((SELECT i.name FROM i WHERE i.indrelid = r.oid AND i.indisreplident LIMIT 1), 'that is gone') END FROM r
	UNION ALL SELECT root, nspname, relname, 'columns', string_agg(attname, ', ' ORDER BY attnum) FROM a GROUP BY 1, 2, 3
	UNION ALL SELECT root, nspname, relname, 'type of column ' || attname, pg_catalog.format_type(atttypid, atttypmod) FROM a
	UNION ALL SELECT root, nspname, relname, 'default of column ' || attname, coalesce(CASE WHEN attgenerated <> '' THEN 'generated ' END || pg_catalog.pg_get_expr(d.adbin, d.adrelid), pg_catalog.pg_get_expr(d.adbin, d.adrelid), 'of the type: ' || a.typdefault)
		FROM a LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
	UNION ALL SELECT root, nspname, relname, 'identity of column ' || attname, CASE attidentity WHEN 'a' THEN 'GENERATED ALWAYS' WHEN 'd' THEN 'GENERATED BY DEFAULT' END FROM a
	UNION ALL SELECT root, nspname, relname, 'column ' || attname, concat_ws(' ', CASE WHEN attnotnull THEN 'NOT NULL' ELSE 'NULL' END, (SELECT quote_ident(l.collname) FROM pg_catalog.pg_collation l WHERE l.oid = attcollation),
			attstorage::text, CASE WHEN attstattarget >= 0 THEN 'statistics ' || attstattarget END, attoptions::text, CASE WHEN NOT attislocal THEN 'not its own' END) FROM a
	UNION ALL SELECT root, nspname, relname, 'rights on column ' || attname, (SELECT string_agg(x::text, ', ' ORDER BY x::text) FROM unnest(attacl) x) FROM a
	UNION ALL SELECT root, nspname, relname, 'comment of column ' || attname, pg_catalog.col_description(attrelid, attnum) FROM a
	UNION ALL SELECT root, nspname, relname, 'sequence of column ' || attname, concat_ws(' ', sequence, 'from', seqstart, 'by', seqincrement, 'least', seqmin, 'cache', seqcache, CASE WHEN seqcycle THEN 'cycle' END,
			'owner', pg_catalog.pg_get_userbyid(relowner), (SELECT string_agg(x::text, ', ' ORDER BY x::text) FROM unnest(NULLIF(relacl, acldefault('s', relowner))) x), pg_catalog.obj_description(seqoid, 'pg_class')) FROM q
	UNION ALL SELECT root, nspname, relname, 'type of the sequence of column ' || attname, seqtypid::regtype || CASE WHEN seqmax <> CASE seqtypid WHEN 'smallint'::regtype THEN 32767 WHEN 'integer'::regtype THEN 2147483647 ELSE 9223372036854775807 END THEN ' up to ' || seqmax ELSE '' END FROM q
	UNION ALL SELECT root, nspname, relname, 'index ' || name, concat_ws(' ', pg_catalog.pg_get_indexdef(indexrelid), CASE WHEN NOT indisvalid THEN 'not valid' END, CASE WHEN indisclustered THEN 'clustered' END, (SELECT spcname FROM pg_catalog.pg_tablespace WHERE oid = i.reltablespace),
			(SELECT 'part of ' || h.inhparent::regclass FROM pg_catalog.pg_inherits h WHERE h.inhrelid = i.indexrelid)) FROM i
	UNION ALL SELECT root, nspname, relname, 'comment of index ' || name, pg_catalog.obj_description(indexrelid, 'pg_class') FROM i
	UNION ALL SELECT root, nspname, relname, 'constraint ' || conname, concat_ws(' ', pg_catalog.pg_get_constraintdef(oid), CASE WHEN NOT conislocal THEN 'not its own' END) FROM f
	UNION ALL SELECT root, nspname, relname, 'comment of constraint ' || conname, pg_catalog.obj_description(oid, 'pg_constraint') FROM f
	UNION ALL SELECT root, nspname, relname, 'trigger ' || tgname, concat_ws(' ', pg_catalog.pg_get_triggerdef(oid), CASE tgenabled WHEN 'D' THEN 'disabled' WHEN 'R' THEN 'on replicas' WHEN 'A' THEN 'always' END) FROM g
	UNION ALL SELECT root, nspname, relname, 'body of trigger ' || tgname, prosrc FROM g
	) all_of WHERE text <> ''`

// otherDefinitions reads the definitions of tables and partitions, and what CREATE VIEW has not of their views.
func (s postgresSource) otherDefinitions(ctx context.Context, tables []*Table) (map[*Table][]Definition, error) {
	found := map[*Table][]Definition{}
	var name Name
	var d Definition
	into := []any{&name.Schema, &name.Name, &d.What, &d.Text}
	add := func(t *Table) error {
		d.Of = name.String()
		found[t] = append(found[t], d)
		return nil
	}
	whole := slices.DeleteFunc(slices.Clone(tables), func(t *Table) bool { return t.View != "" })
	if len(whole) == 0 {
		return found, ctx.Err()
	}
	if err := s.eachIn(ctx, whole, definitionsQuery, nil, into, add); err != nil {
		return nil, err
	}
	var of []uint32 // views, each of the first of its tables
	var views []string
	for _, t := range whole {
		for _, u := range t.Users {
			if name := u.Name.String(); strings.HasSuffix(u.Kind, "view") && !slices.Contains(views, name) {
				of, views = append(of, t.OID), append(views, name)
			}
		}
	}
	if len(views) == 0 {
		return found, nil
	}
	err := s.EachRow(ctx, whole, `WITH v AS (SELECT asked.root, n.nspname, c.* FROM unnest($1::text::oid[], string_to_array($2::text, chr(1))) AS asked (root, name)
			JOIN pg_catalog.pg_class c ON c.oid = to_regclass(asked.name) JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace)
		SELECT root::bigint, nspname, relname, what, text FROM (
		SELECT root, nspname, relname, 'owner' AS what, pg_catalog.pg_get_userbyid(relowner)::text AS text FROM v
		UNION ALL SELECT root, nspname, relname, 'rights', (SELECT string_agg(x::text, ', ' ORDER BY x::text) FROM unnest(NULLIF(relacl, acldefault('r', relowner))) x) FROM v
		UNION ALL SELECT root, nspname, relname, 'comment', pg_catalog.obj_description(oid, 'pg_class') FROM v
		UNION ALL SELECT root, nspname, relname, 'column ' || a.attname, concat_ws(' ', pg_catalog.pg_get_expr(d.adbin, d.adrelid), a.attacl::text, pg_catalog.col_description(v.oid, a.attnum))
			FROM v JOIN pg_catalog.pg_attribute a ON a.attrelid = v.oid AND a.attnum > 0 LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = v.oid AND d.adnum = a.attnum
		UNION ALL SELECT root, nspname, relname, 'trigger ' || t.tgname, concat_ws(' ', pg_catalog.pg_get_triggerdef(t.oid), t.tgenabled::text) FROM v JOIN pg_catalog.pg_trigger t ON t.tgrelid = v.oid AND NOT t.tgisinternal
		UNION ALL SELECT root, nspname, relname, 'rule ' || r.rulename, pg_catalog.pg_get_ruledef(r.oid) FROM v JOIN pg_catalog.pg_rewrite r ON r.ev_class = v.oid AND r.rulename <> '_RETURN'
		) all_of WHERE text <> ''`, []any{table.Array(of), strings.Join(views, "\x01")}, into, add)
	return found, err
}
