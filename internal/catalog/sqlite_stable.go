package catalog

import (
	"context"
	"strings"
)

// The main schema has one name everywhere.
func (sqliteSource) current(context.Context) (home, hidden string, err error) {
	return "main", "", nil
}

func (sqliteSource) besides(context.Context, []*Table) (map[*Table][]string, error) { return nil, nil }

// A table that was renamed has its name in quotes, whatever it had before.
func (sqliteSource) stable(definition, _ string) string {
	const begin = "CREATE TABLE "
	rest, ok := strings.CutPrefix(definition, begin)
	tokens := sqliteGrammar.tokens(rest)
	if !ok || len(tokens) < 2 || tokens[0].kind == mark || tokens[1].value != "(" {
		return definition
	}
	return begin + quoteWith(`"`, tokens[0].value) + rest[tokens[1].start:]
}
