// Package nextid has the SQL of a function that makes snowflake keys in the database, snowkey_next_id(): for rows that SQL scripts, COPY and programs
// in other languages insert, beside the programs that have a [grant.Keeper]. The command snowkey ddl function prints it.
//
// # What it guarantees
//
// No key comes twice: not among sessions of the database, nor beside any process with a grant of the same key space, as long as the database keeps what it
// has committed. It rests on five rules:
//
//  1. The number is the function's for good, see [grant.Reserve]: no keeper acquires it. The function makes keys at ticks from the row's from_tick on.
//  2. The database remembers the last key as one number, the word: tick × 2^s + sequence, where s is the width of the layout's sequence. Each key takes a
//     word that is greater than all words before. No rollback takes a word back.
//  3. A key takes the next word, or one of the clock's tick where the next word is of an earlier one (on PostgreSQL, by more than 10 ms). So a clock that steps back changes nothing: keys go on
//     from the last word.
//  4. The word is in the database's log before the row with the key. After a crash of the server no row has a key that the word does not know. A key
//     that was only selected, and never committed with a row, is safe as long as the clock is not set back in the crash.
//  5. With each tick that it opens, and with each key while keys are a second ahead of the clock, the function looks whether its row is still in the table of grants.
//     It fails without the row: after a restore of the schema alone, with another table of grants, and once the key space changes its layout.
//
// Keys of the function increase, one session beside another. They have the database's time: PostgreSQL's at the call or up to 10 ms before, MySQL's and MariaDB's at the
// beginning of the statement.
//
// When all sequences of a tick are used up, the next key takes the next tick, without a wait. Keys then have times that have not come yet, until the
// clock has caught up. None is repeated for that, since the word remembers.
//
// A tick's sequence carries on from the last key, modulo a quarter of its range, as with [idgen.StartSpread]: key % n is uniform at any traffic for
// powers of two up to that quarter. On MySQL this needs auto_increment_increment = 1, the default.
//
// After the layout's last tick calls fail. No key wraps or is negative.
//
// # How: PostgreSQL
//
// The word is a SEQUENCE. nextval takes the next word, and no session waits for another one's commit. Only setval moves the word to a later tick, and it
// would also move it back. So whoever calls setval has an advisory lock, and reads the word under the lock before. Sessions within a tick do not
// take the lock. A second sequence, the turn, keeps them from words that a setval may repeat: it is odd from before the word is read until setval is done.
//
//	without the lock    turn is even, the word is not 10 ms behind or 1 s ahead of the clock ─▶ nextval(word) ─▶ turn is the same: taken
//	with the lock       turn becomes odd ─▶ nextval(word) ─▶ the word is behind the clock: setval(word) ─▶ turn becomes even
//
// Of a word that a session took between the read and the setval, the turn is odd or another one by the time the session looks again. The session
// leaves the word, and takes one with the lock. A session that is canceled under the lock leaves the turn odd: all take the lock until the
// next one has made the turn even. The lock ends with a subtransaction that is rolled back, also where the call fails; sequences are not rolled back.
//
// The function is SECURITY DEFINER with a fixed search_path: a role needs no right on the sequences or the table of grants, only EXECUTE, which
// PostgreSQL gives to all.
//
// # How: MySQL and MariaDB
//
// The word is the AUTO_INCREMENT counter of an InnoDB table that is otherwise empty. An INSERT takes the next word, and a row with a given word moves the
// counter there, in one step, and only forward. Both rows are deleted at once. The primary key has the connection's number beside the word, so no session
// waits for another one's commit. SEQUENCE objects cannot do this: MySQL has none, and MariaDB's SETVAL takes a constant only.
//
// The columns' DEFAULT cannot call a function there, so a BEFORE INSERT trigger fills in a key where there is none, NULL or 0. LAST_INSERT_ID() is not
// that key; MariaDB returns it by INSERT … RETURNING. Function and trigger run with their definer's rights. With the binary log on, the server
// makes them only under log_bin_trust_function_creators = 1, and binlog_format must be ROW or MIXED.
//
// Galera replicates rows and no counters: two nodes of a cluster may take the same word. [CheckServer] refuses a node.
//
// # What it does not protect from
//
//   - A restore from an older copy, or a failover that lost commits, of a database whose clock is behind what it was: start no session before. That is
//     the rule of grants, too.
//   - A server that becomes a node of a Galera cluster after the function was made. Drop the function first.
//   - Two databases with one number: a clone of the database that makes keys for the same tables as the original.
//   - ALTER SEQUENCE, setval, TRUNCATE and ALTER TABLE … AUTO_INCREMENT on the word, by its owner.
//   - On PostgreSQL, a transaction of REPEATABLE READ or SERIALIZABLE that began before a change of the layout was announced, and still inserts at the time of the
//     change: it does not see that the row has moved.
package nextid
