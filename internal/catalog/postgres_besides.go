package catalog

import (
	"context"
	"strings"
)

// The names of PostgreSQL's schemas are no names of databases.
func (s postgresSource) current(ctx context.Context) (home, hidden string, err error) {
	found, err := s.texts(ctx, "SELECT current_schema()")
	return strings.Join(found, ""), "", err
}

func (postgresSource) stable(definition, _ string) string { return definition }

// besides returns what tables have that no field tells of: how each is stored and divided, who may see its rows, how its sequences count, its
// constraints to the letter, whether its triggers are on, and what these do.
func (s postgresSource) besides(ctx context.Context, tables []*Table) (map[*Table][]string, error) {
	found := map[*Table][]string{}
	err := s.eachOf(ctx, tables, `SELECT c.oid::bigint, concat_ws(' ', 'table', c.relpersistence, c.relrowsecurity, c.relforcerowsecurity, c.reloptions::text, m.amname, p.spcname,
				CASE WHEN c.relkind = 'p' THEN pg_catalog.pg_get_partkeydef(c.oid) END,
				(SELECT string_agg(i.inhparent::regclass::text, ', ' ORDER BY i.inhseqno) FROM pg_catalog.pg_inherits i WHERE i.inhrelid = c.oid),
				(SELECT string_agg(i.inhrelid::regclass::text, ', ' ORDER BY 1) FROM (SELECT inhrelid FROM pg_catalog.pg_inherits WHERE inhparent = c.oid ORDER BY inhrelid::regclass::text) i))
			FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_am m ON m.oid = c.relam LEFT JOIN pg_catalog.pg_tablespace p ON p.oid = c.reltablespace WHERE c.oid = ANY ($1::text::oid[])
		UNION ALL SELECT a.attrelid::bigint, concat_ws(' ', 'column', quote_ident(a.attname), (SELECT quote_ident(l.collname) FROM pg_catalog.pg_collation l WHERE l.oid = a.attcollation), a.attstorage, a.attgenerated, a.attoptions::text)
			FROM pg_catalog.pg_attribute a WHERE a.attrelid = ANY ($1::text::oid[]) AND a.attnum > 0 AND NOT a.attisdropped
		UNION ALL SELECT d.refobjid::bigint, concat_ws(' ', 'sequence', quote_ident(a.attname), q.seqtypid::regtype, q.seqstart, q.seqincrement, q.seqmin, q.seqmax, q.seqcycle)
			FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_sequence q ON q.seqrelid = d.objid
			JOIN pg_catalog.pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
			WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = ANY ($1::text::oid[]) AND d.deptype IN ('a', 'i')
		UNION ALL SELECT f.conrelid::bigint, concat_ws(' ', 'constraint', quote_ident(f.conname), f.convalidated, pg_catalog.pg_get_constraintdef(f.oid))
			FROM pg_catalog.pg_constraint f WHERE f.conrelid = ANY ($1::text::oid[]) AND f.contype <> 'f'
		UNION ALL SELECT g.tgrelid::bigint, concat_ws(' ', 'trigger', quote_ident(g.tgname), g.tgenabled, p.prosrc)
			FROM pg_catalog.pg_trigger g JOIN pg_catalog.pg_proc p ON p.oid = g.tgfoid WHERE g.tgrelid = ANY ($1::text::oid[]) AND NOT g.tgisinternal
		ORDER BY 1, 2`, func(scan func(...any) (*Table, error)) error {
		var text string
		t, err := scan(&text)
		if err != nil {
			return err
		}
		found[t] = append(found[t], text)
		return nil
	})
	return found, err
}
