package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowkey-go/snowkey/gormplugin/shard/reshard"
)

func newShardMove() *cobra.Command {
	c := &cobra.Command{
		Use:   "move PLAN",
		Short: "Do a plan, or go on with it",
		Long: `Do a plan, while the tables are written to: copy the rows of the buckets, catch up with what is written meanwhile, compare
all rows, have the old tables refuse writes of these buckets, copy and compare what was written last, put the next version
of the map in force, wait until nobody reads by the one before, and remove the rows from where they were.

Writers are refused from the fence to the moment they have read the new map; gormplugin/shard says so with ErrMoved, and its
Retry does the whole again. For how long does not depend on the number of rows. What fires no triggers, such as TRUNCATE on
MySQL or session_replication_role = replica on PostgreSQL, is found for certain when it was done before all rows are
compared; --verify after-fence compares them while writers are refused, which finds all of it and takes as long as reading
the rows.

It may be ended with Ctrl-C or killed at any point: what is done is in the journal, in the table snowkey_shard_moves, and the
same command goes on from there. Rows are compared from the first one on again, and writers go on meanwhile.`,
		Example: `  snowkey shard move --db sqlite:shop.db grow.json
  snowkey shard move --db-file /run/secrets/app --with-file /run/secrets/others --throttle 20ms eu.json`,
		Args: cobra.ExactArgs(1),
	}
	const before, after = "before-fence", "after-fence"
	verify := c.Flags().String("verify", before, "when all rows are compared: "+before+", while they are written, or "+after+", while writers are refused")
	move := func(ctx context.Context, w reshard.World, p *reshard.Plan, o reshard.Options) error {
		o.VerifyFenced = *verify == after
		return reshard.Move(ctx, w, p, o)
	}
	c = shardRun(c, move, "done: version %d of the map %s is in force\n")
	c.PreRunE = func(*cobra.Command, []string) error {
		if *verify != before && *verify != after {
			return usageError{fmt.Errorf("--verify: want %s or %s, got %q", before, after, *verify)}
		}
		return nil
	}
	return c
}

func newShardAbort() *cobra.Command {
	c := &cobra.Command{
		Use:   "abort PLAN",
		Short: "Undo a plan that has not come to its new map yet",
		Long: `Undo a plan that was begun and has not put its map in force yet: the copied rows, the notes and the fences go. After that
the way back is another plan. It may be ended and killed as move may, and run again.`,
		Example: `  snowkey shard abort --db sqlite:shop.db grow.json`,
		Args:    cobra.ExactArgs(1),
	}
	return shardRun(c, reshard.Abort, "undone: before version %d of the map %s\n")
}

// shardRun gives a command that moves rows its flags, and what it does.
func shardRun(c *cobra.Command, run func(context.Context, reshard.World, *reshard.Plan, reshard.Options) error, word string) *cobra.Command {
	open := shardDatabase(c)
	var o reshard.Options
	flags := c.Flags()
	flags.IntVar(&o.Batch, "batch", 500, "rows of a batch")
	flags.DurationVar(&o.Throttle, "throttle", 0, "pause after each batch")
	c.RunE = func(c *cobra.Command, args []string) error {
		p, err := readShardPlan(c, args[0])
		if err != nil {
			return err
		}
		return open(func(ctx context.Context, s sharding) error {
			if c.Flags().Changed("name") && s.name != p.Map {
				return usageError{fmt.Errorf("--name: the plan is for the map %q", p.Map)}
			}
			s.world.Tables, o.Progress = p.Tables, s.progress()
			if err := run(ctx, s.world, p, o); err != nil {
				return interrupted(ctx, err, "what was done is kept; the same command goes on")
			}
			s.bar.end()
			_, err := fmt.Fprintf(c.OutOrStdout(), word, p.Next.Version(), printable(p.Map))
			return err
		})
	}
	return c
}

func newShardStatus() *cobra.Command {
	c := &cobra.Command{
		Use:   "status",
		Short: "Print how far a plan is",
		Long:  `Print what the journal says of the latest plan of a map: what was done of each step. Nothing is written.`,
		Example: `  snowkey shard status --db sqlite:shop.db
  snowkey shard status --db sqlite:shop.db --json`,
		Args: cobra.NoArgs,
	}
	open := shardDatabase(c)
	asJSON := c.Flags().Bool("json", false, "print one JSON object, null when no plan was begun")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return open(func(ctx context.Context, s sharding) error {
			status, err := reshard.ReadStatus(ctx, s.world, s.name)
			if err != nil {
				return err
			}
			if *asJSON {
				return writeJSON(c.OutOrStdout(), status)
			}
			return writeShardStatus(c.OutOrStdout(), status)
		})
	}
	return c
}

func writeShardStatus(w io.Writer, s *reshard.Status) error {
	if s == nil {
		_, err := fmt.Fprintln(w, "no plan was begun yet")
		return err
	}
	table := new(strings.Builder)
	rows := tabwriter.NewWriter(table, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(rows, "TABLE\tFROM\tSTATE\tROWS")
	for i, step := range s.Plan.Steps {
		state := s.State
		if i < len(s.Steps) {
			state = s.Steps[i]
		}
		_, _ = fmt.Fprintf(rows, "%s\t%s\t%s\t~%d\n", printable(step.Table), printable(step.From), state, step.Rows)
	}
	_ = rows.Flush() // to memory
	_, err := fmt.Fprintf(w, "map %s, version %d to %d: %s since %s\n%s", printable(s.Plan.Map), s.Plan.From, s.Plan.From+1, s.State, s.At.Format(time.RFC3339), table)
	return err
}

func newShardVerify() *cobra.Command {
	c := &cobra.Command{
		Use:   "verify --table TABLE:KEY:SHARDING…",
		Short: "Read all tables and find rows that are not where they belong",
		Long: `Read all tables of a map and find rows whose bucket is in another shard, rows whose sharding key has another bucket than
their id, and ids that two tables have. Rows that a plan at work has yet to remove are counted apart. Nothing is written.
The exit status is 1 when something is not as it should be.`,
		Example: `  snowkey shard verify --db sqlite:shop.db --table orders:id:user_id
  snowkey shard verify --db sqlite:shop.db --table orders:id:user_id --json`,
		Args: cobra.NoArgs,
	}
	open := shardDatabase(c)
	tables := tableFlag(c)
	asJSON := c.Flags().Bool("json", false, "print one JSON object")
	c.RunE = func(c *cobra.Command, _ []string) error {
		named, err := parseTables(*tables)
		if err != nil {
			return usageError{err}
		}
		return open(func(ctx context.Context, s sharding) error {
			s.world.Tables = named
			report, failed := reshard.Verify(ctx, s.world, s.name, s.progress())
			if report == nil {
				return failed
			}
			s.bar.end()
			write := writeFound
			if *asJSON {
				write = func(w io.Writer, r *reshard.Report) error { return writeJSON(w, r) }
			}
			if err := write(c.OutOrStdout(), report); err != nil {
				return err
			}
			return failed
		})
	}
	return c
}

func writeFound(w io.Writer, r *reshard.Report) error {
	text := new(strings.Builder)
	rows := tabwriter.NewWriter(text, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(rows, "TABLE\tSHARD\tROWS\tELSEWHERE\tTO REMOVE\tWRONG KEY\tTWICE")
	var samples []string
	for _, f := range r.Tables {
		_, _ = fmt.Fprintf(rows, "%s\t%s\t%d\t%d\t%d\t%d\t%d\n", printable(f.Table), printable(f.Shard), f.Rows, f.Strays-f.Left, f.Left, f.Wrong, f.Twice)
		samples = slices.Concat(samples, f.Samples)
	}
	_ = rows.Flush() // to memory
	for _, sample := range samples {
		_, _ = fmt.Fprintln(text, printable(sample))
	}
	_, err := fmt.Fprintf(w, "version %d\n%s", r.Version, text)
	return err
}
