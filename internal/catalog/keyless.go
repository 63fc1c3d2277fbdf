package catalog

import (
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/internal/sqltoken"
)

// Keyless reports whether the text of a routine, trigger or event seems to insert rows into a table without a value for its key, which is then for the database
// to make. It goes by the words alone: it does not see statements that are put together, or that select the key's value.
func (c *Catalog) Keyless(definition string, t *Table) (is bool) {
	switch c.reader.Dialect {
	case dialect.Postgres:
		return keyless(sqltoken.Grammar{}.Tokens(postgresBody(definition)), t)
	case dialect.MySQL:
		_ = mysqlEither(definition, func(tokens []sqltoken.Token) bool {
			is = keyless(tokens, t)
			return is
		})
	}
	return is
}

// postgresBody returns a routine as pg_get_functiondef writes it, with its body as a part of the statement.
func postgresBody(definition string) string {
	return strings.NewReplacer("$function$", " ", "$procedure$", " ").Replace(definition)
}

// keyless reports whether one of the statements INSERT or REPLACE among the tokens gives a table's key no value.
func keyless(tokens []sqltoken.Token, t *Table) bool {
	if len(t.Key()) != 1 {
		return false
	}
	for i := range tokens {
		if (tokens[i].Is("INSERT") || tokens[i].Is("REPLACE")) && withoutKey(tokens[i+1:], t) {
			return true
		}
	}
	return false
}

// withoutKey looks at what is after INSERT.
func withoutKey(tokens []sqltoken.Token, t *Table) bool {
	next := func() sqltoken.Token {
		if len(tokens) == 0 {
			return sqltoken.Token{Kind: sqltoken.Mark}
		}
		return tokens[0]
	}
	for len(tokens) > 0 && slices.ContainsFunc([]string{"LOW_PRIORITY", "HIGH_PRIORITY", "DELAYED", "IGNORE", "INTO"}, next().Is) {
		tokens = tokens[1:]
	}
	if len(tokens) > 2 && tokens[1].Is(".") {
		if !tokens[0].Names(t.Full.Schema) {
			return false
		}
		tokens = tokens[2:]
	}
	if !next().Names(t.Full.Name) {
		return false
	}
	tokens = tokens[1:]
	if next().Is("AS") && len(tokens) > 1 {
		tokens = tokens[2:]
	}
	columns := make([]string, len(t.Columns)) // those that values are given for, in their order
	for i, c := range t.Columns {
		columns[i] = c.Name
	}
	isKey := func(name string) bool { return strings.EqualFold(name, t.Key()[0]) }
	switch list := inParentheses(tokens); {
	case len(list) == 1 && len(list[0]) == 0: // () VALUES ()
		return true
	case len(list) > 0 && len(list[0]) == 1:
		columns = columns[:0]
		for _, c := range list {
			columns = append(columns, c[0].Value)
			tokens = tokens[len(c)+1:]
		}
		tokens = tokens[1:]
	}
	at := slices.IndexFunc(columns, isKey)
	switch {
	case next().Is("SET"):
		for i := 1; i+1 < len(tokens) && !tokens[i].Is(";"); i++ {
			if (tokens[i].Kind == sqltoken.Word || tokens[i].Kind == sqltoken.Name) && isKey(tokens[i].Value) && tokens[i+1].Is("=") {
				return false
			}
		}
		return true
	case at < 0 || next().Is("DEFAULT"): // VALUES
		return true
	case next().Is("VALUES") || next().Is("VALUE"):
		values := inParentheses(tokens[1:])
		if len(values) == 1 && len(values[0]) == 0 {
			return true
		}
		if at >= len(values) || len(values[at]) != 1 {
			return false
		}
		v := values[at][0]
		return v.Is("DEFAULT") || v.Is("NULL") || v.Is("0")
	}
	return false
}

// inParentheses returns what is between the commas of the parenthesis that some tokens begin with.
func inParentheses(tokens []sqltoken.Token) (list [][]sqltoken.Token) {
	if len(tokens) == 0 || !tokens[0].Is("(") {
		return nil
	}
	from := 1
	for i := 1; i < len(tokens); i++ {
		switch end := tokens[i].Is(")") && tokens[i].Depth == tokens[0].Depth; {
		case end || tokens[i].Is(",") && tokens[i].Depth == tokens[0].Depth+1:
			list = append(list, tokens[from:i])
			if from = i + 1; end {
				return list
			}
		}
	}
	return nil
}
