package ddl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/shard"
)

// Engine is a way to divide a table: a database system, and which of its means.
type Engine string

// The engines. What each can do, and on which layouts, is in the package's documentation.
const (
	MySQL         Engine = "mysql"          // native partitions of MariaDB or MySQL
	Spider        Engine = "spider"         // MariaDB's Spider: partitions on other servers
	PostgresRange Engine = "postgres-range" // native partitions by ranges of ids; needs the bucket on top
	PostgresHash  Engine = "postgres-hash"  // native partitions by an operator class for the bucket; the bucket below the time
	PostgresList  Engine = "postgres-list"  // native partitions by the expression of the bucket; the bucket below the time
	PostgresFDW   Engine = "postgres-fdw"   // native partitions on other servers, through postgres_fdw; PostgreSQL 14 or newer
	Citus         Engine = "citus"          // distributed by the sharding key; as its documentation 13.0 says, not run here
	Vitess        Engine = "vitess"         // a vindex on the ids; needs the bucket on top; 22.0, not run here
	TiDB          Engine = "tidb"           // regions of ids; needs the bucket on top; 8.4, not run here
	Cockroach     Engine = "cockroach"      // ranges of ids; needs the bucket on top; 22.1, not run here
	Yugabyte      Engine = "yugabyte"       // tablets of ids; needs the bucket on top; stable, not run here
	GORMSharding  Engine = "gorm-sharding"  // tables of one database, which gorm.io/sharding chooses from
)

// form is what an engine makes of a division.
type form struct {
	engine Engine
	check  func(d *division) error // wraps [ErrTable] or [shard.ErrLayout] where the engine cannot make the division
	create func(d *division) *Script
	// grow returns the statements that turn a division into another. Every part of the second lies in one of the first, see splits.
	grow func(from, to *division) *Script
}

// forms has the engines in the order in which [Engines] lists them.
var forms = []form{
	{MySQL, (*division).checkMySQL, (*division).createMySQL, growMySQL},
	{Spider, (*division).checkSpider, (*division).createSpider, growSpider},
	{PostgresRange, (*division).checkPostgresRange, (*division).createPostgresRange, growPostgres},
	{PostgresHash, (*division).checkBelow, (*division).createPostgresHash, growPostgres},
	{PostgresList, (*division).checkBelow, (*division).createPostgresList, growPostgres},
	{PostgresFDW, (*division).checkPostgresFDW, (*division).createPostgresFDW, growPostgres},
	{Citus, (*division).checkCitus, (*division).createCitus, growCitus},
	{Vitess, (*division).checkRanges, (*division).createVitess, growVitess},
	{TiDB, (*division).checkRanges, tidb.create, tidb.grow},
	{Cockroach, (*division).checkTop, cockroach.create, cockroach.grow},
	{Yugabyte, (*division).checkTop, yugabyte.create, yugabyte.grow},
	{GORMSharding, (*division).checkGORMSharding, (*division).createGORMSharding, growGORMSharding},
}

// Engines returns all engines, in the order of the package's documentation.
func Engines() []Engine {
	engines := make([]Engine, len(forms))
	for i, f := range forms {
		engines[i] = f.engine
	}
	return engines
}

// form returns what the engine does, or an error that wraps [ErrEngine].
func (e Engine) form() (form, error) {
	i := slices.IndexFunc(forms, func(f form) bool { return f.engine == e })
	if i < 0 {
		names := make([]string, len(forms))
		for i, f := range forms {
			names[i] = string(f.engine)
		}
		return form{}, fmt.Errorf("%w %q; there are %s", ErrEngine, e, strings.Join(names, ", "))
	}
	return forms[i], nil
}

// Create returns the statements that make a new, empty table. The error wraps [ErrEngine], [ErrTable], [shard.ErrLayout] for a layout that the
// engine cannot follow, or [shard.ErrTables] for a number of shards that there cannot be.
func (t Table) Create(e Engine) (*Script, error) {
	d, err := t.division(e)
	if err != nil {
		return nil, err
	}
	if err := d.form.check(d); err != nil {
		return nil, err
	}
	return d.form.create(d), nil
}

// Grow returns the statements that turn the table, as [Table.Create] has made it, into one of more shards: as many as now, or a multiple. Buckets
// that are given besides get a shard of their own each, as [Table.Alone] has it. No id changes. Afterwards t.Shards and t.Alone have to be set to
// what the table has then. The errors are those of [Table.Create].
func (t Table) Grow(e Engine, shards int, alone ...int64) (*Script, error) {
	from, err := t.division(e)
	if err != nil {
		return nil, err
	}
	if shards < t.Shards || shards%t.Shards != 0 {
		return nil, fmt.Errorf("%w: %d, which is no multiple of the %d that %s has", shard.ErrTables, shards, t.Shards, t.Name)
	}
	t.Shards, t.Alone = shards, slices.Concat(t.Alone, alone)
	to, err := t.division(e)
	if err != nil {
		return nil, err
	}
	for _, d := range []*division{from, to} { // which the engine has to be able to make
		if err := d.form.check(d); err != nil {
			return nil, err
		}
	}
	if e == Spider || e == PostgresFDW {
		if err := from.staysPut(); err != nil {
			return nil, err
		}
	}
	return to.form.grow(from, to), nil
}

// Partition returns the name of the partition that has the rows of a bucket: on MySQL, MariaDB and Spider what goes into SELECT … FROM orders
// PARTITION (…), on PostgreSQL that of a table in the same schema, on Vitess that of a shard. It is not quoted. The errors are those of
// [Table.Create], and wrap [shard.ErrTables] for a bucket that the layout does not have, and [ErrEngine] for an engine that names no part of a table.
func (t Table) Partition(e Engine, bucket int64) (string, error) {
	d, err := t.division(e)
	if err != nil {
		return "", err
	}
	if bucket < 0 || bucket > d.max {
		return "", fmt.Errorf("%w: bucket %d, the layout's are 0 to %d", shard.ErrTables, bucket, d.max)
	}
	p := d.parts[slices.IndexFunc(d.parts, func(p part) bool { return p.has(bucket) })]
	switch e {
	case MySQL, Spider:
		return p.partition(), nil
	case Vitess:
		return shardNames(d, []part{p})[0], d.checkTop()
	case GORMSharding:
		names, err := d.tables()
		if err != nil {
			return "", err
		}
		return names[bucket%int64(len(names))], nil
	case Citus, TiDB, Cockroach, Yugabyte:
		return "", fmt.Errorf("%w: %s gives the parts of a table no names", ErrEngine, e)
	}
	return d.table(p), nil
}
