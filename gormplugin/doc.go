// Package gormplugin fills in the primary keys of GORM models from a key source, so that no table needs auto-increment.
//
//	err := db.Use(gormplugin.New())
//	err = db.Create(&Order{Item: "tea"}).Error // Order.ID is set before the INSERT
//
// # What it promises
//
//   - Every way in which GORM creates rows fills the keys: structs, maps, slices, batches, associations, Save, FirstOrCreate, upserts.
//   - A statement takes all its keys in one call of the source, with the statement's context.
//   - A key that the caller or a hook has set stays. Zero, nil, a pointer to zero and an empty text count as no key.
//   - A struct or map has a key of the plugin's only when its row is in the table at the end of the statement. Otherwise the plugin takes the key back.
//     A key also stays when the connection broke in COMMIT, or in an INSERT without a transaction. Nobody knows then whether the row exists.
//   - After an upsert a struct has the key of the row in the table, or the statement fails with an [ErrUpsert] and is undone.
//   - Processes that share a database never make the same key.
//
// It does not see a key that a trigger writes in place of its own. It cannot take keys back when the caller rolls back a transaction of the caller's.
//
// docs/statements.md has the rules for each kind of statement, hook, upsert and failure, docs/models.md those for fields and tags.
//
// # Where keys come from
//
// The default keys are snowflakes of the layout [idgen.Snowkey]. db.Use acquires a node number for them in the same database, in the table
// snowkey_nodes, which it makes when it is missing. Up to 1,024 processes may use the database at once; package idgen/grant has the protocol. The
// plugin renews its number in the background, on a connection of the pool: so the pool needs several connections, and settings of a
// connection, such as foreign_keys of SQLite, belong in the DSN. [Plugin.Close] gives the number back.
//
// [Grants] chooses another layout, table or key space, [GrantsIn] another store, [From] another source, and [Named] further sources for fields with a tag:
//
//	plugin := gormplugin.New(gormplugin.Grants(grant.Config{Generator: []idgen.Option{idgen.JS53}}))
//	plugin := gormplugin.New(gormplugin.From(source))
//	plugin := gormplugin.New(gormplugin.Named("tickets", tickets), gormplugin.Named("uuid", uuids))
//
// An application that only reads the database, or may not write to it, registers the plugin with From, or not at all.
//
// # What is filled
//
//	ID sqltype.ID, sqltype.Key[T], *sqltype.ID    by its type, when it is the primary key, as sqltype.Number and sqltype.PublicID[T] are
//	ID int64, uint64, int, uint, *int64           by [AllKeys], when it is the only column of the primary key and not autoIncrement:false
//	any of these, and string                      by the tag `gorm:"snowkey"`, or of a named source `gorm:"snowkey:tickets"`
//	string in another text form than decimal      by the tag `gorm:"snowkey:,base32"`, or `gorm:"snowkey:tickets,base58"`, or with prefix and date by
//	                                              `gorm:"snowkey:,ORD-{date}"`; see [idgen.TextForm]
//	sqltype.UUID, sqltype.ULID, *sqltype.UUID     by its type, when it is the primary key: by [uid.V7] and [uid.ULID], or the source of 16 bytes of [From];
//	                                              sqltype.UUIDKey[T] and sqltype.PublicUUID[T] as a UUID
//	[16]byte, [12]byte, []byte, string            by the tag of a named source of 16 or 12 bytes
//	string                                        by the tag of a named source of texts, such as NanoIDs
//	the key of a sharded table                    by the tag `gorm:"snowkey:shard=UserID"`
//	a column of maps without a model              by [Table]
//	nothing                                       by the tag `gorm:"snowkey:-"`
//
// # The log
//
// [Logger] hears what the keeper of the node number logs, see [grant.Config], and of two traps, each in one warning: keys that are numbers above
// 2^53 in JSON, once a model, and a column that still counts beside the plugin, once a table. Both warnings never fail a statement. MySQL tells in
// its answer to the INSERT whether a column counts. PostgreSQL is asked after the first INSERT into a table, on the same connection and in a
// savepoint, since a query that fails ends a transaction. A query before the INSERT would be worse: a transaction of SQLite that begins with one may
// not get to write. SQLite and other databases are asked nothing. A logger that says nothing, or [WithoutModelWarnings], means no query.
//
// # Errors and concurrency
//
// When the source fails or panics, or a value cannot be set because it was passed by value, the statement fails with an error that wraps the cause,
// and nothing is inserted. A key too large for its column is an [ErrColumn], which names the column and wraps the database's error.
//
// A Plugin is safe for concurrent use. With From it may serve any number of databases. With a node number it serves the connections to one
// database; another one, also a copy, is an [ErrDatabase]. It writes to GORM's shared schemas in [Prepare] alone.
package gormplugin
