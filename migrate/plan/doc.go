// Package plan makes the list of the steps by which a database's keys become snowflake keys, and writes it to a file that people read and
// package run takes. It writes nothing to the database.
//
// # From a report to a file
//
//	report ──▶ Make ──▶ Plan ──▶ WriteFiles ──▶ rekey.sql for people, rekey.json for run ──▶ ReadFiles ──▶ Plan, the same ──▶ run
//
// [Make] reads the tables of the report again, with their foreign keys, and finds the columns that have to hold snowflakes: the keys, what
// refers to them, and what refers to that where a reference is its table's key. It plans, or says all at once what stands in the way and what
// to do about it ([ErrBlocked]). What is certain to be refused by the database in the middle of a run is refused here.
//
// The .sql is what a reviewer reads ([Plan.Text]): what becomes of keys, a table of all steps with their locks, rows and about how long each takes, and the
// SQL that changes something, once for all tables in which it is the same. The .json is the plan ([Plan.Encode]), with what undoes each step, the
// settings of its connection, and the queries that count. The .sql is made of the .json, and has its hash: [ReadFiles] makes it again,
// and refuses a plan in whose files one letter differs ([ErrChanged]), so that what people have read is what is run. The [Plan.Hash] names a plan in the
// journal, which keeps the JSON: a run goes on, and is undone, without the files.
//
// # Widen
//
// On MySQL and MariaDB, where c refers to p:
//
//	gate on p ─▶ drop c's foreign key ─▶ c and p: BIGINT ─▶ foreign key again, orphans as before ─▶ hold ─▶ steady ─▶ flip: drop AUTO_INCREMENT ─▶ drop gate
//
// A snowflake in an AUTO_INCREMENT column makes the counter go on from it, for good, so the gate, a trigger, keeps snowflakes out until the
// counter is gone. At the hold the writers are replaced by ones that fill keys, which fail until the flip; steady, once for all tables, is the
// proof that none is left of the others, which fail after it. So steady takes 2 s there, where writers are refused meanwhile, and 10 s elsewhere;
// [Plan.Refusals] has for how long each kind of writers is refused, and by which steps.
//
// A gate is open from the same statement on that drops its table's counter, for it looks in information_schema whether the counter is there
// (for rows with snowflakes alone; 0.3 ms a row on MariaDB 10.11, from the flip until the gate is dropped). So after each statement rows of one of the two kinds come in,
// wherever a run is killed, and nobody has to open anything. A gate runs with the rights of the user who ran the plan: while there are gates, an account that is dropped
// (1449), or that loses SELECT on the column (1143), refuses every insert; DROP TRIGGER, which the plan's file has, opens the table then. On MySQL, which was not run with
// this form of the gate, the counter's end copies the table; information_schema_stats_expiry does not concern EXTRA, which the gate reads.
//
// MariaDB 10.11 changes no type of a column in a foreign key, also with foreign_key_checks = 0 (1832, 1833), and makes no key between columns of two types (1005): so a set's
// keys are missing between its first and last step, for everybody. What the application deletes or adds then may leave orphans. The run counts them when the keys are
// there again, stops, and has for each key with ON DELETE CASCADE or SET NULL the statement that does the same. It does not run the statement itself: orphans of before are not told from new
// ones, and a DELETE fires triggers, which a cascade does not. Triggers in place of the keys would fail for a table that refers to itself (1442), and fire others.
//
// On PostgreSQL there is no gate, for a sequence does not see keys that are given: both kinds of
// writers may be at work until the flip, which is one transaction for all tables. Views that use a column are dropped and made again in the transaction of its type change. On
// SQLite integers have 64 bits already, so widen has no steps, and AUTOINCREMENT stays. SQLite goes on to number the rows that come without a
// key, by the greatest plus 1: the plan says so, with the trigger that refuses them, and rekey has the hold and the steady step before anything else.
//
// A type change of a partitioned table of PostgreSQL makes the indexes of its partitions anew; those that are part of an index of the whole get their names,
// comments and properties back in the same transaction, and an index that was not on all partitions is not on all after it. Temporary indexes are of single
// partitions, and foreign keys are changed on the partition that declares them. A foreign key with ON UPDATE on what has partitions, and tables that inherit without being
// partitions, are refused.
//
// # Triggers in rekey
//
// Batches change keys and references, and nothing that a trigger is for: updated_at stays, and no audit sees an update. On PostgreSQL the sessions of batches
// have session_replication_role = replica, where the user may set it: superusers, and from PostgreSQL 15 on those with GRANT SET ON PARAMETER. Then no trigger fires
// for the plan's rows, and for all others they all do; a trigger that is ENABLE ALWAYS or REPLICA has to be accepted. Nor do the triggers fire that
// foreign keys are made of. They hold nevertheless: a batch changes the key first, then all references to it, each by a statement that sees what was
// committed before, and a child of another session waits for the key's row, and is refused by its own session's foreign key. Where the user may not,
// foreign keys are made deferrable for the time, those with ON UPDATE are replaced, and each trigger that an UPDATE fires has to be accepted.
//
// On MariaDB no setting of a session keeps triggers from firing. So before the first row changes each trigger for UPDATE of a table whose rows are rewritten gets its body
// into IF @snowkey_rekey IS NULL THEN … END IF, and after the last batch it is made as it was; the sessions of batches set the variable:
//
//	as it was ─▶ CREATE OR REPLACE, guarded ─▶ batches, forwards or back ─▶ CREATE OR REPLACE, as it was
//
// A trigger is one or the other at any time, and fires for all updates of others: OR REPLACE leaves no moment without it. Each statement stands for itself. It names the
// trigger's neighbour by FOLLOWS or PRECEDES, so that the order stays, whichever of several were replaced when a run is killed; it has the trigger's definer, sql_mode, character set
// and collation. AppliedEach looks for the IF: what is done already is left out. Faults:
//
//   - Other sessions use the table: the statement waits for the metadata lock up to the run's lock_wait_timeout, and is tried again as all others.
//   - A rollback undoes the last steps first, which guards the triggers again before the keys go back.
//   - Somebody replaces or drops a trigger meanwhile: from then on it fires for the batches, too. The run, or the rollback, ends before it makes triggers as they were (run.ErrSchema), and
//     overwrites nothing. It goes on when the statement that the plan's file has for that trigger was run by hand; the new trigger is for after the run.
//   - The run ends for good in the middle: the triggers stay guarded, which changes nothing for others, until a rollback or the rest of the run.
//
// A trigger cannot be guarded, and has to be accepted, whose definer is another account than the plan's user, without the privilege SET USER, which is a part of SUPER up to MariaDB 10.11
// (1227 else); which was made by CREATE TRIGGER IF NOT EXISTS, which SHOW CREATE TRIGGER repeats, and OR REPLACE does not go with (1221); under an sql_mode with NO_TABLE_OPTIONS
// and the like, ORACLE among them, under which no run can read the schema; from a client whose character set is neither UTF-8 nor ASCII's part of latin1; or whose table is in another schema.
// A right that comes from a role alone is not seen. MySQL has no OR REPLACE: there each trigger that an UPDATE fires has to be accepted, or dropped for the time.
//
// # What is announced
//
// [Plan.Definitions] is all that the database says of the plan's tables before it. Each step that changes some of it for good has the [Change]s; what it makes for a
// while is called snowkey_…. [Plan.Differences] says where a database is not as it was, with the changes of the steps that are done.
//
// # Rollback
//
// A rollback leaves the types as they are, makes dropped foreign keys again, and has the database make keys again; the numbers go on above those of the
// old rows that are there then, and those given when the plan was made. On MySQL, MariaDB and SQLite they go on above the
// greatest id, snowflakes included: rows that came since keep theirs. run.Counters has the number, and the statement that has the database go on
// from the old ids once no row has a snowflake; where none has, the rollback does it itself.
package plan
