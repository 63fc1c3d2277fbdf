// Package grant gives generators their node numbers. A number is granted for a range of ticks, and a row in the application's own database
// records the grant, so that no configuration has to hand numbers out. The package needs the standard library alone.
//
//	keys, err := grant.Open(ctx, grant.SQL(db, grant.Postgres), grant.Config{})
//	id, err := keys.Next(ctx)
//	err = keys.Close()
//
// # What it guarantees
//
// Two generators with numbers from one key space never make the same id, as long as the space is in one table and the table keeps its committed
// rows. The guarantee needs no timeout, no heartbeat and no process's clock. It rests on five rules:
//
//  1. A grant is a range of ticks [from, until) of one number. A generator uses the number at ticks of the range only,
//     whatever its clock says. Past the range it makes no ids.
//  2. Rows change by compare and swap alone. A change names the holder and the until that it saw, and happens if the row still has
//     both. Each change is a transaction of its own. Only a swap that was answered with success gives a right; a read is a hint for the
//     next swap, since its row may never be committed, or be gone already.
//  3. A holder is a random name for one acquisition. The keeper tries it until one of its swaps succeeds, and never uses it again, not after a
//     restart either. A keeper owns a row that is as its last swap left it, or as an unanswered swap of its own asked for.
//  4. The until of a number never becomes smaller while ticks before it may be in use. The next grant begins at the row's until or
//     later. A release gives back only ticks without ids, after the generator was sealed.
//  5. Time is the database's. Each grant tells the generator the time, and the generator goes on by the monotonic clock. It makes no ids
//     ahead of the database's clock, except in the ticks that [idgen.BorrowFull] lets it borrow. Each grant begins after the database's current
//     tick and after as many ticks as can be borrowed, so whatever a row has forgotten lies before the grant.
//
// When the table changes its place or loses rows, the guarantee ends at that time. The keepers notice at their next renewal, and report which ids
// are in doubt: see Losses.
//
// # The place
//
// The store looks the table up once, in the database's catalogue and not by a search path, and stays with it. [State.Table] and the command
// snowkey nodes show its database, schema and name. All processes that make keys for the same tables use one:
//
//   - PostgreSQL: a database has one. A role finds it in whichever schema it is, also one that the role may not use: then Open fails with
//     the GRANT statements, and makes no second one. The first role makes it, in the first schema of its search path that is not the role's own (called
//     like the role) and in which it may make tables, which usually is public; only where there is none in the role's own.
//   - MySQL, MariaDB: a database has one, and which database it is says the DSN. USE on a pooled connection changes nothing. Where an
//     application has several databases, all its processes name one: grant.WithTable("app.snowkey_nodes").
//   - SQLite: the main file has one, known by its inode, so that another file of that name is noticed.
//
// A key space in two tables that the account can see is an [ErrTwoTables] at the start, which names both; so is a table that cannot be
// read, unless the configuration names its schema. Applications that have nothing in common and share a server's account, or a schema's database,
// give their spaces names of their own. Tables that the account cannot see, and those of other names, are not found.
//
// # The row
//
//	CREATE TABLE snowkey_nodes (space, node, holder, from_tick, until_tick, layout, PRIMARY KEY (space, node))
//
// A space is a set of keys that must differ. The row of node -1 is the space's own. It holds the layout: a generator with another
// epoch, unit or other widths is refused at its start. It holds a random identity, which a keeper looks at with every renewal; how many
// rows were ever added; and the mark, the greatest until that any row has ever had: from_tick and until_tick count down to them from 2^63-1. Rows below -2
// are losses. The others are made when a number is first needed, and used again and again. Holder is a name for people with a random part, the mark
// of the last swap, and the mark of the row of the holder before.
//
//	          acquire: from = max(until, now + 1), until = from + First, holder = new
//	┌──────┐ ───────────────────────────────────────────────────────────────▶ ┌──────┐ ──┐ renew: until = now + age, from First
//	│ free │                                                                  │ held │   │ up to For, and more than it was
//	└──────┘ ◀─────────────────────────────────────────────────────────────── └──────┘ ◀─┘
//	   ▲      release: until = last tick used + 1, holder = ""                     │
//	   └───────────────────────────────────────────────────────────────────────────┘
//	          the database's clock reaches until: the row stays as it is, and may be acquired
//
// Where there are fewer rows than were added, some are gone, and any number without a row may be one of them. The next Prepare of any process notes
// that in a row of node -2: numbers without a row are held until the mark of that moment.
//
// A model of this, in the tests, explores every interleaving of two and three holders with crashes, messages that are late, lost or
// repeated, clocks that step, rows that are lost, restores, clones and a second table, over a few ticks. It finds no id twice outside of what is
// said below to be in doubt, and it finds one with each rule taken away.
//
// All changes are the same statement,
//
//	UPDATE snowkey_nodes SET holder = ?, from_tick = ?, until_tick = ? WHERE space = ? AND node = ? AND holder = ? AND until_tick = ?
//
// or, for a number that has no row yet, an INSERT that does nothing where one is there already; and with it, in one transaction, the
// space's own row.
//
// # The keeper
//
// [Open] acquires a number and returns a [Keeper], a source of keys that renews the grant in the background:
//
//	            granted ──── past its range ────▶ ended ──▶ renewed or acquired: granted again
//	opening ──▶ granted ◀─── renewed                       the database fails: calls fail with its error
//	            granted ──── row has another holder ──▶ acquires another number, and uses up its own range until then
//	            granted ──── row is gone, set back, changed by a clone; the space is another; several others have had it since ──▶ stops at once,
//	                         tells the loss, acquires another number; or with [Config.StopOnLoss] stops for good
//	any state ──── Close, or the end of the context ──▶ closed: sealed, the rest given back
//
// The first grant lasts ten seconds. Later ones last as long as the process has had the number, up to ten minutes. The keeper renews
// ten times in that time: every second at first, every minute after ten minutes. So ids flow without the database for nine tenths of the
// process's age, nine minutes at most. A process that ends without Close holds its number for as long as it has lived, ten minutes at most.
//
// A keeper whose generator has [idgen.WithShards] makes keys for all shards with one number, see [Keeper.NextFor]. A grant is one of all
// shards: none makes a key at another tick, and what is given back begins after the greatest tick of any.
//
// A first id waits for a tick at most, since a grant begins after the tick that the database's clock is in.
//
// A call that finds the grant ended waits for a renewal. The renewal may itself wait, for a connection of a pool that is all in use, or on SQLite for
// the lock of another transaction, and the waiting calls may hold that connection or lock. Calls then fail with [ErrEnded] at once, until the renewal
// has its connection or lock.
//
// # A change of the layout
//
// A space can go to another layout while processes make keys in it. Its own row then has both, see [idgen.Phases]: layout A, and layout B from tick T on.
// No key is made twice, each key of B is greater than each of A, and calls do not fail at T. It rests on five rules more:
//
//  6. T begins a band of both layouts, and the two order ids alike, so that all ids of A at ticks before T are smaller than all ids of B from T on. Pairs
//     of layouts of which this cannot be said are refused.
//
//  7. T is the space's mark or later, in the transaction that announces the change. So all grants of holders that do not know of the change end by T.
//
//  8. The announcement moves the rows to another name: those of space default to default~1, after another change to default~2. Whoever does not know
//     of the change names the former rows, and changes none of them: however late its swap comes, and whatever its version. None is added there either,
//     since what is left there has all numbers held for good.
//
//  9. A keeper that knows of the change, as it is opened with the options of both layouts ([Config.Before]), has one grant that may reach beyond T. It
//     makes ids of A at ticks of the grant before T, and ids of B from T on. Which one is decided by the tick, so there is nothing to be agreed upon at T.
//
//  10. A keeper does not go back. Once it makes ids of B, it makes none while the space has not come to B.
//
// The states of a space, and what keepers do in each:
//
//	Announce                       the clock reaches T
//	┌───────────┐   rows move, T ≥ mark  ┌───────────────┐         ┌───────────────┐
//	│ A         │ ─────────────────────▶ │ A, from T: B  │ ──────▶ │ A, from T: B  │ ──▶ another change
//	└───────────┘                        └───────────────┘         └───────────────┘
//	keepers of A        renew               refused, keys until the grant's end        refused
//	keepers of A and B  A                   A                       B
//	keepers of B        refused             refused                 B
//
// First all programs get the new layout in [Config.Generator] and the former one in Before: they go on with the layout in force.
// Then one command announces the change, snowkey nodes change, or [Change.Announce]. It names the holders that do not know the new layout, and
// changes nothing while there are some: each holder's name in the table has a mark of its generator's layout. Such a holder that is left all the same
// makes keys until its grant ends, which is before T, and then its calls fail with [ErrLayout]; one of a version that knows no changes stops at its next
// renewal and records a loss, which is none. T is ten minutes ahead and a band where grants are as long as by default.
//
// There is no way back but another change, after T. A space can change as often as its own row has room for, twice between the presets. What the keeper knows of
// the layouts it tells with [Keeper.Phases], so that a query by time is right for keys of both.
//
// A number that is set by hand, without a row, is not reached by a change.
//
// A database that is restored to a time before the announcement has layout A again. Processes of A would make ids in a band in which B has made ids, and the two
// layouts have the same numbers there. So a rollout has a last step: after T, all programs drop Before. A process of B alone refuses the restored space with
// ErrLayout, at its start and at its next renewal. The change is announced again, and the processes go on at the new T, those that were left running too.
// Where processes still have Before when the database is restored, end them all, announce the change, and start none before T: one that
// starts earlier makes ids twice, and nothing notices.
//
// # Faults, and why no id comes twice
//
//   - A crash, or kill -9: the row stays as it is. The number comes free at its until, and its next grant begins there or later.
//   - A pause (SIGSTOP, a suspended machine) longer than the grant: the process comes back with a grant that has ended. A call that was
//     in the middle makes an id of a tick that is in its range, which no other has; all others fail until the grant is renewed. On a
//     machine that was suspended the monotonic clock stood still: ids have an old time, within the grant, until the keeper is
//     told the time, which it asks for as soon as a call has seen the wall clock step.
//   - The clock of the process is behind, ahead, or steps: it is not looked at. At the start one that is further off than [Config.MaxSkew]
//     is refused, since somebody should know.
//   - Two processes ask at once: both swap the same row, one of them has it, the other looks for another.
//   - A renewal is lost: the row has less than the holder asked for, and the holder uses only what it was told. It asks again.
//   - A renewal is applied twice, or late: its until is not the row's any more, so the second changes nothing.
//   - The answer is lost after the commit: the row grants more than the holder knows of, and the holder uses only what it knows. The
//     row is as it was asked to be, so it is renewed from there. Should it have been an acquisition, the number is found by the holder's name.
//   - The database restarts: grants are rows, and what was answered was committed. Where commits do not wait for the disk
//     (innodb_flush_log_at_trx_commit, fsync, SQLite's synchronous, an engine or a table that is not logged), Open and renewals fail with
//     [ErrUnsafe], by the rules of package ticket; on PostgreSQL grants are committed with synchronous_commit on whatever the session's default.
//   - The database's clock steps back: grants begin at the row's until, whatever the clock says. A generator does not go back before the ids
//     it has made. Forward: grants seem to have ended, and others begin later than they would have; what is granted meanwhile reaches as
//     far, so that a number whose holder crashes then is held until the clock gets there.
//   - Rows deleted by hand: numbers without a row are held until the mark, ten minutes at most, and their holders have a loss when they renew.
//   - The database is a Galera cluster of MariaDB, and processes write at all its nodes: of two transactions that change one row, one fails at its commit, and
//     each change of this package writes the rows that it rests on. A node may answer from before another node's commit, so that a grant would seem to be forgotten: Open and
//     renewals fail with [ErrUnsafe] unless wsrep_sync_wait has the bits of 7. So they do where a session or a node goes on without the others (wsrep_on,
//     pc.ignore_quorum, pc.ignore_sb). A node without a quorum refuses the swaps.
//   - The connections have another time zone: times are asked for in UTC, as numbers.
//   - Another isolation level, autocommit off, clientFoundRows: each change is a transaction that names what it replaces and always
//     changes it. Under the stricter levels it may fail instead, and is tried again.
//
// # What is not protected, from when to when
//
//   - A restore from an older copy while processes run, or a failover that lost commits: from the database's return until each keeper renews next,
//     which is within [Config.Every] (a minute by default, less for young processes), or for a process that is cut off from the database that
//     came back, until the end of its grant. In that time another generator may have been granted its number. To be safe, end all
//     processes of the old time before the restored database is opened to new ones; then no id comes twice, whatever the
//     clocks of the processes have said, as long as the database's own clock is not behind what it was. To lose no commits, replicate
//     synchronously. A space that had changed its layout since the copy needs more, see above.
//   - Two processes from one memory image (a snapshot of a virtual machine that is started twice, CRIU): from the start of the second
//     until the first renewal of the later one, [Config.Every] at most. From then on they have different numbers. Two that are both cut
//     off until their grant ends do not notice.
//   - A table that was dropped, and the whole space lost: as after a restore, until each keeper renews next. The first keeper that renews makes
//     the table again.
//   - A restore of an older copy, and then of a newer one, between two renewals of a keeper: its row is as it has left it, so it notices nothing, and neither
//     does one that had its number in between and was closed.
//   - An SQLite file that was replaced by another: the processes that use it stop, and say so in [State.Losses] and the log; the other file has no
//     record of it.
//   - A database that takes over with a clock behind that of the one before, having lost the rows of its last moments: for as long as it is
//     behind. Start no processes before.
//   - A Galera cluster that is started, after all nodes have crashed, from another node than the one with the greatest position: that is a restore.
//   - A second table that no account sees both of; ids with numbers from elsewhere (set by hand, another table) in the same key space.
//
// # Losses
//
// A keeper that finds its grant forgotten stops using the number at once and reports the loss: in [State.Losses], to [Config.Notify], in a
// line of [Config.Logger], and in the space itself. snowkey nodes shows the loss, and snowkey nodes doubt lists the ids in doubt:
// the number's ids from the tick in which the store last knew the grant until the last tick used. Another generator with the number
// made its ids within that range; outside of the range no id came twice. Close reports losses too. A process that is killed before it renews reports
// nothing: its range is from the restore until the process's end, which snowkey nodes doubt takes as --from and --until.
//
// A keeper that was stopped for longer than its grant may find that several others have had its number since. It cannot know whether one of them had it
// before the grant ended, and reports a loss that may be none.
package grant
