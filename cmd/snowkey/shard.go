package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snowkey-go/snowkey/gormplugin/shard/reshard"
	"github.com/snowkey-go/snowkey/idgen/shard"
)

// defaultMap is the name of the map that is meant when none is given, as it is of gormplugin/shard.
const defaultMap = "default"

func newShard() *cobra.Command {
	c := &cobra.Command{
		Use:   "shard",
		Short: "Make and change the map of sharded tables, and move their rows",
		Long: `Make and change the map that says which table, or database, has which buckets of sharded tables, and move the rows
when it changes, while they are written to.

  init     makes the first map in a database
  show     prints the map in force
  bucket   prints the bucket of a sharding key, and where its rows are
  plan     a file with the next map and the buckets that move to it; writes nothing to the database
  move     does the plan; may be ended or killed at any point, and goes on where it was
  abort    undoes a plan that has not come to its new map yet
  status   prints how far a plan is
  verify   reads all tables and finds rows that are not where they belong; writes nothing`,
		Example: `  snowkey shard init --db sqlite:shop.db --tables 4
  snowkey shard plan --db sqlite:shop.db --table orders:id:user_id --tables 8 --out grow.json
  snowkey shard move --db sqlite:shop.db grow.json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newShardInit(), newShardShow(), newShardBucket(), newShardPlan(), newShardMove(), newShardAbort(), newShardStatus(), newShardVerify())
	return c
}

// sharding is a command's work on sharded tables.
type sharding struct {
	c     *cobra.Command
	world reshard.World
	store *shard.Store
	name  string // of the map
	own   namedDSN
	bar   *bar
}

// shardDatabase adds the flags of databases and --name to a command, and returns what opens the databases, calls do, and closes them. A signal ends
// the context.
func shardDatabase(c *cobra.Command) (open func(do func(ctx context.Context, s sharding) error) error) {
	open, _ = shardDatabases(c)
	return open
}

// shardDatabases is shardDatabase, which returns the flag of the database too.
func shardDatabases(c *cobra.Command) (open func(do func(ctx context.Context, s sharding) error) error, own *dsnFlag) {
	own = databaseFlag(c)
	with := addDSN(c, dsnFlag{name: "with", about: "another database that the map names, as NAME=DSN", several: true})
	name := c.Flags().String("name", defaultMap, "the map's name")
	return func(do func(context.Context, sharding) error) (err error) {
		d, err := own.parse(c)
		if err != nil {
			return err
		}
		others, err := with.read(c)
		if err != nil {
			return err
		}
		ctx, stop := untilSignal(c)
		defer stop()
		s := sharding{c: c, name: *name, own: d.named, bar: newBar(c.ErrOrStderr())}
		defer s.bar.end()
		opened, err := openShard(ctx, d)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, opened.DB.Close()) }()
		s.world.Own, s.store = opened, shard.NewStore(opened.DB, opened.Dialect)
		s.world.Others = map[string]reshard.Database{}
		for _, named := range others {
			name, text, found := strings.Cut(named.text, "=")
			if _, twice := s.world.Others[name]; !found || twice || name == "" || strings.ContainsAny(name, ":@") { // which would be a DSN without a name
				return usageError{fmt.Errorf("%s: want NAME=DSN, each name once", named.from)}
			}
			named.text, named.from = text, named.from+": "+name
			d, err := named.parse()
			if err != nil {
				return err
			}
			other, err := openShard(ctx, d)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, other.DB.Close()) }()
			s.world.Others[name] = other
		}
		if err := do(ctx, s); err != nil {
			return shardUsage(fmt.Errorf("%s: %w", d, limited(err)))
		}
		return nil
	}, own
}

// openShard connects to a database.
func openShard(ctx context.Context, d database) (reshard.Database, error) {
	_, pool, err := d.connect(ctx)
	if err != nil {
		return reshard.Database{}, fmt.Errorf("%s: %w", d, err)
	}
	return reshard.Database{DB: pool, Dialect: d.dialect}, nil
}

// shardUsage makes an error that what was asked for is wrong one of usage.
func shardUsage(err error) error {
	for _, wrong := range []error{shard.ErrMap, shard.ErrNoMap, shard.ErrKey, shard.ErrLayout, shard.ErrVersion, reshard.ErrPlan, reshard.ErrOther} {
		if errors.Is(err, wrong) {
			return usageError{err}
		}
	}
	return err
}

// progress shows how far rows are moved or read: a bar on a terminal, elsewhere a line each time the state changes.
func (s sharding) progress() func(reshard.Progress) {
	last := ""
	return func(p reshard.Progress) {
		where := printable(p.Table)
		if p.Shard != "" {
			where += " of " + printable(p.Shard)
		}
		text := where + ": " + p.State
		if s.bar.ProgressBar == nil {
			if text != last {
				s.c.PrintErrln(text)
			}
			last = text
			return
		}
		if p.Behind > 0 {
			text = fmt.Sprintf("%s, %s behind", text, count(int(p.Behind), "row"))
		}
		s.bar.show(min(float64(p.Done)/float64(max(p.Total, 1)), 1), text)
	}
}

// parseShard reads a shard from a flag: NAME, NAME,suffix=_04,database=eu. One without either has its name as suffix.
func parseShard(text string) (shard.Shard, error) {
	name, rest, settings := strings.Cut(text, ",")
	found := shard.Shard{Name: name}
	if !settings {
		found.Suffix = "_" + name
		return found, nil
	}
	for setting := range strings.SplitSeq(rest, ",") {
		key, value, _ := strings.Cut(setting, "=")
		switch key {
		case "suffix":
			found.Suffix = value
		case "database":
			found.Database = value
		default:
			return shard.Shard{}, fmt.Errorf("%w: want NAME,suffix=TEXT,database=NAME, got %q", shard.ErrMap, text)
		}
	}
	return found, nil
}

// parseShards reads the shards of a flag that is given several times.
func parseShards(texts []string) ([]shard.Shard, error) {
	var shards []shard.Shard
	for _, text := range texts {
		s, err := parseShard(text)
		if err != nil {
			return nil, err
		}
		shards = append(shards, s)
	}
	return shards, nil
}
