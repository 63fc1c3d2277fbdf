// Package compare measures strategies for primary keys against each other on a database of the user's own.
//
// Data flows one way: strategy → measure → result → report. A [Strategy] opens a fresh table that holds the same orders as
// everybody's, but for the key; [Run] inserts the rows into all tables in turns, so that one noisy moment does not decide, and
// weighs the tables at the end; a [Result] is the figures with every raw sample, as one JSON document; [Result.WriteTable] prints them.
//
// # How it is measured
//
//   - Inserts go through GORM, batches of 1,000 rows, each in a transaction of its own. The rows are inserted in rounds; in each
//     round every strategy inserts as many, and the order changes from round to round. The figure is the median of the rounds, and of
//     the ratios of two strategies in the same round.
//   - Every key is verified before anything is reported: each table has to hold exactly the rows that were inserted.
//   - Generation is timed in bursts of 1,000 keys with a pause after each, so that a layout's limit of keys a millisecond is not
//     taken for the speed of the code. That limit is reported beside it.
//   - Sizes are what the tables occupy, from the database's own statistics; on SQLite by counting the pages of each b-tree.
//
// # What it touches
//
// Tables whose names begin with snowkey_compare_, which it makes and drops again, also when it fails or its context ends.
package compare
