// Package run does the steps of a plan, and undoes them. Package plan says what each kind of step is.
//
// # What a run guarantees
//
//   - Before anything is written, the preconditions hold; see package migrate.
//   - Each step is done once, and its journal's row says so: in the same transaction, or, after a statement that commits by itself, once a query has found
//     its effect. A process can be killed at any point, and the next run goes on there.
//   - Every transaction begins with an update of the plan's row that names the runner. A runner that was replaced writes nothing after that,
//     with one exception: of several statements that commit by themselves the first is fenced, and a run that takes over waits for the last.
//   - The window of an AssertStable that follows the hold that a run passes, or that a run begins with, starts with the run: the run looks at its preconditions within it.
//
// # The node of new ids
//
// The first step of a plan that makes new ids takes their node. Whatever refuses it leaves everything else unchanged: settings with which the server
// loses commits, a key space in two tables, another layout, missing rights on the table of grants, a node that somebody else got since the plan.
// A run looks for all of these before it writes the journal, and so does a dry run.
//
//	never granted ──the first step──▶ the plan's, until grant.Forever ──rollback──▶ the same
//
// The row has no end, so a run may stand at a hold for as long as it likes. The holder's name has the plan's hash: a run
// that was killed between the row and the journal finds its own row, and so does a plan that is run again after its rollback. A rollback leaves the
// node taken, for ids with it may be known elsewhere: another plan takes another node.
//
// # Locks of a run
//
// A run holds an advisory lock of its session, on a connection of its own; a second run fails, after half a second, with the journal's ErrRunning. SQLite has no such
// locks: there a run fails if the runner that the journal names is a live process of this machine. A statement that commits by itself
// runs on a connection with a second advisory lock. The server may go on with such a statement after its client was killed (as MySQL does with ALTER
// TABLE); the next run waits for it, and does not run it twice at once.
//
// A run waits for locks of rows and tables for Options.LockWait at a time, so that others do not queue behind it for longer. Then
// it rolls back, and tries again after a pause that grows, with a random part, Options.Attempts times. CREATE and DROP
// INDEX CONCURRENTLY wait for old transactions without that limit, since nobody queues behind them; the context ends the wait.
//
// # Connections
//
// A run needs 1 connection on SQLite, and 2 on other databases (for its lock, and to work on); 1 more when the plan has FillMap or Digest
// steps, which read on another. A pool that allows fewer is refused with ErrOption. A connection whose settings were changed is
// closed, and never goes back to the pool. On SQLite the setting is put back, for a database in memory ends with its connection. Locks of sessions need
// sessions: a pooler between the application and PostgreSQL must not be in transaction mode.
package run
