package check_test

import (
	"testing"

	"github.com/snowkey-go/snowkey/internal/dsn"
)

// A cast rounds 2.6 to 3, and a list that drops the default first leaves the column without it when the cast fails.
func TestOffersNothingForOtherTypesOnPostgres(t *testing.T) {
	var cases []notOffered
	for _, typ := range []string{
		"float8", "real", "numeric(10,2) DEFAULT 7", "uuid DEFAULT gen_random_uuid()", "bytea", "boolean", "timestamptz DEFAULT now()", "jsonb", "int[]", "oid", "text DEFAULT ''", "varchar(9)",
	} {
		cases = append(cases, notOffered{
			name: typ, setup: []string{"CREATE TABLE counted (id " + typ + " PRIMARY KEY)", "CREATE TABLE counting (id bigint PRIMARY KEY)"},
			want: []string{"counted.id wrong-type"}, says: []string{"no statement is offered", "make a bigint column beside it"},
		})
	}
	cases = append(cases, notOffered{
		name: "tied by foreign keys", setup: []string{
			"CREATE TABLE counted (id varchar(9) PRIMARY KEY)", "CREATE TABLE counting (id bigint PRIMARY KEY, counted_id varchar(9) REFERENCES counted)",
		},
		want: []string{"counted.id wrong-type", "counting.counted_id narrow-reference"}, says: []string{"no statement is offered"},
	})
	testNotOffered(t, dsn.Postgres, cases)
}

func TestOffersNothingOnPostgres(t *testing.T) {
	const table = "CREATE TABLE p (id int PRIMARY KEY)"
	partitioned := []string{"CREATE TABLE p (id int, d int, PRIMARY KEY (id, d)) PARTITION BY RANGE (d)", "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (9)"}
	narrow := []string{"p.id narrow-key"}
	one := func(name, says string, setup ...string) notOffered {
		return notOffered{name: name, tables: []string{"p"}, setup: setup, want: narrow, says: []string{"no statement is offered", says}}
	}
	testNotOffered(t, dsn.Postgres, []notOffered{
		one("a function of SQL", "function f()", table, "CREATE FUNCTION f() RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT max(id) FROM p; END"),
		one("a publication", "publication", table, "CREATE PUBLICATION pub FOR TABLE p WHERE (id > 5)"),
		one("a view", `view v`, table, "CREATE VIEW v AS SELECT id FROM p"),
		one("a materialized view", `materialized view v`, table, "CREATE MATERIALIZED VIEW v AS SELECT * FROM p"),
		one("a rule", "rule r", table, "CREATE TABLE log (n int)", "CREATE RULE r AS ON DELETE TO p DO ALSO INSERT INTO log VALUES (old.id)"),
		one("a policy", "policy", table, "CREATE POLICY pol ON p USING (id > 5)"),
		one("a trigger", "trigger", table, "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END'",
			"CREATE TRIGGER g BEFORE UPDATE ON p FOR EACH ROW WHEN (new.id > 5) EXECUTE FUNCTION f()"),
		one("statistics", "statistics object", "CREATE TABLE p (id int PRIMARY KEY, n int)", "CREATE STATISTICS s ON id, n FROM p"),
		one("a generated column", "column twice", "CREATE TABLE p (id int PRIMARY KEY, twice int GENERATED ALWAYS AS (id * 2) STORED)"),
		one("a generated key", "computed", "CREATE TABLE p (n int, id int GENERATED ALWAYS AS (n + 1) STORED PRIMARY KEY)"),
		one("an operator class", "index p_id_idx", table, "CREATE INDEX ON p USING brin (id int4_minmax_multi_ops)"),
		one("an index of an expression", "index", table, "CREATE INDEX ON p (to_hex(id))"),
		one("a partial index", "index", table, "CREATE INDEX ON p (id) WHERE chr(id) <> 'x'"),
		one("an exclusion", "constraint", table, "ALTER TABLE p ADD EXCLUDE USING btree (id WITH =)"),
		one("a CHECK of a function", "constraint", table, "ALTER TABLE p ADD CHECK (chr(id) <> 'x')"),
		one("a CHECK of bits", "constraint", table, "ALTER TABLE p ADD CHECK (1 << id > 0)"),
		one("its rows as a type", "column x of table u", table, "CREATE TABLE u (x p)"),
		one("its rows as a type of many", "column x of table u", table, "CREATE TABLE u (x p[])"),
		one("rows of a function", "function", table, "CREATE FUNCTION f(p) RETURNS int LANGUAGE sql AS 'SELECT 1'"),
		one("of a type", "made OF a type", "CREATE TYPE ty AS (id int, x text)", "CREATE TABLE p OF ty (PRIMARY KEY (id))"),
		one("a parent", "inherits", table, "CREATE TABLE h (x int) INHERITS (p)"),
		one("partitions", "partitioned", partitioned...),
		one("a domain", "a domain", "CREATE DOMAIN d AS int DEFAULT 5 CHECK (value > 0)", "CREATE TABLE p (id d PRIMARY KEY)"),
		one("a domain over a domain", "a domain", "CREATE DOMAIN d0 AS int", "CREATE DOMAIN d AS d0", "CREATE TABLE p (id d PRIMARY KEY)"),
		{
			name: "two parents", tables: []string{"p", "q", "h"}, want: []string{"p.id narrow-key", "q.id narrow-key", "h.id no-primary-key", "h.id narrow-key"}, says: []string{"inherits"},
			setup: []string{table, "CREATE TABLE q (id int PRIMARY KEY)", "CREATE TABLE h () INHERITS (p, q)"},
		},
		{
			name: "an inherited serial", tables: []string{"p"}, want: []string{"p.id narrow-key", "p.id auto-increment"}, says: []string{"inherits"},
			setup: []string{"CREATE TABLE p (id serial PRIMARY KEY)", "CREATE TABLE h (x int) INHERITS (p)"},
		},
		{
			name: "partitioned by an expression", tables: []string{"p"}, want: []string{"p.id no-primary-key", "p.id narrow-key"}, says: []string{"partitioned"},
			setup: []string{"CREATE TABLE p (id int NOT NULL) PARTITION BY RANGE ((id % 10))"},
		},
		{
			name: "a domain of numbers", tables: []string{"p"}, want: []string{"p.id auto-increment"}, says: []string{"of the domain d", "ALTER DOMAIN"},
			setup: []string{"CREATE SEQUENCE s", "CREATE DOMAIN d AS bigint DEFAULT nextval('s')", "CREATE TABLE p (id d PRIMARY KEY)"},
		},
		{
			name: "an identity whose numbers others take", tables: []string{"p"}, want: []string{"p.id auto-increment"}, says: []string{"its sequence goes with the identity", "column n of table q"},
			setup: []string{"CREATE TABLE p (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY)", "CREATE TABLE q (n bigint DEFAULT nextval('p_id_seq'))"},
		},
	})
}

// Foreign keys are found that refer to a partition, or are of one.
func TestForeignKeysOfPartitions(t *testing.T) {
	db := openOn(t, dsn.Postgres)
	mustRun(t, db, "CREATE TABLE g (id bigint PRIMARY KEY)",
		"CREATE TABLE p (id bigint, d int, g_id int, PRIMARY KEY (id, d)) PARTITION BY RANGE (d)", "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (9)",
		"ALTER TABLE p1 ADD FOREIGN KEY (g_id) REFERENCES g", "CREATE TABLE c (p_id int, d int, FOREIGN KEY (p_id, d) REFERENCES p1 (id, d))")
	findings := checkTables(t, db, "p")
	requireFindings(t, findings, "c.p_id narrow-reference*", "p.g_id narrow-reference")
	mustMend(t, db, findings)
	requireFindings(t, checkTables(t, db, "p1", "g"), "p.g_id narrow-reference")
	mustRun(t, db, "INSERT INTO p VALUES (@, 1)", "INSERT INTO c SELECT id, d FROM p")
}

// What is on every other table is no obstacle.
func TestFixesWithIndexesAndChecks(t *testing.T) {
	db := openOn(t, dsn.Postgres)
	mustRun(t, db,
		`CREATE TABLE p (id int GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, "the n" int, UNIQUE ("the n", id), CHECK (id > 0 AND id <> "the n" + 1 OR id IS NULL), CHECK (id <= 2000000000) NO INHERIT)`,
		"CREATE INDEX ON p USING brin (id)", "CREATE INDEX ON p USING hash (id)", `CREATE INDEX ON p ("the n") INCLUDE (id)`,
		`CREATE TABLE c (pid int DEFAULT 3 REFERENCES p ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED, n int, FOREIGN KEY (n, pid) REFERENCES p ("the n", id) MATCH FULL)`,
		"ALTER TABLE p ADD up int, ADD FOREIGN KEY (up) REFERENCES p NOT VALID", "COMMENT ON COLUMN p.id IS 'the key'", "INSERT INTO p VALUES (1, 1)", "INSERT INTO c VALUES (1, 1)")
	const query = `SELECT string_agg(d, ';' ORDER BY d) FROM (SELECT pg_get_constraintdef(oid) || convalidated AS d FROM pg_constraint WHERE connamespace = 'public'::regnamespace
		UNION ALL SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid IN ('p'::regclass, 'c'::regclass)
		UNION ALL SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef UNION ALL SELECT col_description('p'::regclass, 1)) x`
	var before, after string
	if err := db.Raw(query).Scan(&before).Error; err != nil {
		t.Fatal(err)
	}
	findings := checkTables(t, db, "p")
	requireFindings(t, findings, "p.id narrow-key*", "p.id auto-increment*", "c.pid narrow-reference*", "p.up narrow-reference*")
	mustMend(t, db, findings)
	requireFindings(t, checkTables(t, db, "p"))
	if err := db.Raw(query).Scan(&after).Error; err != nil || after != before {
		t.Errorf("got %s, %v, want it to stay\n%s", after, err, before)
	}
}
