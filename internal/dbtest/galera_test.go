package dbtest_test

import (
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// A cluster is one database: what a node has committed the others have, also one that was cut off, or killed, meanwhile.
func TestGalera(t *testing.T) {
	dbtest.Long(t)
	cluster := dbtest.StartGalera(t, 3)
	databases := cluster.Databases(t, "wsrep_sync_wait=7")
	exec := func(node int, statement string) error {
		_, err := databases[node].Open(t).ExecContext(t.Context(), statement)
		return err
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	count := func(node, want int) {
		t.Helper()
		var got int
		must(databases[node].Open(t).QueryRowContext(t.Context(), "SELECT COUNT(*) FROM rows_of_all").Scan(&got))
		if got != want {
			t.Errorf("node %d: got %d rows, want %d", node, got, want)
		}
	}
	must(exec(0, "CREATE TABLE rows_of_all (id int PRIMARY KEY)"))
	must(exec(1, "INSERT INTO rows_of_all VALUES (1)"))
	count(2, 1)

	cluster.Isolate(t, 2, true)
	must(exec(1, "INSERT INTO rows_of_all VALUES (2)"))
	if err := exec(2, "INSERT INTO rows_of_all VALUES (3)"); err == nil {
		t.Error("a node that was cut off has written")
	}
	cluster.Isolate(t, 2, false)
	count(2, 2)

	pool := databases[0].Open(t)
	for i := range 200 {
		_, err := pool.ExecContext(t.Context(), "INSERT INTO rows_of_all VALUES (?)", 100+i)
		must(err)
	}
	must(cluster.Nodes[0].Kill()) // right after it has acknowledged the last one
	count(1, 202)
	must(exec(1, "INSERT INTO rows_of_all VALUES (4)"))
	cluster.Join(t, 0)
	cluster.Await(t, 3)
	count(0, 203)
}
