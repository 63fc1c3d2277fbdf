package ddl_test

import (
	"fmt"
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
