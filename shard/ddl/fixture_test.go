package ddl_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dsn"
	"github.com/snowkey-go/snowkey/shard"
	"github.com/snowkey-go/snowkey/shard/ddl"
)

// fixture is a database whose tables an engine divides.
type fixture struct {
	engine  ddl.Engine
	preset  idgen.Preset
	db      *gorm.DB
	pool    *sql.DB            // of the head
	admin   *sql.DB            // who may install what the head needs
	remote  map[string]*sql.DB // by the server's name
	servers []ddl.Server
	// named says that a condition on the ids leads to no shard by itself, so that a statement has to name the partition. See doc.go.
	named bool
	blind bool // nothing says which parts of a table a statement reads
}

// starts has what it takes to run an engine: each function returns one that makes a fresh database.
var starts = map[ddl.Engine]func(t testing.TB) func(t testing.TB) *fixture{
	ddl.MySQL: func(testing.TB) func(testing.TB) *fixture {
		return func(t testing.TB) *fixture { return open(t, dbtest.MySQL(t)) }
	},
	ddl.PostgresRange: local,
	ddl.PostgresHash:  superuser,
	ddl.PostgresList:  local,
	ddl.Spider:        startSpider,
	ddl.PostgresFDW:   startFDW,
}

func local(testing.TB) func(testing.TB) *fixture {
	return func(t testing.TB) *fixture { return open(t, dbtest.Postgres(t)) }
}

// superuser is local for the engine that has an operator class.
func superuser(t testing.TB) func(testing.TB) *fixture {
	if rows(t, dbtest.Postgres(t).Open(t), "SHOW is_superuser")[0] != "on" {
		t.Skip("the user of SNOWKEY_TEST_POSTGRES is no superuser, and makes no operator class")
	}
	return local(t)
}

// open opens a database.
func open(t testing.TB, database dbtest.Database) *fixture {
	t.Helper()
	parsed, err := dsn.Parse(database.DSN)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{pool: database.Open(t), admin: database.Admin().Open(t)}
	if f.db, err = gorm.Open(parsed.Dialector(f.pool), &gorm.Config{Logger: logger.Discard}); err != nil {
		t.Fatal(err)
	}
	return f
}

// startSpider starts a head and two servers, the users on which have names and passwords that need quoting.
func startSpider(t testing.TB) func(t testing.TB) *fixture {
	head := dbtest.StartMySQL(t)
	remote := map[string]*dbtest.Server{"east": dbtest.StartMySQL(t, "--log-output=TABLE", "--general-log=1"), "West_2": dbtest.StartMySQL(t, "--log-output=TABLE", "--general-log=1")}
	return func(t testing.TB) *fixture {
		f := open(t, head.Database(t))
		dbtest.RequirePlugin(t, f.admin, "ha_spider.so", "mariadb-plugin-spider")
		f.remote = map[string]*sql.DB{}
		for _, name := range []string{"east", "West_2"} {
			database := remote[name].Database(t)
			config, err := mysql.ParseDSN(database.DriverDSN)
			if err != nil {
				t.Fatal(err)
			}
			f.remote[name] = database.Admin().Open(t) // who may read the server's log
			run(t, f.remote[name], "CREATE OR REPLACE USER `s'p\"i\\d``er`@localhost IDENTIFIED BY 'p''a\\\\ss\"; --'", "GRANT ALL ON `"+config.DBName+"`.* TO `s'p\"i\\d``er`@localhost")
			run(t, f.admin, fmt.Sprintf("DROP SERVER IF EXISTS `%s`", name)) // of the fixture before
			f.servers = append(f.servers, ddl.Server{Name: name, Socket: config.Addr, Database: config.DBName, User: "s'p\"i\\d`er", Password: `p'a\ss"; --`})
		}
		return f
	}
}

// startFDW starts a head and two servers.
func startFDW(t testing.TB) func(t testing.TB) *fixture {
	head := dbtest.StartPostgres(t)
	remote := map[string]*dbtest.Server{"east": dbtest.StartPostgres(t), "we'st": dbtest.StartPostgres(t)}
	return func(t testing.TB) *fixture {
		f := open(t, head.Database(t))
		f.remote = map[string]*sql.DB{}
		for _, name := range []string{"east", "we'st"} {
			database := remote[name].Database(t)
			at, err := url.Parse(database.DSN)
			if err != nil {
				t.Fatal(err)
			}
			server := ddl.Server{
				Name: name, Host: at.Query().Get("host"), Port: 5432, Database: strings.TrimPrefix(at.Path, "/"), Schema: "F s", Password: `p'a\ss"`,
			}
			server.User = server.Database + `'\n`
			f.remote[name] = database.Open(t)
			f.remote[name].SetMaxOpenConns(1) // all statements are of the role
			role := `"` + server.User + `"`
			run(t, f.remote[name], `CREATE ROLE `+role+` LOGIN PASSWORD E'p''a\\ss"'`, `CREATE SCHEMA "F s" AUTHORIZATION `+role, `SET ROLE `+role)
			f.servers = append(f.servers, server)
		}
		return f
	}
}

// table returns a table of the fixture.
func (f *fixture) table(name, columns string, shards int) ddl.Table {
	return ddl.Table{Name: name, Key: "id", ShardingKey: "user_id", Columns: columns, Layout: f.preset.Layout, Shards: shards, Servers: f.servers}
}

// apply runs a script, that of the head's table in one session.
func (f *fixture) apply(t testing.TB, s *ddl.Script) {
	t.Helper()
	f.elsewhere(t, s.Remote)
	run(t, f.admin, slices.Concat(s.Install, s.Servers)...)
	head, err := f.pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer head.Close()
	run(t, head, s.Table...)
	f.elsewhere(t, s.After)
}

func (f *fixture) elsewhere(t testing.TB, statements map[string][]string) {
	t.Helper()
	for name, of := range statements {
		run(t, f.remote[name], of...)
	}
}

func (f *fixture) isPostgres() bool { return f.db.Name() == "postgres" }

// reads returns which partitions of which tables a query reads, from the plan of the server, in the order of the text "table:partition".
func (f *fixture) reads(t testing.TB, query string) []string {
	t.Helper()
	found := map[string]bool{}
	if f.isPostgres() {
		var plan any
		if err := json.Unmarshal([]byte(rows(t, f.pool, "EXPLAIN (FORMAT JSON) "+query)[0]), &plan); err != nil {
			t.Fatal(err)
		}
		walk(plan, found)
	} else {
		explain := "EXPLAIN PARTITIONS "
		if !strings.Contains(rows(t, f.pool, "SELECT VERSION()")[0], "MariaDB") { // which has them in every EXPLAIN
			explain = "EXPLAIN FORMAT=TRADITIONAL "
		}
		session, err := f.pool.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		if f.engine == ddl.Spider { // which hands a query for one partition over as a whole, and EXPLAIN then names no table
			run(t, session, "SET spider_disable_group_by_handler = 1")
		}
		for _, row := range rows(t, session, explain+query) {
			columns := strings.Split(row, "|")
			for p := range strings.SplitSeq(columns[3], ",") {
				found[columns[2]+":"+p] = true
			}
		}
	}
	var all []string
	for name := range found {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// pushed finds the tables of a join that another server does.
var pushed = regexp.MustCompile(`\((\w+)_(\w+) \w+\)`)

// walk collects the tables of a plan.
func walk(plan any, found map[string]bool) {
	switch node := plan.(type) {
	case []any:
		for _, n := range node {
			walk(n, found)
		}
	case map[string]any:
		if name, ok := node["Relation Name"].(string); ok {
			table, partition, _ := cutLast(name)
			found[table+":"+partition] = true
		}
		if text, ok := node["Relations"].(string); ok {
			for _, m := range pushed.FindAllStringSubmatch(text, -1) {
				found[m[1]+":"+m[2]] = true
			}
		}
		for _, n := range node {
			walk(n, found)
		}
	}
}

func cutLast(name string) (before, after string, found bool) {
	i := strings.LastIndexByte(name, '_')
	if i < 0 {
		return name, "", false
	}
	return name[:i], name[i+1:], true
}

// place returns what reads says of the shard with a bucket.
func place(t testing.TB, table ddl.Table, engine ddl.Engine, bucket int64) string {
	t.Helper()
	name, err := table.Partition(engine, bucket)
	if err != nil {
		t.Fatal(err)
	}
	return table.Name + ":" + strings.TrimPrefix(name, table.Name+"_")
}

// from returns what a statement has after FROM for the shard of a bucket alone.
func from(t testing.TB, table ddl.Table, engine ddl.Engine, bucket int64) string {
	t.Helper()
	name, err := table.Partition(engine, bucket)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(name, table.Name+"_") {
		return name + " AS " + table.Name
	}
	return table.Name + " PARTITION (" + name + ") AS " + table.Name
}

func bucketOf(t testing.TB, layout idgen.Layout, key any) int64 {
	t.Helper()
	bucket, err := shard.Bucket(layout, key)
	if err != nil {
		t.Fatal(err)
	}
	return bucket
}

// bucketIn returns the bucket of an id.
func bucketIn(t testing.TB, layout idgen.Layout, id int64) int64 {
	t.Helper()
	parts, err := layout.Decode(id)
	if err != nil {
		t.Fatal(err)
	}
	return parts.Shard
}

func run(t testing.TB, db interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// refused fails the test unless the statement fails with an error that has one of the texts.
func refused(t testing.TB, db *sql.DB, statement string, texts ...string) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), statement)
	if err == nil || !slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(err.Error(), text) }) {
		t.Errorf("%s: got the error %v, want one with %q", statement, err, texts)
	}
}

// rows returns the rows of a query, the columns of each joined.
func rows(t testing.TB, db interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}, query string, args ...any) []string {
	t.Helper()
	r, err := db.QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer r.Close()
	columns, err := r.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for r.Next() {
		values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := r.Scan(into...); err != nil {
			t.Fatal(err)
		}
		texts := make([]string, len(values))
		for i, v := range values {
			texts[i] = v.String
		}
		all = append(all, strings.Join(texts, "|"))
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
