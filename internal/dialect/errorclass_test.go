package dialect_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/mattn/go-sqlite3"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

var (
	dialects = []dialect.Dialect{dialect.MySQL, dialect.Postgres, dialect.SQLite}

	conflict    = outcome{Class: dialect.Conflict}
	again       = outcome{Class: dialect.Again}
	unavailable = outcome{Class: dialect.Unavailable}
	readOnly    = outcome{Class: dialect.ReadOnly}
	missing     = outcome{Class: dialect.Missing}
	denied      = outcome{Class: dialect.Denied}
	exhausted   = outcome{Class: dialect.Exhausted}
	other       = outcome{Class: dialect.Other}
)

// outcome is what the package says of an error.
type outcome struct {
	dialect.Class
	Code string
}

func outcomeOf(d dialect.Dialect, err error) outcome { return outcome{d.Class(err), d.Code(err)} }

// wantClass tests the error alone, and wrapped in what callers and drivers wrap errors in.
func wantClass(t *testing.T, d dialect.Dialect, err error, want outcome) {
	t.Helper()
	for name, err := range map[string]error{
		"alone":   err,
		"wrapped": fmt.Errorf("a: %w", fmt.Errorf("b: %w", err)),
		"joined":  errors.Join(errors.New("a"), err),
		"both":    fmt.Errorf("%w, %w", errors.New("a"), errors.Join(nil, err)),
	} {
		if got := outcomeOf(d, err); got != want {
			t.Errorf("%v, %s: %v: got %+v, want %+v", d, name, err, got, want)
		}
	}
}

func TestClassMySQL(t *testing.T) {
	for want, numbers := range map[outcome][]uint16{
		conflict: {1020, 1205, 1213, 1412, 1614, 1689, 3101, 3572},
		unavailable: {
			1015, 1021, 1024, 1026, 1030, 1037, 1038, 1040, 1041, 1042, 1043, 1047, 1053, 1077, 1078, 1079, 1080, 1114, 1135, 1152, 1153, 1154,
			1155, 1156, 1157, 1158, 1159, 1160, 1161, 1180, 1184, 1203, 1206, 1226, 1297, 1317, 1637, 1878, 1927, 1969, 2006, 2013, 3015, 3019,
			3024, 3032, 3100, 3168, 3169, 4031, 9001,
		},
		readOnly:  {1036, 1792, 1836, 1874},
		exhausted: {167, 1264, 1467, 1690},
		missing:   {1046, 1049, 1051, 1054, 1146, 1347, 1932},
		denied:    {1044, 1045, 1130, 1142, 1143, 1227, 1370, 1698, 1820, 1862, 3118, 4151},
		other:     {1, 1062, 1064, 1129, 1149, 1364, 65535},
	} {
		for _, n := range numbers {
			want.Code = strconv.Itoa(int(n))
			wantClass(t, dialect.MySQL, &mysql.MySQLError{Number: n, Message: "a text that has read-only in it"}, want)
		}
	}
}

// Options other than --read-only have the same number.
func TestClassOption(t *testing.T) {
	for option, kind := range map[string]dialect.Class{
		"--read-only": dialect.ReadOnly, "--super-read-only": dialect.ReadOnly, "--read_only": dialect.ReadOnly,
		"--skip-grant-tables": dialect.Unavailable, "--skip-thread-priority": dialect.Unavailable, "": dialect.Unavailable,
	} {
		err := &mysql.MySQLError{Number: 1290, Message: "The MariaDB server is running with the " + option + " option so it cannot execute this statement"}
		wantClass(t, dialect.MySQL, err, outcome{Class: kind, Code: "1290"})
	}
}

func TestClassPostgres(t *testing.T) {
	for want, states := range map[outcome][]string{
		again:    {"0A000", "26000"},
		conflict: {"40000", "40001", "40P01", "55P03"},
		unavailable: {
			"08000", "08001", "08003", "08004", "08006", "08P01", "25P03", "25P04", "40003", "53000", "53100", "53200", "53300", "53400", "57000", "57014",
			"57P01", "57P02", "57P03", "57P05", "58000", "58030", "58P01", "F0000", "F0001", "XX000",
		},
		readOnly:  {"25006"},
		exhausted: {"22003", "2200H"},
		missing:   {"3D000", "3F000", "42703", "42704", "42809", "42P01", "57P04"},
		denied:    {"28000", "28P01", "42501"},
		other:     {"22P02", "23505", "25P02", "40002", "42601", "55000", "XX001", "XX002", "0A001", "26001", "5", "?", "080", "0800000"},
	} {
		for _, state := range states {
			want.Code = state
			wantClass(t, dialect.Postgres, &pgconn.PgError{Code: state}, want)
			wantClass(t, dialect.Postgres, stater(state), want)
		}
	}
	wantClass(t, dialect.Postgres, &pgconn.PgError{}, unavailable)
}

// stater has what lib/pq's *Error has.
type stater string

func (s stater) Error() string    { return "pq: " + string(s) }
func (s stater) SQLState() string { return string(s) }

func TestClassSQLite(t *testing.T) {
	for want, codes := range map[outcome][]int{
		conflict:    {5, 6},
		again:       {17},
		unavailable: {7, 9, 10, 13, 14, 15},
		readOnly:    {8},
		exhausted:   {20},
		denied:      {3, 23},
		other:       {1, 2, 4, 11, 12, 16, 18, 19, 21, 26, 255},
	} {
		for _, code := range codes {
			want.Code = strconv.Itoa(code)
			for _, extended := range []int{code, code | 1<<8, code | 10<<8} {
				wantClass(t, dialect.SQLite, sqlite3.Error{Code: sqlite3.ErrNo(code), ExtendedCode: sqlite3.ErrNoExtended(extended)}, want)
				wantClass(t, dialect.SQLite, &sqlite3.Error{Code: sqlite3.ErrNo(code), ExtendedCode: sqlite3.ErrNoExtended(extended)}, want)
				wantClass(t, dialect.SQLite, &coder{code: extended}, want)
			}
		}
	}
	wantClass(t, dialect.SQLite, sqlite3.Error{}, other)
	wantClass(t, dialect.SQLite, &coder{1, "SQL logic error: no such table: t (1)"}, outcome{Class: dialect.Missing, Code: "1"})
}

// coder has what modernc's *Error has.
type coder struct {
	code int
	text string
}

func (c *coder) Error() string { return c.text }
func (c *coder) Code() int     { return c.code }

// What SQLite says, in its own words.
func TestClassSQLiteStatements(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	open := func(dsn string) *sql.DB {
		db, err := sql.Open("sqlite3", dsn)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
	db := open("file:" + path + "?_busy_timeout=0")
	for _, statement := range []string{"CREATE TABLE t (id INTEGER PRIMARY KEY)", "INSERT INTO t VALUES (9223372036854775807)"} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	none := filepath.Join(t.TempDir(), "none.db")
	if err := os.WriteFile(none, []byte(strings.Repeat("This is no database. ", 10)), 0o600); err != nil { // longer than a header
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		db        *sql.DB
		statement string
		code      string
		want      outcome
	}{
		"no table":       {db, "SELECT 1 FROM none", "1", missing},
		"no column":      {db, "SELECT none FROM t", "1", missing},
		"syntax":         {db, "SELEC 1", "1", other},
		"beyond 2^63-1":  {db, "UPDATE t SET id = id + 1", "20", exhausted},
		"there already":  {db, "INSERT INTO t VALUES (9223372036854775807)", "19", other},
		"read-only":      {open("file:" + path + "?mode=ro"), "UPDATE t SET id = 1", "8", readOnly},
		"no directory":   {open("file:" + filepath.Join(t.TempDir(), "none", "test.db")), "SELECT 1", "14", unavailable},
		"no database":    {open("file:" + none), "SELECT 1 FROM t", "26", other},
		"closed, by now": {closed(t), "SELECT 1", "", other},
	} {
		_, err := test.db.Exec(test.statement)
		if err == nil {
			t.Errorf("%s: got no error", name)
			continue
		}
		test.want.Code = test.code
		wantClass(t, dialect.SQLite, err, test.want)
	}

	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.Exec("UPDATE t SET id = 1"); err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec("UPDATE t SET id = 2")
	wantClass(t, dialect.SQLite, err, outcome{Class: dialect.Conflict, Code: "5"})
}

func closed(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite3", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return db
}

// The errors of connections are the same everywhere.
func TestClassConnection(t *testing.T) {
	_, refused := net.DialUnix("unix", nil, &net.UnixAddr{Name: filepath.Join(t.TempDir(), "none.sock"), Net: "unix"})
	_, unresolved := (&net.Resolver{}).LookupHost(ended(), "none.invalid")
	for want, errs := range map[outcome][]error{
		again: {driver.ErrBadConn, badConn(nil)},
		unavailable: {
			context.Canceled, context.DeadlineExceeded, ended().Err(), io.EOF, io.ErrUnexpectedEOF, sql.ErrConnDone, sql.ErrTxDone, mysql.ErrInvalidConn,
			errors.New("bad connection"), &net.OpError{Op: "dial", Err: errors.New("b")}, &net.DNSError{}, net.ErrClosed, refused, unresolved,
			syscall.ECONNREFUSED, syscall.EPIPE, os.ErrDeadlineExceeded,
		},
		other: {sql.ErrNoRows, errors.New("sql: database is closed"), errors.New(`sql: Scan error on column index 0, name "id"`)},
	} {
		for _, err := range errs {
			for _, d := range dialects {
				wantClass(t, d, err, want)
			}
		}
	}
	_, err := pgconn.Connect(t.Context(), "host="+t.TempDir()+" user=u")
	wantClass(t, dialect.Postgres, err, unavailable)
	wantClass(t, dialect.Postgres, &pgconn.ConnectError{}, unavailable)
}

// badConn is ErrBadConn in the other way that database/sql allows.
type badConn []int

func (badConn) Error() string        { return "a" }
func (badConn) Is(target error) bool { return target == driver.ErrBadConn }

func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// A server that speaks another language gives the same classes, as real servers show them.
func TestClassLanguages(t *testing.T) {
	for d, languages := range map[dialect.Dialect][]string{
		dialect.MySQL: {"en_US", "de_DE", "ja_JP"}, dialect.Postgres: {"C", "de_DE.UTF-8", "de_DE.utf8", "ja_JP.UTF-8", "fr_FR.UTF-8"},
	} {
		t.Run(d.String(), func(t *testing.T) {
			at := servers[d](t)
			execute(t, connect(t, at), "CREATE TABLE t (id smallint PRIMARY KEY)", "INSERT INTO t VALUES (1), (32767)", "CREATE TABLE other (id int PRIMARY KEY)")
			texts := map[string]bool{}
			for _, language := range languages {
				holder, conn := connect(t, at), connect(t, at)
				if _, err := conn.ExecContext(t.Context(), "SET lc_messages = '"+language+"'"); err != nil && d == dialect.Postgres {
					t.Logf("the server has no %s, which the machine's package locales would give it: %v", language, err)
					continue
				} else if err != nil {
					t.Fatal(err)
				}
				execute(t, conn, map[dialect.Dialect]string{dialect.MySQL: "SET innodb_lock_wait_timeout = 1, sql_mode = 'STRICT_ALL_TABLES'", dialect.Postgres: "SET lock_timeout = '50ms'"}[d])
				execute(t, holder, d.Begin(), "UPDATE t SET id = 2 WHERE id = 1")
				for statement, want := range map[string]dialect.Class{
					"UPDATE t SET id = 3 WHERE id = 1": dialect.Conflict,
					"SELECT 1 FROM none":               dialect.Missing,
					"SELECT none FROM t":               dialect.Missing,
					"INSERT INTO t VALUES (40000)":     dialect.Exhausted,
					"INSERT INTO t VALUES (32767)":     dialect.Other,
					"SELEC 1":                          dialect.Other,
				} {
					_, err := conn.ExecContext(t.Context(), statement)
					if err == nil {
						t.Fatalf("%s, %s: got no error", language, statement)
					}
					texts[err.Error()] = true
					if got := d.Class(err); got != want {
						t.Errorf("%s, %s: %v: got %v, want %v", language, statement, err, got, want)
					}
				}
				readOnly := map[dialect.Dialect]string{dialect.MySQL: "SET SESSION TRANSACTION READ ONLY", dialect.Postgres: "SET default_transaction_read_only = on"}[d]
				execute(t, conn, readOnly)
				if _, err := conn.ExecContext(t.Context(), "INSERT INTO other VALUES (1)"); d.Class(err) != dialect.ReadOnly {
					t.Errorf("%s: %v: got %v, want read-only", language, err, d.Class(err))
				}
				execute(t, holder, d.Rollback())
			}
			if d == dialect.MySQL && len(texts) < 15 { // of 18
				t.Errorf("got %d messages, want those of three languages: %v", len(texts), texts)
			}
		})
	}
}

// Without a code an error is of the driver where there is a server, and says nothing where there is none.
func TestClassUnknown(t *testing.T) {
	for d, want := range map[dialect.Dialect]outcome{
		dialect.MySQL: unavailable, dialect.Postgres: unavailable, dialect.SQLite: other, 0: other, 7: other,
	} {
		for _, err := range []error{errors.New(""), errors.New("failed to connect"), mysql.ErrPktSync, &pgconn.ParseConfigError{}} {
			wantClass(t, d, err, want)
		}
		if got := outcomeOf(d, nil); got != (outcome{}) {
			t.Errorf("%v, nil: got %+v", d, got)
		}
	}
}

// The server's code says more than that the wait for it ended, unless it is not known; and another dialect's is none.
func TestClassPrecedence(t *testing.T) {
	for name, test := range map[string]struct {
		d    dialect.Dialect
		err  error
		want outcome
	}{
		"code, then context": {
			dialect.MySQL, errors.Join(&mysql.MySQLError{Number: 1146}, context.Canceled),
			outcome{Class: dialect.Missing, Code: "1146"},
		},
		"context, then code": {dialect.Postgres, errors.Join(context.Canceled, &pgconn.PgError{Code: "40P01"}), outcome{Class: dialect.Conflict, Code: "40P01"}},
		"unknown code":       {dialect.Postgres, errors.Join(&pgconn.PgError{Code: "42601"}, context.Canceled), outcome{Class: dialect.Unavailable, Code: "42601"}},
		"bad, and ended":     {dialect.MySQL, errors.Join(context.Canceled, driver.ErrBadConn), again},
		"first of two":       {dialect.MySQL, errors.Join(&mysql.MySQLError{Number: 1213}, &mysql.MySQLError{Number: 1}), outcome{Class: dialect.Conflict, Code: "1213"}},
		"PostgreSQL's":       {dialect.MySQL, &pgconn.PgError{Code: "42P01"}, unavailable},
		"MySQL's":            {dialect.Postgres, &mysql.MySQLError{Number: 1146}, unavailable},
		"MySQL's, no server": {dialect.SQLite, &mysql.MySQLError{Number: 1146}, other},
		"SQLite's":           {dialect.MySQL, sqlite3.Error{Code: 5}, unavailable},
		"no dialect's":       {0, &mysql.MySQLError{Number: 1213}, other},
	} {
		if got := outcomeOf(test.d, test.err); got != test.want {
			t.Errorf("%s: got %+v, want %+v", name, got, test.want)
		}
	}
}

// Nil pointers in an error are passed over, and what is beside them is found.
func TestClassNilPointers(t *testing.T) {
	for _, null := range []error{
		(*mysql.MySQLError)(nil), (*pgconn.PgError)(nil), (*pgconn.ConnectError)(nil), (*sqlite3.Error)(nil), (*net.OpError)(nil), (*coder)(nil),
	} {
		for d, unknown := range map[dialect.Dialect]outcome{dialect.MySQL: unavailable, dialect.Postgres: unavailable, dialect.SQLite: other, 0: other} {
			for _, err := range []error{null, fmt.Errorf("a: %w", null), errors.Join(null, null)} {
				if got := outcomeOf(d, err); got != unknown {
					t.Errorf("%v, %T in %T: got %+v, want %+v", d, null, err, got, unknown)
				}
			}
		}
		for d, err := range map[dialect.Dialect]error{
			dialect.MySQL: &mysql.MySQLError{Number: 1213}, dialect.Postgres: &pgconn.PgError{Code: "40001"}, dialect.SQLite: sqlite3.Error{Code: sqlite3.ErrBusy},
		} {
			if got := outcomeOf(d, errors.Join(null, err)); got.Class != dialect.Conflict {
				t.Errorf("%v, beside %T: got %+v, want conflict", d, null, got)
			}
		}
	}
}

type (
	wideNumber   struct{ Number int }
	textNumber   struct{ Number string }
	smallNumber  struct{ Number uint8 }
	pointer      struct{ Number *uint16 }
	namedNumber  struct{ Number number }
	number       uint16
	Inner        struct{ Number, ExtendedCode uint16 }
	embedded     struct{ *Inner }
	codeAlone    struct{ Code int }
	unsignedCode struct{ Code, ExtendedCode uint }
	floatCode    struct{ Code, ExtendedCode float64 }
	function     func() string
	list         []error
	table        map[string]uint16
	looped       struct{ self error }
	panics       struct{ Number int }
)

func (wideNumber) Error() string        { return "a" }
func (textNumber) Error() string        { return "a" }
func (smallNumber) Error() string       { return "a" }
func (pointer) Error() string           { return "a" }
func (namedNumber) Error() string       { return "a" }
func (embedded) Error() string          { return "a" }
func (codeAlone) Error() string         { return "a" }
func (unsignedCode) Error() string      { return "a" }
func (floatCode) Error() string         { return "a" }
func (f function) Error() string        { return f() }
func (l list) Error() string            { return l[0].Error() }
func (l list) Unwrap() []error          { return l }
func (table) Error() string             { return "a" }
func (*looped) Error() string           { return "a" }
func (l *looped) Unwrap() error         { return l.self }
func (panics) Error() string            { panic("Error") }
func (panics) Is(error) bool            { panic("Is") }
func (panics) Unwrap() error            { panic("Unwrap") }
func (panics) SQLState() string         { panic("SQLState") }
func (panics) Code() int                { panic("Code") }
func (panics) Timeout() bool            { panic("Timeout") }
func (unsignedCode) As(target any) bool { panic("As") }

// foreign are errors of no driver that is known.
func foreign() []error {
	loop := &looped{}
	loop.self = loop
	return []error{
		wideNumber{1213}, &wideNumber{1213}, textNumber{"1213"}, smallNumber{167}, pointer{new(uint16)}, pointer{}, embedded{}, &embedded{},
		codeAlone{5}, unsignedCode{5, 5}, floatCode{5, 5}, function(nil), list(nil), list{nil}, list{loop, loop, loop}, table(nil),
		table{"Number": 1213}, loop, panics{}, &panics{},
	}
}

// A field that is called as a driver's and is none of its kind is no code.
func TestClassForeign(t *testing.T) {
	for d, want := range map[dialect.Dialect]outcome{dialect.MySQL: unavailable, dialect.Postgres: unavailable, dialect.SQLite: other} {
		for _, err := range foreign() {
			if got := outcomeOf(d, err); got != want {
				t.Errorf("%v, %T: got %+v, want %+v", d, err, got, want)
			}
		}
	}
	for _, err := range []error{namedNumber{1213}, &embedded{&Inner{Number: 1213}}} {
		if got := outcomeOf(dialect.MySQL, err); got.Class != dialect.Conflict {
			t.Errorf("%T: got %+v, want conflict", err, got)
		}
	}
}

// No error makes a panic, or none of the classes that an error of a driver can have.
func TestClassNeverPanics(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	leaves := append(foreign(), nil, io.EOF, driver.ErrBadConn, badConn(nil), (*mysql.MySQLError)(nil), (*pgconn.PgError)(nil), (*coder)(nil))
	var build func(depth int) error
	build = func(depth int) error {
		switch kind := random.IntN(10); {
		case depth > 0 && kind == 0:
			return fmt.Errorf("a: %w", build(depth-1))
		case depth > 0 && kind == 1:
			return errors.Join(build(depth-1), build(depth-1))
		case depth > 0 && kind == 2:
			return list{build(depth - 1), build(depth - 1), build(depth - 1)}
		case depth > 0 && kind == 3:
			return &looped{build(depth - 1)}
		case kind == 4:
			return &mysql.MySQLError{Number: uint16(random.Uint32())}
		case kind == 5:
			return &pgconn.PgError{Code: string([]byte{byte(random.Uint32()), byte(random.Uint32()), '0', '0', '0'}[:random.IntN(6)])}
		case kind == 6:
			return sqlite3.Error{Code: sqlite3.ErrNo(random.Int32()), ExtendedCode: sqlite3.ErrNoExtended(random.Int32())}
		case kind == 7:
			return &coder{code: int(random.Uint64())}
		}
		return leaves[random.IntN(len(leaves))]
	}
	for range 20_000 {
		d, err := dialect.Dialect(random.IntN(6)-1), build(5)
		got := outcomeOf(d, err)
		if known := got.Class >= dialect.Conflict && got.Class <= dialect.Other; known != (err != nil) {
			t.Fatalf("seed %d: %v, %T: got %+v", seed, d, err, got)
		}
	}
}
