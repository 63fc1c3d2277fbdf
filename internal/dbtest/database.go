package dbtest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3" // the driver of SQLite databases
)

// Database is one fresh, empty database that was made for one test.
type Database struct {
	Kind       string // "sqlite", "mysql" or "postgres"
	DSN        string // as snowkey takes it: sqlite:PATH, mysql:DSN or postgres://…
	DriverName string // for sql.Open: "sqlite3", "mysql" or "pgx"; all are registered
	DriverDSN  string // for sql.Open: DSN as the driver takes it
}

// SQLite returns a database in a file of the test's temporary folder. The file does
// not exist before the first connection.
func SQLite(t testing.TB) Database {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.db")
	return Database{Kind: "sqlite", DSN: "sqlite:" + path, DriverName: "sqlite3", DriverDSN: path}
}

// MySQL returns a new database on [MySQLServer].
func MySQL(t testing.TB) Database {
	t.Helper()
	return MySQLServer(t).Database(t)
}

// Postgres returns a new database on [PostgresServer].
func Postgres(t testing.TB) Database {
	t.Helper()
	return PostgresServer(t).Database(t)
}

// Open opens the database with database/sql, and closes it when the test ends.
func (d Database) Open(t testing.TB) *sql.DB {
	t.Helper()
	db, err := sql.Open(d.DriverName, d.DriverDSN)
	if err != nil {
		t.Fatalf("dbtest: opening the %s database: %v", d.Kind, err)
	}
	// An error says only that a test has killed the server under an open connection.
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// Database makes a new database on the server, with a name made from the test's.
// It is dropped when the test has passed. When the test has failed it is left in
// place, and its DSN is logged, with any password masked; for a server that the
// tests started, that lasts no longer than the server.
func (s *Server) Database(t testing.TB) Database {
	t.Helper()
	name := databaseName(t.Name())
	if err := s.execute(s.engine.create(name)); err != nil {
		t.Fatalf("dbtest: creating database %s on %s: %v%s", name, s.version, err, s.logNote())
	}
	d := s.engine.database(s.admin, name)
	t.Cleanup(func() {
		switch {
		case t.Failed():
			t.Logf("dbtest: the test's database is left in place: %s", s.engine.redacted(d.DriverDSN))
			if s.shared {
				t.Logf("dbtest: the end of the server's log:%s", s.logNote())
			}
		case s.guard != nil && !s.shared:
			// The server's folder goes with the server, at the end of this test.
		default:
			if err := s.execute(s.engine.drop(name)); err != nil {
				t.Errorf("dbtest: dropping database %s, is a transaction still open? %v", name, err)
			}
		}
	})
	return d
}

// execute runs statements on one connection as the server's administrator. It opens
// and closes the connection, so that nothing of it is left between calls.
func (s *Server) execute(statements []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	db, err := sql.Open(s.engine.driver(), s.admin)
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // session settings hold for the statements after them
	for _, statement := range statements {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// databaseName returns a name of at most 53 letters, digits and underscores, within
// the 64 that MySQL and the 63 that PostgreSQL allow: the test's name as far as it
// goes, and 32 random bits, so that runs at one server do not meet.
func databaseName(test string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			return r
		case 'A' <= r && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '_'
	}, test)
	var random [4]byte
	rand.Read(random[:]) // never fails, as its documentation promises
	return "t_" + name[:min(len(name), 42)] + "_" + hex.EncodeToString(random[:])
}
