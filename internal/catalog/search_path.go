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

// Hidden says that tables may be there which the user has no right to see, and which right that is. It is for where no table was found, and empty where there is none.
func (c *Catalog) Hidden(ctx context.Context) (text string, err error) {
	switch c.reader.Dialect {
	case dialect.Postgres:
		var user, path, schemas string
		err = c.Each(ctx, `SELECT current_user, current_setting('search_path'), string_agg(quote_ident(n.nspname), ', ' ORDER BY n.nspname) FROM pg_catalog.pg_namespace n
			WHERE NOT pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.relnamespace = n.oid AND c.relkind IN ('r', 'p'))
			AND n.nspname::text IN (SELECT CASE part WHEN '$user' THEN current_user::text ELSE part END FROM (SELECT btrim(x, '" ') AS part
				FROM unnest(string_to_array(current_setting('search_path'), ',')) x) parts) HAVING count(*) > 0`, nil, []any{&user, &path, &schemas}, func() error {
			text = fmt.Sprintf("the user %s has the search_path %s, and does not see the tables in it: GRANT USAGE ON SCHEMA %s TO the user", user, path, schemas)
			return nil
		})
	case dialect.MySQL: // which says whether a table is there only to who may read it
		err = c.Each(ctx, "SELECT 1 FROM snowkey_hidden LIMIT 0", nil, nil, nil)
		if dialect.MySQL.Class(err) == dialect.Missing {
			return "", nil
		}
		if dialect.MySQL.Class(err) == dialect.Denied {
			text, err = fmt.Sprintf("the user sees no table of the database, and has no right to all of its tables (%v): GRANT SELECT ON the database TO the user", err), nil
		}
	}
	return text, failed(err, "the user's rights")
}
