package catalog

import (
	"strings"

	"github.com/snowkey-go/snowkey/internal/sqltoken"
)

// sqliteChecks returns the checks of a table and its columns. One without a name has none.
func sqliteChecks(create string) (found []Check) {
	for _, part := range sqltoken.SQLite.Declarations(create) {
		for i, t := range part {
			if t.Depth != 1 || !t.Is("CHECK") || i+1 == len(part) || !part[i+1].Is("(") {
				continue
			}
			c := Check{Text: sqltoken.Parenthesized(create, part[i+1:])}
			if i >= 2 && part[i-2].Is("CONSTRAINT") {
				c.Name = part[i-1].Value
			}
			found = append(found, c)
		}
	}
	return found
}

// sqliteRowless reports whether the options of a table are WITHOUT ROWID, among others.
func sqliteRowless(create string) bool {
	tokens := sqltoken.SQLite.Tokens(create)
	for i, t := range tokens {
		if t.Depth == 0 && t.Is("WITHOUT") && i+1 < len(tokens) && tokens[i+1].Is("ROWID") {
			return true
		}
	}
	return false
}

// sqliteTiming returns when a trigger runs, and the columns of UPDATE OF.
func sqliteTiming(definition string) (timing string, of []string) {
	when := "BEFORE"
	tokens := sqltoken.SQLite.Tokens(definition)
	if len(tokens) < 4 {
		return "", nil
	}
	for i, t := range tokens[3:] { // its name is before, and may be a keyword
		switch {
		case t.Is("BEFORE"), t.Is("AFTER"):
			when = strings.ToUpper(t.Value)
		case t.Is("INSTEAD"):
			when = "INSTEAD OF"
		case t.Is("INSERT"), t.Is("UPDATE"), t.Is("DELETE"):
			for rest := tokens[4+i:]; len(rest) > 1 && (rest[0].Is("OF") || rest[0].Is(",")); rest = rest[2:] {
				of = append(of, rest[1].Value)
			}
			return when + " " + strings.ToUpper(t.Value), of
		}
	}
	return "", nil
}
