package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowkey-go/snowkey/shard/partition"
)

func newPartitionAdopt() *cobra.Command {
	c := &cobra.Command{
		Use:   "adopt --table NAME --every day|week|month",
		Short: "Divide a table that has no partitions yet",
		Long: `Print how a table that has no partitions is divided, step by step with the SQL, who waits and for how long; with --run, do it
while others read and write the table, and make partitions ahead as run does. The rows stay where they are and become the first
partition, before a bound of a day or more ahead.

PostgreSQL proves first that no id is beyond the bound, which takes no writer's time, and then makes the table the first partition of
a new one in one transaction of milliseconds. MariaDB does it in one statement, about a second a million rows, in which all others wait. MySQL copies the
rows, and writers wait for that.

What a table with partitions cannot have, or would lose, is printed, with what to do; then nothing is done and the exit status is 1. After a kill,
or when the table was too busy, run it again: it goes on where it was.`,
		Example: `  snowkey partition adopt --db-file /run/secrets/app --table orders --every month
  snowkey partition adopt --db-file /run/secrets/app --table orders --every month --run`,
	}
	run := c.Flags().Bool("run", false, "do it")
	return partitionCommand(c, func(ctx context.Context, k *partition.Keeper) (any, string, error) {
		do := k.Adoption
		if *run {
			do = k.Adopt
		}
		a, err := do(ctx)
		if a.At.IsZero() && err != nil { // nothing is known of the table
			return nil, "", err
		}
		if err == nil && len(a.Obstacles) > 0 {
			err = fmt.Errorf("%w: %s", partition.ErrAdopt, count(len(a.Obstacles), "obstacle"))
		}
		return a, adoptionText(a, *run, err != nil), err
	})
}

// adoptionText has what is to be done as SQL with comments, or the titles of what was done.
func adoptionText(a partition.Adoption, done, failed bool) string {
	text := new(strings.Builder)
	if !a.At.IsZero() {
		rows := ""
		if a.Rows >= 0 {
			rows = fmt.Sprintf("about %d rows, ", a.Rows)
		}
		fmt.Fprintf(text, "-- %s, %sbefore %s\n", printable(a.Table), rows, a.At.Format(time.RFC3339))
	}
	for i, step := range a.Steps {
		fmt.Fprintf(text, "-- %d. %s\n", i+1, printable(step.Title))
		if done {
			continue
		}
		fmt.Fprintf(text, "-- Who waits: %s.\n", printable(step.Lock))
		writeStatements(text, step.SQL)
	}
	if len(a.Steps)+len(a.Obstacles) == 0 && !failed {
		fmt.Fprintf(text, "-- %s: nothing to do\n", printable(a.Table))
	}
	for _, note := range a.Notes {
		fmt.Fprintf(text, "-- note: %s\n", printable(note))
	}
	for _, obstacle := range a.Obstacles {
		fmt.Fprintf(text, "-- obstacle: %s\n", printable(obstacle))
	}
	return text.String()
}
