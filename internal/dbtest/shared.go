package dbtest

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbserver"
)

// variables are the environment variables that name a running server, by its kind.
var variables = map[string]string{dbserver.MySQL: "SNOWKEY_TEST_MYSQL", dbserver.Postgres: "SNOWKEY_TEST_POSTGRES"}

const startOne = "start one with StartMySQL or StartPostgres"

// connectLimit bounds connecting to the server that the environment names.
const connectLimit = 20 * time.Second

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
	return sharedMySQL.get(t, dbserver.MySQL)
}

// PostgresServer is like [MySQLServer], for PostgreSQL and SNOWKEY_TEST_POSTGRES.
func PostgresServer(t testing.TB) *Server {
	t.Helper()
	return sharedPostgres.get(t, dbserver.Postgres)
}

func (s *shared) get(t testing.TB, kind string) *Server {
	t.Helper()
	checkRequired(t)
	if value := os.Getenv(variables[kind]); value != "" {
		ctx, cancel := context.WithTimeout(context.Background(), connectLimit)
		defer cancel()
		server, err := dbserver.Connect(ctx, kind, value)
		if err != nil {
			t.Fatalf("dbtest: the server that %s names: %v", variables[kind], err)
		}
		server.Lend("which " + variables[kind] + " names, and which ran already; " + startOne)
		return &Server{Server: server, kind: kind}
	}
	s.once.Do(func() {
		var server *dbserver.Server
		if server, s.err = startCopy(context.Background(), kind); s.err == nil {
			server.Lend("which all tests share; " + startOne)
			s.server = &Server{Server: server, kind: kind, shared: true}
		}
	})
	if s.err != nil {
		giveUp(t, kind, s.err)
	}
	return s.server
}
