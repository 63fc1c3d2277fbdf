// Package compare measures strategies for primary keys against each other on a database of the user's own.
//
// Data flows one way through the packages below it:
//
//	strategy → verify → measure → result → report
//	                       ↑
//	                    database
//
// A [strategy.Strategy] is a way to give rows their keys: the published ones are there, and [strategy.Register] takes others. [Run] verifies each one on each
// database, drops out those that do not hold what they promise, measures the others in interleaved rounds, and returns one document, a
// result.Document, with every raw sample. Package report writes it as a table, as Markdown, as a page with charts, and for benchstat.
//
// # Rounds
//
// In each round every strategy makes keys, lets a table of its own grow from nothing, and reads it; the order changes from round to round, so
// that neither a noisy moment nor the place in the order decides. Only one table is there at a time, since tables that share a cache
// disturb each other, and before the next one the database has time to write back what the last one left. What is compared are the medians of
// the rounds, with intervals; "no difference" is what a Mann-Whitney test does not tell apart.
//
// # What is touched
//
// Tables and sequences whose names begin with snowkey_compare_ and a number of the run's own. They are dropped when the run ends, also after an
// error or the end of its context, and named where that failed. Servers that [OpenTarget] starts are the run's alone: they are killed
// in it, and removed.
package compare
