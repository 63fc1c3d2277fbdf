package dialect

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// postgresEngine is PostgreSQL.
type postgresEngine struct{}

func (postgresEngine) name() string { return "postgres" }

func (postgresEngine) mark() string { return `"` }

func (postgresEngine) clock() string {
	return "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)"
}

// begin has a writer read what others have committed: under a stricter isolation level, what is read after the wait for a lock is what was there before.
func (postgresEngine) begin(write bool) string {
	if write {
		return "BEGIN ISOLATION LEVEL READ COMMITTED"
	}
	return "BEGIN"
}

func (postgresEngine) end(statement string) string { return statement }

// exactText has floating-point numbers exact before PostgreSQL 12 too, where that takes extra_float_digits = 3.
func (postgresEngine) exactText(transaction bool) string {
	return fmt.Sprintf("SELECT set_config('TimeZone', 'UTC', %[1]t), set_config('DateStyle', 'ISO, YMD', %[1]t), set_config('IntervalStyle', 'postgres', %[1]t), "+
		"set_config('extra_float_digits', '3', %[1]t), set_config('bytea_output', 'hex', %[1]t), set_config('xmlbinary', 'base64', %[1]t)", transaction)
}

func (postgresEngine) lock(l Lock) (try, free, holder string) {
	key := l.Number()
	return fmt.Sprintf("SELECT CAST(pg_try_advisory_lock(%d) AS int)", key), fmt.Sprintf("SELECT CAST(pg_advisory_unlock(%d) AS int)", key),
		fmt.Sprintf("SELECT MAX(pid) FROM pg_catalog.pg_locks WHERE locktype = 'advisory' AND granted AND classid = %d AND objid = %d AND objsubid = 1"+
			" AND database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())", uint32(uint64(key)>>32), uint32(key))
}

func (postgresEngine) code(err error) string {
	if e, ok := err.(interface{ SQLState() string }); ok { // pgx's and lib/pq's
		return e.SQLState()
	}
	return ""
}

func (postgresEngine) class(code string, _ error) Class {
	if class := postgresClasses[code]; class != 0 || len(code) != 5 {
		return class
	}
	return postgresClasses[code[:2]]
}

func (postgresEngine) locate(ctx context.Context, conn *sql.Conn, schema, table string) (Location, error) {
	return locatePostgres(ctx, conn, schema, table, "'r', 'p'")
}

// locatePostgres looks for relations of the kinds given, as pg_class.relkind has them.
func locatePostgres(ctx context.Context, conn *sql.Conn, schema, table, kinds string) (Location, error) {
	l := Location{At: Place{Schema: schema, Table: table}}
	// The place of a table to come: of the schemas on the search path first those in which the role may make one, its own last.
	var home string
	err := conn.QueryRowContext(ctx, `SELECT current_database(), quote_ident(current_user), COALESCE((SELECT CAST(s.name AS text) FROM unnest(current_schemas(false)) WITH ORDINALITY AS s(name, at)`+
		` ORDER BY NOT has_schema_privilege(s.name, 'CREATE'), s.name = current_user, s.at LIMIT 1), 'public')`).
		Scan(&l.At.Catalog, &l.Role, &home)
	if err != nil {
		return l, fmt.Errorf("asking for the search path: %w", err)
	}
	// Those of other sessions' temporary tables begin with pg_ too.
	found, err := places(ctx, conn, l.At, fmt.Sprintf(`SELECT CAST(n.nspname AS text) FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace`+
		` WHERE c.relname = '%s' AND c.relkind IN (%s) AND left(n.nspname, 3) <> 'pg_' AND n.nspname <> 'information_schema'`+
		` ORDER BY COALESCE(array_position(current_schemas(false), n.nspname), 2147483647), n.nspname`, strings.ReplaceAll(table, "'", "''"), kinds), 1)
	if err != nil {
		return l, err
	}
	switch {
	case schema != "":
	case len(found) > 0:
		l.At = found[0]
	default:
		l.At.Schema = home
	}
	l.settle(found)
	return l, nil
}

const postgresSettings = "SELECT current_setting('fsync'), current_setting('full_page_writes'), pg_is_in_recovery(), current_setting('default_transaction_read_only'), " + asynchronous

// asynchronous is how many standbys are sent the log while no commit waits for one. Logical replication, backups and pg_receivewal, which replays nothing, are none that take over. Accounts without
// pg_read_all_stats get NULL for what a process does, so each of theirs but logical replication counts.
const asynchronous = "(SELECT count(*) FROM pg_stat_replication AS r WHERE current_setting('synchronous_standby_names') = ''" +
	" AND (r.state IS NULL OR r.state = 'streaming' AND r.replay_lsn IS NOT NULL)" +
	" AND NOT EXISTS (SELECT FROM pg_replication_slots AS s WHERE s.slot_type = 'logical' AND s.active_pid = r.pid))"

func (postgresEngine) durability(ctx context.Context, conn *sql.Conn, _ string) (findings []Finding, err error) {
	var fsync, pages, refused string
	var recovery bool
	var standbys int
	if err := One(ctx, conn, postgresSettings, nil, &fsync, &pages, &recovery, &refused, &standbys); err != nil {
		return nil, fmt.Errorf("reading the settings: %w", err)
	}
	if fsync != "on" {
		findings = append(findings, unsafe("fsync is %s: what is committed is lost when the machine crashes, and its numbers are given out again; set it to on", fsync))
	}
	if pages != "on" {
		findings = append(findings, unsafe("full_page_writes is %s: a crash of the machine may leave pages that are half written; set it to on", pages).warning())
	}
	if standbys > 0 {
		findings = append(findings, unsafe("synchronous_standby_names is empty, so the standbys (%d) may lack what was committed: when one takes over, those numbers are given out again; "+
			"set it, or end all processes before a standby takes over", standbys).warning())
	}
	if recovery {
		findings = append(findings, readOnly("the server is a standby, which takes no writes; use its primary"))
	}
	if refused == "on" {
		findings = append(findings, readOnly("default_transaction_read_only is on, so that nothing can be written; set it to off, also in the DSN"))
	}
	return findings, nil
}

// postgresClasses are SQLSTATEs of PostgreSQL's appendix "Error Codes", and their first two letters, the class, for all others of it.
var postgresClasses = map[string]Class{
	// Another transaction was in the way, and this one was rolled back.
	"40000": Conflict, // rolled back
	"40001": Conflict, // serialization failure
	"40P01": Conflict, // deadlock
	"55P03": Conflict, // NOWAIT, lock_timeout

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
