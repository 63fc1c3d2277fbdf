package ticket

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// column is what a catalog says of one.
type column struct {
	kind     string // of the type, in lower case, without its width
	unsigned bool
	width    int64 // of a text, in characters; 0 where it has none
}

// columns returns those of the table, by name in lower case; none where it is missing.
func (n names) columns(ctx context.Context, conn *sql.Conn) (map[string]column, error) {
	var query string
	switch n.dialect {
	case MySQL:
		query = "SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE LIKE '%unsigned%', COALESCE(CHARACTER_MAXIMUM_LENGTH, 0)" +
			" FROM information_schema.COLUMNS WHERE " + n.inCatalog()
	case Postgres:
		query = "SELECT attname, format_type(atttypid, NULL), false, CASE WHEN atttypmod > 4 THEN atttypmod - 4 ELSE 0 END" +
			" FROM pg_attribute WHERE attnum > 0 AND NOT attisdropped AND attrelid = " + regclass(n.quoted())
	case SQLite:
		query = "SELECT name, type, 0, 0 FROM pragma_table_info" + n.inPragma()
	}
	found := map[string]column{}
	err := dialect.Each(ctx, conn, query, nil, func(rows *sql.Rows) error {
		var name string
		var c column
		if err := rows.Scan(&name, &c.kind, &c.unsigned, &c.width); err != nil {
			return err
		}
		c.kind, _, _ = strings.Cut(strings.ToLower(c.kind), "(")
		found[strings.ToLower(name)] = c
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("asking for the columns of %s: %w", n, err)
	}
	return found, nil
}

// uniqueKeys returns the columns of each unique key of the table, with commas between them, the primary key's first.
func (n names) uniqueKeys(ctx context.Context, conn *sql.Conn) (keys []string, err error) {
	query := "SELECT GROUP_CONCAT(LOWER(COLUMN_NAME) ORDER BY SEQ_IN_INDEX) FROM information_schema.STATISTICS WHERE NON_UNIQUE = 0 AND " + n.inCatalog() +
		" GROUP BY INDEX_NAME ORDER BY INDEX_NAME <> 'PRIMARY'"
	if n.dialect == SQLite {
		query = "SELECT (SELECT group_concat(lower(c.name)) FROM pragma_index_info(i.name, " + dialect.Literal(n.schema) + ") AS c) FROM pragma_index_list" + n.inPragma() +
			` AS i WHERE i."unique" = 1 AND i.partial = 0`
	}
	err = dialect.Each(ctx, conn, query, nil, func(rows *sql.Rows) error {
		var key sql.NullString // of an index on an expression
		if err := rows.Scan(&key); err != nil {
			return err
		}
		keys = append(keys, key.String)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("asking for the keys of %s: %w", n, err)
	}
	return keys, nil
}

// storage adds what it means how the table is kept.
func (n names) storage(ctx context.Context, conn *sql.Conn, c *condition) error {
	findings, err := n.dialect.Storage(ctx, conn, n.place())
	c.found(findings, n.unsafe)
	return err
}

// inCatalog is the condition that picks the table from MySQL's information_schema.
func (n names) inCatalog() string {
	return dialect.InCatalog(n.place())
}

// inPragma are the arguments of a pragma's table function.
func (n names) inPragma() string {
	return fmt.Sprintf("(%s, %s)", dialect.Literal(n.table), dialect.Literal(n.schema))
}

// regclass is the number of what is called so, NULL where there is none.
func regclass(quoted string) string { return "to_regclass(" + dialect.Literal(quoted) + ")" }
