package grant_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/DATA-DOG/go-sqlmock"

	"github.com/snowkey-go/snowkey/idgen/grant"
)

// What each dialect says, word for word.
var said = map[grant.Dialect]struct{ create, header, insert, echo, swap, list, spaces, durable string }{
	grant.MySQL: {
		create: "CREATE TABLE IF NOT EXISTS `snowkey_nodes` (\n    space      varchar(64)  NOT NULL,\n    node       bigint NOT NULL,\n" +
			"    holder     varchar(128) NOT NULL,\n    from_tick  bigint NOT NULL,\n    until_tick bigint NOT NULL,\n" +
			"    layout     varchar(255) NOT NULL,\n    PRIMARY KEY (space, node)\n) ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin",
		header: "SELECT space, holder, from_tick, until_tick, layout FROM `snowkey_nodes` WHERE space = ? AND node = -1 LOCK IN SHARE MODE",
		insert: "INSERT IGNORE INTO `snowkey_nodes` (space, node, holder, from_tick, until_tick, layout) VALUES (?, ?, ?, ?, ?, ?)",
		echo:   "SELECT COUNT(*) FROM `snowkey_nodes` WHERE space = ? AND node = ? AND holder = ? AND from_tick = ? AND until_tick = ?",
		swap: "UPDATE `snowkey_nodes` SET holder = ?, from_tick = ?, until_tick = ?" +
			" WHERE space = ? AND node = ? AND CAST(holder AS BINARY) = CAST(? AS BINARY) AND until_tick = ?",
		list: "SELECT clock.micros, n.node, n.holder, n.from_tick, n.until_tick" +
			" FROM (SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6)) AS micros) AS clock" +
			" LEFT JOIN `snowkey_nodes` AS n ON n.space = ? AND n.node BETWEEN ? AND ? ORDER BY n.node",
		spaces: "SELECT space, layout FROM `snowkey_nodes` WHERE node = -1 ORDER BY space",
	},
	grant.Postgres: {
		create: "CREATE TABLE IF NOT EXISTS \"snowkey_nodes\" (\n    space      varchar(64) COLLATE \"C\"  NOT NULL,\n    node       bigint NOT NULL,\n" +
			"    holder     varchar(128) COLLATE \"C\" NOT NULL,\n    from_tick  bigint NOT NULL,\n    until_tick bigint NOT NULL,\n" +
			"    layout     varchar(255) COLLATE \"C\" NOT NULL,\n    PRIMARY KEY (space, node)\n)",
		header: `SELECT space, holder, from_tick, until_tick, layout FROM "snowkey_nodes" WHERE space = $1 AND node = -1`,
		insert: `INSERT INTO "snowkey_nodes" (space, node, holder, from_tick, until_tick, layout) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`,
		swap: `UPDATE "snowkey_nodes" SET holder = $1, from_tick = $2, until_tick = $3` +
			` WHERE space = $4 AND node = $5 AND holder = $6 AND until_tick = $7`,
		list: `SELECT clock.micros, n.node, n.holder, n.from_tick, n.until_tick` +
			` FROM (SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint) AS micros) AS clock` +
			` LEFT JOIN "snowkey_nodes" AS n ON n.space = $1 AND n.node BETWEEN $2 AND $3 ORDER BY n.node`,
		spaces: `SELECT space, layout FROM "snowkey_nodes" WHERE node = -1 ORDER BY space`,
		durable: "SELECT set_config('synchronous_commit', 'on', true)" +
			" WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')",
	},
	grant.SQLite: {
		create: "CREATE TABLE IF NOT EXISTS \"snowkey_nodes\" (\n    space      varchar(64)  NOT NULL,\n    node       bigint NOT NULL,\n" +
			"    holder     varchar(128) NOT NULL,\n    from_tick  bigint NOT NULL,\n    until_tick bigint NOT NULL,\n" +
			"    layout     varchar(255) NOT NULL,\n    PRIMARY KEY (space, node)\n)",
		header: `SELECT space, holder, from_tick, until_tick, layout FROM "snowkey_nodes" WHERE space = ? AND node = -1`,
		insert: `INSERT INTO "snowkey_nodes" (space, node, holder, from_tick, until_tick, layout) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		swap: `UPDATE "snowkey_nodes" SET holder = ?, from_tick = ?, until_tick = ?` +
			` WHERE space = ? AND node = ? AND holder = ? AND until_tick = ?`,
		list: `SELECT clock.micros, n.node, n.holder, n.from_tick, n.until_tick` +
			` FROM (SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 AS micros) AS clock` +
			` LEFT JOIN "snowkey_nodes" AS n ON n.space = ? AND n.node BETWEEN ? AND ? ORDER BY n.node`,
		spaces: `SELECT space, layout FROM "snowkey_nodes" WHERE node = -1 ORDER BY space`,
	},
}

var oldRow, newRow = grant.Row{Number: 5, Holder: "a", From: 1, Until: 2}, grant.Row{Number: 5, Holder: "b", From: 3, Until: 4}

// mock returns a store on a database that expects exactly what it is told to.
func mock(t *testing.T, dialect grant.Dialect) (*grant.SQLStore, sqlmock.Sqlmock) {
	t.Helper()
	begin := map[grant.Dialect]string{grant.MySQL: "START TRANSACTION", grant.Postgres: "BEGIN", grant.SQLite: "BEGIN"}[dialect]
	matcher := sqlmock.QueryMatcherFunc(func(expected, actual string) error {
		if expected == "BEGIN" {
			expected = begin
		}
		return sqlmock.QueryMatcherEqual.Match(expected, actual)
	})
	db, m, err := sqlmock.New(sqlmock.QueryMatcherOption(matcher), sqlmock.MonitorPingsOption(true))
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
	return grant.SQL(db, dialect), m
}

func expectBegin(m sqlmock.Sqlmock) { m.ExpectExec("BEGIN").WillReturnResult(driver.ResultNoRows) }

func expectWrite(m sqlmock.Sqlmock, dialect grant.Dialect) {
	expectBegin(m)
	if text := said[dialect].durable; text != "" {
		m.ExpectExec(text).WillReturnResult(driver.ResultNoRows)
	}
}

func expectCommit(m sqlmock.Sqlmock) { m.ExpectExec("COMMIT").WillReturnResult(driver.ResultNoRows) }

func expectRollback(m sqlmock.Sqlmock) {
	m.ExpectExec("ROLLBACK").WillReturnResult(driver.ResultNoRows)
}

func eachMock(t *testing.T, test func(t *testing.T, dialect grant.Dialect, store *grant.SQLStore, m sqlmock.Sqlmock)) {
	for dialect := range said {
		t.Run(dialect.String(), func(t *testing.T) {
			store, m := mock(t, dialect)
			test(t, dialect, store, m)
		})
	}
}

// Of processes that add the row at once, one that the database makes fail finds the other's row, or tries again, twice.
func TestSQLPrepareRetries(t *testing.T) {
	fault := errors.New("deadlock")
	holder := strings.Repeat("x", 128)
	for name, test := range map[string]struct {
		faults int
		found  bool // the other's row, after the faults
	}{"found at once": {1, true}, "found later": {2, true}, "failed for good": {3, false}} {
		t.Run(name, func(t *testing.T) {
			store, m := mock(t, grant.SQLite)
			texts := said[grant.SQLite]
			m.ExpectPing()
			expectBegin(m)
			m.ExpectQuery(texts.header).WillReturnRows(sqlmock.NewRows(headerColumns))
			expectCommit(m)
			for n := range test.faults {
				expectBegin(m)
				m.ExpectExec(texts.insert).WillReturnError(fault)
				expectRollback(m)
				rows := sqlmock.NewRows(headerColumns)
				if test.found && n == test.faults-1 {
					rows.AddRow("default", holder, math.MaxInt64, math.MaxInt64, "other")
				}
				expectBegin(m)
				m.ExpectQuery(texts.header).WillReturnRows(rows)
				expectCommit(m)
			}
			if !test.found {
				m.ExpectPing()
			}
			got, err := store.Prepare(t.Context(), "default", "layout")
			if test.found && (got != "other" || err != nil) || !test.found && !(errors.Is(err, fault) && errors.Is(err, grant.ErrTable)) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

// A database that has gone away since it was reached is no missing table.
func TestSQLDatabaseGone(t *testing.T) {
	fault := errors.New("gone")
	store, m := mock(t, grant.SQLite)
	m.ExpectPing()
	expectBegin(m)
	m.ExpectQuery(said[grant.SQLite].spaces).WillReturnError(fault)
	expectRollback(m)
	m.ExpectPing().WillReturnError(fault)
	if _, err := store.Spaces(t.Context()); !errors.Is(err, fault) || errors.Is(err, grant.ErrTable) {
		t.Errorf("got %v, want an error that is no ErrTable", err)
	}
}

// The error is the context's too where a driver returns another one.
func TestSQLContextIsNamed(t *testing.T) {
	store, m := mock(t, grant.SQLite)
	ctx, cancel := context.WithCancel(t.Context())
	fault := errors.New("interrupted")
	expectBegin(m)
	m.ExpectExec(said[grant.SQLite].swap).WithArgs(ending{cancel}, 3, 4, "default", 5, "a", 2).WillReturnError(fault)
	expectRollback(m)
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

var headerColumns = []string{"space", "holder", "from_tick", "until_tick", "layout"}

// The first process of all makes the table and the space's row, and tries to add the row twice.
func TestSQLPrepare(t *testing.T) {
	eachMock(t, func(t *testing.T, dialect grant.Dialect, store *grant.SQLStore, m sqlmock.Sqlmock) {
		texts := said[dialect]
		holder := "not a node but the space itself, with the layout of all ids made in it: do not change or delete" + strings.Repeat(" ", 32) + "."
		m.ExpectPing()
		expectBegin(m)
		m.ExpectQuery(texts.header).WithArgs("default").WillReturnError(errors.New("no such table"))
		expectRollback(m)
		m.ExpectExec(texts.create).WillReturnResult(driver.ResultNoRows)
		expectBegin(m)
		m.ExpectQuery(texts.header).WithArgs("default").WillReturnRows(sqlmock.NewRows(headerColumns))
		expectCommit(m)
		expectWrite(m, dialect)
		m.ExpectExec(texts.insert).WithArgs("default", -1, holder, math.MaxInt64, math.MaxInt64, "layout").WillReturnResult(driver.RowsAffected(1))
		m.ExpectExec(texts.insert).WithArgs("default", -1, "", 0, 0, "").WillReturnResult(driver.RowsAffected(0))
		m.ExpectQuery(texts.header).WithArgs("default").
			WillReturnRows(sqlmock.NewRows(headerColumns).AddRow("default", holder, math.MaxInt64, math.MaxInt64, "layout"))
		expectCommit(m)
		if got, err := store.Prepare(t.Context(), "default", "layout"); err != nil || got != "layout" {
			t.Errorf("got %q, %v", got, err)
		}
		if len(holder) != 128 {
			t.Errorf("the space's row has a holder of %d characters, want 128", len(holder))
		}
	})
}

func TestSQLList(t *testing.T) {
	eachMock(t, func(t *testing.T, dialect grant.Dialect, store *grant.SQLStore, m sqlmock.Sqlmock) {
		columns := []string{"micros", "node", "holder", "from_tick", "until_tick"}
		expectBegin(m)
		m.ExpectQuery(said[dialect].list).WithArgs("default", 0, 9).WillReturnRows(sqlmock.NewRows(columns).AddRow(1600000000123456, 5, "a", 1, 2))
		expectCommit(m)
		l, err := store.List(t.Context(), "default", -7, 9)
		if err != nil || len(l.Rows) != 1 || l.Rows[0] != oldRow || !l.Now.Equal(time.UnixMicro(1600000000123456)) {
			t.Errorf("got %+v, %v", l, err)
		}
		for name, rows := range map[string]*sqlmock.Rows{
			"no clock":    sqlmock.NewRows(columns),
			"NULL clock":  sqlmock.NewRows(columns).AddRow(nil, 5, "a", 1, 2),
			"NULL holder": sqlmock.NewRows(columns).AddRow(1, 5, nil, 1, 2),
			"NULL until":  sqlmock.NewRows(columns).AddRow(1, 5, "a", 1, nil),
			"text":        sqlmock.NewRows(columns).AddRow(1, 5, "a", 1, "x"),
			"late error":  sqlmock.NewRows(columns).AddRow(1, 5, "a", 1, 2).AddRow(1, 6, "a", 1, 2).RowError(1, errors.New("broken")),
		} {
			expectBegin(m)
			m.ExpectQuery(said[dialect].list).WithArgs("default", 0, 9).WillReturnRows(rows)
			if name == "no clock" {
				expectCommit(m)
			} else {
				expectRollback(m)
			}
			if l, err := store.List(t.Context(), "default", 0, 9); err == nil || l.Rows != nil || !l.Now.IsZero() {
				t.Errorf("%s: got %+v, %v, want an error", name, l, err)
			}
		}
	})
}

func TestSQLSwap(t *testing.T) {
	eachMock(t, func(t *testing.T, dialect grant.Dialect, store *grant.SQLStore, m sqlmock.Sqlmock) {
		for affected, want := range map[int64]bool{1: true, 0: false} {
			expectWrite(m, dialect)
			m.ExpectExec(said[dialect].swap).WithArgs("b", 3, 4, "default", 5, "a", 2).WillReturnResult(driver.RowsAffected(affected))
			expectCommit(m)
			if done, err := store.Swap(t.Context(), "default", oldRow, newRow); err != nil || done != want {
				t.Errorf("got %t, %v, want %t", done, err, want)
			}
			expectWrite(m, dialect)
			m.ExpectExec(said[dialect].insert).WithArgs("default", 5, "b", 3, 4, "").WillReturnResult(driver.RowsAffected(affected))
			if text := said[dialect].echo; text != "" && want {
				m.ExpectQuery(text).WithArgs("default", 5, "b", 3, 4).WillReturnRows(sqlmock.NewRows([]string{"COUNT(*)"}).AddRow(1))
			}
			expectCommit(m)
			if done, err := store.Swap(t.Context(), "default", grant.Row{Number: 5, Holder: grant.Absent}, newRow); err != nil || done != want {
				t.Errorf("adding: got %t, %v, want %t", done, err, want)
			}
		}
	})
}

func TestSQLSpaces(t *testing.T) {
	eachMock(t, func(t *testing.T, dialect grant.Dialect, store *grant.SQLStore, m sqlmock.Sqlmock) {
		m.ExpectPing()
		expectBegin(m)
		m.ExpectQuery(said[dialect].spaces).WillReturnRows(sqlmock.NewRows([]string{"space", "layout"}).AddRow("a", "b"))
		expectCommit(m)
		if got, err := store.Spaces(t.Context()); err != nil || len(got) != 1 || got[0] != (grant.Space{Name: "a", Layout: "b"}) {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

// A swap is true only when its commit was answered with success.
func TestSQLSwapErrors(t *testing.T) {
	fault := errors.New("fault")
	for name, expect := range map[string]func(m sqlmock.Sqlmock){
		"two rows": func(m sqlmock.Sqlmock) {
			expectBegin(m)
			m.ExpectExec(said[grant.SQLite].swap).WillReturnResult(driver.RowsAffected(2))
			expectRollback(m)
		},
		"no count": func(m sqlmock.Sqlmock) {
			expectBegin(m)
			m.ExpectExec(said[grant.SQLite].swap).WillReturnResult(sqlmock.NewErrorResult(fault))
			expectRollback(m)
		},
		"statement": func(m sqlmock.Sqlmock) {
			expectBegin(m)
			m.ExpectExec(said[grant.SQLite].swap).WillReturnError(fault)
			expectRollback(m)
		},
		"begin": func(m sqlmock.Sqlmock) {
			m.ExpectExec("BEGIN").WillReturnError(fault)
			expectRollback(m)
		},
		"commit": func(m sqlmock.Sqlmock) {
			expectBegin(m)
			m.ExpectExec(said[grant.SQLite].swap).WillReturnResult(driver.RowsAffected(1))
			m.ExpectExec("COMMIT").WillReturnError(fault)
			expectRollback(m)
		},
		"commit on a connection that is gone": func(m sqlmock.Sqlmock) {
			expectBegin(m)
			m.ExpectExec(said[grant.SQLite].swap).WillReturnResult(driver.RowsAffected(1))
			m.ExpectExec("COMMIT").WillReturnError(errors.Join(fault, driver.ErrBadConn))
			m.ExpectClose() // not again: the swap may have been made
		},
	} {
		t.Run(name, func(t *testing.T) {
			store, m := mock(t, grant.SQLite)
			expect(m)
			done, err := store.Swap(t.Context(), "default", oldRow, newRow)
			if done || err == nil || !(errors.Is(err, fault) || name == "two rows" && errors.Is(err, grant.ErrTable)) {
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

// A connection whose transaction could not be ended does not come back to the pool.
func TestSQLRollbackFails(t *testing.T) {
	fault := errors.New("fault")
	for _, dialect := range []grant.Dialect{grant.MySQL, grant.Postgres} {
		t.Run(dialect.String(), func(t *testing.T) {
			store, m := mock(t, dialect)
			expectWrite(m, dialect)
			m.ExpectExec(said[dialect].swap).WillReturnError(fault)
			m.ExpectExec("ROLLBACK").WillReturnError(errors.New("another fault"))
			m.ExpectClose()
			if done, err := store.Swap(t.Context(), "default", oldRow, newRow); done || !errors.Is(err, fault) {
				t.Errorf("got %t, %v, want the first error", done, err)
			}
		})
	}
	// SQLite's transaction is over when another begins.
	t.Run("sqlite", func(t *testing.T) {
		store, m := mock(t, grant.SQLite)
		expectBegin(m)
		m.ExpectExec(said[grant.SQLite].swap).WillReturnError(fault)
		m.ExpectExec("ROLLBACK").WillReturnError(errors.New("no transaction is active"))
		expectBegin(m)
		expectRollback(m)
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
		"no table":        {grant.SQL(db, grant.MySQL, grant.Table("")), grant.ErrTable},
		"quoted table":    {grant.SQL(db, grant.MySQL, grant.Table("`a`")), grant.ErrTable},
		"two dots":        {grant.SQL(db, grant.MySQL, grant.Table("a.b.c")), grant.ErrTable},
		"dot first":       {grant.SQL(db, grant.MySQL, grant.Table(".b")), grant.ErrTable},
		"digit first":     {grant.SQL(db, grant.MySQL, grant.Table("a.1b")), grant.ErrTable},
		"umlaut":          {grant.SQL(db, grant.MySQL, grant.Table("ä")), grant.ErrTable},
		"line":            {grant.SQL(db, grant.MySQL, grant.Table("a\n")), grant.ErrTable},
		"64 characters":   {grant.SQL(db, grant.MySQL, grant.Table(strings.Repeat("x", 64))), grant.ErrTable},
		"injection":       {grant.SQL(db, grant.Postgres, grant.Table(`a"; DROP TABLE b; --`)), grant.ErrTable},
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
	for dialect, texts := range said {
		for table, want := range map[string]string{"": "snowkey_nodes", "snowkey_nodes": "snowkey_nodes", "Grants": "Grants"} {
			got, err := grant.DDL(dialect, table)
			if want = strings.Replace(texts.create, "snowkey_nodes", want, 1); err != nil || got != want {
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
