package ticket

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// names are the names that the SQL of a sequence is made of. All but those of a source that has not found its table yet have the schema before the
// table, so that USE, SET search_path and a pool that resets its sessions do not change which table it is.
type names struct {
	dialect  Dialect
	number   int64  // the server's
	sequence string // letters, digits, dashes, dots and underlines only
	table    string // of the configuration, without its schema
	object   string // the SEQUENCE, for a sequence that is one
	schema   string // empty where it is not known yet
	named    bool   // by the configuration
	settled  bool   // the source has found its table
	unsafe   bool   // see Config.AllowUnsafe
	verbs    string // the rights that a draw takes
}

func newNames(d Dialect, c Config, number int64) names {
	schema, table := dialect.SplitName(c.Table)
	return names{dialect: d, number: number, sequence: c.Sequence, table: table, schema: schema, named: schema != "", unsafe: c.AllowUnsafe}
}

// to returns the names of a table that was found.
func (n names) to(schema string) names {
	n.schema, n.settled = schema, true
	return n
}

// place is where the table is, as far as it is known.
func (n names) place() dialect.Place { return dialect.Place{Schema: n.schema, Table: n.table} }

// quote returns the SQL of a name in the table's schema.
func (n names) quote(name string) string {
	if n.schema == "" {
		return n.dialect.QuoteAny(name)
	}
	return n.dialect.QuotePlace(dialect.Place{Schema: n.schema, Table: name})
}

func (n names) quoted() string { return n.quote(n.table) }

// String is the table with its schema, for people.
func (n names) String() string { return strings.TrimPrefix(n.schema+"."+n.table, ".") }

// registerSuffix makes the name of the register of a table.
const registerSuffix = "_register"

func (n names) register() string { return n.quote(n.table + registerSuffix) }

// registerTable is the register: which servers' rows were ever made.
func (n names) registerTable() table {
	return table{n.table + registerSuffix, "CREATE TABLE IF NOT EXISTS " + n.register() + " (name varchar(64) NOT NULL, number bigint NOT NULL, PRIMARY KEY (name, number))" + n.tableOptions()}
}

// tableOptions is what makes a table keep names letter by letter, and on disk.
func (n names) tableOptions() string {
	if n.dialect == MySQL {
		return " ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin"
	}
	return ""
}

func (n names) enter(number int64) string {
	text := fmt.Sprintf("INTO %s (name, number) VALUES ('%s', %d)", n.register(), n.sequence, number)
	if n.dialect == MySQL {
		return "INSERT IGNORE " + text
	}
	return "INSERT " + text + " ON CONFLICT DO NOTHING"
}

// made adds the numbers that are in the register. One that is missing has none; one that may not be read is needed where the row is missing.
func (n names) made(ctx context.Context, conn *sql.Conn, c *condition) error {
	err := dialect.Each(ctx, conn, fmt.Sprintf("SELECT number FROM %s WHERE name = '%s'", n.register(), n.sequence), nil, func(rows *sql.Rows) error {
		var number int64
		err := rows.Scan(&number)
		c.made = append(c.made, number)
		return err
	})
	if unusable(n.dialect, err) && (c.row || !denied(n.dialect, err)) {
		return nil
	}
	return err
}

// unusable reports whether the error says that something does not exist, or may not be used.
func unusable(d Dialect, err error) bool {
	return d.Class(err) == dialect.Missing || denied(d, err)
}

// denied reports whether the error says that the user may not do it.
func denied(d Dialect, err error) bool { return d.Class(err) == dialect.Denied }
