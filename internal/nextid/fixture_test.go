package nextid_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/nextid"
)

// servers are the databases that can have the function.
var servers = map[string]func(testing.TB) dbtest.Database{"mysql": dbtest.MySQL, "postgres": dbtest.Postgres}

// onServers runs a test on each of them.
func onServers(t *testing.T, test func(t *testing.T, database dbtest.Database)) {
	t.Helper()
	for name, make := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, make(t))
		})
	}
}

// fixture is a database with the function, and a table orders with its keys.
type fixture struct {
	database dbtest.Database
	pool     *sql.DB
	store    *grant.SQLStore
	function nextid.Function
}

const ordersTable = "CREATE TABLE orders (id bigint NOT NULL PRIMARY KEY, item int)"

// newFixture makes the function for a layout; a change of its statements comes before they are run.
func newFixture(t testing.TB, database dbtest.Database, layout idgen.Layout, change func(string) string) *fixture {
	t.Helper()
	f := &fixture{database: database, pool: database.Open(t)}
	f.exec(t, ordersTable)
	f.install(t, layout, change)
	return f
}

// install reserves the number and makes the function.
func (f *fixture) install(t testing.TB, layout idgen.Layout, change func(string) string) {
	t.Helper()
	d, err := grant.LookupDialect(f.database.Kind)
	if err != nil {
		t.Fatal(err)
	}
	f.store = grant.SQL(f.pool, d, grant.WithUnsafe())
	number, err := grant.Reserve(t.Context(), f.store, grant.DefaultSpace, layout, "function test")
	if err != nil {
		t.Fatal(err)
	}
	f.function = nextid.Function{Dialect: d, Name: nextid.DefaultName, Layout: layout, Space: grant.DefaultSpace, Number: number, Columns: []nextid.Column{{Table: "orders", Column: "id"}}}
	f.function.Schema, f.function.Grants = f.store.Table()
	statements, err := f.function.Statements()
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range statements {
		if change != nil {
			statement = change(statement)
		}
		f.exec(t, statement)
	}
}

func (f *fixture) exec(t testing.TB, statement string, args ...any) {
	t.Helper()
	if _, err := f.pool.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// session is one connection.
func (f *fixture) session(t testing.TB) *sql.Conn {
	t.Helper()
	conn, err := f.pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// stepped lets a session of PostgreSQL step the clock, see [fixture.step].
func stepped(statement string) string {
	return strings.Replace(statement, "clock_timestamp()", "(clock_timestamp() + coalesce(nullif(current_setting('test.step', true), ''), '0')::interval)", 1)
}

// step moves the clock that the function has in a session, by seconds from the server's time on.
func (f *fixture) step(t testing.TB, session *sql.Conn, seconds float64) {
	t.Helper()
	statement := fmt.Sprintf("SET timestamp = UNIX_TIMESTAMP(SYSDATE(6)) + %f", seconds)
	if f.function.Dialect == grant.Postgres {
		statement = fmt.Sprintf("SET test.step = '%f seconds'", seconds)
	}
	if _, err := session.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

type queryer interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}

// call returns the keys that a query returns.
func call(ctx context.Context, db queryer, query string) (keys []int64, err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var key int64
		if err := rows.Scan(&key); err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, rows.Err()
}

func mustCall(t testing.TB, db queryer, query string) []int64 {
	t.Helper()
	keys, err := call(t.Context(), db, query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return keys
}

const nextKey = "SELECT snowkey_next_id()"

// increase fails unless each key is greater than the one before.
func increase(t testing.TB, keys []int64) {
	t.Helper()
	for i := 1; i < len(keys); i++ {
		if keys[i] <= keys[i-1] {
			t.Fatalf("key %d is %d, after %d", i, keys[i], keys[i-1])
		}
	}
}

// seen are keys of which none may come twice. It is safe for concurrent use.
type seen struct {
	mu   sync.Mutex
	by   map[int64]string
	most int64
}

func (s *seen) add(t testing.TB, who string, keys ...int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil {
		s.by = map[int64]string{}
	}
	for _, key := range keys {
		if other, twice := s.by[key]; twice {
			t.Errorf("key %d comes twice: of %s and of %s", key, other, who)
		}
		s.by[key], s.most = who, max(s.most, key)
	}
}

func (s *seen) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.by)
}
