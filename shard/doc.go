// Package shard computes the bucket of a sharding key, and makes ids that carry it. The bucket says in which of several tables or databases a
// row is; the ids are snowflakes of [idgen] with a bucket field. The package needs the standard library alone and opens no database.
//
//	bucket, err := shard.Bucket(idgen.Sharded.Layout, userID) // 0 to 1,023, stable for ever
//	id, err := generator.NextFor(ctx, bucket)                 // of idgen.New(idgen.Sharded, idgen.WithShards(), …); id & 1023 is the bucket
//	table, err := shard.Table(bucket, 16)                     // 0 to 15, and so is id % 16
//
// # What it guarantees
//
//   - The bucket of a sharding key never changes: [Sum] documents the mix, and testdata/sums.txt has 70 sums to check a port by.
//   - The id and the sharding key of a row lead to the same bucket, so to the same table. Nothing about a row has to be looked up.
//   - An id that is set already and has another bucket than its row's sharding key is a [DisagreeError], see [Source.Check].
//   - Of N tables that become 2N, the rows of table i stay in i or move to i+N. No id changes. See [Table].
//
// # What it does not do
//
//   - It moves no rows and creates no tables. Package gormsharding has a test that grows 4 tables to 8 with plain SQL. Package shard/ddl
//     prints the DDL for databases that divide a table themselves.
//   - It routes no statement: the database, gorm.io/sharding, a proxy, or the application does.
//   - The mix is no secret: whoever chooses sharding keys can choose buckets.
//   - All rows of a sharding key are in one bucket. A tenant with half of the rows makes half of the load of its table.
//
// # The layout
//
// A layout has a field [idgen.Shard], of any width. Two presets differ in its place.
//
// [idgen.Sharded] has the bucket in the lowest bits. In every language and in SQL, id & 1023 is the bucket, and id % 2^k the number of the
// table of 2^k. Ids ascend with time, so a range of ids is a range of time. This is the layout for tables of your own, for PARTITION BY HASH
// and LIST, and for gorm.io/sharding.
//
//	 63 62                                           22 21       14 13    10 9           0
//	+--+-----------------------------------------------+-----------+--------+-------------+
//	| 0|                time, 41 bits of 1 ms          |  node, 8  |  seq, 4|  bucket, 10 |
//	+--+-----------------------------------------------+-----------+--------+-------------+
//
// [idgen.Scattered] has the bucket on top. The ids of a bucket are the numbers between the two of [Range], and inserts of one moment are all
// over the range of keys. This is the layout for databases that split a table by ranges of its primary key, such as TiDB and CockroachDB. Ids
// ascend with time within a bucket only.
//
//	 63 62         53 52                                           12 11        4 3     0
//	+--+-------------+-----------------------------------------------+-----------+--------+
//	| 0|  bucket, 10 |                time, 41 bits of 1 ms          |  node, 8  |  seq, 4|
//	+--+-------------+-----------------------------------------------+-----------+--------+
//
// Sequences are counted for each node and bucket, so a bucket makes 16 ids a millisecond and node, whatever the others do. Have many more
// buckets than tables from the start: more tables cost moved rows, more buckets would cost new ids.
//
// # The bucket in another language
//
// The bucket is the low bits of the sum, as many as the layout's field has. All numbers are of 64 bits, unsigned, and wrap around:
//
//	sum(integer n) = mix(n)                        -- -1 is 0xffffffffffffffff
//	sum(bytes)     = mix(fnv1a(bytes))             -- of a text its UTF-8, of a UUID its 16 bytes
//
//	mix(v):        v = v + 0x9e3779b97f4a7c15
//	               v = (v xor v >> 30) * 0xbf58476d1ce4e5b9
//	               v = (v xor v >> 27) * 0x94d049bb133111eb
//	               return v xor v >> 31
//
//	fnv1a(bytes):  h = 0xcbf29ce484222325
//	               for each byte b: h = (h xor b) * 0x100000001b3
//	               return h
//
// [Condition] is the SQL condition that an id has a bucket. SQL functions compute the sum of an integer:
//
// In PostgreSQL, for SELECT snowkey_mix(user_id) & 1023:
//
//	CREATE FUNCTION snowkey_wrap(n numeric) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
//	  SELECT (mod(mod(n, 18446744073709551616) + 27670116110564327424, 18446744073709551616) - 9223372036854775808)::bigint $$;
//	CREATE FUNCTION snowkey_mix(v bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
//	BEGIN
//	  v := snowkey_wrap(v + 11400714819323198485);
//	  v := snowkey_wrap((v # ((v >> 30) & 17179869183)) * 13787848793156543929);
//	  v := snowkey_wrap((v # ((v >> 27) & 137438953471)) * 10723151780598845931);
//	  RETURN v # ((v >> 31) & 8589934591);
//	END $$;
//
// In MySQL and MariaDB, for SELECT snowkey_mix(user_id) & 1023; the client mysql needs another DELIMITER around it:
//
//	CREATE FUNCTION snowkey_mix(n BIGINT) RETURNS BIGINT UNSIGNED DETERMINISTIC NO SQL
//	BEGIN
//	  DECLARE v BIGINT UNSIGNED DEFAULT CAST(n AS UNSIGNED);
//	  SET v = (CAST(v AS DECIMAL(65)) + 11400714819323198485) % 18446744073709551616;
//	  SET v = CAST(v ^ (v >> 30) AS DECIMAL(65)) * 13787848793156543929 % 18446744073709551616;
//	  SET v = CAST(v ^ (v >> 27) AS DECIMAL(65)) * 10723151780598845931 % 18446744073709551616;
//	  RETURN v ^ (v >> 31);
//	END
//
// SQLite has no such function: its integers do not wrap. There the bucket of a row is that of its id.
//
// # GORM
//
// A [Source] makes the ids of a model whose key has the tag `gorm:"snowkey:shard=UserID"`, see package gormplugin. [Tables] has the functions that
// gorm.io/sharding takes; the tests and the documentation of the module shard/gormsharding say what works there and what does not.
//
// # Ids from before
//
// Rows that are older than the sharding have ids without a bucket. Their sharding key leads to their table, their id alone does not: look them up by
// the sharding key too, or give them new ids. [WithBefore] has [Source.Check] take all ids below a number as they are.
package shard
