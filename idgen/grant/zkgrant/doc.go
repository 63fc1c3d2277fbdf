// Package zkgrant keeps grants of node numbers in ZooKeeper 3.5 or later, for applications whose processes share a ZooKeeper and no database.
// It is a module of its own, with the client github.com/go-zookeeper/zk.
//
//	conn, _, err := zk.Connect(servers, 10*time.Second, zk.WithDialer(zkgrant.Dialer(nil)))
//	keys, err := grant.Open(ctx, zkgrant.New(conn), grant.Config{})
//	id, err := keys.Next(ctx)
//	err = keys.Close()
//
// The same store gives blocks of consecutive ids: ticket.BlocksIn(ticket.BlockConfig{}, zkgrant.New(conn)).
//
// # What it guarantees
//
// The guarantee is that of package grant: two generators with numbers from one key space never make the same id, as long as the space is in one ensemble
// and the ensemble keeps the writes that it has acknowledged. Each change is one transaction (multi) of creations and deletions, which is made whole or not
// at all. No ephemeral node, no watch and no session decides who has a number: a session that expires loses nothing.
//
// ZooKeeper acknowledges a write when a majority of the voters has it on disk. A server that was started with forceSync=no does not keep that, and no request of
// the client shows how a server was started: do not use the setting. A store that sees the transaction number (zxid) of its ensemble go back says so in
// [Store.Warnings].
//
// # The clock, and reads
//
// A server answers reads from its own memory, which may be behind the others. So Prepare, List and Losses first write the folder of the space, without a change of its
// content. A majority has to take that write, the leader dates it, and a read counts only when its answer has that write or a later one. The time of a listing is
// the date: that of the leader's clock, as with a database. [grant.Config.MaxSkew] compares with it. Synchronize the clocks of the servers: after an
// election the time is that of another leader. A clock that goes back costs order and no uniqueness, as grants begin at the row's until. Where there is no space yet, the
// time of a listing is that of the process.
//
// # The nodes
//
// A space is one folder. What it keeps is in the names of the folder's nodes, so that one request reads all of it at one moment, and a change of a node is the deletion of
// the old name and the creation of a new one: a transaction compares the whole content of what it replaces. Texts are escaped as in a URL.
//
//	/snowkey/default                                 the folder
//	    revision,CALL                                changes when a name of a space is added
//	    space,IDENTITY,ABSENT,MOVED,LAYOUT           the space; MOVED is the mark of the Move that gave the rows to another name, or empty
//	    space~1,IDENTITY,ABSENT,MOVED,LAYOUT         the space after a change of its layout, with the same identity
//	    mark,IDENTITY,MARK,MADE,CALL                 the greatest until of any row, and how many rows were ever added
//	    node,IDENTITY,7,UNTIL,FROM,CALL,HOLDER       the row of number 7
//	    loss,IDENTITY,1,7,FROM,UNTIL,CALL,HOLDER     a loss; the last 1,024
//
// CALL is random, one for each call of a method. The identity is random, and is made with the space. A row has some 120 bytes, so a read of a space with 1,024 rows has
// 120 kB; zk.WithMaxBufferSize of the client must be larger than that. The servers' jute.maxbuffer does not bound answers.
//
//	          Swap: no row of the number, from ≥ absent, and ≥ mark where rows are gone
//	┌──────┐ ─────────────────────────────────────────────────────────────▶ ┌──────┐ ──┐
//	│ none │                                                                │ row  │   │ Swap: holder and until are those of old
//	└──────┘ ◀───────────────────────────────────────────────────────────── └──────┘ ◀─┘
//	          by hand alone: counted by the next Prepare, which raises absent to mark
//
// The nodes are open to everybody who reaches ZooKeeper, unless [WithACL] says who may use them. An account needs to read, write, create and delete (cdrw) in the folders;
// the folder "/snowkey" itself may be made by an administrator:
//
//	addauth digest app:secret
//	create /snowkey "" auth:app:cdrw
//
// [WithPrefix] puts the folders below another node; the client has no chroot. Processes that name another ensemble or another prefix have another space, and make
// the same ids: nothing notices.
//
// # Faults
//
//   - A server is killed, or the leader stops: requests fail or wait until the client has found another server and there is a leader. The client notices after two
//     thirds of its session timeout, also that a server accepts connections and answers none, as one does that starts. Without [Dialer] that takes seven session
//     timeouts. The store asks again until the context ends. Keys flow meanwhile. Give the client all servers.
//   - The session expires: the client makes another one, and the store asks again. No grant depends on it.
//   - The answer to a change is lost: the change may have been made. The same transaction is sent again. It deletes the same nodes, so it is made once at most, and the mark in the
//     row shows which one was. Where that cannot be seen any more, the method returns an error.
//   - The majority is gone, or a server is cut off: no request of the store succeeds there, reads neither. A server in read-only mode (readonlymode.enabled) refuses the
//     client. Renewals fail, and keys flow until the grants end.
//   - An observer or a follower is behind: its answers are asked for again until they are new enough.
//   - The ensemble starts with empty folders, or with older copies of them: the space has another identity, or rows that went back. Each keeper notices at its next
//     renewal, stops using the number and records a loss, as after the restore of a database: see package grant for which ids are in doubt. That takes a connection with
//     [Dialer]: others are refused by a server that has less than they have read, so their keepers go on to the end of the grant and record nothing. A single server with
//     an older copy is brought up to date by the leader; where a majority has the older copy, that counts.
//   - A node of a row is deleted: numbers without a row are held until the mark.
//   - The node of the space, or its folder, is deleted: it is a new space, with another identity. The revision or the mark is deleted, or a name is changed by hand:
//     methods fail with [grant.ErrStore]. Nobody mends it; delete the folder after the processes have ended.
//   - The account has not the rights: the method fails with [grant.ErrReadOnly] and the name of the folder. An ACL of the scheme auth needs zk.Conn.AddAuth before.
//   - More than maxClientCnxns connections from one machine, by default 60: the server closes them, and methods find no server. Processes need one connection each.
//   - One server alone: a warning in the state of the keeper. When its disk is lost, so are the grants.
package zkgrant
