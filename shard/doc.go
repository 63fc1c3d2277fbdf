// Package shard makes keys for sharded tables: snowflakes that carry the bucket of their row in the low bits, and the map that says in which
// table or database each bucket is. It needs the standard library alone, and database/sql for the map's [Store].
//
//	bucket, err := shard.Bucket(layout, userID)          // of a sharding key: stable for ever
//	id, err := generator.NextFor(ctx, bucket)            // id & 1023 is the bucket
//	i, err := m.OfID(id)                                 // the shard of a row, by its id
//	is, err := m.OfKey(userID)                           // and by its sharding key: the same one
//
// # What it guarantees
//
//   - A row's bucket follows from its sharding key alone, by a mix that is documented at [Sum] and never changes, and it is in the row's id.
//     So the id and the sharding key lead to the same table, and nothing about a row ever has to be looked up.
//   - A bucket is in one shard. A map of another version moves whole buckets and changes no id: of N shards that become 2N, bucket b goes from
//     shard b % N to b % N or to b % N + N. Any other change moves as few buckets as there can be.
//   - An id whose bucket is not one of its sharding key's is a [DisagreeError].
//   - Versions of a map are rows of a table, each written once; the primary key sees to it that no two are made of the same one.
//
// # Engines that shard by themselves
//
// Package shard/ddl prints the DDL of tables that MySQL, MariaDB and PostgreSQL divide by the bucket, in one database or over several. [NewAlgorithm]
// has functions of the types that gorm.io/sharding takes. A [Source] fills the keys of GORM models there. In any other middleware and in SQL the bucket
// is id & 1023, or what [Fence.Condition] has.
//
// # What it does not
//
//   - It moves no rows: package gormplugin/shard/reshard does, and has the table refuse who holds the map before.
//   - The mix is no secret and no protection: who can choose sharding keys can choose buckets.
//   - One key's rows are in one bucket, and a bucket in one table: a tenant with half of the rows makes half of the load. [Map.Spread] gives one
//     more buckets.
//
// # The layout
//
// That of [idgen.Sharded], the default; the widths are free, see [idgen.NewLayout]:
//
//	 63 62                                           22 21       14 13    10 9           0
//	+--+-----------------------------------------------+-----------+--------+-------------+
//	| 0|                time, 41 bits of 1 ms          |  node, 8  |  seq, 4|  bucket, 10 |
//	+--+-----------------------------------------------+-----------+--------+-------------+
//
// Since the bucket is in the lowest bits, id & 1023 is the bucket, and id % 2^k the bucket modulo 2^k, in every language and in SQL. Sequences
// are counted for each node and bucket, so a bucket makes 16 ids a millisecond and node whatever the others do.
//
// [idgen.Scattered] has the bucket on top. Ids of one moment are then all over the range of keys, which is what databases want that split a table
// by ranges of its key, TiDB and CockroachDB; they are in no order of time any more.
//
// # Ids from before
//
// Rows that are older than the sharding have ids without a bucket. A [Legacy] says that all ids below a number are in a shard of their own, as a
// rule the old table, see [Map.WithLegacy]. Rows of a sharding key may then be in two shards. Such a map is the first one in its store, [Map.First]: a router
// that knew a map without it would look for old rows by their low bits.
package shard
