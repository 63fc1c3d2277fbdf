package dbtest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3" // the driver of SQLite databases

	"github.com/snowkey-go/snowkey/internal/dbserver"
)

// createLimit bounds making a database, and dropping it.
const createLimit = 30 * time.Second

// Database is one fresh, empty database that was made for one test. SQLite's driver is
// registered as "sqlite3".
type Database struct {
	Kind       string // "mysql", "postgres" or "sqlite"
	DSN        string // as snowkey takes it: mysql:DSN, postgres://… or sqlite:PATH
	DriverName string // for sql.Open: "mysql", "pgx" or "sqlite3"
	DriverDSN  string // for sql.Open: DSN as the driver takes it
	AdminDSN   string // for sql.Open: DriverDSN of [Database.Admin]; "" where that has none of its own
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

// Admin returns the database with the account of the server's administrator, where the
// database's own account is another one: on MySQL. The administrator may do what is not
// about the test's database alone: make and drop any database, grant what concerns the
// whole server, and read the server's own tables. The administrator sees the tables of
// all databases, among them those of tests that run at the same time.
func (d Database) Admin() Database {
	if d.AdminDSN == "" {
		return d
	}
	return Database{Kind: d.Kind, DSN: d.Kind + ":" + d.AdminDSN, DriverName: d.DriverName, DriverDSN: d.AdminDSN}
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

// Database makes a new database on the server, with a name made from the test's, and on
// MySQL an account for it, which has that database alone: see the package's
// documentation. Both are dropped when the test has passed. When the test has failed they
// are left in place, and the administrator's DSN of the database is logged, with any
// password masked; for a server that the tests started, that lasts no longer than the
// server.
func (s *Server) Database(t testing.TB) Database {
	t.Helper()
	name := databaseName(t.Name())
	ctx, cancel := context.WithTimeout(context.Background(), createLimit)
	defer cancel()
	made, err := s.Server.Database(ctx, name)
	if err != nil {
		t.Fatalf("dbtest: %v; the end of the server's log:\n%s", err, s.Log())
	}
	var own *account
	t.Cleanup(func() {
		switch {
		case t.Failed():
			t.Logf("dbtest: the test's database is left in place: %s", made.Redacted())
			if s.shared {
				t.Logf("dbtest: the end of the server's log:\n%s", s.Log())
			}
		case s.Private() && !s.shared:
			// The server's folder goes with the server, at the end of this test.
		default:
			ctx, cancel := context.WithTimeout(context.Background(), createLimit)
			defer cancel()
			if err := s.Drop(ctx, name); err != nil {
				t.Errorf("dbtest: is a transaction still open? %v", err)
			}
			if own == nil {
				return
			}
			if err := own.drop(ctx); err != nil {
				t.Error(err)
			}
		}
	})
	d := Database{Kind: made.Kind, DSN: made.DSN, DriverName: made.DriverName, DriverDSN: made.DriverDSN}
	if s.kind != dbserver.MySQL {
		return d
	}
	switch own, err = createAccount(ctx, made); {
	case err == nil:
		d.DSN, d.DriverDSN, d.AdminDSN = made.Kind+":"+own.dsn, own.dsn, made.DriverDSN
	case isDenied(err):
		t.Logf("dbtest: the database has no account of its own, and may see tables of others: %v", err)
	default:
		t.Fatalf("dbtest: making an account for the database %s: %v", name, err)
	}
	return d
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
