package dbserver

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
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

// Server is a database server: a private one, or one that runs already. Its methods
// may be called concurrently.
type Server struct {
	engine  engine
	admin   string // the administrator's DSN, for the driver
	version string
	lent    string // why it may not be stopped, "" if it may
	session struct {
		sync.Mutex
		conn driver.Conn // of the administrator, guarded by Mutex; nil unless keepsSession
	}

	// Of a private server; the guard is nil otherwise.
	guard    *guard
	programs programs
	extra    []string // guarded by guard.mu
}

// Start starts a private server of the kind, [MySQL] or [Postgres], and returns when it
// answers. The settings are added to what it is started with: arguments for MySQL, such
// as "--auto-increment-offset=2", and NAME=VALUE for PostgreSQL, such as
// "synchronous_commit=off". Those that concern the making of the data folder do not
// work here. The error is an [*UnavailableError] where this machine lacks what it
// needs, and the context's cause when that ends before the server answers; nothing of
// it is left then. Without [Server.Close] the server and its folder go with this
// process.
func Start(ctx context.Context, kind string, settings ...string) (*Server, error) {
	return start(ctx, kind, settings, func(s *Server) error { return s.initialise(ctx) })
}

// start starts a server whose data folder fill fills.
func start(ctx context.Context, kind string, settings []string, fill func(*Server) error) (*Server, error) {
	e, err := engineOf(kind)
	if err != nil {
		return nil, err
	}
	return startEngine(ctx, e, settings, fill)
}

// startEngine starts a server of an engine.
func startEngine(ctx context.Context, e engine, settings []string, fill func(*Server) error) (*Server, error) {
	kind := e.kind()
	if err := guardSupported(kind); err != nil {
		return nil, err
	}
	p, err := e.find(programFolders)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, stopped(ctx, kind)
	}
	g, err := startGuard("snowkey-" + kind + "-")
	if err != nil {
		return nil, err
	}
	s := &Server{engine: e, admin: e.local(g.dir), guard: g, programs: p, extra: settings}
	g.mu.Lock()
	if err = fill(s); err == nil {
		s.version, err = s.start(ctx, nil)
	}
	g.mu.Unlock()
	if ctx.Err() != nil {
		err = stopped(ctx, kind)
	}
	if err != nil {
		return nil, errors.Join(err, g.close())
	}
	return s, nil
}

// stopped is the error of a start that the context's end has stopped.
func stopped(ctx context.Context, kind string) error {
	return fmt.Errorf("dbserver: starting a %s server: %w", kind, context.Cause(ctx))
}

// Connect returns a server of the kind that runs already: for MySQL a DSN of
// github.com/go-sql-driver/mysql names it, with or without "mysql:" before it, for
// PostgreSQL a postgres:// URL. The user should be allowed to create databases. The
// server cannot be stopped, killed or paused. No error has the password.
func Connect(ctx context.Context, kind, dsn string) (*Server, error) {
	e, err := engineOf(kind)
	if err != nil {
		return nil, err
	}
	admin, err := e.given(dsn)
	if err != nil {
		return nil, err
	}
	s := &Server{engine: e, admin: admin, lent: "which ran already"}
	if s.version, err = s.askVersion(ctx); err != nil {
		return nil, fmt.Errorf("dbserver: connecting to %s: %w", e.redacted(admin), err)
	}
	return s, nil
}

// Close kills a private server, removes its folder, and returns when all of it is gone.
// A second call does nothing, nor does one for a server that was not started here.
func (s *Server) Close() error {
	if s.guard == nil {
		return nil
	}
	if err := s.own("close"); err != nil {
		return err
	}
	return s.guard.close()
}

// Lend has all methods fail that start, stop or pause the server, because several share it. The reason ends the sentence that they cannot do so to the server.
func (s *Server) Lend(reason string) { s.lent = reason }

// Private reports whether [Start] has started the server.
func (s *Server) Private() bool { return s.guard != nil }

// initialise has the server's own program fill the data folder. It is the server meanwhile, so that all that can happen to a server can happen to it.
func (s *Server) initialise(ctx context.Context) error {
	command := s.engine.initialise(s.programs, s.guard.dir)
	_, err := s.guard.ask(request{Command: command})
	if err == nil {
		var ended string
		if ended, err = s.guard.wait(ctx, initialiseLimit); err == nil && ended != "exit status 0" {
			err = errors.New(ended)
		}
	}
	if err != nil {
		return fmt.Errorf("dbserver: making a data folder for a %s server: %s: %w; its log says:%s", s.engine.kind(), command[0], err, s.logNote())
	}
	// What it said is of no use any more.
	if err := os.Truncate(s.guard.log(), 0); err != nil {
		return fmt.Errorf("dbserver: emptying the log of the %s server: %w", s.engine.kind(), err)
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
	s.guard.mu.Lock()
	defer s.guard.mu.Unlock()
	_, err := s.start(context.Background(), args)
	return err
}

// start starts the server, and returns its version when it answers. The caller holds guard.mu.
func (s *Server) start(ctx context.Context, args []string) (version string, err error) {
	kind := s.engine.kind()
	if answer, _ := s.guard.ask(request{}); answer.PID != 0 {
		return "", fmt.Errorf("dbserver: cannot start the %s server: it is running already; stop or kill it before", kind)
	}
	if args != nil {
		s.extra = args
	}
	for _, path := range s.engine.leftovers(s.guard.dir) {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("dbserver: starting the %s server: %w", kind, err)
		}
	}
	if _, err := s.guard.ask(request{Command: s.engine.serve(s.programs, s.guard.dir, s.extra)}); err != nil {
		return "", fmt.Errorf("dbserver: starting the %s server: %w", kind, err)
	}
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	for {
		version, err := s.askVersion(ctx)
		if err == nil {
			return version, nil
		}
		if answer, guardErr := s.guard.ask(request{}); answer.PID == 0 {
			return "", fmt.Errorf("dbserver: the %s server does not start: %w; its log says:%s", kind, cmp.Or(guardErr, errors.New(answer.Ended)), s.logNote())
		}
		if !pause(ctx) {
			return "", fmt.Errorf("dbserver: the %s server did not answer within %v: %w; its log says:%s", kind, readyLimit, err, s.logNote())
		}
	}
}

// askVersion asks the server for its version on a connection of its own.
func (s *Server) askVersion(ctx context.Context) (string, error) {
	connector, err := s.engine.connector(s.admin)
	if err != nil {
		return "", err
	}
	db := sql.OpenDB(connector)
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
	return s.command("stop", func(g *guard) error {
		_, err := g.ask(request{Signal: s.engine.stopSignal()})
		if err == nil {
			_, err = g.wait(context.Background(), stopLimit)
		}
		return err
	})
}

// Kill ends all processes of the server with SIGKILL, paused or not, and returns when
// they are gone.
func (s *Server) Kill() error { return s.send("kill", syscall.SIGKILL) }

// Pause stops all processes of the server with SIGSTOP, and returns when they stand
// still. Clients then wait for answers, on old connections as on new ones.
func (s *Server) Pause() error { return s.send("pause", sigstop) }

// Resume lets a paused server go on.
func (s *Server) Resume() error { return s.send("resume", sigcont) }

func (s *Server) send(verb string, signal syscall.Signal) error {
	return s.command(verb, func(g *guard) error {
		_, err := g.ask(request{Signal: signal})
		return err
	})
}

// command does something to the running server, under the guard's lock.
func (s *Server) command(verb string, do func(*guard) error) error {
	if err := s.own(verb); err != nil {
		return err
	}
	s.guard.mu.Lock()
	defer s.guard.mu.Unlock()
	if err := do(s.guard); err != nil {
		return fmt.Errorf("dbserver: cannot %s the %s server: %w", verb, s.engine.kind(), err)
	}
	return nil
}

// own returns an error unless the server was started here, for its owner alone.
func (s *Server) own(verb string) error {
	if s.lent != "" {
		return fmt.Errorf("dbserver: cannot %s the %s server, %s", verb, s.engine.kind(), s.lent)
	}
	return nil
}

// Version returns the product and its version as the running server gives them, such
// as "MariaDB 10.11.6", "MySQL 8.0.36" or "PostgreSQL 15.6".
func (s *Server) Version() string { return s.version }

// Log returns the end of a private server's log, at most 60 lines of it, and "" for a
// server that ran already.
func (s *Server) Log() string {
	if s.guard == nil {
		return ""
	}
	text, err := os.ReadFile(s.guard.log())
	if err != nil {
		return "(no log: " + err.Error() + ")"
	}
	lines := strings.SplitAfter(string(text), "\n") // with an empty one after the last
	return strings.Join(lines[max(0, len(lines)-1-60):], "")
}

// logNote is Log with indented lines, to stand in a message.
func (s *Server) logNote() string {
	text := strings.TrimSpace(s.Log())
	if text == "" {
		return "\n\t(nothing)"
	}
	return "\n\t" + strings.ReplaceAll(text, "\n", "\n\t")
}
