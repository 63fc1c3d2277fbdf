package main

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/shard"
)

func newShardInit() *cobra.Command {
	c := &cobra.Command{
		Use:   "init --tables N",
		Short: "Make the first map in a database",
		Long: `Make the first map in a database, in the table snowkey_shards, which is made when it is missing. Bucket b is in shard
b modulo their number. The tables themselves are made by the application, with AutoMigrate of gormplugin/shard, or by hand.`,
		Example: `  snowkey shard init --db sqlite:shop.db --tables 16
  SNOWKEY_DB=postgres://app:secret@127.0.0.1:5432/app snowkey shard init --shard eu,database=eu --shard us,database=us
  snowkey shard init --db sqlite:shop.db --tables 16 --legacy-below 2000000 --legacy old,suffix=`,
		Args: cobra.NoArgs,
	}
	open := shardDatabase(c)
	flags := c.Flags()
	tables := flags.Int("tables", 0, "as many shards, tables with the suffixes _00, _01, …")
	given := flags.StringArray("shard", nil, "a shard, NAME,suffix=TEXT,database=NAME, or NAME alone for the suffix _NAME; may be given again")
	layout := layoutFlagOf(c, idgen.Sharded)
	legacy := flags.String("legacy", "", "shard that has the rows from before, as in --shard")
	lease := flags.Duration("lease", 10*time.Second, "for how long a process uses the map without a look whether it is in force; rows that moved are removed later than that")
	below := flags.Int64("legacy-below", 0, "ids below are from before")
	c.RunE = func(c *cobra.Command, _ []string) error {
		shards, err := parseShards(*given)
		if err != nil {
			return usageError{fmt.Errorf("--shard: %w", err)}
		}
		if (*tables > 0) == (len(shards) > 0) {
			return usageError{errors.New("give --tables N, or --shard for each")}
		}
		if *tables > 0 {
			shards = shard.Tables(*tables)
		}
		m, err := shard.NewMap(layout.Layout, shards...)
		if err == nil {
			m, err = m.WithLease(*lease)
		}
		if err == nil && *legacy != "" {
			var old shard.Shard
			if old, err = parseShard(*legacy); err == nil {
				m, err = withLegacy(m, *below, old)
			}
		}
		if err != nil {
			return usageError{err}
		}
		return open(func(ctx context.Context, s sharding) error {
			if err := s.store.Setup(ctx); err != nil {
				return err
			}
			if err := s.store.Create(ctx, s.name, m.First()); err != nil {
				return err
			}
			return writeMap(c.OutOrStdout(), s.name, m.First())
		})
	}
	return c
}

func newShardShow() *cobra.Command {
	c := &cobra.Command{
		Use:   "show",
		Short: "Print the map in force",
		Long:  `Print the map in force: its version, the layout of the ids, and the buckets of each shard. Nothing is written.`,
		Example: `  snowkey shard show --db sqlite:shop.db
  snowkey shard show --db sqlite:shop.db --json`,
		Args: cobra.NoArgs,
	}
	open := shardDatabase(c)
	asJSON := c.Flags().Bool("json", false, "print the map as one JSON object")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return open(func(ctx context.Context, s sharding) error {
			m, err := s.store.Load(ctx, s.name)
			if errors.Is(err, shard.ErrNoMap) {
				names, _ := s.store.Names(ctx) // the error that counts is the first one
				return fmt.Errorf("%w; there are %q; --name chooses one, and shard init makes one", err, names)
			}
			if err != nil {
				return err
			}
			if *asJSON {
				return writeJSON(c.OutOrStdout(), m)
			}
			return writeMap(c.OutOrStdout(), s.name, m)
		})
	}
	return c
}

// withLegacy returns a map with a shard for the rows from before.
func withLegacy(m *shard.Map, below int64, old shard.Shard) (*shard.Map, error) {
	m, err := m.WithShards(old)
	if err != nil {
		return nil, err
	}
	return m.WithLegacy(shard.Legacy{Below: below, Shard: old.Name})
}

// writeMap prints a map for people.
func writeMap(w io.Writer, name string, m *shard.Map) error {
	table := new(strings.Builder)
	rows := tabwriter.NewWriter(table, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(rows, "SHARD\tDATABASE\tSUFFIX\tBUCKETS\tWHICH")
	for i, s := range m.Shards() {
		_, _ = fmt.Fprintf(rows, "%s\t%s\t%s\t%d\t%s\n", printable(s.Name), cmp.Or(printable(s.Database), "-"), cmp.Or(printable(s.Suffix), "-"),
			len(m.Owned(i)), cmp.Or(cut(m.Owned(i).String(), 40), "-"))
	}
	_ = rows.Flush() // to memory
	if l, ok := m.Legacy(); ok {
		_, _ = fmt.Fprintf(table, "ids below %d are from before, in the shard %s\n", l.Below, printable(l.Shard))
	}
	_, err := fmt.Fprintf(w, "map %s, version %d, %d buckets, lease %s\nlayout %s\n%s", printable(name), m.Version(), m.Buckets(), m.Lease(), m.Layout(), table)
	return err
}

func newShardBucket() *cobra.Command {
	c := &cobra.Command{
		Use:   "bucket KEY…",
		Short: "Print the bucket of a sharding key, and where its rows are",
		Long: `Print the bucket of each sharding key, a line each; with a database, the shards that have its rows as well. A number and its
text are different keys: --kind says which it is.`,
		Example: `  snowkey shard bucket 42 -- -7
  snowkey shard bucket --kind string customer-17
  snowkey shard bucket --db sqlite:shop.db 42`,
		Args: cobra.MinimumNArgs(1),
	}
	open, database := shardDatabases(c)
	layout := layoutFlagOf(c, idgen.Sharded)
	var kind string
	kindFlag(c, &kind)
	c.RunE = func(c *cobra.Command, args []string) error {
		keys := make([]any, len(args))
		for i, arg := range args {
			key, err := parseShardingKey(kind, arg)
			if err != nil {
				return usageError{err}
			}
			keys[i] = key
		}
		if !database.isNamed(c) {
			for _, key := range keys {
				bucket, err := shard.Bucket(layout.Layout, key)
				if err != nil {
					return usageError{err}
				}
				if _, err := fmt.Fprintln(c.OutOrStdout(), bucket); err != nil {
					return err
				}
			}
			return nil
		}
		return open(func(ctx context.Context, s sharding) error {
			s.own.announce(c)
			m, err := s.store.Load(ctx, s.name)
			if err != nil {
				return err
			}
			for _, key := range keys {
				if err := writePlaces(c.OutOrStdout(), m, key); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return c
}

// writePlaces prints the bucket of a key, and the names of the shards that have its rows.
func writePlaces(w io.Writer, m *shard.Map, key any) error {
	bucket, err := shard.Bucket(m.Layout(), key)
	if err != nil {
		return err
	}
	places, err := m.OfKey(nil, key)
	if err != nil {
		return err
	}
	names := make([]string, len(places))
	for i, place := range places {
		names[i] = printable(m.Shard(place).Name)
	}
	_, err = fmt.Fprintf(w, "%d\t%s\n", bucket, strings.Join(names, " "))
	return err
}

// kindFlag adds --kind to a command.
func kindFlag(c *cobra.Command, kind *string) {
	c.Flags().StringVar(kind, "kind", "int", "what a sharding key is: int, string, uuid, or hex for bytes")
	// Fails only for a flag that does not exist.
	_ = c.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions([]cobra.Completion{"int", "string", "uuid", "hex"}, cobra.ShellCompDirectiveNoFileComp))
}

// parseShardingKey reads a key of a kind.
func parseShardingKey(kind, text string) (any, error) {
	switch kind {
	case "int":
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n, nil
		}
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%w: %q is no integer of 64 bits; --kind says what else it is", shard.ErrKey, text)
		}
		return n, nil
	case "string":
		return text, nil
	case "uuid":
		id, err := uuid.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("%w: %q: %w", shard.ErrKey, text, err)
		}
		return [16]byte(id), nil
	case "hex":
		b, err := hex.DecodeString(text)
		if err != nil {
			return nil, fmt.Errorf("%w: %q: %w", shard.ErrKey, text, err)
		}
		return b, nil
	}
	return nil, fmt.Errorf("--kind: unknown kind %q; there are int, string, uuid, hex", kind)
}
