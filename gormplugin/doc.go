// Package gormplugin fills in the primary keys of GORM models from a key source, so that no table needs auto-increment.
//
//	gen, err := idgen.New(idgen.WithNode(7))
//	err = db.Use(gormplugin.New(gormplugin.From(gen)))
//	err = db.Create(&Order{Item: "tea"}).Error // Order.ID is set before the INSERT
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
// A Plugin is safe for concurrent use, and for several databases at once. It changes nothing in GORM's shared schemas.
package gormplugin
