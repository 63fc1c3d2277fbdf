package plan_test

import (
	"testing"

	"github.com/snowkey-go/snowkey/migrate/plan"
)

// TestTwoTables shows a whole plan in testdata: one that can be read from its top to its end.
func TestTwoTables(t *testing.T) {
	t.Parallel()
	s := open(t, "postgres",
		"CREATE TABLE customers (id serial PRIMARY KEY, name text NOT NULL, created_at timestamptz NOT NULL DEFAULT '2025-05-06T07:08:09Z')",
		"CREATE TABLE orders (id serial PRIMARY KEY, customer_id integer NOT NULL CONSTRAINT fk_customer REFERENCES customers, created_at timestamptz NOT NULL DEFAULT '2025-05-06T07:08:10Z')",
		"INSERT INTO customers (name) VALUES ('Ada'), ('Bob')", "INSERT INTO orders (customer_id) VALUES (1), (2), (2)", "ANALYZE")
	p := s.plan(plan.Options{Mode: plan.Rekey})
	s.golden(p, "two_tables_postgres")
}
