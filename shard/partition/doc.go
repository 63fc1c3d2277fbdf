// Package partition divides a table by the time of its ids, on PostgreSQL, MySQL and MariaDB, and keeps the partitions: it makes them ahead, and drops,
// detaches or archives old ones.
//
// A snowflake has its time on top, so a range of time is a range of ids, and the id is the partition key: the primary key stays the id alone, where a table
// divided by a column of time needs that column in its primary key and in every query. GORM models stay as they are. The conditions of package gormplugin,
// such as CreatedBetween, and every query by id read the partitions alone that may have the rows.
//
//	orders := partition.Table{Name: "orders", Every: partition.Month, Keep: 12, Old: partition.Drop}
//	statements, err := orders.Create(partition.Postgres, "id bigint NOT NULL", "note text")   // or AutoMigrate with orders.Clause
//	…
//	keeper, err := partition.New(db, partition.Postgres, orders)
//	report, err := keeper.Run(ctx)                                                            // daily, by any scheduler
//
// [Keeper.Run] is all that a scheduler calls, in an application or as "snowkey partition run" by cron or a CronJob of Kubernetes, on one machine or on all.
//
// # Scheduling
//
// A run costs some dozen queries when there is nothing to do. Call it daily or hourly, more often than a period is long, with [Table.Ahead] periods to spare for
// days on which it fails. In an application, on all its machines:
//
//	for range time.Tick(time.Hour) {
//		if _, err := keeper.Run(ctx); err != nil {
//			slog.Error("partitions of orders", "error", err)
//		}
//	}
//
// In a crontab:
//
//	17 * * * *  snowkey partition run --db-file /run/secrets/app --table orders --every month --keep 12 --old drop
//
// As the container of a CronJob, whose runs may overlap and be evicted:
//
//	args: [partition, run, --db-file, /run/secrets/app, --table, orders, --every, month, --keep, "12", --old, drop]
//
// "snowkey partition status" with the same flags ends with status 1 when an operator is needed, for a monitor to call.
//
// # What it guarantees
//
//   - A run ends with the same partitions whether or not runs before it were killed, at whatever statement, and whether or not others run at the same
//     time. The state is the server's catalogue and nothing beside it.
//   - No row is lost on the way from the default partition to its own, nor from a partition to a table. Each row is either in the divided table or in
//     a table that was a partition, but for rows that are to be dropped.
//   - Nothing is old by one clock alone, see below. At most [Table.Most] partitions are.
//   - A table is dropped only when it was detached for that by a run, which has marked the table, or archived: [Table.Archive] has returned no error.
//   - A step waits no longer than [Table.LockWait] for other transactions at a time, and so do those that queue up behind the step. Between attempts
//     the table is free.
//   - A table of pg_partman's is left alone, and so is one that is not divided by ranges of the key.
//
// # What it does not
//
//   - It does not turn a table without partitions into one with partitions; [Keeper.Adopt] does.
//   - It does not survive more than the server does: whether an ALTER TABLE outlives a crash of the server is the server's affair. MariaDB and MySQL 8
//     promise that of most of theirs. A kill of the keeper, of its machine or its connection is what is tested.
//   - It does not work through a pooler of connections in transaction mode: the lock that keeps runs apart is the session's.
//   - It copies no privileges, storage parameters or tablespaces to new partitions of PostgreSQL. Queries through the divided table need none.
//
// # Periods and bounds
//
// A partition holds a day, a week from Monday, or a month, by the calendar of [Table.In]; a day has 23 or 25 hours where the clocks change. Its bound is
// the least id of the tick that its first instant lies in, so a tick must be an hour at most. Names end in the date and sort by time: orders_p20260301, which
// is p20260301 on MySQL. Bounds decide, never names: partitions that were made by hand, of other periods or in another time zone are kept as they are. What they
// leave of a period gets a partition.
//
//	            p20260308     p20260309     p20260310     p20260311     p20260312     default, or pmax
//	          +-------------+-------------+-------------+-------------+-------------+------------------
//	Keep: 2   |             |             | now         |    Ahead: 2               | should be empty
//	          +-------------+-------------+-------------+-------------+-------------+------------------
//
// # Clocks
//
// There are three: the database's, the keeper's, and the time of the greatest key that is not after the database's clock. Partitions are made by the median of
// the three, and are old by the earliest. So no clock that is wrong by itself makes a row old; nor does a table that nobody writes to lose its last rows to time
// alone, for which there is [Table.TrustClock]. Where the first two are apart by more than an hour, a run does what it can and ends with [ErrAttention].
// Keys follow the database's clock, as those of package idgen/grant do, so that a keeper on the database's own machine has one witness and not three:
// [Table.Most] is for that.
//
// # States of a partition
//
//	PostgreSQL                                    MySQL and MariaDB
//
//	(missing) --make--> attached                  (missing) --make--> attached
//	attached --detach--> detached, marked         attached --discard--> gone               Drop, or no rows
//	attached --detach--> pending                  attached --shell--> attached, and an empty table, marked
//	pending --finalize--> detached, marked        attached, and that --detach--> detached, marked
//
//	              detached, marked "keep"         stays                                    Detach
//	              detached, marked "archive" --archive--> detached, marked "drop"          Archive
//	              detached, marked "drop" --drop--> gone                                   Drop (PostgreSQL), Archive
//
// The mark is the table's comment, beginning in "snowkey partition". What a kill leaves, and what the next run does:
//
//	within make                  nothing: one transaction, one statement on MySQL          makes it
//	within detach                nothing; or pending, without a default partition          detaches, or finalizes
//	between shell's statements   an empty table with partitions                            ends the shell
//	between exchange and drop    MySQL: a full table, and an empty partition               drops the partition, under a lock if it is still empty
//	within archive               a table marked "archive"                                  calls Archive again
//	before drop                  a table marked "drop"                                     drops it
//
// # Rows that come late
//
// PostgreSQL's default partition has the rows that no other is there for. A run makes the partition and moves the rows, up to [Table.Move] of them, in one
// transaction, while everybody waits who reads or writes the divided table. A transaction at REPEATABLE READ whose snapshot is older than the move does not
// find moved rows by their ids. Rows older than the retention and rows of the future are reported. Rows are not
// moved where a trigger or a foreign key to the table would take them for deleted. The default partition should be empty: to attach another, PostgreSQL locks it
// and reads all of it.
//
// MySQL's last partition, without a bound, has the rows after the last bound. REORGANIZE PARTITION divides it: at once when it is empty, by copying its rows
// otherwise, with writers waiting. A row that is older than the oldest partition goes into the oldest partition, and leaves with it. Where a partition was
// dropped by hand, the next one has its range.
//
// # Locks
//
// All seen on PostgreSQL 15 and MariaDB 10.11; PostgreSQL has to be 14 or newer. ATTACH PARTITION lets readers and writers of other partitions go on, and locks the default partition;
// where rows are moved, or a partition of now or before is missing, the whole table is locked before that, so that a statement that waits looks up the partitions afterwards.
// DETACH PARTITION locks the whole table for a moment; DETACH PARTITION CONCURRENTLY does not, and PostgreSQL refuses it beside a default partition. So
// a table without one gets it: its rows without a partition are refused. A pending partition's rows are out of sight until it is finalized, which waits for the
// transactions that had read the table. MySQL locks the table for every step, for a moment, once all transactions that have used it have ended.
//
// # Foreign keys, and limits of MySQL
//
// PostgreSQL has foreign keys from and to divided tables. It does not detach a partition while rows of another table refer to rows of it, and ON DELETE
// does nothing then: [ErrReferenced]; those go first. MySQL and MariaDB have no foreign keys from or to divided tables, refuse unique keys without the id in
// them, as does PostgreSQL, and have 8,192 partitions a table at most.
//
// # Rights
//
// On PostgreSQL the role is the table's owner, a member of that role, or a superuser. New partitions belong to the owner, who may make tables in the schema. On MySQL the account needs ALTER, CREATE, DROP, INSERT, SELECT and LOCK
// TABLES on the database.
package partition
