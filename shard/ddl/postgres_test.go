package ddl_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/shard"
	"github.com/snowkey-go/snowkey/shard/ddl"
)

// TestPostgresKeys uses the one primary key that the whole table has.
func TestPostgresKeys(t *testing.T) {
	for engine, layout := range map[ddl.Engine]idgen.Layout{ddl.PostgresRange: idgen.Scattered.Layout, ddl.PostgresHash: idgen.Sharded.Layout} {
		t.Run(string(engine), func(t *testing.T) {
			f := starts[engine](t)(t)
			table := ddl.Table{Name: "orders", Key: "id", Columns: "id bigint NOT NULL, n int", Layout: layout, Shards: 4}
			script, err := table.Create(engine)
			if err != nil {
				t.Fatal(err)
			}
			f.apply(t, script)
			id := idsOf(layout, 3)[1]
			for range 2 {
				run(t, f.pool, fmt.Sprintf("INSERT INTO orders VALUES (%d, 1) ON CONFLICT (id) DO UPDATE SET n = orders.n + 1", id))
			}
			if got := rows(t, f.pool, "SELECT n FROM orders"); len(got) != 1 || got[0] != "2" {
				t.Errorf("got the rows %v, want one with 2", got)
			}
			run(t, f.pool, "CREATE TABLE items (order_id bigint REFERENCES orders)", fmt.Sprintf("INSERT INTO items VALUES (%d)", id))
			refused(t, f.pool, "INSERT INTO items VALUES (7)", "foreign key constraint")

			// PostgreSQL detaches no partition with a row that is referred to. The statement does all or nothing.
			grown, err := table.Grow(engine, 8)
			if err != nil {
				t.Fatal(err)
			}
			first := map[ddl.Engine]int{ddl.PostgresRange: 1, ddl.PostgresHash: 4}[engine] // of the partition with the row
			refused(t, f.pool, grown.Table[first], "violates foreign key constraint")
			if got := rows(t, f.pool, "SELECT n FROM orders"); len(got) != 1 {
				t.Errorf("after the growth was refused there are the rows %v, want one", got)
			}
			run(t, f.pool, "ALTER TABLE items DROP CONSTRAINT items_order_id_fkey")
			f.apply(t, grown)
			run(t, f.pool, "ALTER TABLE items ADD FOREIGN KEY (order_id) REFERENCES orders", "TRUNCATE items")

			// The row goes to the partition of its new id.
			table.Shards = 8
			last := idsOf(layout, layout.Max(idgen.Shard))[0]
			run(t, f.pool, fmt.Sprintf("UPDATE orders SET id = %d", last))
			want, err := table.Partition(engine, layout.Max(idgen.Shard))
			if err != nil {
				t.Fatal(err)
			}
			if got := rows(t, f.pool, "SELECT tableoid::regclass FROM orders"); got[0] != want {
				t.Errorf("the row is in %s, want %s", got[0], want)
			}
		})
	}
}

// TestPostgresClass divides two tables by one operator class, one after the other and with different numbers of shards, and reads them by
// numbers of 32 bits.
func TestPostgresClass(t *testing.T) {
	f := starts[ddl.PostgresHash](t)(t)
	for name, shards := range map[string]int{"orders": 4, "items": 6} {
		script, err := ddl.Table{Name: name, Key: "id", Columns: "id bigint NOT NULL", Layout: idgen.Sharded.Layout, Shards: shards}.Create(ddl.PostgresHash)
		if err != nil {
			t.Fatal(err)
		}
		f.apply(t, script)
	}
	if got := rows(t, f.pool, "SELECT COUNT(*) FROM pg_opclass WHERE opcname = 'snowkey_bucket_1024_0'")[0]; got != "1" {
		t.Errorf("there are %s operator classes, want one", got)
	}
	if got := f.reads(t, "SELECT * FROM orders WHERE id = 5"); len(got) != 4 {
		t.Errorf("by an integer of 32 bits reads %v; when it prunes, doc.go should say so", got)
	}
	if got := f.reads(t, "SELECT * FROM orders WHERE id = 5::bigint"); len(got) != 1 {
		t.Errorf("by a bigint reads %v, want one", got)
	}
	// Any modulus: 3 has no part in 1024.
	run(t, f.pool, "INSERT INTO items SELECT g FROM generate_series(0, 2047) g")
	if got := rows(t, f.pool, "SELECT COUNT(*) FROM items_0005 WHERE (id & 1023) % 6 <> 5")[0]; got != "0" {
		t.Errorf("%s rows are in the wrong partition", got)
	}
}

// TestPostgresListsAsMuchAsItCan makes a partition of the most buckets that a shard may have, of the longest numbers, and none of one more.
func TestPostgresListsAsMuchAsItCan(t *testing.T) {
	wide := newLayout(t, idgen.Snowkey.Unit(), idgen.Time.Bits(41), idgen.Sequence.Bits(4), idgen.Shard.Bits(16))
	table := ddl.Table{Name: "orders", Key: "id", Columns: "id bigint NOT NULL", Layout: wide, Shards: 110} // 596 buckets
	db := dbtest.Postgres(t).Open(t)
	script, err := table.Create(ddl.PostgresList)
	if err != nil {
		t.Fatal(err)
	}
	run(t, db, script.Table[:3]...)
	table.Shards = 109 // 602
	if _, err := table.Create(ddl.PostgresList); !errors.Is(err, shard.ErrTables) {
		t.Errorf("got %v of shards with 602 buckets, which PostgreSQL may refuse, want ErrTables", err)
	}
}

// TestPostgresExpressions holds the documentation to what the server says of other ways to divide a table.
func TestPostgresExpressions(t *testing.T) {
	db := dbtest.Postgres(t).Open(t)
	refused(t, db, "CREATE TABLE t (id bigint PRIMARY KEY) PARTITION BY LIST ((id & 1023))", "unsupported PRIMARY KEY constraint with partition key")
	refused(t, db, "CREATE TABLE t (id bigint, bucket int GENERATED ALWAYS AS (id & 1023) STORED) PARTITION BY LIST (bucket)", "cannot use generated column in partition key")
	refused(t, db, "CREATE TABLE t (id bigint PRIMARY KEY, bucket int) PARTITION BY LIST (bucket)", "unique constraint on partitioned table must include all partitioning columns")
}

// TestPostgresRangeNeedsNoAdministrator makes and grows a table as a role without any privilege but that of making tables.
func TestPostgresRangeNeedsNoAdministrator(t *testing.T) {
	for engine, layout := range map[ddl.Engine]idgen.Layout{ddl.PostgresRange: idgen.Scattered.Layout, ddl.PostgresList: idgen.Sharded.Layout} {
		t.Run(string(engine), func(t *testing.T) {
			db := dbtest.Postgres(t).Open(t)
			db.SetMaxOpenConns(1)
			role := "plain_" + strings.ReplaceAll(string(engine), "-", "_") + fmt.Sprint(rows(t, db, "SELECT oid FROM pg_database WHERE datname = current_database()")[0])
			run(t, db, "CREATE ROLE "+role, "CREATE SCHEMA own AUTHORIZATION "+role, "SET ROLE "+role)
			t.Cleanup(func() { _, _ = db.Exec("RESET ROLE; DROP OWNED BY " + role + "; DROP ROLE " + role) })
			table := ddl.Table{Name: "own.orders", Key: "id", Columns: "id bigint NOT NULL", Layout: layout, Shards: 4}
			script, err := table.Create(engine)
			if err != nil {
				t.Fatal(err)
			}
			grown, err := table.Grow(engine, 8)
			if err != nil {
				t.Fatal(err)
			}
			if len(script.Install)+len(grown.Install) > 0 {
				t.Errorf("to install there is %v", script.Install)
			}
			run(t, db, script.Table...)
			run(t, db, grown.Table...)

			// An administrator leaves the tables whose they are.
			table.Shards = 8
			if grown, err = table.Grow(engine, 16); err != nil {
				t.Fatal(err)
			}
			run(t, db, "RESET ROLE")
			run(t, db, grown.Table...)
			if got := rows(t, db, "SELECT DISTINCT relowner::regrole FROM pg_class WHERE relnamespace = 'own'::regnamespace AND relkind IN ('r', 'p')"); len(got) != 1 || got[0] != role {
				t.Errorf("the tables are of %v, want %s", got, role)
			}
		})
	}
}

// TestPostgresGeneratedColumns has a growth refused as doc.go says, and all rows where they were.
func TestPostgresGeneratedColumns(t *testing.T) {
	db := dbtest.Postgres(t).Open(t)
	table := ddl.Table{Name: "orders", Key: "id", Columns: "id bigint NOT NULL, twice bigint GENERATED ALWAYS AS (id / 2) STORED", Layout: idgen.Scattered.Layout, Shards: 1}
	script, err := table.Create(ddl.PostgresRange)
	if err != nil {
		t.Fatal(err)
	}
	run(t, db, script.Table...)
	run(t, db, fmt.Sprintf("INSERT INTO orders VALUES (8), (%d)", int64(1)<<62))
	if script, err = table.Grow(ddl.PostgresRange, 2); err != nil {
		t.Fatal(err)
	}
	refused(t, db, script.Table[1], "generated column", "non-DEFAULT value")
	if got := rows(t, db, "SELECT COUNT(*) FROM orders_0000")[0]; got != "2" {
		t.Errorf("the shard has %s rows, want 2", got)
	}
}
