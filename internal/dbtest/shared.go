package dbtest

import (
	"os"
	"sync"
	"testing"
)

// shared is the server of one engine that the tests of this process share. It is
// started once; nothing stops it but its guard, when the process is gone, so that no
// package needs a TestMain.
type shared struct {
	once   sync.Once
	server *Server
	err    error
}

var sharedMySQL, sharedPostgres shared

// MySQLServer returns the server that the databases of [MySQL] are on: the one that
// SNOWKEY_TEST_MYSQL names, else a private one that this process shares among its
// tests and starts now if it has not yet. It cannot be stopped, killed or paused.
func MySQLServer(t testing.TB) *Server {
	t.Helper()
	return sharedMySQL.get(t, mysqlEngine{})
}

// PostgresServer is like [MySQLServer], for PostgreSQL and SNOWKEY_TEST_POSTGRES.
func PostgresServer(t testing.TB) *Server {
	t.Helper()
	return sharedPostgres.get(t, postgresEngine{})
}

func (s *shared) get(t testing.TB, e engine) *Server {
	t.Helper()
	checkRequired(t)
	if value := os.Getenv(e.variable()); value != "" {
		server, err := givenServer(e, value)
		if err != nil {
			t.Fatal(err)
		}
		return server
	}
	s.once.Do(func() {
		if s.server, s.err = newServer(e, programFolders, nil); s.server != nil {
			s.server.shared = true
		}
	})
	if s.err != nil {
		giveUp(t, e, s.err)
	}
	return s.server
}
