package ddl_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/shard/ddl"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestMySQL has rows in the partitions of their buckets, and reads one partition for one id.
func TestMySQL(t *testing.T) {
	version := dbtest.MySQLServer(t).Version()
	for name, m := range dividing(t) {
		t.Run(name, func(t *testing.T) {
			db := dbtest.MySQL(t).Open(t)
			key := "`" + strings.ReplaceAll(hostileKey, "`", "``") + "`"
			table := "`" + strings.ReplaceAll(strings.ReplaceAll(strings.Trim(hostileTable, `"`), `""`, `"`), "`", "``") + "`"
			statements, err := ddl.Table{
				Name: hostileTable, Key: hostileKey, Columns: key + " BIGINT NOT NULL, user_id BIGINT NOT NULL -- whose", Options: "DEFAULT CHARSET=utf8mb4", Map: m,
			}.MySQL()
			if err != nil {
				t.Fatal(err)
			}
			run(t, db, statements...)
			for _, id := range idsOf(m) {
				run(t, db, fmt.Sprintf("INSERT INTO %s (%s, user_id) VALUES (%d, 1)", table, key, id))
				want := shardOf(t, m, id).Name
				if got := rows(t, db, fmt.Sprintf("SELECT COUNT(*) FROM %s PARTITION (`%s`) WHERE %s = %d", table, want, key, id)); got[0] != "1" {
					t.Errorf("id %d is in its partition %s %s times, want once", id, want, got[0])
				}
				if got := mysqlPartitions(t, db, version, fmt.Sprintf("SELECT * FROM %s WHERE %s = %d", table, key, id)); got != want {
					t.Errorf("a query by the id %d reads the partitions %s, want %s", id, got, want)
				}
			}
			if got, want := rows(t, db, "SELECT COUNT(*) FROM "+table)[0], fmt.Sprint(len(idsOf(m))); got != want {
				t.Errorf("got %s rows, want %s", got, want)
			}
			refused(t, db, fmt.Sprintf("INSERT INTO %s (%s, user_id) VALUES (%d, 1)", table, key, idsOf(m)[1]), "Duplicate entry")
			refused(t, db, fmt.Sprintf("INSERT INTO %s (%s, user_id) VALUES (-1024, 1)", table, key), "CONSTRAINT", "constraint")
		})
	}
}

// mysqlPartitions returns which partitions a query reads.
func mysqlPartitions(t testing.TB, db *sql.DB, version, query string) string {
	t.Helper()
	explain, column := "EXPLAIN PARTITIONS ", 3
	if !strings.HasPrefix(version, "MariaDB") { // which has them in every EXPLAIN
		explain = "EXPLAIN FORMAT=TRADITIONAL "
	}
	return strings.Split(rows(t, db, explain+query)[0], "|")[column]
}

// TestMySQLExpressions holds the documentation to what the server says of other ways to divide a table.
func TestMySQLExpressions(t *testing.T) {
	version := dbtest.MySQLServer(t).Version()
	db := dbtest.MySQL(t).Open(t)
	create := "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, email VARCHAR(20)) PARTITION BY "
	refused(t, db, create+"LIST (id & 3) (PARTITION a VALUES IN (0,1,2,3))", "partition function is not allowed")
	refused(t, db, create+"HASH (id & 3) PARTITIONS 4", "partition function is not allowed")
	refused(t, db, create+"RANGE (id & 3) (PARTITION a VALUES LESS THAN (4))", "partition function is not allowed")
	refused(t, db, strings.Replace(create, "VARCHAR(20)", "VARCHAR(20) UNIQUE", 1)+"LIST (id MOD 4) (PARTITION a VALUES IN (0,1,2,3))", "UNIQUE")

	run(t, db, create+"LIST (id MOD 4) (PARTITION a VALUES IN (0,2), PARTITION b VALUES IN (1,3))",
		"INSERT INTO t (id) VALUES (4), (5), (6), (7)")
	for condition, want := range map[string]string{"id = 5": "b", "id IN (5, 7)": "b", "id BETWEEN 1 AND 99": "a,b", "email = 'x'": "a,b", "id & 3 = 1": "a,b", "id MOD 4 = 1": "a,b"} {
		if got := mysqlPartitions(t, db, version, "SELECT * FROM t WHERE "+condition); got != want {
			t.Errorf("WHERE %s: reads the partitions %s, want %s", condition, got, want)
		}
	}
}
