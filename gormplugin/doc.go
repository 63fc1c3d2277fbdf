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
// The plugin keeps the number for as long as the process lives, in the background, on a connection of the pool now and then. [Plugin.Close]
// gives it back. [Grants] chooses another layout, table or key space, [From] another source:
//
//	plugin := gormplugin.New(gormplugin.Grants(grant.Config{Generator: []idgen.Option{idgen.JS53}}))
//	plugin := gormplugin.New(gormplugin.From(source))
//
// # What is filled
//
// The primary key of a model when its type is [sqltype.ID] or *sqltype.ID and its value is zero (nil, or a pointer to zero): of
// structs, pointers, slices and arrays of either, batches, associations, and maps with a model. A key that is set is kept. A member
// of a composite key is filled only when it is the one named ID, and a key that is the foreign key of a belongs-to relation never:
// it belongs to another row.
//
// The key is there before the model's own BeforeSave and BeforeCreate hooks run, and it is filled again before the INSERT should a
// hook have lost it. One statement takes all its keys in one call of the source, with the statement's context. A list of columns in
// Select gets the key added; Omit of the key leaves it to the database.
//
// # Errors
//
// When the source fails or panics, or a value cannot be set because it was not passed by pointer, the statement fails with an error
// that wraps the cause, and nothing is inserted.
//
// # What it does not do
//
//   - After an upsert that met an existing row, the struct holds the key that was made for the INSERT, not that of the row.
//   - After a failed INSERT or a rollback the key stays in the struct.
//   - A create without a model, db.Table("x").Create(map…), is not filled: nothing says which column is the key.
//
// # Concurrency
//
// A Plugin is safe for concurrent use; with From also for several databases at once. It changes nothing in GORM's shared schemas.
package gormplugin
