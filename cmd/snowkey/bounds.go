package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

func newBounds() *cobra.Command {
	c := &cobra.Command{
		Use:   "bounds --from TIME --to TIME",
		Short: "Show the least and the greatest key of a range of time",
		Long: `Show the least key of the tick that --from lies in and the greatest of the one that --to lies in, a line
each. Rows made in that time, both ends included, are those with keys between the two, so a query by
time needs the primary key alone. With a layout whose time stands in two places, such as packed, keys
of the same band and other ticks are between the two, too. Times are those of RFC 3339.`,
		Example: `  snowkey bounds --from 2026-03-01T00:00:00Z --to 2026-03-01T23:59:59.999Z
  snowkey bounds --layout twitter --from 2022-06-28T16:00:00Z --to 2022-06-28T17:00:00Z --json`,
		Args: cobra.NoArgs,
	}
	layout := layoutFlag(c)
	from := c.Flags().String("from", "", "first instant")
	to := c.Flags().String("to", "", "last instant")
	asJSON := c.Flags().Bool("json", false, "print a JSON object")
	c.RunE = func(c *cobra.Command, _ []string) error {
		first, last, err := parseTimes(*from, "to", *to)
		if err == nil && last.Before(first) {
			err = fmt.Errorf("--to %s is before --from %s", *to, *from)
		}
		if err != nil {
			return usageError{err}
		}
		least, err := layout.MinID(first)
		if err != nil {
			return usageError{fmt.Errorf("--from: %w", err)}
		}
		greatest, err := layout.MaxID(last)
		if err != nil {
			return usageError{fmt.Errorf("--to: %w", err)}
		}
		format := "%d\n%d\n"
		if *asJSON {
			format = `{"least":"%d","greatest":"%d"}` + "\n"
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), format, least, greatest)
		return err
	}
	return c
}

// parseTimes reads the two times of a range, of --from and the flag that ends it.
func parseTimes(from, flag, end string) (first, last time.Time, err error) {
	if first, err = parseTime("from", from); err == nil {
		last, err = parseTime(flag, end)
	}
	return first, last, err
}

func parseTime(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, fmt.Errorf("--%s is missing", flag)
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("--%s %q: want a time like 2026-03-01T12:00:00Z", flag, text)
	}
	return t, nil
}
