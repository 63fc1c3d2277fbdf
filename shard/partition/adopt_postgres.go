package partition

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// checkName is the constraint that proves all ids to be before the bound, so that PostgreSQL need not read the rows while others wait.
func checkName(table string) string { return table + "_" + firstName + "_bound" }

var checkBound = regexp.MustCompile(`< '?(\d+)'?`)

// chosen returns the bound that the constraint of an earlier run has.
func (s *subject) chosen() (int64, bool) {
	for _, c := range s.Checks {
		if found := checkBound.FindStringSubmatch(c.Text); c.Name == checkName(s.at.Table) && found != nil {
			bound, err := strconv.ParseInt(found[1], 10, 64)
			return bound, err == nil
		}
	}
	return 0, false
}

func (s *subject) postgres(ctx context.Context) error {
	if err := s.postgresObstacles(ctx); err != nil || len(s.a.Obstacles) > 0 {
		return err
	}
	table, check := s.quoted(s.at.Table), s.k.d.QuoteAny(checkName(s.at.Table))
	sql := postgresStatements{t: s.k.t}
	bound, chosen := s.chosen()
	if chosen && bound != s.a.Bound {
		s.step("drop the constraint of an earlier run, whose bound is near", "all statements at the table, for milliseconds", "ALTER TABLE "+table+" DROP CONSTRAINT "+check)
		chosen = false
	}
	if !chosen {
		s.step("let no row be from the bound on", "all statements at the table, for milliseconds",
			fmt.Sprintf("ALTER TABLE %s ADD CONSTRAINT %s CHECK (%s < %d) NOT VALID", table, check, s.k.d.Quote(s.k.t.Key), s.a.Bound))
	}
	proven, err := s.names.Texts(ctx, "SELECT 1 FROM pg_catalog.pg_constraint WHERE conrelid = CAST($1 AS oid) AND conname = $2 AND convalidated", s.OID, checkName(s.at.Table))
	if err != nil {
		return err
	}
	if !chosen || len(proven) == 0 {
		s.step("prove that no row is", "other changes of the table alone, while PostgreSQL reads all rows", "SET statement_timeout = 0", "ALTER TABLE "+table+" VALIDATE CONSTRAINT "+check)
	}
	swap, err := s.swap(ctx)
	if err != nil {
		return err
	}
	s.step("make the table the first partition of a new one of its name", "all statements at the table, for milliseconds; no row is read", sql.transaction(swap...)...)
	s.step(analyzeTitle, "nobody; PostgreSQL reads a sample", "ANALYZE "+table)
	s.note("%s keeps its storage options, tablespace and statistics; partitions made later have the server's defaults", s.at.Table+"_"+firstName)
	return nil
}

const analyzeTitle = "count values for the planner, which autovacuum never does for a table with partitions"

// postgresDivided plans what is left where the first partition is there.
func (s *subject) postgresDivided(ctx context.Context) error {
	left, err := s.names.Texts(ctx, `SELECT 1 FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_inherits AS i ON i.inhparent = c.oid JOIN pg_catalog.pg_class AS f ON f.oid = i.inhrelid
		WHERE c.oid = CAST($1 AS oid) AND f.relname = $2 AND c.reltuples < 0`, s.OID, s.at.Table+"_"+firstName)
	if err == nil && len(left) > 0 {
		s.step(analyzeTitle, "nobody; PostgreSQL reads a sample", "ANALYZE "+s.quoted(s.at.Table))
	}
	return err
}

// means says of things that are made of a table what would become of them.
var means = map[string]string{
	"view": "would read the first partition alone; drop it, and create it again afterwards", "materialized view": "would read the first partition alone; drop it, and create it again afterwards",
	"rule": "would stay at the first partition; write it as a trigger or in the application", "policy": "would stay at the first partition; drop it, and create it again afterwards",
	"publication":      "would publish the partitions by their own names, or by the table's with publish_via_partition_root; take the table out of it, and add it again afterwards",
	"type":             "has a type that is the first partition's afterwards; drop it, and create it again afterwards",
	"replica identity": "would be that of the first partition alone; set it to DEFAULT", "trigger": "is another table's and refers to it; drop it, and create it again afterwards",
}

// postgresObstacles finds what stays with the old table or cannot be made for the new one.
func (s *subject) postgresObstacles(ctx context.Context) error {
	for _, u := range s.Users {
		if what, ok := means[u.Kind]; ok {
			s.obstacle("the %s %s", strings.TrimSpace(u.Kind+" "+u.Name.String()), what)
		}
	}
	found, err := s.names.Texts(ctx, `SELECT 'it is not a plain table of the default access method (persistence ' || CAST(relpersistence AS text) || '); only such a one can be divided' FROM pg_catalog.pg_class
			WHERE oid = CAST($1 AS oid) AND (relpersistence <> 'p' OR relam <> (SELECT oid FROM pg_catalog.pg_am WHERE amname = 'heap') OR reloftype <> 0)
		UNION ALL SELECT 'row security is on; it would be of the first partition alone: turn it off, and on again afterwards' FROM pg_catalog.pg_class WHERE oid = CAST($1 AS oid) AND (relrowsecurity OR relforcerowsecurity)
		UNION ALL SELECT 'the table inherits from another, or another from it; only a table of its own can be divided' WHERE EXISTS (SELECT FROM pg_catalog.pg_inherits WHERE CAST($1 AS oid) IN (inhrelid, inhparent))
		UNION ALL SELECT 'the function ' || CAST(CAST(d.objid AS regprocedure) AS text) || ' is made of the table; it would be of the first partition alone: drop it, and create it again afterwards'
			FROM (SELECT DISTINCT objid FROM pg_catalog.pg_depend WHERE classid = CAST('pg_catalog.pg_proc' AS regclass) AND (refclassid = CAST('pg_catalog.pg_class' AS regclass) AND refobjid = CAST($1 AS oid)
				OR refclassid = CAST('pg_catalog.pg_type' AS regclass) AND refobjid IN (SELECT unnest(ARRAY[oid, typarray]) FROM pg_catalog.pg_type WHERE typrelid = CAST($1 AS oid)))) AS d
		UNION ALL SELECT 'the constraint ' || conname || CASE WHEN contype = 'x' THEN ' is an exclusion, which no table with partitions can have; drop it'
				WHEN contype = 'c' AND connoinherit THEN ' is NO INHERIT, which no table with partitions can have; make it without'
				ELSE ' is NOT VALID; prove it with ALTER TABLE … VALIDATE CONSTRAINT' END
			FROM pg_catalog.pg_constraint WHERE conrelid = CAST($1 AS oid) AND conname <> $2 AND (contype = 'x' OR contype = 'c' AND connoinherit OR NOT convalidated)
		UNION ALL SELECT 'the trigger ' || t.tgname || ' is disabled, a replica''s, or sees the rows of a statement (REFERENCING), which triggers of partitions cannot; drop it'
			FROM pg_catalog.pg_trigger AS t WHERE t.tgrelid = CAST($1 AS oid) AND NOT t.tgisinternal AND (t.tgenabled <> 'O' OR t.tgtype & 1 = 1 AND (t.tgnewtable IS NOT NULL OR t.tgoldtable IS NOT NULL))
		UNION ALL SELECT 'there is a table or index ' || c.relname || ' already; rename it' FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_class AS o ON o.oid = CAST($1 AS oid) AND o.relnamespace = c.relnamespace
			WHERE c.relname IN ($3, $4)`, s.OID, checkName(s.at.Table), s.at.Table+"_"+firstName, s.at.Table+"_default")
	s.a.Obstacles = append(s.a.Obstacles, found...)
	return err
}

// signature is what the statements of swap were made of. Somebody may change the table before it is locked.
const signature = `SELECT md5(concat((SELECT concat(relowner, relacl, reloptions, relrowsecurity) FROM pg_catalog.pg_class WHERE oid = %[1]d),
	(SELECT string_agg(concat(attname, atttypid, atttypmod, attnotnull, attstattarget, attoptions, attacl), ',' ORDER BY attnum) FROM pg_catalog.pg_attribute WHERE attrelid = %[1]d),
	(SELECT string_agg(CAST(indexrelid AS text), ',' ORDER BY indexrelid) FROM pg_catalog.pg_index WHERE indrelid = %[1]d AND indisvalid),
	(SELECT string_agg(concat(oid, convalidated), ',' ORDER BY oid) FROM pg_catalog.pg_constraint WHERE conrelid = %[1]d OR confrelid = %[1]d),
	(SELECT string_agg(concat(oid, tgenabled), ',' ORDER BY oid) FROM pg_catalog.pg_trigger WHERE tgrelid = %[1]d AND NOT tgisinternal),
	(SELECT string_agg(concat(classid, objid, deptype), ',' ORDER BY classid, objid) FROM pg_catalog.pg_depend WHERE refobjid = %[1]d)))`

// carried returns statements that give the new table what LIKE does not. $1 is the old table, $2 and $3 are its names as SQL before and after, $4 is
// checkName. Definitions are read while the old table has the name, and so are of the new one when they are run. Those of phase 1 come before the
// new table is made.
const carried = `WITH old AS (SELECT c.*, CAST($2 AS text) AS was, CAST($3 AS text) AS part FROM pg_catalog.pg_class AS c WHERE c.oid = CAST($1 AS oid)),
	held AS (SELECT 0 AS attnum, '' AS attname, COALESCE(relacl, acldefault('r', relowner)) AS acl FROM old UNION ALL SELECT attnum, attname, attacl FROM pg_catalog.pg_attribute WHERE attrelid = CAST($1 AS oid) AND attacl IS NOT NULL),
	rights AS (SELECT attnum, attname, x.* FROM held, aclexplode(acl) AS x),
	own AS (SELECT x.oid, x.relname, i.indexrelid, k.oid AS constraint FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_class AS x ON x.oid = i.indexrelid
		LEFT JOIN pg_catalog.pg_constraint AS k ON k.conindid = i.indexrelid AND k.conrelid = CAST($1 AS oid) AND k.contype IN ('p', 'u') WHERE i.indrelid = CAST($1 AS oid))
SELECT phase || text FROM (
	SELECT 1 AS phase, 1 AS n, oid, format('ALTER INDEX %I.%I RENAME TO %I', (SELECT nspname FROM pg_catalog.pg_namespace WHERE oid = (SELECT relnamespace FROM old)), relname,
			(SELECT relname FROM old) || '_pbefore_i' || row_number() OVER (ORDER BY oid)) AS text FROM own
	UNION ALL SELECT 1, 2, s.oid, format('ALTER STATISTICS %I.%I RENAME TO %I', n.nspname, s.stxname, (SELECT relname FROM old) || '_pbefore_s' || row_number() OVER (ORDER BY s.oid))
		FROM pg_catalog.pg_statistic_ext AS s JOIN pg_catalog.pg_namespace AS n ON n.oid = s.stxnamespace WHERE s.stxrelid = CAST($1 AS oid)
	UNION ALL SELECT 1, 3, oid, format('DROP TRIGGER %I ON %s', tgname, (SELECT part FROM old)) FROM pg_catalog.pg_trigger WHERE tgrelid = CAST($1 AS oid) AND NOT tgisinternal
	UNION ALL SELECT 2, 1, 0, format('ALTER TABLE %s OWNER TO %I', was, pg_get_userbyid(relowner)) FROM old WHERE pg_get_userbyid(relowner) <> current_user
	UNION ALL SELECT 2, 2, a.attnum, format('ALTER TABLE %s ALTER COLUMN %I SET STATISTICS %s', was, attname, attstattarget) FROM old, pg_catalog.pg_attribute AS a WHERE attrelid = old.oid AND attnum > 0 AND attstattarget >= 0 AND NOT attisdropped
	UNION ALL SELECT 2, 3, a.attnum, format('ALTER TABLE %s ALTER COLUMN %I SET (%s)', was, attname, array_to_string(attoptions, ', ')) FROM old, pg_catalog.pg_attribute AS a WHERE attrelid = old.oid AND attoptions IS NOT NULL AND NOT attisdropped
	UNION ALL SELECT 2, 4, own.oid, COALESCE(format('ALTER TABLE %s ADD CONSTRAINT %I %s', was, own.relname, pg_get_constraintdef("constraint")), pg_get_indexdef(indexrelid)) FROM old, own WHERE "constraint" IS NOT NULL
	UNION ALL SELECT 2, 5, own.oid, pg_get_indexdef(indexrelid) FROM own WHERE "constraint" IS NULL
	UNION ALL SELECT 2, 6, k.oid, format('ALTER TABLE %s ADD CONSTRAINT %I %s', was, conname, pg_get_constraintdef(k.oid)) FROM old, pg_catalog.pg_constraint AS k WHERE conrelid = old.oid AND contype = 'f'
	UNION ALL SELECT 2, 7, s.oid, pg_get_statisticsobjdef(s.oid) FROM pg_catalog.pg_statistic_ext AS s WHERE stxrelid = CAST($1 AS oid)
	UNION ALL SELECT 2, 8, t.oid, pg_get_triggerdef(t.oid) FROM pg_catalog.pg_trigger AS t WHERE tgrelid = CAST($1 AS oid) AND NOT tgisinternal
	UNION ALL SELECT 2, 9, oid, format('COMMENT ON TABLE %s IS %L', was, obj_description(oid, 'pg_class')) FROM old WHERE obj_description(oid, 'pg_class') IS NOT NULL
	UNION ALL SELECT 2, 10, own.oid, format('COMMENT ON INDEX %I.%I IS %L', n.nspname, own.relname, obj_description(own.oid, 'pg_class')) FROM own, old, pg_catalog.pg_namespace AS n WHERE n.oid = old.relnamespace AND obj_description(own.oid, 'pg_class') IS NOT NULL
	UNION ALL SELECT 2, 11, k.oid, format('COMMENT ON CONSTRAINT %I ON %s IS %L', conname, was, obj_description(k.oid, 'pg_constraint')) FROM old, pg_catalog.pg_constraint AS k WHERE conrelid = old.oid AND contype <> 'c' AND obj_description(k.oid, 'pg_constraint') IS NOT NULL
	UNION ALL SELECT 2, 12, s.oid, format('COMMENT ON STATISTICS %I.%I IS %L', n.nspname, stxname, obj_description(s.oid, 'pg_statistic_ext')) FROM pg_catalog.pg_statistic_ext AS s JOIN pg_catalog.pg_namespace AS n ON n.oid = s.stxnamespace WHERE stxrelid = CAST($1 AS oid) AND obj_description(s.oid, 'pg_statistic_ext') IS NOT NULL
	UNION ALL SELECT 2, 13, t.oid, format('COMMENT ON TRIGGER %I ON %s IS %L', tgname, was, obj_description(t.oid, 'pg_trigger')) FROM old, pg_catalog.pg_trigger AS t WHERE tgrelid = old.oid AND NOT tgisinternal AND obj_description(t.oid, 'pg_trigger') IS NOT NULL
	UNION ALL SELECT 2, 14, g.grantee, format('REVOKE ALL ON %s FROM %s', was, CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(g.grantee)) END)
		FROM old, (SELECT relowner AS grantee FROM old UNION SELECT x.grantee FROM pg_catalog.pg_default_acl AS d, aclexplode(d.defaclacl) AS x WHERE d.defaclobjtype = 'r') AS g
	UNION ALL SELECT 2, 15, grantee, format('GRANT %s ON %s TO %s', string_agg(privilege_type || CASE WHEN attname = '' THEN '' ELSE format(' (%I)', attname) END, ', ' ORDER BY attnum, privilege_type), min(was),
			CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END) || CASE WHEN is_grantable THEN ' WITH GRANT OPTION' ELSE '' END FROM old, rights GROUP BY grantee, is_grantable
	UNION ALL SELECT 3, 1, oid, format('ALTER TABLE %s_default%s OWNER TO %I', left(was, length(was) - 1), right(was, 1), pg_get_userbyid(relowner)) FROM old WHERE pg_get_userbyid(relowner) <> current_user
) AS all_of_it ORDER BY phase, n, oid`

// swap returns the statements that make the table the first partition. A name's statistics, comments and rights are the new table's; the rows,
// their storage options, and the indexes, under other names, stay the old one's.
func (s *subject) swap(ctx context.Context) (statements []string, err error) {
	at := func(name string) string { return s.quoted(s.at.Table + name) }
	table, part := at(""), at("_"+firstName)
	phases := map[string][]string{}
	texts, err := s.names.Texts(ctx, carried, s.OID, table, part)
	if err != nil {
		return nil, fmt.Errorf("reading what the table has: %w", err)
	}
	for _, text := range texts {
		phases[text[:1]] = append(phases[text[:1]], text[1:])
	}
	signed := fmt.Sprintf(strings.Join(strings.Fields(signature), " "), s.OID)
	is, err := s.names.Texts(ctx, signed)
	if err != nil || len(is) != 1 {
		return nil, errors.Join(err, fmt.Errorf("reading what the table has: %d rows", len(is)))
	}
	check := s.k.d.QuoteAny(checkName(s.at.Table))
	statements = append(statements, "LOCK TABLE "+table+" IN ACCESS EXCLUSIVE MODE",
		postgresStatements{t: s.k.t}.shortWait(),
		"SELECT 1 WHERE ("+signed+") <> "+dialect.Literal(is[0]),
		"ALTER TABLE "+table+" RENAME TO "+s.k.d.QuoteAny(s.at.Table+"_"+firstName))
	statements = append(statements, phases["1"]...)
	statements = append(statements,
		fmt.Sprintf("CREATE TABLE %s (LIKE %s INCLUDING ALL EXCLUDING INDEXES EXCLUDING STATISTICS) PARTITION BY RANGE (%s)", table, part, s.k.d.Quote(s.k.t.Key)),
		"ALTER TABLE "+table+" DROP CONSTRAINT "+check)
	statements = append(statements, phases["2"]...)
	statements = append(statements,
		fmt.Sprintf("ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM (MINVALUE) TO (%d)", table, part, s.a.Bound),
		"ALTER TABLE "+part+" DROP CONSTRAINT "+check,
		"CREATE TABLE "+at("_default")+" PARTITION OF "+table+" DEFAULT")
	return append(statements, phases["3"]...), nil
}
