package inspect

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// ofDatabase notes what the server does.
func (i *inspector) ofDatabase(ctx context.Context) error {
	switch i.dialect {
	case dialect.MySQL:
		return errors.Join(i.ofMode(ctx), i.ofEvents(ctx), i.ofReplicas(ctx, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%'"))
	case dialect.Postgres:
		return i.ofReplicas(ctx, "SELECT COUNT(*) FROM pg_catalog.pg_stat_replication")
	}
	return nil
}

// ofMode notes an sql_mode that clamps numbers.
func (i *inspector) ofMode(ctx context.Context) error {
	for _, scope := range []string{"GLOBAL", "SESSION"} {
		mode, err := i.texts(ctx, "SELECT @@"+scope+".sql_mode")
		if err != nil {
			return err
		}
		if m := strings.Join(mode, ""); !strings.Contains(m, "STRICT_TRANS_TABLES") && !strings.Contains(m, "STRICT_ALL_TABLES") {
			i.obstacle(nil, Obstacle{
				Kind: "sql_mode", Name: scope, Text: "the " + strings.ToLower(scope) + " sql_mode is not strict: an id that does not fit into a column is written as 2147483647, without an error",
				Do: "add STRICT_TRANS_TABLES to it", Blocks: everything,
			})
		}
	}
	return nil
}

// ofEvents notes that the user may not see the events of the database.
func (i *inspector) ofEvents(ctx context.Context) error {
	err := i.catalog.Each(ctx, "SHOW EVENTS", nil, nil, nil)
	if err == nil || i.dialect.Class(err) != dialect.Denied {
		return err
	}
	i.obstacle(nil, Obstacle{
		Kind: "unreadable", Name: "events", Text: "the events of the database could not be read, for this user has no right to them: one may insert rows without keys, or hold ids in types that hold no snowflake",
		Do: "GRANT EVENT ON the database TO the user, and inspect again; or have somebody look who may, and accept it", Blocks: everything,
	})
	return nil
}

// ofReplicas notes replicas that are connected. What the user may not see is not counted.
func (i *inspector) ofReplicas(ctx context.Context, query string) error {
	n, err := i.number(ctx, query)
	if err != nil || n == 0 {
		return err
	}
	i.obstacle(nil, Obstacle{
		Kind: "replica", Name: "replicas", Text: fmt.Sprintf("%d replicas are connected: they lag while tables are rewritten, and one whose columns are narrower stops, or clamps ids", n),
		Do: "compare their schemas first, and run with a limit of the lag",
	})
	return nil
}

// ofPostgres notes what PostgreSQL alone has: keys of partitions, and the identity of rows for subscribers.
func (i *inspector) ofPostgres(ctx context.Context, s *subject) error {
	var identity string
	var partitioned sql.NullString
	var published, forced bool
	err := i.catalog.Each(ctx, `SELECT CAST(c.relreplident AS text), CASE WHEN c.relkind = 'p' THEN pg_catalog.pg_get_partkeydef(c.oid) END,
		EXISTS (SELECT 1 FROM pg_catalog.pg_publication_tables p JOIN pg_catalog.pg_publication USING (pubname) WHERE pubupdate AND p.schemaname = n.nspname AND p.tablename = c.relname),
		c.relrowsecurity AND c.relforcerowsecurity AND NOT (SELECT rolsuper OR rolbypassrls FROM pg_catalog.pg_roles WHERE rolname = current_user)
		FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = `+decimal(int64(s.OID)), nil, []any{&identity, &partitioned, &published, &forced}, nil)
	if err != nil {
		return err
	}
	if forced {
		i.obstacle(s, Obstacle{
			Kind: "policy", Name: s.Name.Name, Text: "row security is forced on the table: rows that policies hide from this user are neither counted nor migrated",
			Do: "migrate, and inspect, as a role with BYPASSRLS", Blocks: everything,
		})
	}
	if partitioned.Valid {
		o := Obstacle{
			Kind: "partition", Name: s.Name.Name, Text: "it is partitioned, by " + partitioned.String + ": every partition is rewritten", Do: "rewrite it in mode rekey", Blocks: []string{"shadow"}, Firm: []string{"shadow"},
		}
		if len(i.mentioned(s, partitioned.String)) > 0 {
			o.Text = "it is partitioned, by " + partitioned.String + ": \"cannot alter column because it is part of the partition key\", and rows would move between partitions"
			o.Do, o.Blocks, o.Firm = "make a table that is partitioned otherwise, and move the rows", everything, rewriting
			if i.retyped(s, nil) {
				o.Firm = everything
			}
		}
		i.obstacle(s, o)
	}
	if identity == "n" && published || identity == "d" && published && len(s.Key()) == 0 {
		i.obstacle(s, Obstacle{
			Kind: "replica identity", Name: s.Name.Name, Text: "it is published and has no replica identity, so no UPDATE of it is possible", Do: "ALTER TABLE … REPLICA IDENTITY FULL first", Blocks: rewriting, Firm: rewriting,
		})
	}
	return nil
}
