package catalog

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/sqltoken"
	"github.com/snowkey-go/snowkey/internal/table"
)

// addUsers adds the rows of a query: the number of a table, a kind, a schema, a name, an array of columns in JSON, a definition.
func (s postgresSource) addUsers(ctx context.Context, tables []*Table, query string, args ...any) error {
	var read User
	var columns string
	return s.eachIn(ctx, tables, query, args, []any{&read.Kind, &read.Name.Schema, &read.Name.Name, &columns, &read.Definition}, func(t *Table) error {
		u := read
		err := json.Unmarshal([]byte(columns), &u.Columns)
		t.Users = append(t.Users, u)
		return err
	})
}

// mostDeep is how deep views of views are followed, and rules, which may be in a circle.
const mostDeep = 40

// readViews finds views, views that are made of these, and rules of other tables; what is made of another comes after it.
func (s postgresSource) readViews(ctx context.Context, tables []*Table) error {
	depths := map[[2]uint32]int{} // of a view, below a root
	level := map[uint32][]uint32{}
	var oid uint32
	err := s.eachIn(ctx, tables, "WITH "+postgresTree+" SELECT root::bigint, oid::bigint FROM tree", nil, []any{&oid}, func(t *Table) error {
		level[oid] = append(level[oid], t.OID)
		return nil
	})
	if err != nil {
		return err
	}
	for depth := 1; depth <= mostDeep && len(level) > 0; depth++ {
		below := map[uint32][]uint32{}
		var of, view uint32
		err := s.Each(ctx, `SELECT DISTINCT d.refobjid::bigint, r.ev_class::bigint FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_rewrite r ON r.oid = d.objid
				JOIN pg_catalog.pg_class v ON v.oid = r.ev_class AND v.relkind IN ('v', 'm')
			WHERE d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = ANY ($1::text::oid[]) AND d.classid = 'pg_catalog.pg_rewrite'::regclass AND r.ev_class <> d.refobjid`,
			[]any{table.Array(slices.Sorted(maps.Keys(level)))}, []any{&of, &view}, func() error {
				for _, root := range level[of] {
					depths[[2]uint32{root, view}] = depth
					if !slices.Contains(below[view], root) {
						below[view] = append(below[view], root)
					}
				}
				return nil
			})
		if err != nil {
			return err
		}
		level = below
	}
	if len(depths) == 0 {
		return nil
	}
	var roots, views, deep []uint32
	for pair, depth := range depths {
		roots, views, deep = append(roots, pair[0]), append(views, pair[1]), append(deep, uint32(depth))
	}
	return s.addUsers(ctx, tables, "WITH "+postgresTree+`, b AS (SELECT * FROM unnest($3::text::oid[], $4::text::oid[], $5::text::int[]) AS b(root, oid, depth))
		SELECT b.root::bigint, CASE v.relkind WHEN 'm' THEN 'materialized view' ELSE 'view' END, n.nspname, v.relname,
			coalesce((SELECT json_agg(DISTINCT a.attname) FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_rewrite r ON r.oid = d.objid AND r.ev_class = v.oid
				JOIN pg_catalog.pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid AND a.attnum > 0
				WHERE d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid IN (SELECT oid FROM tree WHERE tree.root = b.root)), '[]')::text,
			'CREATE ' || CASE v.relkind WHEN 'm' THEN 'MATERIALIZED VIEW ' ELSE 'VIEW ' END || quote_ident(n.nspname) || '.' || quote_ident(v.relname)
				|| coalesce(' WITH (' || array_to_string(v.reloptions, ', ') || ')', '') || ' AS' || E'\n' || rtrim(pg_catalog.pg_get_viewdef(v.oid), ';')
		FROM b JOIN pg_catalog.pg_class v ON v.oid = b.oid JOIN pg_catalog.pg_namespace n ON n.oid = v.relnamespace ORDER BY b.depth, 3, 4`,
		table.Array(roots), table.Array(views), table.Array(deep))
}

// readUsers finds what is made of tables, outside of them: views first, then all else, and then routines.
func (s postgresSource) readUsers(ctx context.Context, tables []*Table) error {
	if len(tables) == 0 {
		return nil
	}
	return inTurn(ctx, tables, s.readViews, s.readOthers, s.readRoutines)
}

// readOthers finds all else than views that the database knows to be made of a table, of its columns, or of the type of its rows.
func (s postgresSource) readOthers(ctx context.Context, tables []*Table) error {
	known := map[*Table]int{}
	for _, t := range tables {
		known[t] = len(t.Users)
	}
	if err := inTurn(ctx, tables, s.readDepending, s.readPublications); err != nil {
		return err
	}
	for _, t := range tables {
		slices.SortStableFunc(t.Users[known[t]:], func(a, b User) int {
			return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name.Schema, b.Name.Schema), strings.Compare(a.Name.Name, b.Name.Name), strings.Compare(a.Definition, b.Definition))
		})
	}
	return nil
}

// readPublications finds the publications of tables. Where there is none at all it does not ask for their tables, which takes PostgreSQL longer than all else.
func (s postgresSource) readPublications(ctx context.Context, tables []*Table) error {
	found, err := s.Texts(ctx, "SELECT pubname FROM pg_catalog.pg_publication LIMIT 1")
	if err != nil || len(found) == 0 {
		return err
	}
	return s.addUsers(ctx, tables, "WITH "+postgresTree+`
		SELECT DISTINCT tree.root::bigint, 'publication', '', p.pubname, '[]', concat_ws(' ', CASE WHEN b.puballtables THEN 'FOR ALL TABLES' END, 'of', CASE WHEN b.pubinsert THEN 'insert' END,
				CASE WHEN b.pubupdate THEN 'update' END, CASE WHEN b.pubdelete THEN 'delete' END, CASE WHEN b.pubtruncate THEN 'truncate' END,
				CASE WHEN to_jsonb(r) ->> 'prattrs' IS NOT NULL THEN 'columns ' || (to_jsonb(p) ->> 'attnames') END, 'where ' || (to_jsonb(p) ->> 'rowfilter'))
			FROM pg_catalog.pg_publication_tables p JOIN pg_catalog.pg_publication b ON b.pubname = p.pubname
			JOIN pg_catalog.pg_namespace n ON n.nspname = p.schemaname JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = p.tablename JOIN tree ON tree.oid = c.oid
			LEFT JOIN pg_catalog.pg_publication_rel r ON r.prpubid = b.oid AND r.prrelid = c.oid -- which has lists of columns from PostgreSQL 15 on`)
}

func (s postgresSource) readDepending(ctx context.Context, tables []*Table) error {
	return s.addUsers(ctx, tables, "WITH "+postgresTree+`, used AS (
			SELECT tree.root, d.classid, d.objid, coalesce(json_agg(DISTINCT a.attname) FILTER (WHERE a.attname IS NOT NULL), '[]')::text AS columns
			FROM tree JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = tree.oid
			LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid AND a.attnum > 0 GROUP BY 1, 2, 3)
		SELECT used.root::bigint, 'rule', cn.nspname, r.rulename, used.columns, pg_catalog.pg_get_ruledef(r.oid)
			FROM used JOIN pg_catalog.pg_rewrite r ON used.classid = 'pg_catalog.pg_rewrite'::regclass AND r.oid = used.objid AND r.rulename <> '_RETURN'
			JOIN pg_catalog.pg_class c ON c.oid = r.ev_class JOIN pg_catalog.pg_namespace cn ON cn.oid = c.relnamespace
		UNION ALL SELECT used.root::bigint, 'policy', cn.nspname, p.polname, used.columns, 'ON ' || c.relname || ' FOR ' || p.polcmd::text || CASE WHEN p.polpermissive THEN '' ELSE ' RESTRICTIVE' END
				|| ' TO ' || (SELECT string_agg(x::regrole::text, ', ' ORDER BY x::regrole::text) FROM unnest(p.polroles) x)
				|| coalesce(' USING (' || pg_catalog.pg_get_expr(p.polqual, p.polrelid) || ')', '') || coalesce(' WITH CHECK (' || pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid) || ')', '')
			FROM used JOIN pg_catalog.pg_policy p ON used.classid = 'pg_catalog.pg_policy'::regclass AND p.oid = used.objid
			JOIN pg_catalog.pg_class c ON c.oid = p.polrelid JOIN pg_catalog.pg_namespace cn ON cn.oid = c.relnamespace
		UNION ALL SELECT used.root::bigint, 'statistics', n.nspname, e.stxname, used.columns, pg_catalog.pg_get_statisticsobjdef(e.oid)
			FROM used JOIN pg_catalog.pg_statistic_ext e ON used.classid = 'pg_catalog.pg_statistic_ext'::regclass AND e.oid = used.objid
			JOIN pg_catalog.pg_namespace n ON n.oid = e.stxnamespace
		UNION ALL SELECT used.root::bigint, 'routine', n.nspname, p.proname, used.columns, pg_catalog.pg_get_functiondef(p.oid)
			FROM used JOIN pg_catalog.pg_proc p ON used.classid = 'pg_catalog.pg_proc'::regclass AND p.oid = used.objid JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
		UNION ALL SELECT DISTINCT tree.root::bigint, 'type', '', pg_catalog.pg_describe_object(d.classid, d.objid, d.objsubid), '[]', ''
			FROM tree JOIN pg_catalog.pg_class c ON c.oid = tree.oid JOIN pg_catalog.pg_type y ON y.oid = c.reltype JOIN pg_catalog.pg_depend d ON d.refobjid IN (y.oid, y.typarray)
			WHERE d.refclassid = 'pg_catalog.pg_type'::regclass AND d.deptype <> 'i' AND d.classid <> 'pg_catalog.pg_proc'::regclass
		UNION ALL SELECT c.oid::bigint, 'replica identity', CASE WHEN i.relname IS NULL THEN '' ELSE n.nspname END, coalesce(i.relname, ''), '[]',
				'REPLICA IDENTITY ' || CASE c.relreplident WHEN 'f' THEN 'FULL' WHEN 'n' THEN 'NOTHING' ELSE 'USING INDEX ' || quote_ident(i.relname) END
			FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
			LEFT JOIN (pg_catalog.pg_index x JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid) ON x.indrelid = c.oid AND x.indisreplident
			WHERE c.oid = ANY ($1::text::oid[]) AND c.relreplident <> 'd'
		UNION ALL SELECT tree.root::bigint, 'partition', n.nspname, c.relname, '[]', coalesce(pg_catalog.pg_get_expr(c.relpartbound, c.oid), '')
			FROM tree JOIN pg_catalog.pg_class c ON c.oid = tree.oid AND c.relispartition JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace`)
}

// readRoutines finds routines that name a table in their body, or are of a trigger of it, and have a type that is too narrow for a key, or
// that insert rows without their keys. PostgreSQL keeps no record of these.
func (s postgresSource) readRoutines(ctx context.Context, tables []*Table) error {
	known := map[*Table]map[Name]bool{}
	for _, t := range tables {
		known[t] = map[Name]bool{}
		for _, u := range t.Users {
			known[t][u.Name] = known[t][u.Name] || u.Kind == "routine"
		}
	}
	type routine struct {
		User
		body  []sqltoken.Token
		fired []uint32 // the tables whose triggers call it
	}
	var routines []routine
	read := User{Kind: "routine"}
	var body, triggers string
	err := s.EachOf(ctx, tables, `SELECT 0, n.nspname, p.proname, pg_catalog.pg_get_functiondef(p.oid), p.prosrc,
			(SELECT coalesce(json_agg(g.tgrelid::bigint), '[]')::text FROM pg_catalog.pg_trigger g WHERE g.tgfoid = p.oid AND NOT g.tgisinternal) FROM pg_catalog.pg_proc p
		JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace JOIN pg_catalog.pg_language l ON l.oid = p.prolang
		WHERE p.prokind IN ('f', 'p') AND l.lanname IN ('sql', 'plpgsql') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
		AND EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.oid = ANY ($1::text::oid[]) AND (strpos(lower(p.prosrc), lower(c.relname)) > 0
			OR EXISTS (SELECT FROM pg_catalog.pg_trigger g WHERE g.tgfoid = p.oid AND g.tgrelid = c.oid AND NOT g.tgisinternal)))
		ORDER BY 2, 3, 4`,
		[]any{&read.Name.Schema, &read.Name.Name, &read.Definition, &body, &triggers}, func(*Table) error {
			r := routine{User: read, body: sqltoken.Grammar{}.Tokens(body)}
			err := json.Unmarshal([]byte(triggers), &r.fired)
			routines = append(routines, r)
			return err
		})
	if err != nil || len(routines) == 0 {
		return err
	}
	if !slices.ContainsFunc(tables, func(t *Table) bool { return t.Columns != nil }) { // what a routine leaves out is known by the columns
		if err := s.ReadDetails(ctx, tables); err != nil {
			return err
		}
	}
	for _, r := range routines {
		wide := !narrow(sqltoken.Grammar{}.Tokens(r.Definition)) // which goes into the body, though it is a text
		for _, t := range tables {
			if !known[t][r.Name] && (!wide && (slices.Contains(r.fired, t.OID) || refers(r.body, t.Full.Name)) || keyless(r.body, t)) {
				t.Users = append(t.Users, r.User)
			}
		}
	}
	return nil
}
