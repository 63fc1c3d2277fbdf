package catalog

import (
	"context"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/internal/sqltoken"
)

// The main schema has one name everywhere.
func (sqliteSource) current(context.Context) (home, hidden string, err error) {
	return "main", "", nil
}

func (sqliteSource) otherDefinitions(context.Context, []*Table) (map[*Table][]Definition, error) {
	return nil, nil
}

// define has the columns, their foreign keys and checks in the statement that makes the table.
func (sqliteSource) define(t *Table) []Definition {
	all := []Definition{{t.Full.String(), "table", strings.TrimSpace(t.View + " " + t.Create)}}
	for _, i := range t.Indexes {
		if i.Definition != "" {
			all = append(all, Definition{t.Full.String(), "index " + i.Name, i.Definition})
		}
	}
	for _, g := range t.Triggers {
		all = append(all, Definition{t.Full.String(), "trigger " + g.Name, g.Definition})
	}
	return all
}

// A table that was renamed has its name in quotes, whatever it had before.
func (sqliteSource) stable(definition, _ string) string {
	const begin = "CREATE TABLE "
	rest, ok := strings.CutPrefix(definition, begin)
	tokens := sqltoken.SQLite.Tokens(rest)
	if !ok || len(tokens) < 2 || tokens[0].Kind == sqltoken.Mark || tokens[1].Value != "(" {
		return definition
	}
	return begin + dialect.SQLite.QuoteAny(tokens[0].Value) + rest[tokens[1].Start:]
}
