package catalog

import (
	"context"

	"github.com/snowkey-go/snowkey/internal/table"
)

// sqliteSource reads SQLite's schema tables and pragmas.
type sqliteSource struct{ table.SQLite }

func (s sqliteSource) server(ctx context.Context) (Server, error) {
	found := Server{Kind: "sqlite"}
	err := s.Each(ctx, "SELECT 'SQLite ' || sqlite_version(), coalesce(file, '') FROM pragma_database_list WHERE name = 'main'", nil,
		[]any{&found.Version, &found.Name}, nil)
	if found.Name == "" {
		found.Name = ":memory:"
	}
	found.ID = found.Name
	return found, err
}

func (s sqliteSource) list(ctx context.Context) ([]Name, error) {
	// The rows of a virtual table are in shadow tables.
	return s.Names(ctx, `SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY 1`)
}

func (sqliteSource) create(context.Context, *Table) error { return nil }

func (s sqliteSource) described(ctx context.Context, names []Name) ([]*Table, error) {
	return load(ctx, s, names)
}
