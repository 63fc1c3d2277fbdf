package idgen

import (
	"fmt"
	"strings"
	"time"
)

// Preset is a published layout under its name, with the policies of its maker's generator, see the table in the package's
// documentation. It is immutable, comparable, and safe for concurrent use; all methods of [Layout] are its own.
type Preset struct {
	Layout
	policy policy
	name   string
	origin string
}

// The presets. Each names its maker's fields from the top bit down.
var (
	// Snowkey is this module's default: 41 bits of milliseconds since 2025-01-01T00:00:00Z, 10 of node, 12 of sequence. It lasts until
	// September 2094.
	Snowkey = preset("snowkey", "default of this module", defaultPolicy, newYear2025, time.Millisecond,
		Time.Bits(41), Node.Bits(10), Sequence.Bits(12))

	// Twitter is Twitter's: 41 bits of milliseconds since 2010-11-04T01:42:54.657Z, 5 of datacenter, 5 of worker, 12 of sequence.
	// Source: twitter-archive/snowflake, 2010. It lasts until July 2080.
	Twitter = preset("twitter", "Twitter's snowflake service, 2010", policy{back: backRefuse, full: fullWait, start: startZero},
		time.UnixMilli(1288834974657), time.Millisecond, Time.Bits(41), Datacenter.Bits(5), Node.Bits(5), Sequence.Bits(12))

	// Leaf is the snowflake mode of Meituan's Leaf: 41 bits of milliseconds since Twitter's epoch, 10 of worker, 12 of sequence. Source:
	// Meituan-Dianping/Leaf, class SnowflakeIDGenImpl.
	Leaf = preset("leaf", "Meituan's Leaf, snowflake mode", policy{back: backWait, bound: 5 * time.Millisecond, full: fullWait, start: startRandom, below: 100},
		time.UnixMilli(1288834974657), time.Millisecond, Time.Bits(41), Node.Bits(10), Sequence.Bits(12))

	// ShardingJDBC is Sharding-JDBC's, today Apache ShardingSphere's: 41 bits of milliseconds since 2016-11-01T00:00:00, 10 of worker, 12
	// of sequence. Its maker takes the epoch in the time zone of the machine; this is the one in UTC. Keys made in another zone decode
	// to times that are off by its offset: give their layout with [NewLayout].
	ShardingJDBC = preset("shardingjdbc", "Sharding-JDBC's default key generator, in UTC", policy{back: backRefuse, full: fullWait, start: startSpread, below: 2},
		time.Date(2016, 11, 1, 0, 0, 0, 0, time.UTC), time.Millisecond, Time.Bits(41), Node.Bits(10), Sequence.Bits(12))

	// ShardingJDBC2018 is ShardingJDBC with the epoch 1514736000000, 2018-01-01T00:00:00+08:00, of an article on it and of copies of its generator.
	ShardingJDBC2018 = preset("shardingjdbc2018", "Sharding-JDBC's generator with the epoch of 2018 in UTC+8", ShardingJDBC.policy,
		time.UnixMilli(1514736000000), time.Millisecond, Time.Bits(41), Node.Bits(10), Sequence.Bits(12))

	// Sonyflake is Sony's: 39 bits of 10 ms since 2014-09-01T00:00:00Z, 8 of sequence, 16 of machine, the sequence above the machine.
	// Source: sony/sonyflake with the default start time of its version 1; version 2 begins at 2025-01-01T00:00:00Z. It lasts until 2188
	// and makes at most 25,600 ids a second and machine.
	Sonyflake = preset("sonyflake", "Sony's Sonyflake", policy{back: backIgnore, full: fullWait, start: startZero},
		time.Date(2014, 9, 1, 0, 0, 0, 0, time.UTC), 10*time.Millisecond, Time.Bits(39), Sequence.Bits(8), Node.Bits(16))

	// Baidu is the default of Baidu's UidGenerator: 28 bits of seconds since 2016-05-20T00:00:00+08:00, 22 of worker, 13 of sequence.
	// Source: baidu/uid-generator, class DefaultUidGenerator. It ran out in November 2024, so it decodes ids but makes none.
	Baidu = preset("baidu", "Baidu's UidGenerator, ran out in 2024", policy{back: backRefuse, full: fullWait, start: startZero},
		time.Unix(1463673600, 0), time.Second, Time.Bits(28), Node.Bits(22), Sequence.Bits(13))

	// Discord is Discord's: milliseconds since 2015-01-01T00:00:00Z, 5 bits of worker (datacenter here), 5 of process (node here), 12 of
	// increment. Source: Discord's API reference, which has 42 bits of time; the top one is that of negative numbers and 0 until 2084.
	Discord = preset("discord", "Discord's API reference", defaultPolicy,
		time.UnixMilli(1420070400000), time.Millisecond, Time.Bits(41), Datacenter.Bits(5), Node.Bits(5), Sequence.Bits(12))

	// Instagram is Instagram's: milliseconds since 2011-08-24T21:07:01.721Z, 13 bits of logical shard, 10 of sequence. Source: "Sharding &
	// IDs at Instagram", 2012, which has 41 bits of time; the top one is that of negative numbers and 0 until 2046.
	Instagram = preset("instagram", "the article Sharding & IDs at Instagram", defaultPolicy,
		time.UnixMilli(1314220021721), time.Millisecond, Time.Bits(40), Shard.Bits(13), Sequence.Bits(10))

	// Mastodon is Mastodon's: milliseconds since 1970, 16 bits of sequence. Source: its database function timestamp_id, which has 48 bits
	// of time; the top one is that of negative numbers and 0 until the year 6429.
	Mastodon = preset("mastodon", "Mastodon's timestamp_id", defaultPolicy,
		time.Unix(0, 0), time.Millisecond, Time.Bits(47), Sequence.Bits(16))

	// K8sIP is a variant for Kubernetes: 28 bits of seconds since 2021-09-16T08:14:08Z, 24 of the pod's IPv4 address, 11 of sequence. It
	// lasts until March 2030.
	K8sIP = preset("k8sip", "a variant with the low bits of the pod's address", defaultPolicy,
		time.Unix(1631780048, 0), time.Second, Time.Bits(28), Node.Bits(24), Sequence.Bits(11))

	// Game is a variant for game servers. Published as 37 bits of time, 20 of server and 16 of sequence, which are 73 bits; the sequence has the 6 that
	// are left here. 37 bits of milliseconds last 4.36 years, not the 93 that were published with them; here a tick is 10 ms, and they last 43.6. The
	// publication names no epoch; this one is 2025-01-01T00:00:00Z.
	Game = preset("game", "a variant for game servers, cut to 63 bits", defaultPolicy, newYear2025, 10*time.Millisecond,
		Time.Bits(37), Node.Bits(20), Sequence.Bits(6))

	// JS53 makes ids below 2^53, which JavaScript's numbers hold exactly: 38 bits of 10 ms since 2025-01-01T00:00:00Z, 7 of node, 8 of
	// sequence. It lasts until 2112 and makes at most 25,600 ids a second and node.
	JS53 = preset("js53", "ids that are exact as JavaScript numbers", defaultPolicy, newYear2025, 10*time.Millisecond,
		Time.Bits(38), Node.Bits(7), Sequence.Bits(8))

	// Sharded is this module's for sharded tables, see [WithShards]: 41 bits of milliseconds since 2025-01-01T00:00:00Z, 8 of node, 4 of
	// sequence, 10 of shard, so that id & 1023 is the shard, and id % 2^k the shard modulo 2^k. It lasts until September 2094. A shard
	// makes at most 16,000 ids a second and node; one that needs more for a while borrows up to a second, see [BorrowFull], so nodes with
	// numbers that are set by hand should begin above the ids there are, see [WithFloor]. Grants need no such care.
	Sharded = preset("sharded", "this module, for sharded tables", shardedPolicy, newYear2025, time.Millisecond,
		Time.Bits(41), Node.Bits(8), Sequence.Bits(4), Shard.Bits(10))

	// Scattered is Sharded with the shard on top: 10 bits of shard, 41 of time, 8 of node, 4 of sequence. Ids of one moment are all over
	// the range of keys, for databases that split tables by ranges of the key. They are in no order of time but within a shard, so there is
	// no range of ids for a range of time, and no floor.
	Scattered = preset("scattered", "this module, sharded with the shard on top", shardedPolicy, newYear2025, time.Millisecond,
		Shard.Bits(10), Time.Bits(41), Node.Bits(8), Sequence.Bits(4))

	// Packed is this module's for tables that InnoDB clusters by their keys: 23 bits of bands of 262.144 s, 10 of node, 4 of stream, 18 of milliseconds
	// within the band, 8 of sequence, see [Snowflake.TakeStream]. It has the epoch, the node numbers and the end of Snowkey, and the exact millisecond. Rows of
	// one band are in the order of their writers. A stream makes 256,000 ids a second, and borrows up to a second beyond that, see [BorrowFull]; a
	// generator has 16 streams. Nodes with numbers that are set by hand should begin above the ids there are, see [WithFloor]; grants need no such care.
	Packed = preset("packed", "this module, for clustered tables of InnoDB", packedPolicy, newYear2025, time.Millisecond,
		Time.Bits(23), Node.Bits(10), Stream.Bits(4), Time.Bits(18), Sequence.Bits(8))

	// PackedSecond is Packed with bands of 1.024 s, for tables that are read by time more than they are written.
	PackedSecond = preset("packed1s", "this module, packed in bands of a second", packedPolicy, newYear2025, time.Millisecond,
		Time.Bits(31), Node.Bits(10), Stream.Bits(4), Time.Bits(10), Sequence.Bits(8))
)

// shardedPolicy has shards of a few ids a tick, which have busy moments, borrow.
var shardedPolicy = policy{back: backIgnore, full: fullBorrow, borrow: 1000, start: startSpread}

// packedPolicy has a stream go on for a moment that a batch fills, and all low bits used at low traffic.
var packedPolicy = policy{back: backIgnore, full: fullBorrow, borrow: 1000, start: startSpread, below: 256}

var newYear2025 = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

// Presets returns all presets, the default first.
func Presets() []Preset {
	return []Preset{Snowkey, Twitter, Leaf, ShardingJDBC, ShardingJDBC2018, Sonyflake, Baidu, Discord, Instagram, Mastodon, K8sIP, Game, JS53, Sharded, Scattered, Packed, PackedSecond}
}

// preset needs no error: a test makes every preset's layout again and compares.
func preset(name, origin string, p policy, epoch time.Time, unit time.Duration, fields ...Field) Preset {
	layout, _ := NewLayout(epoch, unit, fields...)
	return Preset{Layout: layout, policy: p, name: name, origin: origin}
}

// LookupPreset returns the preset of a name. The error wraps [ErrLayout] and lists the names there are.
func LookupPreset(name string) (Preset, error) {
	names := make([]string, 0, len(Presets()))
	for _, p := range Presets() {
		if p.name == name {
			return p, nil
		}
		names = append(names, p.name)
	}
	return Preset{}, fmt.Errorf("%w: no preset is named %q; there are %s", ErrLayout, name, strings.Join(names, ", "))
}

// Name returns the name by which [LookupPreset] and the command line know the preset.
func (p Preset) Name() string { return p.name }

// Origin says where the layout was published.
func (p Preset) Origin() string { return p.origin }
