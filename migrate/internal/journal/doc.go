// Package journal is what a run of a plan keeps in the database: which plan it is, who runs it, and how far it is.
//
// # States of a plan
//
//	             run                    last step
//	(no row) ───────────▶ running ────────────────▶ done
//	                       ▲   │ a hold, an error, a signal, kill -9: the row says running, and its runner is gone
//	                       └───┘ run again
//	           rollback:  running or done ─────▶ undoing ─────▶ undone
//	                                              ▲   │ an error, a signal, kill -9
//	                                              └───┘ rollback again
//
// A plan that is undoing cannot be run on: some of its steps are undone, and those before them are not looked at again. A plan that is undone
// is forgotten by the next plan for its tables, or runs anew from its first step.
//
// # States of a step
//
//	                    ┌──────────────── a step of one transaction ────────────────┐
//	(no row) ──────────▶│ begun: it commits by itself, or in batches, and is amid it ├──▶ done ──▶ undoing ──▶ undone
//	    │               └────────────────────────────────────────────────────────────┘     ▲        as begun     ▲
//	    │                                                                                  │                     │
//	    └──── a hold: held, the run ended here ──── a run with Continue that names it ─────┘      rollback       │
//	                       └─────────────────────────────────────────────────────────────────────────────────────┘
//
// The row of a hold becomes held when a run reaches the hold, in a transaction, and the run ends. A run stands at a hold when its row is
// held; at most one row is, since no step after a held one is begun. A run passes the hold that it found as held when it began, and no other: a
// hold that the same run reaches is held, whatever the run was asked to pass.
package journal
