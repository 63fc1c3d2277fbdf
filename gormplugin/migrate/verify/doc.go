// Package verify looks at what a plan has made of a database. It writes nothing.
//
// # The checks
//
//	rows            no table has fewer rows than the plan's Count step found
//	bijection       a map has each old and each new id once, its rows are there with one of the two, and no old row is without a new id
//	orphans         no reference has more values that are keys of no row than before
//	digest          the columns that the plan does not change have the values that they had
//	times           a new id decodes to the unit of time that its row was made in
//	order           new ids are in the order of the rows' times, within a unit of time in that of their old ids
//	old values      no reference has an old id: integers, texts, polymorphic ones, and places in JSON
//	types           keys and references have 64 bits, or room for 19 digits
//	auto-increment  the database makes no keys
//	foreign keys    the plan's foreign keys are there, with their columns and actions, and were validated
//
// A check whose step was not run yet is skipped, and says so. So a plan in mode widen has rows, orphans, types, auto-increment and foreign keys, as far as it counts.
//
// # What a failure can mean
//
// An application that is at work deletes rows, and changes columns of old ones. Rows and digest then differ though nothing went wrong: both
// are exact for a database that nobody writes to. All other checks hold whatever the application does, as long as it does not change the column
// that new ids have their time from.
//
// Large tables are read in pages by their key, each in a transaction of its own; memory does not grow with them. A table without a key that the plan knows is read by one query.
package verify
