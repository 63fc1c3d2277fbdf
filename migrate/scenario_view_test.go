package migrate_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/migrate"
)

// serialAndViews has keys from a serial and from an identity that allows no others, and all that hangs on them.
func serialAndViews(t *testing.T, d *database, mode migrate.Mode) {
	role := d.lines("SELECT 'role_' || current_database()")
	role = strings.TrimSpace(role)
	d.exec("CREATE ROLE "+role, "GRANT USAGE, CREATE ON SCHEMA public TO "+role)
	t.Cleanup(func() {
		for _, s := range []string{"DROP OWNED BY " + role + " CASCADE", "DROP ROLE " + role} {
			if _, err := d.pool.ExecContext(context.Background(), s); err != nil {
				t.Errorf("%s: %v", s, err)
			}
		}
	})
	d.exec(
		"CREATE TABLE customers (id serial PRIMARY KEY, name text NOT NULL, created_at timestamptz NOT NULL)",
		"CREATE TABLE orders (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, customer_id int NOT NULL CONSTRAINT fk_customer REFERENCES customers ON DELETE CASCADE, name text NOT NULL, created_at timestamptz NOT NULL)",
		"INSERT INTO customers (name, created_at) SELECT 'c' || g, timestamptz '2024-01-01 00:00:00+00' + g * interval '1 second' FROM generate_series(1, 300) g",
		"INSERT INTO orders (customer_id, name, created_at) SELECT 1 + g % 300, 'c' || (1 + g % 300), timestamptz '2024-01-02 00:00:00+00' + g * interval '1 second' FROM generate_series(1, 600) g",
		`CREATE VIEW open_orders AS SELECT o.id, o.customer_id, c.name FROM orders o JOIN customers c ON c.id = o.customer_id`,
		`CREATE VIEW "Top" AS SELECT id AS "Order", customer_id FROM open_orders WHERE name <> 'c7'`,
		"COMMENT ON VIEW open_orders IS 'all; that are open'",
		"GRANT SELECT ON open_orders TO PUBLIC",
		`GRANT SELECT, UPDATE ON "Top" TO `+role+" WITH GRANT OPTION",
		`ALTER VIEW "Top" OWNER TO `+role,
		"GRANT SELECT ON open_orders TO "+role,
		"CREATE PUBLICATION shop FOR TABLE customers, orders",
	)
	around := func() string {
		return d.lines(`SELECT c.relname, pg_get_userbyid(c.relowner), c.relacl::text, obj_description(c.oid), pg_get_viewdef(c.oid)
			FROM pg_class c WHERE c.relkind = 'v' AND c.relnamespace = 'public'::regnamespace ORDER BY 1`) + d.lines("SELECT pubname, tablename FROM pg_publication_tables ORDER BY 1, 2")
	}
	before := around()
	p := d.plan(migrate.InspectOptions{}, migrate.PlanOptions{Mode: mode, Zone: "UTC"})
	d.run(p)
	d.same("the views and the publication", around(), before)
	d.none("rows of the view that are not those of its tables",
		"SELECT 600 - COUNT(*) FROM open_orders v JOIN orders o ON o.id = v.id AND o.name = v.name JOIN customers c ON c.id = v.customer_id AND c.name = v.name")
	d.none("rows of the view on the view", `SELECT 598 - COUNT(*) FROM "Top" v JOIN orders o ON o.id = v."Order" AND o.customer_id = v.customer_id`)
	d.none("columns of views with 32 bits", "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = 'public' AND table_name IN ('open_orders', 'Top') AND data_type = 'integer'")
	if mode != migrate.Widen {
		d.none("old ids in the view", `SELECT COUNT(*) FROM "Top" WHERE "Order" < 4398046511104 OR customer_id < 4398046511104`)
	}
	d.none("sequences that are left", "SELECT COUNT(*) FROM pg_class WHERE relkind = 'S' AND relnamespace = 'public'::regnamespace AND relname NOT LIKE 'snowkey%'")
	const id = 7130316800000020481
	d.exec(fmt.Sprintf("INSERT INTO customers (id, name, created_at) VALUES (%d, 'new', now())", id),
		fmt.Sprintf("INSERT INTO orders (id, customer_id, name, created_at) VALUES (%d, %[1]d, 'new', now())", id))
	if n := d.number(`SELECT "Order" FROM "Top" WHERE customer_id = ` + fmt.Sprint(id)); n != id {
		t.Errorf("got %d from the view, want %d", n, id)
	}
	d.refused("INSERT INTO customers (name, created_at) VALUES ('no id', now())")
	d.refused("INSERT INTO orders (customer_id, name, created_at) VALUES (" + fmt.Sprint(id) + ", 'no id', now())")
}
