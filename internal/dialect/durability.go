package dialect

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// Finding is something about a server, a session or a table that matters to who relies on what was committed.
type Finding struct {
	// Refused is false for a warning: what goes wrong because of it takes more than a crash of the server, or a user with other rights.
	Refused bool
	// ReadOnly says that the session takes no writes. Otherwise the server may lose what was committed.
	ReadOnly bool
	// Text says what was found, and what to do.
	Text string
}

func unsafe(format string, args ...any) Finding {
	return Finding{Refused: true, Text: fmt.Sprintf(format, args...)}
}

func readOnly(text string) Finding { return Finding{Refused: true, ReadOnly: true, Text: text} }

// warning returns the finding as one that is not refused.
func (f Finding) warning() Finding {
	f.Refused = false
	return f
}

// Durability returns what a session and its server have set that may lose what was committed, or that keeps the session from writing. Of SQLite it looks at the
// database with that schema's name, "main" where it is empty. PostgreSQL's synchronous_commit is no finding: a transaction sets it for itself.
//
// It takes one round trip, and several pragmas on SQLite. The error is the driver's, with what was being read.
func (d Dialect) Durability(ctx context.Context, conn *sql.Conn, schema string) ([]Finding, error) {
	switch d {
	case MySQL:
		s, err := ReadMySQLSession(ctx, conn)
		if err != nil {
			return nil, err
		}
		return s.Durability(), nil
	case Postgres:
		return postgresDurability(ctx, conn)
	case SQLite:
		return sqliteDurability(ctx, conn, schema)
	}
	return nil, nil
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
}

const mysqlSettings = "SELECT @@autocommit, 0 /*M! + @@in_transaction */, @@read_only, @@innodb_flush_log_at_trx_commit, @@log_bin, @@sync_binlog, @@binlog_format," +
	" @@auto_increment_increment, @@auto_increment_offset, @@global.autocommit, @@global.auto_increment_increment, @@global.auto_increment_offset"

// ReadMySQLSession reads the settings of a session, in one round trip.
func ReadMySQLSession(ctx context.Context, conn *sql.Conn) (s MySQLSession, err error) {
	var transaction, binlog int64
	var readOnly string // "0", "1", or a word
	if err := One(ctx, conn, mysqlSettings, nil, &s.Autocommit, &transaction, &readOnly, &s.Flush, &binlog, &s.SyncBinlog, &s.Format,
		&s.Increment, &s.Offset, &s.ServerAutocommit, &s.ServerIncrement, &s.ServerOffset); err != nil {
		return s, fmt.Errorf("reading the settings: %w", err)
	}
	s.Transaction, s.Binlog, s.ReadOnly = transaction != 0, binlog == 1, readOnly != "0" && readOnly != "OFF"
	return s, nil
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
	return findings
}

const postgresSettings = "SELECT current_setting('fsync'), current_setting('full_page_writes'), pg_is_in_recovery(), current_setting('default_transaction_read_only')"

func postgresDurability(ctx context.Context, conn *sql.Conn) (findings []Finding, err error) {
	var fsync, pages, refused string
	var recovery bool
	if err := One(ctx, conn, postgresSettings, nil, &fsync, &pages, &recovery, &refused); err != nil {
		return nil, fmt.Errorf("reading the settings: %w", err)
	}
	if fsync != "on" {
		findings = append(findings, unsafe("fsync is %s: what is committed is lost when the machine crashes, and its numbers are given out again; set it to on", fsync))
	}
	if pages != "on" {
		findings = append(findings, unsafe("full_page_writes is %s: a crash of the machine may leave pages that are half written; set it to on", pages).warning())
	}
	if recovery {
		findings = append(findings, readOnly("the server is a standby, which takes no writes; use its primary"))
	}
	if refused == "on" {
		findings = append(findings, readOnly("default_transaction_read_only is on, so that nothing can be written; set it to off, also in the DSN"))
	}
	return findings, nil
}

func sqliteDurability(ctx context.Context, conn *sql.Conn, schema string) (findings []Finding, err error) {
	if schema == "" {
		schema = "main"
	}
	var synchronous, queryOnly int64
	var journal, file string
	for _, pragma := range []struct {
		name string
		into any
	}{{"synchronous", &synchronous}, {"journal_mode", &journal}, {"query_only", &queryOnly}} {
		if err := One(ctx, conn, "PRAGMA "+SQLite.Quote(schema)+"."+pragma.name, nil, pragma.into); err != nil {
			return nil, fmt.Errorf("reading the pragma %s: %w", pragma.name, err)
		}
	}
	if err := One(ctx, conn, "SELECT file FROM pragma_database_list WHERE name = ?", []any{schema}, &file); err != nil {
		return nil, fmt.Errorf("asking for the file: %w", err)
	}
	journal = strings.ToLower(journal)
	switch {
	case file == "":
		findings = append(findings, unsafe("the database is in memory: its numbers are forgotten with it, and each connection may have one of its own").warning())
	case journal == "off" || journal == "memory":
		findings = append(findings, unsafe("journal_mode is %s: a crash may leave a file that is broken or was set back; set it to wal or delete", journal))
	case synchronous == 0:
		findings = append(findings, unsafe("synchronous is off: what is committed is lost when the machine crashes, and its numbers are given out again; set it to full"))
	case synchronous == 1 && journal == "wal":
		findings = append(findings, unsafe("synchronous is normal with journal_mode wal: the latest commits are lost when the machine crashes, and their numbers are given "+
			"out again; set it to full").warning())
	}
	if queryOnly == 1 {
		findings = append(findings, readOnly("query_only is on, so that nothing can be written; set it to off, also in the DSN"))
	}
	return findings, nil
}

// Storage returns whether the server may lose what was committed because of how it keeps the table, which has to exist. It takes one round trip, and none
// on SQLite.
func (d Dialect) Storage(ctx context.Context, conn *sql.Conn, table Place) ([]Finding, error) {
	query := map[Dialect]string{
		MySQL: "SELECT ENGINE FROM information_schema.TABLES WHERE " + InCatalog(table),
		// By names, as to_regclass fails without rights on the schema.
		Postgres: "SELECT c.relpersistence::text FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace" +
			" WHERE n.nspname = " + Literal(table.Schema) + " AND c.relname = " + Literal(table.Table),
	}[d]
	if query == "" {
		return nil, nil
	}
	var kept sql.NullString // NULL of a view
	if err := One(ctx, conn, query, nil, &kept); err != nil {
		return nil, fmt.Errorf("asking how %s is kept: %w", table, err)
	}
	switch quoted := d.QuotePlace(table); {
	case d == MySQL && !strings.EqualFold(kept.String, "InnoDB"):
		return []Finding{unsafe("the table %s is kept by the engine %s, which may lose what was committed; ALTER TABLE %s ENGINE = InnoDB", table, kept.String, quoted)}, nil
	case d == Postgres && kept.String != "p":
		return []Finding{unsafe("%s is not logged, so it is empty after a crash; ALTER TABLE %s SET LOGGED", table, quoted)}, nil
	}
	return nil, nil
}
