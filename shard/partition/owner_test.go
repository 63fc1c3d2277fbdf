package partition_test

import (
	"database/sql"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// The owner of a table owns its partitions too, whoever makes them, and alters all of them.
func TestOwnerOfPartitions(t *testing.T) {
	e := newEngine(t, dbtest.Postgres(t))
	name := e.texts(t, "SELECT current_database()")[0]
	owner, member := `"the `+name+`"`, "m"+name
	e.exec(t, "CREATE ROLE "+owner)
	e.exec(t, "CREATE ROLE "+member+" IN ROLE "+owner)
	t.Cleanup(func() {
		if err := e.drop(owner, member); err != nil {
			t.Error(err)
		}
	})
	e.exec(t, "GRANT CREATE, USAGE ON SCHEMA public TO "+owner)
	for _, role := range []string{"a superuser", member} {
		plain, divided := *e, *e
		config, err := pgx.ParseConfig(e.database.DriverDSN)
		if err != nil {
			t.Fatal(err)
		}
		if role == member {
			config.RuntimeParams["role"] = member
		}
		divided.db = stdlib.OpenDB(*config)
		plain.exec(t, "CREATE TABLE orders (id bigint PRIMARY KEY, note text)")
		e.exec(t, "ALTER TABLE orders OWNER TO "+owner)
		if _, err := divided.adopter(t).Adopt(t.Context()); err != nil {
			t.Errorf("as %s: %v", role, err)
		}
		now := time.Now().Add(5 * 24 * time.Hour)
		e.insert(t, now, 0) // which is moved
		run(t, divided.keeper(t, orders(), &now))
		query := "SELECT DISTINCT CAST(relowner::regrole AS text) FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace"
		if got := e.texts(t, query); !slices.Equal(got, []string{owner}) {
			t.Errorf("as %s: got the owners %q, want %s alone", role, got, owner)
		}
		for _, statement := range []string{"SET ROLE " + owner + "; ALTER TABLE orders ADD COLUMN more int; RESET ROLE", "DROP TABLE orders"} {
			e.exec(t, statement)
		}
		if err := divided.db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// drop drops roles.
func (e *engine) drop(roles ...string) error {
	db, err := sql.Open(e.database.DriverName, e.database.DriverDSN)
	if err != nil {
		return err
	}
	for _, role := range roles {
		_, owned := db.Exec("DROP OWNED BY " + role + " CASCADE")
		_, dropped := db.Exec("DROP ROLE " + role)
		err = errors.Join(err, owned, dropped)
	}
	return errors.Join(err, db.Close())
}
