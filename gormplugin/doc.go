// Package gormplugin fills in the primary keys of GORM models from a key source, so that no table needs auto-increment.
//
//	err := db.Use(gormplugin.New())
//	err = db.Create(&Order{Item: "tea"}).Error // Order.ID is set before the INSERT
//
// # Where keys come from
//
// By default they are snowflakes of the layout [idgen.Snowkey], with a node number that db.Use acquires in the same database: the table
// snowkey_nodes, which it makes when it is missing, says which process has which number at which ticks. Any number of processes may use
// the database at once, up to 1,024, and never make the same key; package idgen/grant says how, and what happens when the database fails.
// The plugin keeps the number for as long as the process lives, in the background, on a connection of the pool now and then: so a pool has
// several connections, and what each of them needs, such as foreign_keys of SQLite, belongs in the DSN. [Plugin.Close] gives the number back.
// An application that only reads the database, or may not write to it, registers the plugin with From, or not at all.
// [Grants] chooses another layout, table or key space, [From] another source, and [Named] more of them:
//
//	plugin := gormplugin.New(gormplugin.Grants(grant.Config{Generator: []idgen.Option{idgen.JS53}}))
//	plugin := gormplugin.New(gormplugin.From(source))
//	plugin := gormplugin.New(gormplugin.Named("tickets", tickets), gormplugin.Named("uuid", uuids))
//
// # What is filled
//
//	what                                          by
//	ID sqltype.ID, sqltype.Key[T], *sqltype.ID    its type, when it is the primary key
//	ID int64, uint64, int, uint, *int64           [AllKeys], when it is the only column of the primary key and not autoIncrement:false
//	any of these, and string                      the tag `gorm:"snowkey"`, or of a named source `gorm:"snowkey:tickets"`
//	string with another text form than decimal    the tag `gorm:"snowkey:,base32"`, or `gorm:"snowkey:tickets,base58"`
//	[16]byte, []byte, string                      the tag of a named source of 16 bytes; the string is the text of a UUID
//	[12]byte, []byte, string                      the tag of a named source of 12 bytes; the string is hexadecimal
//	ID of a sharded table, of any of these types  the tag `gorm:"snowkey:shard=UserID"`; see below
//	a column without a model                      [Table]
//	nothing                                       the tag `gorm:"snowkey:-"`
//
// A type that is named counts as what it is made of. The tag need not be on the primary key: any field can have it. A field that has it
// and cannot hold the keys, an integer of fewer than 64 bits among them, is an [ErrKey] when the model is first created. So is a tag that is
// misspelt, such as snokey, or stands outside of gorm's. AllKeys leaves a primary key of fewer bits to the database, with a warning of GORM's
// logger once a model. Of texts, only those of base32 sort as their numbers do. Those of base58 and base62 tell large
// letters from small ones: on MySQL and MariaDB the type of their column must say that it does too, or they are an ErrKey.
//
// It is filled when its value is zero: 0, nil, a pointer to zero, an empty text. A key that is set is kept. A member of a composite key
// is filled by its type only when it is the one named ID, and a key that is the foreign key of a belongs-to relation never: it belongs
// to another row.
//
// All of GORM's ways to create are: structs, pointers, slices and arrays of either, batches, associations, joins with a model of their
// own, Save, FirstOrCreate, maps with a model, which get the key under the column's name or that which it has there already, and
// maps without one. In a list of maps no other column is read back that the database fills in. One statement takes all its keys in one
// call of the source, with the statement's context. A pointer that is several times in a list is one row. A map that is there several times is a
// [gorm.ErrInvalidData], and so are rows whose keys are in one struct, which they embed by pointer: they would have one key. A list of columns
// in Select gets the key added; Omit of the key leaves it to the database, and what that makes is read back.
//
// # Hooks
//
// A model's BeforeSave and BeforeCreate find the key zero, and a key that they set is kept. So a hook may ask for `u.ID == 0` to know a new
// row. [BeforeHooks] makes the keys before the hooks, for those that read them.
//
//	who                                            key in the hook before the INSERT
//	this plugin                                    zero; with BeforeHooks made
//	GORM, auto-increment                           zero
//	plugins and base models with snowflakes        zero: theirs is a callback or hook right before the INSERT
//	Rails ActiveRecord, before_create              nil
//	Jakarta Persistence, @PrePersist               null for IDENTITY; made for UUID, TABLE and SEQUENCE since 4.0, before that by vendor
//
// # Statements that fail
//
// A struct or map keeps a key of the plugin's only when its row is in the table at the end of the statement. Otherwise the plugin takes the
// key back:
//
//   - after a failed INSERT, with and without a transaction;
//   - after an error or a panic in a later hook or association, when the transaction was the statement's own; also from the associations;
//   - after a COMMIT that the database refuses, after a dry run, and when a trigger has dropped the row.
//
// Then the struct is as the caller had it, but for the foreign keys that GORM has set, and for other columns that the database fills in,
// which MariaDB returns of the rows before one that fails. It may be created, fetched or saved.
//
// A row that is in the table has its key: also when a later hook fails without a transaction, or within a transaction of the caller's. When the
// caller rolls that back later, the keys stay in the structs, as GORM leaves them. CreateInBatches, and Create with CreateBatchSize, are such a
// transaction around several statements. So is the statement around a Create that a hook makes.
//
// A key also stays when the connection broke in COMMIT, or in an INSERT without a transaction: nobody knows whether the row is there. If it
// is, creating it once more with its key is a duplicate, and not a second row.
//
// After a panic GORM neither commits nor rolls back its own transaction, and the pool has lost the connection, with this plugin and without.
// A Create within db.Transaction is rolled back.
//
// The plugin does not see a key that a trigger writes in the place of its own. Leave such a table to its trigger, by the tag `gorm:"snowkey:-"`.
//
// # Auto-increment
//
// Keys of package sqltype are no auto-increment keys to GORM. Of its own integer types it takes every single primary key for one, and so
// has an INSERT return it, at a price, and AutoMigrate make the column AUTO_INCREMENT. The plugin turns the first off in each statement
// that it fills, by a schema of its own that is in the place of GORM's while the INSERT is built; GORM's, which all statements share, it
// only reads. [Prepare] turns off the second too. On a column that is AUTO_INCREMENT all works just as well, but a row that is
// inserted without a key, by another program, gets the greatest snowflake plus one, which the generator may make later. Package
// migrate/check finds such columns.
//
// # Upserts
//
// An INSERT with an ON CONFLICT clause may meet a row that exists, over another unique index than the key's: then that row has its own
// key, and the one made for the INSERT is nobody's. After it a struct or map holds the key of the row that is there; or what the caller had
// in it, when the clause is DoNothing and no row was written. Rows of associations, which GORM saves with DoNothing, get the key of the row
// that is there too, so that what refers to them does not refer to nothing; but a key that the caller has set stays, theirs too, and a foreign
// key refuses a reference to it when no row has it. How the row is known:
//
//	statement                                  PostgreSQL, SQLite      MariaDB                 MySQL
//	on the primary key alone                   no other can be met     as any other            as any other
//	DO UPDATE                                  RETURNING               RETURNING               one row: LAST_INSERT_ID, more: SELECT
//	DO UPDATE of maps or with a condition      SELECT                  SELECT, or as MySQL     SELECT, or as before
//	DO NOTHING, one row                        rows affected           LAST_INSERT_ID          LAST_INSERT_ID
//	DO NOTHING, more rows                      rows affected, SELECT   SELECT                  SELECT
//	INSERT IGNORE                              rows affected, SELECT   rows affected, SELECT   rows affected, SELECT
//
// A SELECT is made on the statement's own connection, so within its transaction: first by the keys that were made, which finds the rows
// that were inserted; then, for the others, by the index of the columns or expressions that the clause names, or by all unique indexes of the
// table when it names none. MySQL heeds all of them whatever the clause names, so there it is by all, and FOR UPDATE, since an older view
// would not show the row. The database's catalog is asked for a table's columns and indexes once. Values are compared as their columns store
// them: times and decimals are rounded or cut, texts padded. Indexes may have a condition, be of expressions, of columns that the database
// computes, or on MySQL of the beginnings of columns.
//
// Where the row that was met is still not known the statement fails with an [ErrUpsert], and is undone: the row has the values of two rows, and
// nothing tells which one was met; or the update writes other values to the columns of the index; or a value of the index is one that the database
// fills in. The error says which row it is, by which values it was looked for, and what helps. In a transaction of the caller's the rows are
// undone when that is rolled back, as after any error. [WithoutKeys] is for rows whose keys nobody reads: nothing is asked for.
//
// Beside the keys the other fields of a composite primary key are set, and what a RETURNING clause of the caller's asks for. DO UPDATE with
// a condition that does not hold leaves the row, and its key is read all the same. UpdateAll writes a key that is not the primary one like
// any column. With SkipDefaultTransaction there is no transaction, and the row may be gone before the SELECT. A clause that a callback adds
// after "snowkey:fill" comes too late, which is an ErrUpsert as well.
//
// # Sharded tables
//
// A key can depend on another column of its row, the sharding column, which the tag names after shard=, by the name of the field or of the column:
// `gorm:"snowkey:shard=UserID"`. Source and text form may precede it: `gorm:"snowkey:orders,shard=UserID"`. The key then carries the bucket of the
// sharding key, see package shard. Grants make such keys with a generator for all buckets:
//
//	gormplugin.New(gormplugin.Grants(grant.Config{Generator: []idgen.Option{idgen.Scattered, idgen.WithShards()}}))
//
// and [From] takes a generator with [idgen.WithShards] or a [shard.Source]. The rows of a statement are grouped by bucket, with one call for each,
// and get ids that ascend in their order within a bucket. Models without a sharding column get keys of bucket 0.
//
// A row without a sharding key when its INSERT is made is a [shard.ErrKey]: a zero, an empty text, NULL. A pointer to a zero is a sharding key.
// Hooks may set it: then the key is made after them. A key that is there after the hooks, from wherever, is checked against the sharding key, and
// the statement fails with a [shard.DisagreeError] before its SQL. In a map the sharding key has to be of the kind that the field has, since
// databases take the text "5" for the number 5, which has another bucket. [OfShardingKey] selects the rows of a sharding key in one shard.
//
// An upsert writes neither the key of a row that is there nor its sharding column, but for a row with the same key. UpdateAll and assignments of
// the INSERT's own value leave the column as it is then, and the struct gets what is there; others are an [ErrUpsert].
//
// An UPDATE that sets the sharding column is checked against the key of the row before its SQL, whether by Save, Updates or Update: another bucket is a
// [shard.DisagreeError], and a row whose key is not known, or a value that SQL computes, a [shard.ErrKey]. Raw SQL, and maps for db.Table
// without a model, are not checked.
//
// # Queries
//
// [CreatedBetween], [CreatedAfter] and [CreatedBefore] select rows by the time in their keys, [After] and [Before] read them page by page.
//
// # Errors
//
// When the source fails or panics, or a value cannot be set because it was not passed by pointer, the statement fails with an error
// that wraps the cause, and nothing is inserted. A key that is beyond its column, or a reference to one, is an [ErrColumn], which names the column
// and wraps what the database says. A model with a key of package sqltype is created without the plugin only when its key is set: see
// [sqltype.ErrNoKey].
//
// # Concurrency
//
// A Plugin is safe for concurrent use. It writes to GORM's shared schemas in [Prepare] alone.
//
// # Several connections
//
// With From a plugin may be used with any number of databases. One with a node number may be used with several connections to the database
// of the number, and with no other, a copy of it included: that is an [ErrDatabase]. It goes with dbresolver, in whichever order the two are registered: the number
// is always granted at the connection that gorm.Open was given, which has to be that of a source. The connections that dbresolver opens are
// asked nothing. Where it sends tables to another database, all programs that write these tables have to take their numbers from the same one.
package gormplugin
