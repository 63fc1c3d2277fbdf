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
//	planned → capture → copy → catch up → fence → drain → verify → flip (all tables at once) → lease → remove → done
//
//	capture    target tables that are missing are made, in the same database; targets refuse the buckets that come, but to the mover; triggers of the
//	           source note the ids that are written, of the buckets that move, in a table beside it
//	copy       rows in the order of their ids, in batches; a row that is there already is overwritten
//	catch up   the noted ids again and again: a row that is there is copied, one that is not is deleted, until few are left
//	fence      the source refuses writes of the buckets; the creation of the trigger waits for the transactions before it
//	drain      the last noted ids
//	verify     counts and digests of every bucket, on both sides, which nobody can write to now
//	flip       the next version of the map, and the targets let the buckets be written: writers that read the map again go to the new tables
//	lease      nothing; readers of the old map end, whose lease it has, see idshard.Map.Lease
//	remove     the notes and their triggers, then the rows at the source, in batches; the fence stays
//
// Every step may be done twice. Until flip, [Abort] undoes all; after it, the way back is another plan.
//
// Buckets that move can be read all the time. They cannot be written from fence to flip, which takes as long as reading all their rows on both sides: move
// fewer buckets at a time where that is too long.
//
// # What it needs
//
//   - Source and target in databases of one dialect, since rows are compared as their texts; two connections of each. Between databases the rows go
//     through the process.
//   - Tables of InnoDB on MySQL; ids of an integer type, unique by themselves; no foreign keys to or from the table, since rows leave it without those that
//     refer to them; no triggers of others, which would run for rows that move. NewPlan refuses all else.
//   - A unique index over columns of a target has to take the rows that come beside its own; else the copy fails with the database's error. Unique indexes
//     of expressions, and of some rows only, fail as well when a value goes from one row to another during the copy: Abort, and once more.
//   - The right to make tables and triggers, on PostgreSQL functions too. Made tables have no grants.
//   - Writers that do what fires triggers: no TRUNCATE on MySQL, no REPLACE on SQLite that clashes with another column than the id, no session on PostgreSQL
//     whose session_replication_role is replica. What is written so is found by verify, before the flip.
//   - No DDL of these tables meanwhile. SQLite's ALTER by making a table anew loses its triggers, the fence among them.
//
// # Who is at work
//
// A mover holds a lock of its sessions in every database, MySQL's GET_LOCK and PostgreSQL's advisory locks, so poolers of connections in transaction mode are no
// way to them; another one of the same map is refused with [ErrOther]. On SQLite the later one takes over, and the earlier one is refused at its next write.
// The mover passes the fences, by a user variable on MySQL and a setting on PostgreSQL that its own sessions have; on SQLite it takes them down and puts them
// up in the same transaction.
package reshard
