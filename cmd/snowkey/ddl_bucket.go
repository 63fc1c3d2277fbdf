package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/snowkey-go/snowkey/shard"
	"github.com/snowkey-go/snowkey/shard/ddl"
)

func newDDLBucket() *cobra.Command {
	c := &cobra.Command{
		Use:   "bucket KEY…",
		Short: "Show the bucket of a sharding key, and where its rows are",
		Long: `Show, a line each, the bucket of sharding keys and the condition that the ids of its rows meet. With --engine and --table comes the name of
the partition with the rows of that bucket: on vitess a shard, with gorm-sharding a table.

A key is an integer; with --text it is a string, such as a tenant's name: the same digits as a number and as a string have different
buckets. A number below zero stands behind --.`,
		Example: `  snowkey ddl bucket 42 43
  snowkey ddl bucket -- -7
  snowkey ddl bucket --text acme --engine mysql --table orders --shards 8`,
		Args: cobra.MinimumNArgs(1),
	}
	divided := dividedFlags(c)
	text := c.Flags().Bool("text", false, "the keys are strings")
	asJSON := c.Flags().Bool("json", false, "print a JSON object a line")
	c.RunE = func(c *cobra.Command, keys []string) error {
		engine, table := divided()
		table.Columns = "any"
		if engine != "" && table.Name == "" || engine == "" && table.Name != "" {
			return usageError{fmt.Errorf("--engine %q and --table %q: give both or none", engine, table.Name)}
		}
		var lines []bucketLine
		for _, key := range keys {
			line, err := bucketOf(key, *text, engine, table)
			if err != nil {
				return usageError{fmt.Errorf("%q: %w", key, err)}
			}
			lines = append(lines, line)
		}
		if *asJSON {
			return writeJSONLines(c.OutOrStdout(), lines)
		}
		for _, line := range lines {
			if _, err := fmt.Fprintln(c.OutOrStdout(), line); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

// bucketLine is what there is to say of a sharding key.
type bucketLine struct {
	Key       string `json:"key"`
	Bucket    int64  `json:"bucket"`
	Condition string `json:"condition"`
	Partition string `json:"partition,omitempty"`
}

// String returns the line.
func (l bucketLine) String() string {
	text := fmt.Sprintf("%s: bucket %d, %s", l.Key, l.Bucket, l.Condition)
	if l.Partition != "" {
		text += ", in " + l.Partition
	}
	return text
}

func bucketOf(key string, isText bool, engine ddl.Engine, table ddl.Table) (bucketLine, error) {
	l := bucketLine{Key: key}
	var of any = key
	if !isText {
		number, err := strconv.ParseInt(key, 10, 64)
		of = number
		if errors.Is(err, strconv.ErrRange) {
			of, err = strconv.ParseUint(key, 10, 64)
		}
		if err != nil {
			return l, fmt.Errorf("want an integer, or --text: %w", err)
		}
	}
	var err error
	if l.Bucket, err = shard.Bucket(table.Layout, of); err != nil {
		return l, err
	}
	if l.Condition, err = shard.Condition(table.Layout, table.Key, l.Bucket); err == nil && engine != "" {
		l.Partition, err = table.Partition(engine, l.Bucket)
	}
	return l, err
}
