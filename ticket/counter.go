package ticket

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// counter is the SQL of a sequence on one server. A [server] has one, with a connection of its own for each call. All methods may be called at
// once, by any number of processes.
type counter interface {
	// find asks the catalogue where the table is, or is to be made.
	find(ctx context.Context, conn *sql.Conn) (dialect.Location, error)
	// inspect looks at all that the server tells about itself and the sequence.
	inspect(ctx context.Context, conn *sql.Conn) (condition, error)
	// draw takes numbers, in one statement that is committed when it returns. The error is errUnmatched where the statement found that
	// something is not as it has to be.
	draw(ctx context.Context, conn *sql.Conn, o order) (span, error)
	// fence moves the sequence so far forward that all it gives is greater than the order's high, and never back.
	fence(ctx context.Context, conn *sql.Conn, o order) error
	// tables returns what a row needs.
	tables() []table
	// enter returns the statement that adds a server's number to those of the sequence, if it is not among them.
	enter(number int64) string
	// row returns the statements that make the row, with a layout's text, after the number that is given: 0 for a new sequence, openNumber for a text with a question
	// mark.
	row(layout string, after int64) []string
	// preflight reports what would keep thaw from doing its work.
	preflight(ctx context.Context, conn *sql.Conn, to layout) error
	// freeze stops all draws: from then on the row has the text of a layout to come. It does nothing if the row has another layout now.
	freeze(ctx context.Context, conn *sql.Conn, from, to layout) error
	// thaw gives a frozen row the layout to come, and numbers greater than floor.
	thaw(ctx context.Context, conn *sql.Conn, to layout, floor int64) error
}

// table is one that a row needs.
type table struct{ name, create string }

// order says what is drawn, and what has to be true for it.
type order struct {
	layout layout
	bare   bool  // the row has no layout
	units  int64 // 1 of single tickets
	high   int64 // the first number should be greater, where the statement can see to that
	last   int64 // no number may be less
	limit  int64 // or greater
	unused bool  // the numbers are for nobody
}

// openNumber is a number that somebody has to fill in.
const openNumber = -1

// numberText is the number as SQL.
func numberText(number int64) string {
	if number == openNumber {
		return "?"
	}
	return strconv.FormatInt(number, 10)
}

// errUnmatched says that a statement drew nothing because its conditions are not met.
var errUnmatched = errors.New("the statement drew nothing")

// condition is what inspect finds.
type condition struct {
	place    dialect.Location // of the table
	twice    bool             // another table has the sequence, or may have it
	down     bool             // it could not be asked, and the rest is not known
	table    bool             // it is there
	row      bool             // and the row
	foreign  bool             // the table has not the columns that its row is read from
	made     []int64          // the servers whose rows were made once, by their numbers, as far as this one's register knows
	bare     bool             // the row has no layout: it is the published table, or a SEQUENCE made by hand
	text     string           // the layout's
	last     int64            // the greatest number that was drawn, or less where it cannot be told
	at       int64            // what the table's counter has come to, where several sequences share one; 0 where it is not known
	limit    int64            // the greatest number that the type of its column holds
	stale    bool             // the session has other settings than the server gives new ones
	offset   bool             // the finding of ErrLayout is of the server's increment and offset, with which a statement draws nothing
	galera   bool             // the server is a node of a Galera cluster
	readOnly bool             // read_only is on, as of a replica: only some accounts can write
	findings []Finding
}

// misplaced is the error for a row of another number than the server has in the list.
func (c *condition) misplaced(l layout, number int64) error {
	hint := ""
	if c.galera {
		hint = "; all nodes of a Galera cluster are one server, so list one address of the cluster"
	}
	return fmt.Errorf("%w: it is number %d of %d, and in the list it is number %d%s", ErrLayout, l.number, l.servers, number, hint)
}

// findf adds a finding. One that is refused has the error that a draw would fail with.
func (c *condition) findf(err error, format string, args ...any) {
	c.findings = append(c.findings, Finding{Err: err, Text: fmt.Sprintf(format, args...)})
}

// Finding is something about a server or its table that matters to tickets.
type Finding struct {
	Server string
	// Place is where the table is, or is to be made, such as "app.public.snowkey_tickets".
	Place string
	// Err is nil for a warning. Otherwise the server is not used, and Err is or wraps ErrLayout, ErrUnsafe, ErrTable or ErrReadOnly.
	Err error
	// Text says what is found, and what to do.
	Text string
}

// Refused reports whether the server is not used because of it.
func (f Finding) Refused() bool { return f.Err != nil }

// String returns the finding as a line, such as "server 1: refused: …".
func (f Finding) String() string {
	level := "warning"
	if f.Refused() {
		level = "refused"
	}
	return fmt.Sprintf("%s: %s: %s", f.Server, level, f.Text)
}

// one is [dialect.One] of a table of tickets, where more rows than one are an ErrTable.
func one(ctx context.Context, conn *sql.Conn, query string, args []any, into ...any) error {
	err := dialect.One(ctx, conn, query, args, into...)
	if errors.Is(err, dialect.ErrRows) {
		return fmt.Errorf("%w: %w", ErrTable, err)
	}
	return err
}
