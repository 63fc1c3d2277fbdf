package grant_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/idgen/grant/granttest"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// databases makes a database of each kind.
var databases = map[grant.Dialect]func(testing.TB) dbtest.Database{
	grant.MySQL: dbtest.MySQL, grant.Postgres: dbtest.Postgres, grant.SQLite: dbtest.SQLite,
}

// eachDialect runs a test on a database of each kind.
func eachDialect(t *testing.T, test func(t *testing.T, dialect grant.Dialect, database dbtest.Database)) {
	for _, dialect := range []grant.Dialect{grant.SQLite, grant.MySQL, grant.Postgres} {
		t.Run(dialect.String(), func(t *testing.T) { test(t, dialect, databases[dialect](t)) })
	}
}

// sessions are connectors that run statements on each connection that they make.
type sessions struct {
	driver.Connector
	statements []string
}

func (s sessions) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := s.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	for _, statement := range s.statements {
		if _, err := conn.(driver.ExecerContext).ExecContext(ctx, statement, nil); err != nil {
			return nil, fmt.Errorf("%s: %w", statement, errors.Join(err, conn.Close()))
		}
	}
	return conn, nil
}

// plain is the connector of a driver that has none.
type plain struct {
	driver driver.Driver
	dsn    string
}

func (p plain) Connect(context.Context) (driver.Conn, error) { return p.driver.Open(p.dsn) }
func (p plain) Driver() driver.Driver                        { return p.driver }

// openSessions opens a database whose sessions have all run the statements.
func openSessions(t *testing.T, d dbtest.Database, statements ...string) *sql.DB {
	t.Helper()
	known := d.Open(t).Driver()
	var connector driver.Connector = plain{known, d.DriverDSN}
	if opener, ok := known.(driver.DriverContext); ok {
		var err error
		if connector, err = opener.OpenConnector(d.DriverDSN); err != nil {
			t.Fatal(err)
		}
	}
	db := sql.OpenDB(sessions{connector, statements})
	t.Cleanup(func() {
		if n := db.Stats().InUse; n != 0 {
			t.Errorf("%d connections were not given back", n)
		}
		_ = db.Close()
	})
	return db
}

// withParameters adds parameters to the database's DSN.
func withParameters(t *testing.T, d dbtest.Database, parameters string) dbtest.Database {
	t.Helper()
	if parameters == "" {
		return d
	}
	switch d.Kind {
	case "sqlite":
		d.DriverDSN = "file:" + d.DriverDSN + "?" + parameters
	case "mysql":
		separator := "?"
		if strings.Contains(d.DriverDSN, "?") {
			separator = "&"
		}
		d.DriverDSN += separator + parameters
	case "postgres":
		address, err := url.Parse(d.DriverDSN)
		if err != nil {
			t.Fatal(err)
		}
		if address.RawQuery != "" {
			address.RawQuery += "&"
		}
		address.RawQuery += parameters
		d.DriverDSN = address.String()
	}
	return d
}

// TestStores runs the suite on each database as it is, and through sessions as they may be.
func TestStores(t *testing.T) {
	for _, test := range []struct {
		name       string
		dialect    grant.Dialect
		parameters string   // of the DSN
		statements []string // run in each session
		conns      int      // at most, when it is not 0
		options    []granttest.Option
	}{
		{name: "default", dialect: grant.SQLite},
		{name: "WAL, one connection", dialect: grant.SQLite, parameters: "_journal_mode=WAL", conns: 1},
		{name: "immediate", dialect: grant.SQLite, parameters: "_txlock=immediate&_loc=Asia%2FTokyo", statements: []string{"PRAGMA case_sensitive_like = OFF"}},
		{name: "in memory", dialect: grant.SQLite, parameters: "mode=memory", conns: 1},

		{name: "default", dialect: grant.MySQL},
		{name: "READ UNCOMMITTED, autocommit off", dialect: grant.MySQL, options: []granttest.Option{granttest.DirtyReads()}, statements: []string{
			"SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED", "SET autocommit = 0", "SET time_zone = '-12:00'"}},
		{name: "REPEATABLE READ, autocommit off, one connection", dialect: grant.MySQL, conns: 1, statements: []string{
			"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", "SET autocommit = 0"}},
		{name: "SERIALIZABLE, interpolated", dialect: grant.MySQL, parameters: "interpolateParams=true&loc=Asia%2FTokyo", statements: []string{
			"SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE", "SET time_zone = '+13:00'"}},
		{name: "ORACLE", dialect: grant.MySQL, statements: []string{"SET sql_mode = 'ORACLE'"}},
		{name: "found rows, not strict, ANSI", dialect: grant.MySQL, parameters: "clientFoundRows=true&collation=latin1_german1_ci&charset=latin1", statements: []string{
			"SET sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT,IGNORE_SPACE,PAD_CHAR_TO_FULL_LENGTH,NO_BACKSLASH_ESCAPES'"}},

		{name: "default", dialect: grant.Postgres},
		{name: "REPEATABLE READ, far east", dialect: grant.Postgres, statements: []string{
			"SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ", "SET TIME ZONE 'Pacific/Kiritimati'", "SET DateStyle = 'SQL, DMY'"}},
		{name: "SERIALIZABLE, far west", dialect: grant.Postgres, statements: []string{
			"SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE", "SET TIME ZONE -12", "SET synchronous_commit = off"}},
		{name: "simple protocol, one connection", dialect: grant.Postgres, parameters: "default_query_exec_mode=simple_protocol", conns: 1},
		{name: "exec protocol", dialect: grant.Postgres, parameters: "default_query_exec_mode=exec"},
	} {
		t.Run(test.dialect.String()+"/"+test.name, func(t *testing.T) {
			if test.name != "default" {
				dbtest.Long(t)
			}
			t.Parallel()
			db := openSessions(t, withParameters(t, databases[test.dialect](t), test.parameters), test.statements...)
			db.SetMaxOpenConns(test.conns)
			db.SetMaxIdleConns(10)
			tables, options := 0, test.options
			if test.dialect == grant.MySQL {
				options = append(options, granttest.SplitCommits())
			}
			granttest.Run(t, func(t *testing.T) grant.Store {
				tables++
				t.Cleanup(func() {
					if n := db.Stats().InUse; n != 0 {
						t.Errorf("%d connections were not given back", n)
					}
				})
				return grant.SQL(db, test.dialect, grant.WithTable(fmt.Sprint("grants_", tables)))
			}, options...)
		})
	}
}

func mustExec(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// mustRun runs what an error says that somebody has to.
func mustRun(t *testing.T, db *sql.DB, statements string) {
	t.Helper()
	for statement := range strings.SplitSeq(statements, ";\n") {
		mustExec(t, db, strings.TrimSuffix(statement, ";"))
	}
}

func mustDDL(t *testing.T, dialect grant.Dialect, table string) string {
	t.Helper()
	statement, err := grant.DDL(dialect, table)
	if err != nil {
		t.Fatal(err)
	}
	return statement
}

// limited makes a user without any right, and returns the user's name and the database for the user.
func limited(t *testing.T, admin *sql.DB, d dbtest.Database) (string, dbtest.Database) {
	t.Helper()
	name := fmt.Sprintf("u%x", fnv(d.DriverDSN))
	switch d.Kind {
	case "mysql":
		config, err := mysql.ParseDSN(d.DriverDSN)
		if err != nil {
			t.Fatal(err)
		}
		mustExec(t, admin, "CREATE USER "+name+" IDENTIFIED BY 'sesame'")
		t.Cleanup(func() { _, _ = admin.Exec("DROP USER " + name) })
		config.User, config.Passwd = name, "sesame"
		d.DriverDSN = config.FormatDSN()
	case "postgres":
		mustExec(t, admin, "CREATE ROLE "+name+" LOGIN PASSWORD 'sesame'", "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
		t.Cleanup(func() { _, _ = admin.Exec("DROP OWNED BY " + name + "; DROP ROLE " + name) })
		address, err := url.Parse(d.DriverDSN)
		if err != nil {
			t.Fatal(err)
		}
		query := address.Query()
		query.Del("user")
		query.Del("password")
		if address.Host != "" {
			address.User = url.UserPassword(name, "sesame")
		} else {
			query.Set("user", name)
			query.Set("password", "sesame")
		}
		address.RawQuery = query.Encode()
		d.DriverDSN = address.String()
	}
	return name, d
}

func fnv(text string) (hash uint32) {
	hash = 2166136261
	for _, c := range []byte(text) {
		hash = (hash ^ uint32(c)) * 16777619
	}
	return hash
}

// Who may only read and write the table that an administrator has made needs no other right.
func TestTableMadeBefore(t *testing.T) {
	for _, dialect := range []grant.Dialect{grant.MySQL, grant.Postgres} {
		t.Run(dialect.String(), func(t *testing.T) {
			d := databases[dialect](t)
			admin := openSessions(t, d)
			mustExec(t, admin, mustDDL(t, dialect, ""), mustDDL(t, dialect, "")) // twice does no harm
			name, d := limited(t, admin, d)
			mustExec(t, admin, "GRANT SELECT, INSERT, UPDATE ON snowkey_nodes TO "+name)
			db := openSessions(t, d)
			store := grant.SQL(db, dialect)
			first := grant.Row{Number: 5, Holder: "a", From: 1, Until: 2}
			for range 2 {
				if got, err := store.Prepare(t.Context(), "default", "layout"); err != nil || got != "layout" {
					t.Fatalf("got %q, %v", got, err)
				}
			}
			for _, swap := range [][2]grant.Row{{{Number: 5, Holder: grant.Absent}, first}, {first, {Number: 5, From: 1, Until: 1}}} {
				if done, err := store.Swap(t.Context(), "default", swap[0], swap[1]); err != nil || !done {
					t.Fatalf("got %t, %v", done, err)
				}
			}
			if l, err := store.List(t.Context(), "default", 0, 9); err != nil || len(l.Rows) != 1 {
				t.Fatalf("got %+v, %v", l, err)
			}
			if spaces, err := store.Spaces(t.Context()); err != nil || len(spaces) != 1 || spaces[0].Name != "default" || spaces[0].Layout != "layout" {
				t.Fatalf("got %+v, %v", spaces, err)
			}
			// Nobody has to write to prepare a space that is there.
			mustExec(t, admin, "REVOKE INSERT, UPDATE ON snowkey_nodes FROM "+name)
			if dialect == grant.MySQL {
				mustExec(t, admin, "FLUSH PRIVILEGES")
			}
			_, err := store.Prepare(t.Context(), "another", "layout")
			wantTableError(t, err, store.Place(), "GRANT SELECT, INSERT, UPDATE ON ")
			// Who may not read either makes no other table, and needs what the error says.
			mustExec(t, admin, "REVOKE SELECT ON snowkey_nodes FROM "+name)
			if dialect == grant.MySQL { // which shows only tables of which the account may do something
				mustExec(t, admin, "GRANT DELETE, CREATE ON * TO "+name, "FLUSH PRIVILEGES")
			}
			if dialect == grant.Postgres {
				mustExec(t, admin, "GRANT CREATE ON SCHEMA public TO "+name)
			}
			for range 2 {
				store := grant.SQL(openSessions(t, d), dialect) // MySQL's connections know their rights on a database from its USE
				_, err = store.Prepare(t.Context(), "default", "layout")
				statement := wantTableError(t, err, "snowkey_nodes", "GRANT SELECT, INSERT, UPDATE ON ")
				mustRun(t, admin, statement)
				if got, err := store.Prepare(t.Context(), "default", "layout"); err != nil || got != "layout" {
					t.Errorf("after %s: got %q, %v", statement, got, err)
				}
				mustExec(t, admin, "REVOKE SELECT, INSERT, UPDATE ON snowkey_nodes FROM "+name)
			}
			mustExec(t, admin, "GRANT SELECT ON snowkey_nodes TO "+name)
			if dialect == grant.Postgres {
				if got, err := store.Prepare(t.Context(), "default", "other"); err != nil || got != "layout" {
					t.Fatalf("got %q, %v", got, err)
				}
			}
		})
	}
}

// wantTableError returns the statement of a TableError, which begins as given.
func wantTableError(t *testing.T, err error, table, statement string) string {
	t.Helper()
	var e *grant.TableError
	if !errors.As(err, &e) || !errors.Is(err, grant.ErrTable) || e.Err == nil || !errors.Is(err, e.Err) || !strings.HasSuffix(e.Table, table) ||
		!strings.HasPrefix(strings.TrimPrefix(e.Statement, "GRANT USAGE ON SCHEMA "), statement) && !strings.Contains(e.Statement, "\n"+statement) ||
		!strings.Contains(err.Error(), e.Statement) || !strings.Contains(err.Error(), e.Table) {
		t.Fatalf("got %v, want a TableError of %s with the statement %s", err, table, statement)
	}
	return e.Statement
}

// Who may not make the table is told how it is made, and the statement that is told makes it.
func TestMissingTableWithoutTheRight(t *testing.T) {
	for _, dialect := range []grant.Dialect{grant.MySQL, grant.Postgres} {
		t.Run(dialect.String(), func(t *testing.T) {
			d := databases[dialect](t)
			admin := openSessions(t, d)
			name, d := limited(t, admin, d)
			if dialect == grant.MySQL {
				mustExec(t, admin, "GRANT REFERENCES ON * TO "+name) // that of something else, so that it may connect
			}
			store := grant.SQL(openSessions(t, d), dialect)
			_, err := store.Spaces(t.Context())
			wantTableError(t, err, "snowkey_nodes", "CREATE TABLE")
			if want := "there is no such table, or this user has no right to see it"; !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
			_, err = store.Prepare(t.Context(), "default", "layout")
			mustRun(t, admin, wantTableError(t, err, "snowkey_nodes", "CREATE TABLE"))
			if got, err := store.Prepare(t.Context(), "default", "layout"); err != nil || got != "layout" {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
	t.Run("sqlite", func(t *testing.T) {
		d := dbtest.SQLite(t)
		mustExec(t, d.Open(t), "CREATE TABLE other (id int)")
		store := grant.SQL(openSessions(t, withParameters(t, d, "mode=ro")), grant.SQLite)
		_, err := store.Prepare(t.Context(), "default", "layout")
		if !errors.Is(err, grant.ErrReadOnly) || errors.Is(err, grant.ErrTable) || !strings.Contains(err.Error(), "the file "+d.DriverDSN+" was opened with mode=ro") {
			t.Errorf("got %v, want ErrReadOnly with the file", err)
		}
	})
}

// Listing spaces makes no table.
func TestSpacesOfMissingTable(t *testing.T) {
	eachDialect(t, func(t *testing.T, dialect grant.Dialect, d dbtest.Database) {
		store := grant.SQL(openSessions(t, d), dialect)
		for range 2 {
			_, err := store.Spaces(t.Context())
			wantTableError(t, err, "snowkey_nodes", "CREATE TABLE")
		}
		for _, space := range []string{"b", "a", "C"} {
			if _, err := store.Prepare(t.Context(), space, "layout of "+space); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := store.Swap(t.Context(), "a", grant.Row{Holder: grant.Absent}, grant.Row{Holder: "a"}); err != nil {
			t.Fatal(err)
		}
		var want []grant.Space
		for _, space := range []string{"C", "a", "b"} {
			l, err := store.List(t.Context(), space, 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, grant.Space{Name: space, Layout: "layout of " + space, ID: l.ID, StoredAs: space})
		}
		if got, err := store.Spaces(t.Context()); err != nil || !slices.Equal(got, want) {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	})
}

// A database that cannot be reached is no missing table.
func TestUnreachableDatabase(t *testing.T) {
	for dialect, d := range map[grant.Dialect]dbtest.Database{
		grant.MySQL:    {DriverName: "mysql", DriverDSN: "root@unix(" + filepath.Join(t.TempDir(), "none.sock") + ")/test"},
		grant.Postgres: {DriverName: "pgx", DriverDSN: "postgres:///test?user=u&host=" + t.TempDir()},
		grant.SQLite:   {DriverName: "sqlite3", DriverDSN: filepath.Join(t.TempDir(), "none", "test.db")},
	} {
		store := grant.SQL(d.Open(t), dialect)
		_, prepareErr := store.Prepare(t.Context(), "default", "layout")
		_, listErr := store.List(t.Context(), "default", 0, 1)
		_, swapErr := store.Swap(t.Context(), "default", grant.Row{Holder: grant.Absent}, grant.Row{Holder: "a"})
		_, spacesErr := store.Spaces(t.Context())
		for _, err := range []error{prepareErr, listErr, swapErr, spacesErr} {
			if err == nil || errors.Is(err, grant.ErrTable) || !strings.Contains(err.Error(), "connecting") || !strings.Contains(err.Error(), "snowkey_nodes") {
				t.Errorf("%v: got %v, want an error of connecting", dialect, err)
			}
		}
	}
}

// A table that does not keep what is written to it is refused before it is used, and left as it was.
func TestWrongTables(t *testing.T) {
	good := map[grant.Dialect]string{}
	for dialect := range databases {
		good[dialect] = mustDDL(t, dialect, "")
	}
	notStrict := []string{"SET sql_mode = ''"}
	for _, test := range []struct {
		name       string
		dialect    grant.Dialect
		old, new   string // replaced in the right statement
		statements []string
	}{
		{"no primary key", grant.SQLite, ",\n    PRIMARY KEY (space, node)", "", nil},
		{"no primary key", grant.MySQL, ",\n    PRIMARY KEY (space, node)", "", nil},
		{"no primary key", grant.Postgres, ",\n    PRIMARY KEY (space, node)", "", nil},
		{"primary key with the holder", grant.SQLite, "(space, node)", "(space, node, holder)", nil},
		{"primary key with the holder", grant.MySQL, "(space, node)", "(space, node, holder)", nil},
		{"primary key with the holder", grant.Postgres, "(space, node)", "(space, node, holder)", nil},
		{"primary key with the until", grant.Postgres, "(space, node)", "(space, node, until_tick)", nil},
		{"narrow until", grant.MySQL, "until_tick bigint", "until_tick int", notStrict},
		{"narrow until, strict", grant.MySQL, "until_tick bigint", "until_tick int", []string{"SET sql_mode = 'STRICT_ALL_TABLES'"}},
		{"narrow until", grant.Postgres, "until_tick bigint", "until_tick int", nil},
		{"narrow from", grant.MySQL, "from_tick  bigint", "from_tick int", notStrict},
		{"until with a fraction", grant.MySQL, "until_tick bigint", "until_tick double", nil},
		{"until with a fraction", grant.Postgres, "until_tick bigint", "until_tick double precision", nil},
		{"until with a fraction", grant.SQLite, "until_tick bigint", "until_tick real", nil},
		{"narrow layout", grant.MySQL, "varchar(255)", "varchar(10)", notStrict},
		{"narrow layout", grant.Postgres, "varchar(255)", "varchar(10)", nil},
		{"narrow holder", grant.MySQL, "varchar(128)", "varchar(127)", notStrict},
		{"narrow holder", grant.Postgres, "varchar(128)", "varchar(127)", nil},
		{"narrow space", grant.MySQL, "varchar(64)", "varchar(4)", notStrict},
		{"node without a sign", grant.MySQL, "node       bigint", "node bigint unsigned", notStrict},
		{"missing column", grant.SQLite, "    layout     varchar(255) NOT NULL,\n", "", nil},
		{"another table", grant.SQLite, "until_tick bigint NOT NULL", "id INTEGER", nil},
	} {
		t.Run(test.dialect.String()+"/"+test.name, func(t *testing.T) {
			statement := strings.Replace(good[test.dialect], test.old, test.new, 1)
			if statement == good[test.dialect] {
				t.Fatalf("there is no %q in %s", test.old, statement)
			}
			db := openSessions(t, databases[test.dialect](t), test.statements...)
			mustExec(t, db, statement)
			for range 2 {
				got, err := grant.SQL(db, test.dialect).Prepare(t.Context(), "default", "a layout of some length")
				if !errors.Is(err, grant.ErrTable) {
					t.Fatalf("got %q, %v, want ErrTable", got, err)
				}
			}
			var rows int
			if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM snowkey_nodes").Scan(&rows); err != nil || rows != 0 {
				t.Errorf("%d rows were left, %v", rows, err)
			}
		})
	}
}

// Columns that were made narrower, and rows that were copied, after the space was made.
func TestTableChangedLater(t *testing.T) {
	for _, test := range []struct {
		name      string
		dialect   grant.Dialect
		statement string
	}{
		{"narrow until", grant.MySQL, "ALTER TABLE snowkey_nodes MODIFY until_tick int NOT NULL"},
		{"narrow holder", grant.MySQL, "ALTER TABLE snowkey_nodes MODIFY holder varchar(64) NOT NULL"},
		{"second row", grant.MySQL, "ALTER TABLE snowkey_nodes DROP PRIMARY KEY"},
		{"second row", grant.Postgres, "ALTER TABLE snowkey_nodes DROP CONSTRAINT snowkey_nodes_pkey"},
		{"spaces in any case", grant.MySQL, "ALTER TABLE snowkey_nodes MODIFY space varchar(64) CHARACTER SET ascii COLLATE ascii_general_ci NOT NULL"},
	} {
		t.Run(test.dialect.String()+"/"+test.name, func(t *testing.T) {
			var statements []string
			if test.dialect == grant.MySQL {
				statements = []string{"SET sql_mode = ''"}
			}
			db := openSessions(t, databases[test.dialect](t), statements...)
			store := grant.SQL(db, test.dialect)
			if _, err := store.Prepare(t.Context(), "default", "layout"); err != nil {
				t.Fatal(err)
			}
			mustExec(t, db, test.statement)
			if test.name == "second row" {
				mustExec(t, db, "INSERT INTO snowkey_nodes SELECT * FROM snowkey_nodes")
			}
			space := "default"
			if test.name == "spaces in any case" {
				space = "Default"
			}
			if got, err := store.Prepare(t.Context(), space, "layout"); !errors.Is(err, grant.ErrTable) {
				t.Errorf("got %q, %v, want ErrTable", got, err)
			}
		})
	}
}

// A number that the node's column cannot hold is not stored as another one, which sql_mode and INSERT IGNORE would both do.
func TestNarrowNode(t *testing.T) {
	for _, dialect := range []grant.Dialect{grant.MySQL, grant.Postgres} {
		t.Run(dialect.String(), func(t *testing.T) {
			db := openSessions(t, databases[dialect](t))
			mustExec(t, db, strings.Replace(mustDDL(t, dialect, ""), "node       bigint", "node int", 1))
			store := grant.SQL(db, dialect)
			if _, err := store.Prepare(t.Context(), "default", "layout"); err != nil {
				t.Fatal(err)
			}
			for _, number := range []int64{1 << 31, 1 << 40} {
				done, err := store.Swap(t.Context(), "default", grant.Row{Number: number, Holder: grant.Absent}, grant.Row{Number: number, Holder: "a"})
				if done || err == nil || dialect == grant.MySQL && !errors.Is(err, grant.ErrTable) {
					t.Errorf("got %t, %v, want an error", done, err)
				}
			}
			if l, err := store.List(t.Context(), "default", 0, math.MaxInt32); err != nil || len(l.Rows) != 0 {
				t.Errorf("got %+v, %v, want no rows", l.Rows, err)
			}
		})
	}
}

// Two rows for a number are found by the swap that replaces both, and stay as they were.
func TestSwapOfTwoRows(t *testing.T) {
	eachDialect(t, func(t *testing.T, dialect grant.Dialect, d dbtest.Database) {
		db := openSessions(t, d)
		mustExec(t, db, strings.Replace(mustDDL(t, dialect, ""), ",\n    PRIMARY KEY (space, node)", "", 1))
		for range 2 {
			mustExec(t, db, "INSERT INTO snowkey_nodes VALUES ('default', 5, 'a', 1, 2, '')")
		}
		store := grant.SQL(db, dialect)
		done, err := store.Swap(t.Context(), "default", grant.Row{Number: 5, Holder: "a", Until: 2}, grant.Row{Number: 5, Holder: "b", From: 2, Until: 3})
		if done || !errors.Is(err, grant.ErrTable) {
			t.Errorf("got %t, %v, want ErrTable", done, err)
		}
		l, err := store.List(t.Context(), "default", 0, 9)
		if err != nil || len(l.Rows) != 2 || l.Rows[0].Holder != "a" || l.Rows[1].Holder != "a" {
			t.Errorf("got %+v, %v", l.Rows, err)
		}
	})
}

// The table may be in another schema, and have a name in capitals or of a keyword.
func TestTableNames(t *testing.T) {
	eachDialect(t, func(t *testing.T, dialect grant.Dialect, d dbtest.Database) {
		db := openSessions(t, d)
		var schema string
		switch dialect {
		case grant.SQLite:
			schema = "main"
		case grant.MySQL:
			if err := db.QueryRowContext(t.Context(), "SELECT DATABASE()").Scan(&schema); err != nil {
				t.Fatal(err)
			}
		case grant.Postgres:
			schema = "Other"
			mustExec(t, db, `CREATE SCHEMA "Other"`)
		}
		for i, table := range []string{"select", "Grants_of_2", "_", schema + ".order", schema + "." + strings.Repeat("x", 63)} {
			store := grant.SQL(db, dialect, grant.WithTable(table))
			layout := fmt.Sprint("layout ", i)
			if got, err := store.Prepare(t.Context(), "default", layout); err != nil || got != layout {
				t.Fatalf("%s: got %q, %v", table, got, err)
			}
			if done, err := store.Swap(t.Context(), "default", grant.Row{Holder: grant.Absent}, grant.Row{Holder: "a"}); err != nil || !done {
				t.Fatalf("%s: got %t, %v", table, done, err)
			}
			if l, err := store.List(t.Context(), "default", 0, 0); err != nil || len(l.Rows) != 1 {
				t.Fatalf("%s: got %+v, %v", table, l, err)
			}
		}
	})
}

// A commit is durable on PostgreSQL where the session's are not: a trigger sees how each row will be committed.
func TestCommitsAreDurable(t *testing.T) {
	for setting, want := range map[string]string{"off": "on", "local": "on", "remote_write": "on", "on": "on", "remote_apply": "remote_apply"} {
		t.Run(setting, func(t *testing.T) {
			db := openSessions(t, dbtest.Postgres(t), "SET synchronous_commit = "+setting)
			db.SetMaxOpenConns(1)
			mustExec(t, db, mustDDL(t, grant.Postgres, ""), "CREATE TABLE seen (setting text)", `CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS
				$$ BEGIN INSERT INTO seen VALUES (current_setting('synchronous_commit')); RETURN NEW; END $$`,
				"CREATE TRIGGER see BEFORE INSERT OR UPDATE ON snowkey_nodes FOR EACH ROW EXECUTE FUNCTION see()")
			store := grant.SQL(db, grant.Postgres)
			if _, err := store.Prepare(t.Context(), "default", "layout"); err != nil {
				t.Fatal(err)
			}
			first := grant.Row{Holder: "a", Until: 1}
			for _, swap := range [][2]grant.Row{{{Holder: grant.Absent}, first}, {first, {Holder: "a", Until: 2}}} {
				if done, err := store.Swap(t.Context(), "default", swap[0], swap[1]); err != nil || !done {
					t.Fatalf("got %t, %v", done, err)
				}
			}
			var settings, session string
			var rows int
			if err := db.QueryRow("SELECT string_agg(DISTINCT setting, ' '), count(*), current_setting('synchronous_commit') FROM seen").
				Scan(&settings, &rows, &session); err != nil || settings != want || rows < 3 || session != setting {
				t.Errorf("got %d rows committed with %s, and then %s in the session, %v, want %s and %s", rows, settings, session, err, want, setting)
			}
		})
	}
}

// Under READ UNCOMMITTED nobody is told a layout that is never committed.
func TestLayoutIsCommitted(t *testing.T) {
	db := openSessions(t, dbtest.MySQL(t), "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED", "SET innodb_lock_wait_timeout = 0")
	store := grant.SQL(db, grant.MySQL)
	mustExec(t, db, mustDDL(t, grant.MySQL, ""))
	other, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.ExecContext(t.Context(), "INSERT INTO snowkey_nodes VALUES ('default', -1, REPEAT('x', 128), ?, ?, 'other')", math.MaxInt64, math.MaxInt64); err != nil {
		t.Fatal(err)
	}
	if got, err := store.Prepare(t.Context(), "default", "layout"); err == nil {
		t.Errorf("got %q, want an error of waiting for the lock", got)
	}
	if err := other.Rollback(); err != nil {
		t.Fatal(err)
	}
	if got, err := store.Prepare(t.Context(), "default", "layout"); err != nil || got != "layout" {
		t.Errorf("got %q, %v", got, err)
	}
}

// A context that ends while a row is locked ends the call, and leaves no transaction and no lock behind.
func TestContextEndsWhileWaiting(t *testing.T) {
	for _, dialect := range []grant.Dialect{grant.MySQL, grant.Postgres} {
		t.Run(dialect.String(), func(t *testing.T) {
			db := openSessions(t, databases[dialect](t))
			store := grant.SQL(db, dialect)
			if _, err := store.Prepare(t.Context(), "default", "layout"); err != nil {
				t.Fatal(err)
			}
			first, second := grant.Row{Holder: "a", Until: 1}, grant.Row{Holder: "b", Until: 2}
			if _, err := store.Swap(t.Context(), "default", grant.Row{Holder: grant.Absent}, first); err != nil {
				t.Fatal(err)
			}
			lock, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := lock.Exec("UPDATE snowkey_nodes SET from_tick = 0 WHERE node = 0"); err != nil {
				t.Fatal(err)
			}
			if _, err := lock.Exec("UPDATE snowkey_nodes SET from_tick = 1 WHERE node = 0"); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			result := make(chan error, 1)
			go func() {
				_, err := store.Swap(ctx, "default", first, second)
				result <- err
			}()
			// The lock is waited for when the swap's own connection is in use; should it not have come to that, the result is the same.
			for db.Stats().InUse < 2 {
				if _, err := lock.Exec("SELECT 1"); err != nil {
					t.Fatal(err)
				}
			}
			cancel()
			if err := <-result; !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want context.Canceled", err)
			}
			if err := lock.Rollback(); err != nil {
				t.Fatal(err)
			}
			// The server may see the end of the connection late, and the row is locked until then.
			if done, err := store.Swap(t.Context(), "default", first, second); err != nil || !done {
				t.Errorf("got %t, %v", done, err)
			}
		})
	}
}

// A server that does not answer any more keeps nobody waiting after the context's end, not even in a commit, and keeps no connection.
func TestContextEndsAtAPausedServer(t *testing.T) {
	dbtest.Long(t)
	for _, test := range []struct {
		dialect grant.Dialect
		start   func(testing.TB, ...string) *dbtest.Server
	}{{grant.MySQL, dbtest.StartMySQL}, {grant.Postgres, dbtest.StartPostgres}} {
		t.Run(test.dialect.String(), func(t *testing.T) {
			server := test.start(t)
			paused := make(chan struct{}, 1)
			d := server.Database(t)
			known := d.Open(t).Driver()
			connector, err := known.(driver.DriverContext).OpenConnector(d.DriverDSN)
			if err != nil {
				t.Fatal(err)
			}
			hook := &commitHook{Connector: connector}
			db := sql.OpenDB(hook)
			t.Cleanup(func() { _ = db.Close() })
			store := grant.SQL(db, test.dialect)
			if _, err := store.Prepare(t.Context(), "default", "layout"); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			hook.before = func() error {
				hook.before = nil
				err := server.Pause()
				paused <- struct{}{}
				return err
			}
			go func() { <-paused; cancel() }()
			done, err := store.Swap(ctx, "default", grant.Row{Holder: grant.Absent}, grant.Row{Holder: "a"})
			if done || !errors.Is(err, context.Canceled) {
				t.Errorf("got %t, %v, want context.Canceled", done, err)
			}
			if n := db.Stats().InUse; n != 0 {
				t.Errorf("%d connections are in use", n)
			}
			if err := server.Resume(); err != nil {
				t.Fatal(err)
			}
			if _, err := store.List(t.Context(), "default", 0, 9); err != nil {
				t.Error(err)
			}
		})
	}
}

// Connections that the server has closed since they were last used are no error.
func TestServerRestarted(t *testing.T) {
	dbtest.Long(t)
	for _, test := range []struct {
		dialect grant.Dialect
		start   func(testing.TB, ...string) *dbtest.Server
	}{{grant.MySQL, dbtest.StartMySQL}, {grant.Postgres, dbtest.StartPostgres}} {
		t.Run(test.dialect.String(), func(t *testing.T) {
			server := test.start(t)
			db := openSessions(t, server.Database(t))
			db.SetMaxIdleConns(8)
			var conns []*sql.Conn
			for range 8 {
				conn, err := db.Conn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				conns = append(conns, conn)
			}
			for _, conn := range conns {
				if err := conn.Close(); err != nil {
					t.Fatal(err)
				}
			}
			store := grant.SQL(db, test.dialect)
			if _, err := store.Prepare(t.Context(), "default", "layout"); err != nil {
				t.Fatal(err)
			}
			row := grant.Row{Number: 1, Holder: "a", Until: 5}
			if done, err := store.Swap(t.Context(), "default", grant.Row{Number: 1, Holder: grant.Absent}, row); err != nil || !done {
				t.Fatalf("got %t, %v", done, err)
			}
			if err := server.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := server.Start(); err != nil {
				t.Fatal(err)
			}
			if l, err := store.List(t.Context(), "default", 0, 9); err != nil || !slices.Equal(l.Rows, []grant.Row{row}) {
				t.Errorf("got %+v, %v, want %+v", l.Rows, err, row)
			}
		})
	}
}

// A call that is cancelled within its transaction does not close the only connection to a database in memory, which would be its end.
func TestMemoryDatabaseSurvivesCancelledCalls(t *testing.T) {
	hook := &commitHook{Connector: plain{dbtest.Database{DriverName: "sqlite3"}.Open(t).Driver(), ":memory:"}}
	db := sql.OpenDB(hook)
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	store := grant.SQL(db, grant.SQLite)
	if _, err := store.Prepare(t.Context(), "default", "layout"); err != nil {
		t.Fatal(err)
	}
	row := grant.Row{Holder: "a", Until: 5}
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		hook.before = func() error {
			hook.before = nil
			cancel()
			return errors.New("interrupted")
		}
		if done, err := store.Swap(ctx, "default", grant.Row{Holder: grant.Absent}, row); done || !errors.Is(err, context.Canceled) {
			t.Fatalf("got %t, %v, want context.Canceled", done, err)
		}
	}
	if got, err := store.Prepare(t.Context(), "default", "other"); err != nil || got != "layout" {
		t.Errorf("got %q, %v", got, err)
	}
	if done, err := store.Swap(t.Context(), "default", grant.Row{Holder: grant.Absent}, row); err != nil || !done {
		t.Errorf("got %t, %v, is what was cancelled there?", done, err)
	}
}

// commitHook calls a function before a COMMIT, which is not made when that fails.
type commitHook struct {
	driver.Connector
	before func() error
}

func (h *commitHook) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := h.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return hookedConn{conn, h}, nil
}

// hookedConn passes on what the store needs of a connection, and is as strict with an ended context as a driver may be.
type hookedConn struct {
	driver.Conn
	hook *commitHook
}

func (c hookedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if strings.HasPrefix(query, "COMMIT") && c.hook.before != nil {
		if err := c.hook.before(); err != nil {
			return nil, err
		}
	}
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

func (c hookedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

func (c hookedConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	return c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, query)
}

func BenchmarkSQL(b *testing.B) {
	for _, dialect := range []grant.Dialect{grant.SQLite, grant.MySQL, grant.Postgres} {
		db := databases[dialect](b).Open(b)
		store := grant.SQL(db, dialect)
		if _, err := store.Prepare(b.Context(), "default", "layout"); err != nil {
			b.Fatal(err)
		}
		row := grant.Row{Number: 5, Holder: "a"}
		if _, err := store.Swap(b.Context(), "default", grant.Row{Number: 5, Holder: grant.Absent}, row); err != nil {
			b.Fatal(err)
		}
		b.Run("op=list/database="+dialect.String(), func(b *testing.B) {
			for b.Loop() {
				if _, err := store.List(b.Context(), "default", 0, 1023); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("op=swap/database="+dialect.String(), func(b *testing.B) {
			for b.Loop() {
				next := row
				next.Until++
				if done, err := store.Swap(b.Context(), "default", row, next); err != nil || !done {
					b.Fatal(done, err)
				}
				row = next
			}
		})
	}
}
