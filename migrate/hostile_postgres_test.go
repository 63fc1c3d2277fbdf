package migrate_test

import (
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/migrate"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestShadowLongNames swaps columns whose names leave no room for more letters, of which PostgreSQL allows 63 bytes.
func TestShadowLongNames(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	forEach(t, func(t *testing.T, d *database) {
		long := strings.Repeat("parent_of_", 6) + "abc"
		other := long[:62] + "d" // the same but for what a cut takes away
		d.exec("CREATE TABLE things (id SERIAL PRIMARY KEY, created_at timestamptz NOT NULL, name text NOT NULL, "+
			long+" int REFERENCES things (id), "+other+" int REFERENCES things (id), name_old text)",
			"INSERT INTO things (created_at, name, "+long+", "+other+", name_old) SELECT timestamptz '2026-01-01 00:00Z' + n * interval '1 s', 'n' || n, n, 101 - n, 'n' || n FROM generate_series(1, 100) n")
		p := d.plan(migrate.InspectOptions{}, migrate.PlanOptions{Mode: migrate.Shadow})
		d.runUntil(p, "contract")
		d.verify(p)
		if n := d.number("SELECT count(*) FROM things c JOIN things a ON a.id = c." + long + " JOIN things b ON b.id = c." + other +
			" WHERE a.name = c.name AND b.name = 'n' || 101 - substr(c.name, 2)::int AND c.id > 1 << 30"); n != 100 {
			t.Errorf("got %d rows that refer to the rows they did, want 100", n)
		}
		d.rollback(p)
		d.verify(p)
	}, "postgres")
}

// TestForeignKeysOfForeignKeys has foreign keys to columns that are references themselves: a composite key with a tenant in it, a key that is
// another's and that a third table refers to, of a table that nobody names; and one that was never validated.
func TestForeignKeysOfForeignKeys(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	for _, mode := range []migrate.Mode{migrate.Widen, migrate.Rekey} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			forEach(t, func(t *testing.T, d *database) {
				at := "timestamptz '2026-01-01 00:00Z' + n * interval '1 s'"
				d.exec("CREATE TABLE tenants (id serial PRIMARY KEY, created_at timestamptz NOT NULL)",
					"CREATE TABLE users (id serial PRIMARY KEY, tenant_id int NOT NULL REFERENCES tenants, created_at timestamptz NOT NULL, UNIQUE (tenant_id, id))",
					"CREATE TABLE notes (id serial PRIMARY KEY, tenant_id int NOT NULL, user_id int, created_at timestamptz NOT NULL, FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id))",
					"CREATE TABLE profiles (user_id int PRIMARY KEY REFERENCES users, name text)",
					"CREATE TABLE photos (id serial PRIMARY KEY, profile int REFERENCES profiles, created_at timestamptz NOT NULL, boss_id int)",
					"INSERT INTO tenants (created_at) SELECT "+at+" FROM generate_series(1, 10) n",
					"INSERT INTO users (tenant_id, created_at) SELECT 1 + n % 10, "+at+" FROM generate_series(1, 50) n",
					"INSERT INTO notes (tenant_id, user_id, created_at) SELECT 1 + n % 10, n, "+at+" FROM generate_series(1, 50) n",
					"INSERT INTO profiles SELECT id, 'p' || id FROM users",
					"INSERT INTO photos (profile, created_at, boss_id) SELECT n, "+at+", n + 45 FROM generate_series(1, 50) n",
					"ALTER TABLE photos ADD FOREIGN KEY (boss_id) REFERENCES users NOT VALID")
				p := d.plan(migrate.InspectOptions{Tables: []string{"tenants", "users", "notes", "photos"}}, migrate.PlanOptions{Mode: mode})
				d.run(p)
				for _, query := range []string{
					"SELECT count(*) FROM notes n JOIN users u ON u.tenant_id = n.tenant_id AND u.id = n.user_id JOIN tenants t ON t.id = u.tenant_id WHERE n.created_at = u.created_at",
					"SELECT count(*) FROM photos p JOIN profiles r ON r.user_id = p.profile JOIN users u ON u.id = r.user_id WHERE u.created_at = p.created_at",
					"SELECT 45 + count(*) FROM photos p JOIN users u ON u.id = p.boss_id",
				} {
					if n := d.number(query); n != 50 {
						t.Errorf("%s: got %d, want 50", query, n)
					}
				}
				d.verify(p)
			}, "postgres")
		})
	}
}
