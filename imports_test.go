package snowkey_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/snowkey-go/snowkey"

// What each package may depend on beside the standard library, itself or through others: packages, or whole trees ending in a slash.
// A package is not allowed what is not named here, and every package has to be.
var allowed = map[string][]string{
	"":                           {},
	"/idgen":                     {},
	"/idgen/grant":               own("/idgen", "/internal/dialect"),
	"/idgen/grant/redisgrant":    slices.Concat(own("/idgen", "/idgen/grant", "/internal/dialect"), []string{"github.com/redis/go-redis/v9", "github.com/redis/go-redis/v9/", "github.com/cespare/xxhash/v2", "github.com/dgryski/go-rendezvous"}),
	"/idgen/grant/etcdgrant":     slices.Concat(own("/idgen", "/idgen/grant", "/internal/dialect"), etcd),
	"/idgen/grant/zkgrant":       slices.Concat(own("/idgen", "/idgen/grant", "/internal/dialect"), []string{"github.com/go-zookeeper/zk"}),
	"/idgen/grant/granttest":     own("/idgen", "/idgen/grant", "/internal/dialect"),
	"/shard":                     own("/idgen"),
	"/shard/ddl":                 own("/idgen", "/shard", "/internal/dialect", "/internal/catalog", "/internal/table", "/internal/sqltoken"),
	"/shard/partition":           own("/idgen", "/internal/dialect", "/internal/catalog", "/internal/table", "/internal/sqltoken"),
	"/sqltype":                   slices.Concat(gormAlone, own("/idgen", "/internal/crockford")),
	"/sqltype/pgxtype":           slices.Concat(gormAlone, own("/idgen", "/sqltype", "/internal/crockford"), []string{"github.com/jackc/pgx/v5/pgtype", "github.com/jackc/pgx/v5/internal/"}),
	"/gormplugin":                slices.Concat(gormAlone, own("/idgen", "/idgen/grant", "/shard", "/internal/dialect", "/internal/filled", "/internal/table", "/internal/sqltoken", "/sqltype", "/internal/crockford", "/uid")),
	"/snowkeytest":               slices.Concat(gormAlone, own("/idgen", "/idgen/grant", "/shard", "/internal/dialect", "/internal/filled", "/internal/table", "/internal/sqltoken", "/sqltype", "/internal/crockford", "/uid", "/gormplugin")),
	"/migrate":                   migrating,
	"/migrate/check":             slices.Concat(migrating, own("/gormplugin", "/shard", "/sqltype", "/internal/crockford", "/uid", "/internal/filled")),
	"/migrate/inspect":           migrating,
	"/migrate/plan":              migrating,
	"/migrate/internal/journal":  own("/internal/dialect"),
	"/migrate/internal/mapping":  migrating,
	"/migrate/internal/verify":   migrating,
	"/migrate/internal/run":      migrating,
	"/migrate/internal/merge":    migrating,
	"/internal/migratetest":      migrating,
	"/compare":                   slices.Concat(strategies, measuring, drivers, own("/compare/strategy", "/compare/internal/database", "/compare/internal/verify", "/compare/internal/measure", "/compare/result", "/internal/dbserver"), []string{"golang.org/x/sys/"}),
	"/compare/strategy":          strategies,
	"/compare/internal/database": slices.Concat(gormAlone, drivers, statistics, own("/compare/result", "/internal/dsn", "/internal/dialect")),
	"/compare/internal/verify":   slices.Concat(strategies, statistics, own("/compare/result", "/compare/strategy")),
	"/compare/internal/measure":  slices.Concat(strategies, measuring, drivers, own("/compare/strategy", "/compare/internal/database", "/compare/result")),
	"/compare/result":            statistics,
	"/compare/report":            slices.Concat(statistics, own("/compare/result")),
	"/cmd/snowkey":               {"*"},
	"/examples/shop":             slices.Concat(gormAlone, drivers, own("/idgen", "/idgen/grant", "/shard", "/internal/dialect", "/internal/filled", "/internal/table", "/internal/sqltoken", "/sqltype", "/internal/crockford", "/uid", "/gormplugin")),
	"/uid":                       own("/idgen"),
	"/publicid":                  own("/idgen", "/internal/crockford"),
	"/ticket":                    own("/idgen", "/idgen/grant", "/internal/dialect"),
	"/internal/storeblocks":      own("/idgen", "/idgen/grant", "/internal/dialect", "/internal/testprocess", "/ticket"),
	"/monitor":                   monitoring,
	"/monitor/otelmeter":         slices.Concat(monitoring, own("/monitor"), []string{"go.opentelemetry.io/otel/", "github.com/cespare/xxhash/v2"}),
	"/monitor/promcollector":     slices.Concat(monitoring, own("/monitor"), prometheus),
	"/internal/crockford":        {},
	"/internal/dialect":          {},
	"/internal/catalog":          own("/internal/dialect", "/internal/table", "/internal/sqltoken"),
	"/internal/filled":           slices.Concat(gormAlone, own("/idgen")),
	"/internal/table":            own("/internal/dialect", "/internal/sqltoken"),
	"/internal/sqltoken":         {},
	"/internal/nextid":           own("/idgen", "/idgen/grant", "/internal/dialect"),
	"/internal/dsn":              slices.Concat(gormAlone, drivers),
	"/internal/dbserver":         servers,
	"/internal/gormsuite":        {},
	"/internal/testprocess":      {},
	"/internal/dbtest":           slices.Concat(drivers, own("/internal/dbserver", "/internal/testprocess"), []string{"golang.org/x/sys/"}),

	"/cmd/snowkey/internal/serve": slices.Concat(monitoring, prometheus, own("/monitor", "/monitor/promcollector"), []string{"github.com/tidwall/"}),
}

var (
	// The steps of a migration depend on each other in the order of the list: journal, inspect, plan, mapping, verify, run, merge.
	migrating = slices.Concat(gormAlone, own("/idgen", "/idgen/grant", "/internal/dialect", "/internal/catalog", "/internal/table", "/internal/sqltoken", "/migrate/inspect", "/migrate/plan",
		"/migrate/internal/journal", "/migrate/internal/mapping", "/migrate/internal/verify", "/migrate/internal/run", "/migrate/internal/merge"))
	monitoring = slices.Concat(gormAlone, own("/idgen", "/idgen/grant", "/shard", "/internal/dialect", "/internal/filled", "/internal/table", "/internal/sqltoken", "/sqltype", "/internal/crockford", "/uid", "/gormplugin", "/ticket"))
	prometheus = []string{"github.com/prometheus/", "github.com/beorn7/perks/", "github.com/cespare/xxhash/v2", "github.com/munnerz/goautoneg", "google.golang.org/protobuf/", "go.yaml.in/yaml/v2", "golang.org/x/sys/"}
	etcd       = []string{
		"go.etcd.io/etcd/", "github.com/coreos/", "github.com/gogo/protobuf/", "github.com/golang/protobuf/", "github.com/grpc-ecosystem/", "go.uber.org/", "golang.org/x/net/", "golang.org/x/sys/",
		"golang.org/x/text/", "google.golang.org/",
	}
	gormAlone  = []string{"gorm.io/gorm", "gorm.io/gorm/", "github.com/jinzhu/", "golang.org/x/text/"}
	strategies = slices.Concat(gormAlone, own("/idgen", "/idgen/grant", "/shard", "/sqltype", "/internal/crockford", "/uid", "/publicid", "/gormplugin", "/ticket", "/internal/dialect", "/internal/filled", "/internal/table", "/internal/sqltoken"), []string{"github.com/google/uuid"})
	statistics = []string{"github.com/aclements/go-moremath/", "github.com/santhosh-tekuri/jsonschema/", "golang.org/x/text/"} // with the schema of results
	measuring  = slices.Concat(statistics, own("/internal/dsn"), []string{"golang.org/x/sync/"})
	servers    = []string{
		"github.com/go-sql-driver/mysql", "github.com/go-sql-driver/mysql/", "filippo.io/edwards25519", "filippo.io/edwards25519/",
		"github.com/jackc/", "golang.org/x/text/", "golang.org/x/sync/", "golang.org/x/sys/",
	}
	drivers = []string{
		"gorm.io/driver/", "github.com/mattn/go-sqlite3", "github.com/go-sql-driver/mysql", "github.com/go-sql-driver/mysql/", "filippo.io/edwards25519", "filippo.io/edwards25519/",
		"github.com/jackc/", "golang.org/x/text/", "golang.org/x/sync/",
	}
)

func own(packages ...string) []string {
	names := make([]string, len(packages))
	for i, p := range packages {
		names[i] = module + p
	}
	return names
}

// TestImportRules holds the packages to the one direction in which they may depend on each other.
func TestImportRules(t *testing.T) {
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Standard,Deps", "./...", "./compare/...", "./cmd/snowkey/...", "./idgen/grant/etcdgrant", "./idgen/grant/redisgrant", "./idgen/grant/zkgrant", "./monitor/otelmeter", "./monitor/promcollector")
	list.Env = append(os.Environ(), "GOWORK=auto") // all modules, whatever the tests are run with
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	type listed struct {
		ImportPath string
		Standard   bool
		Deps       []string
	}
	standard, packages := map[string]bool{}, []listed{}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		standard[p.ImportPath] = p.Standard
		if p.ImportPath == module || strings.HasPrefix(p.ImportPath, module+"/") {
			packages = append(packages, p)
		}
	}
	seen := map[string]bool{}
	for _, p := range packages {
		name := strings.TrimPrefix(p.ImportPath, module)
		rules, ok := allowed[name]
		if !ok {
			t.Errorf("%s has no rule here", p.ImportPath)
		}
		seen[name] = true
		for _, dep := range p.Deps {
			if standard[dep] || dep == "C" || strings.HasPrefix(dep, "runtime/") {
				continue
			}
			if !slices.ContainsFunc(rules, func(rule string) bool {
				return rule == "*" || rule == dep || strings.HasSuffix(rule, "/") && strings.HasPrefix(dep, rule)
			}) {
				t.Errorf("%s depends on %s", p.ImportPath, dep)
			}
		}
	}
	for name := range allowed {
		if !seen[name] {
			t.Errorf("%s is named here and does not exist", module+name)
		}
	}
}
