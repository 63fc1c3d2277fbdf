package merge

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// side is one of the databases, on one connection.
type side struct {
	label   string // for messages
	dialect dialect.Dialect
	pool    *sql.DB
	conn    *sql.Conn
	catalog *catalog.Catalog
	source  string // that no other database has
	into    bool
	checks  string // SQLite's foreign_keys before
}

// sessions are the statements that make a connection read and write values as they are, whatever the server's settings.
var sessions = map[dialect.Dialect][]string{
	dialect.MySQL: {
		dialect.MySQL.ExactText(false),
		"SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES'",
		"SET SESSION unique_checks = 1, foreign_key_checks = 1",
	},
	dialect.Postgres: {dialect.Postgres.ExactText(false)},
}

// open takes a connection of a database, the number i.
func open(ctx context.Context, i int, db *gorm.DB) (*side, error) {
	s := &side{label: "Into", into: i == 0}
	if i > 0 {
		s.label = fmt.Sprintf("From %d", i)
	}
	if db == nil {
		return nil, fmt.Errorf("%w: %s is nil", ErrOption, s.label)
	}
	var ok bool
	if s.dialect, ok = dialect.Lookup(db.Name()); !ok {
		return nil, fmt.Errorf("%w: %s is of the dialect %q; databases of mysql, postgres and sqlite are merged", ErrOption, s.label, db.Name())
	}
	var err error
	if s.pool, err = db.DB(); err != nil {
		return nil, fmt.Errorf("%w: %s is no pool of connections: %w", ErrOption, s.label, err)
	}
	if s.catalog, err = catalog.New(s.pool, s.dialect); err != nil {
		return nil, err
	}
	server, err := s.catalog.Server(ctx)
	if err != nil {
		return nil, fmt.Errorf("merge: %s: %w", s.label, err)
	}
	if server.Name != "" {
		s.label += " (" + server.Name + ")"
	}
	digest := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", server.Kind, server.ID, server.Name))
	s.source = hex.EncodeToString(digest[:])
	return s, nil
}

// prepare takes the side's connection, which is its own until close.
func (s *side) prepare(ctx context.Context) (err error) {
	if s.conn, err = s.pool.Conn(ctx); err != nil {
		return fmt.Errorf("merge: %s: %w", s.label, err)
	}
	for _, statement := range sessions[s.dialect] {
		if _, err := s.conn.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("merge: %s: %s: %w", s.label, statement, err)
		}
	}
	if s.dialect == dialect.SQLite {
		if err := s.conn.QueryRowContext(ctx, "PRAGMA foreign_keys").Scan(&s.checks); err != nil {
			return fmt.Errorf("merge: %s: %w", s.label, err)
		}
	}
	s.catalog = s.catalog.Over(s.conn)
	return nil
}

// close gives the connection back, or ends it where its session is no longer what others expect.
func (s *side) close() {
	if s.conn == nil {
		return
	}
	if s.dialect != dialect.SQLite {
		dialect.Discard(s.conn)
	} else {
		_ = s.conn.Close()
	}
	s.conn = nil
}

// enforce turns the foreign keys of the connection on or off, where rows come before those that they refer to. It must not be in a transaction.
func (s *side) enforce(ctx context.Context, on bool) error {
	statement := map[dialect.Dialect]map[bool]string{
		dialect.MySQL:    {true: "SET SESSION foreign_key_checks = 1", false: "SET SESSION foreign_key_checks = 0"},
		dialect.Postgres: {true: "SET session_replication_role = origin", false: "SET session_replication_role = replica"},
		dialect.SQLite:   {true: "PRAGMA foreign_keys = " + s.checks, false: "PRAGMA foreign_keys = 0"},
	}[s.dialect][on]
	if _, err := s.conn.ExecContext(ctx, statement); err != nil {
		return fmt.Errorf("merge: %s: %s, which a table that refers to itself, or back, needs: use a user who may: %w", s.label, statement, err)
	}
	return nil
}

// each calls scan for each row of a query. It must not query on the same side.
func (s *side) each(ctx context.Context, q *statement, scan func(scan func(...any) error) error) error {
	if err := dialect.Each(ctx, s.conn, q.String(), q.args, func(rows *sql.Rows) error { return scan(rows.Scan) }); err != nil {
		return fmt.Errorf("merge: %s: %w", s.label, err)
	}
	return nil
}

// count returns the number that a query gives.
func (s *side) count(ctx context.Context, q *statement) (n int64, err error) {
	err = s.each(ctx, q, func(scan func(...any) error) error { return scan(&n) })
	return n, err
}
