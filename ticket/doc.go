// Package ticket makes ids in databases: by the published ticket servers, one ticket a round trip, or in blocks, many ids a round trip.
// Each is an idgen.Source[int64]. The package needs the standard library alone.
//
//	Replace   one server; REPLACE INTO … (stub), or a SEQUENCE on PostgreSQL
//	Flickr    N servers, each with every N-th number; round robin, and failover
//	Blocks    the same N servers, asked ahead of need: ids flow without a database for as long as the buffer lasts
//	BlocksIn  the same ahead of need, from a store of grants, such as Redis or etcd
//
// # What it guarantees
//
// No two sources of a sequence, in any number of processes, ever return the same id, as long as the servers keep their commits. The guarantee depends
// neither on clocks nor on the order in which servers come and go. It rests on these rules:
//
//  1. A source gives an id out only after the server has answered the statement's commit with success. After any other answer the
//     id is discarded: a gap, never a duplicate.
//  2. Each draw is one statement, on a connection of its own outside of the caller's transactions. The statement's own result has the id; the source
//     never asks a pool for LAST_INSERT_ID().
//  3. The statement states its conditions, and draws nothing if one is false: the row exists and has the layout that the
//     source expects; the session commits on its own; the session has the increment and the offset; a commit waits for the
//     disk (innodb_flush_log_at_trx_commit, synchronous_commit); the row was not set back. So a setting that changes between a
//     check and a draw draws nothing. A probe of a server checks the rest: fsync, SQLite's pragmas, the engine, the types
//     of columns, binlog_format. Settings that lose commits when the server crashes are refused. Settings that lose commits only when the machine crashes
//     (sync_binlog, SQLite's synchronous = NORMAL with WAL) are warnings of Check.
//  4. The source checks each answer: the id is one of the server's own numbers, and greater than all that the server had given this
//     source before the draw began. Any other id is discarded, and the server is left alone until somebody has looked.
//  5. A missing row is never made again by itself, since the new row would begin anew. A second table, the register, has the number of every
//     server whose row was ever made. One transaction writes a server's entry and its row. The other servers' registers have the entry too, so that they
//     remember a server whose database is lost.
//
// # Layouts
//
// Ids are divided into units of consecutive numbers; server k of N allocates every N-th unit. A unit of single tickets is one id, so the ids of
// server k are k modulo N: Flickr's increment N and offset k. A unit of blocks is 1,024 ids, so that id % shards is uniform for up to
// 1,024 shards (a power of two) also while one server does all the work. The row has the layout, "1/2" or "1/2x1024", and is the authority. Each statement names the
// layout that it expects. A source that finds another layout in the row, because servers were added, goes on with the new one if the server has the same
// number in it as in the list.
//
// # One place
//
// A sequence is in one table. A name without a schema is looked up in the catalogue, and not by the search path or the USE of the session that asks:
//
//	PostgreSQL   the only table of that name in the database, in whichever schema, whatever the role may do with it; of several, the first on the search path.
//	             A new one is made in the first schema of the search path in which the role may make tables, the one that is called as the role last
//	MySQL        the table in the database that the source's first session is in; name the database where sessions of the pool change theirs
//	SQLite       the table in main
//
// The register is in the same schema. Where the table is gone, the register says where it was.
//
// A source settles on the table in which it first finds the sequence. All its statements name the schema from then on, so that USE, SET search_path and a
// pooler that resets sessions change nothing. Under a table that is moved it stops; a source that starts finds the new place. Setup makes a table only
// where the catalogue has none, on PostgreSQL one process at a time, by an advisory lock. A table that may not be used is an error, with the place and the GRANT
// statements that it takes. [ServerStats] and [Finding] have the place.
//
// Another schema, database of MySQL or file attached to SQLite may have a second table of the name with the same sequence, as far as the account sees. A source that starts
// then draws nothing: [ErrTwoTables]. For a source that draws already it is a warning of Check, lest a copy of the table ends all processes. A table that may
// not be read counts as such a second table, unless the configuration names the schema. Applications that have nothing in common and share an account of a
// server, or a database of PostgreSQL, give their sequences names of their own.
//
// # The draw
//
// Single tickets, MySQL and MariaDB:
//
//	CREATE TABLE snowkey_tickets (id bigint unsigned AUTO_INCREMENT, stub, layout, PRIMARY KEY (stub), UNIQUE KEY (id))
//
//	REPLACE INTO snowkey_tickets (stub, layout)
//	SELECT stub, layout FROM snowkey_tickets WHERE stub = 'default' AND id >= :last AND layout = '1/2'
//	AND @@autocommit = 1 /*M! AND @@in_transaction = 0 */ AND @@auto_increment_increment = 2 AND @@auto_increment_offset = 1 AND @@innodb_flush_log_at_trx_commit IN (1, 3) FOR UPDATE
//
// The published table has the keys the other way round, PRIMARY KEY (id) and UNIQUE KEY (stub), and no layout. Each REPLACE then leaves an
// entry in the index of stub that is only marked as deleted, and the next ones lock the gaps between them: the rate is an eighth with 8
// connections, and less with each old snapshot that is open. The published table is recognised and served, with a warning of Check.
// FOR UPDATE takes the row's lock first, so that no two statements can each hold what the other one waits for.
//
// SQLite has the same statement, with the number made from the table's own counter, sqlite_sequence, or its rows where one is further. PostgreSQL has SEQUENCEs, with
// INCREMENT BY N, drawn with synchronous_commit on whatever the session's default; a comment on them has the layout:
//
//	SELECT id, set_config('synchronous_commit', 'on', true) || CASE WHEN pg_current_wal_flush_lsn() < pg_current_wal_insert_lsn()
//	THEN pg_logical_emit_message(true, 'snowkey', '') … FROM (SELECT nextval('"snowkey_tickets.default"') AS id)
//
// The log is written for 32 numbers at a time, by the session that gets the first of them. The message gives the others something to wait for while that is not
// on disk: without it a crash gives their numbers out again.
//
// Blocks, everywhere (RETURNING on PostgreSQL and SQLite):
//
//	CREATE TABLE snowkey_blocks (name, next bigint, layout, PRIMARY KEY (name))
//
//	UPDATE snowkey_blocks SET next = LAST_INSERT_ID(GREATEST(next, :floor) + :units * N * unit)
//	WHERE name = 'default' AND layout = '1/2x1024' AND next BETWEEN :last + 1 AND :limit …
//
// Floor is where the buyer's next unit may begin, above all it has from any server: a server that was away is healed by the first allocation, and one
// buyer's ids increase. Last is what the server answered last: a row that was set back allocates nothing.
//
// # A server
//
//	     ┌──────────── checked, one ticket drawn ◀───────────┐
//	     ▼                                                   │
//	┌────────┐  Failures in a row    ┌──────┐  Backoff is over, for one call  ┌───────────┐
//	│ closed │ ────────────────────▶ │ open │ ──────────────────────────────▶ │ half-open │ ◀── the start
//	└────────┘  one, if permanent     └──────┘ ◀────────────────────────────── └───────────┘
//	     │                             it fails: Backoff doubles, or is MaxBackoff │
//	     │ a number of others, or given out before; another layout in the row      │
//	     ▼                                                                         ▼
//	┌────────────────────────────────────────────────────────────────────────────────┐
//	│ quarantined                                                                    │ ── Readmit ──▶ half-open
//	└────────────────────────────────────────────────────────────────────────────────┘
//
// Closed means in use, as a switch is closed. The probe of a half-open server is a check of its settings and a real draw, whose ticket the next call gets: a
// server that answers pings and cannot commit stays open. It is started by a call, which does not wait for it while another server is in use. When the ticket is behind those of the other servers, as it is
// after an outage, it is thrown away and the server is fenced: its counter is moved forward beyond them, in a way that never moves it back, and
// another ticket is drawn.
//
// A source of blocks looks each second at the row of each server, in use or left alone, while it has ids in memory, by one SELECT of its primary key. When it finds the row behind what the server gave, or gone, and a draw says the same,
// it leaves the server alone as above, and throws away all ids that it has in memory: others may have got the same since. It throws them away also when a draw finds out.
// So after a failover that lost commits a source goes on with such ids for a second and one look at the most. Others who have gone past all that it has within that second go
// unnoticed.
//
// A server whose settings are wrong draws nothing meanwhile. It is open, probed at intervals of MaxBackoff, and closed again by itself once the settings are right and the
// probe's number is above all that it gave. A suspicious number, or row, stays in quarantine until somebody has looked.
//
// # Failures
//
//	what happens                                   class       what is done
//	deadlock, lock timeout, stale connection       retry       again at once, up to three times; then as next
//	refused, reset, deadline, full, starting,
//	read-only                                      next        another server; Failures in a row open this one
//	table or row missing, no rights, two tables
//	with the sequence, table moved, ids used up,
//	commit does not wait for the disk, wrong
//	increment or offset                            permanent   another server; this one is open for MaxBackoff
//	number of another server, number not above
//	the last, row set back, other layout in it     quarantine  another server; this one is not used until Readmit
//	the answer is lost after the commit            next        the ticket is lost, and counted as discarded
//	kill -9 of the process                         -           what was drawn and not used is lost
//	kill -9 of the database                        next        committed numbers are on disk, and not given out again
//	SIGSTOP, a network that swallows packets       next        ServerTimeout, then another server
//	restart without the offset                     permanent   the statement draws nothing
//	SET GLOBAL, and sessions from before           retry       the session is closed, a new one has the new values
//	TRUNCATE, DELETE, DROP, a new empty database   permanent   ErrForgotten: nothing is drawn, Setup refuses to begin anew; Restore goes on
//	restored backup, failover that lost commits    quarantine  in a process that was running, and its ids in memory are thrown away; see below for new ones
//	a transaction left open on the connection      retry       nothing is drawn, the connection is closed (not seen on MySQL)
//	the caller's transaction is rolled back        -           its ids are lost
//	all servers are down                           -           calls wait for their context, at most Timeout; UnavailableError
//	one of them is exhausted                       permanent   ExhaustedError; from nine tenths of the range on, a warning
//
// A call fails at once when no server will come back by itself, otherwise when its context ends.
//
// # Galera
//
// A Galera cluster of MariaDB is one server, whichever of its nodes a statement is at: each draw changes the sequence's row, and of two nodes that change it at once one fails
// (error 1213, class retry). So no number comes twice, and none is below one that was drawn before. Settings are refused with which a node draws without the others (wsrep_on, pc.ignore_quorum,
// pc.ignore_sb), or answers from before another node's commit, as a server that was set back does (wsrep_sync_wait without the bits of 7). The nodes as N servers of a sequence
// are refused, since they have the same row. A cluster as one of N servers of Flickr's needs wsrep_auto_increment_control = OFF, and the increment and offset at all its nodes.
//
// # Adding servers
//
// With an [Config.Increment] that is greater than the number of servers, a new server takes a number that is free: add it to the list, run
// Setup. Otherwise Resize changes the increment, while the sources go on: it freezes the rows of all servers, so that nothing is allocated
// any more, finds the greatest number, and gives each row the new layout beyond that. Ids flow again after a few round trips. Sources
// that have the old list go on with the servers they know. A SEQUENCE's MAXVALUE is given up, and has to belong to who resizes; to draw takes USAGE, SELECT and
// UPDATE on it. A Resize that was interrupted leaves rows frozen, and is run again.
//
// # Blocks in a store of grants
//
// A sequence is a key space of its own, and its only row, number 0, is the block that was allocated last: from is its first id, and until the next one that is not
// allocated. One compare-and-swap takes the next block. Each allocation looks at the space, has the store examine itself, and swaps, so:
//
//	another process was faster             the swap changes nothing, and is tried again
//	the answer is lost                     the block may be taken, and is never given out
//	the store is emptied, the row is gone  [ErrForgotten]: nothing is allocated, Setup refuses to begin anew; Restore goes on
//	the row was set back                   the block that shows it and the ids in memory are discarded, and [ErrRegression] until Restore. A source with ids in memory looks each
//	                                       second. A process that starts afterwards cannot know; nor can one that others have gone past before it looks
//	a store that may forget                the error of its Prepare, at the start and at each allocation
//	no answer                              ids flow from the buffer; then calls wait for their context, at most Timeout
//
// An emptied store is a new one for a process that starts: Setup begins at 1. Call Restore with the greatest id of the tables first. What a store's Prepare refuses is
// grant.ErrUnsafe, grant.ErrReadOnly or grant.ErrStore.
//
// # What is not protected
//
//   - A server that loses commits: a restored backup, a failover to a replica that was behind. A source that runs on notices, unless others have gone past what it has before it looks, each second while it has ids in memory, and leaves the server
//     alone; one that starts afterwards, and others' ids, cannot be known. End the processes that hold blocks, and call Restore with the greatest id of the
//     tables that have them before the server is used. The same goes for a sequence whose only server has lost its database, register and all.
//   - Sequences in tables of other names, in databases that the account does not see, or on servers that are not in the list, are other sequences.
//   - A list of servers that is changed while processes go by two lists: two lists that differ in their second server are two sequences. Setup tells each
//     register of the other servers last: a process that is killed in its first Setup may leave a server that only its own register knows.
//   - The published table has no layout: while the increment of its servers is changed one by one, processes with the old list and the new one give the
//     same numbers. End them all first.
//   - A transaction that was begun and left open on a connection of the pool, on MySQL itself, and with drivers of PostgreSQL that do not drop it.
//   - Writers that do not go by the rules: what else writes to the published table is assumed to use REPLACE with the server's variables.
//   - Several sequences in one table of single tickets on MySQL and MariaDB under READ COMMITTED: when one is fenced or restored, it may take away the row of
//     another, which then is forgotten, though no id comes twice. Use REPEATABLE READ, the default, or a table for each.
//   - MySQL before 8.0, and MariaDB before 10.2.4, compute the counter of AUTO_INCREMENT from the rows when they start. The row of a sequence
//     keeps it, unless it is deleted.
//   - A file of SQLite that another one takes the place of while processes run: they go on in the old one. End them first.
//   - A policy of row level security that hides the row: it counts as forgotten.
//   - On SQLite, a transaction of the caller's that has written to the same file holds off every draw until it ends: use another file, or blocks. The
//     connections of the pool get a busy_timeout of 10 ms, and draws try again for as long as their context lasts.
//   - N servers with one increment are N lists of numbers. Each buyer of blocks goes on above all it has, so of the numbers of N servers about one in N is used.
package ticket
