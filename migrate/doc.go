// Package migrate takes a live database from auto-increment keys to snowflake keys. It inspects the schema, plans the steps, runs them, verifies the result,
// and rolls back. It also merges databases whose rows were numbered apart.
//
// # What is guaranteed
//
//  1. Nothing is written before the preconditions hold: the database and its schema are those of the plan, the plan's file is unchanged, the user has
//     the rights that the steps need, and where the free space can be known, it is enough.
//  2. A step is done once. The journal's row of a step changes in the same transaction as the step's effect. A statement that commits by
//     itself (DDL of MySQL, CREATE INDEX CONCURRENTLY) has a query for its effect, which is asked before the statement is
//     run again. So a run can be killed at any point, and the next one goes on there, with the same result.
//  3. A batch is one transaction: the keys of a range of rows, all references to them, and the journal's cursor. No reader sees a key
//     without its references, as far as the plan names their columns. A row to whose key nothing refers gets its new id together with its reference's.
//  4. There is one runner. The journal names it, and every transaction of a run begins by making sure that the name is still there. A
//     run that takes over leaves the one before without effect.
//  5. A new id is never the id of another row of its table, old or new. The ids of old rows carry a node number of their own, which the plan's
//     first step takes in the table of grants for all time, so no generator ever gets it, for any table. Before the first row changes, the run makes sure
//     that no new id is among the old ones. Old rows of two tables may get one id when they were made in the same unit of time, just as both had
//     the number 1 before. Ids that a generator makes are no other table's either.
//  6. A type change keeps the rest of a column: whether it can be NULL, its default, comment, and what is declared on it. What cannot be
//     kept for certain stops the plan with a reason.
//  7. A run waits for a lock for two seconds at a time (by default), and asks again after a pause. Statements that queue behind it wait no longer than that.
//
// # The way
//
//	Inspect ──▶ Report ──▶ MakePlan ──▶ a file that people read ──▶ Run ⇄ holds ──▶ Verify
//	                                                                 └──▶ Rollback
//
// [Up] and [Down] do all of it in a program. Package inspect has the report, package plan the plan and its steps.
//
// # Modes
//
//	widen    keys, and what refers to them, get 64 bits; old ids stay; the database stops making keys. The default.
//	rekey    widen, then old rows get ids that decode to when they were created, and every reference is rewritten.
//	shadow   rekey without a moment in which a writer fails or waits for long: through a second column, on PostgreSQL alone.
//
// # What writers and readers see meanwhile
//
// In widen: a statement that needs a table's lock for as long as it is rewritten says so in the plan. Prepared statements of PostgreSQL's
// clients may fail once with "cached plan must not change result type": recycle the pools.
//
// At the flip the database stops making keys. From then on a writer that does not fill its keys fails. On MySQL and MariaDB
// there is no safe time for both kinds of writers: after a snowflake AUTO_INCREMENT goes on from it, and takes ids that the generator
// makes later. So a trigger, the gate, refuses snowflakes until the flip. The order is: run to the hold; deploy the writers that fill keys; at once run
// on with Continue naming the hold. That run looks for the other writers for 2 s (Window), once for all tables, and flips one table after the other. From a table's
// flip on the new writers succeed. After each statement one of the two kinds can insert. On PostgreSQL given keys do not move a sequence, and both kinds of
// writers may be at work together.
//
// In rekey: a transaction that read a key before its batch and writes it as a reference after it fails with the foreign key's error,
// and succeeds when it is tried again with the new key. Where a reference is not declared nothing fails: a last sweep over
// all references finds such rows, and verify does, as long as the map is kept. Caches, URLs and other services have the old ids; the
// map table has the new id of each, until the plan's last phase drops it.
//
// An exclusive rekey is for when nobody else writes: whoever runs it says so. One transaction rewrites all tables, with one statement a table or two, in place of
// batches, temporary indexes and the last sweep. On PostgreSQL it locks the tables by LOCK TABLE, in the mode EXCLUSIVE, beside which readers see the rows as they were,
// or, where the user may not set session_replication_role, ACCESS EXCLUSIVE, for foreign keys are dropped and made again. On MySQL and MariaDB it
// reads each table under REPEATABLE READ, which locks all its rows and the gaps between them. On SQLite it locks as every writer does. When it is killed, it is rolled back
// whole, and the next run starts it again. What others write nevertheless is refused, waits, or is found by the checks before and after that transaction.
//
// # What is not protected
//
//   - A change of the schema by others. A run notices it when it begins, and before each step that changes the schema, unless the step before was one,
//     too: a change during that step, or between the two, counts as the plan's own. Nothing looks while rows are counted, compared and rewritten. A
//     rollback keeps new columns that may be NULL, have no default and come last, but not in mode shadow, nor on SQLite.
//   - Ids in texts, logs, caches, other databases, and in JSON that nobody named.
//   - A replica that lags: what it shows is older, and MaxLag is how much older it may get.
package migrate
