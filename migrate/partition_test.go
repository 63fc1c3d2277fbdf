package migrate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/migrate"
)

// customersAnd are customers, and payments by year: 2026 has an index alone, 2027 none, 2028 has partitions of its own, and the rest is the default's.
var customersAnd = []string{
	"CREATE TABLE customer (id serial PRIMARY KEY, created_at timestamptz NOT NULL, name text NOT NULL)",
	"CREATE TABLE pay (id int NOT NULL, at date NOT NULL, customer_id int NOT NULL, name text NOT NULL, PRIMARY KEY (id, at)) PARTITION BY RANGE (at)",
	"CREATE TABLE pay_1 PARTITION OF pay FOR VALUES FROM ('2026-01-01') TO ('2027-01-01')",
	"CREATE TABLE pay_2 PARTITION OF pay FOR VALUES FROM ('2027-01-01') TO ('2028-01-01')",
	"CREATE TABLE pay_3 PARTITION OF pay FOR VALUES FROM ('2028-01-01') TO ('2029-01-01') PARTITION BY RANGE (at)",
	"CREATE TABLE pay_3a PARTITION OF pay_3 FOR VALUES FROM ('2028-01-01') TO ('2028-05-01')",
	"CREATE TABLE pay_3b PARTITION OF pay_3 DEFAULT",
	"CREATE TABLE pay_rest PARTITION OF pay DEFAULT",
	"CREATE INDEX pay_1_customer ON pay_1 (customer_id)",
	"INSERT INTO customer (created_at, name) SELECT timestamptz '2026-01-01 00:00Z' + n * interval '1 s', 'c' || n FROM generate_series(1, 40) n",
	"INSERT INTO pay SELECT n, date '2025-06-01' + n * 4, 1 + n % 40, 'c' || 1 + n % 40 FROM generate_series(1, 400) n",
}

// partsQuery lists all that PostgreSQL has of the tables of the test, each partition for itself, without what a migration makes for good.
const partsQuery = `SELECT string_agg(line, E'\n' ORDER BY line) FROM (
	SELECT concat_ws(' ', 'index', indrelid::regclass, indisvalid, indisreplident, indisclustered, obj_description(indexrelid), pg_get_indexdef(indexrelid), 'of', (SELECT inhparent::regclass FROM pg_inherits WHERE inhrelid = indexrelid)) AS line FROM pg_index
		JOIN pg_class c ON c.oid = indrelid WHERE c.relnamespace = 'public'::regnamespace AND c.relname !~ 'snowkey'
	UNION ALL SELECT concat_ws(' ', 'constraint', conrelid::regclass, conname, convalidated, conislocal, coninhcount, pg_get_constraintdef(oid), obj_description(oid, 'pg_constraint')) FROM pg_constraint
		WHERE connamespace = 'public'::regnamespace AND conrelid::regclass::text !~ 'snowkey'
	UNION ALL SELECT concat_ws(' ', 'column', attrelid::regclass, attname, attnotnull, attstattarget, attislocal, attinhcount) FROM pg_attribute
		JOIN pg_class c ON c.oid = attrelid WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND attnum > 0 AND c.relname !~ 'snowkey'
	UNION ALL SELECT concat_ws(' ', 'table', oid::regclass, relkind, relispartition, pg_get_expr(relpartbound, oid), relacl) FROM pg_class
		WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND relname !~ 'snowkey') x`

// parts returns what partsQuery lists.
func (d *database) parts() (text string) {
	d.t.Helper()
	if err := d.pool.QueryRowContext(d.t.Context(), partsQuery).Scan(&text); err != nil {
		d.t.Fatal(err)
	}
	return text
}

// unlike fails the test for each line that is in one list alone.
func unlike(t *testing.T, when, got, want string) {
	t.Helper()
	has := func(text string) map[string]bool {
		lines := map[string]bool{}
		for line := range strings.Lines(text) {
			lines[strings.TrimSpace(line)] = true
		}
		return lines
	}
	before, now := has(want), has(got)
	for line := range before {
		if !now[line] {
			t.Errorf("%s: lost: %s", when, line)
		}
	}
	for line := range now {
		if !before[line] {
			t.Errorf("%s: new: %s", when, line)
		}
	}
}

// TestPartitions migrates a table whose partitions have indexes and foreign keys of their own, and rolls it back: all of them stay, and each row refers to the row that it did.
func TestPartitions(t *testing.T) {
	t.Parallel()
	own := map[string][]string{
		"an index of a partition": nil,
		"indexes of the whole whose parts have names and properties of their own": {
			"ALTER INDEX pay_1_customer RENAME TO pay_2_customer_id_idx",
			"ALTER TABLE pay_1 ADD CONSTRAINT pay_1_both UNIQUE (at, customer_id)",
			"COMMENT ON INDEX pay_2_customer_id_idx IS 'the customer''s'",
			"COMMENT ON CONSTRAINT pay_1_both ON pay_1 IS 'both'",
			"CREATE INDEX other ON pay_rest (customer_id)",
			"ALTER TABLE pay_rest CLUSTER ON other",
			"CREATE INDEX pay_customer ON pay (customer_id)",
			"ALTER INDEX pay_2_customer_id_idx1 RENAME TO pay_1_customer_id_idx",
			"ALTER TABLE pay ADD CONSTRAINT pay_both UNIQUE (at, customer_id)",
			"ALTER TABLE pay_1 REPLICA IDENTITY USING INDEX pay_1_both",
		},
		"a foreign key of a partition": {
			"ALTER TABLE pay_1 ADD CONSTRAINT pay_1_customer FOREIGN KEY (customer_id) REFERENCES customer",
		},
		"foreign keys of each partition": {
			"ALTER TABLE pay_1 ADD CONSTRAINT pays FOREIGN KEY (customer_id) REFERENCES customer",
			"ALTER TABLE pay_2 ADD CONSTRAINT pays FOREIGN KEY (customer_id) REFERENCES customer ON UPDATE CASCADE ON DELETE RESTRICT",
			"COMMENT ON CONSTRAINT pays ON pay_2 IS 'it''s paid'",
			"ALTER TABLE pay_3 ADD CONSTRAINT pays FOREIGN KEY (customer_id) REFERENCES customer DEFERRABLE",
			"ALTER TABLE pay_rest ADD CONSTRAINT pays FOREIGN KEY (customer_id) REFERENCES customer NOT VALID",
			`CREATE INDEX "Pay 2's" ON pay_2 (customer_id, name)`,
			"CREATE INDEX pay_rest_some ON pay_rest (customer_id) WHERE id > 5",
		},
		"a foreign key of the whole, and another of a partition": {
			"ALTER TABLE pay_1 ADD CONSTRAINT pay_1_customer FOREIGN KEY (customer_id) REFERENCES customer ON DELETE CASCADE",
			"ALTER TABLE pay ADD CONSTRAINT pay_customer FOREIGN KEY (customer_id) REFERENCES customer",
		},
		"an index on the whole that is of one partition yet": {
			"CREATE INDEX pay_customer ON ONLY pay (customer_id)",
			"ALTER INDEX pay_customer ATTACH PARTITION pay_1_customer",
			"CREATE UNIQUE INDEX pay_2_unique ON pay_2 (customer_id, id)",
		},
		"a partition that was detached, and one that is referred to": {
			"ALTER TABLE pay ADD CONSTRAINT pay_customer FOREIGN KEY (customer_id) REFERENCES customer",
			"ALTER TABLE pay DETACH PARTITION pay_2",
			"CREATE UNIQUE INDEX ON pay_1 (id)",
			"CREATE TABLE receipt (pay_id int REFERENCES pay_1 (id), customer_id int REFERENCES customer)",
			"INSERT INTO receipt SELECT id, customer_id FROM pay_1",
		},
	}
	for name, statements := range own {
		for _, mode := range []migrate.Mode{migrate.Widen, migrate.Rekey} {
			if mode == migrate.Widen && !tortured() {
				continue // rekey begins with it
			}
			t.Run(fmt.Sprintf("%s/%s", name, mode), func(t *testing.T) {
				if !strings.HasPrefix(name, "a foreign key of the whole") {
					dbtest.Long(t)
				}
				t.Parallel()
				d := open(t, "postgres")
				d.exec(customersAnd...)
				d.exec(statements...)
				before := d.parts()
				right := func(when string) {
					t.Helper()
					if n := d.number("SELECT count(*) FROM pay p LEFT JOIN customer c ON c.id = p.customer_id WHERE c.name IS DISTINCT FROM p.name"); n != 0 {
						t.Errorf("%s: %d payments are of another customer", when, n)
					}
					unlike(t, when, d.parts(), before)
				}
				p := d.plan(migrate.InspectOptions{Tables: []string{"customer"}}, migrate.PlanOptions{Mode: mode})
				d.runUntil(p, "contract")
				right("after the run")
				d.verify(p)
				d.rollback(p)
				right("after the rollback")
				d.verify(p)
				if len(statements) == 0 {
					d.exec("DROP INDEX pay_1_customer")
					if found := d.unequal(p); !strings.Contains(found, "CREATE INDEX pay_1_customer ON public.pay_1") {
						t.Errorf("without the index of the partition verify says %q", found)
					}
				}
			})
		}
	}
}
