package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/snowkey-go/snowkey/idgen"
)

// maxNext is the most ids of one call: about four minutes of the default layout's.
const maxNext = 1_000_000_000

func newNext() *cobra.Command {
	c := &cobra.Command{
		Use:   "next",
		Short: "Print new keys, one a line",
		Long: `Print new keys, one a line, in increasing order.

Without --node (and --datacenter, where the layout has one) the numbers are random ones, so that two
calls at the same time are unlikely to print the same key. For keys that go into a database, give a
number that nobody else uses at the same time.`,
		Example: `  snowkey next
  snowkey next -n 1000 --node 7
  snowkey next --layout twitter --datacenter 1 --node 2`,
		Args: cobra.NoArgs,
	}
	n := c.Flags().Int64P("count", "n", 1, fmt.Sprintf("how many keys, 1 to %d", maxNext))
	layout := layoutFlag(c)
	node := c.Flags().Int64("node", 0, "node number, from 0 up (default: a random one)")
	datacenter := c.Flags().Int64("datacenter", 0, "datacenter number, from 0 up, of layouts that have one (default: a random one)")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *n < 1 || *n > maxNext {
			return usageError{fmt.Errorf("-n %d: must be 1 to %d", *n, maxNext)}
		}
		preset, err := idgen.LookupPreset(*layout)
		if err != nil {
			return usageError{err}
		}
		options := []idgen.Option{preset}
		for _, number := range []struct {
			flag   string
			value  int64
			kind   idgen.Kind
			option func(int64) idgen.Option
		}{{"node", *node, idgen.Node, idgen.WithNode}, {"datacenter", *datacenter, idgen.Datacenter, idgen.WithDatacenter}} {
			switch {
			case c.Flags().Changed(number.flag):
				options = append(options, number.option(number.value))
			case preset.Bits(number.kind) > 0:
				options = append(options, number.option(rand.Int64N(preset.Max(number.kind)+1)))
			}
		}
		generator, err := idgen.New(options...)
		if err != nil {
			return usageError{err}
		}
		return printNext(c, generator, *n)
	}
	return c
}

func printNext(c *cobra.Command, generator *idgen.Snowflake, n int64) error {
	out := bufio.NewWriter(c.OutOrStdout())
	ids, line := make([]int64, min(n, 1000)), []byte{}
	for n > 0 {
		ids = ids[:min(n, int64(len(ids)))]
		if err := generator.Fill(c.Context(), ids); err != nil {
			return err
		}
		for _, id := range ids {
			line = append(strconv.AppendInt(line[:0], id, 10), '\n')
			if _, err := out.Write(line); err != nil {
				return err
			}
		}
		n -= int64(len(ids))
	}
	return out.Flush()
}
