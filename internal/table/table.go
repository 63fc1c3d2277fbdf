package table

import (
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/sqltoken"
)

// Class is what a column can hold.
type Class uint8

// The classes of columns.
const (
	Other    Class = iota
	Integer        // of Bits
	Decimal        // of Digits before the point
	Floating       // rounds keys
	Text           // of at most Digits letters
	Time           // a date with a time of day; Zoned reports whether it says which instant it is
	JSON           // json, jsonb
)

// Table is a table, or what else goes by the name of one.
type Table struct {
	Name             // as statements may have it; the schema is empty when the name alone is enough
	Full      Name   // always with a schema
	OID       uint32 // PostgreSQL's number for it
	View      string // what it is when it is no table, such as "view"; nothing below is read of one but its columns
	Engine    string // of MySQL
	Create    string // the statement that makes it, on MySQL and SQLite
	Rows      int64  // as the database estimates them; counted on SQLite only when the table is small; -1 when unknown
	Bytes     int64  // of rows and indexes; -1 when unknown
	Next      int64  // the number that AUTO_INCREMENT, AUTOINCREMENT or the key's sequence gives next; 0 when there is none or unknown
	Related   string // how other tables share its columns, on PostgreSQL: "partitioned", "inherited", "of a type"; on MySQL "partitioned"
	Versioned bool   // it keeps its history, on MariaDB
	Rowless   bool   // SQLite's WITHOUT ROWID
	Columns   []*Column
	Indexes   []*Index // the primary key first
	Checks    []Check
	Triggers  []Trigger
	Users     []User // views and all else, outside of the table, that are made of it
}

// Column is a column of a table.
type Column struct {
	Name         string
	Type         string // as the database writes it
	Class        Class
	Bits         int  // of an integer
	Unsigned     bool // of an integer, on MySQL
	Digits       int  // of a decimal or text; 0 where there is no limit
	Zoned        bool // a time that says its instant: PostgreSQL's timestamptz, MySQL's TIMESTAMP; on SQLite the values tell
	Nullable     bool
	Default      string // as the database writes it; empty when there is none
	Auto         string // how the database makes keys for it: AUTO_INCREMENT, AUTOINCREMENT, the default, the kind of identity; empty when it does not
	Always       bool   // it makes them even where one is given, PostgreSQL's GENERATED ALWAYS
	Sequence     Name   // that Auto takes its numbers from, where it is a named one; full
	SequenceBits int    // of that sequence's type: 16, 32 or 64
	Owned        bool   // the sequence goes with the column: serial and identity
	Domain       bool   // its type is one, on PostgreSQL
	Generated    string // the expression that its value is computed by
	OnUpdate     string // MySQL's ON UPDATE CURRENT_TIMESTAMP
	Extra        string // what MySQL's information_schema calls so
	Comment      string // on MySQL and PostgreSQL
	Collation    string `json:"-"` // of a text, on MySQL; Define has it
	Define       string // on MySQL: all that SHOW CREATE TABLE has of it after its name, as MODIFY takes it in a session of the same NO_BACKSLASH_ESCAPES; names are quoted with `. Empty when it is not certain to be all
}

// Index is an index of a table.
type Index struct {
	Name       string
	Primary    bool
	Unique     bool
	Columns    []string // empty texts for expressions and for columns of which it has a part
	Parts      []Part   `json:"-"` // one for each of Columns
	Where      string   // of a partial index
	Definition string   // the statement that makes it, on PostgreSQL and SQLite; empty for those that SQLite makes itself
	Valid      bool     // false for what a failed CREATE INDEX CONCURRENTLY leaves
}

// Part is what an index has of each row: the value of a column, its beginning, or that of an expression.
type Part struct {
	Column     string
	Length     int    // of the beginning, on MySQL, in letters, and in bytes where the column has no letters; 0 for all
	Expression string // instead of a column; of one that SQLite compares by another collation than its own, with that
}

// Check is a CHECK of a table or column.
type Check struct {
	Name string
	Text string // the condition, as the database writes it
}

// Trigger is a trigger of a table that is not one of the database's own.
type Trigger struct {
	Name       string
	Timing     string   // such as BEFORE INSERT
	Definition string   // the statement that makes it; empty on MySQL where the user may not see it
	Of         []string `json:"-"` // the columns of UPDATE OF; none: any
	Enabled    string   `json:"-"` // of PostgreSQL, whose sessions it fires in: empty for those that are no replica's, else disabled, always or replica
	Guard      *Guard   `json:"-"` // of MariaDB, for UPDATE: how sessions keep it from firing; nil where none can
	Unguarded  string   `json:"-"` // of MariaDB: why none can
	Definer    string   `json:"-"` // of MySQL: as whom it runs, where that is not the user
	Account    string   `json:"-"` // of Definer: "gone" where there is no such account, "hidden" where the user may not see accounts
}

// Guard is how a trigger of MariaDB is kept from firing in sessions that have set [GuardVariable]: its body is put into an IF. It goes on to fire in all others.
// On and Off replace the trigger in one statement each, under its own name and definer, and in its place among the table's triggers. Before Session, the connection
// has the trigger's schema as the current one.
type Guard struct {
	Session []string // the settings under which the trigger was made
	On, Off string   // Off makes it as it was
}

// Counts reports whether the database numbers rows that come without the column's value, above the greatest that is there: AUTO_INCREMENT of MySQL, and
// SQLite's INTEGER PRIMARY KEY, with AUTOINCREMENT and without it. The column alone is the table's key.
func (t *Table) Counts(c *Column) bool {
	return c.Auto == "AUTO_INCREMENT" || strings.EqualFold(c.Type, "INTEGER") && !t.Rowless
}

// Updates reports whether the trigger fires when columns of the table are assigned, in a session that is no replica's.
func (t Trigger) Updates(columns []string) bool {
	return strings.Contains(t.Timing, "UPDATE") && t.Enabled != "disabled" && t.Enabled != "replica" &&
		(len(t.Of) == 0 || slices.ContainsFunc(t.Of, func(of string) bool {
			return slices.ContainsFunc(columns, func(name string) bool { return strings.EqualFold(of, name) })
		}))
}

// Stays reports whether the body of a trigger of SQLite changes rows of no other table than its own.
func (t Trigger) Stays(table string) bool {
	tokens := sqltoken.SQLite.Tokens(t.Definition)
	from := slices.IndexFunc(tokens, func(t sqltoken.Token) bool { return t.Is("BEGIN") })
	for i := max(from, 0) + 1; i < len(tokens)-1; i++ {
		at := i + 1
		switch {
		case tokens[i].Is("INTO"), tokens[i].Is("FROM") && tokens[i-1].Is("DELETE"):
		case tokens[i].Is("UPDATE") && tokens[i+1].Is("OR"):
			at = i + 3
		case tokens[i].Is("UPDATE") && !tokens[i-1].Is("DO"): // DO UPDATE is of an INSERT
		default:
			continue
		}
		if at >= len(tokens) || !tokens[at].Names(table) {
			return false
		}
	}
	return from >= 0
}

// Silenced returns the trigger as it is in a session of PostgreSQL whose session_replication_role is replica.
func (t Trigger) Silenced() Trigger {
	switch t.Enabled {
	case "":
		t.Enabled = "disabled"
	case "replica":
		t.Enabled = "always"
	}
	return t
}

// User is something outside of a table that is made of it, or of one of its columns, and stands in the way of changes. Views come before
// those that are made of them. What names a table only in a text may be of another one of the same name.
type User struct {
	Kind       string   // view, materialized view, generated column, and sorted after these: event, full-text table, partition, policy, publication, replica identity, routine, rule, statistics, trigger (of another table), type
	Name       Name     // full; of what has no schema, the name alone; of a type, what PostgreSQL calls that which has it
	Columns    []string // of the table, that it is known to use; none when that is unknown, which may be all
	Definition string   // the statement that makes it, where the database tells
}
