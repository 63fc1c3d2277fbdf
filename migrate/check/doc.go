// Package check finds what keeps the tables of a database from having snowflake keys: columns of fewer than 64 bits, in a table or in
// those that refer to it, and databases that still make keys of their own. It writes nothing.
//
//	findings, err := check.Models(ctx, db, plugin, &Order{}, &User{}) // after AutoMigrate, which leaves all that as it is
//	findings, err := check.Tables(ctx, db, idgen.Snowkey.Layout, "orders", "shop.users")
//
// A [Finding] has the statements that fix it, where these are certain to run to their end and to change nothing else; package migrate
// changes the tables of a running application. The command is snowkey check.
//
// The keys of a model are the fields that the plugin fills. The references to a key are the declared foreign keys of the database, and
// the relations of the models with the join tables of many2many, also where nothing is declared. Where the layout of the keys is known,
// check also finds keys that no generator can have made yet. It reads the greatest key of a table for that, if an index begins with it.
// Of tables of InnoDB it finds those whose pages are half empty, by the statistics of the server and some hundred rows.
//
// What triggers do is not found, nor what SQLite does with every INTEGER PRIMARY KEY: a row that is inserted without one gets the
// greatest key plus 1.
package check
