// Package grant gives generators their node numbers, so that nobody has to hand them out: a number is granted for a range of ticks,
// and a row in the application's own database says which. It needs the standard library alone.
//
//	keys, err := grant.Open(ctx, grant.SQL(db, grant.Postgres), grant.Config{})
//	id, err := keys.Next(ctx)
//	err = keys.Close()
//
// # What it guarantees
//
// Two generators that take their numbers from one key space of one store never make the same id. That rests on no clock, no timeout
// and no heartbeat, but on four rules:
//
//  1. A grant is a range of ticks [from, until) of one number. A generator makes ids with the number at ticks of the range only,
//     whatever its clock says; one that is past its range makes none.
//  2. Rows change by compare and swap alone: a change names the holder and the until that it saw, and is made if the row still has
//     both. It is one statement, in a transaction of its own. Only a swap that was answered with success gives a right; what is read
//     is a hint for the next swap, since it may never be committed, or be gone already.
//  3. A holder is a name made up for one acquisition, tried until one of its swaps succeeds, and never used again, nor after a restart. A
//     release that arrives late finds another holder in the row, a renewal or an acquisition another until, and changes nothing.
//  4. The until of a number never becomes smaller while ticks before it may be in use: the next grant begins at the row's until or
//     later, and a release gives back what no id was made at, after the generator was sealed so that none can be made any more.
//
// # The row
//
//	CREATE TABLE snowkey_nodes (space, node, holder, from_tick, until_tick, layout, PRIMARY KEY (space, node))
//
// A space is a set of keys that must differ. The row of node -1 is the space's own, and holds its layout: a generator with another
// epoch, unit or other widths is refused at its start. The others are made when a number is first needed, and used again and again.
//
//	          acquire: from = max(until, now), until = now + For, holder = new
//	┌──────┐ ───────────────────────────────────────────────────────────────▶ ┌──────┐ ──┐ renew: until = now + For,
//	│ free │                                                                  │ held │   │ and more than it was
//	└──────┘ ◀─────────────────────────────────────────────────────────────── └──────┘ ◀─┘
//	   ▲      release: until = last tick used + 1, holder = ""                     │
//	   └───────────────────────────────────────────────────────────────────────────┘
//	          the database's clock reaches until: the row stays as it is, and may be acquired
//
// A model of this, in model_test.go, explores every interleaving of two and three holders with crashes, messages that are late, lost or
// repeated, and clocks that say anything, over a few ticks, and finds no overlap; it finds one with each rule taken away.
//
// All three are the same statement,
//
//	UPDATE snowkey_nodes SET holder = ?, from_tick = ?, until_tick = ? WHERE space = ? AND node = ? AND holder = ? AND until_tick = ?
//
// or, for a number that has no row yet, an INSERT that does nothing where one is there already. Now is the database's clock.
//
// # The keeper
//
// [Open] acquires a number and returns a [Keeper], a source of keys that renews the grant in the background:
//
//	            granted ──── past its range ────▶ ended ──▶ renewed or acquired: granted again
//	opening ──▶ granted ◀─── renewed every minute            the database fails: calls fail with its error
//	            granted ──── row has another holder ──▶ acquires another number, and uses up its own range until then
//	            granted ──── row is gone or was set back ──▶ stops at once, acquires another number
//	any state ──── Close, or the end of the context ──▶ closed: sealed, the rest given back
//
// Ten minutes are granted and renewed every minute, so ids flow for nine to ten minutes without the database.
//
// A keeper whose generator has [idgen.WithShards] makes keys for all shards with one number, see [Keeper.NextFor]. A grant is one of all
// shards: none makes a key at another tick, and what is given back begins after the greatest tick of any.
//
// A grant begins at the tick that the store's clock is in, or where the number's last one ended; that of a number which was never granted
// before begins one tick later, since it may have been in use without grants. So a first id waits for a tick at most.
//
// # Faults, and why no id comes twice
//
//   - A crash, or kill -9: the row stays as it is. The number comes free at its until, and its next grant begins there or later.
//   - A pause (SIGSTOP, a suspended machine) longer than the grant: the process comes back with a grant that has ended. A call that was
//     in the middle makes an id of a tick that is in its range, which no other has; all others fail until the grant is renewed.
//   - The clock of the process is behind: the generator's clock is moved forward to the start of the grant. Ahead: ids are made as long
//     as the tick is in the range, which is extended by as much as the clock is ahead, up to [Config.MaxSkew]. Further off than that, the
//     process is refused at its start; when it happens later, the generator takes the time of the database.
//   - The clock of the process steps: no tick outside of the range is used, and the generator never makes a smaller id than before.
//   - Two processes ask at once: both swap the same row, one of them has it, the other looks for another.
//   - A renewal is lost: the row has less than the holder asked for, and the holder uses only what it was told. It asks again.
//   - A renewal is applied twice, or late: its until is not the row's any more, so the second changes nothing.
//   - The answer is lost after the commit: the row grants more than the holder knows of, and the holder uses only what it knows. The
//     next swap fails, the row is read, and swapped again. Should it have been an acquisition, the number is found by the holder's name.
//   - The database restarts: grants are rows, and what was answered was committed.
//   - The database's clock steps back: grants begin at the row's until, whatever the clock says. A keeper goes on counting from the
//     latest time the database has told. Forward: grants seem to have ended, and others begin later than they would have; what is granted meanwhile reaches as far, so that a
//     number whose holder crashes then is held until the clock gets there.
//   - The connections have another time zone: times are asked for in UTC, as numbers.
//   - Another isolation level, autocommit off, clientFoundRows: each change is a transaction of one statement that names what it
//     replaces and always changes it. Under the stricter levels it may fail instead, and is tried again.
//
// # What is not protected
//
//   - A database that was restored from a backup, or a failover that lost commits, forgets grants. Renewals that were lost do no harm
//     as long as fewer minutes were lost than were still granted: nine, by default. A number that was acquired in the time that was
//     lost can be granted again. The keeper that has it sees so when it renews next, which is within [Config.Every], one minute by default,
//     of the database's return, and stops at once; until then two generators can make the same id. What to do: let all processes of
//     the old database end before new ones start on the restored one; or start new ones a minute after the failover. To lose no
//     commits, replicate synchronously, and let the server flush its log at every commit (innodb_flush_log_at_trx_commit=1; on
//     PostgreSQL grants are committed with synchronous_commit on whatever the session's default).
//   - Rows deleted or changed by hand, and the table dropped, are the same fault, for as long.
//   - Ids with numbers from elsewhere (set by hand, another table) in the same key space.
package grant
