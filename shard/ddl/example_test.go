package ddl_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/shard"
	"github.com/snowkey-go/snowkey/shard/ddl"
)

// With the bucket on top of the layout, shards are ranges of ids: a plain primary key, and nothing that an administrator has to do.
func ExampleTable_Create() {
	script, err := ddl.Table{
		Name: "orders", Key: "id", ShardingKey: "user_id", Columns: "id BIGINT NOT NULL, user_id BIGINT NOT NULL",
		Layout: idgen.Scattered.Layout, Shards: 2,
	}.Create(ddl.PostgresRange)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.Join(script.Table, ";\n"))
	// Output:
	// CREATE TABLE "orders" (
	// id BIGINT NOT NULL, user_id BIGINT NOT NULL
	// , PRIMARY KEY ("id")
	// , CHECK ("id" >= 0)
	// ) PARTITION BY RANGE ("id");
	// CREATE TABLE "orders_0000" PARTITION OF "orders" FOR VALUES FROM (MINVALUE) TO (4611686018427387904);
	// CREATE TABLE "orders_0512" PARTITION OF "orders" FOR VALUES FROM (4611686018427387904) TO (MAXVALUE)
}

func ExampleTable_Create_mysql() {
	script, err := ddl.Table{
		Name: "orders", Key: "id", ShardingKey: "user_id", Columns: "id BIGINT NOT NULL, user_id BIGINT NOT NULL, KEY (user_id)",
		Options: "DEFAULT CHARSET=utf8mb4", Layout: idgen.Scattered.Layout, Shards: 4,
	}.Create(ddl.MySQL)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.Join(script.Table, ";\n"))
	// Output:
	// CREATE TABLE `orders` (
	// id BIGINT NOT NULL, user_id BIGINT NOT NULL, KEY (user_id)
	// , PRIMARY KEY (`id`)
	// , CHECK (`id` >= 0)
	// ) DEFAULT CHARSET=utf8mb4
	//  PARTITION BY RANGE (`id`) (
	// PARTITION `p0000` VALUES LESS THAN (2305843009213693952),
	// PARTITION `p0256` VALUES LESS THAN (4611686018427387904),
	// PARTITION `p0512` VALUES LESS THAN (6917529027641081856),
	// PARTITION `p0768` VALUES LESS THAN MAXVALUE
	// )
}

// With the bucket in the low bits PostgreSQL divides by an operator class whose hash is the bucket.
func ExampleTable_Create_hash() {
	script, err := ddl.Table{
		Name: "orders", Key: "id", Columns: "id BIGINT NOT NULL, user_id BIGINT NOT NULL", Layout: idgen.Sharded.Layout, Shards: 2,
	}.Create(ddl.PostgresHash)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("-- an administrator, once")
	fmt.Println(strings.Join(script.Install, ";\n"))
	fmt.Println("--")
	fmt.Println(strings.Join(script.Table, ";\n"))
	// Output:
	// -- an administrator, once
	// CREATE OR REPLACE FUNCTION "snowkey_bucket_1024_0"(id bigint, seed bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS 'BEGIN RETURN (id & 1023) - 5305509591434766563; END';
	// DO $snowkey$BEGIN
	// CREATE OPERATOR CLASS "snowkey_bucket_1024_0" FOR TYPE bigint USING hash AS OPERATOR 1 =, FUNCTION 2 "snowkey_bucket_1024_0"(bigint, bigint);
	// EXCEPTION WHEN duplicate_object THEN NULL;
	// END$snowkey$
	// --
	// CREATE TABLE "orders" (
	// id BIGINT NOT NULL, user_id BIGINT NOT NULL
	// , PRIMARY KEY ("id")
	// , CHECK ("id" >= 0)
	// ) PARTITION BY HASH ("id" "snowkey_bucket_1024_0");
	// CREATE TABLE "orders_0000" PARTITION OF "orders" FOR VALUES WITH (MODULUS 2, REMAINDER 0);
	// CREATE TABLE "orders_0001" PARTITION OF "orders" FOR VALUES WITH (MODULUS 2, REMAINDER 1)
}

func ExampleTable_Create_spider() {
	script, err := ddl.Table{
		Name: "orders", Key: "id", ShardingKey: "user_id", Columns: "id BIGINT NOT NULL, user_id BIGINT NOT NULL", Layout: idgen.Sharded.Layout, Shards: 1024,
		Servers: []ddl.Server{
			{Name: "east", Host: "10.0.0.1", Database: "shop", User: "head", Password: "from the vault"},
			{Name: "west", Host: "10.0.0.2", Database: "shop", User: "head", Password: "from the vault"},
		},
	}.Create(ddl.Spider)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("-- on east")
	fmt.Println(script.Remote["east"][1])
	fmt.Println("-- on the head")
	fmt.Println(strings.Join(strings.Split(script.Table[0], "\n")[4:7], "\n"))
	// Output:
	// -- on east
	// CREATE TABLE `orders_0002` (
	// id BIGINT NOT NULL, user_id BIGINT NOT NULL
	// , PRIMARY KEY (`id`)
	// , CONSTRAINT `orders_0002_shard` CHECK (`id` >= 0 AND (`id` & 1023) % 1024 = 2)
	// )
	// -- on the head
	// ) ENGINE=SPIDER COMMENT='wrapper "mysql"' PARTITION BY LIST (`id` MOD 1024) (
	// PARTITION `p0000` VALUES IN (0) COMMENT = 'server "east", table "orders_0000"',
	// PARTITION `p0001` VALUES IN (1) COMMENT = 'server "west", table "orders_0001"',
}

// A table of two shards gets four, and the bucket of a user with very many rows one of its own.
func ExampleTable_Grow() {
	t := ddl.Table{
		Name: "orders", Key: "id", ShardingKey: "user_id", Columns: "id BIGINT NOT NULL, user_id BIGINT NOT NULL", Layout: idgen.Scattered.Layout, Shards: 2,
	}
	script, err := t.Grow(ddl.MySQL, 4)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.Join(script.Table, ";\n"))

	t.Shards = 4
	bucket, err := shard.Bucket(t.Layout, int64(7))
	if err != nil {
		log.Fatal(err)
	}
	if script, err = t.Grow(ddl.PostgresRange, 4, bucket); err != nil {
		log.Fatal(err)
	}
	fmt.Println("-- the user 7 alone, on PostgreSQL")
	fmt.Println(strings.Join(script.Table, ";\n"))
	// Output:
	// SET lock_wait_timeout = 5;
	// ALTER TABLE `orders` REORGANIZE PARTITION `p0000` INTO (
	// PARTITION `p0000` VALUES LESS THAN (2305843009213693952),
	// PARTITION `p0256` VALUES LESS THAN (4611686018427387904)
	// );
	// ALTER TABLE `orders` REORGANIZE PARTITION `p0512` INTO (
	// PARTITION `p0512` VALUES LESS THAN (6917529027641081856),
	// PARTITION `p0768` VALUES LESS THAN MAXVALUE
	// )
	// -- the user 7 alone, on PostgreSQL
	// SET lock_timeout = '5s';
	// DO $snowkey$BEGIN
	// ALTER TABLE "orders" DETACH PARTITION "orders_0256";
	// CREATE TABLE "orders_0471" (LIKE "orders_0256" INCLUDING ALL);
	// EXECUTE (SELECT E'ALTER TABLE "orders_0471" OWNER TO ' || relowner::regrole FROM pg_class WHERE oid = E'"orders_0256"'::regclass);
	// WITH moved AS (DELETE FROM "orders_0256" t WHERE t."id" BETWEEN 4242390848983007232 AND 4251398048237748223 RETURNING *) INSERT INTO "orders_0471" SELECT * FROM moved;
	// CREATE TABLE "orders_0472" (LIKE "orders_0256" INCLUDING ALL);
	// EXECUTE (SELECT E'ALTER TABLE "orders_0472" OWNER TO ' || relowner::regrole FROM pg_class WHERE oid = E'"orders_0256"'::regclass);
	// WITH moved AS (DELETE FROM "orders_0256" t WHERE t."id" BETWEEN 4251398048237748224 AND 4611686018427387903 RETURNING *) INSERT INTO "orders_0472" SELECT * FROM moved;
	// ALTER TABLE "orders" ATTACH PARTITION "orders_0256" FOR VALUES FROM (2305843009213693952) TO (4242390848983007232);
	// ALTER TABLE "orders" ATTACH PARTITION "orders_0471" FOR VALUES FROM (4242390848983007232) TO (4251398048237748224);
	// ALTER TABLE "orders" ATTACH PARTITION "orders_0472" FOR VALUES FROM (4251398048237748224) TO (4611686018427387904);
	// END$snowkey$
}
