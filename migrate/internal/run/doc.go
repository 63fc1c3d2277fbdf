// Package run does the steps of a plan, and undoes them.
//
// # What a run guarantees
//
//   - Before anything is written, the preconditions hold; see package migrate.
//   - Each step is done once, and its journal's row says so: in the same transaction, or, of what commits by itself, after a query has told
//     that its effect is there. A process can be killed at any point, and the next Run goes on there.
//   - Every transaction begins with an update of the plan's row that names the runner. A runner that was taken over writes nothing after that,
//     but for the rest of several statements that commit by themselves: the first of them is fenced, and a run that takes over waits for the last.
//   - The window of a Steady that follows the hold that a run passes, or that a run begins with, starts with the run: the preconditions are looked at within it.
//
// # The node of new ids
//
// The first step of a plan that makes new ids takes their node. Whatever refuses it is found with nothing changed: settings with which the server
// loses what is committed, a key space in two tables, another layout, rights on the table of grants, a node that somebody else got since the plan.
// Run looks for all of these before it writes the journal, and says what it has found, as a dry run does.
//
//	never granted ──the first step──▶ the plan's, until grant.Forever ──rollback──▶ the same
//
// The row has no tick at which it ends, so that a run may stand at a hold for as long as it likes. Its holder is named after the plan's hash: a run
// that was killed between the row and the journal finds its own row, and so does a plan that is run again after its rollback. A rollback leaves the
// node taken, for ids with it may be known elsewhere: another plan takes another one of the layout's nodes.
//
// # Locks of a run
//
// While it is at work a run holds a lock of the session, on MySQL and MariaDB GET_LOCK, on PostgreSQL an advisory lock, on a connection of
// its own; a second run fails, after half a second, with the journal's ErrRunning. SQLite has no such locks: there a run fails if the
// runner that the journal names is a process of this machine that lives. A statement that commits by itself is run on a connection that
// holds a second lock of that sort, so that a statement that the server goes on with after its client was killed (as MySQL does with ALTER
// TABLE) is waited for, and not run twice at once.
//
// Locks of rows and tables are waited for no longer than Options.LockWait at a time, so that others do not queue behind for longer; then
// what was begun is rolled back, and tried again after a pause that grows, with a random part, Options.Attempts times. CREATE and DROP
// INDEX CONCURRENTLY wait for old transactions without that limit, since nobody queues behind them; the context ends the wait.
//
// # Connections
//
// A run needs 1 connection on SQLite, and 2 on other databases (for its lock, and to work on); 1 more when the plan has Map or Digest
// steps, which read on another. A pool that allows fewer is refused with ErrOption. A connection that a session's setting was changed on is
// closed, and never goes back to the pool; on SQLite the setting is put back, for a database in memory ends with its connection. Locks of sessions need sessions: a pooler between the application and PostgreSQL must not be in
// transaction mode.
package run
