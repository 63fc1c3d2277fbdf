// Package catalog reads what a database knows of its tables: columns and indexes (by package table), foreign keys to and from them, and
// all that depends on them. It writes nothing, ever: no temporary table, no setting of the session, no lock beyond that of a SELECT.
//
// Package migrate and its check see a database by it, on SQLite 3.35 or newer, MySQL 8, MariaDB 10.5 or newer, and
// PostgreSQL 12 or newer. What the user has no right to see is not in it; where a database tells that something was hidden, the error
// says so.
//
// Names are letter by letter what the database has. Of a table in the current schema (PostgreSQL: the first that is visible; MySQL: the
// database of the connection; SQLite: main) [Table.Name] has no schema, and [Table.Full] always has one.
package catalog
