// Package ddl prints the statements with which a database divides a table by the bucket itself: partitions of MySQL, MariaDB and PostgreSQL,
// MariaDB's Spider over several servers, and PostgreSQL's foreign tables on other servers. It needs the standard library alone, and runs nothing.
//
//	t := ddl.Table{Name: "orders", Key: "id", Columns: "id BIGINT NOT NULL, user_id BIGINT NOT NULL", Map: m}
//	statements, err := t.MySQL()
//
// GORM models of such a table are models of one table; [shard.NewSource] has their keys.
//
// # What it guarantees
//
//   - A row is where the map has the bucket of its id: the server computes the bucket from the id, as id & 1023 does for the default layout, and
//     each shard of the map that has buckets is one partition.
//   - No two rows of a table have the same id: a row's id decides its partition, and in each partition the id is the primary key.
//   - Names are quoted. Passwords are in the statements of [Fleet.Servers], which need them, and nowhere else.
//
// # What each form can do
//
// Measured on MariaDB 10.11 and PostgreSQL 15:
//
//	                        MySQL         PostgresHash   PostgresList             Spider        Foreign
//	WHERE id = ?            1 partition   1 partition    all; 1 with              1 server      1 server
//	                                                     AND (id & 1023) = ?
//	WHERE id IN (…)         theirs        theirs         all                      theirs        theirs
//	a range of ids          all           all            all                      all           all
//	primary key             of the table  of the table   of each partition        of the table  of each partition
//	ON CONFLICT (id)        yes           yes            no                       yes           no
//	another unique key      with the id   with the id    added to each partition  with the id   added to each partition
//	a foreign key to it     no            yes            no                       no            no
//	needs an administrator  no            once           no                       once          once
//
// ON CONFLICT is ON DUPLICATE KEY UPDATE for MySQL and Spider.
//
// MySQL and MariaDB refuse id & 1023 in a partitioning expression and take id MOD 1024, which they prune by for id = ? and IN. MySQL lists the
// same functions, and was not measured. In PostgreSQL a partition key that is an expression allows no primary key, and a generated column is no
// partition key. PARTITION BY HASH (id) allows both, but with PostgreSQL's own hash a partition is no bucket; so PostgresHash gives the table a
// hash operator class whose function is the map.
//
// Rows with ids from before the sharding have no bucket, so a map with a [shard.Legacy] is refused.
//
// # When the map changes
//
// Partitions do not follow a map. Of a table with partitions, another version of the map is another table, filled from this one.
package ddl
