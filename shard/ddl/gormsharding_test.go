package ddl_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/shard/ddl"
)

// TestGORMShardingGrows has the rows of four tables in eight, and of fifty-one in a hundred and two, whose numbers have another digit.
func TestGORMShardingGrows(t *testing.T) {
	if testing.Short() {
		t.Skip("no tables grow with -short")
	}
	for _, database := range []func(testing.TB) dbtest.Database{dbtest.SQLite, dbtest.MySQL, dbtest.Postgres} {
		for _, preset := range []idgen.Preset{idgen.Scattered, idgen.Sharded} {
			for _, shards := range []int{4, 51} {
				if shards == 51 && preset == idgen.Scattered {
					continue // the names are those of the other layout
				}
				at := database(t)
				t.Run(fmt.Sprint(at.Kind, " ", preset.Name(), " ", shards), func(t *testing.T) {
					f := open(t, at)
					f.engine, f.preset = ddl.GORMSharding, preset
					plugin := gormplugin.New(gormplugin.Grants(grant.Config{Generator: []idgen.Option{preset, idgen.WithShards()}}, grant.WithUnsafe()))
					if err := f.db.Use(plugin); err != nil {
						t.Fatal(err)
					}
					defer plugin.Close()
					table := f.table("orders", orderColumns, shards)
					requireTables := func(want int) {
						t.Helper()
						total := 0
						for bucket := range int64(table.Shards) {
							name, err := table.Partition(f.engine, bucket)
							if err != nil {
								t.Fatal(err)
							}
							var ids []int64
							if err := f.db.Table(name).Pluck("id", &ids).Error; err != nil {
								t.Fatal(err)
							}
							total += len(ids)
							for _, id := range ids {
								if got := bucketIn(t, preset.Layout, id) % int64(table.Shards); got != bucket {
									t.Errorf("%s has the row %d, which is of table %d", name, id, got)
								}
							}
						}
						if total != want {
							t.Errorf("the tables have %d rows, want %d", total, want)
						}
					}
					script, err := table.Create(f.engine)
					if err != nil {
						t.Fatal(err)
					}
					f.apply(t, script)
					for user := range int64(users) {
						name, err := table.Partition(f.engine, bucketOf(t, preset.Layout, user+1))
						if err != nil {
							t.Fatal(err)
						}
						if err := f.db.Table(name).Create(&Order{UserID: user + 1}).Error; err != nil {
							t.Fatal(err)
						}
					}
					requireTables(users)
					if script, err = table.Grow(f.engine, 2*shards); err != nil {
						t.Fatal(err)
					}
					f.apply(t, script)
					table.Shards *= 2
					requireTables(users)
					if same, err := table.Grow(f.engine, table.Shards); err != nil || len(slices.Concat(same.Table, same.Notes)) > 0 {
						t.Errorf("as many tables: got %v and the error %v, want nothing", same, err)
					}
				})
			}
		}
	}
}

// TestGORMShardingGrowthLosesNothing has a client go on after an INSERT that failed.
func TestGORMShardingGrowthLosesNothing(t *testing.T) {
	for _, database := range []func(testing.TB) dbtest.Database{dbtest.SQLite, dbtest.MySQL, dbtest.Postgres} {
		at := database(t)
		t.Run(at.Kind, func(t *testing.T) {
			f := open(t, at)
			f.engine, f.preset = ddl.GORMSharding, idgen.Scattered
			table := f.table("orders", "id BIGINT NOT NULL", 2)
			script, err := table.Create(f.engine)
			if err != nil {
				t.Fatal(err)
			}
			f.apply(t, script)
			for bucket := int64(0); bucket < 8; bucket += 2 {
				run(t, f.pool, fmt.Sprintf("INSERT INTO orders_00 VALUES (%d)", bucket<<53|1))
			}
			grown, err := table.Grow(f.engine, 4)
			if err != nil {
				t.Fatal(err)
			}
			create := slices.IndexFunc(grown.Table, func(s string) bool { return strings.HasPrefix(s, "CREATE") })
			run(t, f.pool, grown.Table[:create+1]...)
			run(t, f.pool, fmt.Sprintf("INSERT INTO orders_02 VALUES (%d)", int64(2)<<53|1))
			if failed := f.force(t, grown.Table[create+1:]...); len(failed) != 1 {
				t.Errorf("got the errors %v, want that of the row that is there", failed)
			}
			if got := rows(t, f.pool, "SELECT COUNT(*) FROM (SELECT id FROM orders_00 UNION SELECT id FROM orders_02) u")[0]; got != "4" {
				t.Errorf("there are %s rows, want 4", got)
			}
			if failed := f.force(t, grown.Table[create+1:create+3]...); len(failed) > 0 {
				t.Errorf("once more got the errors %v", failed)
			}
			if got := rows(t, f.pool, "SELECT COUNT(*) FROM orders_02")[0]; got != "2" {
				t.Errorf("the new table has %s rows, want 2", got)
			}
		})
	}
}
