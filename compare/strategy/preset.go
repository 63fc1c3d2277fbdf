package strategy

import (
	"context"
	"fmt"

	"github.com/snowkey-go/snowkey/idgen"
)

// presets are the strategies of published snowflake layouts, each with its maker's policies, and node numbers set by hand.
func presets() []Strategy {
	all := []struct {
		preset idgen.Preset
		info   Info
		node   func(Environment) []idgen.Option
	}{
		{idgen.Twitter, Info{
			About:  "64-bit keys of 41 bits of milliseconds, 5 of datacenter, 5 of worker, 12 of sequence that starts at 0 each millisecond.",
			Origin: "Twitter, “Announcing Snowflake” and its source, 2010",
			Cost: "no keys while the clock is behind where it was; at low traffic nearly all sequences are 0, so that one of 2, 4 … 1,024 shards has nearly all " +
				"rows",
			Coordination: "the datacenter's and the worker's number, by hand here; Twitter had them in ZooKeeper",
		}, func(p Environment) []idgen.Option {
			return []idgen.Option{idgen.WithDatacenter(int64(p.Process / 32)), idgen.WithNode(int64(p.Process % 32))}
		}},
		{idgen.ShardingJDBC, Info{
			About:  "64-bit keys of 41 bits of milliseconds, 10 of worker, 12 of sequence that starts each millisecond at 0 or 1.",
			Origin: "Sharding-JDBC, today Apache ShardingSphere: its default key generator, 2016",
			Cost: "no keys while the clock is behind where it was; at low traffic nearly all sequences are 0 or 1, so that two of 4, 8 … 1,024 shards have nearly " +
				"all rows",
			Coordination: "the worker's number, by hand",
		}, nodeByHand},
		{idgen.Leaf, Info{
			About:        "64-bit keys of 41 bits of milliseconds, 10 of worker, 12 of sequence that starts each millisecond at random below 100.",
			Origin:       "Meituan, “Leaf”, 2017, and its source: the snowflake mode",
			Cost:         "waits for a clock that stepped back by up to 5 ms, no keys beyond that; at low traffic no more than 100 of 128 … 1,024 shards have rows",
			Coordination: "the worker's number, by hand here; Leaf has it in ZooKeeper",
		}, nodeByHand},
		{idgen.K8sIP, Info{
			About:        "64-bit keys of 28 bits of seconds, 24 of the pod's IPv4 address, 11 of sequence; each process here is a pod of 10.244.0.0/16.",
			Origin:       "a published variant for Kubernetes",
			Needs:        "a pod whose address has 24 low bits that no other pod's has, and a clock that is about right",
			Cost:         "2,048 keys a second and pod, after which calls wait for the next second; it lasts until March 2030",
			Coordination: "addresses that differ in their low 24 bits: the cluster's network gives them",
		}, func(p Environment) []idgen.Option {
			// 10.244.0.2 is the first address of a cluster's first node; its network and gateway have the two before.
			return []idgen.Option{idgen.WithNode(244<<16 | int64(p.Process+2))}
		}},
		{idgen.Game, Info{
			About:        "64-bit keys of 37 bits of 10 ms, 20 of server, 6 of sequence; published with 16 of sequence, which are 73 bits together.",
			Origin:       "a published variant for game servers, cut to 63 bits",
			Needs:        "one of 1,048,576 server numbers that no other process has, and a clock that is about right",
			Cost:         "6,400 keys a second and server, after which calls wait for the next 10 ms",
			Coordination: "the server's number, by hand",
		}, nodeByHand},
		{idgen.JS53, Info{
			About:        "53-bit keys of 38 bits of 10 ms, 7 of node, 8 of sequence: JavaScript's numbers hold them exactly.",
			Origin:       "package idgen of this module: the layout js53",
			Needs:        "one of 128 node numbers that no other process has, and a clock that is about right",
			Cost:         "25,600 keys a second and node, after which calls wait for the next 10 ms",
			Coordination: "the node's number, by hand here; gormplugin grants it in the database",
		}, nodeByHand},
	}
	strategies := make([]Strategy, len(all))
	for i, p := range all {
		info := p.info
		info.Name = p.preset.Name()
		if info.Needs == "" {
			info.Needs = "one of 1,024 node numbers that no other process has, and a clock that is about right"
		}
		info.Decodes = fmt.Sprintf("when it was made, to %s, by which node, and with which sequence in that time", p.preset.Unit())
		info.Guess = "about when others were made and by which nodes; the sequence is a small number, or the one after the last"
		info.Order, info.Limit, info.Unit, info.Clock = Increasing, p.preset.PerSecond(), p.preset.Unit(), true
		strategies[i] = New(info, func(_ context.Context, at Environment) (idgen.Source[int64], error) {
			return at.generator(append([]idgen.Option{p.preset}, p.node(at)...)...)
		})
	}
	return strategies
}

// nodeByHand gives a generator the number of its process.
func nodeByHand(p Environment) []idgen.Option {
	return []idgen.Option{idgen.WithNode(int64(p.Process))}
}
