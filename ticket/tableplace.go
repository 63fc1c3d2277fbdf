package ticket

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// find is [counter.find]. Of a table that is gone the register says where it was.
func (n names) find(ctx context.Context, conn *sql.Conn) (dialect.Location, error) {
	at, err := n.locate(ctx, conn)
	if err == nil && !at.Exists && n.schema == "" {
		var register dialect.Location
		if register, err = n.dialect.LocateAt(ctx, conn, dialect.Place{Table: n.table + registerSuffix}); register.Exists {
			at.At.Schema = register.At.Schema
		}
	}
	if schema := at.At.Schema; err == nil && (strings.ContainsAny(schema, `'\`) || strings.Contains(schema, "$$")) {
		// Anybody who may make a schema in the database says how it is called, and statements have it in texts.
		err = fmt.Errorf("%w: the name of the schema %q has an apostrophe, a backslash or $$ in it", dialect.ErrNoPlace, schema)
	}
	return at, err
}

// locate asks the catalogue for the table, or the SEQUENCE, alone.
func (n names) locate(ctx context.Context, conn *sql.Conn) (dialect.Location, error) {
	if n.object != "" {
		return n.dialect.LocateSequence(ctx, conn, n.schema, n.object)
	}
	return n.dialect.LocateAt(ctx, conn, n.place())
}

// elsewhere adds a finding for another table of the name that has the sequence too, or may have it. The column has the sequence's name. It is a warning while a source draws from
// its own table, lest a copy that somebody makes ends the processes that run.
func (n names) elsewhere(ctx context.Context, conn *sql.Conn, c *condition, column string) error {
	meant := ", or name the schema that is meant"
	if n.named {
		meant = ""
	}
	for _, other := range c.place.Others {
		has, hidden, label, err := n.has(ctx, conn, other, column)
		if err != nil {
			return fmt.Errorf("looking for the sequence in %s: %w", other, err)
		}
		if n.isPeer(*c, label) {
			continue
		}
		text := ""
		switch {
		case has && c.row:
			text = fmt.Sprintf("the sequence %q is in %s as well as in %s, and numbers may come twice; end what draws from one of them, DROP that, and have Restore move the other beyond "+
				"all ids", n.sequence, other, c.place.At)
		case has:
			text = fmt.Sprintf("the sequence %q is in %s, and would begin anew in %s; name another sequence%s", n.sequence, other, c.place.At, meant)
		case hidden && !n.named:
			text = fmt.Sprintf("the sequence %q of %s may be in %s too, which %s may not read: %s%s",
				n.sequence, c.place.At, other, c.place.Role, strings.Join(n.grants(c.place.Role, other.Schema, n.dialect.QuotePlace(other), "SELECT"), "; "), meant)
		default:
			continue
		}
		c.twice = !n.settled || !c.row
		c.findf(unless(!c.twice, ErrTwoTables), "%s", text)
		return nil
	}
	return nil
}

// isPeer reports whether the layout is of another server in the same list, in a database of its own that the account sees as well.
func (n names) isPeer(c condition, label string) bool {
	theirs, moving, err := parseFrozen(label)
	if err != nil || theirs.number == n.number {
		return false
	}
	ours, frozen, err := parseFrozen(c.text)
	return !c.row || err == nil && (moving || frozen || ours.servers == theirs.servers && ours.unit == theirs.unit)
}

// has reports whether another table has the sequence, with which layout, and whether that is hidden from the user.
func (n names) has(ctx context.Context, conn *sql.Conn, other dialect.Place, column string) (has, hidden bool, label string, err error) {
	if n.object != "" {
		return true, false, "", nil
	}
	if n.dialect == Postgres { // where an error would end the transaction
		var readable, same bool
		err := one(ctx, conn, "SELECT has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT'), 2 = (SELECT count(*) FROM pg_attribute WHERE attrelid = c.oid"+
			" AND attname IN ($3, 'layout')) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2",
			[]any{other.Schema, other.Table, column}, &readable, &same)
		if errors.Is(err, sql.ErrNoRows) { // dropped meanwhile
			return false, false, "", nil
		}
		if err != nil || !same || !readable {
			return false, same, "", err
		}
	}
	for _, text := range []string{"COALESCE(layout, '')", "''"} { // the published table has no layout
		query := fmt.Sprintf("SELECT %s FROM %s WHERE %s = '%s'", text, n.dialect.QuotePlace(other), column, n.sequence)
		err = dialect.Each(ctx, conn, query, nil, func(rows *sql.Rows) error {
			has = true
			return rows.Scan(&label)
		})
		if kind := n.dialect.Class(err); kind == dialect.Denied {
			return false, true, "", nil
		} else if kind != dialect.Missing {
			return has, false, label, err
		}
	}
	return false, false, "", nil // it has other columns, or was dropped meanwhile
}

// grants are the statements that let the role do what is said with an object in a schema.
func (n names) grants(role, schema, object, verbs string) (statements []string) {
	if n.dialect == Postgres {
		statements = []string{"GRANT USAGE ON SCHEMA " + n.dialect.QuoteAny(schema) + " TO " + role}
	}
	return append(statements, "GRANT "+verbs+" ON "+object+" TO "+role)
}

// rights are the statements that let the role draw from the table, or the SEQUENCE, and use the register; or make them.
func (n names) rights(at dialect.Location, create bool) []string {
	placed := n.to(at.At.Schema)
	object := placed.quoted()
	if n.object != "" {
		object = "SEQUENCE " + placed.quote(n.object)
	}
	schema := n.dialect.QuoteAny(at.At.Schema)
	switch {
	case at.Role == "":
		return nil
	case create && n.dialect == Postgres:
		return []string{"GRANT USAGE, CREATE ON SCHEMA " + schema + " TO " + at.Role}
	case create:
		return []string{"GRANT CREATE, SELECT, INSERT, UPDATE, DELETE ON " + schema + ".* TO " + at.Role}
	}
	return append(n.grants(at.Role, at.At.Schema, object, n.verbs), "GRANT SELECT, INSERT ON "+placed.register()+" TO "+at.Role)
}

// inspect looks at what the server tells about itself and the sequence, and notes where the table is.
func (s *server) inspect(ctx context.Context, conn *sql.Conn) (condition, error) {
	c, err := s.sql().inspect(ctx, conn)
	s.note(c)
	return c, err
}

// sql returns the counter of the table where it was found.
func (s *server) sql() counter {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.schema == "" {
		return s.counter(s.names)
	}
	return s.in(s.schema)
}

// in returns the counter of the table in a schema.
func (s *server) in(schema string) counter { return s.counter(s.names.to(schema)) }

// note settles on the table that has the row. On MySQL it is in the database of the first session, whether or not it is there.
func (s *server) note(c condition) {
	if c.place.At == (dialect.Place{}) {
		return // not known
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.place = c.place
	if s.schema == "" && (c.row && !c.twice || s.dialect == MySQL) {
		s.schema = c.place.At.Schema
	}
}

// deny makes an error of a user without a right one that says which statements give it.
func (s *server) deny(err error, create bool) *ServerError {
	s.mu.Lock()
	at := s.place
	s.mu.Unlock()
	code := s.dialect.Code(err)
	err = fmt.Errorf("%w: the user has not the right to: %w", ErrTable, err)
	switch code {
	case "42501", "1142", "1143", "1044": // others are of logging in
		if rights := s.names.rights(at, create); len(rights) > 0 {
			where := at.At.String()
			if !create && !at.Exists { // or is not shown by MySQL
				where += ", where it is there,"
			}
			err = fmt.Errorf("%w; on %s it takes:\n%s", err, where, strings.Join(rights, ";\n"))
		}
	}
	return &ServerError{Server: s.name, Class: Permanent, Err: err, lost: code == ""}
}
