// Package etcdgrant keeps grants of node numbers in etcd 3.4 or later, for applications whose processes share an etcd and no database.
// It is a module of its own, with the client go.etcd.io/etcd/client/v3. Its tests have passed on etcd 3.4.23, 3.5.21 and 3.6.4.
//
//	keys, err := grant.Open(ctx, etcdgrant.New(client), grant.Config{})
//	id, err := keys.Next(ctx)
//	err = keys.Close()
//
// The same store gives blocks of consecutive ids: ticket.BlocksIn(ticket.BlockConfig{}, etcdgrant.New(client)).
//
// # What it guarantees
//
// The guarantee is that of package grant: two generators with numbers from one key space never make the same id, as long as the space is in one etcd
// cluster and the cluster keeps the writes that it has acknowledged. Each change is one transaction, which compares the revisions of what it has
// read. All reads are linearizable. No lease, no watch and no timeout decides who has a number. Compaction and defragmentation change nothing, since only the
// present values are read.
//
// etcd acknowledges a write when a majority of the members has it on disk. A member that was started with --unsafe-no-fsync does not keep that, and no
// request shows how a member was started: do not use the flag. A store that sees the revision of its cluster go back says so in [Store.Warnings].
//
// # The clock
//
// etcd has no command that tells the time. The time of a listing is the clock of the client's machine, so the clocks of the machines should be synchronized.
// Uniqueness does not rest on them: a grant begins at the row's until or later, and a row changes by compare and swap alone, so two holders of a number
// never have a tick in common, whatever their clocks say. Wrong clocks cost order and progress:
//
//   - A clock that is behind: ids of the process have an old time, and numbers seem to be held for longer.
//   - A clock that is ahead: ids of the process have a time to come. Numbers of others seem to have ended: their holders use them up to the end of their grants,
//     and then acquire other ones. A number is held for as long as the clock was ahead, when its holder crashes.
//
// Each swap writes the time of its process beside the rows. A process whose clock is behind the last swap's by more than five minutes, see [WithMaxSkew], is
// refused at its start with [grant.ErrSkew]; one that is running already gets a warning, as does one that meets others far behind. The error names the
// holder and the key: where the other clock was the wrong one, end that process and delete the key. [grant.Config.MaxSkew] compares the process's clock
// with itself here.
//
// After a restore from an older copy the rows do not say all. Grants begin after the present time of the process that acquires, so no id comes twice if all processes
// of the old time were ended, and no clock is behind the clocks of that time: wait for as long as clocks may differ before processes are started.
//
// # The keys
//
//	snowkey/default/space                               the space: identity, layout, absent
//	snowkey/default/losses                              the last 1,024 losses, the oldest first
//	snowkey/default/IDENTITY/mark                       the greatest until of any row
//	snowkey/default/IDENTITY/made                       how many rows were ever added
//	snowkey/default/IDENTITY/clock                      the time of the last swap, and its holder
//	snowkey/default/IDENTITY/node/0000000000000000007   the row of number 7
//	snowkey/default/space~1                             the space after a change of its layout, with the same identity and rows
//
// The identity is random, and is made with the space. Values are JSON, mark and made are 19 digits. A row has a random mark of its swap. A change of the layout is one
// transaction of a few keys: the rows stay where they are, and the first name has none any more.
//
//	          Swap: no such key, from ≥ absent, and ≥ mark where rows are gone
//	┌──────┐ ─────────────────────────────────────────────────────────────▶ ┌──────┐ ──┐
//	│ none │                                                                │ row  │   │ Swap: holder and until are those of old
//	└──────┘ ◀───────────────────────────────────────────────────────────── └──────┘ ◀─┘
//	          by hand alone: counted by the next Prepare, which raises absent to mark
//
// An account needs to read and write the keys that begin with "snowkey/":
//
//	etcdctl role grant-permission app readwrite snowkey/ --prefix
//
// [WithPrefix] gives the keys another beginning. Processes that name another cluster or another prefix have another space, and make the same ids:
// nothing notices.
//
// # Faults
//
//   - A member is killed, or the leader stops: requests fail or wait until there is a leader. The store asks again, also other endpoints, until the context ends.
//     Keys flow meanwhile. Give the client the endpoints of all members.
//   - The answer to a change is lost, or comes too late: the change may have been made. The same transaction is sent again. It compares the same revisions, so
//     it is made once at most, and the mark in the row shows which one was. Where that cannot be seen any more, the method returns an error.
//   - The majority is gone: renewals fail, and keys flow until the grants end.
//   - A member was cut off and still answers: its reads wait for the majority, and fail. It never answers with what is out of date.
//   - The cluster is restored from a snapshot, or starts with an empty folder: the space has another identity, or rows that went back. Each keeper notices at its next
//     renewal, stops using the number and records a loss, as after the restore of a database: see package grant for which ids are in doubt.
//   - A row is deleted: numbers without a row are held until the mark.
//   - The key of the space is deleted: it is a new space, with another identity. Another key of it, but for its losses and its clock, is deleted or changed by hand: methods
//     fail with [grant.ErrStore]. Nobody mends it; delete the keys of the space after the processes have ended.
//   - The alarm NOSPACE: etcd takes no writes, and Swap fails with [grant.ErrReadOnly]. Compact, defragment, and disarm the alarm.
//   - The alarm CORRUPT: etcd takes no writes either, and Swap fails with [grant.ErrStore].
//   - The client names a learner: it answers no reads of the present. Another endpoint is asked; where there is none, methods fail with [grant.ErrReadOnly].
//     Once it is promoted, the same store works through it.
//   - The account may not read or write the keys, or has another password: the method fails with etcd's words.
//   - One member alone: a warning in the state of the keeper. When its disk is lost, so are the grants.
package etcdgrant
