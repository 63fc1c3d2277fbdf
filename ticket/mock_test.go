package ticket_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/DATA-DOG/go-sqlmock"

	"github.com/snowkey-go/snowkey/ticket"
)

// step is a statement that a server is to be sent, and its answer.
type step struct {
	name   string // in a script
	sql    string
	args   []driver.Value // not looked at where it is nil
	result driver.Result  // of what returns no rows
	rows   [][]driver.Value
	commit error // comes after the rows
	err    error // comes instead
}

// answer is a driver.Result with errors.
type answer struct {
	changed, id       int64
	changedErr, idErr error
}

func (a answer) RowsAffected() (int64, error) { return a.changed, a.changedErr }
func (a answer) LastInsertId() (int64, error) { return a.id, a.idErr }

// executed is a statement that changes rows.
func executed(sql string, changed, id int64) step {
	return step{sql: sql, result: sqlmock.NewResult(id, changed)}
}

// queried is a statement that returns rows.
func queried(sql string, rows ...[]driver.Value) step {
	return step{sql: sql, rows: rows}
}

func values(v ...driver.Value) []driver.Value { return v }

func (s step) named(name string) step { s.name = name; return s }

func (s step) with(args ...driver.Value) step { s.args = args; return s }

func (s step) fails(err error) step { s.err = err; return s }

// uncommitted has the error after its rows.
func (s step) uncommitted(err error) step { s.commit = err; return s }

// script is what a server is sent, one after the other.
type script []step

func (s script) find(name string) int {
	i := slices.IndexFunc(s, func(s step) bool { return s.name == name })
	if i < 0 {
		panic("no step " + name)
	}
	return i
}

// answer changes the rows that a step is answered with.
func (s script) answer(name string, rows ...[]driver.Value) script {
	s = slices.Clone(s)
	s[s.find(name)].rows = rows
	return s
}

// fail has a step fail.
func (s script) fail(name string, err error) script {
	s = slices.Clone(s)
	s[s.find(name)].err = err
	return s
}

// until ends the script with the step.
func (s script) until(name string) script { return slices.Clone(s[:s.find(name)+1]) }

// without takes steps out.
func (s script) without(names ...string) script {
	return slices.DeleteFunc(slices.Clone(s), func(s step) bool { return slices.Contains(names, s.name) })
}

func (s script) then(more ...step) script { return append(slices.Clone(s), more...) }

// mock is a server that has to be sent just the steps that are expected.
type mock struct {
	sqlmock.Sqlmock
	t      *testing.T
	driver driver.Driver
	dsn    string
	refuse []error      // of the next connections
	hangs  bool         // and all connections, until their context ends
	opened atomic.Int64 // connections
	closed atomic.Int64
	after  func(statement int64) // is called after each, with how many there were; nil for nothing
	sent   atomic.Int64
	steps  []step // all that were expected
	schema string // that the tables are in; empty for that of homes

	sqlite      bool         // it has to be made ready first: see readied
	readied     atomic.Int64 // how often a connection was
	unready     error        // what that fails with
	transaction bool         // all connections are in one
	db          *sql.DB
}

var _ driver.Connector = (*mock)(nil)

// exactly compares statements but for white space. What sqlmock has does it with regular expressions, which are slow with the race detector.
var exactly = sqlmock.QueryMatcherFunc(func(expected, actual string) error {
	if got, want := strings.Fields(actual), strings.Fields(expected); !slices.Equal(got, want) {
		return fmt.Errorf("got the statement %q, want %q", actual, expected)
	}
	return nil
})

func newMock(t *testing.T, steps ...step) *mock {
	t.Helper()
	m := &mock{t: t, dsn: strings.ReplaceAll(t.Name(), "/", " ") + " " + rand.Text()}
	own, expected, err := sqlmock.NewWithDSN(m.dsn, sqlmock.QueryMatcherOption(exactly))
	if err != nil {
		t.Fatal(err)
	}
	m.Sqlmock, m.driver = expected, own.Driver()
	m.db = sql.OpenDB(m)
	t.Cleanup(func() {
		if err := m.ExpectationsWereMet(); err != nil {
			t.Error(err)
		}
		m.db.Close()
		own.Close()
	})
	m.expect(steps...)
	return m
}

// expect adds steps.
func (m *mock) expect(steps ...step) {
	m.steps = append(m.steps, steps...)
	for _, s := range steps {
		if s.result != nil {
			e := m.ExpectExec(s.sql).WillReturnResult(s.result)
			if s.args != nil {
				e.WithArgs(s.args...)
			}
			if s.err != nil {
				e.WillReturnError(s.err)
			}
			continue
		}
		var columns []string
		if len(s.rows) > 0 {
			columns = make([]string, len(s.rows[0]))
		}
		rows := sqlmock.NewRows(columns)
		for _, row := range s.rows {
			rows.AddRow(row...)
		}
		if s.commit != nil {
			rows.AddRow(s.rows[0]...).RowError(len(s.rows), s.commit)
		}
		e := m.ExpectQuery(s.sql).WillReturnRows(rows)
		if s.args != nil {
			e.WithArgs(s.args...)
		}
		if s.err != nil {
			e.WillReturnError(s.err)
		} else {
			e.RowsWillBeClosed()
		}
	}
}

func (m *mock) Connect(ctx context.Context) (driver.Conn, error) {
	if m.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if len(m.refuse) > 0 {
		err := m.refuse[0]
		m.refuse = m.refuse[1:]
		if err != nil {
			return nil, err
		}
	}
	m.opened.Add(1)
	conn, err := m.driver.Open(m.dsn)
	return &mockConn{Conn: conn, mock: m}, err
}

func (m *mock) Driver() driver.Driver { return m.driver }

// mockConn makes a statement that was not expected an error of the test, also where the code under test goes on.
type mockConn struct {
	driver.Conn
	mock  *mock
	ready bool // since it was taken from the pool
}

// readied is what each connection to SQLite is sent first, whatever it is for. It is in no script.
const readied = "PRAGMA busy_timeout = 10"

// timeless is what sqlmock's connections answer without a timer. Those that take a context start a timer of no time for each statement, and
// in a bubble of testing/synctest such a timer runs in the goroutine that starts it, with the race detector's state of all the bubble's
// timers: Go 1.26 dies of it when another timer runs at that moment, compare https://github.com/golang/go/issues/78156.
type timeless interface {
	Query(query string, args []driver.Value) (driver.Rows, error)
	Exec(query string, args []driver.Value) (driver.Result, error)
}

func unnamed(args []driver.NamedValue) []driver.Value {
	values := make([]driver.Value, len(args))
	for i, arg := range args {
		values[i] = arg.Value
	}
	return values
}

var (
	_ driver.SessionResetter = (*mockConn)(nil)
	_ driver.QueryerContext  = (*mockConn)(nil)
	_ driver.ExecerContext   = (*mockConn)(nil)
)

// Close does not close sqlmock's, which would take that for the end of the database.
func (c *mockConn) Close() error {
	c.mock.closed.Add(1)
	return nil
}

// ResetSession is called when the connection is taken from the pool again.
func (c *mockConn) ResetSession(context.Context) error {
	c.ready = false
	return nil
}

// AutoCommit is mattn's and modernc's.
func (c *mockConn) AutoCommit() bool { return !c.mock.transaction }

func (c *mockConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if answer := c.mock.located(query); answer != nil {
		return answer, nil
	}
	if c.mock.sqlite && !c.ready {
		c.mock.t.Errorf("sent %s, on a connection that was not made ready", query)
	}
	rows, err := c.Conn.(timeless).Query(query, unnamed(args))
	if err == nil && ctx.Err() != nil {
		err = sqlmock.ErrCancelled
	}
	c.check(query, err)
	if err != nil {
		return nil, err
	}
	return rows, nil
}

func (c *mockConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if query == readied && c.mock.sqlite {
		c.ready = true
		c.mock.readied.Add(1)
		return driver.RowsAffected(0), c.mock.unready
	}
	if c.mock.sqlite && !c.ready {
		c.mock.t.Errorf("sent %s, on a connection that was not made ready", query)
	}
	if strings.HasPrefix(query, "SELECT pg_advisory_xact_lock(") {
		return driver.RowsAffected(0), nil
	}
	result, err := c.Conn.(timeless).Exec(query, unnamed(args))
	if err == nil && ctx.Err() != nil {
		err = sqlmock.ErrCancelled
	}
	c.check(query, err)
	if err != nil {
		return nil, err
	}
	return result, nil
}

func (c *mockConn) check(query string, err error) {
	if n := c.mock.sent.Add(1); c.mock.after != nil {
		c.mock.after(n)
	}
	if err == nil {
		return
	}
	for _, text := range []string{"was not expected", "could not match", "does not equal", "do not match", "must return"} {
		if strings.Contains(err.Error(), text) {
			c.mock.t.Errorf("sent %s: %v", query, err)
			return
		}
	}
}

// conn is a connection to the server.
func (m *mock) conn() *sql.Conn {
	m.t.Helper()
	conn, err := m.db.Conn(m.t.Context())
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { conn.Close() })
	err = conn.Raw(func(c any) error {
		c.(*mockConn).ready = true
		return nil
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return conn
}

// kind is a counter and a dialect.
type kind struct {
	dialect ticket.Dialect
	blocks  bool
}

var (
	replaceMySQL  = kind{dialect: ticket.MySQL}
	replaceSQLite = kind{dialect: ticket.SQLite}
	sequence      = kind{dialect: ticket.Postgres}
	blockMySQL    = kind{ticket.MySQL, true}
	blockPostgres = kind{ticket.Postgres, true}
	blockSQLite   = kind{ticket.SQLite, true}
)

func (k kind) String() string {
	switch {
	case k.blocks:
		return "block " + k.dialect.String()
	case k == sequence:
		return "sequence"
	default:
		return "replace " + k.dialect.String()
	}
}

// servers are mocks of the kind.
func (k kind) servers(t *testing.T, config ticket.Config, mocks ...*mock) *ticket.Servers {
	t.Helper()
	schema, _, named := strings.Cut(config.Table, ".")
	if !named {
		schema = homes[k.dialect]
	}
	var list []ticket.Server
	for _, m := range mocks {
		m.sqlite, m.schema = k.dialect == ticket.SQLite, schema
		list = append(list, ticket.Server{DB: m.db, Dialect: k.dialect})
	}
	var s *ticket.Servers
	var err error
	if k.blocks {
		s, err = ticket.NewBlockServers(ticket.BlockConfig{Config: config, Unit: 100}, list...)
	} else {
		var source *ticket.Tickets
		if source, err = ticket.Flickr(config, list...); err == nil {
			s = source.Servers
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.CloseServers)
	s.Settle(schema)
	return s
}
