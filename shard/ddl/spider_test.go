package ddl_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/shard"
	"github.com/snowkey-go/snowkey/shard/ddl"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestSpider has a table's rows on two servers, and none on the head.
func TestSpider(t *testing.T) {
	head := dbtest.StartMySQL(t)
	db := head.Database(t).Admin().Open(t) // who may install the plugin
	dbtest.RequirePlugin(t, db, "ha_spider.so", "mariadb-plugin-spider")

	remote, servers := map[string]*sql.DB{}, map[string]ddl.Server{}
	for _, name := range []string{"east", "West_2"} {
		database := dbtest.StartMySQL(t, "--log-output=TABLE", "--general-log=1").Database(t)
		config, err := mysql.ParseDSN(database.DriverDSN)
		if err != nil {
			t.Fatal(err)
		}
		remote[name] = database.Admin().Open(t) // who may read the server's log
		run(t, remote[name], "CREATE USER `s'p\"i\\d``er`@localhost IDENTIFIED BY 'p''a\\\\ss\"; --'", "GRANT ALL ON `"+config.DBName+"`.* TO `s'p\"i\\d``er`@localhost")
		servers[name] = ddl.Server{Socket: config.Addr, Database: config.DBName, User: "s'p\"i\\d`er", Password: `p'a\ss"; --`}
	}
	m := newMap(t, idgen.Sharded.Layout,
		shard.Shard{Name: "a", Database: "east", Suffix: "_0"}, shard.Shard{Name: "b", Database: "West_2", Suffix: "_1"}, shard.Shard{Name: "c", Database: "West_2", Suffix: "_2"})
	fleet, err := ddl.Table{Name: "Order", Key: "i`d", Columns: "`i``d` BIGINT NOT NULL, name VARCHAR(20) -- whose", Options: "DEFAULT CHARSET=utf8mb4", Map: m}.Spider(servers)
	if err != nil {
		t.Fatal(err)
	}
	for name, statements := range fleet.Remote {
		run(t, remote[name], statements...)
	}
	run(t, db, fleet.Install...)
	run(t, db, fleet.Install...)
	run(t, db, fleet.Servers...)
	run(t, db, fleet.Table...)

	var values []string
	for _, id := range idsOf(m) {
		values = append(values, fmt.Sprintf("(%d, 'ö%[1]d')", id))
	}
	run(t, db, "INSERT INTO `Order` VALUES "+strings.Join(values, ", "))
	for _, id := range idsOf(m) {
		s := shardOf(t, m, id)
		if got := rows(t, remote[s.Database], fmt.Sprintf("SELECT name FROM `Order%s` WHERE `i``d` = %d", s.Suffix, id)); len(got) != 1 || got[0] != fmt.Sprintf("ö%d", id) {
			t.Errorf("id %d: the shard %s of the database %s has %v, want one row", id, s.Name, s.Database, got)
		}
		if got := rows(t, db, fmt.Sprintf("SELECT name FROM `Order` WHERE `i``d` = %d", id)); len(got) != 1 || got[0] != fmt.Sprintf("ö%d", id) {
			t.Errorf("the head finds %v for the id %d", got, id)
		}
		for name, server := range remote {
			// Spider's queries have letters as they are, and end in the number.
			asked := rows(t, server, fmt.Sprintf("SELECT COUNT(*) FROM mysql.general_log WHERE BINARY argument LIKE 'select%%from%%Order%%= %d'", id))[0]
			if want := map[bool]string{true: "1", false: "0"}[name == s.Database]; asked != want {
				t.Errorf("the server %s was asked %s times for the id %d of the database %s, want %s", name, asked, id, s.Database, want)
			}
		}
	}
	if got, want := rows(t, db, "SELECT COUNT(*) FROM `Order`")[0], fmt.Sprint(len(idsOf(m))); got != want {
		t.Errorf("the head counts %s rows, want %s", got, want)
	}
	id := idsOf(m)[1] // of bucket 1
	refused(t, db, fmt.Sprintf("INSERT INTO `Order` VALUES (%d, '')", id), "Duplicate entry")
	refused(t, db, "INSERT INTO `Order` VALUES (-1024, '')", "CONSTRAINT")
	refused(t, remote["West_2"], fmt.Sprintf("INSERT INTO Order_1 VALUES (%d, '')", id+1), "CONSTRAINT")
	// The row goes to the server of its new id.
	moved := id + 2 // of bucket 3
	run(t, db, fmt.Sprintf("UPDATE `Order` SET `i``d` = %d WHERE `i``d` = %d", moved, id))
	if got := rows(t, remote["east"], fmt.Sprintf("SELECT name FROM `Order_0` WHERE `i``d` = %d", moved)); len(got) != 1 || got[0] != fmt.Sprintf("ö%d", id) {
		t.Errorf("after the id changed, its table has the rows %v, want the one that was %d", got, id)
	}

	// By its address.
	far, err := ddl.Table{Name: "far", Key: "id", Columns: "id BIGINT", Map: newMap(t, idgen.Sharded.Layout, shard.Shard{Name: "a", Database: "far"})}.
		Spider(map[string]ddl.Server{"far": {Host: "h'o\\st", Port: 3307, Database: "d'b", User: "u", Password: "p"}})
	if err != nil {
		t.Fatal(err)
	}
	run(t, db, far.Servers...)
	if got, want := rows(t, db, "SELECT Host, Port, Db, Username, Password FROM mysql.servers WHERE Server_name = 'far'")[0], `h'o\st|3307|d'b|u|p`; got != want {
		t.Errorf("got the server %s, want %s", got, want)
	}
}
