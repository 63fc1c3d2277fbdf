package ticket

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// sequenceCounter draws single tickets from a SEQUENCE of PostgreSQL. Its comment has the layout.
type sequenceCounter struct{ names }

var _ counter = sequenceCounter{}

// maxSequenceName is how long the name of the SEQUENCE may be: PostgreSQL cuts longer ones off.
const maxSequenceName = 63

// object is the SEQUENCE's name, quoted.
func (s sequenceCounter) object() string {
	return s.quote(s.names.object)
}

func (s sequenceCounter) tables() []table { return []table{s.registerTable()} }

func (s sequenceCounter) row(text string, after int64) []string {
	l, frozen, _ := parseFrozen(text) // which made the text
	start, _ := l.after(after)
	statements := []string{
		fmt.Sprintf("CREATE SEQUENCE %s INCREMENT BY %d MINVALUE 0 START WITH %d", s.object(), l.servers, start),
		fmt.Sprintf("COMMENT ON SEQUENCE %s IS '%s'", s.object(), text),
	}
	if after == openNumber { // the next one is the first of the server's that is greater than what is filled in, or one further on
		statements = append(statements, fmt.Sprintf("SELECT setval('%s', ? / %[2]d * %[2]d + %[3]d)", s.object(), l.servers, l.number))
	}
	if frozen {
		statements = append(statements, fmt.Sprintf("SELECT nextval('%s')", s.object()), fmt.Sprintf("ALTER SEQUENCE %s MAXVALUE %d", s.object(), start))
	}
	return statements
}

func (s sequenceCounter) inspect(ctx context.Context, conn *sql.Conn) (c condition, err error) {
	c.table = true
	err = s.examine(ctx, conn, &c, "", func(dialect.MySQLSession) error {
		var start, increment, cache int64
		var cycle bool
		var persistence, kind string
		err := one(ctx, conn, "SELECT c.relkind::text, c.relpersistence::text, s.seqstart, s.seqincrement, s.seqmax, s.seqcache, s.seqcycle, COALESCE(obj_description(c.oid, 'pg_class'), '')"+
			" FROM pg_class AS c JOIN pg_sequence AS s ON s.seqrelid = c.oid WHERE c.oid = "+regclass(s.object()), nil,
			&kind, &persistence, &start, &increment, &c.limit, &cache, &cycle, &c.text)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return nil
		case err != nil:
			return fmt.Errorf("asking for the SEQUENCE: %w", err)
		}
		c.row = true
		return s.inspectSequence(ctx, conn, &c, start, increment, cache, cycle, persistence)
	})
	return c, err
}

// inspectSequence adds what the SEQUENCE is like.
func (s sequenceCounter) inspectSequence(ctx context.Context, conn *sql.Conn, c *condition, start, increment, cache int64, cycle bool, persistence string) error {
	var called bool
	if err := one(ctx, conn, "SELECT last_value, is_called FROM "+s.object(), nil, &c.last, &called); err != nil {
		return fmt.Errorf("reading the SEQUENCE: %w", err)
	}
	if !called {
		c.last = max(0, c.last-1)
	}
	if increment < 1 || start < 0 {
		c.findf(ErrLayout, "the SEQUENCE %s is INCREMENT BY %d START WITH %d; both have to be positive", s.object(), increment, start)
		return nil
	}
	numbers := layout{number: (start+increment-1)%increment + 1, servers: increment, unit: 1}
	l, frozen, err := parseFrozen(c.text)
	switch {
	case c.text == "" || err != nil: // a comment for people
		c.bare, c.text = true, numbers.String()
	case frozen:
		c.limit = math.MaxInt64 // MAXVALUE is what stops it
	case l != numbers:
		c.findf(ErrLayout, "the SEQUENCE %s is INCREMENT BY %d START WITH %d, its comment says %s; put the one right that was changed", s.object(), increment, start, l)
	}
	if cycle {
		c.findf(ErrLayout, "the SEQUENCE %[1]s begins anew at its end; ALTER SEQUENCE %[1]s NO CYCLE", s.object())
	}
	if cache > 1 {
		c.findf(ErrLayout, "the SEQUENCE %[1]s is CACHE %[2]d: each session has numbers of its own, so that they do not increase, and what was set back is not noticed; "+
			"ALTER SEQUENCE %[1]s CACHE 1", s.object(), cache)
	}
	if persistence != "p" {
		c.findf(unless(s.unsafe, ErrUnsafe), "the SEQUENCE %[1]s is not logged, so it begins anew after a crash; ALTER SEQUENCE %[1]s SET LOGGED", s.object())
	}
	return nil
}

// statement is what draws a ticket. Its parameter is the SEQUENCE's name, which is looked up anew each time: as a constant of a prepared statement it would stay the
// same SEQUENCE when that is made again.
func (s sequenceCounter) statement() string {
	query := "SELECT id"
	if !s.unsafe {
		query += ", " + durable + logged
	}
	return query + " FROM (SELECT nextval(CAST(CAST($1 AS text) AS regclass)) AS id) AS drawn"
}

// logged makes the commit wait also where the statement wrote nothing: nextval writes the log for 32 numbers at a time, and who gets one of the other 31 has
// nothing to commit, and would have it before that record is on disk, or on the standby that commits wait for. A crash then gives it out again. So what comes
// after the number writes a record of its own, unless all is on disk already.
const logged = " || CASE WHEN id IS NOT NULL AND (current_setting('synchronous_standby_names') <> '' OR pg_current_wal_flush_lsn() < pg_current_wal_insert_lsn())" +
	" THEN CAST(pg_logical_emit_message(true, 'snowkey', '') AS text) ELSE '' END"

func (s sequenceCounter) draw(ctx context.Context, conn *sql.Conn, o order) (span, error) {
	into := []any{new(int64)}
	if !s.unsafe {
		into = append(into, new(string))
	}
	if err := one(ctx, conn, s.statement(), []any{s.object()}, into...); err != nil {
		if s.dialect.Class(err) == dialect.Exhausted {
			return span{}, errUnmatched // or frozen
		}
		return span{}, err
	}
	return span{first: *into[0].(*int64), unit: 1, jump: o.layout.jump(), units: 1}, nil
}

// locked runs statements in a block during which nobody draws: ALTER SEQUENCE has a lock that keeps nextval out until the end. Also the
// commit waits for the disk.
func (s sequenceCounter) locked(ctx context.Context, conn *sql.Conn, work string) error {
	_, err := conn.ExecContext(ctx, fmt.Sprintf(`DO $$ DECLARE
	last bigint;
	said text;
BEGIN
	PERFORM set_config('synchronous_commit', 'on', true);
	ALTER SEQUENCE %[1]s NO CYCLE;
	SELECT last_value INTO last FROM %[1]s;
	SELECT COALESCE(obj_description('%[1]s'::regclass, 'pg_class'), '') INTO said;
%[2]s
END $$`, s.object(), work))
	return err
}

func (s sequenceCounter) fence(ctx context.Context, conn *sql.Conn, o order) error {
	to, ok := o.layout.after(o.high)
	if !ok {
		return errUnmatched
	}
	err := s.locked(ctx, conn, fmt.Sprintf(`	IF last < %d AND %d = (pg_sequence_parameters('%[3]s'::regclass)).increment AND said NOT LIKE '>%%' THEN
		PERFORM setval('%[3]s', %[1]d);
	END IF;`, to, o.layout.servers, s.object()))
	if denied(s.dialect, err) {
		return s.skip(ctx, conn, o.high, o.layout.servers)
	}
	return err
}

// skip draws up to a number: what those may do who do not own the SEQUENCE, without a lock.
func (s sequenceCounter) skip(ctx context.Context, conn *sql.Conn, to, step int64) error {
	var last int64
	if err := one(ctx, conn, "SELECT last_value FROM "+s.object(), nil, &last); err != nil {
		return err
	}
	for last < to {
		count := min((to-last)/step+1, 100_000)
		if err := one(ctx, conn, "SELECT max(nextval(CAST(CAST($1 AS text) AS regclass))), "+durable+" FROM generate_series(1, CAST($2 AS bigint))",
			[]any{s.object(), count}, &last, new(string)); err != nil {
			return err
		}
	}
	return nil
}

func (s sequenceCounter) preflight(ctx context.Context, conn *sql.Conn, _ layout) error {
	return s.locked(ctx, conn, "")
}

func (s sequenceCounter) freeze(ctx context.Context, conn *sql.Conn, from, to layout) error {
	return s.locked(ctx, conn, fmt.Sprintf(`	IF said = '%[2]s' THEN
		last := nextval('%[1]s'); -- also of one that was never drawn from
		EXECUTE 'ALTER SEQUENCE %[1]s MAXVALUE ' || last;
		COMMENT ON SEQUENCE %[1]s IS '%[3]s';
	END IF;`, s.object(), from, to.frozen()))
}

func (s sequenceCounter) thaw(ctx context.Context, conn *sql.Conn, to layout, floor int64) error {
	start, ok := to.after(floor)
	if !ok {
		return &ExhaustedError{Limit: math.MaxInt64}
	}
	// The comment may be an old one under other isolation levels than READ COMMITTED; what the SEQUENCE is at never is.
	return s.locked(ctx, conn, fmt.Sprintf(`	IF said = '%[2]s' AND last < %[4]d THEN
		ALTER SEQUENCE %[1]s INCREMENT BY %[3]d NO MAXVALUE START WITH %[4]d RESTART WITH %[4]d;
		COMMENT ON SEQUENCE %[1]s IS '%[5]s';
	END IF;`, s.object(), to.frozen(), to.servers, start, to))
}
