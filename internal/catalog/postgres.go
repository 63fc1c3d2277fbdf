package catalog

import (
	"context"

	"github.com/snowkey-go/snowkey/internal/table"
)

// postgresSource reads PostgreSQL's pg_catalog, which everybody may.
type postgresSource struct{ table.Postgres }

func (s postgresSource) server(ctx context.Context) (Server, error) {
	found := Server{Kind: "postgres"}
	allowed := false
	// The version is "15.8 (Debian 15.8-0+deb12u1)", or the like.
	err := s.Each(ctx, `SELECT 'PostgreSQL ' || split_part(current_setting('server_version'), ' ', 1), current_database(),
			coalesce(host(inet_server_addr()), '') || ':' || current_setting('port') || ':' || (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database()),
			has_function_privilege('pg_catalog.pg_control_system()', 'execute')`, nil, []any{&found.Version, &found.Name, &found.ID, &allowed}, nil)
	if err != nil || !allowed {
		return found, err
	}
	err = s.Each(ctx, "SELECT system_identifier::text FROM pg_catalog.pg_control_system()", nil, []any{&found.ID}, nil)
	return found, err
}

func (s postgresSource) list(ctx context.Context) ([]Name, error) {
	return s.Names(ctx, `SELECT c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1`)
}

func (postgresSource) create(context.Context, *Table) error { return nil }
