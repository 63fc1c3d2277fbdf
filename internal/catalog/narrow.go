package catalog

import (
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/internal/sqltoken"
)

// narrowTypes are integers of less than 64 bits.
var narrowTypes = []string{"int", "integer", "mediumint", "smallint", "tinyint", "int1", "int2", "int3", "int4", "serial", "smallserial"}

// isNarrow reports whether a token is one of these types.
func isNarrow(t sqltoken.Token) bool {
	return t.Kind == sqltoken.Word && slices.Contains(narrowTypes, strings.ToLower(t.Value))
}

// narrow reports whether a routine has an argument, a variable or a result of a type that is too narrow for a key.
func narrow(tokens []sqltoken.Token) bool { return slices.ContainsFunc(tokens, isNarrow) }

// Narrow returns what in the text of a routine, trigger or view seems to be too narrow for the values of columns: arguments, variables and columns that
// are named as an id is, are compared with or set to one of the columns, or take one from a SELECT; results, where one of the columns is selected; and casts
// of the columns. It goes by the words alone, so that it is not certain.
func (c *Catalog) Narrow(definition string, columns []string) (found []string) {
	switch c.reader.Dialect {
	case dialect.Postgres:
		return narrowOf(sqltoken.Grammar{}.Tokens(postgresBody(definition)), columns)
	case dialect.MySQL:
		_ = mysqlEither(definition, func(tokens []sqltoken.Token) bool {
			found = narrowOf(tokens, columns)
			return len(found) > 0
		})
	}
	return found
}

func narrowOf(tokens []sqltoken.Token, columns []string) (found []string) {
	add := func(text string) {
		if !slices.Contains(found, text) {
			found = append(found, text)
		}
	}
	at := func(i int) sqltoken.Token {
		if i < 0 || i >= len(tokens) {
			return sqltoken.Token{Kind: sqltoken.Mark}
		}
		return tokens[i]
	}
	of := func(t sqltoken.Token) bool { return slices.ContainsFunc(columns, t.Names) }
	column := func(i int) bool { return of(at(i)) || at(i+1).Is(".") && of(at(i+2)) }
	result := ""
	declared := map[string]string{} // narrow names that may be of ids, by what they are in small letters
	selected := false
	for i, t := range tokens {
		if (t.Is("SELECT") || t.Is("RETURN") || t.Is("RETURNING") || t.Is("DISTINCT")) && (column(i+1) || (at(i+1).Is("MAX") || at(i+1).Is("MIN")) && at(i+2).Is("(") && column(i+3)) {
			selected = true
		}
		if !isNarrow(t) {
			continue
		}
		switch before := at(i - 1); {
		case before.Is("RETURNS"):
			result = "RETURNS " + t.Value
		case before.Is("SETOF"):
			result = "RETURNS SETOF " + t.Value
		case before.Is(":") && of(at(i-3)):
			add(at(i-3).Value + "::" + t.Value)
		case before.Is(":") && at(i-3).Is(")") && of(at(i-4)):
			add(at(i-4).Value + "::" + t.Value)
		case before.Is("AS") && of(at(i-2)):
			add("CAST(" + at(i-2).Value + " AS " + t.Value + ")")
		case before.Kind == sqltoken.Word || before.Kind == sqltoken.Name:
			for j := i - 1; at(j).Kind == sqltoken.Word || at(j).Kind == sqltoken.Name; j -= 2 { // DECLARE a, b INT
				text := at(j).Value + " " + t.Value
				if lower := strings.ToLower(at(j).Value); strings.HasSuffix(lower, "id") || strings.HasSuffix(lower, "ids") {
					add(text)
				} else {
					declared[lower] = text
				}
				if !at(j - 1).Is(",") {
					break
				}
			}
		}
	}
	known := func(t sqltoken.Token) string {
		if t.Kind != sqltoken.Word && t.Kind != sqltoken.Name {
			return ""
		}
		return declared[strings.ToLower(t.Value)]
	}
	for i, t := range tokens {
		switch {
		case t.Is("="):
			left, right := at(i-1), at(i+1)
			if left.Is(":") {
				left = at(i - 2)
			}
			if at(i + 2).Is(".") {
				right = at(i + 3)
			}
			if text := known(left); text != "" && of(right) {
				add(text)
			} else if text := known(right); text != "" && of(left) {
				add(text)
			}
		case t.Is("INTO") && selected:
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

// refers reports whether a table's name stands in a text where tables do.
func refers(tokens []sqltoken.Token, table string) bool {
	for i, t := range tokens {
		if !t.Names(table) {
			continue
		}
		if t.Kind == sqltoken.Name || i+1 < len(tokens) && (tokens[i+1].Is(".") || tokens[i+1].Is("%")) {
			return true
		}
		if i == 0 {
			continue
		}
		for _, before := range []string{"FROM", "JOIN", "INTO", "UPDATE", "TABLE", "ONLY", "USING", ",", "."} {
			if tokens[i-1].Is(before) {
				return true
			}
		}
	}
	return false
}
