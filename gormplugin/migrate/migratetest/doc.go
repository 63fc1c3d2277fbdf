// Package migratetest is a shop's database as an old GORM application has it, for tests of migrations: fourteen tables with keys of
// auto-increment, and every kind of reference that a migration meets. [Schema] makes it, [Fill] fills it, and [Checksum] tells whether
// what it holds is still the same when all ids are others.
package migratetest
