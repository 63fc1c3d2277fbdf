package dbtest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/snowkey-go/snowkey/internal/dbserver"
)

// StartStandby starts a server of PostgreSQL for this test that follows another one, and returns when it gets what that one writes. Its settings are those of the primary
// that are in files, and those given.
func StartStandby(t testing.TB, primary *Server, settings ...string) *Server {
	t.Helper()
	standby := StartPostgres(t, settings...)
	data, sockets := standby.ask(t, "SHOW data_directory"), primary.ask(t, "SHOW unix_socket_directories")
	if err := standby.Stop(); err != nil {
		t.Fatal(err)
	}
	run := func(program string, args ...string) {
		t.Helper()
		if said, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput(); err != nil {
			t.Fatalf("dbtest: %s: %v\n%s", program, err, said)
		}
	}
	found, err := os.ReadDir(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range found {
		if err := os.RemoveAll(filepath.Join(data, entry.Name())); err != nil {
			t.Fatal(err)
		}
	}
	run(primary.basebackup(t), "-h", sockets, "-p", "5432", "-U", "postgres", "-D", data, "-R", "-X", "stream", "-c", "fast", "--no-sync")
	run("chown", "-R", "--reference="+filepath.Dir(data), data)
	if err := standby.Start(); err != nil {
		t.Fatal(err)
	}
	primary.await(t, "SELECT EXISTS (SELECT FROM pg_stat_replication WHERE state = 'streaming')")
	return standby
}

// OpenCancelling opens a database of PostgreSQL with a driver that asks the server to cancel a statement when the context ends, and takes its answer.
func (d Database) OpenCancelling(t testing.TB) *sql.DB {
	t.Helper()
	config, err := pgx.ParseConfig(d.DriverDSN)
	if err != nil {
		t.Fatal(err)
	}
	config.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: 10 * time.Second}
	}
	db := stdlib.OpenDB(*config)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// basebackup returns the path of the server's own pg_basebackup.
func (s *Server) basebackup(t testing.TB) string {
	t.Helper()
	path := filepath.Join(s.ask(t, "SELECT setting FROM pg_config WHERE name = 'BINDIR'"), "pg_basebackup")
	if _, err := os.Stat(path); err != nil {
		skip(t, dbserver.Postgres, "no "+path+" found: install postgresql-client")
	}
	return path
}

// Follow has commits of the primary wait for the standby, or not, and returns when they do.
func (s *Server) Follow(t testing.TB, synchronous bool) {
	t.Helper()
	names, state := "", "async"
	if synchronous {
		names, state = "*", "sync"
	}
	s.exec(t, fmt.Sprintf("ALTER SYSTEM SET synchronous_standby_names = '%s'", names))
	s.exec(t, "SELECT pg_reload_conf()")
	s.await(t, fmt.Sprintf("SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = '%s')", state))
}

// CaughtUp returns when all standbys have what the primary has committed so far.
func (s *Server) CaughtUp(t testing.TB) {
	t.Helper()
	now := s.ask(t, "SELECT CAST(pg_current_wal_insert_lsn() AS text)")
	s.await(t, fmt.Sprintf("SELECT bool_and(replay_lsn >= '%s') FROM pg_stat_replication", now))
}

// Promote makes a standby a primary, and returns when it takes writes. It waits for no other standby then.
func (s *Server) Promote(t testing.TB) {
	t.Helper()
	s.exec(t, "SELECT pg_promote()")
	s.await(t, "SELECT NOT pg_is_in_recovery()")
	s.exec(t, "ALTER SYSTEM SET synchronous_standby_names = ''")
	s.exec(t, "SELECT pg_reload_conf()")
}

func (s *Server) postgres(t testing.TB) *sql.DB {
	t.Helper()
	named, err := s.Named("postgres")
	if err != nil {
		t.Fatal(err)
	}
	return Database{Kind: named.Kind, DriverName: named.DriverName, DriverDSN: named.DriverDSN}.Open(t)
}

func (s *Server) exec(t testing.TB, statement string) {
	t.Helper()
	if _, err := s.postgres(t).ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("dbtest: %s: %v", statement, err)
	}
}

// ask returns the text that a query returns.
func (s *Server) ask(t testing.TB, query string) (value string) {
	t.Helper()
	if err := s.postgres(t).QueryRowContext(t.Context(), query).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

// await waits until a query returns true.
func (s *Server) await(t testing.TB, query string) {
	t.Helper()
	db := s.postgres(t)
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		var is bool
		err := db.QueryRowContext(t.Context(), query).Scan(&is)
		if is {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("dbtest: after a minute it is not so: %s: %v", query, err)
		}
	}
}

// Switch is a pool whose new connections are to one of several databases.
type Switch struct {
	*sql.DB
	drivers []driver.Connector
	to      atomic.Int64
}

// OpenSwitch returns a pool with connections to the first of the databases, until it is told another one. They have one name at servers of one kind.
func OpenSwitch(t testing.TB, databases ...Database) *Switch {
	t.Helper()
	s := new(Switch)
	for _, d := range databases {
		connector, err := d.Open(t).Driver().(driver.DriverContext).OpenConnector(d.DriverDSN)
		if err != nil {
			t.Fatal(err)
		}
		s.drivers = append(s.drivers, connector)
	}
	s.DB = sql.OpenDB(s)
	t.Cleanup(func() { _ = s.DB.Close() })
	return s
}

// To has new connections be to the database of that index.
func (s *Switch) To(index int) { s.to.Store(int64(index)) }

// Driver returns the driver of the databases.
func (s *Switch) Driver() driver.Driver { return s.drivers[0].Driver() }

// Connect connects to the database that is told.
func (s *Switch) Connect(ctx context.Context) (driver.Conn, error) {
	return s.drivers[s.to.Load()].Connect(ctx)
}

// At returns the database of that name on another server, such as a standby.
func (s *Server) At(t testing.TB, d Database) Database {
	t.Helper()
	var name string
	if err := d.Open(t).QueryRowContext(t.Context(), "SELECT current_database()").Scan(&name); err != nil {
		t.Fatal(err)
	}
	named, err := s.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	return Database{Kind: named.Kind, DSN: named.DSN, DriverName: named.DriverName, DriverDSN: named.DriverDSN}
}
