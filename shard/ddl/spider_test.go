package ddl_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/shard/ddl"
)

// TestSpider has a table's rows on two servers, and none on the head, and asks for a row the server that has it.
func TestSpider(t *testing.T) {
	f := startSpider(t)(t)
	f.engine, f.preset = ddl.Spider, idgen.Sharded
	table := f.table("Order", "`i``d` BIGINT NOT NULL, name VARCHAR(20) -- whose", 4)
	table.Key, table.Options = "i`d", "DEFAULT CHARSET=utf8mb4"
	script, err := table.Create(f.engine)
	if err != nil {
		t.Fatal(err)
	}
	f.apply(t, script)
	f.apply(t, &ddl.Script{Install: script.Install}) // once more

	ids := []int64{4<<40 | 1, 4<<40 | 2, 1<<60 | 1023, 1<<62 | 512}
	var values []string
	for _, id := range ids {
		values = append(values, fmt.Sprintf("(%d, 'ö%[1]d')", id))
	}
	run(t, f.pool, "INSERT INTO `Order` VALUES "+strings.Join(values, ", "))
	for _, id := range ids {
		n := bucketIn(t, table.Layout, id) % 4
		has := f.servers[n%2].Name
		if got := rows(t, f.remote[has], fmt.Sprintf("SELECT name FROM `Order_%04d` WHERE `i``d` = %d", n, id)); len(got) != 1 || got[0] != fmt.Sprintf("ö%d", id) {
			t.Errorf("id %d: the shard %d of the server %s has %v, want one row", id, n, has, got)
		}
		if got := rows(t, f.pool, fmt.Sprintf("SELECT name FROM `Order` WHERE `i``d` = %d", id)); len(got) != 1 || got[0] != fmt.Sprintf("ö%d", id) {
			t.Errorf("the head finds %v for the id %d", got, id)
		}
		for name, server := range f.remote {
			// Spider's queries have letters as they are, and end in the number.
			asked := rows(t, server, fmt.Sprintf("SELECT COUNT(*) FROM mysql.general_log WHERE BINARY argument LIKE 'select%%from%%Order%%= %d'", id))[0]
			if want := map[bool]string{true: "1", false: "0"}[name == has]; asked != want {
				t.Errorf("the server %s was asked %s times for the id %d of %s, want %s", name, asked, id, has, want)
			}
		}
	}
	refused(t, f.pool, fmt.Sprintf("INSERT INTO `Order` VALUES (%d, '')", ids[0]), "Duplicate entry")
	refused(t, f.pool, "INSERT INTO `Order` VALUES (-1024, '')", "CONSTRAINT")
	refused(t, f.remote["West_2"], fmt.Sprintf("INSERT INTO Order_0001 VALUES (%d, '')", ids[0]+1), "CONSTRAINT")
	// The row goes to the server of its new id.
	moved := ids[0] + 3 // of bucket 4
	run(t, f.pool, fmt.Sprintf("UPDATE `Order` SET `i``d` = %d WHERE `i``d` = %d", moved, ids[0]))
	if got := rows(t, f.remote["east"], fmt.Sprintf("SELECT name FROM `Order_0000` WHERE `i``d` = %d", moved)); len(got) != 1 {
		t.Errorf("after the id changed, its table has the rows %v, want one", got)
	}

	// After the growth a head that was not told of it writes no row to where the others do not look.
	grown, err := table.Grow(f.engine, 8)
	if err != nil {
		t.Fatal(err)
	}
	f.apply(t, grown)
	if got := rows(t, f.remote["east"], fmt.Sprintf("SELECT name FROM `Order_0004` WHERE `i``d` = %d", moved)); len(got) != 1 {
		t.Errorf("after the growth the new shard has the rows %v, want one", got)
	}
	if got := rows(t, f.remote["east"], "SELECT COUNT(*) FROM Order_0000")[0]; got != map[bool]string{true: "1", false: "0"}[ids[3]&7 == 0] {
		t.Errorf("the old shard has %s rows", got)
	}
	refused(t, f.remote["east"], fmt.Sprintf("INSERT INTO Order_0000 VALUES (%d, '')", moved+1024), "CONSTRAINT")
	run(t, f.remote["east"], fmt.Sprintf("INSERT INTO Order_0004 VALUES (%d, '')", moved+1024))

	// By its address.
	far, err := ddl.Table{
		Name: "far", Key: "id", Columns: "id BIGINT", Layout: idgen.Sharded.Layout, Shards: 1,
		Servers: []ddl.Server{{Name: "far", Host: "h'o\\st", Port: 3307, Database: "d'b", User: "u", Password: "p"}},
	}.Create(ddl.Spider)
	if err != nil {
		t.Fatal(err)
	}
	run(t, f.admin, far.Servers...)
	if got, want := rows(t, f.admin, "SELECT Host, Port, Db, Username, Password FROM mysql.servers WHERE Server_name = 'far'")[0], `h'o\st|3307|d'b|u|p`; got != want {
		t.Errorf("got the server %s, want %s", got, want)
	}
}

// growingSpider returns a table of four shards with a row in each bucket, and the function that counts the rows of a table of the head.
func growingSpider(t *testing.T, fresh func(testing.TB) *fixture, name string) (*fixture, ddl.Table, func(from string) string) {
	f := fresh(t)
	f.engine, f.preset = ddl.Spider, idgen.Scattered
	table := f.table(name, "id BIGINT NOT NULL", 4)
	script, err := table.Create(f.engine)
	if err != nil {
		t.Fatal(err)
	}
	f.apply(t, script)
	var values []string
	for bucket := range int64(1024) {
		values = append(values, fmt.Sprintf("(%d)", bucket<<53|1))
	}
	run(t, f.pool, "INSERT INTO "+name+" VALUES "+strings.Join(values, ","))
	return f, table, func(from string) string { return rows(t, f.pool, "SELECT COUNT(*) FROM "+from)[0] }
}

// TestSpiderGrowth has a growth end well that was made for another table, was not prepared, or broke off.
func TestSpiderGrowth(t *testing.T) {
	fresh := startSpider(t)
	t.Run("of a table with a bucket alone, forgotten", func(t *testing.T) {
		name := strings.Repeat("o", 53) // the longest
		f, table, count := growingSpider(t, fresh, name)
		alone, err := table.Grow(f.engine, 4, 471)
		if err != nil {
			t.Fatal(err)
		}
		f.apply(t, alone)
		forgotten, err := table.Grow(f.engine, 8)
		if err != nil {
			t.Fatal(err)
		}
		f.elsewhere(t, forgotten.Remote)
		failed := f.force(t, forgotten.Table...)
		if len(failed) == 0 || !strings.Contains(failed[0].Error(), "is not divided as the flags") {
			t.Errorf("got the errors %v, want the check's first", failed)
		}
		if got := count(name); got != "1024" {
			t.Errorf("there are %s rows, want 1024", got)
		}
		swapped := table
		swapped.Alone, swapped.Servers = []int64{471}, []ddl.Server{f.servers[1], f.servers[0]}
		if forgotten, err = swapped.Grow(f.engine, 8); err != nil {
			t.Fatal(err)
		}
		if failed = f.force(t, forgotten.Table[:3]...); len(failed) != 1 {
			t.Errorf("with the servers swapped got the errors %v, want the check's", failed)
		}
	})
	t.Run("without the tables of a server", func(t *testing.T) {
		f, table, count := growingSpider(t, fresh, "orders")
		grown, err := table.Grow(f.engine, 8)
		if err != nil {
			t.Fatal(err)
		}
		run(t, f.remote["east"], grown.Remote["east"]...)
		if failed := f.force(t, grown.Table...); len(failed) == 0 {
			t.Error("all statements succeeded")
		}
		first := slices.Index(grown.Table, "START TRANSACTION")
		if got := count("orders_shrunk"); got != "1024" {
			t.Errorf("there are %s rows left of 1024, want all", got)
		}
		refused(t, f.pool, "SELECT COUNT(*) FROM orders", "doesn't exist") // and not less than all rows
		run(t, f.remote["West_2"], grown.Remote["West_2"]...)
		run(t, f.pool, "DROP TABLE orders_grown", grown.Table[3]) // Spider remembers that they were missing
		if failed := f.force(t, grown.Table[first:]...); len(failed) > 0 {
			t.Errorf("afterwards got the errors %v", failed)
		}
		if got := count("orders"); got != "1024" {
			t.Errorf("there are %s rows, want 1024", got)
		}
	})
	t.Run("broken off", func(t *testing.T) {
		f, table, count := growingSpider(t, fresh, "orders")
		grown, err := table.Grow(f.engine, 8)
		if err != nil {
			t.Fatal(err)
		}
		f.elsewhere(t, grown.Remote)
		run(t, f.remote["West_2"], fmt.Sprintf("INSERT INTO orders_0640 VALUES (%d)", int64(700)<<53|1))
		session, err := f.pool.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		begin := 0
		var failed error
		for i, s := range grown.Table {
			if s == "START TRANSACTION" {
				begin = i
			}
			if _, failed = session.ExecContext(t.Context(), s); failed != nil {
				break
			}
		}
		if failed == nil || !strings.Contains(failed.Error(), "Duplicate entry") {
			t.Fatalf("got the error %v, want that of the row that is there", failed)
		}
		run(t, session, "ROLLBACK")
		run(t, f.remote["West_2"], "DELETE FROM orders_0640")
		run(t, session, grown.Table[begin:]...)
		if got := count("orders"); got != "1024" {
			t.Errorf("there are %s rows, want 1024", got)
		}
		refused(t, f.pool, "SELECT 1 FROM orders_shrunk", "doesn't exist")
	})
}
