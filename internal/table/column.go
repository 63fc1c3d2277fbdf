package table

import (
	"regexp"
	"slices"
	"strings"
)

// Key returns the columns of the primary key, nil when there is none.
func (t *Table) Key() []string {
	for _, i := range t.Indexes {
		if i.Primary {
			return i.Columns
		}
	}
	return nil
}

// Column returns the column of a name, nil when there is none. With fold it may be in any case, as SQLite and MySQL take it; one that is
// the same letter by letter comes first.
func (t *Table) Column(name string, fold bool) *Column {
	for _, exact := range []bool{true, false} {
		i := slices.IndexFunc(t.Columns, func(c *Column) bool {
			return c.Name == name || !exact && fold && strings.EqualFold(c.Name, name)
		})
		if i >= 0 {
			return t.Columns[i]
		}
	}
	return nil
}

var (
	textLiteral = regexp.MustCompile(`(?s)'(?:[^'\\]|''|\\.)*'`)
	nextval     = regexp.MustCompile(`(?i)\bnextval\(`)
)

// callsNextval reports whether a default takes a number of a sequence.
func callsNextval(value string) bool {
	return nextval.MatchString(textLiteral.ReplaceAllString(value, "''"))
}
