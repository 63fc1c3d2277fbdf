// Package redisgrant keeps grants of node numbers in Redis 6.2 or later, or Valkey, for applications whose processes share a Redis and no database.
// It is a module of its own, with the client github.com/redis/go-redis/v9.
//
//	keys, err := grant.Open(ctx, redisgrant.New(client), grant.Config{})
//	id, err := keys.Next(ctx)
//	err = keys.Close()
//
// The same store gives blocks of consecutive ids: ticket.BlocksIn(ticket.BlockConfig{}, redisgrant.New(client)).
//
// # What it guarantees
//
// The guarantee is that of package grant: two generators with numbers from one key space never make the same id, as long as the space is in one data
// set and Redis keeps the writes that it has acknowledged. Each change is one Lua script, which Redis runs alone, and one write that is made whole or not
// at all. The time is the server's TIME. No key expires, and no timeout decides who has a number.
//
// Redis keeps its writes only when it is told to. Each Prepare, and so each start and each renewal of a keeper, reads the settings and fails with
// [grant.ErrUnsafe] unless they are
//
//	appendonly yes
//	appendfsync always
//	no-appendfsync-on-rewrite no
//	maxmemory-policy noeviction
//
// The error names the setting, its value and the remedy. [WithUnsafe] makes it a warning, for tests. Where the account may not read settings, as with many
// hosted services, Prepare fails too, unless [WithDurable] states that the operator vouches for them. The settings are those of the server that has the space at
// that time, not of its replicas.
//
// # The keys
//
// A space is one hash and, once there are losses, one list. The braces are a hash tag: in a cluster all keys of a space are in one slot, also after a
// change of its layout.
//
//	snowkey:{default}            hash: id, layout, mark, made, absent, moved; and a field for each number
//	snowkey:{default}:losses     list: the last 1,024 losses, the oldest first
//	snowkey:{default}~1          the hash after a change of the layout
//	snowkey:{default}~1:losses
//
// The hash has the identity of the space, its layout, the greatest until of any row (mark), how many rows were ever added (made), and the tick until which
// numbers without a row are held (absent). The field of a number has four values with a space between:
//
//	7   0000000005000600000 0000000005000000000 4NB5F6KQ2M7XWZ3HJYT6PADCVE web-3:4711 …
//	    until               from                mark of the last swap     holder
//
// The mark of the last swap is random, one for each call of Swap. The client repeats a command whose answer was lost; a script that finds the mark of its
// own call reports true and does not change the row again.
//
//	          Swap: no such field, from ≥ absent, and ≥ mark where fields are gone
//	┌──────┐ ─────────────────────────────────────────────────────────────▶ ┌──────┐ ──┐
//	│ none │                                                                │ row  │   │ Swap: holder and until are those of old
//	└──────┘ ◀───────────────────────────────────────────────────────────── └──────┘ ◀─┘
//	          by hand alone: counted by the next Prepare, which raises absent to mark
//
// An account needs the commands and keys
//
//	~snowkey:* +eval +exists +hget +hgetall +hlen +hmget +hset +hsetnx +info +lpos +lrange +ltrim +rename +role +rpush +time +config|get +wait
//
// in a cluster also +asking +cluster|slots, and for [Store.Spaces] and the command snowkey nodes +scan.
//
// [WithPrefix] gives the keys another beginning than "snowkey:". Processes that name another server, another database number (SELECT) or another prefix have
// another space, and make the same ids: nothing notices. A [redis.Ring] is refused, since it asks another server when one does not answer.
//
// # Faults
//
//   - Redis crashes, or is killed: with appendfsync always, Redis answers when the write is on disk. With everysec, Redis may forget the last two seconds, and with no,
//     whatever the kernel has not written: a number can then be granted twice. Both are refused.
//   - Redis starts with an empty data set, or with an older one; FLUSHALL, FLUSHDB, DEL, or a key that was evicted: the space has another identity, or rows that
//     went back. Each keeper notices at its next renewal, stops using the number and records a loss, as after the restore of a database: see package grant for
//     which ids are in doubt. A setting made by CONFIG SET alone is gone after a restart: with appendonly no in redis.conf, Redis then reads its snapshot.
//   - The log is switched on by CONFIG SET: until it is written for the first time a restart begins without it, so Prepare refuses the server. An account that may not INFO, and
//     a log that is switched on for the second time since the start, are not noticed.
//   - A field is deleted: numbers without a row are held until the mark.
//   - A field of the space's own is deleted or changed: all methods fail with [grant.ErrStore]. Nobody mends it; delete the hash after the processes have ended.
//   - Eviction: any policy but noeviction is refused. With noeviction a Redis that is full refuses writes: renewals fail, and keys flow until the grants end.
//   - Failover, and the move of a slot: see below.
//   - The clock of Redis steps: back, grants begin at the row's until; forward, numbers are held for longer. Ids are the same ones as with a database whose clock steps.
//   - The answer is lost, or the context ends while Redis is paused: the method returns an error, and the change may be made later. The command itself goes on
//     in the background until the client's timeouts end it.
//   - A replica is named by mistake, also one that takes writes: Prepare fails with [grant.ErrReadOnly].
//   - EVAL or another command is denied by an ACL: the method fails with the server's words.
//
// # Failover
//
// Replicas follow asynchronously. A replica that takes over, by Sentinel or in a cluster, may lack acknowledged writes: that is a restore of an older copy. Keepers that run
// on report the ids in doubt at their next renewal. A source of blocks that runs on gives no id from there, with ticket.ErrRegression, until Restore.
//
// [WithReplicas] with the number of all replicas has each change at whichever replica takes over. Fewer are not enough: neither Sentinel nor a cluster promises to take
// the replica that has most. Prepare warns of a server that has more replicas than a change waits for, see [Store.Warnings].
//
//   - WAIT, the command behind it, promises that replicas have the change in memory, not on their disks. A replica that takes over after all servers have lost their power has
//     what its own settings kept: set the same ones at all servers. Settings are read of the master alone.
//   - A change is refused while a replica is missing, so also after a failover, until the former master has come back as a replica. Keys flow until the grants end. Where grants end and
//     are sought again meanwhile, refused changes may still have been made, and a keeper may report a loss that is none.
//   - A former master that is cut off, or stood still, still answers: Sentinel makes it a replica some seconds after it has come back. Without WithReplicas it grants numbers of its own,
//     and ids come twice. With WithReplicas no change counts there. min-replicas-to-write 1 at all servers has it refuse changes itself, but not before
//     min-replicas-max-lag, ten seconds by default, where its connections do not end: it does not replace WithReplicas.
//   - A cluster moves the slot of a space to another server: calls follow, also while the space has moved and its losses have not. The settings and replicas are then those of the other server.
//     It has the space before its own replicas have: where it fails in that moment, the whole space is lost. It comes back with another identity: a loss, which is reported.
//
// This was tried with Redis 7.0, by kill -9 and SIGSTOP; docs/stores.md has the figures. Not tried: cut power, a wait for some of the replicas, connections that break without an end.
package redisgrant
