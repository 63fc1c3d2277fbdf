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

// forms are the ways to divide a table; each gives all its statements.
var forms = map[string]func(ddl.Table, map[string]ddl.Server) ([]string, error){
	"MySQL":        func(t ddl.Table, _ map[string]ddl.Server) ([]string, error) { return t.MySQL() },
	"PostgresHash": func(t ddl.Table, _ map[string]ddl.Server) ([]string, error) { return t.PostgresHash() },
	"PostgresList": func(t ddl.Table, _ map[string]ddl.Server) ([]string, error) { return t.PostgresList() },
	"Spider":       func(t ddl.Table, s map[string]ddl.Server) ([]string, error) { return all(t.Spider(s)) },
	"Foreign":      func(t ddl.Table, s map[string]ddl.Server) ([]string, error) { return all(t.Foreign(s)) },
}

func all(f *ddl.Fleet, err error) ([]string, error) {
	if err != nil {
		return nil, err
	}
	statements := slices.Concat(f.Install, f.Servers, f.Table)
	for _, s := range f.Remote {
		statements = append(statements, s...)
	}
	return statements, nil
}

const secret = "h'u\\nter2"

func TestRefuses(t *testing.T) {
	here := newMap(t, idgen.Sharded.Layout, shard.Tables(2)...)
	far := newMap(t, idgen.Sharded.Layout, shard.Shard{Name: "a", Database: "x", Suffix: "_a"}, shard.Shard{Name: "b", Database: "x", Suffix: "_b"})
	mixed := newMap(t, idgen.Sharded.Layout, shard.Shard{Name: "a", Database: "x", Suffix: "_a"}, shard.Shard{Name: "b", Suffix: "_b"})
	dashed := newMap(t, idgen.Sharded.Layout, shard.Shard{Name: "a", Database: "x-1", Suffix: "_a"})
	bare := newMap(t, idgen.Sharded.Layout, shard.Shard{Name: "a"}, shard.Shard{Name: "b", Suffix: "_b"})
	old, err := here.WithLegacy(shard.Legacy{Below: 5, Shard: "00"})
	if err != nil {
		t.Fatal(err)
	}
	good := ddl.Server{Database: "d", User: "u", Password: secret}
	servers := map[string]ddl.Server{"x": good, "x-1": good}
	local, remote, postgres, every := "MySQL PostgresHash PostgresList", "Spider Foreign", "PostgresHash PostgresList Foreign", "MySQL PostgresHash PostgresList Spider Foreign"
	for _, test := range []struct {
		name, forms string
		change      func(*ddl.Table, map[string]ddl.Server)
		want        error
	}{
		{"nothing", local, func(tb *ddl.Table, _ map[string]ddl.Server) { tb.Map = here }, nil},
		{"nothing", remote, func(*ddl.Table, map[string]ddl.Server) {}, nil},
		{"no name", every, func(tb *ddl.Table, _ map[string]ddl.Server) { tb.Name = "" }, ddl.ErrTable},
		{"three names", every, func(tb *ddl.Table, _ map[string]ddl.Server) { tb.Name = "a.b.c" }, ddl.ErrTable},
		{"no key", every, func(tb *ddl.Table, _ map[string]ddl.Server) { tb.Key = "" }, ddl.ErrTable},
		{"zero byte", every, func(tb *ddl.Table, _ map[string]ddl.Server) { tb.Key = "i\x00d" }, ddl.ErrTable},
		{"no columns", every, func(tb *ddl.Table, _ map[string]ddl.Server) { tb.Columns = " \n" }, ddl.ErrTable},
		{"no map", every, func(tb *ddl.Table, _ map[string]ddl.Server) { tb.Map = nil }, shard.ErrMap},
		{"zero map", every, func(tb *ddl.Table, _ map[string]ddl.Server) { tb.Map = &shard.Map{} }, shard.ErrMap},
		{"rows from before", every, func(tb *ddl.Table, _ map[string]ddl.Server) { tb.Map = old }, shard.ErrMap},
		{"long name", "MySQL", func(tb *ddl.Table, _ map[string]ddl.Server) { tb.Map, tb.Name = here, strings.Repeat("é", 33) }, ddl.ErrTable},
		{"name that is cut off", local, func(tb *ddl.Table, _ map[string]ddl.Server) { tb.Map, tb.Name = here, strings.Repeat("x", 65) }, ddl.ErrTable},
		{"partition's name that is cut off", postgres, func(tb *ddl.Table, _ map[string]ddl.Server) { tb.Name = strings.Repeat("x", 62) }, ddl.ErrTable},
		{"partition named as the table", "PostgresHash PostgresList", func(tb *ddl.Table, _ map[string]ddl.Server) { tb.Map = bare }, ddl.ErrTable},
		{"other database", local, func(*ddl.Table, map[string]ddl.Server) {}, shard.ErrMap},
		{"no database", "Spider", func(tb *ddl.Table, _ map[string]ddl.Server) { tb.Map = mixed }, shard.ErrMap},
		{"no server", remote, func(_ *ddl.Table, s map[string]ddl.Server) { clear(s) }, shard.ErrMap},
		{"no user", remote, func(_ *ddl.Table, s map[string]ddl.Server) { s["x"] = ddl.Server{Database: "d", Password: secret} }, ddl.ErrTable},
		{"port", remote, func(_ *ddl.Table, s map[string]ddl.Server) {
			s["x"] = ddl.Server{Database: "d", User: "u", Port: 65536, Password: secret}
		}, ddl.ErrTable},
		{"zero byte in the password", remote, func(_ *ddl.Table, s map[string]ddl.Server) {
			s["x"] = ddl.Server{Database: "d", User: "u", Password: secret + "\x00"}
		}, ddl.ErrTable},
		{"server with a dash", "Spider", func(tb *ddl.Table, _ map[string]ddl.Server) { tb.Map = dashed }, ddl.ErrTable},
		{"table with a space", "Spider", func(tb *ddl.Table, _ map[string]ddl.Server) { tb.Name = `"a b"` }, ddl.ErrTable},
		{"table with a quote", "Spider", func(tb *ddl.Table, _ map[string]ddl.Server) { tb.Name = `"a'b"` }, ddl.ErrTable},
	} {
		for form := range strings.FieldsSeq(test.forms) {
			t.Run(test.name+"/"+form, func(t *testing.T) {
				table := ddl.Table{Name: "orders", Key: "id", Columns: "id BIGINT", Map: far}
				at := maps.Clone(servers)
				test.change(&table, at)
				statements, err := forms[form](table, at)
				if !errors.Is(err, test.want) || (err == nil) != (len(statements) > 0) {
					t.Errorf("got %d statements and the error %v, want the error %v", len(statements), err, test.want)
				}
				if err != nil && strings.Contains(err.Error(), secret) {
					t.Errorf("the error has the password: %v", err)
				}
			})
		}
	}
}

// TestPassword looks for it where it has to be, and where it may not be.
func TestPassword(t *testing.T) {
	s := ddl.Server{Host: "h", Port: 3307, Database: "d", User: "u", Password: secret}
	for _, form := range []string{"%v", "%+v", "%#v", "%s"} {
		for _, value := range []any{s, &s, []ddl.Server{s}, map[string]ddl.Server{"x": s}} {
			if got := fmt.Sprintf(form, value); strings.Contains(got, "ter2") || !strings.Contains(got, "u@h:3307/d") && !strings.Contains(got, "0x") {
				t.Errorf("%s prints %s", form, got)
			}
		}
	}
	m := newMap(t, idgen.Sharded.Layout, shard.Shard{Name: "a", Database: "x", Suffix: "_a"})
	table := ddl.Table{Name: "orders", Key: "id", Columns: "id BIGINT", Map: m}
	for name, fleetOf := range map[string]func(map[string]ddl.Server) (*ddl.Fleet, error){"Spider": table.Spider, "Foreign": table.Foreign} {
		fleet, err := fleetOf(map[string]ddl.Server{"x": s})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strings.Join(fleet.Servers, "\n"), `h''u\\nter2'`) {
			t.Errorf("%s: the servers' statements are without the password: %q", name, fleet.Servers)
		}
		fleet.Servers = nil
		if rest, _ := all(fleet, nil); strings.Contains(strings.Join(rest, "\n"), "ter2") {
			t.Errorf("%s: other statements have the password: %q", name, rest)
		}
	}
}

// TestNarrowLayout refuses numbers that are greater than all ids of the layout.
func TestNarrowLayout(t *testing.T) {
	layout, err := idgen.NewLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), 10*time.Millisecond,
		idgen.Time.Bits(38), idgen.Shard.Bits(4), idgen.Node.Bits(5), idgen.Sequence.Bits(6))
	if err != nil {
		t.Fatal(err)
	}
	table := ddl.Table{Name: "orders", Key: "id", Columns: "id BIGINT", Map: newMap(t, layout, shard.Tables(2)...)}
	for _, form := range []string{"MySQL", "PostgresHash", "PostgresList"} {
		statements, err := forms[form](table, nil)
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(statements, "\n"); !strings.Contains(text, "BETWEEN 0 AND 9007199254740991)") || !strings.Contains(text, "DIV 2048) MOD 16") && !strings.Contains(text, ">> 11) & 15") {
			t.Errorf("%s: got %s", form, text)
		}
	}
}
