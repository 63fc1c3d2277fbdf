// Package database is a database that strategies are compared on: connecting to it, what it says of itself, what its tables weigh, what it wrote
// and split for them, and leaving it as it was.
//
// What a database does not tell, or not to this user, is a figure with the reason, never 0; an error is left for what ends a measurement: the
// end of a context, or a database that no longer answers. No text of this package holds a password.
//
// Nothing is changed but tables whose names the caller makes up: no setting, no counter, no extension. The size of an SQLite table is taken
// by dropping it in a transaction that is rolled back. What would be written back anyway may be
// written back earlier: a PostgreSQL server is asked for CHECKPOINTs where the user may have them, and the write-ahead log of an SQLite file is
// written back into it. A database that was started for the run alone, see [Private], is told so: then counters are switched on, extensions are
// created where the figures need them, and InnoDB is set to write back what is dirty while [Database.Settle] waits for that.
package database
