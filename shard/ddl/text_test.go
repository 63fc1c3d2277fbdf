package ddl_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/shard"
	"github.com/snowkey-go/snowkey/shard/ddl"
)

// TestText guards the statements for the engines that tests cannot start, four shards that become eight, and one bucket alone where there can be one.
func TestText(t *testing.T) {
	for _, test := range []struct {
		engine ddl.Engine
		table  string
		alone  []int64
		create []string // with the notes, if any, last
		grow   []string
	}{
		{ddl.Citus, "shop.orders", nil, []string{
			`CREATE TABLE "shop"."orders" ( id BIGINT , PRIMARY KEY ("id", "user_id") , CHECK ("id" >= 0) )`,
			`SELECT create_distributed_table(E'"shop"."orders"', E'user_id', colocate_with => 'none', shard_count => 4)`,
		}, []string{
			`SELECT alter_distributed_table(E'"shop"."orders"', shard_count := 8, cascade_to_colocated := true)`,
			"SELECT citus_rebalance_start()",
		}},
		{ddl.Vitess, "shop.orders", []int64{511}, []string{
			"CREATE TABLE `shop`.`orders` ( id BIGINT , PRIMARY KEY (`id`) , CHECK (`id` >= 0) )",
			"ALTER VSCHEMA ON `shop`.`orders` ADD VINDEX snowkey_id (`id`) USING numeric",
			"The shards of the keyspace shop: -20,20-3fe0,3fe0-40,40-60,60-",
		}, []string{
			"Start the tablets of the shards -10,10-20,20-30,30-3fe0,40-50,50-60,60-70,70-, then run:",
			"vtctldclient Reshard --target-keyspace shop --workflow grow create --source-shards '-20,20-3fe0,40-60,60-' --target-shards '-10,10-20,20-30,30-3fe0,40-50,50-60,60-70,70-'",
			"vtctldclient VDiff --target-keyspace shop --workflow grow create",
			"vtctldclient Reshard --target-keyspace shop --workflow grow SwitchTraffic",
			"vtctldclient Reshard --target-keyspace shop --workflow grow complete",
		}},
		{ddl.TiDB, "orders", []int64{1023}, []string{
			"CREATE TABLE `orders` ( id BIGINT , PRIMARY KEY (`id`) CLUSTERED , CHECK (`id` >= 0) )",
			"SPLIT TABLE `orders` BY (2305843009213693952), (4611686018427387904), (6917529027641081856), (9214364837600034816)",
		}, []string{"SPLIT TABLE `orders` BY (1152921504606846976), (3458764513820540928), (5764607523034234880), (8070450532247928832)"}},
		{ddl.Cockroach, "orders", nil, []string{
			`CREATE TABLE "orders" ( id BIGINT , PRIMARY KEY ("id") , CHECK ("id" >= 0) )`,
			`ALTER TABLE "orders" SPLIT AT VALUES (2305843009213693952), (4611686018427387904), (6917529027641081856)`,
		}, []string{`ALTER TABLE "orders" SPLIT AT VALUES (1152921504606846976), (3458764513820540928), (5764607523034234880), (8070450532247928832)`}},
		{ddl.Yugabyte, "orders", nil, []string{
			`CREATE TABLE "orders" ( id BIGINT , PRIMARY KEY ("id" ASC) , CHECK ("id" >= 0) ) SPLIT AT VALUES ((2305843009213693952), (4611686018427387904), (6917529027641081856))`,
		}, []string{"Nothing to run: YugabyteDB splits tablets that have grown by itself, and yb-admin split_tablet splits one by hand."}},
	} {
		t.Run(string(test.engine), func(t *testing.T) {
			table := ddl.Table{Name: test.table, Key: "id", ShardingKey: "user_id", Columns: "id BIGINT", Layout: idgen.Scattered.Layout, Shards: 4, Alone: test.alone}
			created, err := table.Create(test.engine)
			if err != nil {
				t.Fatal(err)
			}
			requireText(t, created, test.create)
			grown, err := table.Grow(test.engine, 8)
			if err != nil {
				t.Fatal(err)
			}
			requireText(t, grown, test.grow)
			table.Shards, table.Alone = 1, nil // no point to split at
			one, err := table.Create(test.engine)
			if err != nil || strings.Contains(strings.Join(one.Table, ";"), "SPLIT") {
				t.Errorf("one shard: got %v and the error %v, want nothing that splits it", one, err)
			}
		})
	}
}

func requireText(t *testing.T, s *ddl.Script, want []string) {
	t.Helper()
	var got []string
	for _, text := range slices.Concat(s.Table, s.Notes) {
		got = append(got, strings.Join(strings.Fields(text), " "))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestTextRefused has what these engines cannot do.
func TestTextRefused(t *testing.T) {
	table := ddl.Table{Name: "orders", Key: "id", ShardingKey: "user_id", Columns: "id BIGINT", Layout: idgen.Scattered.Layout, Shards: 4}
	sharded, alone, keyless, quoted := table, table, table, table
	sharded.Layout, alone.Alone, keyless.ShardingKey, quoted.Name = idgen.Sharded.Layout, []int64{7}, "", "Orders"
	for _, test := range []struct {
		name   string
		engine ddl.Engine
		table  ddl.Table
		want   error
	}{
		{"the bucket below the time", ddl.Vitess, sharded, shard.ErrLayout},
		{"the bucket below the time", ddl.TiDB, sharded, shard.ErrLayout},
		{"the bucket below the time", ddl.Cockroach, sharded, shard.ErrLayout},
		{"the bucket below the time", ddl.Yugabyte, sharded, shard.ErrLayout},
		{"a bucket alone", ddl.Citus, alone, ddl.ErrTable},
		{"a bucket alone", ddl.GORMSharding, alone, ddl.ErrTable},
		{"no sharding key", ddl.Citus, keyless, ddl.ErrTable},
		{"a name in quotes", ddl.GORMSharding, quoted, ddl.ErrTable},
	} {
		t.Run(string(test.engine)+", "+test.name, func(t *testing.T) {
			if _, err := test.table.Create(test.engine); !errors.Is(err, test.want) {
				t.Errorf("Create: got the error %v, want %v", err, test.want)
			}
			if _, err := test.table.Grow(test.engine, 8); !errors.Is(err, test.want) {
				t.Errorf("Grow: got the error %v, want %v", err, test.want)
			}
		})
	}
	for _, engine := range []ddl.Engine{ddl.Citus, ddl.TiDB, ddl.Cockroach, ddl.Yugabyte} {
		if _, err := table.Partition(engine, 7); !errors.Is(err, ddl.ErrEngine) {
			t.Errorf("%s: Partition: got the error %v, want %v", engine, err, ddl.ErrEngine)
		}
	}
	if got, err := table.Partition(ddl.Vitess, 300); got != "20-40" || err != nil {
		t.Errorf("got the shard %q and the error %v, want 20-40", got, err)
	}
}
