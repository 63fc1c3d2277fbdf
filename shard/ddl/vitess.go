package ddl

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// createVitess follows the documentation of Vitess 22.0, and of 18.0 for ALTER VSCHEMA; nobody has run it here. With the vindex numeric an id is the keyspace id of its row, so a
// shard of the keyspace has a range of ids. A row is found by its id in one shard. So is a sharding key with a range of ids beside it, from Vitess
// 22.0 on; the sharding key alone is looked for in all. The rows of one sharding key are in one shard, those of children too. Needs no sequence.
//
// The statements are for a keyspace with the shards of the notes, through a VTGate whose vschema_ddl_authorized_users has the user.
func (d *division) createVitess() *Script {
	const my = dialect.MySQL
	table, key := quoteIn(my, d.name.Schema, d.name.Name), my.QuoteAny(d.Key)
	return &Script{
		Notes: []string{"The shards of the keyspace " + d.keyspace() + ": " + strings.Join(shardNames(d, d.parts), ",")},
		Table: []string{
			d.whole(my) + d.options(),
			fmt.Sprintf("ALTER VSCHEMA ON %s ADD VINDEX snowkey_id (%s) USING numeric", table, key),
		},
	}
}

// growVitess has Vitess's own program split the shards, while the application writes: of all tables of the keyspace, which have to be divided alike.
func growVitess(from, to *division) *Script {
	var source, target []string
	for _, split := range from.splits(to) {
		source = append(source, shardNames(from, []part{split.from})...)
		target = append(target, shardNames(to, split.into)...)
	}
	s := &Script{}
	if len(source) == 0 {
		return s
	}
	reshard := "vtctldclient Reshard --target-keyspace " + to.keyspace() + " --workflow grow "
	s.Notes = []string{
		"Start the tablets of the shards " + strings.Join(target, ",") + ", then run:",
		reshard + "create --source-shards '" + strings.Join(source, ",") + "' --target-shards '" + strings.Join(target, ",") + "'",
		"vtctldclient VDiff --target-keyspace " + to.keyspace() + " --workflow grow create",
		reshard + "SwitchTraffic",
		reshard + "complete",
	}
	return s
}

func (d *division) keyspace() string {
	if d.name.Schema == "" {
		return "KEYSPACE"
	}
	return d.name.Schema
}

// shardNames returns the names that Vitess gives to the shards with the ids of parts, such as 20-40: the first bytes of the least one and of that
// behind the greatest, empty at the ends.
func shardNames(d *division, parts []part) (names []string) {
	edge := func(bucket int64) string {
		if bucket == 0 || bucket > d.max {
			return ""
		}
		return hex.EncodeToString(bytes.TrimRight(binary.BigEndian.AppendUint64(nil, uint64(bucket)<<d.shift), "\x00"))
	}
	for _, p := range parts {
		names = append(names, edge(p.first)+"-"+edge(p.last+1))
	}
	return names
}
