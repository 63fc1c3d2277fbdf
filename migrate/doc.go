// Package migrate takes a live schema of integer keys from auto-increment to snowflake keys: it inspects, plans, runs the plan, verifies
// what came of it, and rolls it back; and it merges databases that once numbered their rows apart.
//
// # The steps
//
//	inspect ──▶ report ──▶ plan ──▶ a file that people read ──▶ run ⇄ holds ──▶ verify
//	                                                              └──▶ rollback
//
// A package is a step: [inspect] reads and writes nothing, [plan] makes the list of steps and writes nothing to the database either, [run]
// does them and undoes them, [verify] looks at the result. The [journal] is what run keeps in the database; [mapping] gives old rows their
// new ids.
//
// # Modes
//
//	widen    keys, and what refers to them, get 64 bits; old ids stay; the database stops making keys. The default.
//	rekey    widen, then old rows get ids that decode to when they were created, and every reference is rewritten.
//	shadow   rekey without a moment in which a writer fails or waits for long: through a second column, on PostgreSQL alone.
//
// # What is guaranteed
//
//  1. Nothing is written before the plan's preconditions hold: the database is the one that the plan was made for, its schema is the one
//     that the plan saw, the file is the one that was made, the user has the rights that the steps need, and where the free space can be
//     known, it is enough.
//  2. A step is done once. The journal's row of a step changes in the same transaction as the step's effect; a statement that commits by
//     itself (DDL of MySQL, CREATE INDEX CONCURRENTLY) has a query that tells whether its effect is there, which is asked before it is
//     run again. So a run can be killed at any point, and the next one goes on where it was, with the same result.
//  3. A batch is one transaction: the keys of a range of rows, all references to them, and the journal's cursor. No reader sees a key
//     without its references, as far as references are in tables whose columns the plan names. A row to whose key nothing refers gets its own new
//     id together with its reference's.
//  4. There is one runner. It is named in the journal, and every transaction of a run begins by making sure that it still is; another
//     run that takes over, for the first is dead, leaves the first without effect.
//  5. A new id is never the id of another row of its table, old or new: the ids of old rows carry a node number of their own, which the plan's
//     first step takes in the table of grants for all time, so that no generator ever gets it, for any table; and that no new id is among the old ones is seen to
//     before the first row changes. Old rows of two tables may get one id when they were made in the same unit of time, just as both had
//     numbers from 1 on before: each table counts for itself. Ids that a generator makes are no other table's either.
//  6. Every type change keeps the rest of a column: whether it can be NULL, its default, comment, and what is declared on it. What cannot be
//     kept for certain stops the plan with a reason.
//  7. Locks are waited for briefly (two seconds, by default), and asked for again after a pause, so that statements that queue behind the
//     wait are not held up for longer than that.
//
// # What writers and readers see meanwhile
//
// In widen: a statement that needs a table's lock for as long as it is rewritten says so in the plan. Prepared statements of PostgreSQL's
// clients may fail once with "cached plan must not change result type": recycle the pools.
//
// At the flip, when the database stops making keys: a writer that does not fill its keys fails from then on. On MySQL and MariaDB
// there is no safe time in which some writers fill keys and others do not: after a snowflake AUTO_INCREMENT goes on from it, and takes ids that the generator
// makes later. So a trigger, the gate, refuses snowflakes until the flip. The order is: run to the hold; deploy the writers that fill keys; at once run
// on with Continue naming the hold, which looks for the others for 2 s (Window), once for all tables, and flips one table after the other; from a table's flip on they succeed. After
// each statement one of the two kinds can insert. On PostgreSQL keys that are given do not move a sequence, and both kinds of writers may be at work together.
//
// In rekey: a transaction that read a key before its batch and writes it as a reference after it fails with the foreign key's error,
// and succeeds when it is tried again with the key as it is now. Where a reference is not declared nothing fails: such rows are found by a last sweep over
// all references, and by verify, for as long as the map is kept. Whatever keeps ids outside of the database (caches, URLs, other services) has the old ones; the
// map table says what became of them, until the plan's last phase drops it.
//
// An exclusive rekey is for when nobody else writes: whoever runs it says so. One transaction rewrites all tables, with one statement a table or two, in place of
// batches, temporary indexes and the last sweep. It locks the tables: on PostgreSQL by LOCK TABLE, in the mode EXCLUSIVE, beside which readers see the rows as they were,
// or, where the user may not set session_replication_role, ACCESS EXCLUSIVE, for foreign keys are dropped and made again; on MySQL and MariaDB by
// reading each table under REPEATABLE READ, which locks all its rows and the gaps between them; on SQLite as every writer does. Killed in it, it is rolled back whole, and the next run does
// it from its beginning. What others write nevertheless is refused, waits, or is found by the checks before and after that transaction.
//
// # The journal
//
// Package journal has the states of a plan and of its steps, and the changes between them. There is one journal a database, and one plan in it
// that is not done or undone. A plan that is undoing cannot run on.
//
// # What is not protected
//
//   - Statements that other tools run on the same tables meanwhile: a change of the schema is noticed when the next run begins, and
//     before each step that changes the schema, unless the step before it was one, too: what another does during that one, or between the
//     two, is taken for the plan's own. Nothing looks while rows are counted, compared and rewritten. A rollback takes new columns that may be NULL,
//     have no default and come last as they are, but not in mode shadow, nor on SQLite.
//   - Ids in texts, logs, caches, other databases, and in JSON that nobody named.
//   - A replica that lags: what it shows is older, and MaxLag is how much older it may get.
package migrate
