package dbtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	// initialiseLimit bounds making a data folder. It takes half a second on an idle
	// machine; the rest is for many at a time on a slow one.
	initialiseLimit = 3 * time.Minute
	// readyLimit bounds the time from a server's start to its first answer.
	readyLimit = time.Minute
	// stopLimit bounds a shutdown in good order.
	stopLimit = time.Minute
)

// Server is a database server: a private one, or one that the environment names. Its
// methods may be called concurrently.
type Server struct {
	engine  engine
	admin   string // the administrator's DSN, for the driver
	version string
	shared  bool // among the tests of this process

	// Of a private server; the guard is nil otherwise.
	guard    *guard
	programs programs
	extra    []string // guarded by guard.mu
}

// StartMySQL starts a MariaDB or MySQL server for this test, with args added to its
// command line, such as "--auto-increment-offset=2". It is killed, and its data
// removed, when the test ends; when the test has failed, the end of its log is logged
// before. Settings that concern the making of the data folder do not work here.
func StartMySQL(t testing.TB, args ...string) *Server {
	t.Helper()
	return start(t, mysqlEngine{}, args)
}

// StartPostgres starts a PostgreSQL server for this test, with the given settings,
// such as "synchronous_commit=off". Its end is that of [StartMySQL].
func StartPostgres(t testing.TB, settings ...string) *Server {
	t.Helper()
	return start(t, postgresEngine{}, settings)
}

func start(t testing.TB, e engine, extra []string) *Server {
	t.Helper()
	checkRequired(t)
	s, err := newServer(e, programFolders, extra)
	if err != nil {
		giveUp(t, e, err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("dbtest: the end of the %s server's log:%s", e.kind(), s.logNote())
		}
		if err := s.guard.close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// newServer makes a data folder and starts a server on it. Its error is an
// *unavailableError where that is not possible on this machine.
func newServer(e engine, folders, extra []string) (*Server, error) {
	if err := guardSupported(e); err != nil {
		return nil, err
	}
	p, err := e.find(folders)
	if err != nil {
		return nil, err
	}
	g, err := startGuard("snowkey-" + e.kind() + "-")
	if err != nil {
		return nil, err
	}
	s := &Server{engine: e, admin: e.local(g.dir), guard: g, programs: p, extra: extra}
	if err := s.initialise(); err != nil {
		return nil, errors.Join(err, g.close())
	}
	if s.version, err = s.start(nil); err != nil {
		return nil, errors.Join(err, g.close())
	}
	return s, nil
}

// givenServer returns the running server that value, of the engine's variable, names.
func givenServer(e engine, value string) (*Server, error) {
	admin, err := e.given(value)
	if err != nil {
		return nil, err
	}
	s := &Server{engine: e, admin: admin}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if s.version, err = s.askVersion(ctx); err != nil {
		return nil, fmt.Errorf("dbtest: connecting to the server that %s names (%s): %w", e.variable(), e.redacted(admin), err)
	}
	return s, nil
}

func (s *Server) initialise() error {
	if err := s.guard.run(s.engine.initialise(s.programs, s.guard.dir), initialiseLimit); err != nil {
		return fmt.Errorf("dbtest: making a data folder for a %s server: %w; its log says:%s", s.engine.kind(), err, s.logNote())
	}
	// What it said is of no use any more.
	if err := os.Truncate(s.guard.log(), 0); err != nil {
		return fmt.Errorf("dbtest: emptying the log of the %s server: %w", s.engine.kind(), err)
	}
	return nil
}

// Start starts the server after Stop or Kill, on the same data and the same socket,
// and returns when it answers. When args are given, they replace the ones that it was
// started with before; without any, those are used again. If the server ends instead,
// the error has the end of its log.
func (s *Server) Start(args ...string) error {
	if err := s.own("start"); err != nil {
		return err
	}
	_, err := s.start(args)
	return err
}

// start starts the server, and returns its version when it answers.
func (s *Server) start(args []string) (version string, err error) {
	s.guard.mu.Lock()
	defer s.guard.mu.Unlock()
	kind := s.engine.kind()
	if running, _ := s.guard.running(); running {
		return "", fmt.Errorf("dbtest: cannot start the %s server: it is running already; stop or kill it before", kind)
	}
	if args != nil {
		s.extra = args
	}
	for _, path := range s.engine.leftovers(s.guard.dir) {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("dbtest: starting the %s server: %w", kind, err)
		}
	}
	if err := s.guard.start(s.engine.serve(s.programs, s.guard.dir, s.extra)); err != nil {
		return "", fmt.Errorf("dbtest: starting the %s server: %w", kind, err)
	}
	return s.ready()
}

// ready waits until the server answers, and returns its version. The caller holds
// guard.mu.
func (s *Server) ready() (version string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), readyLimit)
	defer cancel()
	kind := s.engine.kind()
	for {
		version, err := s.askVersion(ctx)
		if err == nil {
			return version, nil
		}
		if running, reason := s.guard.running(); !running {
			return "", fmt.Errorf("dbtest: the %s server does not start: %w; its log says:%s", kind, reason, s.logNote())
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("dbtest: the %s server did not answer within %v: %w; its log says:%s",
				kind, readyLimit, err, s.logNote())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// askVersion asks the server for its version on a connection of its own.
func (s *Server) askVersion(ctx context.Context) (string, error) {
	db, err := sql.Open(s.engine.driver(), s.admin)
	if err != nil {
		return "", err
	}
	defer db.Close()
	var text string
	if err := db.QueryRowContext(ctx, s.engine.versionQuery()).Scan(&text); err != nil {
		return "", err
	}
	return s.engine.version(text), nil
}

// Stop asks the server to end in good order, and returns when it has: connections are
// closed, committed data is written.
func (s *Server) Stop() error {
	return s.command("stop", func() error { return s.guard.stop(s.engine.stopSignal(), stopLimit) })
}

// Kill ends all processes of the server with SIGKILL, paused or not, and returns when
// they are gone.
func (s *Server) Kill() error { return s.command("kill", s.guard.kill) }

// Pause stops all processes of the server with SIGSTOP, and returns when they stand
// still. Clients then wait for answers, on old connections as on new ones.
func (s *Server) Pause() error { return s.command("pause", s.guard.pause) }

// Resume lets a paused server go on.
func (s *Server) Resume() error { return s.command("resume", s.guard.resume) }

// command does something to the running server, under the guard's lock.
func (s *Server) command(verb string, do func() error) error {
	if err := s.own(verb); err != nil {
		return err
	}
	s.guard.mu.Lock()
	defer s.guard.mu.Unlock()
	if err := do(); err != nil {
		return fmt.Errorf("dbtest: cannot %s the %s server: %w", verb, s.engine.kind(), err)
	}
	return nil
}

// own returns an error unless the server belongs to one test.
func (s *Server) own(verb string) error {
	switch {
	case s.guard == nil:
		return fmt.Errorf("dbtest: cannot %s the server that %s names, which is not the test's; start one with StartMySQL or StartPostgres",
			verb, s.engine.variable())
	case s.shared:
		return fmt.Errorf("dbtest: cannot %s the %s server that all tests share; start one with StartMySQL or StartPostgres",
			verb, s.engine.kind())
	}
	return nil
}

// Version returns the product and its version as the running server gives them, such
// as "MariaDB 10.11.6", "MySQL 8.0.36" or "PostgreSQL 15.6".
func (s *Server) Version() string { return s.version }

// Log returns the end of a private server's log, at most 60 lines of it, and "" for a
// server that the environment names.
func (s *Server) Log() string {
	if s.guard == nil {
		return ""
	}
	text, err := tail(s.guard.log())
	if err != nil {
		return "(no log: " + err.Error() + ")"
	}
	return text
}

// logNote is Log with indented lines, to stand in a message.
func (s *Server) logNote() string {
	text := strings.TrimSpace(s.Log())
	if text == "" {
		return "\n\t(nothing)"
	}
	return "\n\t" + strings.ReplaceAll(text, "\n", "\n\t")
}

// tail returns at most the last 60 lines and 16 KiB of a file.
func tail(path string) (string, error) {
	const lines, size = 60, 16 << 10
	file, err := os.Open(filepath.Clean(path))
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	buffer := make([]byte, min(size, info.Size()))
	n, err := file.ReadAt(buffer, info.Size()-int64(len(buffer)))
	if n < len(buffer) {
		return "", err
	}
	all := strings.SplitAfter(string(buffer), "\n")
	return strings.Join(all[max(0, len(all)-1-lines):], ""), nil
}
