package ticket

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// replaceCounter draws single tickets from a table whose column id counts by itself, as Flickr published it, on MySQL, MariaDB and SQLite.
type replaceCounter struct {
	names
	of int64 // servers, for a table that says no layout
}

var _ counter = replaceCounter{}

func (r replaceCounter) tables() []table {
	columns := " (id bigint unsigned NOT NULL AUTO_INCREMENT, stub varchar(64) NOT NULL, layout varchar(32) NOT NULL, PRIMARY KEY (stub), UNIQUE KEY (id))"
	if r.dialect == SQLite {
		// Numbers that count by themselves have to be the primary key there.
		columns = " (id integer PRIMARY KEY AUTOINCREMENT, stub varchar(64) NOT NULL UNIQUE, layout varchar(32) NOT NULL)"
	}
	return []table{{r.table, "CREATE TABLE IF NOT EXISTS " + r.quoted() + columns + r.tableOptions()}, r.registerTable()}
}

func (r replaceCounter) row(text string, after int64) []string {
	columns, values := "stub, layout", fmt.Sprintf("'%s', '%s'", r.sequence, text)
	if text == "" { // the published table
		columns, values = "stub", fmt.Sprintf("'%s'", r.sequence)
	}
	switch {
	case after != 0:
		return []string{fmt.Sprintf("INSERT INTO %s (id, %s) VALUES (%s, %s)", r.quoted(), columns, numberText(after), values)}
	case r.dialect == SQLite:
		// The first ticket is 1, and sqlite_sequence has the table from the beginning.
		return []string{fmt.Sprintf("INSERT INTO %[1]s (id, %[2]s) SELECT COALESCE(MAX(id), 0) + (COUNT(*) > 0), %[3]s FROM %[1]s", r.quoted(), columns, values)}
	default:
		return []string{fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", r.quoted(), columns, values)}
	}
}

func (r replaceCounter) inspect(ctx context.Context, conn *sql.Conn) (c condition, err error) {
	c.limit = math.MaxInt64
	err = r.examine(ctx, conn, &c, "stub", func(session dialect.MySQLSession) error {
		if err := r.inspectTable(ctx, conn, &c); err != nil || !c.table || c.foreign {
			return err
		}
		if err := r.inspectRow(ctx, conn, &c); err != nil || r.dialect != MySQL {
			return err
		}
		return r.inspectOffset(ctx, conn, &c, session)
	})
	return c, err
}

// inspectTable adds what the table is like.
func (r replaceCounter) inspectTable(ctx context.Context, conn *sql.Conn, c *condition) error {
	columns, err := r.columns(ctx, conn)
	if err != nil || len(columns) == 0 {
		return err
	}
	c.table = true
	id, stub := columns["id"], columns["stub"]
	if id.kind == "" || stub.kind == "" {
		c.foreign = true
		c.findf(ErrTable, "the table %s has not the columns id and stub; give the sequences a table of their own", r.names)
		return nil
	}
	_, layout := columns["layout"]
	c.bare = !layout
	if stub.width > 0 && stub.width < int64(len(r.sequence)) {
		c.findf(ErrTable, "the column stub of %s holds %d characters, the sequence %q has %d", r.names, stub.width, r.sequence, len(r.sequence))
	}
	bits := map[string]int{"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "integer": 32, "bigint": 64}[id.kind]
	if r.dialect == MySQL {
		switch {
		case bits == 0:
			c.findf(ErrTable, "the column id of %s is of the type %s; make it bigint", r.names, id.kind)
		case bits < 64:
			c.limit = 1<<(bits-1) - 1
			if id.unsigned {
				c.limit = 1<<bits - 1
			}
			c.findf(nil, "the column id of %s is of the type %s, and ends at %d; make it bigint", r.names, id.kind, c.limit)
		}
	}
	if err := r.inspectKeys(ctx, conn, c); err != nil {
		return err
	}
	return r.storage(ctx, conn, c)
}

// inspectKeys adds what the keys of the table are like.
func (r replaceCounter) inspectKeys(ctx context.Context, conn *sql.Conn, c *condition) error {
	keys, err := r.uniqueKeys(ctx, conn)
	if err != nil {
		return err
	}
	unique := false
	for _, key := range keys {
		unique = unique || key == "stub"
	}
	switch {
	case !unique:
		c.findf(ErrTable, "the table %s has no unique key on stub, so that REPLACE would add rows; ALTER TABLE %s ADD UNIQUE KEY (stub)", r.names, r.quoted())
	case r.dialect == MySQL && keys[0] == "id":
		c.findf(nil, "the table %s has PRIMARY KEY (id) and UNIQUE KEY (stub), as published: each REPLACE leaves an entry that the next ones wait for, so that a server "+
			"gives about an eighth of the tickets; ALTER TABLE %s DROP PRIMARY KEY, DROP KEY stub, ADD PRIMARY KEY (stub), ADD UNIQUE KEY (id)", r.names, r.quoted())
	}
	return nil
}

// inspectRow adds what the row says.
func (r replaceCounter) inspectRow(ctx context.Context, conn *sql.Conn, c *condition) error {
	text := "COALESCE(layout, '')"
	if c.bare {
		text = "''"
	}
	var id, at uint64
	switch err := one(ctx, conn, fmt.Sprintf("SELECT id, (SELECT MAX(id) FROM %[2]s), %[1]s FROM %[2]s WHERE stub = '%[3]s'", text, r.quoted(), r.sequence),
		nil, &id, &at, &c.text); {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("reading the row: %w", err)
	}
	c.row = true
	c.last, c.at = int64(min(id, math.MaxInt64)), int64(min(at, math.MaxInt64))
	if c.bare {
		c.text = layout{number: r.number, servers: r.of, unit: 1}.String()
	}
	if r.dialect == SQLite {
		return r.inspectCounter(ctx, conn, c)
	}
	return nil
}

// inspectOffset adds whether the server's variables are those of the layout.
func (r replaceCounter) inspectOffset(ctx context.Context, conn *sql.Conn, c *condition, s dialect.MySQLSession) error {
	l, frozen, err := parseFrozen(c.text)
	if err != nil || frozen || l.servers == 1 || s.Increment == l.servers && s.Offset == l.number {
		return nil
	}
	// What was read of the server may be older than the row: Resize sets the variables, and then the layout.
	if err := one(ctx, conn, "SELECT @@global.auto_increment_increment, @@global.auto_increment_offset", nil, &s.ServerIncrement, &s.ServerOffset); err != nil {
		return fmt.Errorf("reading the settings: %w", err)
	}
	if s.ServerIncrement == l.servers && s.ServerOffset == l.number {
		c.stale = true
	}
	c.offset = l.number == r.number
	first := ""
	if s.Galera != nil && s.Galera.ControlsNumbers {
		first = "a Galera cluster sets them by its size: set wsrep_auto_increment_control to OFF first, and "
	}
	c.findf(ErrLayout, "auto_increment_increment is %d and auto_increment_offset %d, want %d and %d; %sset them in the server's configuration, and with SET GLOBAL",
		s.Increment, s.Offset, l.servers, l.number, first)
	return nil
}

// inspectCounter adds what SQLite's counter of the table is at.
func (r replaceCounter) inspectCounter(ctx context.Context, conn *sql.Conn, c *condition) error {
	if c.bare && r.of > 1 {
		c.findf(ErrLayout, "the table %s has no column layout, so that nothing says which server's numbers are in it; give the sequences a table of their own", r.names)
	}
	var made string
	if err := one(ctx, conn, fmt.Sprintf("SELECT COALESCE(sql, '') FROM %s.sqlite_master WHERE type = 'table' AND name = '%s' COLLATE NOCASE", r.dialect.QuoteAny(r.schema), r.table), nil,
		&made); err != nil {
		return fmt.Errorf("asking how %s was made: %w", r.names, err)
	}
	if !strings.Contains(strings.ToUpper(made), "AUTOINCREMENT") {
		c.findf(ErrTable, "the column id of %s is not AUTOINCREMENT, so that numbers would come again; make it integer PRIMARY KEY AUTOINCREMENT", r.names)
		return nil
	}
	if err := one(ctx, conn, r.counter(), nil, &c.at); err != nil {
		return fmt.Errorf("reading the counter of %s: %w", r.names, err)
	}
	return nil
}

// counter is the query for the greatest number that SQLite's table has come to: by its own count, which knows numbers of rows that are gone, and by its
// rows, of which one may have been moved forward by hand.
func (r replaceCounter) counter() string {
	return fmt.Sprintf("SELECT MAX(COALESCE(MAX(id), 0), COALESCE((SELECT seq FROM %s.sqlite_sequence WHERE name = '%s' COLLATE NOCASE), 0)) AS at FROM %s",
		r.dialect.QuoteAny(r.schema), r.table, r.quoted())
}

// matching is the condition that the row is as the order says.
func (r replaceCounter) matching(o order) string {
	text := fmt.Sprintf("stub = '%s' AND id >= %d", r.sequence, o.last)
	if !o.bare {
		text += " AND layout = '" + o.layout.String() + "'"
	}
	if r.dialect != MySQL {
		return text
	}
	text += ownTransaction
	if o.layout.servers > 1 {
		text += fmt.Sprintf(" AND @@auto_increment_increment = %d AND @@auto_increment_offset = %d", o.layout.servers, o.layout.number)
	}
	if !r.unsafe {
		text += mysqlFlushed
	}
	return text
}

// statement is what draws a ticket.
func (r replaceCounter) statement(o order) string {
	columns := stubColumns(o)
	if r.dialect == MySQL {
		return fmt.Sprintf("REPLACE INTO %[1]s (%[2]s) SELECT %[2]s FROM %[1]s WHERE %[3]s FOR UPDATE", r.quoted(), columns, r.matching(o))
	}
	n, k := o.layout.servers, o.layout.number
	next := fmt.Sprintf("c.at + 1 + (%[2]d - (c.at + 1) %% %[1]d + %[1]d) %% %[1]d", n, k%n)
	return fmt.Sprintf("REPLACE INTO %[1]s (id, %[2]s) SELECT %[3]s, %[2]s FROM %[1]s, (%[4]s) AS c WHERE %[5]s AND c.at <= %[6]d",
		r.quoted(), columns, next, r.counter(), r.matching(o), o.limit-min(n, o.limit))
}

func (r replaceCounter) draw(ctx context.Context, conn *sql.Conn, o order) (span, error) {
	replaced := int64(1)
	if r.dialect == MySQL {
		replaced = 2 // one is deleted, one added
	}
	result, err := conn.ExecContext(ctx, r.statement(o))
	if err != nil {
		return span{}, err
	}
	switch changed, err := result.RowsAffected(); {
	case err != nil:
		return span{}, err
	case changed == 0:
		return span{}, errUnmatched
	case changed != replaced:
		return span{}, fmt.Errorf("%w: %d rows changed for the sequence %q, want %d, as with a unique key on stub", ErrTable, changed, r.sequence, replaced)
	}
	id, err := result.LastInsertId()
	if err != nil {
		return span{}, err
	}
	if id == 0 {
		return span{}, fmt.Errorf("%w: the statement gave no number; the column id has to be AUTO_INCREMENT, and no trigger may set it", ErrTable)
	}
	if id < 0 { // beyond 2^63-1
		return span{}, &ExhaustedError{Limit: math.MaxInt64, Err: fmt.Errorf("the ticket is %d", uint64(id))}
	}
	return span{first: id, unit: 1, jump: o.layout.jump(), units: 1}, nil
}

func stubColumns(o order) string {
	if o.bare {
		return "stub"
	}
	return "stub, layout"
}

func (r replaceCounter) fence(ctx context.Context, conn *sql.Conn, o order) error {
	return r.raise(ctx, conn, stubColumns(o), r.matching(o), o.high)
}

// raise stores a greater number in the row itself, which moves the counter forward and never back. It does nothing where a row has as much, and the
// counter therefore is beyond it.
func (r replaceCounter) raise(ctx context.Context, conn *sql.Conn, columns, matching string, floor int64) error {
	text := fmt.Sprintf("REPLACE INTO %[1]s (id, %[2]s) SELECT %[3]d, %[2]s FROM %[1]s WHERE %[4]s AND id < %[3]d AND NOT EXISTS (SELECT 1 FROM %[1]s AS other WHERE other.id >= %[3]d)",
		r.quoted(), columns, floor, matching)
	if r.dialect == MySQL {
		text += " FOR UPDATE"
	}
	_, err := conn.ExecContext(ctx, text)
	return err
}

func (r replaceCounter) freeze(ctx context.Context, conn *sql.Conn, from, to layout) error {
	return r.relabel(ctx, conn, from.String(), to.frozen())
}

func (r replaceCounter) thaw(ctx context.Context, conn *sql.Conn, to layout, floor int64) error {
	if err := r.setOffset(ctx, conn, to); err != nil {
		return err
	}
	matching := fmt.Sprintf("stub = '%s' AND layout = '%s'", r.sequence, to.frozen())
	if err := r.raise(ctx, conn, "stub, layout", matching, floor); err != nil {
		return err
	}
	return r.relabel(ctx, conn, to.frozen(), to.String())
}

func (r replaceCounter) relabel(ctx context.Context, conn *sql.Conn, from, to string) error {
	_, err := conn.ExecContext(ctx, fmt.Sprintf("UPDATE %s SET layout = '%s' WHERE stub = '%s' AND layout = '%s'", r.quoted(), to, r.sequence, from))
	return err
}

// hasOffset reports whether the server gives the sessions to come the layout's increment and offset, as far as these matter.
func (r replaceCounter) hasOffset(ctx context.Context, conn *sql.Conn, of layout) (bool, error) {
	if r.dialect != MySQL || of.servers == 1 {
		return true, nil
	}
	s, err := dialect.ReadMySQLSession(ctx, conn)
	return s.ServerIncrement == of.servers && s.ServerOffset == of.number, err
}

// setOffset gives the sessions to come the layout's increment and offset.
func (r replaceCounter) setOffset(ctx context.Context, conn *sql.Conn, to layout) error {
	if has, err := r.hasOffset(ctx, conn, to); has || err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("SET GLOBAL auto_increment_increment = %d, GLOBAL auto_increment_offset = %d", to.servers, to.number)); err != nil {
		return fmt.Errorf("%w: auto_increment_increment has to become %d and auto_increment_offset %d, for new sessions and in the server's configuration: %w",
			ErrLayout, to.servers, to.number, err)
	}
	return nil
}

// preflight reports whether thaw will be allowed to do its work.
func (r replaceCounter) preflight(ctx context.Context, conn *sql.Conn, to layout) error {
	if has, err := r.hasOffset(ctx, conn, to); has || err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, "SET GLOBAL auto_increment_increment = @@global.auto_increment_increment"); err != nil {
		return fmt.Errorf("%w: who may set them has to run SET GLOBAL auto_increment_increment = %d, GLOBAL auto_increment_offset = %d first: %w",
			ErrLayout, to.servers, to.number, err)
	}
	return nil
}
