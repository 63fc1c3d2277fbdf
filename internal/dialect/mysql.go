package dialect

import (
	"context"
	"database/sql"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// mysqlEngine is MySQL and MariaDB.
type mysqlEngine struct{}

func (mysqlEngine) name() string { return "mysql" }

func (mysqlEngine) mark() string { return "`" } // whatever sql_mode says of ANSI_QUOTES

func (mysqlEngine) clock() string {
	return "TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))"
}

// begin is not BEGIN, which under sql_mode=ORACLE begins a block.
func (mysqlEngine) begin(bool) string { return "START TRANSACTION" }

// end has the transaction's end begin no other one, and close no connection, whatever completion_type says.
func (mysqlEngine) end(statement string) string { return statement + " AND NO CHAIN NO RELEASE" }

func (mysqlEngine) exactText(bool) string { return "SET SESSION time_zone = '+00:00'" }

func (mysqlEngine) lock(l Lock) (try, free, holder string) {
	name := Literal(l.name)
	if l.local {
		name = "CONCAT(" + name + ", ' ', COALESCE(DATABASE(), ''))"
	}
	name = "CONCAT('snowkey ', MD5(" + name + "))" // names have 64 characters at most
	return "SELECT COALESCE(GET_LOCK(" + name + ", 0), 0)", "SELECT RELEASE_LOCK(" + name + ")", "SELECT IS_USED_LOCK(" + name + ")"
}

// code reads the field of go-sql-driver's *MySQLError, which has no method for it.
func (mysqlEngine) code(err error) string {
	number := field(err, "Number")
	if number.Kind() != reflect.Uint16 || number.IsZero() {
		return ""
	}
	return strconv.FormatUint(number.Uint(), 10)
}

func (mysqlEngine) class(code string, said error) Class {
	// An option is not translated, in whichever language the message is.
	if code == "1290" && !strings.Contains(strings.ReplaceAll(said.Error(), "_", "-"), "read-only") {
		return Unavailable // not --read-only, --super-read-only or innodb_read_only, but such as --skip-grant-tables
	}
	return mysqlClasses[code]
}

func (mysqlEngine) durability(ctx context.Context, conn *sql.Conn, _ string) ([]Finding, error) {
	s, err := ReadMySQLSession(ctx, conn)
	if err != nil {
		return nil, err
	}
	return s.Durability(), nil
}

func (mysqlEngine) locate(ctx context.Context, conn *sql.Conn, schema, table string) (Location, error) {
	l := Location{At: Place{Schema: schema, Table: table}}
	var selected sql.NullString
	var folded int
	if err := conn.QueryRowContext(ctx, "SELECT DATABASE(), CONCAT('''', REPLACE(CURRENT_USER(), '@', '''@'''), ''''), @@lower_case_table_names").Scan(&selected, &l.Role, &folded); err != nil {
		return l, fmt.Errorf("asking for the database: %w", err)
	}
	if schema == "" {
		if !selected.Valid {
			return l, fmt.Errorf("%w: no database is selected; name one in the DSN, or before the table and a dot", ErrNoPlace)
		}
		l.At.Schema = selected.String
	}
	found, err := places(ctx, conn, l.At, fmt.Sprintf("SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_NAME = '%s' AND TABLE_TYPE = 'BASE TABLE'"+
		" AND TABLE_SCHEMA NOT IN ('information_schema', 'performance_schema', 'mysql', 'sys') ORDER BY TABLE_SCHEMA", table), 2)
	if err != nil {
		return l, err
	}
	for i, p := range found {
		if folded == 0 && p.Table != table { // the catalogue compares without case, the server does not
			found[i] = Place{}
		} else if folded != 0 && strings.EqualFold(p.Schema, l.At.Schema) {
			l.At, found[i].Table = p, p.Table
		}
	}
	l.settle(slices.DeleteFunc(found, func(p Place) bool { return p == Place{} }))
	return l, nil
}

// MySQLSession is what a session of MySQL or MariaDB has set, and what the server gives new sessions.
type MySQLSession struct {
	Autocommit, Increment, Offset                   int64
	ServerAutocommit, ServerIncrement, ServerOffset int64
	Transaction                                     bool // one was begun and not ended; false also where the server cannot tell, which only MariaDB can
	Flush                                           int64
	Binlog                                          bool
	SyncBinlog                                      int64
	Format                                          string // of the binary log
	ReadOnly                                        bool
	Galera                                          *Galera // nil outside of a cluster
}

const mysqlSettings = "SELECT @@autocommit, 0 /*M! + @@in_transaction */, @@read_only, @@innodb_flush_log_at_trx_commit, @@log_bin, @@sync_binlog, @@binlog_format," +
	" @@auto_increment_increment, @@auto_increment_offset, @@global.autocommit, @@global.auto_increment_increment, @@global.auto_increment_offset, " + inCluster

// ReadMySQLSession reads the settings of a session, in one round trip, or two in a Galera cluster.
func ReadMySQLSession(ctx context.Context, conn *sql.Conn) (s MySQLSession, err error) {
	var transaction, binlog, cluster int64
	var readOnly string // "0", "1", or a word
	if err := One(ctx, conn, mysqlSettings, nil, &s.Autocommit, &transaction, &readOnly, &s.Flush, &binlog, &s.SyncBinlog, &s.Format,
		&s.Increment, &s.Offset, &s.ServerAutocommit, &s.ServerIncrement, &s.ServerOffset, &cluster); err != nil {
		return s, fmt.Errorf("reading the settings: %w", err)
	}
	s.Transaction, s.Binlog, s.ReadOnly = transaction != 0, binlog == 1, readOnly != "0" && readOnly != "OFF"
	if cluster != 0 {
		s.Galera, err = readGalera(ctx, conn)
	}
	return s, err
}

// Durability returns what [Dialect.Durability] does.
func (s MySQLSession) Durability() (findings []Finding) {
	if s.Flush != 1 && s.Flush != 3 { // 3 is MariaDB's, and waits twice
		findings = append(findings, unsafe("innodb_flush_log_at_trx_commit is %d: what is committed is lost when the %s crashes, and its numbers are given out again; "+
			"set it to 1", s.Flush, map[bool]string{true: "machine", false: "server or its machine"}[s.Flush == 2]))
	}
	if s.Binlog && s.SyncBinlog != 1 {
		findings = append(findings, unsafe("sync_binlog is %d while the binary log is on: when the machine crashes, transactions that are not in the binary log on disk "+
			"are rolled back; set it to 1", s.SyncBinlog).warning())
	}
	if s.ReadOnly {
		findings = append(findings, readOnly("read_only is on: only users with a privilege to ignore it can write").warning())
	}
	if s.Galera != nil {
		findings = append(findings, s.Galera.durability()...)
	}
	return findings
}

// mysqlClasses are the numbers of MariaDB's sql/share/errmsg-utf8.txt, and of MySQL's share/messages_to_clients.txt where it says so. The two
// share those below 1900.
var mysqlClasses = map[string]Class{
	// Another transaction was in the way, and this one was rolled back or never began.
	"1020": Conflict, // the record has changed since it was read: snapshot isolation, Galera
	"1205": Conflict, // lock wait timeout
	"1213": Conflict, // deadlock
	"1412": Conflict, // the table's definition has changed
	"1614": Conflict, // deadlock, in a distributed transaction
	"1689": Conflict, // the wait was ended for an exclusive lock
	"3101": Conflict, // MySQL: rolled back during commit, by another member of the group
	"3572": Conflict, // MySQL: NOWAIT; MariaDB says 1205

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
	"1290": ReadOnly, // an option prevents the statement, see class
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
