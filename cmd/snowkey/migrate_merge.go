package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/migrate"
)

func newMigrateMerge() *cobra.Command {
	c := &cobra.Command{
		Use:   "merge",
		Short: "Copy databases that numbered their rows apart into one",
		Long: `Copy the rows of databases with one schema, such as the servers of a game, into one of them or into an empty one with
that schema. First it is proved that no key and no other unique value is in two of them. Where ids clash, nothing is
copied: a plan that gives the rows of a database other ids is written for each that needs one, rekey-1.sql for the first of
--from, and widen.sql where --into has no room for them; run these, and merge again.

It may be ended or killed at any point, and run again: rows that were copied are not copied twice.

The environment variable SNOWKEY_DB names the database that has the rows of all at the end: sqlite:PATH,
mysql:USER:PASSWORD@tcp(HOST:PORT)/DATABASE or postgres://USER:PASSWORD@HOST:PORT/DATABASE. So does the first line of the file in
--into-file, which comes before the variable. Each line of the file in --from-file names a database to copy from; "-" is standard
input. --into and --from take the same texts: all users of the machine can read them in the list of processes, with the passwords.`,
		Example: `  snowkey migrate merge --into sqlite:all.db --from sqlite:one.db --from sqlite:two.db --dry
  snowkey migrate merge --into-file /run/secrets/all --from-file /run/secrets/servers --plans plans`,
		Args: cobra.NoArgs,
	}
	flags := c.Flags()
	into := addDSN(c, dsnFlag{name: "into", about: "database that has the rows of all at the end", variable: databaseVariable})
	from := addDSN(c, dsnFlag{name: "from", about: "database to copy from", several: true})
	plans := flags.String("plans", ".", "folder for plans, where ids clash")
	asJSON := flags.Bool("json", false, "print the outcome as one JSON object")
	options := planFlags(c)
	var o migrate.MergeOptions
	referenceFlag(c, &o.Inspect)
	flags.StringArrayVar(&o.Tables, "table", nil, "table; may be given again (default: all that --into has)")
	flags.DurationVar(&o.Target, "target", 500*time.Millisecond, "time that a batch aims at")
	flags.BoolVar(&o.Dry, "dry", false, "prove that nothing clashes, and copy nothing")
	_ = c.MarkFlagDirname("plans") // fails only for a flag that does not exist
	c.RunE = func(c *cobra.Command, _ []string) (err error) {
		first, err := into.parse(c)
		if err != nil {
			return err
		}
		all, err := from.read(c)
		if err != nil {
			return err
		}
		if len(all) == 0 {
			return usageError{errors.New("no database to copy from is named: give --from-file PATH, with one a line, or --from DSN")}
		}
		databases := []database{first}
		for _, named := range all {
			d, err := named.parse()
			if err != nil {
				return err
			}
			databases = append(databases, d)
		}
		ctx, stop := untilSignal(c)
		defer stop()
		var dbs []*gorm.DB
		for _, d := range databases {
			pool, failed := d.Open()
			if failed != nil {
				return failed
			}
			defer func() { err = errors.Join(err, pool.Close()) }()
			db, failed := d.connect(ctx, pool)
			if failed != nil {
				return fmt.Errorf("%s: %w", d, failed)
			}
			dbs = append(dbs, db)
		}
		bar := newBar(c.ErrOrStderr())
		defer bar.end()
		o.Layout, o.Plan, o.Progress = options.layout.Layout, options.resolve(), mergeProgress(bar)
		outcome, failed := migrate.Merge(ctx, dbs[0], dbs[1:], o)
		bar.end()
		failed = usage(interrupted(ctx, failed, "what was copied stays, and merge goes on when it is run again"))
		if isUsage(failed) {
			return failed
		}
		if *asJSON {
			err = writeJSON(c.OutOrStdout(), outcome)
		} else {
			err = writeProof(c.OutOrStdout(), outcome)
		}
		if err == nil {
			err = writeMergePlans(c, outcome, *plans, databases)
		}
		return errors.Join(failed, err)
	}
	return c
}

// writeMergePlans writes the plans of an outcome into a folder. The database that has all at the end is the first one.
func writeMergePlans(c *cobra.Command, o migrate.MergeOutcome, folder string, databases []database) error {
	write := func(p *migrate.Plan, file string, d database) error {
		if p == nil {
			return nil
		}
		if err := writePlan(c, p, filepath.Join(folder, file), fmt.Sprintf("--db %s ", d)); err != nil {
			return fmt.Errorf("--plans: %w", err)
		}
		return nil
	}
	errs := []error{write(o.Widen, "widen.sql", databases[0])}
	for i, p := range o.Rekeys {
		errs = append(errs, write(p, fmt.Sprintf("rekey-%d.sql", i+1), databases[i+1]))
	}
	return errors.Join(errs...)
}

func mergeProgress(b *bar) func(migrate.MergeProgress) {
	return func(p migrate.MergeProgress) {
		part := 0.0
		if p.Total > 0 {
			part = min(float64(p.Rows)/float64(p.Total), 1)
		}
		text := printable(p.Doing)
		if p.Left >= 0 {
			text = describe(p.Left, text)
		}
		b.show(part, text)
	}
}

func writeProof(w io.Writer, o migrate.MergeOutcome) error {
	table := new(strings.Builder)
	rows := newColumns(table, "TABLE", "CLASHES", "PROOF")
	for _, p := range o.Proof {
		rows.line(printable(p.Table), p.Clashes, printable(p.Text))
	}
	rows.end()
	for _, note := range o.Notes {
		_, _ = fmt.Fprintf(table, "note: %s\n", printable(note)) // to memory
	}
	_, err := fmt.Fprintf(w, "%s%s copied\n", table, count(int(o.Copied), "row"))
	return err
}
