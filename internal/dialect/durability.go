package dialect

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// Finding is something about a server, a session or a table that matters to who relies on what was committed.
type Finding struct {
	// Refused is false for a warning: what goes wrong because of it takes more than a crash of the server, or a user with other rights.
	Refused bool
	// ReadOnly says that the session takes no writes. Otherwise the server may lose what was committed.
	ReadOnly bool
	// Text says what was found, and what to do.
	Text string
}

func unsafe(format string, args ...any) Finding {
	return Finding{Refused: true, Text: fmt.Sprintf(format, args...)}
}

func readOnly(text string) Finding { return Finding{Refused: true, ReadOnly: true, Text: text} }

// warning returns the finding as one that is not refused.
func (f Finding) warning() Finding {
	f.Refused = false
	return f
}

// Durability returns what a session and its server have set that may lose what was committed, or that keeps the session from writing. Of SQLite it looks at the
// database with that schema's name, "main" where it is empty. PostgreSQL's synchronous_commit is no finding: a transaction sets it for itself.
//
// It takes one round trip, and several pragmas on SQLite. The error is the driver's, with what was being read.
func (d Dialect) Durability(ctx context.Context, conn *sql.Conn, schema string) ([]Finding, error) {
	if e := d.engine(); e != nil {
		return e.durability(ctx, conn, schema)
	}
	return nil, nil
}

// Storage returns whether the server may lose what was committed because of how it keeps the table, which has to exist. It takes one round trip, and none
// on SQLite.
func (d Dialect) Storage(ctx context.Context, conn *sql.Conn, table Place) ([]Finding, error) {
	query := map[Dialect]string{
		MySQL: "SELECT ENGINE FROM information_schema.TABLES WHERE " + InCatalog(table),
		// By names, as to_regclass fails without rights on the schema.
		Postgres: "SELECT c.relpersistence::text FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace" +
			" WHERE n.nspname = " + Literal(table.Schema) + " AND c.relname = " + Literal(table.Table),
	}[d]
	if query == "" {
		return nil, nil
	}
	var kept sql.NullString // NULL of a view
	if err := One(ctx, conn, query, nil, &kept); err != nil {
		return nil, fmt.Errorf("asking how %s is kept: %w", table, err)
	}
	switch quoted := d.QuotePlace(table); {
	case d == MySQL && !strings.EqualFold(kept.String, "InnoDB"):
		return []Finding{unsafe("the table %s is kept by the engine %s, which may lose what was committed; ALTER TABLE %s ENGINE = InnoDB", table, kept.String, quoted)}, nil
	case d == Postgres && kept.String != "p":
		return []Finding{unsafe("%s is not logged, so it is empty after a crash; ALTER TABLE %s SET LOGGED", table, quoted)}, nil
	}
	return nil, nil
}
