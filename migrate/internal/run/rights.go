package run

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// checkRights returns an error that wraps [ErrRights] when the user lacks what the steps need.
func (r *runner) checkRights(ctx context.Context) error {
	var missing []string
	var err error
	switch r.dialect {
	case dialect.Postgres:
		missing, err = r.postgresRights(ctx)
	case dialect.MySQL:
		missing, err = r.mysqlRights(ctx)
	case dialect.SQLite:
		missing, err = r.sqliteRights(ctx)
	}
	if err != nil {
		return fmt.Errorf("the user's rights: %w", err)
	}
	if len(missing) > 0 {
		return fmt.Errorf("%w: %s", ErrRights, strings.Join(missing, "; "))
	}
	return nil
}

// postgresRights: only an owner alters a table, and a schema says who makes tables in it.
func (r *runner) postgresRights(ctx context.Context) (missing []string, err error) {
	if r.p.Silent {
		may, err := r.catalog.Silences(ctx)
		if err != nil {
			return nil, err
		}
		if !may {
			missing = append(missing, "SET on the parameter session_replication_role, which the plan's batches set: GRANT SET ON PARAMETER session_replication_role TO the user (PostgreSQL 15), "+
				"run as a superuser, or plan again as this user")
		}
	}
	schemas := []string{""}
	for _, name := range r.names {
		var owner, schema string
		var has bool
		err := r.db.QueryRowContext(ctx, "SELECT pg_get_userbyid(c.relowner), pg_has_role(c.relowner, 'USAGE'), n.nspname FROM pg_class AS c"+
			" JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = to_regclass($1)", r.catalog.Quoted(name)).Scan(&owner, &has, &schema)
		if err != nil {
			return nil, fmt.Errorf("of table %s: %w", name, err)
		}
		if !has {
			missing = append(missing, fmt.Sprintf("table %s is %s's: the user has to be a member of that role", name, owner))
		}
		schemas = append(schemas, schema)
	}
	slices.Sort(schemas)
	for _, schema := range slices.Compact(schemas) {
		var has bool
		var name string
		err := r.db.QueryRowContext(ctx, "SELECT s.name, has_schema_privilege(s.name, 'CREATE') FROM"+
			" (SELECT COALESCE(NULLIF($1, ''), current_schema()) AS name) AS s", schema).Scan(&name, &has)
		if err != nil {
			return nil, fmt.Errorf("of the schema: %w", err)
		}
		if lacks := "CREATE on the schema " + name; !has && !slices.Contains(missing, lacks) {
			missing = append(missing, lacks)
		}
	}
	return missing, nil
}

// sqliteRights: a table is made in a transaction that is rolled back, which fails in a file or a connection that is read only, and, where
// SQLite keeps a journal of its own beside the file, in a folder that is.
func (r *runner) sqliteRights(ctx context.Context) (missing []string, err error) {
	err = r.within(ctx, nil, func(s *session) error {
		if _, err = s.ExecContext(ctx, "BEGIN IMMEDIATE"); err == nil {
			_, err = s.ExecContext(ctx, "CREATE TABLE snowkey_migrate_probe (id INTEGER)")
		}
		s.undo(ctx, nil)
		if code := r.dialect.Code(err); code == "8" || code == "14" || code == "3" { // READONLY, CANTOPEN, PERM
			missing = append(missing, fmt.Sprintf("the database or its folder cannot be written to: %v", err))
			return nil
		}
		return err
	})
	return missing, err
}
