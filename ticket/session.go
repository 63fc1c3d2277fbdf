package ticket

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// settings adds what the settings of a session and its server mean. The session is MySQL's alone.
func (n names) settings(ctx context.Context, conn *sql.Conn, c *condition, unsafe bool) (session mysqlSession, err error) {
	switch n.dialect {
	case MySQL:
		session, err = inspectMySQL(ctx, conn, c, unsafe)
	case Postgres:
		err = inspectPostgres(ctx, conn, c, unsafe)
	case SQLite:
		err = inspectSQLite(ctx, conn, c, n.schema(), unsafe)
	}
	return session, err
}

// mysqlSession is what a session of MySQL or MariaDB has set.
type mysqlSession struct {
	readOnly, format                                           string
	autocommit, transaction, flush, binlog, syncBinlog         int64
	increment, offset, serverAutocommit, serverInc, serverOffs int64
}

const mysqlSettings = "SELECT @@autocommit, 0 /*M! + @@in_transaction */, @@read_only, @@innodb_flush_log_at_trx_commit, @@log_bin, @@sync_binlog, @@binlog_format," +
	" @@auto_increment_increment, @@auto_increment_offset, @@global.autocommit, @@global.auto_increment_increment, @@global.auto_increment_offset"

// inspectMySQL adds what the settings of a session and its server mean.
func inspectMySQL(ctx context.Context, conn *sql.Conn, c *condition, unsafe bool) (mysqlSession, error) {
	var s mysqlSession
	if err := one(ctx, conn, mysqlSettings, nil, &s.autocommit, &s.transaction, &s.readOnly, &s.flush, &s.binlog, &s.syncBinlog, &s.format,
		&s.increment, &s.offset, &s.serverAutocommit, &s.serverInc, &s.serverOffs); err != nil {
		return s, fmt.Errorf("reading the settings: %w", err)
	}
	if s.autocommit != 1 {
		if s.serverAutocommit == 1 {
			c.stale = true
		}
		c.findf(ErrUnsafe, "autocommit is %d, so that nothing is committed; set it to 1, also in the DSN", s.autocommit)
	}
	if s.transaction != 0 {
		c.stale = true
		c.findf(ErrUnsafe, "a transaction was begun on the connection and not ended, so that nothing is committed; end it")
	}
	if s.flush != 1 && s.flush != 3 { // 3 is MariaDB's, and waits twice
		c.findf(unless(unsafe, ErrUnsafe), "innodb_flush_log_at_trx_commit is %d: what is committed is lost when the %s crashes, and its tickets are given out "+
			"again; set it to 1", s.flush, map[bool]string{true: "machine", false: "server or its machine"}[s.flush == 2])
	}
	if s.binlog == 1 && s.format == "STATEMENT" {
		c.findf(unless(unsafe, ErrUnsafe), "binlog_format is STATEMENT: a replica holds the statements against its own settings, draws nothing, and is behind when it takes over; "+
			"set it to MIXED or ROW")
	}
	if s.binlog == 1 && s.syncBinlog != 1 {
		c.findf(nil, "sync_binlog is %d while the binary log is on: when the machine crashes, transactions that are not in the binary log on disk are rolled back; "+
			"set it to 1", s.syncBinlog)
	}
	if s.readOnly != "0" && s.readOnly != "OFF" {
		c.findf(nil, "read_only is on: only users with a privilege to ignore it can draw tickets")
	}
	return s, nil
}

// unless returns the error if the condition does not hold.
func unless(condition bool, err error) error {
	if condition {
		return nil
	}
	return err
}

const postgresSettings = "SELECT current_setting('fsync'), current_setting('full_page_writes'), pg_is_in_recovery(), current_setting('default_transaction_read_only')"

// inspectPostgres adds what the settings of a server mean. That synchronous_commit is on is seen to by each statement.
func inspectPostgres(ctx context.Context, conn *sql.Conn, c *condition, unsafe bool) error {
	var fsync, pages, readOnly string
	var recovery bool
	if err := one(ctx, conn, postgresSettings, nil, &fsync, &pages, &recovery, &readOnly); err != nil {
		return fmt.Errorf("reading the settings: %w", err)
	}
	if fsync != "on" {
		c.findf(unless(unsafe, ErrUnsafe), "fsync is %s: what is committed is lost when the machine crashes, and its tickets are given out again; set it to on", fsync)
	}
	if pages != "on" {
		c.findf(nil, "full_page_writes is %s: a crash of the machine may leave pages that are half written; set it to on", pages)
	}
	if recovery {
		c.findf(ErrReadOnly, "the server is a standby, which takes no writes; draw from its primary")
	}
	if readOnly == "on" {
		c.findf(ErrReadOnly, "default_transaction_read_only is on, so that nothing can be drawn; set it to off, also in the DSN")
	}
	return nil
}

// durable makes the commit of the statement that it is a column of wait for the disk, whatever the session's setting.
const durable = "set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)"

// inspectSQLite adds what the settings of a connection mean.
func inspectSQLite(ctx context.Context, conn *sql.Conn, c *condition, schema string, unsafe bool) error {
	if schema == "" {
		schema = "main"
	}
	pragma := func(name string, into any) error {
		if err := one(ctx, conn, "PRAGMA "+SQLite.Quote(schema)+"."+name, nil, into); err != nil {
			return fmt.Errorf("reading the pragma %s: %w", name, err)
		}
		return nil
	}
	var synchronous, queryOnly int64
	var journal string
	if err := pragma("synchronous", &synchronous); err != nil {
		return err
	}
	if err := pragma("journal_mode", &journal); err != nil {
		return err
	}
	if err := pragma("query_only", &queryOnly); err != nil {
		return err
	}
	journal = strings.ToLower(journal)
	var file string
	if err := one(ctx, conn, "SELECT file FROM pragma_database_list WHERE name = ?", []any{schema}, &file); err != nil {
		return fmt.Errorf("asking for the file: %w", err)
	}
	switch {
	case file == "":
		c.findf(nil, "the database is in memory: its tickets are forgotten with it, and each connection may have one of its own")
	case journal == "off" || journal == "memory":
		c.findf(unless(unsafe, ErrUnsafe), "journal_mode is %s: a crash may leave a file that is broken or was set back; set it to wal or delete", journal)
	case synchronous == 0:
		c.findf(unless(unsafe, ErrUnsafe), "synchronous is off: what is committed is lost when the machine crashes, and its tickets are given out again; set it to full")
	case synchronous == 1 && journal == "wal":
		c.findf(nil, "synchronous is normal with journal_mode wal: the latest commits are lost when the machine crashes, and their tickets are given out again; "+
			"set it to full")
	}
	if queryOnly == 1 {
		c.findf(ErrReadOnly, "query_only is on, so that nothing can be drawn; set it to off, also in the DSN")
	}
	return nil
}
