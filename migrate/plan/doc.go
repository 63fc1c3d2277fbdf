// Package plan makes a plan: the list of steps by which a database's keys become snowflake keys. [Make] reads the database and writes nothing to it.
// A run (migrate.Run) does the steps, and a rollback undoes them.
//
// A plan is two files. People read the .sql, and refuse it if need be. Programs read the .json. Neither can be changed without the other:
// [ReadFiles] renders the .sql again from the .json, and refuses a plan in which one letter differs ([ErrChanged]). What a reviewer has read is what is run.
//
// # What Make promises
//
//   - It finds every column that has to hold snowflakes: the keys, the references to them, and the references to these where a reference is its table's key.
//   - It names everything that stands in the way at once, with what to do ([Blocked]). What the database is certain to refuse in the middle of a run is refused here.
//   - Each step says who waits for it, how many rows it reads or writes, and what undoes it.
//   - [Plan.Definitions] is all that the database says of the plan's tables before the first step. A step announces each [Change] of these that lasts; what a plan
//     makes for a while is called snowkey_…. [Plan.Differences] compares a database with both.
//
// # Steps
//
// A [Step] is data. The runner, the status and verify read its fields, and never its SQL or its title.
//
//	field              says                                         read by
//	Do, Undo           the action, and the one that undoes it       the runner
//	Kept, Final        why there is no Undo; no rollback after it   a rollback
//	Tables, Lock       what the step touches, and who waits         the reviewer
//	Rows, Bytes, Disk  estimates                                    the reviewer; the runner for the free space
//	Changes, Left      what becomes of definitions                  the runner's and verify's look at the schema
//
// An [Action] is of one of these kinds. The journal has a row for each step.
//
//	kind           fields                                 what a run promises
//	transactional  SQL, RowsOnly                          all statements and the journal's row commit together
//	autocommit     SQL, Applied, Repair, Concurrently     each statement has its effect once: Applied asks for the effect before and after it
//	batch          Before, SQL, After, Cursor, Remaining  each range of rows commits with the journal's cursor
//	fill map       Table                                  the same, for the map of old ids to new ones
//	reserve node   –                                      the node belongs to the plan for all time
//	count          Queries                                the numbers are in the journal
//	digest         Table                                  the digest of the table's other columns is in the journal
//	assert         Queries, Want or Baseline, OnFailure   the run stops unless every number is as it has to be
//	assert stable  Queries, Window, OnFailure             the run stops unless every value stays the same for the window
//	hold           Name, Text                             the run ends; a run that is told to continue at Name goes on
//
// Two more facts are the plan's own: [Plan.Refusals] has the steps between which a kind of INSERT is refused, and [Plan.Privileges] and [Plan.Silent] have the rights that
// the steps need. The number of the format, [Schema], is raised when a field changes; a program reads the plans of its own format alone, and says so of others.
//
// # Widen
//
// On MySQL and MariaDB, where c refers to p:
//
//	gate on p ─▶ drop c's foreign key ─▶ c and p: BIGINT ─▶ foreign key again, orphans as before ─▶ hold ─▶ no new keys ─▶ flip: drop AUTO_INCREMENT ─▶ drop gate
//
// A snowflake in an AUTO_INCREMENT column makes the counter go on from it, for good. So a trigger, the gate, refuses snowflakes until the
// counter is gone. At the hold, writers that fill keys replace those that do not. The gate refuses them until the flip. The step before the flip asserts,
// once for all tables, that the counters make no keys any more: it lasts 2 s on MySQL and MariaDB, where writers are refused meanwhile, and 10 s elsewhere.
//
// A gate looks in information_schema whether the counter is there, so the statement that drops the counter opens the gate. After each statement one of the two kinds of
// writers can insert, wherever a run is killed. (For rows with snowflakes alone; 0.3 ms a row on MariaDB 10.11, from the flip until the gate is dropped.) A gate has the rights
// of the user who ran the plan: while there are gates, an account that is dropped (1449), or that loses SELECT on the column (1143), refuses every insert; the DROP TRIGGER in the
// plan's file opens the table. On MySQL, which was not run with this form of the gate, the counter's end copies the table; information_schema_stats_expiry does not concern
// EXTRA, which the gate reads.
//
// MariaDB 10.11 changes no type of a column in a foreign key, also with foreign_key_checks = 0 (1832, 1833), and makes no key between columns of two types (1005). So the
// foreign keys of connected tables are missing between their first and last step. The application may leave orphans meanwhile. The run counts orphans when the keys are back,
// stops, and shows for each key with ON DELETE CASCADE or SET NULL the statement that does the same. It does not run the statement itself: old orphans look like new
// ones, and a DELETE fires triggers, which a cascade does not. Triggers in place of the keys would fail for a table that refers to itself (1442), and fire others.
//
// PostgreSQL needs no gate: a sequence does not see keys that are given, and both kinds of writers work until the flip, one transaction for all tables.
// Views that use a column are dropped and made again in the transaction of its type change. On SQLite integers have 64 bits already, so widen has no steps, and AUTOINCREMENT
// stays: SQLite numbers a row that comes without a key by the greatest plus 1. The plan says so, with a trigger that refuses such rows; a rekey begins with the hold.
//
// A type change of a partitioned table of PostgreSQL makes the indexes of its partitions anew; those that are part of an index of the whole get their names,
// comments and properties back in the same transaction, and an index that was not on all partitions is not on all after it. Temporary indexes are of single
// partitions, and foreign keys are changed on the partition that declares them. A foreign key with ON UPDATE on what has partitions, and tables that inherit without being
// partitions, are refused.
//
// # Triggers in rekey
//
// Batches change keys and references, and must not fire triggers: updated_at stays, and no audit sees an update. On PostgreSQL the sessions of batches
// set session_replication_role = replica, where the user may: superusers, and from PostgreSQL 15 on those with GRANT SET ON PARAMETER. No trigger fires
// for the plan's rows, and all fire for others; a trigger that is ENABLE ALWAYS or REPLICA has to be accepted. The triggers of foreign keys do not fire either.
// Foreign keys hold nevertheless: a batch changes the key first, then all references to it, each by a statement that sees what was
// committed before, and a child of another session waits for the key's row, and is refused by its own session's foreign key. Where the user may not,
// foreign keys are made deferrable for the time, those with ON UPDATE are replaced, and each trigger that an UPDATE fires has to be accepted.
//
// On MariaDB no setting of a session keeps triggers from firing. So before the first row changes, each trigger for UPDATE of a rewritten table gets its body
// into IF @snowkey_rekey IS NULL THEN … END IF, and gets its own definition back after the last batch; the sessions of batches set the variable:
//
//	own definition ─▶ CREATE OR REPLACE, guarded ─▶ batches, forwards or back ─▶ CREATE OR REPLACE, own definition
//
// OR REPLACE leaves no moment without the trigger, and others' updates fire it at any time. Each statement commits by itself. It names the
// trigger's neighbour by FOLLOWS or PRECEDES, so that the order stays wherever a run is killed; it has the trigger's definer, sql_mode, character set
// and collation. Applied looks for the IF. Faults:
//
//   - Other sessions use the table: the statement waits for the metadata lock up to the run's lock_wait_timeout, and is tried again as all others.
//   - A rollback undoes the last steps first, which guards the triggers again before the keys go back.
//   - Somebody replaces or drops a trigger meanwhile: from then on it fires for the batches, too. The run, or the rollback, ends before it restores triggers, and
//     overwrites nothing. It goes on once somebody has run the statement for that trigger in the plan's file; the new trigger is for after the run.
//   - The run ends for good in the middle: the triggers stay guarded, which changes nothing for others, until a rollback or the rest of the run.
//
// A trigger cannot be guarded, and has to be accepted, whose definer is another account than the plan's user, without the privilege SET USER, which is a part of SUPER up to MariaDB 10.11
// (1227 else); which was made by CREATE TRIGGER IF NOT EXISTS, which SHOW CREATE TRIGGER repeats, and OR REPLACE does not go with (1221); under an sql_mode with NO_TABLE_OPTIONS
// and the like, ORACLE among them, under which no run can read the schema; from a client whose character set is neither UTF-8 nor ASCII's part of latin1; or whose table is in another schema.
// A right that comes from a role alone is not seen. MySQL has no OR REPLACE: there each trigger that an UPDATE fires has to be accepted, or dropped for the time.
//
// # Rollback
//
// A rollback leaves the types wide, restores dropped foreign keys, and has the database make keys again. On PostgreSQL the numbers go on above the old rows' ids and those given
// when the plan was made. On MySQL, MariaDB and SQLite they go on above the greatest id, snowflakes included: newer rows keep theirs. The outcome of the rollback has
// the number, and the statement that has the database go on from the old ids once no row has a snowflake; where none has, the rollback does it itself.
package plan
