// Package verify looks at what a plan has made of a database, while the application is at work or not. It writes nothing.
//
// # What is known of a row
//
// A plan has a number for each key, Below. The journal has, since before the first row changed, how many rows and orphans there were (Count), and a digest of the
// old rows (Digest), with the greatest old id at that time, the top. The map has each old id and its new one. So of the rows of a table with a map
//
//	id                                      before the rewriting       after it
//	below Below, up to the top, in the map  an old row                 an old row that was left behind: a fault
//	below Below, above the top, in the map  came since the digest      left behind: a fault
//	below Below, not in the map             not mapped yet             somebody makes ids of the old kind: a fault
//	a new id of the map                     came too soon: a fault     an old row, or one that came before the swap (shadow)
//	any other                               written by the application, or made by the default of mode shadow
//
// The last kind is left out of all comparisons with what was before, and so is what came since the digest. Of a table whose key the plan does not have, a row
// above the top of its own integer key came since. Of one without such a key, a row that refers to a row that came since came since, too; others
// cannot be told from old ones.
//
// # What the application may do, and what that explains
//
// It may add rows, change columns of old rows, move a row to another parent, and delete rows. It may not change ids, write old ids into references, or give rows
// ids of the old kind after the flip. So a check has one of these results:
//
//	passed    it is as it was, or as it has to be
//	failed    something is wrong, whatever the application did
//	unknown   something differs that the application may have done, and a fault as well: old rows are gone, or have other values
//	skipped   its step was not run yet, or what it is compared with was dropped
//
// Unknown has the ids that it is about, the most doubtful first. It cannot be told apart later, either: to know, compare these rows with a backup of the time before
// the run. Where nobody but the run has written since it began, unknown is a fault: snowkey migrate verify --strict.
//
// # The checks
//
//	rows            no old row is gone, by the map; of a table without one, there are no fewer rows than the plan's Count step found. Else unknown
//	bijection       a map has each old and each new id once, its rows are there with one of the two, and no old row is without a new id
//	orphans         no reference has more values that are keys of no row than before. More are unknown where no foreign key guards the reference and each
//	                value was a row's, or may have been: the application deletes rows, and what refers to them stays
//	digest          the old rows have the values that they had, in the columns that the plan does not change, and refer to the rows that they
//	                referred to. Rows are in up to 512 sets by their old ids, so that a difference is located. It is unknown; but where MySQL notes in a column
//	                when a statement changes a row, has noted nothing in a set since, and the set has all its rows, a difference failed
//	times           a new id decodes to the unit of time that its row was made in, or the row that it belongs to by a reference. It is unknown for a row of a set that
//	                differs: the row may have had another time, or belonged to another
//	order           new ids are in the order of the rows' times, within a unit of time in that of their old ids; of those that are not mistimed
//	old values      no reference has an old id: integers, texts, polymorphic ones, and places in JSON
//	types           keys and references have 64 bits, or room for 19 digits
//	auto-increment  the database makes no keys
//	foreign keys    the plan's foreign keys are there, with their columns and actions, and were validated
//	definitions     what the database says of the plan's tables, of their partitions and of what depends on them is what it said before, with the changes that the
//	                steps that are done have announced, and no others: columns with types, defaults and comments, indexes, constraints, triggers and whether
//	                they are on, views, sequences, owners and rights, policies, statistics, publications. It is compared at holds, at the end and after a
//	                rollback. A difference names the table, what was, what is, and the statement that brings it back, where that is known; rights that were granted meanwhile are unknown
//
// In mode shadow a trigger makes the ids of rows that come before the swap. It gives them the rows' own time, and the database's where the time would come through a
// reference, or is to come: either is right for a row that came since the digest.
//
// # What is taken for something else
//
//   - A row whose time or parent was changed between the digest and the map, and changed back before verify: times has failed, though nothing is wrong.
//   - A row whose key was taken before the digest, and which was committed after it: its set is unknown, with one row more.
//   - A created column that the application changes: times of the rows that have their time through a reference to such a row have failed.
//   - Changes that the application makes to a row of a set hide a fault in the same set: the set is unknown either way.
//   - A polymorphic or text reference, or one in JSON, that was exchanged for another row's new id: no check sees it.
//   - While a run is at work rows move from one id to the other: verify at a hold, or when no run is at work.
//
// A check whose step was not run yet is skipped, and says so. So a plan in mode widen has orphans, types, auto-increment and foreign keys, as far as it counts.
//
// Large tables are read in pages by their key, each in a transaction of its own; memory does not grow with them. A table without a key that the plan knows is read by one query.
package verify
