package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate"
)

func newMigrate() *cobra.Command {
	c := &cobra.Command{
		Use:   "migrate",
		Short: "Take a live schema from auto-increment to snowflake keys",
		Long: `Take a live schema of integer keys from auto-increment to snowflake keys: look at it, plan, let somebody read
the plan, run it, verify what came of it, or roll it back.

  inspect   keys and how full their types are, references declared or not, and what stands in the way; writes nothing
  plan      a file of SQL, step by step, with locks and estimates; writes nothing to the database
  run       does the plan, in batches; may be ended or killed at any point, and goes on where it was
  verify    rows, references, contents and times, against what they were; writes nothing
  rollback  undoes the plan, the last step first
  status    what was done of the plans so far; writes nothing
  merge     copies databases that numbered their rows apart into one

In mode widen (the default) old ids stay and new rows get snowflakes; in mode rekey old rows get ids that tell when they
were made; shadow is rekey without a moment in which a writer fails, on PostgreSQL alone.`,
		Example: `  snowkey migrate inspect --db sqlite:app.db
  snowkey migrate plan --db sqlite:app.db --out widen.sql
  snowkey migrate run --db sqlite:app.db widen.sql`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newMigrateInspect(), newMigratePlan(), newMigrateRun(), newMigrateRollback(), newMigrateVerify(), newMigrateStatus(), newMigrateMerge())
	return c
}

// migration is a command's work on one database.
type migration struct {
	c    *cobra.Command
	db   *gorm.DB
	flag string // names the database on a command line, see namedDSN
	bar  *bar
}

// migrateDatabase adds the flags of a database to a command, and returns what opens the database, calls do with it, and closes it. A signal ends the context.
func migrateDatabase(c *cobra.Command) func(do func(ctx context.Context, m migration) error) error {
	named := databaseFlag(c)
	return func(do func(context.Context, migration) error) error {
		return named.with(c, func(ctx context.Context, d database, pool *sql.DB) error {
			db, err := d.connect(ctx, pool)
			if err != nil {
				return err
			}
			m := migration{c: c, db: db, flag: d.named.flag, bar: newBar(c.ErrOrStderr())}
			defer m.bar.end()
			return usage(limited(do(ctx, m)))
		})
	}
}

// usage makes an error that what was asked for is wrong one of usage.
func usage(err error) error {
	for _, wrong := range migrate.UsageErrors() {
		if errors.Is(err, wrong) {
			return usageError{err}
		}
	}
	return err
}

// limited adds what to do to the error of a statement that PostgreSQL has ended for it took longer than the user's or the database's settings allow. A
// run has no such limit, but what only reads has.
func limited(err error) error {
	// The code is also that of a statement which somebody has canceled; only a message, in the server's language, tells the two apart.
	if dialect.Postgres.Code(err) == "57014" && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w; if nobody has canceled the statement, the user or the database has a statement_timeout: end the DSN in ?statement_timeout=0, or in &statement_timeout=0 where it has a ?", err)
	}
	return err
}

// looking shows how far a step is that only reads.
func (m migration) looking(done, of int, doing string) {
	if of > 0 {
		m.bar.show(float64(done)/float64(of), doing)
	}
}

// inspectFlags adds the flags of what an inspection looks at.
func inspectFlags(c *cobra.Command) *migrate.InspectOptions {
	o := new(migrate.InspectOptions)
	c.Flags().StringArrayVar(&o.Tables, "table", nil, `table, or schema.table, letter by letter; a name with a dot in quotes, '"a.b"'; with ! in front: not that one; may be given again (default: all)`)
	referenceFlag(c, o)
	c.Flags().IntVar(&o.Sample, "sample", 0, "values that are looked at for each reference that is not declared (default: 1000)")
	return o
}

// referenceFlag adds --reference to a command.
func referenceFlag(c *cobra.Command, o *migrate.InspectOptions) {
	c.Flags().StringArrayVar(&o.References, "reference", nil, `a reference that is not declared: orders.customer=customers.id, or events.data:$.user.id=users.id in a
JSON column; with ! in front, that it is none; may be given again`)
}

func newMigrateInspect() *cobra.Command {
	c := &cobra.Command{
		Use:   "inspect",
		Short: "Show the keys of a database, what refers to them, and what stands in the way",
		Long: `Show the keys of a database: their types, how full these are and for how many days they will do; all references
to them, by foreign keys, names, and polymorphic pairs, with how sure each is; rows that refer to none; and what
stands in the way of a migration. At the end there is for each mode the command that plans it, with all the flags that it needs.
Nothing is written.`,
		Example: `  SNOWKEY_DB=postgres://app:secret@127.0.0.1:5432/app snowkey migrate inspect
  snowkey migrate inspect --db-file /run/secrets/app --table orders --json
  snowkey migrate inspect --db sqlite:app.db --reference 'events.data:$.user.id=users.id'`,
		Args: cobra.NoArgs,
	}
	open := migrateDatabase(c)
	options := inspectFlags(c)
	asJSON := c.Flags().Bool("json", false, "print one JSON object")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return open(func(ctx context.Context, m migration) error {
			options.Progress = m.looking
			report, err := migrate.Inspect(ctx, m.db, *options)
			if err != nil {
				return err
			}
			m.bar.end()
			if *asJSON {
				return writeJSON(c.OutOrStdout(), report)
			}
			if err := report.Write(c.OutOrStdout()); err != nil {
				return err
			}
			return m.advise(ctx, report, options)
		})
	}
	return c
}
