package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/shard/ddl"
)

func newDDL() *cobra.Command {
	return group(&cobra.Command{
		Use:   "ddl",
		Short: "Print the SQL of sharded tables, and of a function that makes keys",
		Long: `Print SQL. shard and bucket are of a table that the database divides by the bucket of its keys; nothing is run. function is for keys of rows that scripts
insert; it takes a node number in the database.

  shard      the statements that make such a table, or give it more shards
  bucket     the bucket of a sharding key, and where its rows are
  function   a function of the database that makes keys`,
		Example: `  snowkey ddl shard --engine mysql --table orders --columns 'id BIGINT NOT NULL, user_id BIGINT NOT NULL' --shards 4
  snowkey ddl bucket 42
  snowkey ddl function --db-file /run/secrets/app --table orders`,
	}, newDDLShard(), newDDLBucket(), newDDLFunction())
}

// dividedFlags adds the flags of a divided table to a command, and returns the engine and the table that they say.
func dividedFlags(c *cobra.Command) func() (ddl.Engine, ddl.Table) {
	flags := c.Flags()
	var names []string
	for _, e := range ddl.Engines() {
		names = append(names, string(e))
	}
	engine := flags.String("engine", "", "what divides the table: "+strings.Join(names, ", "))
	complete(c, "engine", names...)
	table := flags.String("table", "", `name of the table, "orders" or "schema.orders"`)
	shards := flags.Int("shards", 4, "how many shards the table has")
	alone := flags.Int64Slice("alone", nil, "buckets that have a shard of their own besides, with commas")
	layout := layoutFlagOf(c, idgen.Scattered)
	return func() (ddl.Engine, ddl.Table) {
		return ddl.Engine(*engine), ddl.Table{Name: *table, Key: "id", Layout: layout.Layout, Shards: *shards, Alone: *alone}
	}
}
