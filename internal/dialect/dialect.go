// Package dialect has what the packages that write SQL need to know of a database's kind: its name, how its names are quoted, how its
// parameters are written, what its errors mean, and with which settings it keeps what is committed. It needs the standard library alone.
package dialect

import (
	"regexp"
	"strconv"
	"strings"
)

// Dialect is a database's SQL. The zero value is none.
type Dialect int

// The dialects. MySQL is MariaDB's as well.
const (
	MySQL Dialect = iota + 1
	Postgres
	SQLite
)

var names = map[Dialect]string{MySQL: "mysql", Postgres: "postgres", SQLite: "sqlite"}

// String returns "mysql", "postgres" or "sqlite", the names that GORM's dialectors have too.
func (d Dialect) String() string {
	if name, ok := names[d]; ok {
		return name
	}
	return "Dialect(" + strconv.Itoa(int(d)) + ")"
}

// Lookup returns the dialect with the name that String gives it. It is false for another name.
func Lookup(name string) (Dialect, bool) {
	for d, n := range names {
		if n == name {
			return d, true
		}
	}
	return 0, false
}

// Valid reports whether the value is one of the dialects.
func (d Dialect) Valid() bool {
	_, ok := names[d]
	return ok
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

// Quote quotes a name, with its schema's or without. The name has to be valid: marks in it are not escaped.
func (d Dialect) Quote(name string) string {
	mark := `"`
	if d == MySQL {
		mark = "`" // whatever sql_mode says of ANSI_QUOTES
	}
	return mark + strings.ReplaceAll(name, ".", mark+"."+mark) + mark
}

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
