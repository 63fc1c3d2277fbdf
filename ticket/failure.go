package ticket

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"net"
	"reflect"
	"strconv"
	"strings"
)

// fault is what an error of a driver means.
type fault struct {
	class Class
	kind  error  // ErrTable (missing or not allowed), ErrExhausted, ErrReadOnly, or nil
	code  string // "1213", "40P01", "5", for Stats and messages; empty where there is none
}

// The faults that codes stand for.
var (
	again     = fault{class: Retry}
	elsewhere = fault{class: Next}
	readOnly  = fault{class: Next, kind: ErrReadOnly}
	broken    = fault{class: Permanent}
	noTable   = fault{class: Permanent, kind: ErrTable}
	exhausted = fault{class: Permanent, kind: ErrExhausted}
)

// mysqlFaults are the numbers of MariaDB's sql/share/errmsg-utf8.txt, and of MySQL's share/messages_to_clients.txt where it says so. The two
// share those below 1900.
var mysqlFaults = map[string]fault{
	// Another transaction was in the way, and this one was rolled back or never began.
	"1020": again, // the record has changed since it was read: snapshot isolation, Galera
	"1205": again, // lock wait timeout
	"1213": again, // deadlock
	"1412": again, // the table's definition has changed
	"1614": again, // deadlock, in a distributed transaction
	"1689": again, // the wait was ended for an exclusive lock
	"3101": again, // MySQL: rolled back during commit, by another member of the group
	"3572": again, // MySQL: NOWAIT; MariaDB says 1205

	// The server has too much to do, or nothing left to do it with.
	"1021": elsewhere, // disk full
	"1037": elsewhere, // out of memory
	"1038": elsewhere, // out of memory for sorting
	"1040": elsewhere, // too many connections
	"1041": elsewhere, // out of memory
	"1114": elsewhere, // the table is full, which the disk is
	"1135": elsewhere, // no new thread
	"1203": elsewhere, // too many connections of the user
	"1206": elsewhere, // too many locks
	"1226": elsewhere, // a limit of the user, such as of statements an hour
	"1637": elsewhere, // too many transactions
	"1878": elsewhere, // a temporary file cannot be written
	"3015": elsewhere, // out of memory in the storage engine
	"3019": elsewhere, // the undo log is full

	// Files and the storage engine. Which table it was is not said, and most of it is a disk's.
	"1015": elsewhere, // a file cannot be locked
	"1024": elsewhere, // error reading a file
	"1026": elsewhere, // error writing a file
	"1030": elsewhere, // error from the storage engine
	"1180": elsewhere, // error during commit: it may have been committed, and the ticket is lost
	"1297": elsewhere, // temporary error from the storage engine

	// The server ends, begins, or is out of its cluster.
	"1047": elsewhere, // a Galera node that is not ready
	"1053": elsewhere, // shutdown in progress
	"1077": elsewhere, // normal shutdown
	"1078": elsewhere, // got a signal
	"1079": elsewhere, // shutdown complete
	"1080": elsewhere, // forcing close of a thread
	"3032": elsewhere, // offline mode
	"3100": elsewhere, // MySQL: a hook of the replication failed
	"3168": elsewhere, // MySQL: the server is not available
	"9001": elsewhere, // ProxySQL: no server was reached in time

	// The connection, or the statement, was ended from outside.
	"1042": elsewhere, // the client's name cannot be found
	"1043": elsewhere, // bad handshake
	"1152": elsewhere, // aborted connection
	"1153": elsewhere, // a packet that is too large: not one of ours
	"1154": elsewhere, // read error from the pipe
	"1155": elsewhere, // error from fcntl
	"1156": elsewhere, // packets out of order
	"1157": elsewhere, // a packet cannot be uncompressed
	"1158": elsewhere, // read error
	"1159": elsewhere, // read timeout
	"1160": elsewhere, // write error
	"1161": elsewhere, // write timeout
	"1184": elsewhere, // aborted connection
	"1317": elsewhere, // query interrupted
	"1927": elsewhere, // MariaDB: connection killed
	"1969": elsewhere, // MariaDB: max_statement_time
	"2006": elsewhere, // server has gone away: a client library's, passed on by proxies
	"2013": elsewhere, // lost connection: the same
	"3024": elsewhere, // MySQL: max_execution_time
	"3169": elsewhere, // MySQL: session killed
	"4031": elsewhere, // MySQL: disconnected because of inactivity; MariaDB's is of triggers, which no statement here makes

	// A replica, or a server that was set to read only.
	"1036": readOnly, // a table is, with innodb_read_only
	"1290": readOnly, // an option prevents the statement, see diagnoseCode
	"1792": readOnly, // the transaction is
	"1836": readOnly, // the server is
	"1874": readOnly, // InnoDB is

	// The column, the sum or the AUTO_INCREMENT has come to its end.
	"167":  exhausted, // an AUTO_INCREMENT out of its column's range: the storage engine's own number
	"1264": exhausted, // out of the column's range
	"1467": exhausted, // no AUTO_INCREMENT could be read: there is none left
	"1690": exhausted, // a sum out of range

	// What is named does not exist.
	"1046": noTable, // no database selected
	"1049": noTable, // database
	"1051": noTable, // table
	"1054": noTable, // column
	"1146": noTable, // table
	"1347": noTable, // not of that type, such as a view
	"1932": noTable, // MariaDB: not in the storage engine

	// The user may not.
	"1044": noTable, // use the database
	"1045": noTable, // log in
	"1130": noTable, // log in from this host
	"1142": noTable, // use the table
	"1143": noTable, // use the column
	"1227": noTable, // do what needs a privilege
	"1370": noTable, // use the routine
	"1698": noTable, // log in, without a password
	"1820": noTable, // do anything before it has set a password
	"1862": noTable, // log in, its password has expired
	"3118": noTable, // MySQL: log in, it is locked
	"4151": noTable, // MariaDB: log in, it is locked

	"1062": broken, // duplicate entry: a row that somebody else wrote, and retrying does not change
	"1129": broken, // the host is blocked until somebody flushes the list
}

// postgresFaults are SQLSTATEs of PostgreSQL's appendix "Error Codes", and their first two letters, the class, for all others of it.
var postgresFaults = map[string]fault{
	// Another transaction was in the way, and this one was rolled back.
	"40000": again, // rolled back
	"40001": again, // serialization failure
	"40P01": again, // deadlock
	"55P03": again, // NOWAIT, lock_timeout

	// What the driver has prepared is not there any more, or of no use: after a pooler's DISCARD ALL, or when a table was made again.
	"26000": again, // no such prepared statement
	"0A000": again, // the cached plan must not change its type, and all that is not supported

	// Whether it was committed is not known. It may be the server's end, as with class 08.
	"40003": elsewhere,

	// Classes of which the whole says that this server, now, is in no state to answer: another is. What of them lasts, such as a broken
	// configuration file, is tried again after a while, and costs no more than a server that is down.
	"08": elsewhere, // the connection, and what PgBouncer says of its own
	"53": elsewhere, // disk, memory, connections
	"57": elsewhere, // canceled, shut down, crashed, starting up, closed for inactivity
	"58": elsewhere, // a disk, a file of the server's
	"F0": elsewhere, // the configuration file

	// The server closed the connection because of a transaction that took too long.
	"25P03": elsewhere,
	"25P04": elsewhere,

	// An internal error says nothing of the statement, and poolers use it for servers that they cannot reach. But what is corrupted stays so.
	"XX000": elsewhere,
	"XX001": broken, // data
	"XX002": broken, // an index

	// A standby, or a session that was set to read only.
	"25006": readOnly,

	// The sequence or the sum has come to its end.
	"22003": exhausted, // out of range
	"2200H": exhausted, // nextval beyond MAXVALUE

	// What is named does not exist, or is something else.
	"3D000": noTable, // database
	"3F000": noTable, // schema
	"42703": noTable, // column
	"42704": noTable, // object
	"42809": noTable, // wrong type of object
	"42P01": noTable, // table or sequence
	"57P04": noTable, // the database was dropped

	// The user may not.
	"28000": noTable, // log in
	"28P01": noTable, // log in, with that password
	"42501": noTable, // use the table or the sequence
}

// sqliteFaults are SQLite's primary result codes, https://www.sqlite.org/rescode.html.
var sqliteFaults = map[string]fault{
	// Another connection was in the way.
	"5":  again, // BUSY
	"6":  again, // LOCKED
	"17": again, // SCHEMA: it has changed since the statement was prepared

	// The machine, the disk, or who interrupted it.
	"7":  elsewhere, // NOMEM
	"9":  elsewhere, // INTERRUPT
	"10": elsewhere, // IOERR
	"13": elsewhere, // FULL
	"14": elsewhere, // CANTOPEN
	"15": elsewhere, // PROTOCOL: locks of the write-ahead log

	"8": readOnly, // READONLY

	// A number beyond 2^63-1 is a REAL, which an INTEGER PRIMARY KEY or a STRICT table refuses.
	"20": exhausted, // MISMATCH

	"3":  noTable, // PERM
	"23": noTable, // AUTH

	"1":  broken, // ERROR, see diagnoseCode
	"11": broken, // CORRUPT
	"26": broken, // NOTADB
}

// maxCauses bounds how many errors are looked at, should one wrap itself.
const maxCauses = 100

// diagnose says what an error that database/sql returned means. It knows the drivers by the shape of their errors, so that this package
// imports none. What a server says comes before how the call ended: it is the more exact. A nil error has no class.
func diagnose(d Dialect, err error) (f fault) {
	if err == nil {
		return fault{}
	}
	defer func() {
		if recover() != nil { // a method of somebody's error, on a nil pointer for one
			f = unknown(d)
		}
	}()
	causes := causesOf(err)
	code, said := codeOf(d, causes)
	if f, ok := diagnoseCode(d, code, said); ok {
		return f
	}
	if f, ok := diagnoseCall(causes); ok {
		f.code = code
		return f
	}
	if code != "" {
		return fault{class: Permanent, code: code}
	}
	return unknown(d)
}

// denied are the codes that say that the user may not, rather than that something is not there.
var denied = map[string]bool{
	"1044": true, "1045": true, "1142": true, "1143": true, "1227": true, "1370": true, "1698": true, "1130": true, "1820": true, "1862": true, "3118": true, "4151": true, // MySQL
	"42501": true, "28000": true, "28P01": true, // PostgreSQL
	"3": true, "23": true, // SQLite
}

// unknown is the fault of an error without a code. A server's errors have one, so on a database with servers it is the driver's: of
// dialing, of logging in, of the protocol.
func unknown(d Dialect) fault {
	if d == MySQL || d == Postgres {
		return elsewhere
	}
	return broken
}

// diagnoseCode looks the code up. It is false for one that is in no table.
func diagnoseCode(d Dialect, code string, said error) (fault, bool) {
	if code == "" {
		return fault{}, false
	}
	var f fault
	var ok bool
	switch d {
	case MySQL:
		f, ok = mysqlFaults[code]
		if code == "1290" { // --read-only, --super-read-only or innodb_read_only; others, such as --skip-grant-tables, have the number too
			if text := strings.ReplaceAll(said.Error(), "_", "-"); !strings.Contains(text, "read-only") {
				f.kind = nil
			}
		}
	case Postgres:
		if f, ok = postgresFaults[code]; !ok && len(code) == 5 {
			f, ok = postgresFaults[code[:2]]
		}
	case SQLite:
		f, ok = sqliteFaults[code]
		if code == "1" { // all that is wrong with a statement
			if text := said.Error(); strings.Contains(text, "no such table") || strings.Contains(text, "no such column") {
				f = noTable
			}
		}
	}
	f.code = code
	return f, ok
}

// diagnoseCall recognizes the errors of database/sql, of contexts, and of the network.
func diagnoseCall(causes []error) (fault, bool) {
	switch {
	case isAny(causes, driver.ErrBadConn):
		return again, true
	// A context that ended closes the transaction, which is then done.
	case isAny(causes, context.DeadlineExceeded, context.Canceled, io.EOF, io.ErrUnexpectedEOF, sql.ErrConnDone, sql.ErrTxDone):
		return elsewhere, true
	}
	for _, cause := range causes {
		if _, ok := cause.(net.Error); ok { // *net.OpError and syscall.Errno as well
			return elsewhere, true
		}
		text := cause.Error()
		if strings.Contains(text, "invalid connection") || strings.Contains(text, "bad connection") { // go-sql-driver's, of a connection that broke
			return elsewhere, true
		}
		if strings.HasPrefix(text, "sql: ") { // database/sql itself: no rows, a column that is no number, a pool that is closed
			return broken, true
		}
	}
	return fault{}, false
}

// causesOf returns the error and all that it wraps, the outermost first, without the nil pointers: no method of theirs may be called.
func causesOf(err error) []error {
	var causes []error
	var walk func(error)
	walk = func(err error) {
		if err == nil || len(causes) == maxCauses {
			return
		}
		if v := reflect.ValueOf(err); v.Kind() == reflect.Pointer && v.IsNil() {
			return
		}
		causes = append(causes, err)
		switch e := err.(type) {
		case interface{ Unwrap() error }:
			walk(e.Unwrap())
		case interface{ Unwrap() []error }:
			for _, e := range e.Unwrap() {
				walk(e)
			}
		}
	}
	walk(err)
	return causes
}

// isAny is errors.Is for several targets, and for what causesOf returns.
func isAny(causes []error, targets ...error) bool {
	for _, cause := range causes {
		is, custom := cause.(interface{ Is(error) bool })
		for _, target := range targets {
			if cause == target || custom && is.Is(target) {
				return true
			}
		}
	}
	return false
}

// codeOf returns the first code of the server's, and the error that has it.
func codeOf(d Dialect, causes []error) (string, error) {
	for _, cause := range causes {
		code := ""
		switch d {
		case MySQL:
			code = mysqlCode(cause)
		case Postgres:
			if e, ok := cause.(interface{ SQLState() string }); ok { // pgx's and lib/pq's
				code = e.SQLState()
			}
		case SQLite:
			code = sqliteCode(cause)
		}
		if code != "" {
			return code, cause
		}
	}
	return "", nil
}

// mysqlCode reads the field of go-sql-driver's *MySQLError, which has no method for it.
func mysqlCode(err error) string {
	number := field(err, "Number")
	if number.Kind() != reflect.Uint16 || number.IsZero() {
		return ""
	}
	return strconv.FormatUint(number.Uint(), 10)
}

// sqliteCode reads the result code.
func sqliteCode(err error) string {
	if e, ok := err.(interface{ Code() int }); ok { // modernc's
		return primary(int64(e.Code()))
	}
	if code := field(err, "Code"); code.CanInt() && field(err, "ExtendedCode").CanInt() { // mattn's
		return primary(code.Int())
	}
	return ""
}

// primary returns the result code that an extended one has in its lowest byte. It is empty for 0, which is no error.
func primary(code int64) string {
	if code &= 0xff; code != 0 {
		return strconv.FormatInt(code, 10)
	}
	return ""
}

// field returns the field of a struct, or of one that a pointer is to. It is the zero Value where there is none.
func field(err error, name string) reflect.Value {
	v := reflect.ValueOf(err)
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	f, ok := v.Type().FieldByName(name)
	if !ok {
		return reflect.Value{}
	}
	v, _ = v.FieldByIndexErr(f.Index) // it may be a field of an embedded nil pointer
	return v
}
