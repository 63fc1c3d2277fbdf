// Package shard routes the rows of GORM models to the tables and databases that they are sharded over.
//
//	type Order struct {
//		ID     sqltype.ID `gorm:"snowkey:shard=UserID"` // the tables are sharded by UserID
//		UserID int64
//		Item   string
//	}
//
//	router := shard.New(shard.Config{Shards: shard.Tables(16)})
//	err := db.Use(router)                                   // beside it, no other plugin of this module
//	err = router.AutoMigrate(db, &Order{})                  // orders_00 … orders_15
//	err = db.Create(&orders).Error                          // each row to its table, in one transaction
//	err = db.Scopes(shard.ByID(id)).First(&order).Error     // one table, one query
//	err = db.Scopes(shard.ByKey(userID)).Find(&orders).Error
//
// # What is routed
//
//	Create, CreateInBatches, Save, FirstOrCreate     by the sharding column of each row
//	Find, First, Take, Count, Pluck, Rows, Scan,     by a scope: ByID, ByIDs, ByKey, ByKeys, All
//	Update, Updates, UpdateColumn, Delete
//	Update, Updates, Delete of a model with its key  by that key
//	Preload of a sharded relation                    by the sharding column or the id, where the relation refers to one; else an error
//	Between                                          all shards, merged by id, as a stream
//
// What is not routed fails with [ErrUnrouted], before any SQL, rather than read or write one table in silence: a query without a scope, raw SQL into
// a sharded model, joins with one, subqueries of one. What has no model is not
// looked at: raw SQL, also when it is scanned into one as by db.Raw(…).Scan(&orders) without Model, and db.Table(…) with Scan, Rows, Count or maps. GORM tells
// nobody of these what they scan into. So the table that has the model's name without a suffix should not exist. No SQL is parsed.
//
// # What is never written
//
// A row whose id and sharding key have different buckets: [idshard.DisagreeError], before any SQL; nor an UPDATE that would change the sharding key of
// a row. A row in a table that another version of the map gives to another process: the table itself refuses it then, see [ErrMoved].
//
// # Transactions
//
// The rows of one Create are written in one transaction of each database, in the order of the shards, and the structs stay in the order that they were given
// in, all with their ids. When one INSERT fails, nothing of the statement is there, but that with several databases the transactions are committed one after
// another: a commit that fails leaves those before it, and the error, a [PartialError], says which. In a transaction of the caller's, rows of another
// database, and those of models that are not sharded in one of another database than the router's, are refused with [ErrTransaction]; [Router.DB]
// begins one where a row is. CreateInBatches of rows in several databases is refused too, unless SkipDefaultTransaction is set: GORM begins a
// transaction of the first database for all batches.
//
// # The map
//
// The router reads the map when it starts, makes it when there is none, and asks three times a lease ([Config.Lease]) whether it is still the one in force,
// in the background and by the router's own pool, never in a transaction of the caller's. When nothing could be asked for a whole lease, by the monotonic
// clock, the next statement asks, and fails with [ErrLease] when there is no answer within two seconds: the database is down, or a transaction holds the
// only connection of the pool. So no statement is routed by a map that was replaced a lease ago or longer, and resharding waits that long before it
// removes rows from where they were. A statement that ends later than that, for it took long or its process stood still, fails with [ErrMoved] when the
// map was replaced meanwhile, rather than find nothing where rows were. Writers need no lease: the table refuses them at once. The error is an [ErrMoved], the router reads the map again
// then, and [Retry] does the whole again.
//
// All statements of a transaction are routed by one version of the map. When that is replaced meanwhile, the next one fails with ErrMoved too: a
// transaction that sees the database as it was when it began, MySQL's default, would not see the rows that were moved after that. Transactions that are
// begun without GORM are counted from their first statement through GORM.
//
// A sharding key that a map spreads over more buckets gets rows in the new ones when the map is known for a lease: until then another process may not
// look there. A process that starts takes its map for a new one.
//
// # Other models
//
// Models that are not sharded work as with gormplugin, in the router's own database; their ids are of bucket 0. A process makes 16,000 a second of
// these with the default layout, before it borrows from the ticks to come.
package shard
