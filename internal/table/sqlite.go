package table

import (
	"context"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/sqltoken"
)

// SQLite reads SQLite's schema tables and pragmas.
type SQLite struct{ Reader }

// Outlines reads the tables of names; see [Source].
func (s SQLite) Outlines(ctx context.Context, names []Name) ([]*Table, error) {
	// In the order in which SQLite looks for a table; temp comes first.
	schemas, err := s.Texts(ctx, "SELECT name FROM pragma_database_list ORDER BY CASE seq WHEN 0 THEN 1 WHEN 1 THEN 0 ELSE seq END")
	if err != nil {
		return nil, err
	}
	tables := make([]*Table, len(names))
	for i, name := range names {
		if tables[i], err = s.outline(ctx, name, schemas); err != nil {
			return nil, err
		}
	}
	Distinct(tables)
	return tables, nil
}

// outline returns a table of the first of the schemas that has it.
func (s SQLite) outline(ctx context.Context, name Name, schemas []string) (*Table, error) {
	first := true // no schema before has the name
	for _, schema := range schemas {
		t := &Table{Full: Name{Schema: schema}, Rows: -1, Bytes: -1}
		err := s.Each(ctx, "SELECT type, name, sql FROM "+s.Quote(schema)+".sqlite_master WHERE lower(name) = lower(?) AND type IN ('table', 'view')",
			[]any{name.Name}, []any{&t.View, &t.Full.Name, &t.Create}, nil)
		if err != nil {
			return nil, err
		}
		if t.Full.Name == "" {
			continue
		}
		if name.Schema != "" && !strings.EqualFold(name.Schema, schema) {
			first = false
			continue
		}
		t.Name = t.Full
		if first && (name.Schema == "" || schema == "main") {
			t.Schema = ""
		}
		if t.View == "table" {
			t.View = ""
		}
		if strings.HasPrefix(t.Create, "CREATE VIRTUAL ") {
			t.View = "virtual table"
		}
		if err := s.readColumns(ctx, t); err != nil || t.View != "" {
			return t, err
		}
		return t, s.ReadIndexes(ctx, t)
	}
	return nil, nil
}

// sqliteWhere returns the condition of a partial index.
func sqliteWhere(definition string) string {
	for _, t := range sqltoken.SQLite.Tokens(definition) {
		if t.Depth == 0 && t.Is("WHERE") {
			return strings.TrimSpace(definition[t.End:])
		}
	}
	return ""
}

// sqlitePart returns a part of an index, by its place. No pragma tells expressions.
func sqlitePart(definition string, place int, column string) Part {
	parts := sqltoken.SQLite.Declarations(definition)
	if place >= len(parts) {
		return Part{Column: column}
	}
	of, end := parts[place], len(parts[place])-1
	if of[end-1].Is("ASC") || of[end-1].Is("DESC") {
		end--
	}
	if column != "" && !slices.ContainsFunc(of, func(t sqltoken.Token) bool { return t.Is("COLLATE") }) {
		return Part{Column: column}
	}
	return Part{Expression: strings.TrimSpace(definition[of[0].Start:of[end].Start])}
}

// sqliteGenerated returns the expression that a column is computed by, which no pragma tells.
func sqliteGenerated(create, column string) string {
	for _, part := range sqltoken.SQLite.Declarations(create) {
		if part[0].Kind == sqltoken.Mark || !strings.EqualFold(part[0].Value, column) {
			continue
		}
		for i, t := range part {
			if t.Depth == 1 && t.Is("AS") {
				return sqltoken.Parenthesized(create, part[i+1:])
			}
		}
	}
	return ""
}
