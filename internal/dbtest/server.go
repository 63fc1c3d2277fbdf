package dbtest

import (
	"context"
	"fmt"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbserver"
)

// Server is a database server: a test's own, one that the tests of this process share,
// or one that the environment names. Only the first can be stopped, killed, paused and
// started. Its methods may be called concurrently.
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

// Start is [dbserver.Server.Start] for a test's own server.
func (s *Server) Start(settings ...string) error {
	return s.command("start", func() error { return s.Server.Start(settings...) })
}

// Stop is [dbserver.Server.Stop] for a test's own server.
func (s *Server) Stop() error { return s.command("stop", s.Server.Stop) }

// Kill is [dbserver.Server.Kill] for a test's own server.
func (s *Server) Kill() error { return s.command("kill", s.Server.Kill) }

// Pause is [dbserver.Server.Pause] for a test's own server.
func (s *Server) Pause() error { return s.command("pause", s.Server.Pause) }

// Resume is [dbserver.Server.Resume] for a test's own server.
func (s *Server) Resume() error { return s.command("resume", s.Server.Resume) }

// Close is [dbserver.Server.Close] for a test's own server, which is closed at the end
// of the test anyway.
func (s *Server) Close() error { return s.command("close", s.Server.Close) }

// command does something to the server if it belongs to one test.
func (s *Server) command(verb string, do func() error) error {
	switch {
	case !s.Private():
		return fmt.Errorf("dbtest: cannot %s the server that %s names, which is not the test's; start one with StartMySQL or StartPostgres",
			verb, variables[s.kind])
	case s.shared:
		return fmt.Errorf("dbtest: cannot %s the %s server that all tests share; start one with StartMySQL or StartPostgres", verb, s.kind)
	}
	return do()
}
