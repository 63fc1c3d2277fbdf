package plan_test

import (
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// TestChildless checks that a row to whose key nothing refers is written once: its own key moves with its reference, there and back, and the batches of its own
// table move the rows without a reference.
func TestChildless(t *testing.T) {
	t.Parallel()
	for kind, d := range map[string]dialect.Dialect{"sqlite": dialect.SQLite, "mysql": dialect.MySQL, "postgres": dialect.Postgres} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			create := func(statement string) string { return quote(d, words[d].Replace(statement)) }
			s := open(t, kind,
				create("CREATE TABLE customers ({id}, created_at {time})"),
				create("CREATE TABLE orders ({id}, customer_id {ref} NULL, created_at {time}, CONSTRAINT fk_customer FOREIGN KEY (customer_id) REFERENCES customers (id))"),
				"INSERT INTO customers (created_at) VALUES ('2025-05-06 07:08:09'), ('2025-05-06 07:08:09')",
				"INSERT INTO orders (customer_id, created_at) VALUES (1, '2025-05-06 07:08:09'), (2, '2025-05-06 07:08:09'), (NULL, '2025-05-06 07:08:09')")
			left := func(step plan.Step, want, after int64) {
				var n int64
				if err := s.QueryRow("SELECT COUNT(*) FROM orders WHERE id < 1000").Scan(&n); err != nil {
					t.Fatal(err)
				}
				if strings.HasPrefix(step.String(), "give the rows of customers") && n != want || strings.HasPrefix(step.String(), "give the rows of orders") && n != after {
					t.Errorf("%s: got %d orders with old ids, want %d after that of customers, and %d after that of orders", step.String(), n, want, after)
				}
			}
			e := &mover{t: t, db: s.DB, d: d, p: s.plan(plan.Options{Mode: plan.Rekey, Keep: true, Zone: "UTC"}), found: counts{}}
			e.after = func(step plan.Step) { left(step, 1, 0) }
			e.back = func(step plan.Step) { left(step, 3, 3) }
			e.run()
			e.undo()
		})
	}
}
