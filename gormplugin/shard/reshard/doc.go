// Package reshard moves buckets of sharded tables to other tables or databases, while they are written to.
//
//	p, err := reshard.NewPlan(ctx, w, "default", next)   // what is to be moved, by which version of the map
//	err = reshard.Move(ctx, w, p, reshard.Options{})     // resumes what was interrupted
//	report, err := reshard.Verify(ctx, w, "default")
//
// # Guarantees
//
//   - No row is lost, none is there twice, none is changed, whatever is killed when: the program that moves, the writers, a database.
//   - A write is refused by the database from the moment on that its bucket's rows are complete elsewhere, see idshard.Fence, until the writer has the new map.
//   - A process that reads by the old map sees the rows as they were when the map changed, until its lease is over; the rows are removed after that.
//
// # States of a table's move, in the journal of the map's database
//
//	planned → capture → copy → catch up → compare → fence → drain → verify → flip (all tables at once) → lease → remove → done
//
//	capture    target tables that are missing are made, in the same database; targets refuse the buckets that come, but to the mover; triggers of the
//	           source note the ids that are written, of the buckets that move, in a table beside it
//	copy       rows in the order of their ids, in batches; a row that is there already is overwritten
//	catch up   the noted ids again and again: a row that is there is copied, one that is not is deleted, until few are left
//	compare    all rows of the buckets, on both sides, in batches, while writers go on; what is noted is copied after each batch, and read back
//	fence      the source refuses writes of the buckets; the creation of the trigger waits for the transactions before it
//	drain      the last noted ids, whose copies are read back too
//	verify     that no table has changed since compare, and some rows once more
//	flip       the next version of the map, and the targets let the buckets be written: writers that read the map again go to the new tables
//	lease      nothing; readers of the old map end, whose lease it has, see idshard.Map.Lease
//	remove     the notes and their triggers, then the rows at the source, in batches; the fence stays
//
// Every step may be done twice. Until flip, [Abort] undoes all; after it, the way back is another plan.
//
// Buckets that move can be read all the time. They cannot be written from fence to flip, which does not take longer for more rows: what is read there is
// the rows that are noted, about a hundred of each table, or more when writers are faster than the mover, and up to a hundred others.
//
// # How rows are compared while they are written
//
// Rows of the target are written by the mover alone, which does one thing at a time, so that they stand still while it compares. Rows of the source are
// written by anybody, and noted in the same transaction. So a row that differs and has no note, which is looked for after the row was read, was copied
// wrongly or has been damaged: the move ends with [ErrMismatch], and no write was refused yet. One that has a note is copied later.
//
// From compare on a note is removed when its row was copied, read back where it went, and found to be what was copied. So a row that was compared, or came
// later, and has no note is the same on both sides, at every moment; behind the fence there are no new notes, and when drain has removed the last one, all
// rows are. There is a note for each write since the mover came to it, so the table of notes is as large as what is written in the time of a batch, unless
// writers are faster.
//
// Notes tell what fires triggers. What was written otherwise, see below, or damaged by hand, is found when it happens before the comparison of its batch;
// after that, a hundred rows of each source are compared once more behind the fence, spread evenly over all: a table that was emptied meanwhile is found,
// a single row most likely is not. Where that is not enough, [Options].VerifyFenced has compare left out, and verify reads all rows on both sides: nothing
// that was written before the fence escapes it, and the time in which the buckets cannot be written grows with their rows.
//
// A move that goes on trusts no comparison that was made before it was interrupted. If its fence is up, it is taken down first, so that writers need not
// wait for the next one, also for a move that a version of this package without compare has begun. Only a move that had come to flip keeps it up, since the
// database may still be at work on the map, and verifies all rows behind it.
//
// # What it needs
//
//   - Source and target in databases of one dialect, since rows are compared as their texts; two connections of each. Between databases the rows go
//     through the process.
//   - Tables of InnoDB on MySQL; ids of an integer type, unique by themselves; no foreign keys to or from the table, since rows leave it without those that
//     refer to them; no triggers of others, which would run for rows that move. NewPlan refuses all else.
//   - A unique index over columns of a target has to take the rows that come beside its own; else the copy fails with the database's error. Unique indexes
//     of expressions, and of some rows only, fail as well when a value goes from one row to another during the copy: Abort, and once more. One whose
//     collation tells values apart that its column's takes for the same ends in [ErrMismatch] where there are such values.
//   - The right to make tables and triggers, on PostgreSQL functions too. Made tables have no grants.
//   - Writers that do what fires triggers: no TRUNCATE on MySQL, which PostgreSQL refuses while rows move, no REPLACE on SQLite that clashes with another
//     column than the id, no session on PostgreSQL whose session_replication_role is replica. What is written so is found as is said above, before the flip.
//   - No DDL of these tables meanwhile. SQLite's ALTER by making a table anew loses its triggers, the fence among them.
//
// # Who is at work
//
// A mover holds a lock of its sessions in every database, MySQL's GET_LOCK and PostgreSQL's advisory locks, so poolers of connections in transaction mode are no
// way to them; another one of the same map is refused with [ErrOther]. On SQLite the later one takes over, and the earlier one is refused at its next write.
// The mover passes the fences, by a user variable on MySQL and a setting on PostgreSQL that its own sessions have; on SQLite it takes them down and puts them
// up in the same transaction.
package reshard
