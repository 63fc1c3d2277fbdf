package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/migrate"
)

func newMigratePlan() *cobra.Command {
	c := &cobra.Command{
		Use:   "plan",
		Short: "Plan the migration of a database, as a file to read and to run",
		Long: `Plan the migration of a database: SQL in order, each step with its lock, its algorithm, the rows and bytes that it
is about, and what undoes it. Nothing is written but the file. It is for this database, and for its schema as it is now:
a file or a schema that has changed is refused by run.

What stands in the way is said, all of it at once, with the flags that settle it: a reference that is not declared and
may be none, a trigger that would fire for each row, a table without a time of creation.`,
		Example: `  snowkey migrate plan --db sqlite:app.db --out widen.sql
  snowkey migrate plan --db-file /run/secrets/app --mode rekey --table users --table orders \
      --created order_items='through order_id' --zone Asia/Shanghai --out rekey.sql
  SNOWKEY_DB='postgres://app:secret@127.0.0.1/app' snowkey migrate plan --mode shadow --table users --json`,
		Args: cobra.NoArgs,
	}
	open := migrateDatabase(c)
	inspected := inspectFlags(c)
	options := planFlags(c)
	flags := c.Flags()
	mode := flags.String("mode", string(migrate.Widen), "widen, rekey, or on PostgreSQL shadow")
	node := flags.Int64("node", 0, "number that the new ids of old rows have, and nobody else ever gets (default: the greatest that was never granted)")
	out := flags.String("out", "", "file to write; one that is there is not replaced (default: standard output)")
	asJSON := flags.Bool("json", false, "print the plan as the JSON that run takes")
	complete(c, "mode", cobra.CompletionWithDesc("widen", "old ids stay, new rows get snowflakes"),
		cobra.CompletionWithDesc("rekey", "old rows get ids that tell when they were made"),
		cobra.CompletionWithDesc("shadow", "rekey without a moment in which a writer fails, on PostgreSQL"))
	_ = c.MarkFlagFilename("out", "sql")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *asJSON && *out != "" {
			return usageError{errors.New("--json and --out: with --out the JSON is written beside the file that people read; give one of them")}
		}
		return open(func(ctx context.Context, m migration) error {
			inspected.Progress = m.looking
			report, err := migrate.Inspect(ctx, m.db, *inspected)
			if err != nil {
				return err
			}
			o := options.resolve()
			o.Mode, o.Tables = migrate.Mode(*mode), inspected.Tables
			if flags.Changed("node") {
				o.Node = node
			}
			p, err := migrate.MakePlan(ctx, m.db, report, o)
			if err != nil {
				return needed(c, err, m.flag, options.created)
			}
			m.bar.end()
			if *out == "" {
				encode := p.Text
				if *asJSON {
					encode = p.Encode
				}
				text, err := encode()
				if err == nil {
					_, err = c.OutOrStdout().Write(text)
				}
				return err
			}
			if err := writePlan(c, p, *out, m.flag); err != nil {
				return fmt.Errorf("--out: %w", err)
			}
			return nil
		})
	}
	return c
}

// planning is what the flags of a plan were given.
type planning struct {
	migrate.PlanOptions
	layout  *layoutChoice
	created map[string]string
}

// planFlags adds the flags that plans have in common.
func planFlags(c *cobra.Command) *planning {
	p := &planning{layout: layoutFlag(c)}
	flags := c.Flags()
	flags.StringToStringVar(&p.created, "created", nil, `where a table's rows have their time from: table=column, table=2020-01-31T00:00:00Z for all, table='through COLUMN' for
that of the row that the column refers to, or table=keep for old ids to stay; '*=TIME' or '*=keep' for all tables of which
nothing else is known; may be given again (default: a guess, which the plan names)`)
	flags.StringVar(&p.Zone, "zone", "", "time zone of times that say none, such as UTC or Asia/Shanghai")
	flags.Int64Var(&p.Below, "below", 0, "ids below are old ones (default: 2^42)")
	flags.StringArrayVar(&p.Accept, "accept", nil, "what stands in the way and may, KIND:TABLE.NAME as it is said there; may be given again")
	flags.DurationVar(&p.Window, "window", 0, `for how long nothing may get a key from the database before the step that ends that, once for all tables
(default: 2s on MySQL and MariaDB, where inserts that fill keys are refused meanwhile, else 10s)`)
	flags.BoolVar(&p.Exclusive, "exclusive", false, `with --mode rekey: nobody else writes to the tables from the first step to the last. All are rewritten at once, in one transaction that
keeps writers out, and on PostgreSQL readers, too, unless the user may set session_replication_role; it takes less time, and writes less log`)
	flags.BoolVar(&p.Keep, "keep", false, "without the last phase, which drops the maps of old ids to new ones, and old columns")
	flags.StringVar(&p.Grants, "grants", grant.DefaultTable, "table of node numbers")
	flags.StringVar(&p.Space, "space", grant.DefaultSpace, "key space in it")
	return p
}

// resolve returns the options of the flags.
func (p *planning) resolve() migrate.PlanOptions {
	o := p.PlanOptions
	o.Layout, o.Created, o.Tool = p.layout.Layout, p.created, "snowkey "+version()
	return o
}

// writePlan writes a plan to a file that is not there yet, and says what it comes to, and how it is run on the database of a flag.
func writePlan(c *cobra.Command, p *migrate.Plan, path, database string) error {
	if err := p.WriteFiles(path); errors.Is(err, fs.ErrExist) {
		return usageError{fmt.Errorf("%w, and may have been run: choose another name", err)}
	} else if err != nil {
		return usageError{err}
	}
	if len(p.Steps) == 0 {
		c.PrintErrf("%s: no steps. %s\n", path, printable(strings.Join(p.Notes, " ")))
		return nil
	}
	holds := p.Holds()
	names := ""
	if len(holds) > 0 {
		names = " (" + strings.Join(holds, ", ") + ")"
	}
	c.PrintErrf("%s: %s, and %s at which a run ends%s until --continue passes it. Read it, then: snowkey migrate run %s%s\n",
		path, count(len(p.Steps), "step"), count(len(holds), "hold"), names, database, path)
	return nil
}

// readPlan reads a plan by one of its files, or its JSON from standard input, "-".
func readPlan(c *cobra.Command, path string) (*migrate.Plan, error) {
	if path != "-" {
		p, err := migrate.ReadPlanFiles(path)
		if err != nil {
			return nil, usageError{err}
		}
		return p, nil
	}
	in, err := standardInput(c, "PLAN")
	if err != nil {
		return nil, usageError{err}
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, usageError{err}
	}
	p, err := migrate.ReadPlan(text)
	if err != nil {
		return nil, usageError{fmt.Errorf("standard input: %w", err)}
	}
	return p, nil
}
