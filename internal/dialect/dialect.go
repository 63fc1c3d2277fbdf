package dialect

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Dialect is a database's SQL. The zero value is none.
type Dialect int

// The dialects. MySQL is MariaDB's as well.
const (
	MySQL Dialect = iota + 1
	Postgres
	SQLite
)

// engine is what differs from database to database, beside [Dialect.Storage]. Each has a file of its own.
type engine interface {
	name() string
	mark() string                      // around a quoted name
	clock() string                     // see Dialect.Clock
	begin(write bool) string           // see Dialect.Begin and Dialect.BeginWrite
	end(statement string) string       // COMMIT or ROLLBACK
	exactText(transaction bool) string // see Dialect.ExactText
	// lock returns the queries for 1 when the session has got it, for 1 when it had it, and for the session that has it. They are empty where there are no such locks.
	lock(l Lock) (try, free, holder string)
	code(err error) string            // the server's, if the error is a driver's and has one
	class(code string, e error) Class // 0 for a code that says nothing
	locate(ctx context.Context, conn *sql.Conn, schema, table string) (Location, error)
	durability(ctx context.Context, conn *sql.Conn, schema string) ([]Finding, error)
}

var engines = map[Dialect]engine{MySQL: mysqlEngine{}, Postgres: postgresEngine{}, SQLite: sqliteEngine{}}

// engine returns nil for what is no dialect.
func (d Dialect) engine() engine { return engines[d] }

// String returns "mysql", "postgres" or "sqlite", the names that GORM's dialectors have too.
func (d Dialect) String() string {
	if e := d.engine(); e != nil {
		return e.name()
	}
	return "Dialect(" + strconv.Itoa(int(d)) + ")"
}

// Lookup returns the dialect with the name that String gives it. It is false for another name.
func Lookup(name string) (Dialect, bool) {
	for d, e := range engines {
		if e.name() == name {
			return d, true
		}
	}
	return 0, false
}

// Valid reports whether the value is one of the dialects.
func (d Dialect) Valid() bool {
	return d.engine() != nil
}

var validName = regexp.MustCompile(`^(?:[A-Za-z_][A-Za-z0-9_]{0,62}\.)?[A-Za-z_][A-Za-z0-9_]{0,62}$`)

// ValidName reports whether the name is one of letters, digits and underlines, up to 63 of them and no digit first, or two such names with
// a dot between them: the schema's, which is a database on MySQL, and the table's.
func ValidName(name string) bool { return validName.MatchString(name) }

// SplitName returns the parts of a valid name. The schema is empty where the name has none.
func SplitName(name string) (schema, table string) {
	if schema, table, found := strings.Cut(name, "."); found {
		return schema, table
	}
	return "", name
}

// mark returns the mark around a quoted name, that of the standard for what is no dialect.
func (d Dialect) mark() string {
	if e := d.engine(); e != nil {
		return e.mark()
	}
	return `"`
}

// Quote quotes a name, with its schema's or without. The name has to be valid: marks in it are not escaped.
func (d Dialect) Quote(name string) string {
	mark := d.mark()
	return mark + strings.ReplaceAll(name, ".", mark+"."+mark) + mark
}

// QuoteAny quotes a name that may hold anything, as names that come from a catalogue do.
func (d Dialect) QuoteAny(name string) string {
	mark := d.mark()
	return mark + strings.ReplaceAll(name, mark, mark+mark) + mark
}

// Literal returns the text as SQL.
func Literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// Bind returns a statement with its parameters as the dialect writes them: each ? becomes $1, $2 and so on for PostgreSQL, and stays for
// others. No text of the statement may have a ? that is not a parameter.
func (d Dialect) Bind(text string) string {
	if d != Postgres {
		return text
	}
	for n := 1; strings.Contains(text, "?"); n++ {
		text = strings.Replace(text, "?", "$"+strconv.Itoa(n), 1)
	}
	return text
}

// Clock returns an expression for the database's clock: microseconds since 1970 in UTC, as a number, which no driver and no session's time zone changes.
func (d Dialect) Clock() string { return d.engine().clock() }

// Now asks the database for the time.
func (d Dialect) Now(ctx context.Context, db Queryer) (time.Time, error) {
	var micros int64
	if err := One(ctx, db, "SELECT "+d.Clock(), nil, &micros); err != nil {
		return time.Time{}, fmt.Errorf("asking for the time: %w", err)
	}
	return time.UnixMicro(micros).UTC(), nil
}

// ExactText returns the statement with which a session, or a transaction alone, gives the texts of values exactly and in one form, whatever the server's and the
// user's settings are. It is empty on SQLite, where nothing changes them. MySQL has no settings of a transaction.
func (d Dialect) ExactText(transaction bool) string { return d.engine().exactText(transaction) }
