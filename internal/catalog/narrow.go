package catalog

import (
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// narrowTypes are integers of less than 64 bits.
var narrowTypes = []string{"int", "integer", "mediumint", "smallint", "tinyint", "int1", "int2", "int3", "int4", "serial", "smallserial"}

func (t token) narrow() bool {
	return t.kind == word && slices.Contains(narrowTypes, strings.ToLower(t.value))
}

// narrow tells whether a routine has an argument, a variable or a result of a type that is too narrow for a key.
func narrow(tokens []token) bool { return slices.ContainsFunc(tokens, token.narrow) }

// Narrow returns what in the text of a routine, trigger or view seems to be too narrow for the values of columns: arguments, variables and columns that
// are named as an id is, are compared with or set to one of the columns, or take one from a SELECT; results, where one of the columns is selected; and casts
// of the columns. It goes by the words alone, so that it is not certain.
func (c *Catalog) Narrow(definition string, columns []string) (found []string) {
	switch c.dialect {
	case dialect.Postgres:
		return narrowOf(grammar{}.tokens(postgresBody(definition)), columns)
	case dialect.MySQL:
		_ = mysqlEither(definition, func(tokens []token) bool {
			found = narrowOf(tokens, columns)
			return len(found) > 0
		})
	}
	return found
}

func narrowOf(tokens []token, columns []string) (found []string) {
	add := func(text string) {
		if !slices.Contains(found, text) {
			found = append(found, text)
		}
	}
	at := func(i int) token {
		if i < 0 || i >= len(tokens) {
			return token{kind: mark}
		}
		return tokens[i]
	}
	of := func(t token) bool { return slices.ContainsFunc(columns, t.names) }
	column := func(i int) bool { return of(at(i)) || at(i+1).is(".") && of(at(i+2)) }
	result := ""
	declared := map[string]string{} // narrow names that may be of ids, by what they are in small letters
	selected := false
	for i, t := range tokens {
		if (t.is("SELECT") || t.is("RETURN") || t.is("RETURNING") || t.is("DISTINCT")) && (column(i+1) || (at(i+1).is("MAX") || at(i+1).is("MIN")) && at(i+2).is("(") && column(i+3)) {
			selected = true
		}
		if !t.narrow() {
			continue
		}
		switch before := at(i - 1); {
		case before.is("RETURNS"):
			result = "RETURNS " + t.value
		case before.is("SETOF"):
			result = "RETURNS SETOF " + t.value
		case before.is(":") && of(at(i-3)):
			add(at(i-3).value + "::" + t.value)
		case before.is(":") && at(i-3).is(")") && of(at(i-4)):
			add(at(i-4).value + "::" + t.value)
		case before.is("AS") && of(at(i-2)):
			add("CAST(" + at(i-2).value + " AS " + t.value + ")")
		case before.kind == word || before.kind == name:
			for j := i - 1; at(j).kind == word || at(j).kind == name; j -= 2 { // DECLARE a, b INT
				text := at(j).value + " " + t.value
				if lower := strings.ToLower(at(j).value); strings.HasSuffix(lower, "id") || strings.HasSuffix(lower, "ids") {
					add(text)
				} else {
					declared[lower] = text
				}
				if !at(j - 1).is(",") {
					break
				}
			}
		}
	}
	known := func(t token) string {
		if t.kind != word && t.kind != name {
			return ""
		}
		return declared[strings.ToLower(t.value)]
	}
	for i, t := range tokens {
		switch {
		case t.is("="):
			left, right := at(i-1), at(i+1)
			if left.is(":") {
				left = at(i - 2)
			}
			if at(i + 2).is(".") {
				right = at(i + 3)
			}
			if text := known(left); text != "" && of(right) {
				add(text)
			} else if text := known(right); text != "" && of(left) {
				add(text)
			}
		case t.is("INTO") && selected:
			if text := known(at(i + 1)); text != "" {
				add(text)
			}
		}
	}
	if selected && result != "" {
		add(result)
	}
	return found
}

// refers tells whether a table's name stands in a text where tables do.
func refers(tokens []token, table string) bool {
	for i, t := range tokens {
		if !t.names(table) {
			continue
		}
		if t.kind == name || i+1 < len(tokens) && (tokens[i+1].is(".") || tokens[i+1].is("%")) {
			return true
		}
		if i == 0 {
			continue
		}
		for _, before := range []string{"FROM", "JOIN", "INTO", "UPDATE", "TABLE", "ONLY", "USING", ",", "."} {
			if tokens[i-1].is(before) {
				return true
			}
		}
	}
	return false
}
