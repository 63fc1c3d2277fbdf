package main

import (
	"github.com/spf13/cobra"

	"github.com/snowkey-go/snowkey/idgen"
)

// numbers are those of flags for the fields of a layout.
type numbers struct{ node, datacenter, shard int64 }

// numberFlags adds --node, --datacenter and --shard to a command, and says in its help what the first two are by default.
func numberFlags(c *cobra.Command, missing string) *numbers {
	var n numbers
	c.Flags().Int64Var(&n.node, "node", 0, "node number, from 0 up (default: "+missing+")")
	c.Flags().Int64Var(&n.datacenter, "datacenter", 0, "datacenter number, from 0 up, of layouts that have one (default: "+missing+")")
	c.Flags().Int64Var(&n.shard, "shard", 0, "logical shard, from 0 up, of layouts that have one (default: 0)")
	return &n
}

// options returns those of a generator: the layout, and the numbers that were given. The shard is a row's place, and not a generator's, so that it has a default.
func (n numbers) options(c *cobra.Command, layout *layoutChoice) []idgen.Option {
	options := []idgen.Option{layout.option}
	if c.Flags().Changed("node") {
		options = append(options, idgen.WithNode(n.node))
	}
	if c.Flags().Changed("datacenter") {
		options = append(options, idgen.WithDatacenter(n.datacenter))
	}
	if c.Flags().Changed("shard") || layout.Bits(idgen.Shard) > 0 {
		options = append(options, idgen.WithShard(n.shard))
	}
	return options
}
