package dialect

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"net"
	"strconv"
	"strings"
)

// Fault is what an error that database/sql returned means. The zero value is no error's.
type Fault struct {
	Kind Kind
	// Code is the server's, such as "1213", "40P01" or "5": SQLite's is the primary one. It is empty where the server said nothing: the driver, the
	// network or a context ended the call, and what it was to do may have been done.
	Code string
}

// Kind is what an error asks for.
type Kind int

// The kinds.
const (
	// Again is gone with the next attempt on the same server: a deadlock, a serialization failure, a lock that was waited for, a connection
	// that the server had closed before it was used.
	Again Kind = iota + 1
	// Unavailable is of a server that is down, hangs, is full, starts, or whose connection broke; or of a context that ended.
	Unavailable
	// ReadOnly is of a server or a session that takes no writes.
	ReadOnly
	// Missing is of a database, schema, table, column or sequence that does not exist, or is something else.
	Missing
	// Denied is of a user who may not log in, or not do what was asked.
	Denied
	// Exhausted is of a number that is beyond its column, type or sequence.
	Exhausted
	// Other is anything else. The same statement fails again.
	Other
)

var kindNames = map[Kind]string{
	Again: "again", Unavailable: "unavailable", ReadOnly: "read-only", Missing: "missing", Denied: "denied", Exhausted: "exhausted", Other: "other",
}

// String returns the kind's name in lower case, such as "again" or "read-only".
func (k Kind) String() string {
	if name, ok := kindNames[k]; ok {
		return name
	}
	return "Kind(" + strconv.Itoa(int(k)) + ")"
}

// Diagnose says what an error that database/sql returned means. It knows the drivers by the shape of their errors, so that this package
// imports none. What a server says comes before how the call ended: it is the more exact.
func (d Dialect) Diagnose(err error) (f Fault) {
	if err == nil {
		return Fault{}
	}
	defer func() {
		if recover() != nil { // a method of somebody's error, on a nil pointer for one
			f = Fault{Kind: d.unknown()}
		}
	}()
	causes := causesOf(err)
	code, said := d.codeOf(causes)
	f.Code = code
	if f.Kind = d.kindOf(code, said); f.Kind != 0 {
		return f
	}
	if f.Kind = kindOfCall(causes); f.Kind != 0 {
		return f
	}
	if f.Kind = Other; code == "" {
		f.Kind = d.unknown()
	}
	return f
}

// Lost tells whether the network, the driver or a context has ended a call without a word of the server, so that nobody knows what it has done.
// It is false for an error that is not of such a call.
func (d Dialect) Lost(err error) (lost bool) {
	defer func() { _ = recover() }() // as in Diagnose
	causes := causesOf(err)
	code, _ := d.codeOf(causes)
	return code == "" && kindOfCall(causes) == Unavailable
}

// unknown is the kind of an error without a code. A server's errors have one, so on a database with servers it is the driver's: of
// dialing, of logging in, of the protocol.
func (d Dialect) unknown() Kind {
	if d == MySQL || d == Postgres {
		return Unavailable
	}
	return Other
}

// kindOf looks the code up, and is 0 for one that is in no table.
func (d Dialect) kindOf(code string, said error) Kind {
	if code == "" {
		return 0
	}
	switch d {
	case MySQL:
		if code == "1290" && !strings.Contains(strings.ReplaceAll(said.Error(), "_", "-"), "read-only") {
			return Unavailable // not --read-only, --super-read-only or innodb_read_only, but such as --skip-grant-tables
		}
		return mysqlKinds[code]
	case Postgres:
		if kind := postgresKinds[code]; kind != 0 || len(code) != 5 {
			return kind
		}
		return postgresKinds[code[:2]]
	case SQLite:
		if code == "1" { // all that is wrong with a statement
			if text := said.Error(); strings.Contains(text, "no such table") || strings.Contains(text, "no such column") {
				return Missing
			}
		}
		return sqliteKinds[code]
	}
	return 0
}

// kindOfCall recognizes the errors of database/sql, of contexts, and of the network. It is 0 for others.
func kindOfCall(causes []error) Kind {
	switch {
	case isAny(causes, driver.ErrBadConn):
		return Again
	// A context that ended closes the transaction, which is then done.
	case isAny(causes, context.DeadlineExceeded, context.Canceled, io.EOF, io.ErrUnexpectedEOF, sql.ErrConnDone, sql.ErrTxDone):
		return Unavailable
	}
	for _, cause := range causes {
		if _, ok := cause.(net.Error); ok { // *net.OpError and syscall.Errno as well
			return Unavailable
		}
		text := cause.Error()
		if strings.Contains(text, "invalid connection") || strings.Contains(text, "bad connection") { // go-sql-driver's, of a connection that broke
			return Unavailable
		}
		if strings.HasPrefix(text, "sql: ") { // database/sql itself: no rows, a column that is no number, a pool that is closed
			return Other
		}
	}
	return 0
}

// mysqlKinds are the numbers of MariaDB's sql/share/errmsg-utf8.txt, and of MySQL's share/messages_to_clients.txt where it says so. The two
// share those below 1900.
var mysqlKinds = map[string]Kind{
	// Another transaction was in the way, and this one was rolled back or never began.
	"1020": Again, // the record has changed since it was read: snapshot isolation, Galera
	"1205": Again, // lock wait timeout
	"1213": Again, // deadlock
	"1412": Again, // the table's definition has changed
	"1614": Again, // deadlock, in a distributed transaction
	"1689": Again, // the wait was ended for an exclusive lock
	"3101": Again, // MySQL: rolled back during commit, by another member of the group
	"3572": Again, // MySQL: NOWAIT; MariaDB says 1205

	// The server has too much to do, or nothing left to do it with.
	"1021": Unavailable, // disk full
	"1037": Unavailable, // out of memory
	"1038": Unavailable, // out of memory for sorting
	"1040": Unavailable, // too many connections
	"1041": Unavailable, // out of memory
	"1114": Unavailable, // the table is full, which the disk is
	"1135": Unavailable, // no new thread
	"1203": Unavailable, // too many connections of the user
	"1206": Unavailable, // too many locks
	"1226": Unavailable, // a limit of the user, such as of statements an hour
	"1637": Unavailable, // too many transactions
	"1878": Unavailable, // a temporary file cannot be written
	"3015": Unavailable, // out of memory in the storage engine
	"3019": Unavailable, // the undo log is full

	// Files and the storage engine. Which table it was is not said, and most of it is a disk's.
	"1015": Unavailable, // a file cannot be locked
	"1024": Unavailable, // error reading a file
	"1026": Unavailable, // error writing a file
	"1030": Unavailable, // error from the storage engine
	"1180": Unavailable, // error during commit: it may have been committed, and the ticket is lost
	"1297": Unavailable, // temporary error from the storage engine

	// The server ends, begins, or is out of its cluster.
	"1047": Unavailable, // a Galera node that is not ready
	"1053": Unavailable, // shutdown in progress
	"1077": Unavailable, // normal shutdown
	"1078": Unavailable, // got a signal
	"1079": Unavailable, // shutdown complete
	"1080": Unavailable, // forcing close of a thread
	"3032": Unavailable, // offline mode
	"3100": Unavailable, // MySQL: a hook of the replication failed
	"3168": Unavailable, // MySQL: the server is not available
	"9001": Unavailable, // ProxySQL: no server was reached in time

	// The connection, or the statement, was ended from outside.
	"1042": Unavailable, // the client's name cannot be found
	"1043": Unavailable, // bad handshake
	"1152": Unavailable, // aborted connection
	"1153": Unavailable, // a packet that is too large: not one of ours
	"1154": Unavailable, // read error from the pipe
	"1155": Unavailable, // error from fcntl
	"1156": Unavailable, // packets out of order
	"1157": Unavailable, // a packet cannot be uncompressed
	"1158": Unavailable, // read error
	"1159": Unavailable, // read timeout
	"1160": Unavailable, // write error
	"1161": Unavailable, // write timeout
	"1184": Unavailable, // aborted connection
	"1317": Unavailable, // query interrupted
	"1927": Unavailable, // MariaDB: connection killed
	"1969": Unavailable, // MariaDB: max_statement_time
	"2006": Unavailable, // server has gone away: a client library's, passed on by proxies
	"2013": Unavailable, // lost connection: the same
	"3024": Unavailable, // MySQL: max_execution_time
	"3169": Unavailable, // MySQL: session killed
	"4031": Unavailable, // MySQL: disconnected because of inactivity; MariaDB's is of triggers, which no statement here makes

	// A replica, or a server that was set to read only.
	"1036": ReadOnly, // a table is, with innodb_read_only
	"1290": ReadOnly, // an option prevents the statement, see kindOf
	"1792": ReadOnly, // the transaction is
	"1836": ReadOnly, // the server is
	"1874": ReadOnly, // InnoDB is

	// The column, the sum or the AUTO_INCREMENT has come to its end.
	"167":  Exhausted, // an AUTO_INCREMENT out of its column's range: the storage engine's own number
	"1264": Exhausted, // out of the column's range
	"1467": Exhausted, // no AUTO_INCREMENT could be read: there is none left
	"1690": Exhausted, // a sum out of range

	// What is named does not exist.
	"1046": Missing, // no database selected
	"1049": Missing, // database
	"1051": Missing, // table
	"1054": Missing, // column
	"1146": Missing, // table
	"1347": Missing, // not of that type, such as a view
	"1932": Missing, // MariaDB: not in the storage engine

	// The user may not.
	"1044": Denied, // use the database
	"1045": Denied, // log in
	"1130": Denied, // log in from this host
	"1142": Denied, // use the table
	"1143": Denied, // use the column
	"1227": Denied, // do what needs a privilege
	"1370": Denied, // use the routine
	"1698": Denied, // log in, without a password
	"1820": Denied, // do anything before it has set a password
	"1862": Denied, // log in, its password has expired
	"3118": Denied, // MySQL: log in, it is locked
	"4151": Denied, // MariaDB: log in, it is locked

	"1062": Other, // duplicate entry: a row that somebody else wrote, and retrying does not change
	"1129": Other, // the host is blocked until somebody flushes the list
}

// postgresKinds are SQLSTATEs of PostgreSQL's appendix "Error Codes", and their first two letters, the class, for all others of it.
var postgresKinds = map[string]Kind{
	// Another transaction was in the way, and this one was rolled back.
	"40000": Again, // rolled back
	"40001": Again, // serialization failure
	"40P01": Again, // deadlock
	"55P03": Again, // NOWAIT, lock_timeout

	// What the driver has prepared is not there any more, or of no use: after a pooler's DISCARD ALL, or when a table was made again.
	"26000": Again, // no such prepared statement
	"0A000": Again, // the cached plan must not change its type, and all that is not supported

	// Whether it was committed is not known. It may be the server's end, as with class 08.
	"40003": Unavailable,

	// Classes of which the whole says that this server, now, is in no state to answer: another is. What of them lasts, such as a broken
	// configuration file, is tried again after a while, and costs no more than a server that is down.
	"08": Unavailable, // the connection, and what PgBouncer says of its own
	"53": Unavailable, // disk, memory, connections
	"57": Unavailable, // canceled, shut down, crashed, starting up, closed for inactivity
	"58": Unavailable, // a disk, a file of the server's
	"F0": Unavailable, // the configuration file

	// The server closed the connection because of a transaction that took too long.
	"25P03": Unavailable,
	"25P04": Unavailable,

	// An internal error says nothing of the statement, and poolers use it for servers that they cannot reach. But what is corrupted stays so.
	"XX000": Unavailable,
	"XX001": Other, // data
	"XX002": Other, // an index

	// A standby, or a session that was set to read only.
	"25006": ReadOnly,

	// The sequence or the sum has come to its end.
	"22003": Exhausted, // out of range
	"2200H": Exhausted, // nextval beyond MAXVALUE

	// What is named does not exist, or is something else.
	"3D000": Missing, // database
	"3F000": Missing, // schema
	"42703": Missing, // column
	"42704": Missing, // object
	"42809": Missing, // wrong type of object
	"42P01": Missing, // table or sequence
	"57P04": Missing, // the database was dropped

	// The user may not.
	"28000": Denied, // log in
	"28P01": Denied, // log in, with that password
	"42501": Denied, // use the table or the sequence
}

// sqliteKinds are SQLite's primary result codes, https://www.sqlite.org/rescode.html.
var sqliteKinds = map[string]Kind{
	// Another connection was in the way.
	"5":  Again, // BUSY
	"6":  Again, // LOCKED
	"17": Again, // SCHEMA: it has changed since the statement was prepared

	// The machine, the disk, or who interrupted it.
	"7":  Unavailable, // NOMEM
	"9":  Unavailable, // INTERRUPT
	"10": Unavailable, // IOERR
	"13": Unavailable, // FULL
	"14": Unavailable, // CANTOPEN
	"15": Unavailable, // PROTOCOL: locks of the write-ahead log

	"8": ReadOnly, // READONLY

	// A number beyond 2^63-1 is a REAL, which an INTEGER PRIMARY KEY or a STRICT table refuses.
	"20": Exhausted, // MISMATCH

	"3":  Denied, // PERM
	"23": Denied, // AUTH

	"1":  Other, // ERROR, see kindOf
	"11": Other, // CORRUPT
	"26": Other, // NOTADB
}
