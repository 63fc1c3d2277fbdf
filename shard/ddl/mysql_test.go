package ddl_test

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestMySQLExpressions holds the documentation to what the server says of other ways to divide a table.
func TestMySQLExpressions(t *testing.T) {
	db := dbtest.MySQL(t).Open(t)
	create := "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, email VARCHAR(20)) PARTITION BY "
	refused(t, db, create+"LIST (id & 3) (PARTITION a VALUES IN (0,1,2,3))", "partition function is not allowed")
	refused(t, db, create+"HASH (id & 3) PARTITIONS 4", "partition function is not allowed")
	refused(t, db, create+"RANGE (id & 3) (PARTITION a VALUES LESS THAN (4))", "partition function is not allowed")
	refused(t, db, strings.Replace(create, "VARCHAR(20)", "VARCHAR(20) UNIQUE", 1)+"LIST (id MOD 4) (PARTITION a VALUES IN (0,1,2,3))", "UNIQUE")
	refused(t, db, strings.Replace(create, "VARCHAR(20)", "VARCHAR(20), FOREIGN KEY (id) REFERENCES u (id)", 1)+"RANGE (id) (PARTITION a VALUES LESS THAN MAXVALUE)", "FOREIGN KEY", "oreign key")

	run(t, db, create+"LIST (id MOD 4) (PARTITION a VALUES IN (0,2), PARTITION b VALUES IN (1,3))",
		"INSERT INTO t (id) VALUES (4), (5), (6), (7)")
	for condition, want := range map[string]string{"id = 5": "b", "id IN (5, 7)": "b", "id BETWEEN 1 AND 99": "a,b", "email = 'x'": "a,b", "id & 3 = 1": "a,b", "id MOD 4 = 1": "a,b"} {
		if got := mysqlPartitions(t, db, "SELECT * FROM t WHERE "+condition); got != want {
			t.Errorf("WHERE %s: reads the partitions %s, want %s", condition, got, want)
		}
	}
	run(t, db, strings.Replace(create, "TABLE t", "TABLE r", 1)+"RANGE (id) (PARTITION a VALUES LESS THAN (6), PARTITION b VALUES LESS THAN MAXVALUE)", "INSERT INTO r (id) VALUES (4), (5), (6), (7)")
	for condition, want := range map[string]string{"id = 5": "a", "id IN (6, 7)": "b", "id BETWEEN 6 AND 99": "b", "email = 'x' AND id BETWEEN 0 AND 5": "a", "id BETWEEN 7 AND 8 OR id < 2": "a,b"} {
		if got := mysqlPartitions(t, db, "SELECT * FROM r WHERE "+condition); got != want {
			t.Errorf("WHERE %s: reads the partitions %s, want %s", condition, got, want)
		}
	}
}

// mysqlPartitions returns which partitions a query reads.
func mysqlPartitions(t testing.TB, db *sql.DB, query string) string {
	t.Helper()
	explain := "EXPLAIN PARTITIONS "
	if !strings.HasPrefix(dbtest.MySQLServer(t).Version(), "MariaDB") { // which has them in every EXPLAIN
		explain = "EXPLAIN FORMAT=TRADITIONAL "
	}
	return strings.Split(rows(t, db, explain+query)[0], "|")[3]
}
