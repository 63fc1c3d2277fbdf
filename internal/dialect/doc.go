// Package dialect is the one place for what packages that write SQL need to know of MySQL and MariaDB, PostgreSQL and SQLite. It needs the standard
// library alone, and talks to connections of database/sql that its callers have.
//
//   - names, quoted, and where the catalogue says that a table is: [Dialect.Quote], [Dialect.QuoteAny], [Literal], [Dialect.Locate]
//   - rows: [One], [Each], [All]
//   - transactions by statement: [Dialect.Transact]
//   - the class of an error, by the server's code and by types, never by a message that a server translates: [Dialect.Class], [Dialect.Code]
//   - advisory locks, with all their names: [Lock]
//   - the database's clock: [Dialect.Now], [Dialect.Clock]
//   - sessions in which texts of values are exact: [Dialect.ExactText]
//   - settings with which a server may lose what is committed: [Dialect.Durability], [Dialect.Storage]
//   - waiting, which ends with the context: [Sleep]
//
// What differs from database to database is in a file for each: mysql.go, postgres.go, sqlite.go.
package dialect
