package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowkey-go/snowkey/shard/partition"
)

func newPartition() *cobra.Command {
	return group(&cobra.Command{
		Use:   "partition",
		Short: "Keep the partitions of a table that is divided by the time of its ids",
		Long: `Keep the partitions of a table that is divided by the time of its ids, on PostgreSQL, MySQL and MariaDB: make them ahead,
and drop, detach or archive old ones.

  plan     prints what a run would do, with its SQL; writes nothing
  run      does it; may be called by a scheduler, several times at once, and be ended or killed at any point
  status   prints the partitions, gaps between them, and rows that are in none of their own; writes nothing
  adopt    divides a table that has no partitions yet, while others write it

All take the same flags. A run reads the catalogue and needs no table of its own. On PostgreSQL its role is the table's owner, a
member of that role, or a superuser; new partitions belong to the owner.`,
		Example: `  snowkey partition plan --db-file /run/secrets/app --table orders --every day --zone Europe/Berlin
  snowkey partition run --db-file /run/secrets/app --table orders --every day --zone Europe/Berlin --keep 90 --old drop
  snowkey partition status --db-file /run/secrets/app --table orders --every day --zone Europe/Berlin`,
	}, newPartitionPlan(), newPartitionRun(), newPartitionStatus(), newPartitionAdopt())
}

func newPartitionPlan() *cobra.Command {
	return partitionCommand(&cobra.Command{
		Use:   "plan --table NAME --every day|week|month",
		Short: "Print what a run would do",
		Long: `Print what a run would do now, step by step with the SQL, and what needs an operator. Nothing is written. Steps of tables that
a step before detaches are shown as they will be.`,
		Example: `  snowkey partition plan --db-file /run/secrets/app --table orders --every month
  snowkey partition plan --db-file /run/secrets/app --table orders --every month --keep 12 --old detach --json`,
	}, func(ctx context.Context, k *partition.Keeper) (any, string, error) {
		plan, err := k.Plan(ctx)
		if err != nil {
			return nil, "", err
		}
		return plan, partitionPlanText(plan), nil
	})
}

func newPartitionRun() *cobra.Command {
	return partitionCommand(&cobra.Command{
		Use:   "run --table NAME --every day|week|month",
		Short: "Make partitions ahead, and see to old ones",
		Long: `Make partitions ahead, and see to old ones. A run waits for another one at the same table, and then finds nothing left to do.
Each step waits for other transactions no longer than --lock-wait, and is tried again. After a kill the next run goes on.

Partitions are old when the database's clock, the clock of this machine and the newest key all say so. With --archive each
becomes a table first, the command is run for it by sh -c, and the table is dropped when the command has succeeded. After a kill
it is run again for the same table, so it has to be able to; it may be run a second time while the first still goes on, when this
command was killed with -9 or has lost its connection, so it has to guard itself, as with flock below. It has the environment
of this command, and

  SNOWKEY_TABLE                        the table, with its schema's name and a dot
  SNOWKEY_PARTITION_OF                 the table that it was a partition of
  SNOWKEY_FROM, SNOWKEY_TO             its time, as RFC 3339, from the first instant on and before the second
  SNOWKEY_FROM_ID, SNOWKEY_TO_ID       its ids, likewise

The exit status is 1 when something is left that needs an operator, which standard error says.`,
		Example: `  snowkey partition run --db-file /run/secrets/app --table orders --every day --ahead 14
  snowkey partition run --db-file /run/secrets/app --table orders --every month --keep 12 \
    --archive 'flock /archive/lock pg_dump --table "$SNOWKEY_TABLE" --file "/archive/$SNOWKEY_TABLE.sql" "$(cat /run/secrets/app)"'`,
	}, func(ctx context.Context, k *partition.Keeper) (any, string, error) {
		report, err := k.Run(ctx)
		text := new(strings.Builder)
		for _, step := range report.Done {
			fmt.Fprintln(text, printable(step.String()))
		}
		if err == nil {
			fmt.Fprintf(text, "done: %d steps, %d periods ahead\n", len(report.Done), report.Plan.Ahead)
		}
		return report, text.String(), err
	})
}

func newPartitionStatus() *cobra.Command {
	return partitionCommand(&cobra.Command{
		Use:   "status --table NAME --every day|week|month",
		Short: "Print the partitions, gaps, and rows that are in none of their own",
		Long: `Print the partitions with their bounds as times, how many are there ahead, gaps between them, rows in the default partition (on
MySQL the last one), and tables that were partitions. Numbers of rows in partitions are the server's estimates. Nothing is written.

The exit status is 1 when something needs an operator, or a run.`,
		Example: `  snowkey partition status --db-file /run/secrets/app --table orders --every day
  snowkey partition status --db-file /run/secrets/app --table orders --every day --json`,
	}, func(ctx context.Context, k *partition.Keeper) (any, string, error) {
		plan, err := k.Plan(ctx)
		if err != nil {
			return nil, "", err
		}
		if len(plan.Problems) > 0 {
			err = fmt.Errorf("%w: %d problems", partition.ErrAttention, len(plan.Problems))
		}
		return plan, partitionStatusText(plan), err
	})
}

// partitionCommand completes a command with flags and with what is done with a keeper, which returns what to print: the text, or with --json the
// value. Both are printed beside an error, too, unless the value is nil.
func partitionCommand(c *cobra.Command, do func(context.Context, *partition.Keeper) (value any, text string, err error)) *cobra.Command {
	c.Args = cobra.NoArgs
	open, asJSON := partitionFlags(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return open(func(ctx context.Context, k *partition.Keeper) error {
			value, text, err := do(ctx, k)
			if value == nil {
				return err
			}
			if *asJSON {
				return errors.Join(err, writeJSON(c.OutOrStdout(), value))
			}
			_, failed := io.WriteString(c.OutOrStdout(), text)
			return errors.Join(err, failed)
		})
	}
	return c
}

// partitionFlags adds the flags of all commands, and returns what opens the database, calls do, and closes it. A signal ends the context.
func partitionFlags(c *cobra.Command) (open func(do func(context.Context, *partition.Keeper) error) error, asJSON *bool) {
	named := databaseFlag(c)
	flags := c.Flags()
	t := partition.Table{}
	flags.StringVar(&t.Name, "table", "", "the table, with its schema's name and a dot before it or without")
	flags.StringVar(&t.Key, "key", "id", "the column of the ids")
	layout := layoutFlag(c)
	every := flags.String("every", "", "time of a partition: day, week or month")
	zone := flags.String("zone", "UTC", "time zone whose calendar counts, such as Europe/Berlin")
	flags.IntVar(&t.Ahead, "ahead", 0, "how many partitions there are to be after that of now (default 7 days, 4 weeks or 3 months)")
	flags.IntVar(&t.Keep, "keep", 0, "how many periods before that of now are kept (default all)")
	old := flags.String("old", "", "what becomes of older partitions: drop, detach or archive")
	archive := flags.String("archive", "", "command that is run for each old partition, a table then, before it is dropped")
	flags.IntVar(&t.Most, "most", partition.DefaultMost, "touch no old partition when there are more: a clock may be wrong")
	flags.Int64Var(&t.Move, "move", partition.DefaultMove, "move at most so many rows of the default partition to where they belong")
	flags.BoolVar(&t.TrustClock, "trust-clock", false, "count --keep by the database's clock alone, not by the newest key too")
	flags.DurationVar(&t.LockWait, "lock-wait", partition.DefaultLockWait, "how long a step waits for other transactions at a time; MySQL counts whole seconds")
	flags.IntVar(&t.Tries, "tries", partition.DefaultTries, "how often a step is tried")
	asJSON = flags.Bool("json", false, "print one JSON object")
	complete(c, "every", "day", "week", "month")
	complete(c, "old", "drop", "detach", "archive")
	settings := func() (err error) {
		if t.Layout = layout.Layout; t.Name == "" {
			return errors.New("--table: name the table")
		}
		if t.Every, err = partition.ParseEvery(*every); err != nil {
			return fmt.Errorf("--every: %w", err)
		}
		if t.In, err = time.LoadLocation(*zone); err != nil {
			return fmt.Errorf("--zone: %w", err)
		}
		if *old == "" && *archive != "" {
			*old = partition.Archive.String()
		}
		if *old != "" {
			if t.Old, err = partition.ParseOld(*old); err != nil {
				return fmt.Errorf("--old: %w", err)
			}
		}
		switch {
		case t.Old != 0 && t.Keep == 0:
			return fmt.Errorf("--old %s: say with --keep how many periods are kept; no partition is old without", t.Old)
		case t.Old == partition.Archive && *archive == "":
			return errors.New("--old archive: give the command with --archive")
		case t.Old != partition.Archive && *archive != "":
			return fmt.Errorf("--old %s: it has no use for --archive", t.Old)
		case *archive != "":
			t.Archive = archiveBy(c, *archive)
		}
		return nil
	}
	return func(do func(context.Context, *partition.Keeper) error) error {
		if err := settings(); err != nil {
			return usageError{err}
		}
		return named.with(c, func(ctx context.Context, d database, pool *sql.DB) error {
			k, err := partition.New(pool, d.dialect, t)
			if err != nil {
				return usageError{err}
			}
			return do(ctx, k)
		})
	}, asJSON
}

// archiveEnd is how long a command has after the signal to end.
const archiveEnd = 10 * time.Second

// archiveBy runs a command of the user's for a table that was a partition. What the command prints goes to standard error.
func archiveBy(c *cobra.Command, command string) func(context.Context, partition.Detached) error {
	return func(ctx context.Context, d partition.Detached) error {
		shell := exec.CommandContext(ctx, "sh", "-c", command)
		shell.Cancel = func() error { return shell.Process.Signal(os.Interrupt) }
		shell.WaitDelay = archiveEnd
		shell.Stdout, shell.Stderr = c.ErrOrStderr(), c.ErrOrStderr()
		shell.Env = append(os.Environ(), "SNOWKEY_TABLE="+d.Schema+"."+d.Name, "SNOWKEY_PARTITION_OF="+d.Of,
			"SNOWKEY_FROM_ID="+strconv.FormatInt(d.FromID, 10), "SNOWKEY_TO_ID="+strconv.FormatInt(d.ToID, 10),
			"SNOWKEY_FROM="+d.From.Format(time.RFC3339), "SNOWKEY_TO="+d.To.Format(time.RFC3339))
		return shell.Run()
	}
}

// partitionPlanText has steps as SQL with comments, and problems as comments.
func partitionPlanText(plan partition.Plan) string {
	text := new(strings.Builder)
	fmt.Fprintf(text, "-- %s at %s, %d periods ahead\n", printable(plan.Table), plan.Now.Format(time.RFC3339), plan.Ahead)
	for i, step := range plan.Steps {
		fmt.Fprintf(text, "\n-- %d. %s\n", i+1, printable(step.String()))
		writeStatements(text, step.SQL)
	}
	if len(plan.Steps) == 0 {
		text.WriteString("-- nothing to do\n")
	}
	writePartitionProblems(text, "-- ", plan)
	return text.String()
}

// writeStatements prints the statements of a step.
func writeStatements(text *strings.Builder, statements []string) {
	for _, statement := range statements {
		if strings.HasPrefix(statement, "SELECT ") {
			text.WriteString("-- The next statement has to return no row.\n")
		}
		fmt.Fprintf(text, "%s;\n", printable(statement))
	}
}

func writePartitionProblems(text *strings.Builder, before string, plan partition.Plan) {
	for _, note := range plan.Notes {
		fmt.Fprintf(text, "%snote: %s\n", before, printable(note))
	}
	for _, problem := range plan.Problems {
		fmt.Fprintf(text, "%sproblem: %s: %s\n", before, problem.Kind, printable(problem.Text))
	}
}

// partitionStatusText has what there is.
func partitionStatusText(plan partition.Plan) string {
	text := new(strings.Builder)
	fmt.Fprintf(text, "table %s at %s, %d periods ahead, newest key of %s\n", printable(plan.Table), plan.Now.Format(time.RFC3339), plan.Ahead, boundOf(plan.Newest))
	rows := newColumns(text, "PARTITION", "FROM", "TO", "ROWS")
	row := func(name string, of partition.Range, count string) {
		from := boundOf(of.From)
		if of.FromID == math.MinInt64 {
			from = "no bound"
		}
		rows.line(printable(name), from, boundOf(of.To), count)
	}
	for _, part := range plan.Parts {
		count := "-"
		switch {
		case part.Pending:
			count = "being detached"
		case part.Rows >= 0:
			count = "~" + strconv.FormatInt(part.Rows, 10)
		}
		row(part.Name, part.Range, count)
	}
	if plan.Default != nil {
		if len(plan.Default.Unplaced) == 0 {
			rows.line(printable(plan.Default.Name), "all others", "", 0)
		}
		for _, u := range plan.Default.Unplaced {
			count := strconv.FormatInt(u.Rows, 10)
			if u.More {
				count = ">" + count
			}
			row(plan.Default.Name, u.Range, count)
		}
	}
	for _, d := range plan.Detached {
		row(d.Name, d.Range, "detached, to "+d.Then)
	}
	rows.end()
	for _, gap := range plan.Gaps {
		fmt.Fprintf(text, "gap: %s to %s has no partition of its own\n", boundOf(gap.From), boundOf(gap.To))
	}
	for _, step := range plan.Steps {
		fmt.Fprintf(text, "a run will: %s\n", printable(step.String()))
	}
	writePartitionProblems(text, "", plan)
	return text.String()
}

// boundOf shows the time of a bound.
func boundOf(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Format(time.RFC3339)
}
