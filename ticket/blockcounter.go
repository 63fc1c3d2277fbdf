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

// blockCounter draws blocks: a row has the first id that is not allocated yet, and one UPDATE moves it.
type blockCounter struct{ names }

var _ counter = blockCounter{}

func (b blockCounter) tables() []table {
	collate := ""
	if b.dialect == Postgres {
		collate = ` COLLATE "C"`
	}
	return []table{
		{b.table, fmt.Sprintf("CREATE TABLE IF NOT EXISTS %[1]s (name varchar(64)%[2]s NOT NULL PRIMARY KEY, next bigint NOT NULL, layout varchar(32)%[2]s NOT NULL)%[3]s",
			b.quoted(), collate, b.tableOptions())},
		b.registerTable(),
	}
}

func (b blockCounter) row(text string, after int64) []string {
	l, _, _ := parseFrozen(text) // which made the text
	next, _ := l.after(after)
	number := numberText(next)
	if after == openNumber { // where a unit begins, whatever is filled in
		divided := map[Dialect]string{MySQL: "DIV"}[b.dialect]
		number = fmt.Sprintf("(? %[1]s %[2]d + 1) * %[2]d + %[3]d", orDefault(divided, "/"), l.jump(), l.first())
	}
	return []string{fmt.Sprintf("INSERT INTO %s (name, next, layout) VALUES ('%s', %s, '%s')", b.quoted(), b.sequence, number, text)}
}

func (b blockCounter) inspect(ctx context.Context, conn *sql.Conn) (c condition, err error) {
	c.limit = math.MaxInt64
	err = b.examine(ctx, conn, &c, "name", func(dialect.MySQLSession) error {
		if err := b.inspectTable(ctx, conn, &c); err != nil || !c.table || c.foreign {
			return err
		}
		return b.inspectRow(ctx, conn, &c)
	})
	return c, err
}

// read returns the row's first id that is not allocated yet, and its layout. The error is sql.ErrNoRows where there is no row.
func (b blockCounter) read(ctx context.Context, conn *sql.Conn) (next int64, text string, err error) {
	err = one(ctx, conn, fmt.Sprintf("SELECT next, COALESCE(layout, '') FROM %s WHERE name = '%s'", b.quoted(), b.sequence), nil, &next, &text)
	return next, text, err
}

// inspectRow adds what the row says.
func (b blockCounter) inspectRow(ctx context.Context, conn *sql.Conn, c *condition) error {
	next, text, err := b.read(ctx, conn)
	c.text = text
	switch {
	case errors.Is(err, sql.ErrNoRows):
	case err != nil:
		return fmt.Errorf("reading the row: %w", err)
	default:
		c.row = true
		c.last = max(0, next-1)
		if l, frozen, err := parseFrozen(c.text); err == nil && !frozen && !l.begins(next) {
			c.findf(ErrLayout, "next is %d, where no unit of the layout %s begins; set it to one that is greater than all ids in use", next, l)
		}
	}
	return nil
}

// inspectTable adds what the table is like.
func (b blockCounter) inspectTable(ctx context.Context, conn *sql.Conn, c *condition) error {
	columns, err := b.columns(ctx, conn)
	if err != nil || len(columns) == 0 {
		return err
	}
	c.table = true
	for _, name := range []string{"name", "next", "layout"} {
		if _, found := columns[name]; !found {
			c.foreign = true
			c.findf(ErrTable, "the table %s has no column %s; give the sequences a table of their own", b.names, name)
		}
	}
	if kind := columns["next"].kind; kind != "" && kind != "bigint" && (b.dialect != SQLite || kind != "integer") {
		c.findf(ErrTable, "the column next of %s is of the type %s; make it bigint", b.names, kind)
	}
	if c.foreign {
		return nil
	}
	return b.storage(ctx, conn, c)
}

func (b blockCounter) draw(ctx context.Context, conn *sql.Conn, o order) (span, error) {
	l := o.layout
	floor, ok := l.after(o.high)
	step := o.units * l.jump()
	// The greatest first id with which the last one is within the limit, and the next one a number of the column's type.
	most := min(o.limit-(o.units-1)*l.jump()-l.unit+1, math.MaxInt64-step)
	if !ok || floor > most {
		return span{}, errUnmatched
	}
	var end int64
	var err error
	if b.dialect == MySQL {
		end, err = b.drawMySQL(ctx, conn, o, floor, step, most)
	} else {
		end, err = b.drawReturning(ctx, conn, o, floor, step, most)
	}
	if err != nil {
		return span{}, err
	}
	return span{first: end - step, unit: l.unit, jump: l.jump(), units: o.units}, nil
}

func (b blockCounter) drawMySQL(ctx context.Context, conn *sql.Conn, o order, floor, step, most int64) (int64, error) {
	// No parameters: they would cost a round trip more, to prepare the statement.
	text := fmt.Sprintf("UPDATE %s SET next = LAST_INSERT_ID(GREATEST(next, %d) + %d) WHERE name = '%s' AND layout = '%s' AND next BETWEEN %d AND %d"+ownTransaction,
		b.quoted(), floor, step, b.sequence, o.layout, o.last+1, most)
	if !b.unsafe {
		text += mysqlFlushed
	}
	result, err := conn.ExecContext(ctx, text)
	if err != nil {
		return 0, err
	}
	changed, err := result.RowsAffected()
	if err != nil {
		return 0, err
	}
	switch changed {
	case 0:
		return 0, errUnmatched
	case 1:
		return result.LastInsertId()
	}
	return 0, fmt.Errorf("%w: %d rows for the sequence %q, so the table has no PRIMARY KEY (name)", ErrTable, changed, b.sequence)
}

// ownTransaction is the condition that the statement is a transaction of its own. MySQL cannot tell whether one was begun on the connection, MariaDB can.
const ownTransaction = " AND @@autocommit = 1 /*M! AND @@in_transaction = 0 */"

// mysqlFlushed is the condition that a commit waits for the disk.
const mysqlFlushed = " AND @@innodb_flush_log_at_trx_commit IN (1, 3)"

func (b blockCounter) drawReturning(ctx context.Context, conn *sql.Conn, o order, floor, step, most int64) (end int64, err error) {
	text, into := "UPDATE %s SET next = MAX(next, ?) + ? WHERE name = ? AND layout = ? AND next BETWEEN ? AND ? RETURNING next", []any{&end}
	if b.dialect == Postgres {
		text = strings.Replace(text, "MAX", "GREATEST", 1)
		if !b.unsafe {
			text += ", " + durable
			into = append(into, new(string))
		}
	}
	err = one(ctx, conn, b.dialect.Bind(fmt.Sprintf(text, b.quoted())), []any{floor, step, b.sequence, o.layout.String(), o.last + 1, most}, into...)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, errUnmatched
	}
	return end, err
}

// fence has nothing to do: each draw has a floor.
func (b blockCounter) fence(context.Context, *sql.Conn, order) error { return nil }

func (b blockCounter) preflight(context.Context, *sql.Conn, layout) error { return nil }

func (b blockCounter) freeze(ctx context.Context, conn *sql.Conn, from, to layout) error {
	return b.change(ctx, conn, "layout = '"+to.frozen()+"'", "layout = '"+from.String()+"'")
}

func (b blockCounter) thaw(ctx context.Context, conn *sql.Conn, to layout, floor int64) error {
	next, ok := to.after(floor)
	if !ok {
		return &ExhaustedError{Limit: math.MaxInt64}
	}
	return b.change(ctx, conn, fmt.Sprintf("next = %d, layout = '%s'", next, to), fmt.Sprintf("layout = '%s' AND next <= %d", to.frozen(), next))
}

// change sets columns of the row if it is as the condition says, on disk.
func (b blockCounter) change(ctx context.Context, conn *sql.Conn, set, condition string) error {
	text := fmt.Sprintf("UPDATE %s SET %s WHERE name = '%s' AND %s", b.quoted(), set, b.sequence, condition)
	if b.dialect == Postgres {
		err := one(ctx, conn, text+" RETURNING "+durable, nil, new(string))
		return unless(errors.Is(err, sql.ErrNoRows), err)
	}
	_, err := conn.ExecContext(ctx, text)
	return err
}
