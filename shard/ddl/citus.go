package ddl

import (
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// createCitus follows the documentation of Citus 13.0; nobody has run it here. Citus places a row by a hash of its own of the sharding key, whatever
// the layout. The sharding key has to be in the primary key, behind the id, so that each shard finds a row by the id alone. It puts the table into a
// co-location group of its own; a table of children joins it with colocate_with => 'orders', and its foreign key has both columns.
func (d *division) createCitus() *Script {
	const pg = dialect.Postgres
	key := pg.QuoteAny(d.Key)
	return &Script{Table: []string{
		d.create(d.own(d.name.Name), "PRIMARY KEY ("+key+", "+pg.QuoteAny(d.ShardingKey)+")", d.refusing(key)),
		fmt.Sprintf("SELECT create_distributed_table(%s, %s, colocate_with => 'none', shard_count => %d)",
			postgresText(d.own(d.name.Name)), postgresText(d.ShardingKey), d.Shards),
	}}
}

// growCitus changes the number of shards, for which Citus copies the table and those that are co-located with it, and then has Citus spread the shards
// over the workers that were added.
func growCitus(from, to *division) *Script {
	if to.Shards == from.Shards {
		return &Script{}
	}
	return &Script{Table: []string{
		fmt.Sprintf("SELECT alter_distributed_table(%s, shard_count := %d, cascade_to_colocated := true)", postgresText(to.own(to.name.Name)), to.Shards),
		"SELECT citus_rebalance_start()",
	}}
}

// checkCitus returns an error for a table without a sharding key, and for buckets that are alone: Citus isolates a sharding key, and no bucket.
func (d *division) checkCitus() error {
	switch {
	case d.ShardingKey == "" || strings.ContainsRune(d.ShardingKey, 0):
		return fmt.Errorf("%w: %q is no name of a column; %s divides a table by its ShardingKey", ErrTable, d.ShardingKey, d.engine)
	case len(d.Alone) > 0:
		return fmt.Errorf("%w: %s has no shard for the bucket %d alone; isolate_tenant_to_new_shard gives one to a sharding key", ErrTable, d.engine, d.Alone[0])
	}
	return fits(postgresLongest, d.name.Name)
}
