// Package gormsharding runs snowkey's GORM plugin beside gorm.io/sharding 0.6.2, with the functions of [shard.Tables], on SQLite, MariaDB and
// PostgreSQL. It holds tests alone. It is a module of its own, so that an application with snowkey gets nothing that gorm.io/sharding needs. Run it by
// make test-sharding.
//
//	tables, err := shard.NewTables(idgen.Sharded.Layout, 16, Order{}.UserID)
//	err = db.Use(gormplugin.New(gormplugin.Grants(grant.Config{Generator: []idgen.Option{idgen.Sharded, idgen.WithShards()}})))
//	err = db.Use(sharding.Register(sharding.Config{
//		ShardingKey:                   "user_id",
//		ShardingAlgorithm:             tables.Suffix,
//		ShardingSuffixs:               tables.Suffixes,
//		ShardingAlgorithmByPrimaryKey: tables.SuffixOfID,
//		PrimaryKeyGenerator:           sharding.PKCustom,
//		PrimaryKeyGeneratorFn:         func(int64) int64 { return 0 },
//	}, "orders", "lines"))
//
// # What works
//
// A row is created in the table of its sharding key, and found, changed and deleted by its sharding key or by its id alone, each in one statement of one
// table. So are ranges of time, pages after an id, struct and map conditions, FirstOrCreate, hooks, AutoMigrate, and grants in the same database.
//
// These need a line of the application:
//
//   - A batch over several tables is refused as a whole. Group it by [shard.Tables.Suffix], see byTable in statements_test.go.
//   - A count or a sum over all tables is a loop over [shard.Tables.Suffixes], see count there.
//   - More tables are a change of the number and rows that move, see grow in growing_test.go. No id changes.
//   - Any statement that gorm.io/sharding does not read names its table: db.Scopes(at(tables, "orders", userID)), see at in shop_test.go. The keys are
//     made as ever, since they do not depend on the table.
//
// # What to watch there
//
//   - A statement that the SQL parser does not understand, and a join, goes to the table without a suffix. Have no table of that name, so that the
//     statement fails. Such are FOR UPDATE, NOT, subqueries, index hints, MATCH … AGAINST, and MySQL's ON DUPLICATE KEY, which GORM writes for
//     upserts and for associations.
//   - WHERE user_id = 1 OR user_id = 2 goes to the table of the last one, without an error. IN and ranges on the sharding key are refused.
//   - Of a condition on both user_id and id the id is not looked at, so one that disagrees finds nothing.
//   - An UPDATE that changes the sharding key would leave the row in its table, where its new sharding key does not lead. The plugin refuses
//     it before its SQL; without the plugin it happens.
//   - GORM's own transaction around a write is not begun. After an error in a later hook the row stays, although its struct has lost the key.
//     Write within db.Transaction.
//   - With PrepareStmt, set SkipDefaultTransaction. Without it, writes go to the table without a suffix, and in a transaction of the application's the
//     first write commits the transaction.
//   - Nested transactions are gorm.ErrUnsupportedDriver, for want of savepoints; set DisableNestedTransaction. TranslateError does nothing.
//   - A failed write panics with a nil pointer when the logger's level is Info, or when the level is Warn and the write took longer than the
//     SlowThreshold. Version 0.6.2 brought that. Set the level to Error or Silent, or give the logger no SlowThreshold.
//   - Only a column named id is a key to it, and its values have to be int64: for a sqltype.ID write int64(id), and name the table in what GORM
//     writes itself, such as Save and Delete. A model whose id is an int64 needs neither.
//   - A number that is written in the statement comes to the algorithm as a text. [shard.NewTables] is told the type of the column for that.
//   - Its own generator, PKSnowflake, has the index of the table as the node: two processes make the same ids. Its own algorithm takes the
//     remainder with the sign, so that -3 is looked for in the table _-3, and both together panic at its Create.
//   - AutoMigrate makes AUTO_INCREMENT columns of int64 keys, also with gormplugin.Prepare, unless their tag has autoIncrement:false.
//
// Version 0.6.1 does not read columns that are qualified with their table: First(&order, id), Delete(&order), struct conditions, Preload and
// the scopes of gormplugin fail there, and Where("id = ?", id) does not. It does not panic.
//
// # Issues
//
// The threads of github.com/go-gorm/sharding, and what is so beside snowkey. Each has a test of its name here, on the three databases.
//
//	issue                                                beside snowkey
//	36, 41  transactions                                 db.Transaction is one; limit: GORM's own is not begun
//	37, 85  the struct has no key after Create           solved: the key is set before the INSERT
//	46, 62, 84, 87, 117, 187  several sharding keys      limit: one a connection; a *gorm.DB each on a pool, which share a transaction
//	56      IN                                           limit: refused; a statement a table, grouped by Suffix
//	61, 114, 174  Preload                                solved with the sharding key as its condition, or the table named
//	61      hooks                                        solved
//	61, 173 upsert clauses                               solved on PostgreSQL and SQLite; limit: on MySQL the table is named
//	65      two processes make one id                    solved: node numbers, by grants in the database
//	91, 139, 159  FOR UPDATE, MATCH, hints               limit: the table is named
//	94, gorm 6053  statements without =                  the id alone is enough; limit: all else is refused
//	96      data race                                    solved in 0.6.2, run with the race detector
//	111, 180  suffixes and sharding keys that are texts  solved: texts have buckets, and the suffixes are numbers
//	118, 196  ids that are no int64                      limit: int64(id); other statements name the table
//	126     joins                                        limit: tables of one suffix are joined by their names
//	142, gorm 7533  AutoMigrate                          solved, with autoIncrement:false or sqltype.ID
//	144     several databases                            solved by the bucket: a *gorm.DB each
//	160     dbresolver                                   solved: register it after gorm.io/sharding
//	171     PrepareStmt                                  solved with SkipDefaultTransaction
//	201     time without a column for it                 solved for reading: the time is in the id; limit: tables by month are not what this divides by
package gormsharding
