package catalog

import (
	"context"
	"strings"
)

// sqliteSource reads SQLite's schema tables and pragmas.
type sqliteSource struct{ reader }

func (sqliteSource) quote(part string) string { return quoteWith(`"`, part) }

func (s sqliteSource) server(ctx context.Context) (Server, error) {
	found := Server{Kind: "sqlite"}
	err := s.each(ctx, "SELECT 'SQLite ' || sqlite_version(), coalesce(file, '') FROM pragma_database_list WHERE name = 'main'", nil,
		func(scan func(...any) error) error { return scan(&found.Version, &found.Name) })
	if found.Name == "" {
		found.Name = ":memory:"
	}
	found.ID = found.Name
	return found, err
}

func (s sqliteSource) list(ctx context.Context) ([]Name, error) {
	// The rows of a virtual table are in shadow tables.
	return s.names(ctx, `SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY 1`)
}

func (sqliteSource) create(context.Context, *Table) error { return nil }

func (s sqliteSource) outlines(ctx context.Context, names []Name) ([]*Table, error) {
	// In the order in which SQLite looks for a table; temp comes first.
	schemas, err := s.texts(ctx, "SELECT name FROM pragma_database_list ORDER BY CASE seq WHEN 0 THEN 1 WHEN 1 THEN 0 ELSE seq END")
	if err != nil {
		return nil, err
	}
	tables := make([]*Table, len(names))
	for i, name := range names {
		if tables[i], err = s.outline(ctx, name, schemas); err != nil {
			return nil, err
		}
	}
	merged(tables)
	return tables, nil
}

// outline returns a table of the first of the schemas that has it.
func (s sqliteSource) outline(ctx context.Context, name Name, schemas []string) (*Table, error) {
	first := true // no schema before has the name
	for _, schema := range schemas {
		t := &Table{Full: Name{Schema: schema}, Rows: -1, Bytes: -1}
		err := s.each(ctx, "SELECT type, name, sql FROM "+s.quote(schema)+".sqlite_master WHERE lower(name) = lower(?) AND type IN ('table', 'view')",
			[]any{name.Name}, func(scan func(...any) error) error { return scan(&t.View, &t.Full.Name, &t.Create) })
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
		return t, s.readIndexes(ctx, t)
	}
	return nil, nil
}
