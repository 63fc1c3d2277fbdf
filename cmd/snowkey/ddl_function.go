package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/nextid"
)

// functionHolder begins the name of a function in the table of grants.
const functionHolder = "function "

func newDDLFunction() *cobra.Command {
	c := &cobra.Command{
		Use:   "function",
		Short: "Print a function of the database that makes keys, for rows that scripts insert",
		Long: `Print the SQL of snowkey_next_id(), a function of the database that makes keys of the same layout and key space as the programs: for rows that SQL scripts,
COPY and other languages insert. With --table it becomes what fills in the column's key where none is given: the column's DEFAULT on PostgreSQL, a BEFORE INSERT
trigger on MySQL and MariaDB, also for NULL and 0. A table can be written by both. SQLite has no such functions.

The command takes a node number for good, in the table of grants: no process gets it. "snowkey nodes" shows it as reserved. Nothing else is run.
A second time the command prints the same, with the same number. --name makes another function with another number.

No key comes twice, not beside any process, after a rollback, a crash of the server, or a step of its clock: the last key is remembered by a sequence on PostgreSQL, and by the
counter of an empty table elsewhere. No session waits for another one's commit. Keys increase, and key % n is uniform for powers of two up to a quarter of
the sequence. A layout with a shard is refused. When a tick's sequence is used up, keys go on with the next tick, ahead of the clock.

The function fails when its row is not in the table of grants any more: after a restore of the schema alone, and after "snowkey nodes change". Print
it again then, for a changed layout after the time of the change. Restore no copy to a server whose clock is behind.

Roles need no right but EXECUTE, which PostgreSQL gives to all: the function runs with the rights of who makes it, who needs SELECT on the table of grants. With a binary
log, MySQL and MariaDB make it under log_bin_trust_function_creators = 1, and binlog_format is to be ROW or MIXED. MySQL's LAST_INSERT_ID() is not the key of a
trigger; MariaDB returns the key by INSERT … RETURNING.`,
		Example: `  SNOWKEY_DB=postgres://app@127.0.0.1:5432/app snowkey ddl function --table orders | psql -X -v ON_ERROR_STOP=1 app
  snowkey ddl function --db-file /run/secrets/app --table orders --table shop.payments --column id
  snowkey ddl function --db-file /run/secrets/app --space carts --name carts_next_id --layout twitter --json`,
		Args: cobra.NoArgs,
	}
	named := databaseFlag(c)
	grants := c.Flags().String("grants", grant.DefaultTable, "table that the grants are in")
	space := c.Flags().String("space", grant.DefaultSpace, "the key space")
	layout := layoutFlag(c)
	name := c.Flags().String("name", nextid.DefaultName, "name of the function")
	tables := c.Flags().StringArray("table", nil, `table whose keys the function makes, "orders" or "schema.orders"; may be given again`)
	columns := c.Flags().StringArray("column", nil, "column of the keys, one for all tables or one for each (default id)")
	asJSON := c.Flags().Bool("json", false, "print a JSON object")
	c.RunE = func(c *cobra.Command, _ []string) error {
		var in []nextid.Column
		if len(*tables) > 0 || len(*columns) > 0 {
			if len(*tables) == 0 {
				return usageError{errors.New("--column goes with --table")}
			}
			found, err := parseIDColumns(*tables, *columns)
			if err != nil {
				return usageError{err}
			}
			for _, f := range found {
				in = append(in, nextid.Column{Table: f.table, Column: f.column})
			}
		}
		return named.with(c, func(ctx context.Context, d database, pool *sql.DB) error {
			if err := nextid.Check(d.dialect, *name, layout.Layout, in); err != nil {
				return usageError{err}
			}
			if _, err := grant.DDL(d.dialect, *grants); err != nil {
				return usageError{fmt.Errorf("--grants: %w", err)}
			}
			if err := nextid.CheckServer(ctx, d.dialect, pool); err != nil {
				return err
			}
			store := grant.SQL(pool, d.dialect, grant.WithTable(*grants))
			number, err := grant.Reserve(ctx, store, *space, layout.Layout, functionHolder+*name)
			if err != nil {
				return err
			}
			f := nextid.Function{Dialect: d.dialect, Name: *name, Layout: layout.Layout, Space: *space, Number: number, Columns: in}
			f.Schema, f.Grants = store.Table()
			statements, err := f.Statements()
			if err != nil {
				return err
			}
			if *asJSON {
				return newJSON(c.OutOrStdout()).Encode(functionLine{f.Name, f.Schema, f.Space, store.Place(), number.Number, f.Layout.String(), statements})
			}
			return writeFunction(c.OutOrStdout(), f, store.Place(), statements)
		})
	}
	return c
}

// functionLine is the JSON object of a function.
type functionLine struct {
	Function   string   `json:"function"`
	Schema     string   `json:"schema"`
	Space      string   `json:"space"`
	Table      string   `json:"table"` // of the grants
	Node       int64    `json:"node"`
	Layout     string   `json:"layout"`
	Statements []string `json:"statements"`
}

// writeFunction writes statements that a client of the database takes: those of MySQL end a statement at each semicolon, unless they are told another delimiter.
func writeFunction(w io.Writer, f nextid.Function, place string, statements []string) error {
	text := new(strings.Builder)
	fmt.Fprintf(text, "-- %s() makes keys of space %s with number %d, which is reserved in %s.\n", f.Name, f.Space, f.Number.Number, printable(place))
	for _, statement := range statements {
		if f.Dialect == grant.MySQL && strings.Contains(statement, ";") {
			fmt.Fprintf(text, "DELIMITER $$\n%s$$\nDELIMITER ;\n", statement)
		} else {
			fmt.Fprintf(text, "%s;\n", statement)
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}
