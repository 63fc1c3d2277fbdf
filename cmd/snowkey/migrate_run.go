package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/migrate"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

func newMigrateRun() *cobra.Command {
	c := &cobra.Command{
		Use:   "run PLAN",
		Short: "Do a plan, or go on with it",
		Long: `Do the steps of a plan, in batches, up to its end or to a hold: a point at which something has to be done outside of
the database first, such as to deploy another version of the application. Once that is done, --continue=NAME passes the
hold: deploy-writers is before the database stops making keys, drop-maps before the old ids are dropped. --continue
passes the one that the run stands at, as status shows it. It is refused where the run stands at another, or at none:
each hold is reached by a run before another one can pass it.

It may be ended with Ctrl-C or killed at any point: what is done is in the database, in the tables snowkey_migrate and
snowkey_migrate_steps, and the next run goes on from there. The plan's file, or a schema, that has changed meanwhile is
refused. Writers go on; the plan says which locks it takes, and for how long each is waited for is --lock-wait.`,
		Example: `  snowkey migrate run --db sqlite:app.db widen.sql
  snowkey migrate run --db sqlite:app.db --dry-run widen.sql
  snowkey migrate run --db sqlite:app.db --continue=deploy-writers widen.sql
  snowkey migrate run --db-file /run/secrets/app --target 200ms --throttle 0.5 \
      --replica-file /run/secrets/replicas --max-lag 5s rekey.sql`,
		Args: one("the file of a plan"),
	}
	open := migrateDatabase(c)
	o := runFlags(c)
	c.Flags().Var((*holdFlag)(&o.Continue), "continue", "pass the hold that the run stands at, since what it asks for is done; --continue=NAME: if it is that one")
	c.Flags().Lookup("continue").NoOptDefVal = "true"
	_ = c.RegisterFlagCompletionFunc("continue", completeHolds)
	c.Flags().BoolVar(&o.Dry, "dry-run", false, "look whether a run may begin, but not at the locks of others, and print what it would do; nothing is written")
	c.RunE = func(c *cobra.Command, args []string) error { return o.run(c, open, args[0], migrate.Run, "done") }
	return c
}

func newMigrateRollback() *cobra.Command {
	c := &cobra.Command{
		Use:   "rollback PLAN",
		Short: "Undo a plan, the last step first",
		Long: `Undo what was done of a plan, the last step first. Old rows get their old ids back, and references with them; rows that
were made since keep theirs. Types stay 64 bits wide. A plan whose last phase was begun, which drops the maps of old ids
to new ones, cannot be undone any more; nor can one that is done once a later plan for its tables was begun. It may be ended and killed as run may, and run again.`,
		Example: `  snowkey migrate rollback --db sqlite:app.db rekey.sql`,
		Args:    one("the file of a plan"),
	}
	open := migrateDatabase(c)
	o := runFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		return o.run(c, open, args[0], migrate.Rollback, "undone")
	}
	return c
}

// holdFlag is the name of a hold. Without a value the flag is the hold that the run stands at.
type holdFlag string

// Set takes the name, of which "true" is what the flag has without one.
func (f *holdFlag) Set(name string) error {
	switch name {
	case "true":
		name = migrate.Here
	case "", "false":
		return errors.New("it takes the name of a hold, or none, without =")
	}
	*f = holdFlag(name)
	return nil
}

func (f *holdFlag) String() string { return string(*f) }

// Type is that of a flag whose value may be left out.
func (f *holdFlag) Type() string { return "bool" }

// completeHolds completes the name of a hold: of the plan that the command line has, or of any plan.
func completeHolds(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	names := []string{migrate.DeployWriters, migrate.DropMaps}
	if len(args) > 0 && args[0] != "-" {
		if p, err := readPlan(c, args[0]); err == nil {
			names = p.Holds()
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// running is what the flags of a run were given.
type running struct {
	migrate.RunOptions
	replicas *dsnFlag
	json     bool
}

func runFlags(c *cobra.Command) *running {
	o := new(running)
	flags := c.Flags()
	flags.DurationVar(&o.Target, "target", 500*time.Millisecond, "time that a batch aims at")
	flags.Float64Var(&o.Throttle, "throttle", 0, "share of the time to pause between batches, 0 to 0.99")
	flags.DurationVar(&o.MaxLag, "max-lag", 0, "wait while a replica is behind by more; on PostgreSQL as the server tells (default: do not look)")
	o.replicas = addDSN(c, dsnFlag{name: "replica", about: "a replica of MySQL or MariaDB, for --max-lag", several: true})
	flags.DurationVar(&o.LockWait, "lock-wait", 2*time.Second, "how long one attempt waits for a lock, and with it those who queue behind")
	flags.IntVar(&o.Attempts, "attempts", 30, "how often a lock is asked for")
	flags.BoolVar(&o.json, "json", false, "print the outcome as one JSON object")
	return o
}

type runner func(context.Context, *gorm.DB, *migrate.Plan, migrate.RunOptions) (migrate.Outcome, error)

// run does or undoes the plan in a file, and says so with a word.
func (o *running) run(c *cobra.Command, open func(func(context.Context, migration) error) error, path string, do runner, word string) error {
	p, err := readPlan(c, path)
	if err != nil {
		return err
	}
	replicas, err := o.replicas.read(c)
	if err != nil {
		return err
	}
	return open(func(ctx context.Context, m migration) (err error) {
		for _, named := range replicas {
			replica, err := named.parse()
			if err != nil {
				return err
			}
			pool, err := replica.Open()
			if err != nil {
				return fmt.Errorf("%s: %w", replica, err)
			}
			defer func() { err = errors.Join(err, pool.Close()) }()
			o.Replicas = append(o.Replicas, pool)
		}
		o.Progress = m.running()
		outcome, err := do(ctx, m.db, p, o.RunOptions)
		m.bar.end()
		var hold *migrate.HoldError
		if errors.As(err, &hold) {
			further := ""
			if hold.Stands != "" {
				further = "--continue=" + hold.Stands + " "
			}
			return fmt.Errorf("%w: snowkey migrate run %s%s%s", err, m.flag, further, path)
		}
		if err != nil {
			return interrupted(ctx, err, "what was done is kept")
		}
		if o.json {
			return writeJSON(c.OutOrStdout(), outcome)
		}
		if o.Dry {
			return o.writeForesight(c, outcome, p, m.flag+path)
		}
		return writeOutcome(c, outcome, word, len(p.Steps), m.flag+path, m.flag+"--continue="+outcome.Hold+" "+path)
	})
}

// writeForesight says what a run would do.
func (o *running) writeForesight(c *cobra.Command, outcome migrate.Outcome, p *migrate.Plan, run string) error {
	text := fmt.Sprintf("nothing was written; of %s %d are done, and a run would do %d:\n", count(len(p.Steps), "step"), outcome.Step, len(outcome.Would))
	for _, n := range outcome.Would {
		text += fmt.Sprintf("  step %d: %s\n", n, printable(p.Steps[n-1].String()))
	}
	switch {
	case len(outcome.Would) == 0 && outcome.Held == "":
		text = "nothing was written, and there is nothing to do\n"
	case len(outcome.Would) == 0:
		text = fmt.Sprintf("nothing was written; a run would stay at the hold %s, step %d of %d. %s\n", printable(outcome.Hold), outcome.Step+1, len(p.Steps), printable(outcome.Held))
	case outcome.Held != "":
		text += fmt.Sprintf("It would end at the hold %s. %s\n", printable(outcome.Hold), printable(outcome.Held))
	}
	if len(outcome.Would) > 0 {
		text += fmt.Sprintf("Locks and open transactions of others were not looked at: a run waits for a lock for %v, up to %d times, and ends where it gets none.\n", o.LockWait, o.Attempts)
		text += "To do it: snowkey migrate run " + run + "\n"
	}
	_, err := fmt.Fprint(c.OutOrStdout(), text)
	return err
}

// running shows how far a run is: a bar on a terminal, elsewhere a line a step.
func (m migration) running() func(migrate.Progress) {
	last, waits := 0, ""
	return func(p migrate.Progress) {
		if m.bar.ProgressBar == nil {
			if p.Step != last {
				m.c.PrintErrf("step %d of %d: %s\n", p.Step, p.Steps, printable(p.Title))
			}
			if p.Waits != "" && p.Waits != waits {
				m.c.PrintErrf("step %d of %d waits for %s\n", p.Step, p.Steps, p.Waits)
			}
			last, waits = p.Step, p.Waits
			return
		}
		part := 0.0
		if p.Total > 0 {
			part = min(float64(p.Rows)/float64(p.Total), 1)
		}
		m.bar.show((float64(p.Step-1)+part)/float64(max(p.Steps, 1)), describeStep(p))
	}
}

// describeStep says what a run does, how fast, and for how long there is more of it.
func describeStep(p migrate.Progress) string {
	text := fmt.Sprintf("%d/%d %s", p.Step, p.Steps, printable(p.Title))
	if p.Rate > 0 {
		text = fmt.Sprintf("%.0f rows/s  %s", p.Rate, text)
	}
	if p.Waits != "" {
		text = "waits for " + p.Waits + "  " + text
	}
	if p.Left < 0 {
		return text
	}
	return describe(p.Left, text)
}

// writeOutcome says what a run came to, and which command is next.
func writeOutcome(c *cobra.Command, o migrate.Outcome, word string, steps int, database, further string) error {
	came := fmt.Sprintf("%s changed in %v", count(int(o.Rows), "row"), o.Took.Round(time.Millisecond))
	text := fmt.Sprintf("%s: %s, %s\n", word, count(steps, "step"), came)
	switch {
	case steps == 0:
		text = word + ": the plan has no steps, there was nothing to do\n"
	case word == "undone":
		text = fmt.Sprintf("%s: %d of %s, %s\n", word, o.Undid, count(steps, "step"), came)
	case o.Held == "":
		text += "Then: snowkey migrate verify " + database + "\n"
	case o.Hold == plan.DropMaps:
		text = fmt.Sprintf("at the hold %s, step %d of %d, %s. %s\nFirst: snowkey migrate verify %s\nThen: snowkey migrate run %s\n",
			o.Hold, o.Step+1, steps, came, printable(o.Held), database, further)
	case o.Held != "":
		text = fmt.Sprintf("at the hold %s, step %d of %d, %s. %s\nThen: snowkey migrate run %s\n", printable(o.Hold), o.Step+1, steps, came, printable(o.Held), further)
	}
	for _, warning := range o.Warnings {
		text += printable(warning) + "\n"
	}
	_, err := fmt.Fprint(c.OutOrStdout(), text)
	return err
}
