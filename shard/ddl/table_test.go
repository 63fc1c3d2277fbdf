package ddl_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/shard"
	"github.com/snowkey-go/snowkey/shard/ddl"
)

// all returns all statements of a script.
func all(s *ddl.Script) []string {
	if s == nil {
		return nil
	}
	statements := slices.Concat(s.Install, s.Servers, s.Table)
	for _, of := range []map[string][]string{s.Remote, s.After} {
		for _, name := range slices.Sorted(maps.Keys(of)) {
			statements = append(statements, of[name]...)
		}
	}
	return statements
}

const secret = "h'u\\nter2"

func TestRefuses(t *testing.T) {
	const every = "mysql spider postgres-range postgres-hash postgres-list postgres-fdw"
	const remote, postgres = "spider postgres-fdw", "postgres-range postgres-hash postgres-list postgres-fdw"
	wide := newLayout(t, time.Millisecond, idgen.Time.Bits(40), idgen.Sequence.Bits(4), idgen.Shard.Bits(17))
	for _, test := range []struct {
		name, engines string
		change        func(*ddl.Table)
		want          error
	}{
		{"nothing", every, func(*ddl.Table) {}, nil},
		{"no engine", "mssql", func(*ddl.Table) {}, ddl.ErrEngine},
		{"no name", every, func(tb *ddl.Table) { tb.Name = "" }, ddl.ErrTable},
		{"three names", every, func(tb *ddl.Table) { tb.Name = "a.b.c" }, ddl.ErrTable},
		{"no key", every, func(tb *ddl.Table) { tb.Key = "" }, ddl.ErrTable},
		{"zero byte", every, func(tb *ddl.Table) { tb.Key = "i\x00d" }, ddl.ErrTable},
		{"no columns", every, func(tb *ddl.Table) { tb.Columns = " \n" }, ddl.ErrTable},
		{"no layout", every, func(tb *ddl.Table) { tb.Layout = idgen.Layout{} }, shard.ErrLayout},
		{"no bucket in the layout", every, func(tb *ddl.Table) { tb.Layout = idgen.Snowkey.Layout }, shard.ErrLayout},
		{"bucket on top", "postgres-hash postgres-list", func(tb *ddl.Table) { tb.Layout = idgen.Scattered.Layout }, shard.ErrLayout},
		{"bucket below", "postgres-range", func(tb *ddl.Table) { tb.Layout = idgen.Sharded.Layout }, shard.ErrLayout},
		{"buckets that fill pages", "mysql spider postgres-list", func(tb *ddl.Table) { tb.Layout = wide }, shard.ErrLayout},
		{"buckets that fill pages", "postgres-hash postgres-fdw", func(tb *ddl.Table) { tb.Layout = wide }, nil},
		{"no shards", every, func(tb *ddl.Table) { tb.Shards = 0 }, shard.ErrTables},
		{"less than none", every, func(tb *ddl.Table) { tb.Shards = -4 }, shard.ErrTables},
		{"more shards than buckets", every, func(tb *ddl.Table) { tb.Shards = 1025 }, shard.ErrTables},
		{"more shards than there can be", "postgres-hash postgres-fdw", func(tb *ddl.Table) { tb.Layout, tb.Shards = wide, 8193 }, shard.ErrTables},
		{"shards with more buckets than a page has", "postgres-list", func(tb *ddl.Table) { tb.Shards = 1 }, shard.ErrTables},
		{"bucket that is none", every, func(tb *ddl.Table) { tb.Alone = []int64{1024} }, shard.ErrTables},
		{"bucket alone", "postgres-hash", func(tb *ddl.Table) { tb.Alone = []int64{5} }, ddl.ErrTable},
		{"bucket alone", "mysql spider postgres-range postgres-list", func(tb *ddl.Table) { tb.Alone = []int64{5, 5} }, nil},
		{"all buckets of a shard alone", "mysql spider postgres-list", func(tb *ddl.Table) { tb.Layout, tb.Shards, tb.Alone = idgen.Sharded.Layout, 1024, []int64{5} }, ddl.ErrTable},
		{"long name", "mysql spider", func(tb *ddl.Table) { tb.Name = strings.Repeat("é", 33) }, ddl.ErrTable},
		{"partition's name that is cut off", postgres, func(tb *ddl.Table) { tb.Name = strings.Repeat("x", 59) }, ddl.ErrTable},
		{"partition's name that just fits", "postgres-range postgres-hash postgres-list", func(tb *ddl.Table) { tb.Name = strings.Repeat("x", 58) }, nil},
		{"constraint's name that is cut off", remote, func(tb *ddl.Table) { tb.Name = strings.Repeat("x", 54) }, ddl.ErrTable},
		{"no server", remote, func(tb *ddl.Table) { tb.Servers = nil }, ddl.ErrTable},
		{"more servers than shards", remote, func(tb *ddl.Table) { tb.Shards = 1 }, ddl.ErrTable},
		{"servers of one name", remote, func(tb *ddl.Table) { tb.Servers[1].Name = "x" }, ddl.ErrTable},
		{"server without a name", remote, func(tb *ddl.Table) { tb.Servers[1].Name = "" }, ddl.ErrTable},
		{"no user", remote, func(tb *ddl.Table) { tb.Servers[1].User = "" }, ddl.ErrTable},
		{"no database", remote, func(tb *ddl.Table) { tb.Servers[1].Database = "" }, ddl.ErrTable},
		{"port", remote, func(tb *ddl.Table) { tb.Servers[1].Port = 65536 }, ddl.ErrTable},
		{"zero byte in the password", remote, func(tb *ddl.Table) { tb.Servers[1].Password += "\x00" }, ddl.ErrTable},
		{"server with a dash", "spider", func(tb *ddl.Table) { tb.Servers[1].Name = "x-1" }, ddl.ErrTable},
		{"table with a space", "spider", func(tb *ddl.Table) { tb.Name = `"a b"` }, ddl.ErrTable},
		{"table with a quote", "spider", func(tb *ddl.Table) { tb.Name = `"a'b"` }, ddl.ErrTable},
	} {
		for engine := range strings.FieldsSeq(test.engines) {
			t.Run(test.name+"/"+engine, func(t *testing.T) {
				table := ddl.Table{Name: "orders", Key: "id", Columns: "id BIGINT", Layout: layoutOf(ddl.Engine(engine)), Shards: 4}
				if strings.Contains(remote, engine) {
					table.Servers = []ddl.Server{{Name: "x", Database: "d", User: "u", Password: secret}, {Name: "y", Database: "d", User: "u", Password: secret}}
				}
				test.change(&table)
				script, err := table.Create(ddl.Engine(engine))
				if !errors.Is(err, test.want) || (err == nil) != (len(all(script)) > 0) {
					t.Errorf("got %d statements and the error %v, want the error %v", len(all(script)), err, test.want)
				}
				if err != nil && strings.Contains(err.Error(), "ter2") {
					t.Errorf("the error has the password: %v", err)
				}
				if _, grow := table.Grow(ddl.Engine(engine), table.Shards); !errors.Is(grow, test.want) {
					t.Errorf("Grow got the error %v, want %v", grow, test.want)
				}
			})
		}
	}
}

// layoutOf returns a layout that the engine can follow.
func layoutOf(engine ddl.Engine) idgen.Layout {
	if engine == ddl.PostgresHash || engine == ddl.PostgresList {
		return idgen.Sharded.Layout
	}
	return idgen.Scattered.Layout
}

func TestGrowRefuses(t *testing.T) {
	servers := []ddl.Server{{Name: "a", Database: "d", User: "u"}, {Name: "b", Database: "d", User: "u"}, {Name: "c", Database: "d", User: "u"}}
	for _, engine := range ddl.Engines() {
		table := ddl.Table{Name: "orders", Key: "id", ShardingKey: "user_id", Columns: "id BIGINT", Layout: layoutOf(engine), Shards: 4, Servers: servers}
		for _, shards := range []int{-4, 0, 2, 3, 6, 2048} {
			if got, err := table.Grow(engine, shards); !errors.Is(err, shard.ErrTables) {
				t.Errorf("%s from 4 to %d: got %v and the error %v, want ErrTables", engine, shards, got, err)
			}
		}
		_, err := table.Grow(engine, 8)
		if far := engine == ddl.Spider || engine == ddl.PostgresFDW; far != errors.Is(err, ddl.ErrTable) || !far && err != nil {
			t.Errorf("%s from 4 to 8 on 3 servers: got the error %v", engine, err)
		}
		table.Servers = servers[:2]
		if got, err := table.Grow(engine, 4); err != nil || len(all(got)) > 0 {
			t.Errorf("%s from 4 to 4: got %v and the error %v, want nothing to do", engine, got, err)
		}
	}
}

// TestPassword looks for it where it has to be, and where it may not be.
func TestPassword(t *testing.T) {
	s := ddl.Server{Name: "x", Host: "h", Port: 3307, Database: "d", User: "u", Password: secret}
	table := ddl.Table{Name: "orders", Key: "id", Columns: "id BIGINT", Layout: idgen.Scattered.Layout, Shards: 1, Servers: []ddl.Server{s}}
	for _, form := range []string{"%v", "%+v", "%#v", "%s"} {
		for _, value := range []any{s, &s, []ddl.Server{s}, map[string]ddl.Server{"x": s}, table} {
			if got := fmt.Sprintf(form, value); strings.Contains(got, "ter2") || !strings.Contains(got, "u@h:3307/d") && !strings.Contains(got, "0x") {
				t.Errorf("%s prints %s", form, got)
			}
		}
	}
	for _, engine := range []ddl.Engine{ddl.Spider, ddl.PostgresFDW} {
		script, err := table.Create(engine)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strings.Join(script.Servers, "\n"), `h''u\\nter2'`) {
			t.Errorf("%s: the servers' statements are without the password: %q", engine, script.Servers)
		}
		script.Servers = nil
		grown, err := table.Grow(engine, 2)
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(append(all(script), all(grown)...), "\n"); strings.Contains(text, "ter2") {
			t.Errorf("%s: other statements have the password: %q", engine, text)
		}
	}
}

func TestPartition(t *testing.T) {
	table := ddl.Table{Name: "shop.orders", Key: "id", Columns: "id BIGINT", Layout: idgen.Scattered.Layout, Shards: 4, Alone: []int64{300}}
	low := table
	low.Layout = idgen.Sharded.Layout
	for _, test := range []struct {
		table  ddl.Table
		engine ddl.Engine
		bucket int64
		want   string
	}{
		{table, ddl.MySQL, 0, "p0000"}, {table, ddl.MySQL, 255, "p0000"}, {table, ddl.MySQL, 256, "p0256"},
		{table, ddl.MySQL, 300, "p0300"}, {table, ddl.MySQL, 301, "p0301"}, {table, ddl.MySQL, 1023, "p0768"},
		{table, ddl.PostgresRange, 300, "orders_0300"}, {table, ddl.PostgresRange, 511, "orders_0301"},
		{low, ddl.MySQL, 7, "p0003"}, {low, ddl.MySQL, 300, "pb0300"}, {low, ddl.PostgresList, 304, "orders_0000"}, {low, ddl.PostgresList, 300, "orders_b0300"},
	} {
		if got, err := test.table.Partition(test.engine, test.bucket); err != nil || got != test.want {
			t.Errorf("%s, bucket %d: got %s and the error %v, want %s", test.engine, test.bucket, got, err, test.want)
		}
	}
	for _, bucket := range []int64{-1, 1024} {
		if got, err := table.Partition(ddl.MySQL, bucket); !errors.Is(err, shard.ErrTables) {
			t.Errorf("bucket %d: got %s and the error %v, want ErrTables", bucket, got, err)
		}
	}
	if _, err := table.Partition("mssql", 1); !errors.Is(err, ddl.ErrEngine) {
		t.Errorf("got the error %v, want ErrEngine", err)
	}
}
