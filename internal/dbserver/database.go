package dbserver

import (
	"context"
	"database/sql/driver"
	"fmt"
)

// Database is one database of a server.
type Database struct {
	Kind       string // "mysql" or "postgres"; "sqlite" for those that need no server, as tests have
	DSN        string // as snowkey takes it: mysql:DSN or postgres://…
	DriverName string // for sql.Open: "mysql" or "pgx"; both are registered
	DriverDSN  string // for sql.Open: DSN as the driver takes it
}

// Redacted is the DSN with its password masked.
func (d Database) Redacted() string {
	e, err := engineOf(d.Kind)
	if err != nil {
		return d.DSN // SQLite has no password
	}
	return e.redacted(d.DriverDSN)
}

// Database makes a new, empty database with the name, which has letters, digits and
// underscores only, and at most 63 of them.
func (s *Server) Database(ctx context.Context, name string) (Database, error) {
	if err := s.execute(ctx, s.engine.create(name)); err != nil {
		return Database{}, fmt.Errorf("dbserver: creating database %s on %s: %w", name, s.version, err)
	}
	return s.engine.database(s.admin, name)
}

// Named returns a database of that name, which need not be there, as the administrator reaches it.
func (s *Server) Named(name string) (Database, error) { return s.engine.database(s.admin, name) }

// Drop removes the database with the name, and all that is in it. On MySQL it fails
// after ten seconds while a transaction in it is open.
func (s *Server) Drop(ctx context.Context, name string) error {
	if err := s.execute(ctx, s.engine.drop(name)); err != nil {
		return fmt.Errorf("dbserver: dropping database %s: %w", name, err)
	}
	return nil
}

// execute runs statements on one connection as the server's administrator, in order.
func (s *Server) execute(ctx context.Context, statements []string) (err error) {
	var conn driver.Conn
	if s.keepsSession() {
		s.session.Lock()
		defer s.session.Unlock()
		conn = s.session.conn
	}
	if conn == nil {
		connector, err := s.engine.connector(s.admin)
		if err != nil {
			return err
		}
		if conn, err = connector.Connect(ctx); err != nil {
			return err
		}
	}
	defer func() {
		switch {
		case s.keepsSession() && err == nil:
			s.session.conn = conn
			return
		case s.keepsSession():
			s.session.conn = nil
		}
		_ = conn.Close() // the statements are done, or their error says more
	}()
	for _, statement := range statements {
		if _, err := conn.(driver.ExecerContext).ExecContext(ctx, statement, nil); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// keepsSession reports whether the administrator's connection stays open for the next statements. A connection costs PostgreSQL as much as a database
// does. The other servers may be stopped, and MySQL's driver has a goroutine for each connection, which tests would find.
func (s *Server) keepsSession() bool {
	return s.engine.kind() == Postgres && s.Private() && s.lent != ""
}
