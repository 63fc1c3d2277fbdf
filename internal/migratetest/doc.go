// Package migratetest makes databases for tests of migrations and for "snowkey demo", and says whether what a database holds is still the same
// when all ids are others.
//
// One is a shop's database as an old GORM application has it: fourteen tables with keys of auto-increment, and every kind of reference that
// a migration meets. [Schema] makes it, [Fill] fills it, and [Checksum] compares it.
//
// Three are published schemas, which nobody here wrote, with rows that are made up: [Chinook], [Sakila] and [Pagila]. Where they are from is
// said in testdata. [ReadShape] reads what refers to what in them, or in any other schema, and [Shape.Checksum] compares them.
package migratetest
