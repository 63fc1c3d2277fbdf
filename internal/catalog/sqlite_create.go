package catalog

import (
	"slices"
	"strings"
)

// sqliteWhere returns the condition of a partial index.
func sqliteWhere(definition string) string {
	for _, t := range sqliteGrammar.tokens(definition) {
		if t.depth == 0 && t.is("WHERE") {
			return strings.TrimSpace(definition[t.end:])
		}
	}
	return ""
}

// sqlitePart returns a part of an index, by its place. No pragma tells expressions.
func sqlitePart(definition string, place int, column string) Part {
	parts := sqliteGrammar.declarations(definition)
	if place >= len(parts) {
		return Part{Column: column}
	}
	of, end := parts[place], len(parts[place])-1
	if of[end-1].is("ASC") || of[end-1].is("DESC") {
		end--
	}
	if column != "" && !slices.ContainsFunc(of, func(t token) bool { return t.is("COLLATE") }) {
		return Part{Column: column}
	}
	return Part{Expression: strings.TrimSpace(definition[of[0].start:of[end].start])}
}

// sqliteGenerated returns the expression that a column is computed by, which no pragma tells.
func sqliteGenerated(create, column string) string {
	for _, part := range sqliteGrammar.declarations(create) {
		if part[0].kind == mark || !strings.EqualFold(part[0].value, column) {
			continue
		}
		for i, t := range part {
			if t.depth == 1 && t.is("AS") {
				return parenthesized(create, part[i+1:])
			}
		}
	}
	return ""
}

// sqliteChecks returns the checks of a table and its columns. One without a name has none.
func sqliteChecks(create string) (found []Check) {
	for _, part := range sqliteGrammar.declarations(create) {
		for i, t := range part {
			if t.depth != 1 || !t.is("CHECK") || i+1 == len(part) || !part[i+1].is("(") {
				continue
			}
			c := Check{Text: parenthesized(create, part[i+1:])}
			if i >= 2 && part[i-2].is("CONSTRAINT") {
				c.Name = part[i-1].value
			}
			found = append(found, c)
		}
	}
	return found
}

// sqliteRowless tells whether the options of a table are WITHOUT ROWID, among others.
func sqliteRowless(create string) bool {
	tokens := sqliteGrammar.tokens(create)
	for i, t := range tokens {
		if t.depth == 0 && t.is("WITHOUT") && i+1 < len(tokens) && tokens[i+1].is("ROWID") {
			return true
		}
	}
	return false
}

// sqliteTiming returns when a trigger runs, and the columns of UPDATE OF.
func sqliteTiming(definition string) (timing string, of []string) {
	when := "BEFORE"
	tokens := sqliteGrammar.tokens(definition)
	if len(tokens) < 4 {
		return "", nil
	}
	for i, t := range tokens[3:] { // its name is before, and may be a keyword
		switch {
		case t.is("BEFORE"), t.is("AFTER"):
			when = strings.ToUpper(t.value)
		case t.is("INSTEAD"):
			when = "INSTEAD OF"
		case t.is("INSERT"), t.is("UPDATE"), t.is("DELETE"):
			for rest := tokens[4+i:]; len(rest) > 1 && (rest[0].is("OF") || rest[0].is(",")); rest = rest[2:] {
				of = append(of, rest[1].value)
			}
			return when + " " + strings.ToUpper(t.value), of
		}
	}
	return "", nil
}
