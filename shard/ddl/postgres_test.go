package ddl_test

import (
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/shard"
	"github.com/snowkey-go/snowkey/shard/ddl"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestPostgres has rows in the partitions of their buckets, and reads one partition for one id.
func TestPostgres(t *testing.T) {
	for form, statementsOf := range map[string]func(ddl.Table) ([]string, error){"hash": ddl.Table.PostgresHash, "list": ddl.Table.PostgresList} {
		for name, m := range dividing(t) {
			t.Run(form+"/"+name, func(t *testing.T) {
				db := dbtest.Postgres(t).Open(t)
				if form == "hash" && rows(t, db, "SHOW is_superuser")[0] != "on" {
					t.Skip("the user of SNOWKEY_TEST_POSTGRES is no superuser, and makes no operator class")
				}
				run(t, db, `CREATE SCHEMA "S ""c"`)
				schema := `"S ""c".`
				key := `"` + strings.ReplaceAll(hostileKey, `"`, `""`) + `"`
				table := schema + hostileTable
				statements, err := statementsOf(ddl.Table{
					Name: schema + hostileTable, Key: hostileKey, Columns: key + " bigint NOT NULL, user_id bigint NOT NULL -- whose", Map: m,
				})
				if err != nil {
					t.Fatal(err)
				}
				run(t, db, statements...)
				for _, id := range idsOf(m) {
					run(t, db, fmt.Sprintf("INSERT INTO %s (%s, user_id) VALUES (%d, 1)", table, key, id))
					want := shardOf(t, m, id).Suffix
					if got := rows(t, db, fmt.Sprintf("SELECT relname FROM %s JOIN pg_class c ON c.oid = %[1]s.tableoid WHERE %s = %d", table, key, id)); len(got) != 1 || !strings.HasSuffix(got[0], want) {
						t.Errorf("id %d is in %v, want one table with %s at its end", id, got, want)
					}
					if got := postgresReads(t, db, fmt.Sprintf("SELECT * FROM %s WHERE %s = $1::bigint", table, key), id); form == "hash" && got != 1 {
						t.Errorf("a query by the id %d reads %d partitions, want one", id, got)
					}
				}
				if form == "list" {
					expression := key + " & 1023"
					if name == "scattered" {
						expression = "((" + key + " >> 53) & 1023)"
					}
					condition := fmt.Sprintf("SELECT * FROM %s WHERE %s = $1::bigint AND (%s) = %s", table, key, expression, strings.ReplaceAll(expression, key, "$1::bigint"))
					if got := postgresReads(t, db, condition, idsOf(m)[5]); got != 1 {
						t.Errorf("%s: reads %d partitions, want one", condition, got)
					}
				}
				if got, want := rows(t, db, "SELECT COUNT(*) FROM "+table)[0], fmt.Sprint(len(idsOf(m))); got != want {
					t.Errorf("got %s rows, want %s", got, want)
				}
				refused(t, db, fmt.Sprintf("INSERT INTO %s (%s, user_id) VALUES (%d, 1)", table, key, idsOf(m)[1]), "duplicate key")
				refused(t, db, fmt.Sprintf("INSERT INTO %s (%s, user_id) VALUES (-1024, 1)", table, key), "check constraint")
				refused(t, db, fmt.Sprintf("INSERT INTO %s (%s, user_id) VALUES (NULL, 1)", table, key), "null value", "no partition")
			})
		}
	}
}

// postgresReads returns how many partitions a query for an id reads.
func postgresReads(t testing.TB, db *sql.DB, query string, id int64) int {
	t.Helper()
	query = strings.ReplaceAll(query, "$1", fmt.Sprint(id))
	scans := 0
	for _, line := range rows(t, db, "EXPLAIN "+query) {
		if strings.Contains(line, "Scan ") && strings.Contains(line, " on ") && !strings.Contains(line, "Bitmap Index Scan") {
			scans++
		}
	}
	return scans
}

// TestPostgresHashKeys uses the one primary key that the whole table has.
func TestPostgresHashKeys(t *testing.T) {
	db := dbtest.Postgres(t).Open(t)
	if rows(t, db, "SHOW is_superuser")[0] != "on" {
		t.Skip("the user of SNOWKEY_TEST_POSTGRES is no superuser, and makes no operator class")
	}
	m := dividing(t)["even"]
	statements, err := ddl.Table{Name: "orders", Key: "id", Columns: "id bigint NOT NULL, n int", Map: m}.PostgresHash()
	if err != nil {
		t.Fatal(err)
	}
	run(t, db, statements...)
	id := idsOf(m)[4]
	for range 2 {
		run(t, db, fmt.Sprintf("INSERT INTO orders VALUES (%d, 1) ON CONFLICT (id) DO UPDATE SET n = orders.n + 1", id))
	}
	if got := rows(t, db, "SELECT n FROM orders"); len(got) != 1 || got[0] != "2" {
		t.Errorf("got the rows %v, want one with 2", got)
	}
	run(t, db, "CREATE TABLE items (order_id bigint REFERENCES orders)", fmt.Sprintf("INSERT INTO items VALUES (%d)", id))
	refused(t, db, fmt.Sprintf("INSERT INTO items VALUES (%d)", id+1), "foreign key constraint")
	// The row goes to the partition of its new id.
	run(t, db, "DELETE FROM items", fmt.Sprintf("UPDATE orders SET id = %d", id+1))
	if got, want := rows(t, db, "SELECT tableoid::regclass FROM orders")[0], shardOf(t, m, id+1).Table("orders"); got != want {
		t.Errorf("the row is in %s, want %s", got, want)
	}
	if got := postgresReads(t, db, "SELECT * FROM orders WHERE id IN ($1, $1 + 1024, $1 + 3072)", id&^1023); got == 0 || got > 3 {
		t.Errorf("reads %d partitions", got)
	}
}

// TestPostgresListsAsMuchAsItCan makes a partition of the most buckets that a shard may have, of the longest numbers, and none of one more.
func TestPostgresListsAsMuchAsItCan(t *testing.T) {
	wide, err := idgen.NewLayout(idgen.Snowkey.Epoch(), idgen.Snowkey.Unit(), idgen.Time.Bits(41), idgen.Sequence.Bits(4), idgen.Shard.Bits(16))
	if err != nil {
		t.Fatal(err)
	}
	m := newMap(t, wide, shard.Tables(1000)...)
	for random := rand.New(rand.NewPCG(1, 1)); len(m.Owned(0)) < 600; {
		if m, err = m.Move("000", 10000+random.Int64N(50000)); err != nil {
			t.Fatal(err)
		}
	}
	db := dbtest.Postgres(t).Open(t)
	statements, err := ddl.Table{Name: "orders", Key: "id", Columns: "id bigint NOT NULL", Map: m}.PostgresList()
	if err != nil {
		t.Fatal(err)
	}
	run(t, db, statements[:2]...)
	one := newMap(t, idgen.Sharded.Layout, shard.Tables(1)...)
	if _, err := (ddl.Table{Name: "orders", Key: "id", Columns: "id bigint NOT NULL", Map: one}).PostgresList(); !errors.Is(err, shard.ErrMap) {
		t.Errorf("got %v of a shard with 1,024 buckets, which PostgreSQL refuses, want ErrMap", err)
	}
}

// TestPostgresExpressions holds the documentation to what the server says of other ways to divide a table.
func TestPostgresExpressions(t *testing.T) {
	db := dbtest.Postgres(t).Open(t)
	refused(t, db, "CREATE TABLE t (id bigint PRIMARY KEY) PARTITION BY LIST ((id & 1023))", "unsupported PRIMARY KEY constraint with partition key")
	refused(t, db, "CREATE TABLE t (id bigint, bucket int GENERATED ALWAYS AS (id & 1023) STORED) PARTITION BY LIST (bucket)", "cannot use generated column in partition key")
	refused(t, db, "CREATE TABLE t (id bigint PRIMARY KEY, bucket int) PARTITION BY LIST (bucket)", "unique constraint on partitioned table must include all partitioning columns")
}
