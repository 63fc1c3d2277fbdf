package ddl_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/idgen/grant/granttest"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dsn"
	"github.com/snowkey-go/snowkey/shard"
	"github.com/snowkey-go/snowkey/shard/ddl"
)

// given are the engines that tests cannot start. Each runs in an empty database whose DSN a variable of the environment names, which gets the tables
// orders and items and the tables of grants, and loses them again. Vitess wants a keyspace with the shards that its script notes.
var given = map[ddl.Engine]string{
	ddl.Citus:     "SNOWKEY_TEST_CITUS",
	ddl.Vitess:    "SNOWKEY_TEST_VITESS",
	ddl.TiDB:      "SNOWKEY_TEST_TIDB",
	ddl.Cockroach: "SNOWKEY_TEST_COCKROACH",
	ddl.Yugabyte:  "SNOWKEY_TEST_YUGABYTE",
}

// openGiven opens the database that is given for an engine.
func openGiven(t *testing.T, engine ddl.Engine) *fixture {
	t.Helper()
	text := os.Getenv(given[engine])
	if text == "" {
		t.Skipf("%s is not set: the DSN of an empty database of %s, as mysql:USER:PASSWORD@tcp(HOST:PORT)/DATABASE or postgres://…", given[engine], engine)
	}
	parsed, err := dsn.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", given[engine], err)
	}
	driver := map[string]string{dsn.MySQL: "mysql", dsn.Postgres: "pgx"}[parsed.Kind]
	f := open(t, dbtest.Database{Kind: parsed.Kind, DSN: text, DriverName: driver, DriverDSN: parsed.Source})
	f.engine, f.preset, f.blind = engine, idgen.Scattered, true
	return f
}

// TestGivenEngines has GORM write and read the tables of the engines that are given. The node numbers are granted in another database.
func TestGivenEngines(t *testing.T) {
	for engine := range given {
		t.Run(string(engine), func(t *testing.T) {
			f := openGiven(t, engine)
			t.Cleanup(func() {
				for _, table := range []string{"items", "orders"} {
					if _, err := f.pool.Exec("DROP TABLE IF EXISTS " + table); err != nil {
						t.Error(err)
					}
				}
			})
			keeper, err := grant.Open(t.Context(), grant.File(filepath.Join(t.TempDir(), "node")), grant.Config{Generator: []idgen.Option{f.preset, idgen.WithShards()}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := keeper.Close(); err != nil {
					t.Error(err)
				}
			})
			source, err := shard.NewSource(keeper)
			if err != nil {
				t.Fatal(err)
			}
			newSuite(t, f, gormplugin.From(source)).run(t)
		})
	}
}

// TestGivenGrants has the node numbers granted in the engines that are given, but for Vitess, whose keyspace is sharded.
func TestGivenGrants(t *testing.T) {
	for engine := range given {
		if engine == ddl.Vitess {
			continue
		}
		t.Run(string(engine), func(t *testing.T) {
			f := openGiven(t, engine)
			tables := 0
			granttest.Run(t, func(t *testing.T) grant.Store {
				tables++
				table := fmt.Sprintf("snowkey_test_%d", tables)
				t.Cleanup(func() {
					if _, err := f.pool.Exec("DROP TABLE IF EXISTS " + table); err != nil {
						t.Error(err)
					}
				})
				dialect := grant.MySQL
				if f.isPostgres() {
					dialect = grant.Postgres
				}
				return grant.SQL(f.pool, dialect, grant.WithTable(table))
			})
		})
	}
}
