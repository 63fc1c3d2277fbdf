package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// The listing shows numbers that are held, free and ended, of each space; and nothing is written by it.
func TestNodes(t *testing.T) {
	for name, make := range map[string]func(testing.TB) dbtest.Database{"sqlite": dbtest.SQLite, "mysql": dbtest.MySQL, "postgres": dbtest.Postgres} {
		t.Run(name, func(t *testing.T) {
			database := make(t)
			dialect, err := grant.LookupDialect(name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := database.Open(t).ExecContext(t.Context(), "CREATE TABLE other (a int)"); err != nil { // a file too
				t.Fatal(err)
			}
			nodes := func(args ...string) (status int, stdout, stderr string) {
				var out, errOut bytes.Buffer
				status = run(t.Context(), append([]string{"nodes", "--db", database.DSN}, args...), nil, &out, &errOut)
				return status, out.String(), errOut.String()
			}
			status, _, stderr := nodes()
			if status != 1 || !strings.Contains(stderr, "CREATE TABLE IF NOT EXISTS") {
				t.Errorf("without a table: got status %d and %q, want the statement that makes it", status, stderr)
			}
			store := grant.SQL(database.Open(t), dialect)
			var keepers []*grant.Keeper
			for _, config := range []grant.Config{{Name: "web-1"}, {Name: "web-2"}, {Name: "web-3", Space: "orders", Generator: []idgen.Option{idgen.Twitter}}} {
				k, err := grant.Open(t.Context(), store, config)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = k.Close() }) // once more
				keepers = append(keepers, k)
			}
			if err := keepers[1].Close(); err != nil {
				t.Fatal(err)
			}
			absent := grant.Row{Number: 99, Holder: grant.Absent}
			if done, err := store.Swap(t.Context(), "orders", absent, grant.Row{Number: 99, Holder: "crashed#1", From: 1, Until: 2}); err != nil || !done {
				t.Fatal(done, err)
			}
			status, table, stderr := nodes()
			if status != 0 || stderr != "" {
				t.Fatalf("got status %d and %q", status, stderr)
			}
			for _, want := range []string{
				"space default, 1 of 1024 held at ", "layout " + idgen.Snowkey.String(), "0     held   20", "1     free   20", "  web-1\n",
				"space orders, 1 of 1024 held at ", "99    ended  2010-11-04T01:42:54.658Z  2010-11-04T01:42:54.659Z  crashed\n",
			} {
				if !strings.Contains(table, want) {
					t.Errorf("%q is missing in\n%s", want, table)
				}
			}
			if status, table, _ = nodes("--space", "orders"); status != 0 || strings.Contains(table, "default") {
				t.Errorf("got status %d and\n%s", status, table)
			}
			if status, _, stderr = nodes("--space", "nosuch"); status != 1 || !strings.Contains(stderr, `there are ["default" "orders"]`) {
				t.Errorf("got status %d and %q", status, stderr)
			}
			_, lines, _ := nodes("--json")
			states := map[string]int{}
			for line := range strings.Lines(lines) {
				var got nodeLine
				if err := json.Unmarshal([]byte(line), &got); err != nil {
					t.Fatal(err)
				}
				states[got.State]++
				if got.Now == "" || got.From == "" || got.Until == "" || got.Layout == "" {
					t.Errorf("got %+v, want all of it", got)
				}
			}
			if states["held"] != 2 || states["free"] != 1 || states["ended"] != 1 {
				t.Errorf("got the states %v", states)
			}
		})
	}
}

// A space whose name is not valid is shown with its error, and the others are listed.
func TestNodesBadSpace(t *testing.T) {
	for name, make := range map[string]func(testing.TB) dbtest.Database{"sqlite": dbtest.SQLite, "mysql": dbtest.MySQL, "postgres": dbtest.Postgres} {
		t.Run(name, func(t *testing.T) {
			database := make(t)
			pool := database.Open(t)
			dialect, err := grant.LookupDialect(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, space := range []string{"carts", "orders"} {
				k, err := grant.Open(t.Context(), grant.SQL(pool, dialect), grant.Config{Name: "web-1", Space: space})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = k.Close() })
			}
			row := "INSERT INTO snowkey_nodes (space, node, holder, from_tick, until_tick, layout) VALUES ('name bad!', -1, '', 0, 0, 'none')"
			if _, err := pool.ExecContext(t.Context(), row); err != nil {
				t.Fatal(err)
			}
			nodes := func(args ...string) (stdout string) {
				t.Helper()
				var out, errOut bytes.Buffer
				status := run(t.Context(), append([]string{"nodes", "--db", database.DSN}, args...), nil, &out, &errOut)
				if status != 1 || !strings.Contains(errOut.String(), `space "name bad!"`) {
					t.Errorf("%q: got status %d and %q, want 1 and the space", args, status, &errOut)
				}
				return out.String()
			}
			table := nodes()
			for _, want := range []string{"space carts, 1 of 1024 held at ", "space orders, 1 of 1024 held at ", `space "name bad!" cannot be listed: `} {
				if !strings.Contains(table, want) {
					t.Errorf("%q is missing in\n%s", want, table)
				}
			}
			found := map[string]bool{} // whether a space has an error
			for line := range strings.Lines(nodes("--json")) {
				var got spaceError
				if err := json.Unmarshal([]byte(line), &got); err != nil {
					t.Fatal(err)
				}
				found[got.Space] = got.Error != ""
			}
			if want := map[string]bool{"carts": false, "name bad!": true, "orders": false}; !maps.Equal(found, want) {
				t.Errorf("got the errors %v, want %v", found, want)
			}
			if got := nodes("--space", "name bad!"); strings.Contains(got, "held") || !strings.Contains(got, "cannot be listed") {
				t.Errorf("got\n%s", got)
			}
		})
	}
}

// The statement that is printed makes a table that the store works with.
func TestNodesDDL(t *testing.T) {
	for name, make := range map[string]func(testing.TB) dbtest.Database{"sqlite": dbtest.SQLite, "mysql": dbtest.MySQL, "postgres": dbtest.Postgres} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if status := run(t.Context(), []string{"nodes", "ddl", "--dialect", name, "--table", "numbers"}, nil, &stdout, &stderr); status != 0 {
				t.Fatalf("got status %d: %s", status, &stderr)
			}
			pool := make(t).Open(t)
			if _, err := pool.ExecContext(t.Context(), stdout.String()); err != nil {
				t.Fatal(err)
			}
			dialect, err := grant.LookupDialect(name)
			if err != nil {
				t.Fatal(err)
			}
			k, err := grant.Open(t.Context(), grant.SQL(pool, dialect, grant.Table("numbers")), grant.Config{})
			if err != nil {
				t.Fatal(err)
			}
			if err := k.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
