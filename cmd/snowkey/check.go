package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/migrate/check"
)

func newCheck() *cobra.Command {
	c := &cobra.Command{
		Use:   "check",
		Short: "Check that the tables of a database can hold snowflake keys",
		Long: `Check that the tables of a database can hold snowflake keys: that keys, and what refers to them, have 64
bits, that the database makes none of its own (AUTO_INCREMENT, serial, identity, AUTOINCREMENT), that no
key can be NULL, and that none is from the future by the layout. Each finding is printed with the
statements that fix it, where these are certain to run and to change nothing else, and otherwise with the
reason and what to do. Nothing is written; run them yourself, while nothing writes to the tables.

Of tables of InnoDB it also tells which have half empty pages; that harms no key.

Without --table all tables are checked, on PostgreSQL those of the current schema. The exit status is 1
when something was found, other than half empty pages, and when the user has no right to see the tables.`,
		Example: `  SNOWKEY_DB=postgres://app:secret@127.0.0.1:5432/app snowkey check
  snowkey check --db-file /run/secrets/app --table orders --table shop.customers
  snowkey check --db sqlite:app.db --layout twitter --json`,
		Args: cobra.NoArgs,
	}
	named := databaseFlag(c)
	tables := c.Flags().StringArray("table", nil, `table, or schema.table, letter by letter; a name with a dot in quotes, '"a.b"'; may be given again (default: all)`)
	layout := layoutFlag(c)
	asJSON := c.Flags().Bool("json", false, "print a JSON object a line")
	c.RunE = func(c *cobra.Command, _ []string) error {
		var findings []check.Finding
		var checked int
		err := named.with(c, func(ctx context.Context, d database, pool *sql.DB) error {
			db, err := d.connect(ctx, pool)
			if err != nil {
				return err
			}
			findings, checked, err = checkTables(ctx, db, layout.Layout, *tables)
			if errors.Is(err, check.ErrTable) {
				return usageError{fmt.Errorf("--table: %w", err)}
			}
			return err
		})
		if err != nil {
			return err
		}
		if *asJSON {
			err = writeJSONLines(c.OutOrStdout(), findings)
		} else {
			err = writeFindings(c.OutOrStdout(), findings)
		}
		switch {
		case err != nil:
			return err
		case slices.ContainsFunc(findings, func(f check.Finding) bool { return !f.Kind.Harmless() }):
			return fmt.Errorf("%s checked, %s", count(checked, "table"), count(len(findings), "finding"))
		}
		found := "nothing found"
		if len(findings) > 0 {
			found = count(len(findings), "finding") + ", which harms no key"
		}
		c.PrintErrln(count(checked, "table"), "checked,", found)
		return nil
	}
	return c
}

// checkTables checks the tables, or all, and says how many these were.
func checkTables(ctx context.Context, db *gorm.DB, layout idgen.Layout, tables []string) (findings []check.Finding, checked int, err error) {
	if len(tables) == 0 {
		if tables, err = check.List(ctx, db); err != nil {
			return nil, 0, err
		}
	}
	findings, err = check.Tables(ctx, db, layout, tables...)
	return findings, len(tables), err
}

// writeFindings prints a block of lines a finding. The statements are lines of their own, to be copied, and those that fix several
// findings stand there once.
func writeFindings(w io.Writer, findings []check.Finding) error {
	var text strings.Builder
	for i, f := range findings {
		if i > 0 {
			text.WriteByte('\n')
		}
		text.WriteString(printable(f.String()) + "\n")
		same := slices.IndexFunc(findings, func(other check.Finding) bool { return slices.Equal(other.Fix, f.Fix) })
		if same < i && len(f.Fix) > 0 {
			fmt.Fprintf(&text, "    (fixed with %s, column %s)\n", printable(findings[same].Table), printable(findings[same].Column))
			continue
		}
		for _, statement := range f.Fix {
			if printable(statement) != statement {
				statement = "-- a name in this statement has characters that a terminal would act on: see --json"
			}
			text.WriteString("    " + statement + ";\n")
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}
