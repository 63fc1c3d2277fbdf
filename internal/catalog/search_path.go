package catalog

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// Elsewhere says that a table which the session does not find by its name is in other schemas of PostgreSQL, and what the session's user and search_path are. It is
// empty when no schema has such a table, and on other databases.
func Elsewhere(ctx context.Context, db dialect.Queryer, d dialect.Dialect, table string) (text string, err error) {
	if d != dialect.Postgres {
		return "", nil
	}
	err = dialect.Each(ctx, db, `SELECT current_user, current_setting('search_path'), coalesce(string_agg(quote_ident(n.nspname), ', ' ORDER BY n.nspname), '') FROM pg_catalog.pg_class c
		JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relname = $1 AND c.relkind IN ('r', 'p') AND NOT pg_catalog.pg_table_is_visible(c.oid) AND n.nspname NOT LIKE 'pg\_temp\_%'`, []any{table}, func(rows *sql.Rows) error {
		var user, path, schemas string
		if err := rows.Scan(&user, &path, &schemas); err != nil || schemas == "" {
			return err
		}
		text = fmt.Sprintf("the user %s has the search_path %s, and does not find the table %s, which is in the schema %s: connect as the user that the plan was made with, or with that user's search_path",
			user, strings.TrimSpace(path), table, schemas)
		return nil
	})
	if err != nil {
		return "", failed(err, "where the table "+table+" is")
	}
	return text, nil
}
