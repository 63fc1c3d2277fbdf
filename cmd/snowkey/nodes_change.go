package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
)

func newNodesChange() *cobra.Command {
	c := &cobra.Command{
		Use:   "change --to LAYOUT",
		Short: "Have a key space go to another layout while programs run",
		Long: `Have a key space go to another layout while programs run, such as from snowkey to packed. First give all programs both layouts: the new one
as their own, the present one as the one before (grant.Config.Before). They go on with the present one. Then this command announces the change. It
happens at a time after all grants, ten minutes ahead by default, and keys are made all the time. No key comes twice, and each new key is greater than all
before.

A program that does not know the new layout makes keys until its grant ends, and then its creates fail. The command lists such programs, and changes
nothing while there are some, unless --force is given. A node number that is set by hand without a row in the table is not seen: such programs have to be
ended before.

After the change, programs drop the layout before. After a restore to a time before a change, announce it again. Programs that still have both layouts have to be
ended before the restore, and started at the new time and not before: until then they would make keys of the old layout, and some are keys of the new one.

An announced change cannot be taken back. Another change, back to the former layout, can follow it.`,
		Example: `  snowkey nodes change --db sqlite:app.db --to packed --dry-run
  SNOWKEY_DB=mysql://app:secret@127.0.0.1:3306/app snowkey nodes change --to packed
  snowkey nodes change --store-file /run/secrets/etcd --to packed --dry-run`,
		Args: cobra.NoArgs,
	}
	named, stored := databaseFlag(c), storeFlag(c)
	to := layoutFlagNamed(c, "to", idgen.Packed)
	table := c.Flags().String("table", grant.DefaultTable, "table that the grants are in, of a database")
	space := c.Flags().String("space", grant.DefaultSpace, "the key space")
	dryRun := c.Flags().Bool("dry-run", false, "show what would happen, and change nothing")
	force := c.Flags().Bool("force", false, "go on though programs do not know the new layout")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if !c.Flags().Changed("to") {
			return usageError{errors.New("--to is missing: the layout that the key space is to have")}
		}
		return withGrants(c, named, stored, "table", *table, func(ctx context.Context, _ grant.Dialect, store nodeStore) error {
			change, err := grant.PlanChange(ctx, store, *space, to.Layout)
			if err != nil {
				return err
			}
			if *dryRun {
				return writeChange(c.OutOrStdout(), change, "nothing is changed, without --dry-run it is announced")
			}
			if len(change.Unaware) > 0 && !*force {
				err = writeChange(c.OutOrStdout(), change, "nothing is changed")
				return errors.Join(err, change.Announce(ctx, false))
			}
			if err := change.Announce(ctx, *force); err != nil {
				return err
			}
			return writeChange(c.OutOrStdout(), change, "announced")
		})
	}
	return c
}

// writeChange shows a change, who does not know of it, and what has become of it.
func writeChange(w io.Writer, change *grant.Change, done string) error {
	text := new(strings.Builder)
	n := len(change.Phases)
	at := change.At()
	fmt.Fprintf(text, "space %s\nfrom %s\nto %s\nat %s, in %s; keys from %d on have the new layout\n", change.Space, change.Phases[n-2].Layout, change.Phases[n-1].Layout,
		formatTime(at, change.Phases[n-1].Layout.Unit()), at.Sub(change.Now).Round(time.Second), change.Phases[n-1].FirstID())
	for _, row := range change.Unaware {
		until := "for good: end it before, if it makes keys"
		if row.Until != grant.Forever {
			begin := idgen.Phase{Layout: change.Phases[n-2].Layout, From: row.Until}.Begin()
			until = fmt.Sprintf("until %s: its creates fail from then on", formatTime(begin, change.Phases[n-2].Layout.Unit()))
		}
		fmt.Fprintf(text, "number %d, %s, does not know the new layout, and has the number %s\n", row.Number, nameOf(row.Holder), until)
	}
	_, err := fmt.Fprintf(w, "%s%s\n", text, done)
	return err
}
