package main

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snowkey-go/snowkey/idgen"
)

// maxNext is the most ids of one call: about four minutes of the default layout's.
const maxNext = 1_000_000_000

func newNext() *cobra.Command {
	c := &cobra.Command{
		Use:   "next",
		Short: "Print new keys, one a line",
		Long: `Print new keys, one a line, each greater than the one before where the layout has the time above the
sequence.

With --kind the keys are UUIDs, ULIDs, ObjectIDs or NanoIDs, which need no number; those of uuidv7 and ulid
increase. With --kind public:PREFIX they are the public ids of snowflakes, made with the key of the greatest number.

Without --node (and --datacenter, where the layout has one) the numbers are random ones, so that two
calls at the same time are unlikely to print the same key. For keys that go into a database, give a
number that nobody else uses at the same time.`,
		Example: `  snowkey next
  snowkey next -n 1000 --node 7
  snowkey next --layout twitter --datacenter 1 --node 2
  snowkey next --format base58
  snowkey next --format ORD-{date}
  snowkey next --kind uuidv7
  snowkey next --kind public:ord --public-id-keys /run/secrets/public-id-keys`,
		Args: cobra.NoArgs,
	}
	n := c.Flags().Int64P("count", "n", 1, fmt.Sprintf("how many keys, 1 to %d", maxNext))
	kind := kindFlag(c)
	keys := publicKeysFlag(c)
	layout := layoutFlag(c)
	format := formatFlag(c, "how keys are written")
	numbers := numberFlags(c, "a random one")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *n < 1 || *n > maxNext {
			return usageError{fmt.Errorf("-n %d: must be 1 to %d", *n, maxNext)}
		}
		prefix, public := strings.CutPrefix(*kind, kindPublic)
		if !public && c.Flags().Changed("public-id-keys") {
			return usageError{fmt.Errorf("--public-id-keys is for --kind %sPREFIX, and not for --kind %s", kindPublic, *kind)}
		}
		if print := widePrinters[*kind]; print != nil {
			for _, flag := range []string{"layout", "format", "node", "datacenter", "shard"} {
				if c.Flags().Changed(flag) {
					return usageError{fmt.Errorf("--%s is for snowflakes, and not for --kind %s", flag, *kind)}
				}
			}
			return print(c, *n)
		}
		if public && c.Flags().Changed("format") {
			return usageError{fmt.Errorf("--format is for numbers, and not for --kind %s", *kind)}
		}
		options := numbers.options(c, layout)
		for kind, option := range map[idgen.Kind]func(int64) idgen.Option{idgen.Node: idgen.WithNode, idgen.Datacenter: idgen.WithDatacenter} {
			if layout.Bits(kind) > 0 && !c.Flags().Changed(kind.String()) {
				options = append(options, option(rand.Int64N(layout.Max(kind)+1)))
			}
		}
		generator, err := idgen.New(options...)
		if err != nil {
			return usageError{err}
		}
		most := generator.Layout().Max(idgen.Sequence) + 1
		if public {
			return keys.printPublic(c, prefix, generator, *n, most)
		}
		form, err := format.of(generator.Layout())
		if err != nil {
			return err
		}
		return printNext(c, generator, *n, most, form.AppendText)
	}
	return c
}

// printNext prints the keys in whole lines, so many at a time as a pipe takes in one piece: an end in the middle must not leave a part
// of a key that looks like another one.
func printNext[K any](c *cobra.Command, source idgen.Source[K], n, most int64, appendText func([]byte, K) ([]byte, error)) error {
	const piece = 4096 / 64 // lines of a byte a bit
	ids := make([]K, min(n, piece, most))
	var lines []byte
	for n > 0 {
		if err := c.Context().Err(); err != nil {
			return err
		}
		ids, lines = ids[:min(n, int64(len(ids)))], lines[:0]
		if err := source.Fill(c.Context(), ids); err != nil {
			return err
		}
		for _, id := range ids {
			var err error
			if lines, err = appendText(lines, id); err != nil {
				return err
			}
			lines = append(lines, '\n')
		}
		if _, err := c.OutOrStdout().Write(lines); err != nil {
			return err
		}
		n -= int64(len(ids))
	}
	return nil
}
