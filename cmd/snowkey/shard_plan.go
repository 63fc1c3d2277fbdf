package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/snowkey-go/snowkey/gormplugin/shard/reshard"
	"github.com/snowkey-go/snowkey/idgen/shard"
)

func newShardPlan() *cobra.Command {
	c := &cobra.Command{
		Use:   "plan --table TABLE:KEY:SHARDING…",
		Short: "Plan another map, and which rows move to it",
		Long: `Plan another map, and which buckets of which tables move to it; no id changes. Nothing is written but the file.

All tables that the map is for have to be named, each with the column of its ids and its sharding column; one that is there
for every shard and is left out is refused, unless it is --apart. What changes is
said by one of --tables, --add, --remove, --move and --spread. When the shards become twice as many, bucket b goes from shard b % N
to b % N or b % N + N; otherwise as few buckets move as there can be.`,
		Example: `  snowkey shard plan --db sqlite:shop.db --table orders:id:user_id --table items:id:user_id --tables 8 --out grow.json
  snowkey shard plan --db-file /run/secrets/app --with-file /run/secrets/others --table orders:id:user_id --add eu,database=eu --out eu.json
  snowkey shard plan --db sqlite:shop.db --table orders:id:user_id --move 0-3,17=05 --json
  snowkey shard plan --db sqlite:shop.db --table orders:id:user_id --spread 42=8 --out hot.json`,
		Args: cobra.NoArgs,
	}
	open := shardDatabase(c)
	tables := tableFlag(c)
	apart := c.Flags().StringArray("apart", nil, "a table that has the shards' suffixes and is not of this map; may be given again")
	change := changeFlags(c)
	out := c.Flags().String("out", "", "file to write; one that is there is not replaced (default: standard output)")
	asJSON := c.Flags().Bool("json", false, "print the plan, which --out writes, on standard output")
	_ = c.MarkFlagFilename("out", "json") // fails only for a flag that does not exist
	c.RunE = func(c *cobra.Command, _ []string) error {
		named, err := parseTables(*tables)
		if err = errors.Join(err, change.check()); err != nil {
			return usageError{err}
		}
		return open(func(ctx context.Context, s sharding) error {
			s.world.Tables, s.world.Apart = named, *apart
			now, err := s.store.Load(ctx, s.name)
			if err != nil {
				return err
			}
			next, err := change.of(now)
			if err != nil {
				return usageError{err}
			}
			p, err := reshard.NewPlan(ctx, s.world, s.name, next)
			if err != nil {
				return err
			}
			s.bar.end()
			if *asJSON || *out == "" {
				return writeJSON(c.OutOrStdout(), p)
			}
			if err := writeNew(*out, p); err != nil {
				return err
			}
			return describePlan(c.ErrOrStderr(), p, s.own.flag+*out, *out)
		})
	}
	return c
}

// mapChange is what the flags of a plan say is to become of a map.
type mapChange struct {
	tables      int
	add, remove []string
	move        string
	spread      string
	kind        string // of the key in spread
}

func changeFlags(c *cobra.Command) *mapChange {
	m := new(mapChange)
	flags := c.Flags()
	flags.IntVar(&m.tables, "tables", 0, "as many shards, the new ones with the suffixes that follow, _04, _05, …")
	flags.StringArrayVar(&m.add, "add", nil, "one more shard, NAME,suffix=TEXT,database=NAME, or NAME alone for the suffix _NAME; may be given again")
	flags.StringArrayVar(&m.remove, "remove", nil, "name of a shard to empty and leave out; may be given again")
	flags.StringVar(&m.move, "move", "", "buckets to a shard, 0-3,17=NAME")
	flags.StringVar(&m.spread, "spread", "", "a sharding key whose new rows are to be spread over so many buckets, a power of two, KEY=BUCKETS")
	kindFlag(c, &m.kind)
	return m
}

// check wants one change.
func (c mapChange) check() error {
	given := 0
	for _, is := range []bool{c.tables != 0, len(c.add) > 0, len(c.remove) > 0, c.move != "", c.spread != ""} {
		if is {
			given++
		}
	}
	if given != 1 {
		return errors.New("give one of --tables, --add, --remove, --move and --spread, which say what the next map is to be")
	}
	return nil
}

// of returns the next map.
func (c mapChange) of(m *shard.Map) (next *shard.Map, err error) {
	switch {
	case c.tables != 0:
		all, have := shard.Tables(c.tables), m.Shards()
		more := slices.DeleteFunc(all, func(s shard.Shard) bool { return slices.Contains(have, s) })
		if len(have)+len(more) != c.tables {
			return nil, fmt.Errorf("--tables %d: the map has %d shards, and not the first of those; say with --add or --remove which", c.tables, len(have))
		}
		return m.Grow(more...)
	case len(c.add) > 0:
		shards, err := parseShards(c.add)
		if err != nil {
			return nil, fmt.Errorf("--add: %w", err)
		}
		return m.Grow(shards...)
	case len(c.remove) > 0:
		return m.Shrink(c.remove...)
	case c.spread != "":
		return c.spreading(m)
	}
	at := strings.LastIndexByte(c.move, '=')
	if at < 0 {
		return nil, fmt.Errorf("--move: want BUCKETS=NAME, such as 0-3,17=05, got %q", c.move)
	}
	buckets, err := shard.ParseBuckets(c.move[:at])
	if err != nil {
		return nil, fmt.Errorf("--move: %w", err)
	}
	return m.Move(c.move[at+1:], buckets...)
}

// spreading returns the map with a key over more buckets.
func (c mapChange) spreading(m *shard.Map) (*shard.Map, error) {
	at := strings.LastIndexByte(c.spread, '=')
	if at < 0 {
		return nil, fmt.Errorf("--spread: want KEY=BUCKETS, such as 42=8, got %q", c.spread)
	}
	over, err := strconv.Atoi(c.spread[at+1:])
	if err != nil {
		return nil, fmt.Errorf("--spread: want KEY=BUCKETS, such as 42=8, got %q", c.spread)
	}
	key, err := parseShardingKey(c.kind, c.spread[:at])
	if err != nil {
		return nil, fmt.Errorf("--spread: %w", err)
	}
	return m.Spread(key, over)
}

// tableFlag adds --table to a command.
func tableFlag(c *cobra.Command) *[]string {
	tables := c.Flags().StringArray("table", nil, "a sharded table without its suffix, the column of its ids, and its sharding column, TABLE:KEY:SHARDING; give it for each")
	return tables
}

func parseTables(texts []string) ([]reshard.Table, error) {
	if len(texts) == 0 {
		return nil, errors.New("--table: give each table that the map is for, such as orders:id:user_id")
	}
	var tables []reshard.Table
	for _, text := range texts {
		parts := strings.Split(text, ":")
		if len(parts) != 3 || slices.Contains(parts, "") {
			return nil, fmt.Errorf("--table: want TABLE:KEY:SHARDING, such as orders:id:user_id, got %q", text)
		}
		tables = append(tables, reshard.Table{Name: parts[0], Key: parts[1], By: parts[2]})
	}
	return tables, nil
}

// writeNew writes a plan to a file that is not there yet.
func writeNew(path string, p *reshard.Plan) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return usageError{fmt.Errorf("--out: %s is there already, and may have been begun: choose another name", path)}
	}
	if err != nil {
		return usageError{fmt.Errorf("--out: %w", err)}
	}
	if err = errors.Join(writeJSON(file, p), file.Sync(), file.Close()); err != nil {
		return errors.Join(fmt.Errorf("--out: %w", err), os.Remove(path)) // half a plan is none
	}
	return nil
}

// describePlan says what a plan comes to, and with what arguments it is done.
func describePlan(w io.Writer, p *reshard.Plan, further, path string) error {
	text := new(strings.Builder)
	rows := tabwriter.NewWriter(text, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(rows, "TABLE\tFROM\tTO\tBUCKETS\tROWS\tMAKES")
	for _, step := range p.Steps {
		buckets := 0
		for _, b := range step.To {
			buckets += len(b)
		}
		to := printable(strings.Join(slices.Sorted(maps.Keys(step.To)), " "))
		_, _ = fmt.Fprintf(rows, "%s\t%s\t%s\t%d\t~%d\t%s\n", printable(step.Table), printable(step.From), cut(to, 30), buckets, step.Rows,
			cmp.Or(printable(strings.Join(step.Missing, " ")), "-"))
	}
	_ = rows.Flush() // to memory
	_, err := fmt.Fprintf(w, "%s%s: version %d to %d of the map %s. Then: snowkey shard move %s\n",
		text, path, p.From, p.From+1, printable(p.Map), further)
	return err
}

// readShardPlan reads the file of a plan, "-" for standard input.
func readShardPlan(c *cobra.Command, path string) (*reshard.Plan, error) {
	var in io.Reader
	if path == "-" {
		var err error
		if in, err = standardInput(c, "PLAN"); err != nil {
			return nil, err
		}
	} else {
		file, err := os.Open(path)
		if err != nil {
			return nil, usageError{err}
		}
		defer file.Close() // of reading: its error changes nothing
		in = file
	}
	decoder := json.NewDecoder(in)
	decoder.DisallowUnknownFields()
	p := new(reshard.Plan)
	if err := decoder.Decode(p); err != nil {
		return nil, usageError{fmt.Errorf("%s: no plan of shard plan: %w", path, err)}
	}
	if p.Next == nil {
		return nil, usageError{fmt.Errorf("%s: no plan of shard plan: it has no map", path)}
	}
	return p, nil
}
