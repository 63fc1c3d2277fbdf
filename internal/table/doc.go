// Package table reads the columns and indexes of single tables, in the dialects of SQLite, MySQL, MariaDB and PostgreSQL. It writes nothing.
//
// Package gormplugin reads the unique indexes of a table with it, before an upsert. Package catalog builds on it: foreign keys, triggers,
// and everything else that depends on a table.
//
// Names are letter by letter what the database has. For a table in the current schema (PostgreSQL: the first that is visible; MySQL: the
// database of the connection; SQLite: main) [Table.Name] has no schema, and Table.Full always has one.
package table
