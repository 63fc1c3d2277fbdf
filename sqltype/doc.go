// Package sqltype has ID, the type of a 64-bit key in GORM models.
//
//	type Order struct {
//		ID   sqltype.ID
//		Item string
//	}
//
// In the database an ID is a plain 64-bit integer column without auto-increment: BIGINT on MySQL, MariaDB and PostgreSQL, INTEGER on
// SQLite, where it is the table's rowid. In JSON it is a string, since JavaScript reads numbers above 2^53 wrongly and snowflake keys
// are above it.
//
// A column that may be NULL is a sql.Null[ID]. In a plain ID, reading NULL is an error, so that a missing key never reads as the key 0.
package sqltype
