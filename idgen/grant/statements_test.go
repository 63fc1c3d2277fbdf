package grant_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/DATA-DOG/go-sqlmock"
	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/snowkey-go/snowkey/idgen/grant"
)

// What each dialect says, word for word, of the table in the database "test", in the schema "public", or in the main file.
var said = map[grant.Dialect]texts{
	grant.MySQL: {
		begin: "START TRANSACTION", alone: "START TRANSACTION",
		where: "SELECT DATABASE(), CONCAT('''', REPLACE(CURRENT_USER(), '@', '''@'''), ''''), @@lower_case_table_names",
		tables: "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_NAME = 'snowkey_nodes' AND TABLE_TYPE = 'BASE TABLE'" +
			" AND TABLE_SCHEMA NOT IN ('information_schema', 'performance_schema', 'mysql', 'sys') ORDER BY TABLE_SCHEMA",
		lock:   "SELECT COALESCE(GET_LOCK(CONCAT('snowkey ', MD5('creating snowkey_nodes')), 0), 0)",
		unlock: "SELECT RELEASE_LOCK(CONCAT('snowkey ', MD5('creating snowkey_nodes')))",
		settings: "SELECT @@autocommit, 0 /*M! + @@in_transaction */, @@read_only, @@innodb_flush_log_at_trx_commit, @@log_bin, @@sync_binlog, @@binlog_format," +
			" @@auto_increment_increment, @@auto_increment_offset, @@global.autocommit, @@global.auto_increment_increment, @@global.auto_increment_offset," +
			" 0 /*M! + (SELECT COUNT(*) FROM information_schema.GLOBAL_VARIABLES WHERE VARIABLE_NAME = 'WSREP_PROVIDER' AND VARIABLE_VALUE NOT IN ('', 'none')) */",
		kept: "SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'test' AND TABLE_NAME = 'snowkey_nodes'",
		create: "CREATE TABLE IF NOT EXISTS `test`.`snowkey_nodes` (\n    space      varchar(64)  NOT NULL,\n    node       bigint NOT NULL,\n" +
			"    holder     varchar(128) NOT NULL,\n    from_tick  bigint NOT NULL,\n    until_tick bigint NOT NULL,\n" +
			"    layout     varchar(255) NOT NULL,\n    PRIMARY KEY (space, node)\n) ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin",
		grants: "GRANT SELECT, INSERT, UPDATE ON `test`.`snowkey_nodes` TO 'app'@'%';",
		header: "SELECT space, holder, from_tick, until_tick, layout FROM `test`.`snowkey_nodes` WHERE space = ? AND node = -1 LOCK IN SHARE MODE",
		insert: "INSERT IGNORE INTO `test`.`snowkey_nodes` (space, node, holder, from_tick, until_tick, layout) VALUES (?, ?, ?, ?, ?, ?)",
		echo:   "SELECT COUNT(*) FROM `test`.`snowkey_nodes` WHERE space = ? AND node = ? AND holder = ? AND from_tick = ? AND until_tick = ?",
		swap: "UPDATE `test`.`snowkey_nodes` SET holder = ?, from_tick = ?, until_tick = ?" +
			" WHERE space = ? AND node = ? AND CAST(holder AS BINARY) = CAST(? AS BINARY) AND until_tick = ?",
		mark:    "UPDATE `test`.`snowkey_nodes` SET until_tick = ? WHERE space = ? AND node = -1 AND until_tick > ?",
		count:   "UPDATE `test`.`snowkey_nodes` SET from_tick = from_tick - 1 WHERE space = ? AND node = -1",
		gone:    "SELECT from_tick, until_tick, (SELECT COUNT(*) FROM `test`.`snowkey_nodes` WHERE space = ? AND node >= 0), COALESCE((SELECT until_tick FROM `test`.`snowkey_nodes` WHERE space = ? AND node = -2), 0) FROM `test`.`snowkey_nodes` WHERE space = ? AND node = -1",
		absent:  "UPDATE `test`.`snowkey_nodes` SET until_tick = ? WHERE space = ? AND node = -2 AND until_tick < ?",
		name:    "UPDATE `test`.`snowkey_nodes` SET layout = ? WHERE space = ? AND node = -1 AND layout = ?",
		recount: "UPDATE `test`.`snowkey_nodes` SET from_tick = ? WHERE space = ? AND node = -1 AND from_tick = ?",
		list: "SELECT clock.micros, clock.nodes, n.node, n.holder, n.from_tick, n.until_tick" +
			" FROM (SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6)) AS micros," +
			" (SELECT COUNT(*) FROM `test`.`snowkey_nodes` WHERE space = ? AND node >= 0) AS nodes) AS clock" +
			" LEFT JOIN `test`.`snowkey_nodes` AS n ON n.space = ? AND (n.node IN (-2, -1) OR n.node BETWEEN ? AND ?) ORDER BY n.node",
		losses: "SELECT node, holder, from_tick, until_tick, layout FROM `test`.`snowkey_nodes` WHERE space = ? AND node < -2 ORDER BY node DESC",
		spaces: "SELECT space, layout, holder, from_tick, until_tick FROM `test`.`snowkey_nodes` WHERE node = -1 ORDER BY space",
		has:    "SELECT 1 FROM `other`.`snowkey_nodes` WHERE space = ? AND node = -1",
	},
	grant.Postgres: {
		begin: "BEGIN", alone: "BEGIN ISOLATION LEVEL READ COMMITTED",
		where: "SELECT current_database(), quote_ident(current_user), COALESCE((SELECT CAST(s.name AS text) FROM unnest(current_schemas(false)) WITH ORDINALITY AS s(name, at)" +
			" ORDER BY NOT has_schema_privilege(s.name, 'CREATE'), s.name = current_user, s.at LIMIT 1), 'public')",
		tables: "SELECT CAST(n.nspname AS text) FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace" +
			" WHERE c.relname = 'snowkey_nodes' AND c.relkind IN ('r', 'p') AND left(n.nspname, 3) <> 'pg_' AND n.nspname <> 'information_schema'" +
			" ORDER BY COALESCE(array_position(current_schemas(false), n.nspname), 2147483647), n.nspname",
		lock: "SELECT pg_advisory_xact_lock(8673873341094879888)",
		settings: "SELECT current_setting('fsync'), current_setting('full_page_writes'), pg_is_in_recovery(), current_setting('default_transaction_read_only'), " +
			"(SELECT count(*) FROM pg_stat_replication AS r WHERE current_setting('synchronous_standby_names') = ''" +
			" AND (r.state IS NULL OR r.state = 'streaming' AND r.replay_lsn IS NOT NULL)" +
			" AND NOT EXISTS (SELECT FROM pg_replication_slots AS s WHERE s.slot_type = 'logical' AND s.active_pid = r.pid))",
		kept: "SELECT c.relpersistence::text FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace" +
			" WHERE n.nspname = 'public' AND c.relname = 'snowkey_nodes'",
		create: "CREATE TABLE IF NOT EXISTS \"public\".\"snowkey_nodes\" (\n    space      varchar(64) COLLATE \"C\"  NOT NULL,\n    node       bigint NOT NULL,\n" +
			"    holder     varchar(128) COLLATE \"C\" NOT NULL,\n    from_tick  bigint NOT NULL,\n    until_tick bigint NOT NULL,\n" +
			"    layout     varchar(255) COLLATE \"C\" NOT NULL,\n    PRIMARY KEY (space, node)\n)",
		grants: "GRANT USAGE ON SCHEMA \"public\" TO app;\nGRANT SELECT, INSERT, UPDATE ON \"public\".\"snowkey_nodes\" TO app;",
		header: `SELECT space, holder, from_tick, until_tick, layout FROM "public"."snowkey_nodes" WHERE space = $1 AND node = -1`,
		insert: `INSERT INTO "public"."snowkey_nodes" (space, node, holder, from_tick, until_tick, layout) VALUES ($1, $2, $3, CAST($4 AS bigint), CAST($5 AS bigint), $6) ON CONFLICT DO NOTHING`,
		swap: `UPDATE "public"."snowkey_nodes" SET holder = $1, from_tick = $2, until_tick = $3` +
			` WHERE space = $4 AND node = $5 AND holder = $6 AND until_tick = $7`,
		mark:    `UPDATE "public"."snowkey_nodes" SET until_tick = $1 WHERE space = $2 AND node = -1 AND until_tick > $3`,
		count:   `UPDATE "public"."snowkey_nodes" SET from_tick = from_tick - 1 WHERE space = $1 AND node = -1`,
		gone:    `SELECT from_tick, until_tick, (SELECT COUNT(*) FROM "public"."snowkey_nodes" WHERE space = $1 AND node >= 0), COALESCE((SELECT until_tick FROM "public"."snowkey_nodes" WHERE space = $2 AND node = -2), 0) FROM "public"."snowkey_nodes" WHERE space = $3 AND node = -1`,
		absent:  `UPDATE "public"."snowkey_nodes" SET until_tick = $1 WHERE space = $2 AND node = -2 AND until_tick < $3`,
		name:    `UPDATE "public"."snowkey_nodes" SET layout = $1 WHERE space = $2 AND node = -1 AND layout = $3`,
		recount: `UPDATE "public"."snowkey_nodes" SET from_tick = $1 WHERE space = $2 AND node = -1 AND from_tick = $3`,
		list: `SELECT clock.micros, clock.nodes, n.node, n.holder, n.from_tick, n.until_tick` +
			` FROM (SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint) AS micros,` +
			` (SELECT COUNT(*) FROM "public"."snowkey_nodes" WHERE space = $1 AND node >= 0) AS nodes) AS clock` +
			` LEFT JOIN "public"."snowkey_nodes" AS n ON n.space = $2 AND (n.node IN (-2, -1) OR n.node BETWEEN $3 AND $4) ORDER BY n.node`,
		losses: `SELECT node, holder, from_tick, until_tick, layout FROM "public"."snowkey_nodes" WHERE space = $1 AND node < -2 ORDER BY node DESC`,
		spaces: `SELECT space, layout, holder, from_tick, until_tick FROM "public"."snowkey_nodes" WHERE node = -1 ORDER BY space`,
		has:    `SELECT 1 FROM "other"."snowkey_nodes" WHERE space = $1 AND node = -1`,
		durable: "SELECT set_config('synchronous_commit', 'on', true)" +
			" WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')",
	},
	grant.SQLite: {
		begin: "BEGIN", alone: "BEGIN IMMEDIATE",
		where:  "SELECT name, COALESCE(file, '') FROM pragma_database_list WHERE name <> 'temp'",
		tables: `SELECT 'main', name FROM "main".sqlite_master WHERE type = 'table' AND name = 'snowkey_nodes' COLLATE NOCASE`,
		create: "CREATE TABLE IF NOT EXISTS \"main\".\"snowkey_nodes\" (\n    space      varchar(64)  NOT NULL,\n    node       bigint NOT NULL,\n" +
			"    holder     varchar(128) NOT NULL,\n    from_tick  bigint NOT NULL,\n    until_tick bigint NOT NULL,\n" +
			"    layout     varchar(255) NOT NULL,\n    PRIMARY KEY (space, node)\n)",
		header: `SELECT space, holder, from_tick, until_tick, layout FROM "main"."snowkey_nodes" WHERE space = ? AND node = -1`,
		insert: `INSERT INTO "main"."snowkey_nodes" (space, node, holder, from_tick, until_tick, layout) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		swap: `UPDATE "main"."snowkey_nodes" SET holder = ?, from_tick = ?, until_tick = ?` +
			` WHERE space = ? AND node = ? AND holder = ? AND until_tick = ?`,
		mark:    `UPDATE "main"."snowkey_nodes" SET until_tick = ? WHERE space = ? AND node = -1 AND until_tick > ?`,
		count:   `UPDATE "main"."snowkey_nodes" SET from_tick = from_tick - 1 WHERE space = ? AND node = -1`,
		gone:    `SELECT from_tick, until_tick, (SELECT COUNT(*) FROM "main"."snowkey_nodes" WHERE space = ? AND node >= 0), COALESCE((SELECT until_tick FROM "main"."snowkey_nodes" WHERE space = ? AND node = -2), 0) FROM "main"."snowkey_nodes" WHERE space = ? AND node = -1`,
		absent:  `UPDATE "main"."snowkey_nodes" SET until_tick = ? WHERE space = ? AND node = -2 AND until_tick < ?`,
		name:    `UPDATE "main"."snowkey_nodes" SET layout = ? WHERE space = ? AND node = -1 AND layout = ?`,
		recount: `UPDATE "main"."snowkey_nodes" SET from_tick = ? WHERE space = ? AND node = -1 AND from_tick = ?`,
		list: `SELECT clock.micros, clock.nodes, n.node, n.holder, n.from_tick, n.until_tick` +
			` FROM (SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 AS micros,` +
			` (SELECT COUNT(*) FROM "main"."snowkey_nodes" WHERE space = ? AND node >= 0) AS nodes) AS clock` +
			` LEFT JOIN "main"."snowkey_nodes" AS n ON n.space = ? AND (n.node IN (-2, -1) OR n.node BETWEEN ? AND ?) ORDER BY n.node`,
		losses: `SELECT node, holder, from_tick, until_tick, layout FROM "main"."snowkey_nodes" WHERE space = ? AND node < -2 ORDER BY node DESC`,
		spaces: `SELECT space, layout, holder, from_tick, until_tick FROM "main"."snowkey_nodes" WHERE node = -1 ORDER BY space`,
	},
}

type texts struct {
	begin, alone                            string // a transaction's beginning, and that of one which reads before it writes
	where, tables                           string // finding the table
	lock, unlock, settings, kept            string // empty where the dialect has none, or in memory
	create, grants                          string
	header, insert, echo, swap, mark, count string
	gone, list, losses, spaces, has         string
	absent, name, recount, durable          string
}

var oldRow, newRow = grant.Row{Number: 5, Holder: "a", From: 1, Until: 2}, grant.Row{Number: 5, Holder: "b", From: 3, Until: 4}

// mock returns a store on a database that expects exactly what it is told to.
func mock(t *testing.T, dialect grant.Dialect) (*grant.SQLStore, *script) {
	t.Helper()
	db, m, err := sqlmock.New(sqlmock.QueryMatcherOption(sqlmock.QueryMatcherEqual), sqlmock.MonitorPingsOption(true))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.ExpectationsWereMet(); err != nil {
			t.Error(err)
		}
		if n := db.Stats().InUse; n != 0 {
			t.Errorf("%d connections were not given back", n)
		}
		_ = db.Close() // which the mock was not told to expect
	})
	return grant.SQL(db, dialect), &script{m, dialect, said[dialect]}
}

// script is what a mock is to expect.
type script struct {
	sqlmock.Sqlmock
	dialect grant.Dialect
	texts
}

func (m *script) exec(text string, args ...driver.Value) *sqlmock.ExpectedExec {
	e := m.ExpectExec(text)
	if len(args) > 0 {
		e = e.WithArgs(args...)
	}
	return e.WillReturnResult(driver.RowsAffected(1))
}

func (m *script) write() {
	m.exec(m.begin)
	if m.durable != "" {
		m.exec(m.durable)
	}
}

func (m *script) commit()   { m.exec(m.dialect.Commit()) }
func (m *script) rollback() { m.exec(m.dialect.Rollback()) }

// search has the catalogue asked for the table, which is in the places given: schemas or databases.
func (m *script) search(places ...string) {
	where, tables := sqlmock.NewRows([]string{"1", "2", "3"}), sqlmock.NewRows([]string{"schema", "table"})
	for _, place := range places {
		tables.AddRow(place, "snowkey_nodes")
	}
	switch m.dialect {
	case grant.MySQL:
		where.AddRow("test", "'app'@'%'", 0)
	case grant.Postgres:
		where.AddRow("base", "app", "public")
		tables = sqlmock.NewRows([]string{"schema"})
		for _, place := range places {
			tables.AddRow(place)
		}
	case grant.SQLite:
		where = sqlmock.NewRows([]string{"1", "2"}).AddRow("main", "")
	}
	m.ExpectQuery(m.where).WillReturnRows(where)
	m.ExpectQuery(m.tables).WillReturnRows(tables)
}

// locked has others kept from making tables, and unlocked lets them.
func (m *script) locked() {
	switch m.dialect {
	case grant.MySQL:
		m.ExpectQuery(m.lock).WillReturnRows(sqlmock.NewRows([]string{"locked"}).AddRow(1))
	case grant.Postgres:
		m.exec(m.lock)
	}
}

func (m *script) unlocked() {
	if m.unlock != "" {
		m.ExpectQuery(m.unlock).WillReturnRows(sqlmock.NewRows([]string{"unlocked"}).AddRow(1))
	}
}

// home is where the table is.
func (m *script) home() string {
	return map[grant.Dialect]string{grant.MySQL: "test", grant.Postgres: "public", grant.SQLite: "main"}[m.dialect]
}

// placed has the table found.
func (m *script) placed() {
	m.exec(m.begin)
	m.search(m.home())
	m.commit()
}

// located has the table found, there and elsewhere, and the database looked at, as Prepare does.
func (m *script) located(others ...string) {
	m.exec(m.begin)
	m.search(append([]string{m.home()}, others...)...)
	switch m.dialect {
	case grant.MySQL:
		columns := strings.Split("abcdefghijklm", "")
		m.ExpectQuery(m.settings).WillReturnRows(sqlmock.NewRows(columns).AddRow(1, 1, "0", 1, 0, 0, "MIXED", 1, 1, 1, 1, 1, 0))
		m.ExpectQuery(m.kept).WillReturnRows(sqlmock.NewRows([]string{"ENGINE"}).AddRow("InnoDB"))
	case grant.Postgres:
		m.ExpectQuery(m.settings).WillReturnRows(sqlmock.NewRows(strings.Split("abcde", "")).AddRow("on", "on", false, "off", 0))
		m.ExpectQuery(m.kept).WillReturnRows(sqlmock.NewRows([]string{"relpersistence"}).AddRow("p"))
	}
	m.commit()
}

// whole has the space asked for rows that are gone, and has none.
func (m *script) whole() {
	m.exec(m.begin)
	m.known(math.MaxInt64, math.MaxInt64, 0, 0)
	m.commit()
}

// headed has the space's own row read, which is there or not.
func (m *script) headed(rows ...headerRow) {
	found := sqlmock.NewRows(headerColumns)
	for _, r := range rows {
		found.AddRow(r.space, r.holder, r.from, r.until, r.layout)
	}
	m.ExpectQuery(m.header).WithArgs("default").WillReturnRows(found)
}

type headerRow struct {
	space, holder string
	from, until   int64
	layout        string
}

var headerColumns = []string{"space", "holder", "from_tick", "until_tick", "layout"}

// identity is an ID, and the holder that the space's own row has for it.
const identity = "0123456789abcdef0123456789abcdef"
const header = "key space " + identity + ": its layout, how many numbers were used, and until when; do not change or delete ...."

// What servers answer, and what drivers say of a connection that broke.
var (
	deadlocks = map[grant.Dialect]error{grant.MySQL: &mysql.MySQLError{Number: 1213, Message: "deadlock"}, grant.Postgres: &pgconn.PgError{Code: "40P01"}}
	denials   = map[grant.Dialect]error{grant.MySQL: &mysql.MySQLError{Number: 1142, Message: "denied"}, grant.Postgres: &pgconn.PgError{Code: "42501"}}
	missing   = map[grant.Dialect]error{grant.MySQL: &mysql.MySQLError{Number: 1146}, grant.Postgres: &pgconn.PgError{Code: "42P01"}, grant.SQLite: errNoTable{}}
	narrow    = map[grant.Dialect]error{grant.MySQL: &mysql.MySQLError{Number: 1406}, grant.Postgres: &pgconn.PgError{Code: "22001"}}
	readOnly  = map[grant.Dialect]error{grant.MySQL: &mysql.MySQLError{Number: 1290, Message: "--read-only"}, grant.Postgres: &pgconn.PgError{Code: "25006"}}
	errBroken = errors.New("write: broken pipe")
)

// errNoTable is SQLite's error, as its drivers have it.
type errNoTable struct{}

func (errNoTable) Error() string { return "no such table: main.snowkey_nodes" }
func (errNoTable) Code() int     { return 1 }

func eachMock(t *testing.T, test func(t *testing.T, store *grant.SQLStore, m *script)) {
	for dialect := range said {
		t.Run(dialect.String(), func(t *testing.T) {
			store, m := mock(t, dialect)
			test(t, store, m)
		})
	}
}

// eachServer is eachMock without SQLite, which has no accounts and no deadlocks.
func eachServer(t *testing.T, test func(t *testing.T, store *grant.SQLStore, m *script)) {
	eachMock(t, func(t *testing.T, store *grant.SQLStore, m *script) {
		if m.dialect != grant.SQLite {
			test(t, store, m)
		}
	})
}

// The first process of all makes the table and the space's row, tries to add the row twice, and looks for other tables again.
func TestSQLPrepare(t *testing.T) {
	eachMock(t, func(t *testing.T, store *grant.SQLStore, m *script) {
		m.exec(m.begin)
		m.search()
		m.commit()

		m.exec(m.alone)
		m.locked()
		m.search()
		m.exec(m.create)
		m.search(m.home())
		m.unlocked()
		m.commit()

		m.located()
		m.exec(m.begin)
		m.headed()
		m.commit()

		m.write()
		holder := make([]byte, 128)
		m.exec(m.insert, "default", -1, capture(holder), math.MaxInt64, math.MaxInt64, "layout")
		m.exec(m.insert, "default", -1, "", 0, 0, "").WillReturnResult(driver.RowsAffected(0))
		m.ExpectQuery(m.header).WithArgs("default").WillReturnRows(sqlmock.NewRows(headerColumns).AddRow("default", holder, math.MaxInt64, math.MaxInt64, "layout"))
		m.commit()
		m.located()
		m.whole()

		if got, err := store.Prepare(t.Context(), "default", "layout"); err != nil || got != "layout" {
			t.Errorf("got %q, %v", got, err)
		}
		if !regexp.MustCompile("^" + strings.Replace(header, identity, "[0-9a-f]{32}", 1) + "$").Match(holder) {
			t.Errorf("the space's row has the holder %q", holder)
		}
		want := map[grant.Dialect]string{grant.MySQL: "test.snowkey_nodes", grant.Postgres: "base.public.snowkey_nodes", grant.SQLite: "main.snowkey_nodes"}
		if got := store.Place(); got != want[m.dialect] || len(store.Warnings()) != 0 {
			t.Errorf("got the place %s and the warnings %q, want %s and none", got, store.Warnings(), want[m.dialect])
		}
	})
}

// capture matches any text, and keeps it.
type capture []byte

func (c capture) Match(v driver.Value) bool {
	text, ok := v.(string)
	return ok && copy(c, text) == len(text) && len(text) == len(c)
}

// A space that is there already is read, and nothing is locked or written for it; nor is anything asked for a second time than where the table is.
func TestSQLPrepareAgain(t *testing.T) {
	eachMock(t, func(t *testing.T, store *grant.SQLStore, m *script) {
		for range 2 {
			m.located()
			m.exec(m.begin)
			m.headed(headerRow{"default", header, math.MaxInt64 - 3, math.MaxInt64 - 4, "other"})
			m.commit()
			m.whole()
			if got, err := store.Prepare(t.Context(), "default", "layout"); err != nil || got != "other" {
				t.Errorf("got %q, %v", got, err)
			}
		}
		m.write() // at the settled place
		m.exec(m.swap, "b", 3, 4, "default", 5, "a", 2).WillReturnResult(driver.RowsAffected(0))
		m.commit()
		if done, err := store.Swap(t.Context(), "default", oldRow, newRow); err != nil || done {
			t.Errorf("got %t, %v", done, err)
		}
	})
}

// Others have made the table while the lock was waited for: it is not made twice, wherever it is.
func TestSQLPrepareFindsTheTableMadeMeanwhile(t *testing.T) {
	eachMock(t, func(t *testing.T, store *grant.SQLStore, m *script) {
		m.exec(m.begin)
		m.search()
		m.commit()
		m.exec(m.alone)
		m.locked()
		m.search(m.home())
		m.unlocked()
		m.commit()
		m.located()
		m.exec(m.begin)
		m.headed(headerRow{"default", header, math.MaxInt64, math.MaxInt64, "layout"})
		m.commit()
		m.whole()
		if got, err := store.Prepare(t.Context(), "default", "layout"); err != nil || got != "layout" {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

// What is there and no table, such as a view, is said to be in the way, once.
func TestSQLPrepareMakesNoTable(t *testing.T) {
	eachMock(t, func(t *testing.T, store *grant.SQLStore, m *script) {
		m.exec(m.begin)
		m.search()
		m.commit()
		m.exec(m.alone)
		m.locked()
		m.search()
		m.exec(m.create)
		m.search()
		m.unlocked()
		m.rollback()
		if got, err := store.Prepare(t.Context(), "default", "layout"); !errors.Is(err, grant.ErrTable) || !strings.Contains(err.Error(), "view") {
			t.Errorf("got %q, %v, want ErrTable", got, err)
		}
	})
}

// Of processes that add the row at once, one that the database makes fail finds the other's row, or tries again, twice.
func TestSQLPrepareRetries(t *testing.T) {
	fault := errors.New("locked")
	for name, test := range map[string]struct {
		faults int
		found  bool // the other's row, after the faults
	}{"found at once": {1, true}, "found later": {2, true}, "failed for good": {3, false}} {
		t.Run(name, func(t *testing.T) {
			store, m := mock(t, grant.SQLite)
			m.located()
			m.exec(m.begin)
			m.headed()
			m.commit()
			for n := range test.faults {
				m.write()
				m.ExpectExec(m.insert).WillReturnError(fault)
				m.rollback()
				m.exec(m.begin)
				if test.found && n == test.faults-1 {
					m.headed(headerRow{"default", header, math.MaxInt64, math.MaxInt64, "other"})
				} else {
					m.headed()
				}
				m.commit()
			}
			if test.found {
				m.whole()
			}
			got, err := store.Prepare(t.Context(), "default", "layout")
			if test.found && (got != "other" || err != nil) || !test.found && !errors.Is(err, fault) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

// Another table is asked for the space before the row is added. One that has it is refused; later it is a warning. One that is missing by
// then, or has other columns, is nothing; one that may not be read may have it.
func TestSQLPrepareOfTwoTables(t *testing.T) {
	eachServer(t, func(t *testing.T, store *grant.SQLStore, m *script) {
		elsewhere := func(rows *sqlmock.Rows, err error) {
			m.exec(m.begin)
			if err == nil {
				m.ExpectQuery(m.has).WithArgs("default").WillReturnRows(rows)
				m.commit()
			} else {
				m.ExpectQuery(m.has).WithArgs("default").WillReturnError(err)
				m.rollback()
			}
		}
		has := func() *sqlmock.Rows { return sqlmock.NewRows([]string{"1"}).AddRow(1) }
		for _, test := range []struct {
			rows *sqlmock.Rows
			err  error
		}{{rows: has()}, {err: denials[m.dialect]}} {
			m.located("other")
			elsewhere(test.rows, test.err)
			_, err := store.Prepare(t.Context(), "default", "layout")
			var twice *grant.TwoTablesError
			if !errors.As(err, &twice) || !errors.Is(err, grant.ErrTwoTables) || twice.Space != "default" || !errors.Is(err, test.err) && test.err != nil ||
				!strings.HasSuffix(twice.Tables[0], m.home()+".snowkey_nodes") || !strings.HasSuffix(twice.Tables[1], "other.snowkey_nodes") {
				t.Fatalf("got %v, want ErrTwoTables", err)
			}
		}
		m.located("other")
		elsewhere(nil, errBroken)
		if _, err := store.Prepare(t.Context(), "default", "layout"); !errors.Is(err, errBroken) {
			t.Fatalf("got %v, want the connection's error", err)
		}
		for _, test := range []struct {
			rows    *sqlmock.Rows
			err     error
			warning string
		}{{rows: sqlmock.NewRows([]string{"1"})}, {err: missing[m.dialect]}, {rows: has(), warning: "two tables"}, {rows: sqlmock.NewRows([]string{"1"})}} {
			m.located("other")
			elsewhere(test.rows, test.err)
			m.exec(m.begin)
			m.headed(headerRow{"default", header, math.MaxInt64, math.MaxInt64, "layout"})
			m.commit()
			m.whole()
			if got, err := store.Prepare(t.Context(), "default", "layout"); err != nil || got != "layout" {
				t.Fatalf("got %q, %v", got, err)
			}
			if got := strings.Join(store.Warnings(), "\n"); (got == "") != (test.warning == "") || !strings.Contains(got, test.warning) {
				t.Errorf("got the warnings %q, want %q", got, test.warning)
			}
		}
	})
}

// Who has added the space looks for another table once more: another process may have added it there at the same time.
func TestSQLPrepareOfTwoTablesAtOnce(t *testing.T) {
	eachServer(t, func(t *testing.T, store *grant.SQLStore, m *script) {
		has := func(rows *sqlmock.Rows) {
			m.exec(m.begin)
			m.ExpectQuery(m.has).WithArgs("default").WillReturnRows(rows)
			m.commit()
		}
		m.located("other")
		has(sqlmock.NewRows([]string{"1"}))
		m.exec(m.begin)
		m.headed()
		m.commit()
		m.write()
		holder := make([]byte, 128)
		m.exec(m.insert, "default", -1, capture(holder), math.MaxInt64, math.MaxInt64, "layout")
		m.exec(m.insert, "default", -1, "", 0, 0, "").WillReturnResult(driver.RowsAffected(0))
		m.ExpectQuery(m.header).WithArgs("default").WillReturnRows(sqlmock.NewRows(headerColumns).AddRow("default", holder, math.MaxInt64, math.MaxInt64, "layout"))
		m.commit()
		m.located("other")
		has(sqlmock.NewRows([]string{"1"}).AddRow(1))
		if _, err := store.Prepare(t.Context(), "default", "layout"); !errors.Is(err, grant.ErrTwoTables) {
			t.Errorf("got %v, want ErrTwoTables", err)
		}
	})
}

// A table that may not be read is there: no other one is made, and the error has its place and the rights that are missing.
func TestSQLDenied(t *testing.T) {
	eachServer(t, func(t *testing.T, store *grant.SQLStore, m *script) {
		want := func(err error) {
			t.Helper()
			var e *grant.TableError
			if !errors.As(err, &e) || !errors.Is(err, grant.ErrTable) || !errors.Is(err, denials[m.dialect]) || e.Statement != m.grants ||
				!strings.HasSuffix(e.Table, m.home()+".snowkey_nodes") || !strings.Contains(err.Error(), e.Table) || !strings.Contains(err.Error(), m.grants) {
				t.Errorf("got %v, want a TableError with %s", err, m.grants)
			}
		}
		m.located()
		m.exec(m.begin)
		m.ExpectQuery(m.header).WithArgs("default").WillReturnError(denials[m.dialect])
		m.rollback()
		_, err := store.Prepare(t.Context(), "default", "layout")
		want(err)
		m.exec(m.begin)
		m.ExpectQuery(m.spaces).WillReturnError(denials[m.dialect])
		m.rollback()
		_, err = store.Spaces(t.Context())
		want(err)
		// Who may read and not write.
		m.located()
		m.exec(m.begin)
		m.headed()
		m.commit()
		for range 3 {
			m.write()
			m.ExpectExec(m.insert).WillReturnError(denials[m.dialect])
			m.rollback()
			m.exec(m.begin)
			m.headed()
			m.commit()
		}
		_, err = store.Prepare(t.Context(), "default", "layout")
		want(err)
	})
}

// Who may not make a table that is not there is told the statement that makes it, also where nobody may.
func TestSQLDeniedToMake(t *testing.T) {
	eachServer(t, func(t *testing.T, store *grant.SQLStore, m *script) {
		for _, cause := range []error{denials[m.dialect], readOnly[m.dialect]} {
			m.exec(m.begin)
			m.search()
			m.commit()
			m.exec(m.alone)
			m.locked()
			m.search()
			m.ExpectExec(m.create).WillReturnError(cause)
			m.unlocked()
			m.rollback()
			_, err := store.Prepare(t.Context(), "default", "layout")
			if cause == readOnly[m.dialect] { // there is nothing to be run on it
				if !errors.Is(err, grant.ErrReadOnly) || !errors.Is(err, cause) || errors.Is(err, grant.ErrTable) {
					t.Errorf("got %v, want ErrReadOnly", err)
				}
				continue
			}
			var e *grant.TableError
			statement := m.create + ";\n" + m.grants
			if !errors.As(err, &e) || !errors.Is(err, cause) || e.Statement != statement || !strings.HasSuffix(e.Table, m.home()+".snowkey_nodes") {
				t.Errorf("got %v, want a TableError with %s", err, statement)
			}
		}
	})
}

// A table on a database that takes no writes is not the table's fault.
func TestSQLReadOnly(t *testing.T) {
	eachServer(t, func(t *testing.T, store *grant.SQLStore, m *script) {
		m.placed()
		m.write()
		m.ExpectExec(m.swap).WillReturnError(readOnly[m.dialect])
		m.rollback()
		if done, err := store.Swap(t.Context(), "default", oldRow, newRow); done || !errors.Is(err, grant.ErrReadOnly) || !errors.Is(err, readOnly[m.dialect]) || errors.Is(err, grant.ErrTable) {
			t.Errorf("got %t, %v, want ErrReadOnly", done, err)
		}
	})
}

// A connection that breaks says nothing of the table, wherever that is noticed.
func TestSQLConnectionBroken(t *testing.T) {
	eachServer(t, func(t *testing.T, _ *grant.SQLStore, _ *script) {
		dialect, _ := grant.LookupDialect(t.Name()[strings.LastIndex(t.Name(), "/")+1:])
		for name, expect := range map[string]func(m *script){
			"where": func(m *script) {
				m.exec(m.begin)
				m.ExpectQuery(m.where).WillReturnError(errBroken)
				m.rollback()
			},
			"header": func(m *script) {
				m.located()
				m.exec(m.begin)
				m.ExpectQuery(m.header).WillReturnError(errBroken)
				m.rollback()
			},
			"header, late": func(m *script) {
				m.located()
				m.exec(m.begin)
				m.ExpectQuery(m.header).WillReturnRows(sqlmock.NewRows(headerColumns).AddRow("default", header, math.MaxInt64, math.MaxInt64, "layout").RowError(0, errBroken))
				m.rollback()
			},
			"settings": func(m *script) {
				m.exec(m.begin)
				m.search(m.home())
				m.ExpectQuery(m.settings).WillReturnError(errBroken)
				m.rollback()
			},
			"create": func(m *script) {
				m.exec(m.begin)
				m.search()
				m.commit()
				m.exec(m.alone)
				m.locked()
				m.search()
				m.ExpectExec(m.create).WillReturnError(errBroken)
				m.unlocked()
				m.rollback()
			},
			"insert": func(m *script) {
				m.located()
				m.exec(m.begin)
				m.headed()
				m.commit()
				for range 3 {
					m.write()
					m.ExpectExec(m.insert).WillReturnError(errBroken)
					m.rollback()
					m.exec(m.begin)
					m.ExpectQuery(m.header).WillReturnError(errBroken)
					m.rollback()
				}
			},
		} {
			t.Run(name, func(t *testing.T) {
				store, m := mock(t, dialect)
				expect(m)
				if _, err := store.Prepare(t.Context(), "default", "layout"); !errors.Is(err, errBroken) || errors.Is(err, grant.ErrTable) || strings.Contains(err.Error(), "CREATE TABLE") {
					t.Errorf("got %v, want an error that is no ErrTable", err)
				}
			})
		}
		t.Run("spaces", func(t *testing.T) {
			store, m := mock(t, dialect)
			m.placed()
			m.exec(m.begin)
			m.ExpectQuery(m.spaces).WillReturnError(errBroken)
			m.rollback()
			if _, err := store.Spaces(t.Context()); !errors.Is(err, errBroken) || errors.Is(err, grant.ErrTable) {
				t.Errorf("got %v, want an error that is no ErrTable", err)
			}
		})
	})
}

// What the database says of a column that does not take a value is the table's fault, and no statement mends it.
func TestSQLNarrowColumn(t *testing.T) {
	eachServer(t, func(t *testing.T, store *grant.SQLStore, m *script) {
		m.located()
		m.exec(m.begin)
		m.headed()
		m.commit()
		for range 3 {
			m.write()
			m.ExpectExec(m.insert).WillReturnError(narrow[m.dialect])
			m.rollback()
			m.exec(m.begin)
			m.headed()
			m.commit()
		}
		var e *grant.TableError
		if _, err := store.Prepare(t.Context(), "default", "layout"); !errors.Is(err, grant.ErrTable) || !errors.Is(err, narrow[m.dialect]) || errors.As(err, &e) {
			t.Errorf("got %v, want ErrTable, without a statement", err)
		}
	})
}

// A table that is gone since it was found is missing.
func TestSQLTableGone(t *testing.T) {
	eachMock(t, func(t *testing.T, store *grant.SQLStore, m *script) {
		m.placed()
		m.exec(m.begin)
		m.ExpectQuery(m.spaces).WillReturnError(missing[m.dialect])
		m.rollback()
		var e *grant.TableError
		if _, err := store.Spaces(t.Context()); !errors.As(err, &e) || e.Statement != m.create+";" {
			t.Errorf("got %v, want a TableError with %s", err, m.create)
		}
		m.exec(m.begin) // and not there in the first place
		m.search()
		m.commit()
		if _, err := store.Spaces(t.Context()); !errors.As(err, &e) || e.Statement != m.create+";" {
			t.Errorf("got %v, want a TableError with %s", err, m.create)
		}
	})
}

// The error is the context's too where a driver returns another one.
func TestSQLContextIsNamed(t *testing.T) {
	store, m := mock(t, grant.SQLite)
	ctx, cancel := context.WithCancel(t.Context())
	m.placed()
	m.exec(m.begin)
	m.ExpectExec(m.swap).WithArgs(ending{cancel}, 3, 4, "default", 5, "a", 2).WillReturnError(errors.New("interrupted"))
	m.rollback()
	if done, err := store.Swap(ctx, "default", oldRow, newRow); done || !errors.Is(err, context.Canceled) {
		t.Errorf("got %t, %v, want context.Canceled", done, err)
	}
}

// ending matches any argument, and ends the context.
type ending struct{ cancel context.CancelFunc }

func (e ending) Match(driver.Value) bool {
	e.cancel()
	return true
}

func TestSQLList(t *testing.T) {
	eachMock(t, func(t *testing.T, store *grant.SQLStore, m *script) {
		columns := []string{"micros", "nodes", "node", "holder", "from_tick", "until_tick"}
		now := time.UnixMicro(1600000000123456).UTC()
		for name, test := range map[string]struct {
			rows *sqlmock.Rows
			want grant.Listing
		}{
			"row and space": {sqlmock.NewRows(columns).AddRow(1600000000123456, 3, -1, header, math.MaxInt64-5, math.MaxInt64-9).AddRow(1600000000123456, 3, 5, "a", 1, 2),
				grant.Listing{Now: now, ID: identity, Mark: 9, Gone: 2, Rows: []grant.Row{oldRow}}},
			"space alone":        {sqlmock.NewRows(columns).AddRow(1600000000123456, 3, -1, header, math.MaxInt64-3, math.MaxInt64-9), grant.Listing{Now: now, ID: identity, Mark: 9}},
			"rows added by hand": {sqlmock.NewRows(columns).AddRow(1600000000123456, 4, -1, header, math.MaxInt64-3, math.MaxInt64-9), grant.Listing{Now: now, ID: identity, Mark: 9}},
			"clock alone":        {sqlmock.NewRows(columns).AddRow(1600000000123456, 0, nil, nil, nil, nil), grant.Listing{Now: now}},
			"space's row gone":   {sqlmock.NewRows(columns).AddRow(1600000000123456, 1, 5, "a", 1, 2), grant.Listing{Now: now, Rows: []grant.Row{oldRow}}},
			"another row":        {sqlmock.NewRows(columns).AddRow(1600000000123456, 1, -1, "a", math.MaxInt64-5, math.MaxInt64-9), grant.Listing{Now: now, Mark: 9}},
		} {
			m.placed()
			m.exec(m.begin)
			m.ExpectQuery(m.list).WithArgs("default", "default", 0, 9).WillReturnRows(test.rows)
			m.commit()
			if l, err := store.List(t.Context(), "default", -7, 9); err != nil || !reflect.DeepEqual(l, test.want) {
				t.Errorf("%s: got %+v, %v, want %+v", name, l, err, test.want)
			}
		}
		for name, rows := range map[string]*sqlmock.Rows{
			"no clock":    sqlmock.NewRows(columns),
			"NULL clock":  sqlmock.NewRows(columns).AddRow(nil, 1, 5, "a", 1, 2),
			"NULL count":  sqlmock.NewRows(columns).AddRow(1, nil, 5, "a", 1, 2),
			"NULL holder": sqlmock.NewRows(columns).AddRow(1, 1, 5, nil, 1, 2),
			"NULL until":  sqlmock.NewRows(columns).AddRow(1, 1, 5, "a", 1, nil),
			"NULL mark":   sqlmock.NewRows(columns).AddRow(1, 1, -1, header, 1, nil),
			"text":        sqlmock.NewRows(columns).AddRow(1, 1, 5, "a", 1, "x"),
			"late error":  sqlmock.NewRows(columns).AddRow(1, 1, 5, "a", 1, 2).AddRow(1, 1, 6, "a", 1, 2).RowError(1, errors.New("broken")),
		} {
			m.placed()
			m.exec(m.begin)
			m.ExpectQuery(m.list).WithArgs("default", "default", 0, 9).WillReturnRows(rows)
			if name == "no clock" {
				m.commit()
			} else {
				m.rollback()
			}
			if l, err := store.List(t.Context(), "default", 0, 9); err == nil || !reflect.DeepEqual(l, grant.Listing{}) {
				t.Errorf("%s: got %+v, %v, want an error", name, l, err)
			}
		}
	})
}

// counted has an added row counted, and the space's own row and its others asked for.
func (m *script) counted(from, until, rows int64) {
	m.exec(m.count, "default")
	m.known(from, until, rows, 0)
}

// known has the space's own rows asked for what is known of rows that are gone.
func (m *script) known(from, until, rows, absent int64) {
	m.ExpectQuery(m.gone).WithArgs("default", "default", "default").
		WillReturnRows(sqlmock.NewRows([]string{"from_tick", "until_tick", "rows", "absent"}).AddRow(from, until, rows, absent))
}

// Where rows are gone, numbers without a row are held until the mark, and the rows are counted anew, unless another process has done it.
func TestSQLPrepareHoldsNumbersThatAreGone(t *testing.T) {
	eachMock(t, func(t *testing.T, store *grant.SQLStore, m *script) {
		m.located()
		m.exec(m.begin)
		m.headed(headerRow{"default", header, math.MaxInt64 - 9, math.MaxInt64 - 70, "layout"})
		m.commit()
		m.exec(m.begin)
		m.known(math.MaxInt64-9, math.MaxInt64-70, 7, 0)
		m.commit()
		m.exec(m.alone) // and reads again, what others may have changed
		if m.durable != "" {
			m.exec(m.durable)
		}
		m.exec(m.name, "layout", "default", "layout")
		m.known(math.MaxInt64-9, math.MaxInt64-71, 7, 0)
		m.exec(m.insert, "default", -2, "numbers without a row are held until until_tick, since rows were gone", 0, 71, "")
		m.exec(m.absent, 71, "default", 71)
		m.exec(m.recount, math.MaxInt64-7, "default", math.MaxInt64-9)
		m.commit()
		if got, err := store.Prepare(t.Context(), "default", "layout"); err != nil || got != "layout" {
			t.Errorf("got %q, %v", got, err)
		}
		m.located()
		m.exec(m.begin)
		m.headed(headerRow{"default", header, math.MaxInt64 - 9, math.MaxInt64 - 70, "layout"})
		m.commit()
		m.exec(m.begin)
		m.known(math.MaxInt64-9, math.MaxInt64-70, 7, 0)
		m.commit()
		m.exec(m.alone)
		if m.durable != "" {
			m.exec(m.durable)
		}
		m.exec(m.name, "layout", "default", "layout")
		m.known(math.MaxInt64-7, math.MaxInt64-70, 7, 70) // another process was first
		m.commit()
		if got, err := store.Prepare(t.Context(), "default", "layout"); err != nil || got != "layout" {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

// A row is not added that may be one of those that are gone: one that begins before the mark.
func TestSQLSwapAddsNoRowThatIsGone(t *testing.T) {
	eachMock(t, func(t *testing.T, store *grant.SQLStore, m *script) {
		for _, c := range []struct {
			mark, rows int64
			want       bool
		}{{4, 8, false}, {3, 8, true}, {4, 9, true}} {
			m.placed()
			m.write()
			m.exec(m.insert, "default", 5, "b", 3, 4, "")
			m.counted(math.MaxInt64-9, math.MaxInt64-c.mark, c.rows)
			if c.want {
				if m.echo != "" {
					m.ExpectQuery(m.echo).WillReturnRows(sqlmock.NewRows([]string{"COUNT(*)"}).AddRow(1))
				}
				m.exec(m.mark, math.MaxInt64-4, "default", math.MaxInt64-4)
				m.commit()
			} else {
				m.rollback()
			}
			if done, err := store.Swap(t.Context(), "default", grant.Row{Number: 5, Holder: grant.Absent}, newRow); err != nil || done != c.want {
				t.Errorf("%+v: got %t, %v", c, done, err)
			}
		}
	})
}

// A change raises the mark, and one that adds a row counts it, all in its transaction. What changes nothing does neither.
func TestSQLSwap(t *testing.T) {
	eachMock(t, func(t *testing.T, store *grant.SQLStore, m *script) {
		for affected, want := range map[int64]bool{1: true, 0: false} {
			m.placed()
			m.write()
			m.exec(m.swap, "b", 3, 4, "default", 5, "a", 2).WillReturnResult(driver.RowsAffected(affected))
			if want {
				m.exec(m.mark, math.MaxInt64-4, "default", math.MaxInt64-4).WillReturnResult(driver.RowsAffected(0)) // it is greater
			}
			m.commit()
			if done, err := store.Swap(t.Context(), "default", oldRow, newRow); err != nil || done != want {
				t.Errorf("got %t, %v, want %t", done, err, want)
			}
			m.placed()
			m.write()
			m.exec(m.insert, "default", 5, "b", 3, 4, "").WillReturnResult(driver.RowsAffected(affected))
			if want {
				m.counted(math.MaxInt64-9, math.MaxInt64-70, 9)
				if m.echo != "" {
					m.ExpectQuery(m.echo).WithArgs("default", 5, "b", 3, 4).WillReturnRows(sqlmock.NewRows([]string{"COUNT(*)"}).AddRow(1))
				}
				m.exec(m.mark, math.MaxInt64-4, "default", math.MaxInt64-4)
			}
			m.commit()
			if done, err := store.Swap(t.Context(), "default", grant.Row{Number: 5, Holder: grant.Absent}, newRow); err != nil || done != want {
				t.Errorf("adding: got %t, %v, want %t", done, err, want)
			}
		}
	})
}

// A swap that is rolled back by the server because of another transaction is made again, with its place in order. One that ended without
// a word of the server is not: it may have been made.
func TestSQLSwapTriedAgain(t *testing.T) {
	eachServer(t, func(t *testing.T, store *grant.SQLStore, m *script) {
		m.placed()
		m.write()
		m.ExpectExec(m.swap).WillReturnError(deadlocks[m.dialect])
		m.rollback()
		m.write()
		m.exec(m.swap)
		m.ExpectExec(m.mark).WillReturnError(deadlocks[m.dialect])
		m.rollback()
		m.write()
		m.exec(m.swap)
		m.exec(m.mark)
		m.ExpectExec(m.dialect.Commit()).WillReturnError(deadlocks[m.dialect])
		m.rollback()
		m.write()
		m.exec(m.swap)
		m.exec(m.mark)
		m.commit()
		if done, err := store.Swap(t.Context(), "default", oldRow, newRow); err != nil || !done {
			t.Errorf("got %t, %v", done, err)
		}
		m.placed()
		for range 5 {
			m.write()
			m.ExpectExec(m.swap).WillReturnError(deadlocks[m.dialect])
			m.rollback()
		}
		if done, err := store.Swap(t.Context(), "default", oldRow, newRow); done || !errors.Is(err, deadlocks[m.dialect]) {
			t.Errorf("got %t, %v, want the deadlock", done, err)
		}
		m.placed()
		m.write()
		m.exec(m.swap)
		m.exec(m.mark)
		m.ExpectExec(m.dialect.Commit()).WillReturnError(errBroken)
		m.rollback()
		if done, err := store.Swap(t.Context(), "default", oldRow, newRow); done || !errors.Is(err, errBroken) {
			t.Errorf("got %t, %v, want the connection's error", done, err)
		}
	})
}

func TestSQLSpaces(t *testing.T) {
	eachMock(t, func(t *testing.T, store *grant.SQLStore, m *script) {
		m.placed()
		m.exec(m.begin)
		m.ExpectQuery(m.spaces).WillReturnRows(sqlmock.NewRows([]string{"space", "layout", "holder", "from_tick", "until_tick"}).
			AddRow("a", "b", header, math.MaxInt64-5, math.MaxInt64-9).AddRow("c", "d", "x", math.MaxInt64, math.MaxInt64).AddRow("e", "f", header, 1<<31-1, math.MaxInt64))
		m.commit()
		want := []grant.Space{{Name: "a", Layout: "b", ID: identity, StoredAs: "a"}, {Name: "c", Layout: "d", StoredAs: "c"}, {Name: "e", Layout: "f", StoredAs: "e"}}
		if got, err := store.Spaces(t.Context()); err != nil || !slices.Equal(got, want) {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	})
}

// A loss is a row below the others, at the next node that is free; who comes second takes the one after it.
func TestSQLRecord(t *testing.T) {
	eachMock(t, func(t *testing.T, store *grant.SQLStore, m *script) {
		columns := []string{"node", "holder", "from_tick", "until_tick", "layout"}
		losses := func() *sqlmock.Rows {
			return sqlmock.NewRows(columns).AddRow(-3, "a", 3, 4, "lost number 5").AddRow(-4, "b", 6, 7, "lost number 8")
		}
		want := []grant.Loss{{Number: 5, Holder: "a", From: 3, Until: 4}, {Number: 8, Holder: "b", From: 6, Until: 7}}
		alone := func() {
			m.exec(m.alone)
			if m.durable != "" {
				m.exec(m.durable)
			}
		}
		m.placed()
		alone()
		m.ExpectQuery(m.losses).WithArgs("default").WillReturnRows(sqlmock.NewRows(columns))
		m.exec(m.insert, "default", -3, "a", 3, 4, "lost number 5").WillReturnResult(driver.RowsAffected(0))
		m.commit()
		alone()
		m.ExpectQuery(m.losses).WithArgs("default").WillReturnRows(losses())
		m.exec(m.insert, "default", -5, "a", 3, 4, "lost number 5")
		m.commit()
		if err := store.Record(t.Context(), "default", want[0]); err != nil {
			t.Error(err)
		}
		m.placed()
		m.exec(m.begin)
		m.ExpectQuery(m.losses).WithArgs("default").WillReturnRows(losses())
		m.commit()
		if got, err := store.Losses(t.Context(), "default"); err != nil || !slices.Equal(got, want) {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
		m.placed()
		m.exec(m.begin)
		m.ExpectQuery(m.losses).WithArgs("default").WillReturnRows(losses().AddRow(-5, "c", 1, 2, "something else"))
		m.rollback()
		if got, err := store.Losses(t.Context(), "default"); !errors.Is(err, grant.ErrTable) {
			t.Errorf("got %+v, %v, want ErrTable", got, err)
		}
	})
}

// A swap is true only when its commit was answered with success.
func TestSQLSwapErrors(t *testing.T) {
	fault := errors.New("fault")
	absent := grant.Row{Number: 5, Holder: grant.Absent}
	for name, test := range map[string]struct {
		old    grant.Row
		expect func(m *script)
	}{
		"two rows": {oldRow, func(m *script) {
			m.write()
			m.exec(m.swap).WillReturnResult(driver.RowsAffected(2))
			m.rollback()
		}},
		"no count": {oldRow, func(m *script) {
			m.write()
			m.exec(m.swap).WillReturnResult(sqlmock.NewErrorResult(fault))
			m.rollback()
		}},
		"statement": {oldRow, func(m *script) {
			m.write()
			m.ExpectExec(m.swap).WillReturnError(fault)
			m.rollback()
		}},
		"mark": {oldRow, func(m *script) {
			m.write()
			m.exec(m.swap)
			m.ExpectExec(m.mark).WillReturnError(fault)
			m.rollback()
		}},
		"count": {absent, func(m *script) {
			m.write()
			m.exec(m.insert)
			m.ExpectExec(m.count).WillReturnError(fault)
			m.rollback()
		}},
		"no row of the space": {absent, func(m *script) {
			m.write()
			m.exec(m.insert)
			m.exec(m.count).WillReturnResult(driver.RowsAffected(0))
			m.rollback()
		}},
		"begin": {oldRow, func(m *script) {
			m.ExpectExec(m.begin).WillReturnError(fault)
			m.rollback()
		}},
		"commit": {oldRow, func(m *script) {
			m.write()
			m.exec(m.swap)
			m.exec(m.mark)
			m.ExpectExec(m.dialect.Commit()).WillReturnError(fault)
			m.rollback()
		}},
		"commit on a connection that is gone": {oldRow, func(m *script) {
			m.write()
			m.exec(m.swap)
			m.exec(m.mark)
			m.ExpectExec(m.dialect.Commit()).WillReturnError(errors.Join(fault, driver.ErrBadConn))
			m.ExpectClose() // not again: the swap may have been made
		}},
	} {
		t.Run(name, func(t *testing.T) {
			store, m := mock(t, grant.SQLite)
			m.placed()
			test.expect(m)
			done, err := store.Swap(t.Context(), "default", test.old, newRow)
			if table := name == "two rows" || name == "no row of the space"; done || err == nil || errors.Is(err, fault) == table || errors.Is(err, grant.ErrTable) != table {
				t.Errorf("got %t, %v", done, err)
			}
			for _, part := range []string{"grant: ", "swapping node 5", `space "default"`, "table snowkey_nodes"} {
				if err != nil && !strings.Contains(err.Error(), part) {
					t.Errorf("got %q, want %q in it", err, part)
				}
			}
		})
	}
}

// MySQL stores the nearest value that a column has, so a row that was added is read again.
func TestSQLSwapStoredOtherwise(t *testing.T) {
	store, m := mock(t, grant.MySQL)
	m.placed()
	m.write()
	m.exec(m.insert)
	m.counted(math.MaxInt64-9, math.MaxInt64-70, 9)
	m.ExpectQuery(m.echo).WithArgs("default", 5, "b", 3, 4).WillReturnRows(sqlmock.NewRows([]string{"COUNT(*)"}).AddRow(0))
	m.rollback()
	if done, err := store.Swap(t.Context(), "default", grant.Row{Number: 5, Holder: grant.Absent}, newRow); done || !errors.Is(err, grant.ErrTable) {
		t.Errorf("got %t, %v, want ErrTable", done, err)
	}
}

// A connection whose transaction could not be ended does not come back to the pool.
func TestSQLRollbackFails(t *testing.T) {
	fault := errors.New("fault")
	eachMock(t, func(t *testing.T, store *grant.SQLStore, m *script) {
		m.placed()
		m.write()
		m.ExpectExec(m.swap).WillReturnError(fault)
		m.ExpectExec(m.dialect.Rollback()).WillReturnError(errors.New("another fault"))
		if m.dialect == grant.SQLite { // whose transaction is over when another begins
			m.exec("BEGIN")
			m.rollback()
		} else {
			m.ExpectClose()
		}
		if done, err := store.Swap(t.Context(), "default", oldRow, newRow); done || !errors.Is(err, fault) {
			t.Errorf("got %t, %v, want the first error", done, err)
		}
	})
}

// A swap that is refused reaches no database.
func TestSQLRefusesArguments(t *testing.T) {
	store, _ := mock(t, grant.MySQL)
	absent := func(number int64) grant.Row { return grant.Row{Number: number, Holder: grant.Absent} }
	for name, rows := range map[string][2]grant.Row{
		"another number":      {absent(1), {Number: 2}},
		"negative number":     {absent(-1), {Number: -1}},
		"number 2^62":         {absent(1 << 62), {Number: 1 << 62}},
		"negative from":       {absent(1), {Number: 1, From: -1}},
		"negative until":      {absent(1), {Number: 1, From: -2, Until: -1}},
		"from after until":    {absent(1), {Number: 1, From: 2, Until: 1}},
		"until beyond 2^62":   {absent(1), {Number: 1, Until: 1<<62 + 1}},
		"holder too long":     {absent(1), {Number: 1, Holder: strings.Repeat("x", 129)}},
		"holder not ASCII":    {absent(1), {Number: 1, Holder: "ä"}},
		"holder not UTF-8":    {absent(1), {Number: 1, Holder: "\xff"}},
		"holder with a tab":   {absent(1), {Number: 1, Holder: "a\tb"}},
		"holder with NUL":     {absent(1), {Number: 1, Holder: "a\x00"}},
		"holder DEL":          {absent(1), {Number: 1, Holder: "\x7f"}},
		"holder of no row":    {absent(1), absent(1)},
		"nothing to tell by":  {oldRow, oldRow},
		"nothing but another": {oldRow, {Number: 5, Holder: "a", From: 2, Until: 2}},
	} {
		if done, err := store.Swap(t.Context(), "default", rows[0], rows[1]); done || err == nil || strings.Contains(err.Error(), "BEGIN") {
			t.Errorf("%s: got %t, %v, want an error", name, done, err)
		}
	}
	for _, space := range []string{"", "a b", "ä", "a/b", "a\n", strings.Repeat("x", 65)} {
		_, prepareErr := store.Prepare(t.Context(), space, "")
		_, listErr := store.List(t.Context(), space, 0, 1)
		_, swapErr := store.Swap(t.Context(), space, oldRow, newRow)
		for _, err := range []error{prepareErr, listErr, swapErr} {
			if err == nil || strings.Contains(err.Error(), "Ping") || strings.Contains(err.Error(), "BEGIN") {
				t.Errorf("space %q: got %v, want an error", space, err)
			}
		}
	}
	for _, layout := range []string{strings.Repeat("x", 256), "ä", "\n", "\x00"} {
		if _, err := store.Prepare(t.Context(), "default", layout); err == nil || strings.Contains(err.Error(), "Ping") {
			t.Errorf("layout %q: got %v, want an error", layout, err)
		}
	}
}

// What is wrong with a store's settings is an error of its methods, never a panic.
func TestSQLSettings(t *testing.T) {
	db, _, err := sqlmock.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	for name, test := range map[string]struct {
		store *grant.SQLStore
		want  error // nil for any
	}{
		"nil database":    {grant.SQL(nil, grant.MySQL), nil},
		"no dialect":      {grant.SQL(db, 0), grant.ErrDialect},
		"unknown dialect": {grant.SQL(db, 7), grant.ErrDialect},
		"nothing":         {grant.SQL(nil, 0, nil), grant.ErrDialect},
		"no table":        {grant.SQL(db, grant.MySQL, grant.WithTable("")), grant.ErrTable},
		"quoted table":    {grant.SQL(db, grant.MySQL, grant.WithTable("`a`")), grant.ErrTable},
		"two dots":        {grant.SQL(db, grant.MySQL, grant.WithTable("a.b.c")), grant.ErrTable},
		"dot first":       {grant.SQL(db, grant.MySQL, grant.WithTable(".b")), grant.ErrTable},
		"digit first":     {grant.SQL(db, grant.MySQL, grant.WithTable("a.1b")), grant.ErrTable},
		"umlaut":          {grant.SQL(db, grant.MySQL, grant.WithTable("ä")), grant.ErrTable},
		"line":            {grant.SQL(db, grant.MySQL, grant.WithTable("a\n")), grant.ErrTable},
		"64 characters":   {grant.SQL(db, grant.MySQL, grant.WithTable(strings.Repeat("x", 64))), grant.ErrTable},
		"injection":       {grant.SQL(db, grant.Postgres, grant.WithTable(`a"; DROP TABLE b; --`)), grant.ErrTable},
	} {
		_, prepareErr := test.store.Prepare(t.Context(), "default", "")
		_, listErr := test.store.List(t.Context(), "default", 0, 1)
		_, swapErr := test.store.Swap(t.Context(), "default", oldRow, newRow)
		_, spacesErr := test.store.Spaces(t.Context())
		for _, err := range []error{prepareErr, listErr, swapErr, spacesErr} {
			if err == nil || test.want != nil && !errors.Is(err, test.want) || test.want == nil && (errors.Is(err, grant.ErrTable) || errors.Is(err, grant.ErrDialect)) {
				t.Errorf("%s: got %v, want %v", name, err, test.want)
			}
		}
	}
}

// A connection that turns out to be closed is replaced, while nothing has been said on it.
func TestSQLStaleConnections(t *testing.T) {
	conns := &staleConns{stale: 5}
	db := sql.OpenDB(conns)
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxIdleConns(5)
	var open []*sql.Conn
	for range 5 {
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, conn)
	}
	for _, conn := range open {
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := grant.SQL(db, grant.SQLite).Swap(t.Context(), "default", oldRow, newRow); !errors.Is(err, errFresh) {
		t.Errorf("got %v, want the error of a fresh connection", err)
	}
	conns.stale = math.MaxInt
	if _, err := grant.SQL(db, grant.SQLite).Swap(t.Context(), "default", oldRow, newRow); !errors.Is(err, driver.ErrBadConn) {
		t.Errorf("got %v, want ErrBadConn", err)
	}
}

var errFresh = errors.New("a fresh connection")

// staleConns makes connections of which the first are stale.
type staleConns struct{ made, stale int }

func (s *staleConns) Connect(context.Context) (driver.Conn, error) {
	s.made++
	return staleConn{s.made <= s.stale}, nil
}

func (s *staleConns) Driver() driver.Driver { return nil }

type staleConn struct{ stale bool }

func (c staleConn) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	if c.stale {
		return nil, driver.ErrBadConn
	}
	return nil, errFresh
}
func (staleConn) Prepare(string) (driver.Stmt, error) { return nil, errFresh }
func (staleConn) Begin() (driver.Tx, error)           { return nil, errFresh }
func (staleConn) Close() error                        { return nil }

func TestDDL(t *testing.T) {
	schema := strings.NewReplacer("`test`.", "", `"public".`, "", `"main".`, "")
	for dialect, texts := range said {
		for table, want := range map[string]string{"": "snowkey_nodes", "snowkey_nodes": "snowkey_nodes", "Grants": "Grants"} {
			got, err := grant.DDL(dialect, table)
			if want = strings.Replace(schema.Replace(texts.create), "snowkey_nodes", want, 1); err != nil || got != want {
				t.Errorf("%v, table %q: got %s, %v, want %s", dialect, table, got, err, want)
			}
		}
	}
	for dialect, want := range map[grant.Dialect]string{grant.MySQL: "`a`.`b` (", grant.Postgres: `"a"."b" (`, grant.SQLite: `"a"."b" (`} {
		if got, err := grant.DDL(dialect, "a.b"); err != nil || !strings.Contains(got, want) {
			t.Errorf("got %s, %v, want %s in it", got, err, want)
		}
	}
	if got, err := grant.DDL(grant.MySQL, "a b"); got != "" || !errors.Is(err, grant.ErrTable) {
		t.Errorf("got %q, %v, want ErrTable", got, err)
	}
	if got, err := grant.DDL(0, "a"); got != "" || !errors.Is(err, grant.ErrDialect) {
		t.Errorf("got %q, %v, want ErrDialect", got, err)
	}
}

func TestLookupDialect(t *testing.T) {
	for name, want := range map[string]grant.Dialect{"mysql": grant.MySQL, "postgres": grant.Postgres, "sqlite": grant.SQLite} {
		if got, err := grant.LookupDialect(name); err != nil || got != want || got.String() != name {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
	for _, name := range []string{"", "MySQL", "mariadb", "Dialect(0)"} {
		if got, err := grant.LookupDialect(name); got != 0 || !errors.Is(err, grant.ErrDialect) {
			t.Errorf("%q: got %v, %v, want ErrDialect", name, got, err)
		}
	}
	if got := grant.Dialect(7).String(); got != "Dialect(7)" {
		t.Errorf("got %s", got)
	}
}
