// Package ddl prints the statements with which a database divides a table by the bucket itself, and those with which the table gets more shards:
// partitions of MySQL, MariaDB and PostgreSQL, MariaDB's Spider and PostgreSQL's foreign tables over several servers. It needs the standard library
// alone, and runs nothing.
//
//	t := ddl.Table{
//		Name: "orders", Key: "id", ShardingKey: "user_id", Columns: "id BIGINT NOT NULL, user_id BIGINT NOT NULL, KEY (user_id)",
//		Layout: idgen.Scattered.Layout, Shards: 4,
//	}
//	script, err := t.Create(ddl.MySQL)
//	script, err = t.Grow(ddl.MySQL, 8)
//
// GORM models of such a table are models of one table; [shard.NewSource] has their keys.
//
// # What it guarantees
//
//   - The bucket in a row's id decides the row's shard, by the same rule for all tables of a layout. So a user's orders and their items are in the same
//     shard of their tables when both have the user as the sharding key.
//   - No two rows of a table have the same id: in each shard the id is the primary key.
//   - Growth changes no id, and moves the rows of no shard but those that are split. A shard that is split keeps its name for one half.
//   - Names are quoted. Passwords are in [Script.Servers], which needs them, and nowhere else.
//
// # The layout decides
//
// With the bucket on top, as in [idgen.Scattered], a shard is a range of ids: shard i of n has the buckets from i·1024/n on, and its name is the first
// of them, orders_0256. Take this layout for a table that an engine divides: everything below works with a plain primary key and ranges of it. What it
// costs is that a time of all users is no range of ids any more, see [idgen.Scattered].
//
// With the bucket below the time, as in [idgen.Sharded], shard i of n has the buckets that are i modulo n, and i is its name, orders_0001.
// [Table.Partition] returns the name for a bucket.
//
// # What each engine can do
//
// Measured on MariaDB 10.11.19 and PostgreSQL 15.18 by the tests of this package, which read the plans of the servers. MySQL lists the same functions
// as MariaDB for its partitions, and was not measured. OfShardingKey and OfShardingKeyBetween are scopes of package gormplugin.
//
//	bucket on top            MySQL         Spider        PostgresRange  PostgresFDW
//	id = ?, id IN (…)        1 shard       1 shard       1 shard        1 shard
//	OfShardingKey            1 shard       1 shard       1 shard        1 shard
//	OfShardingKeyBetween     1 shard       1 shard       1 shard        1 shard
//	JOIN within a shard      1 of each     1 of each     1 of each      1 of each
//	primary key              the table's   the table's   the table's    each shard's
//	ON CONFLICT (id)         yes           yes           yes            no
//	another unique key       with the id   with the id   with the id    added to each shard
//	a foreign key to it      no            no            yes            no
//	a bucket alone           yes           yes           yes            yes
//	needs an administrator   no            once          no             once
//
//	bucket below the time    MySQL         Spider        PostgresHash   PostgresList            PostgresFDW
//	id = ?, id IN (…)        1 shard       1 shard       1 shard        all; 1 with the bucket  1 shard
//	OfShardingKey            all; 1 named  all; 1 named  all; 1 named   1 shard                 all; 1 named
//	OfShardingKeyBetween     all; 1 named  all; 1 named  all; 1 named   1 shard                 all; 1 named
//	JOIN within a shard      1 each named  1 each named  1 each named   1 of each               1 each named
//	CreatedBetween           all           all           all            all                     all
//	primary key              the table's   the table's   the table's    each shard's            each shard's
//	ON CONFLICT (id)         yes           yes           yes            no; yes named           no
//	another unique key       with the id   with the id   with the id    added to each shard     added to each shard
//	a foreign key to it      no            no            yes            no                      no
//	a bucket alone           yes           yes           no             yes                     no
//	needs an administrator   no            once          once           no                      once
//
// Named: the statement has the shard instead of the table, which GORM is told by
//
//	db.Table("orders PARTITION (p0001) AS orders")   // MySQL, Spider
//	db.Table("orders_0001 AS orders")                // PostgreSQL
//
// With the bucket: WHERE id = ? AND (id & 1023) = 17, as [shard.Condition] has it. ON CONFLICT is ON DUPLICATE KEY UPDATE for MySQL and Spider.
// GORM's Create has associations with ON CONFLICT (id), so with PostgresList and PostgresFDW it takes db.Omit(clause.Associations) and a Create for
// each. The plugin's Check says of these two that the table has no primary key, which is so.
//
// MySQL and MariaDB refuse id & 1023 in a partitioning expression and take id MOD 1024, which they prune by for id = ? and IN. PARTITION BY HASH (id)
// prunes as much, and its growth copies the whole table in one statement. In PostgreSQL a partition key that is an expression allows no primary
// key, and a generated column is no partition key. PARTITION BY HASH (id) allows both, but with PostgreSQL's own hash a partition is no bucket; so
// PostgresHash has a hash operator class whose function is the bucket, one for all tables of a schema. Its function costs an insert some 2 µs a row.
// The class is of the type bigint, and a number in a statement that fits 32 bits is an integer to PostgreSQL: for such an id all shards are read. No
// layout makes one for long.
//
// Of a table over several servers, know besides: a statement that writes to several servers is committed on one after the other, so one that fails in
// between has written on some. With Spider spider_internal_xa changes that, and its CREATE SERVER keeps passwords in the head's table mysql.servers;
// DROP TABLE on the head leaves the servers' tables as they are. With PostgresFDW columns get the defaults of the head, and an UPDATE that changes the
// bucket of an id is refused by the constraint of the shard's table. Names of servers may have letters, digits and underlines for Spider, and those
// of tables no space, comma, quote or backslash.
//
// # Growth
//
//   - MySQL: REORGANIZE PARTITION, a shard at a time, which copies that shard's rows. Once it has its lock reads go on, writers of the table wait (measured on MariaDB). A statement that was
//     prepared before may fail once with error 1615, to be prepared again.
//   - PostgresRange, PostgresHash, PostgresList: a shard at a time in a transaction of its own, which detaches the partition, moves the rows of the new
//     shards to new tables and attaches all. Whoever uses the table waits, and fails in nothing. Indexes, constraints and defaults are copied. PostgreSQL
//     detaches no partition with rows that a foreign key refers to: drop that first, and add it again. A column that is GENERATED makes the
//     statement fail, and leaves all as it is. Rows that moved leave dead ones behind, so VACUUM follows. Run it as the table's owner.
//   - PostgresFDW: the same through the head, in a transaction of the head, which commits on the shard's server just before.
//   - Spider: there is no table of the name while rows are moved, so statements fail with error 1146, and none is lost or counted twice. Under LOCK TABLES Spider
//     allows no RENAME. When a statement fails, orders_shrunk has what is not moved yet: ROLLBACK, and go on from the
//     START TRANSACTION before it.
//
// A script gives up after 5 seconds of waiting for a lock on the head's table, and on a shard's table at its end: a transaction that has used the table
// is in the way, and everybody would wait behind the statement. End that transaction, and repeat the statement. The limit stays in the session.
// Each statement is done wholly or not at all. When one fails, mend the cause, and go on with it; leave out those before it, but for SET. Spider
// wants a ROLLBACK first, and its way back is in [Script.Notes].
//
// Transactions that began before: with PostgresFDW at READ COMMITTED, one that has read from a shard's server keeps the snapshot of that server, and
// does not see the rows that moved: a SELECT has 0 rows and an UPDATE changes 0, in silence. So it is with Spider at REPEATABLE READ, and with
// native partitions of PostgreSQL at REPEATABLE READ. On MySQL such a transaction gets the error 1412. So with PostgresFDW and Spider stop the
// programs while a table grows; with the others end their transactions, or try those again.
//
// Programs that name a shard, as in Table("orders_0001 AS orders") or PARTITION (p0001), read nothing or too little with the number of shards from
// before. Have [Table.Partition] compute the name; stop these programs, and start them with the new number.
//
// PostgreSQL: new shards have the owner of the old one. Privileges, storage options such as fillfactor, and row security that were given to a shard
// itself are to be given to the new ones again. Those of the table hold for whoever uses the table.
//
// With PostgresFDW every role that uses the table needs a user mapping of its own on each server: CREATE USER MAPPING FOR app SERVER east OPTIONS
// (user '…', password '…'). The statements of [Script.Servers] leave a server alone that is there; ALTER SERVER and ALTER USER MAPPING change one.
//
// What was added to the tables of other servers after Create, such as indexes, their new shards are without; add it to these.
// New shards are on the server of the old one, so the number of shards has to be a multiple of that of servers. All statements of other heads, and
// those straight to a shard's table, have to wait meanwhile: only the head of the script sees to it. Afterwards each shard's table refuses the rows
// that it had to give away, [Script.After].
//
// # A user who is too large for a shard
//
// One sharding key is one bucket, and a bucket is not divided. What engines offer is a shard for that bucket alone, [Table.Alone]: the other users of its
// shard are rid of it, and the partition can have a disk, or on PostgreSQL an index, of its own. PostgresHash, and PostgresFDW with the
// bucket below the time, have only growth, which leaves the large user with a part of the neighbours.
//
// Of 200,000 rows in 4 shards, half of which are one user's, BenchmarkGrow has these in the shard of that user. The times are the medians of 5 runs and
// their extremes, all servers on two busy cores: how long the whole takes, during which writers wait for a statement at a time, on Spider for all.
//
//	                              rows    of others  MySQL              PostgresRange, List  PostgresFDW        Spider
//	before, bucket on top         129400  29400
//	8 shards                      115400  15400      1.9 s (1.5 … 2.3)  2.4 s (1.8 … 2.8)    2.8 s (1.9 … 3.6)  5.6 s (2.8 … 8.2)
//	4 shards and the user alone   100300  300        1.0 s (0.6 … 1.3)  1.4 s (1.2 … 2.6)    1.2 s (1.1 … 1.8)  3.6 s (1.9 … 3.8)
//	before, bucket below          124700  24700
//	8 shards                      112700  12700      1.4 s (0.9 … 2.2)  1.6 s (1.0 … 2.4)    2.8 s (2.1 … 4.3)  6.3 s (5.7 … 7.7)
//	4 shards and the user alone   100300  300        0.5 s (0.4 … 0.6)  0.6 s (0.4 … 1.0)    none               3.4 s (3.1 … 3.6)
//
// The 300 are of users with the same bucket. PostgresHash takes 2.1 s (1.2 … 3.9) to 8 shards, and MariaDB's PARTITION BY HASH 3.3 s (2.6 … 3.6) in one
// statement. The runs are in the folder results.
//
// # Ids from before
//
// Auto-increment numbers are small. With the bucket on top all of them are in the first shard, as if of bucket 0, and a user's rows are in that and in
// the user's own; [shard.WithBefore] has OfShardingKey read both. With the bucket below the time they are in the shard of their low bits, so a user's
// old rows are in all shards: OfShardingKey reads all, and a statement that names a shard misses them.
package ddl
