// Package strategy has the ways to give rows their keys that are compared, behind one interface, and takes others.
//
//	err := strategy.Register(strategy.New(strategy.Info{Name: "mine", …}, func(ctx context.Context, at strategy.Environment) (idgen.Source[int64], error) { … }))
//	chosen, err := strategy.Select("mine", "uuidv7")
//	keys, err := chosen[0].Open(ctx, environment)
//	table, err := keys.Table(ctx, db, "prefix_rows")
//	made, err := table.Insert(ctx, orders)
//
// # What it guarantees
//
//   - What a strategy makes in the database has a name that begins with the environment's prefix: tables, and on PostgreSQL and MariaDB sequences. That of
//     flickr is on the pair too. An index of a table of orders is named after the table.
//   - Rows get their keys in the way that an application would have it: numbers and NanoIDs by the plugin of package gormplugin, which asks the
//     source once a statement; other keys are set in the structs, from one call of the source a statement where it can make several at once.
//   - A strategy never makes up for the faults of what it stands for. Two processes of objectid-published whose numbers agree in their low 16 bits
//     have one name, uuidv1 of a clock that steps back goes back, objectid comes round after 2^24 keys of a second.
//
// # What it does not
//
//   - It drops nothing, as it does not know who else has the prefix.
//   - It simulates processes inside of one: what a library keeps for the whole of a process, they share. This is so of uuidv7 alone.
//   - It has no tenants in the tables, which are the same for all strategies. The sharded strategies draw them beside the rows; a statement takes its
//     keys row by row, where the plugin would ask once a bucket.
package strategy
