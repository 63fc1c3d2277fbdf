package ddl_test

import (
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/shard"
	"github.com/snowkey-go/snowkey/shard/ddl"
)

// eight is a layout of eight buckets; those of [idgen.Sharded] would fill pages.
func eight() idgen.Layout {
	layout, err := idgen.NewLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond,
		idgen.Time.Bits(41), idgen.Node.Bits(8), idgen.Sequence.Bits(11), idgen.Shard.Bits(3))
	if err != nil {
		log.Fatal(err)
	}
	return layout
}

func ExampleTable_MySQL() {
	m, err := shard.NewMap(eight(), shard.Tables(2)...)
	if err != nil {
		log.Fatal(err)
	}
	statements, err := ddl.Table{
		Name: "orders", Key: "id", Columns: "id BIGINT NOT NULL, user_id BIGINT NOT NULL, KEY (user_id)", Options: "DEFAULT CHARSET=utf8mb4", Map: m,
	}.MySQL()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.Join(statements, ";\n"))
	// Output:
	// CREATE TABLE `orders` (
	// id BIGINT NOT NULL, user_id BIGINT NOT NULL, KEY (user_id)
	// , PRIMARY KEY (`id`)
	// , CHECK (`id` >= 0)
	// ) DEFAULT CHARSET=utf8mb4
	//  PARTITION BY LIST (`id` MOD 8) (
	// PARTITION `00` VALUES IN (0,2,4,6),
	// PARTITION `01` VALUES IN (1,3,5,7)
	// )
}

func ExampleTable_PostgresHash() {
	m, err := shard.NewMap(eight(), shard.Tables(2)...)
	if err != nil {
		log.Fatal(err)
	}
	statements, err := ddl.Table{Name: "orders", Key: "id", Columns: "id bigint NOT NULL, user_id bigint NOT NULL", Map: m}.PostgresHash()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.Join(statements, ";\n"))
	// Output:
	// CREATE FUNCTION "orders_shard"(id bigint, seed bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS 'BEGIN RETURN (id & 7) % 2 - 5305509591434766563; END';
	// CREATE OPERATOR CLASS "orders_shard" FOR TYPE bigint USING hash AS OPERATOR 1 =, FUNCTION 2 "orders_shard"(bigint, bigint);
	// CREATE TABLE "orders" (
	// id bigint NOT NULL, user_id bigint NOT NULL
	// , PRIMARY KEY ("id")
	// , CHECK ("id" >= 0)
	// ) PARTITION BY HASH ("id" "orders_shard");
	// CREATE TABLE "orders_00" PARTITION OF "orders" FOR VALUES WITH (MODULUS 2, REMAINDER 0);
	// CREATE TABLE "orders_01" PARTITION OF "orders" FOR VALUES WITH (MODULUS 2, REMAINDER 1)
}

func ExampleTable_Spider() {
	m, err := shard.NewMap(eight(), shard.Shard{Name: "a", Database: "east"}, shard.Shard{Name: "b", Database: "west"})
	if err != nil {
		log.Fatal(err)
	}
	fleet, err := ddl.Table{Name: "orders", Key: "id", Columns: "id BIGINT NOT NULL, user_id BIGINT NOT NULL", Map: m}.Spider(map[string]ddl.Server{
		"east": {Host: "10.0.0.1", Database: "shop", User: "head", Password: "from the vault"},
		"west": {Host: "10.0.0.2", Database: "shop", User: "head", Password: "from the vault"},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("-- on east")
	fmt.Println(strings.Join(fleet.Remote["east"], ";\n"))
	fmt.Println("-- on the head")
	fmt.Println(strings.Join(fleet.Table, ";\n"))
	// Output:
	// -- on east
	// CREATE TABLE `orders` (
	// id BIGINT NOT NULL, user_id BIGINT NOT NULL
	// , PRIMARY KEY (`id`)
	// , CHECK (`id` >= 0 AND (`id` & 7) IN (0,2,4,6))
	// )
	// -- on the head
	// CREATE TABLE `orders` (
	// id BIGINT NOT NULL, user_id BIGINT NOT NULL
	// , PRIMARY KEY (`id`)
	// , CHECK (`id` >= 0)
	// ) ENGINE=SPIDER COMMENT='wrapper "mysql"' PARTITION BY LIST (`id` MOD 8) (
	// PARTITION `a` VALUES IN (0,2,4,6) COMMENT = 'server "east", table "orders"',
	// PARTITION `b` VALUES IN (1,3,5,7) COMMENT = 'server "west", table "orders"'
	// )
}

func ExampleTable_Foreign() {
	m, err := shard.NewMap(eight(), shard.Shard{Name: "here", Suffix: "_here"}, shard.Shard{Name: "far", Database: "west"})
	if err != nil {
		log.Fatal(err)
	}
	fleet, err := ddl.Table{Name: "orders", Key: "id", Columns: "id bigint NOT NULL, user_id bigint NOT NULL", Map: m}.Foreign(map[string]ddl.Server{
		"west": {Host: "10.0.0.2", Database: "shop", User: "head", Password: "from the vault", Role: "app"},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.Join(fleet.Table[3:], ";\n"))
	// Output:
	// CREATE TABLE "orders_here" PARTITION OF "orders" (PRIMARY KEY ("id")) FOR VALUES WITH (MODULUS 2, REMAINDER 0);
	// CREATE FOREIGN TABLE "orders_far" PARTITION OF "orders" FOR VALUES WITH (MODULUS 2, REMAINDER 1) SERVER "west" OPTIONS (schema_name E'public', table_name E'orders')
}
