// Package sqltype has the types of keys in GORM models. Of 64 bits are [ID], the usual one, [Key], which is another type for each model,
// [Number], which stays a number in JSON, and [PublicID], which hides the number from the world; of 16 bytes are [UUID], and in the same way [UUIDKey] and [PublicUUID],
// and [ULID].
//
//	type User struct {
//		ID     sqltype.Key[User]
//		Orders []Order
//	}
//
//	type Order struct {
//		ID     sqltype.Key[Order]
//		UserID sqltype.Key[User]
//	}
//
//	type Setting struct {
//		ID   sqltype.ID
//		User sql.Null[sqltype.Key[User]]
//	}
//
// Those of 64 bits are an int64 with methods. The first three differ in nothing but their JSON and in what the compiler refuses. Go converts one into another:
// ID(key), Key[User](id), Number(id).
//
// All that follows is of these three. In the database and in other formats a PublicID is the same, its comment says what it is as text and in JSON. The comments
// of UUID, PublicUUID and ULID say what those are.
//
// # In the database
//
// A key is a plain 64-bit integer column without auto-increment: BIGINT on MySQL, MariaDB and PostgreSQL, INTEGER on SQLite, where
// it is the table's rowid. Read from a column of another type it is the same number or an error, never a part of it. So PostgreSQL's
// char(n), which is filled up with spaces, is an error; a key that has to be text fits varchar(20).
//
// A column that may be NULL is a sql.Null of the type, or a pointer to it; GORM makes both a 64-bit integer too, without a tag. To read
// NULL into a plain key is [ErrNull], so that a missing key is never taken for the key 0: by Scan, Pluck, database/sql and pgx. A
// field of a struct that GORM fills is left zero, as GORM does with every type.
//
// GORM writes a zero primary key as the key 0. Package gormplugin's Plugin makes it a key first; where that is not registered, the INSERT fails
// with [ErrNoKey]. It does not when the key is set, in a hook or by hand, has a default in its tag, the tag `gorm:"snowkey:-"`, or is left out by Omit
// or in a map; nor when the primary key is a foreign key. With Unscoped, for a row that has the key 0 on purpose, the row is written as it is.
//
// The maps that GORM finds rows into hold an int64, or nil.
//
// Drivers get an int64. pgx needs no more for one key, but cannot send a slice of them in all its modes, nor read one without
// allocating: package sqltype/pgxtype is for it.
//
// # As text
//
// Every number has one text, so that caches, signatures and routes of URLs meet no second one: the parsers, UnmarshalText and strings in JSON refuse
// "+1", "007", "-0" and spaces with [ErrSyntax]. Scan reads plus signs and zeros in front, which a column with ZEROFILL has.
//
// Short gives at most 13 letters and digits, for people. Time and Parts take a key of the default layout apart.
//
// # In JSON
//
// ID and Key are strings, since JavaScript reads numbers above 2^53-1 wrongly and snowflake keys are above it. Both a string and a
// number are read. Clients that insist on numbers get a Number, as the field's type or in the struct that they are sent:
//
//	type orderResponse struct {
//		ID sqltype.Number `json:"id"`
//	}
//	json.Marshal(orderResponse{ID: sqltype.Number(order.ID)})
//
// It fails with [ErrPrecision] where digits would be lost. So the keys must be made below 2^53, which the layout js53 of package idgen
// does.
//
// A sql.Null is in JSON what Go makes of it, {"V":"12","Valid":true}; a pointer is the key or null.
//
// # In other formats
//
// gqlgen takes an ID or a Key as a scalar. encoding/gob, BSON and other packages that go by the kind have an int64 and need no method;
// package examples/apis of this repository has each.
//
// # In logs
//
// The handlers of log/slog write each of these types as the decimal number in a string, and a pointer as what it points to. A nil *ID and
// *Key are null in JSON and <nil> in text; a nil *Number must not be logged.
//
// # What it does not do
//
//   - The compiler does not refuse what says that it is meant: Key[Order](user.ID), a constant, or a key in an argument of type any, as
//     those of GORM's Where are.
//   - No key is checked against a layout: any int64 is one, negative ones too.
package sqltype
