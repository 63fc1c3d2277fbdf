package dbtest

import (
	"context"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbserver"
)

// Server is a database server: a test's own, one that the tests of this process share,
// or one that the environment names. Only the first can be stopped, killed, paused,
// started and closed; it is closed at the end of the test anyway. Its methods may be called concurrently.
type Server struct {
	*dbserver.Server
	kind   string
	shared bool // among the tests of this process
}

// StartMySQL starts a MariaDB or MySQL server for this test, with args added to its
// command line, such as "--auto-increment-offset=2". It is killed, and its data
// removed, when the test ends; when the test has failed, the end of its log is logged
// before. Settings that concern the making of the data folder do not work here.
func StartMySQL(t testing.TB, args ...string) *Server {
	t.Helper()
	return start(t, dbserver.MySQL, startCopy, args)
}

// StartPostgres starts a PostgreSQL server for this test, with the given settings,
// such as "synchronous_commit=off". Its end is that of [StartMySQL]. It has a system
// identifier of its own, so its data folder is made for it alone.
func StartPostgres(t testing.TB, settings ...string) *Server {
	t.Helper()
	return start(t, dbserver.Postgres, dbserver.Start, settings)
}

func start(t testing.TB, kind string, begin func(context.Context, string, ...string) (*dbserver.Server, error), settings []string) *Server {
	t.Helper()
	checkRequired(t)
	server, err := begin(t.Context(), kind, settings...)
	if err != nil {
		giveUp(t, kind, err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("dbtest: the end of the %s server's log:\n%s", kind, server.Log())
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return &Server{Server: server, kind: kind}
}
