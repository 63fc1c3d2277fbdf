package strategy

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/shard"
)

// snowflakes are the strategies of 64-bit keys with a time, a node and a sequence.
func snowflakes() []Strategy {
	return append(presets(),
		snowkey(), fleetOf(snowkey(), idgen.Snowkey, "more page splits than with one generator, and on InnoDB fewer rows a page"),
		public(),
		packed(), fleetOf(packed(), idgen.Packed, "the index grows in 16 places, one for each generator"),
		sharded(), scattered())
}

// snowkey is the default of this module.
func snowkey() Strategy {
	return New(Info{
		Name: "snowkey",
		About: "64-bit snowflake keys of this module's default layout, filled in by its plugin: 41 bits of milliseconds, 10 of node, 12 of sequence. The " +
			"node number is granted in the database, for a range of ticks; for a database in memory, where nothing could be granted, it is fixed.",
		Origin:       "package idgen of this module, after Twitter's snowflake",
		Needs:        "a table of grants in the database, which it makes; at most 1,024 processes at once; a clock within five minutes of the database's",
		Cost:         "the grant of each process is renewed in the database once a minute; without the database keys flow for about nine minutes, then calls fail",
		Coordination: "the node number: through the database, by compare and swap, without anybody's doing",
		Decodes:      "when it was made, to the millisecond, by which node, and with which sequence in that millisecond",
		Guess:        "about when others were made and by which nodes; within a burst the neighbours",
		Order:        Increasing,
		Limit:        idgen.Snowkey.PerSecond(),
		Unit:         idgen.Snowkey.Unit(),
		Clock:        true,
		Granted:      true,
	}, openSnowkey)
}

// packed is snowkey with streams, for clustered tables.
func packed() Strategy {
	info := snowkey().Info()
	info.Name = "snowkey-packed"
	info.About = "64-bit snowflake keys of this module for tables that InnoDB clusters by their keys, filled in by its plugin: 23 bits of bands of 262.144 s, 10 of node, " +
		"4 of stream, 18 of milliseconds, 8 of sequence. Each statement has a stream of its own until its INSERT is done; the node number is granted as snowkey's is."
	info.Cost += "; keys of one band are in the order of their writers, not of time; the indexes of other databases than MySQL and MariaDB grow"
	info.Limit = idgen.Packed.PerSecond() / float64(idgen.Packed.Max(idgen.Stream)+1) // of a stream
	info.Ahead = time.Second
	return New(info, func(ctx context.Context, at Environment) (idgen.Source[int64], error) {
		return at.granted(ctx, "packed_nodes", idgen.Packed)
	})
}

func openSnowkey(ctx context.Context, at Environment) (idgen.Source[int64], error) {
	return at.granted(ctx, "nodes", idgen.Snowkey)
}

// maker makes keys, and where its layout has a shard those of a shard.
type maker interface {
	idgen.Source[int64]
	shard.Maker
}

// granted acquires a grant, whose table has a name of its own for each layout. Where there is no database, and where the clock is not the
// machine's, which a grant would be refused for or would set right, the node is the number of the process.
func (p Environment) granted(ctx context.Context, table string, options ...idgen.Option) (maker, error) {
	if p.DB == nil || p.Clock != nil {
		return p.generator(append(options, idgen.WithNode(int64(p.Process)))...)
	}
	dialect, err := p.dialect()
	if err != nil {
		return nil, err
	}
	// The keeper works for longer than it takes to open it, so only the opening ends with the context.
	own, end := context.WithCancel(context.WithoutCancel(ctx))
	opened := context.AfterFunc(ctx, end)
	k, err := grant.Open(own, grant.SQL(p.DB, dialect, grant.WithTable(p.name(table))), grant.Config{
		Generator: options,
		Logger:    slog.New(slog.DiscardHandler), // databases are killed on purpose
	})
	if err != nil {
		end()
		return nil, err
	}
	if !opened() {
		return nil, errors.Join(context.Cause(ctx), k.Close())
	}
	return &keeper{k, end}, nil
}

// keeper is a keeper with a context of its own.
type keeper struct {
	*grant.Keeper
	end func()
}

// Close gives the node number back.
func (k *keeper) Close() error {
	defer k.end()
	return k.Keeper.Close()
}

// generator makes a generator that goes by the environment's clock.
func (p Environment) generator(options ...idgen.Option) (maker, error) {
	if p.Clock != nil {
		options = append(options, idgen.WithClock(p.Clock))
	}
	g, err := idgen.New(options...)
	if err != nil {
		return nil, err // not g, which would be a maker that is not nil
	}
	return g, nil
}
