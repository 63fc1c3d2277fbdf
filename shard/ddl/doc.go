// Package ddl prints the statements with which a database divides a table by the bucket itself, see [Engines], and those with which the table gets
// more shards. It needs the standard library alone, and runs nothing.
//
//	t := ddl.Table{
//		Name: "orders", Key: "id", ShardingKey: "user_id", Columns: "id BIGINT NOT NULL, user_id BIGINT NOT NULL, KEY (user_id)",
//		Layout: idgen.Scattered.Layout, Shards: 4,
//	}
//	script, err := t.Create(ddl.MySQL)
//	script, err = t.Grow(ddl.MySQL, 8)
//
// GORM models of such a table are models of one table; [shard.NewSource] has their keys.
package ddl
