package main

import (
	"bytes"
	"encoding/json"
	"errors"
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
			loss := grant.Loss{Number: 5, Holder: "web-9#0123", From: 1000, Until: 2000}
			if err := store.Record(t.Context(), "orders", loss); err != nil {
				t.Fatal(err)
			}
			if _, err := database.Open(t).ExecContext(t.Context(), "DELETE FROM snowkey_nodes WHERE space = 'default' AND node = 1"); err != nil {
				t.Fatal(err)
			}
			status, table, stderr := nodes()
			if status != 0 || stderr != "" {
				t.Fatalf("got status %d and %q", status, stderr)
			}
			for _, want := range []string{
				"space default, 1 of 1024 held at ", "layout " + idgen.Snowkey.String(), "0     held   20", "  web-1\n",
				"\ntable " + store.Place() + "\n", "\nidentity " + keepers[0].State().ID + "\n", "\nrows are gone: numbers without a row count as held until 20",
				"space orders, 1 of 1024 held at ", "Z, 0 given back, 1 ended\n", "99    ended  2010-11-04T01:42:54.658Z  2010-11-04T01:42:54.659Z  crashed\n",
				"5     lost   2010-11-04T01:42:55.657Z  2010-11-04T01:42:56.657Z  web-9\n", "snowkey nodes doubt",
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
			got := map[string]int{} // lines of each kind, and state
			for line := range strings.Lines(lines) {
				var node nodeLine
				var space spaceLine
				if err := errors.Join(json.Unmarshal([]byte(line), &node), json.Unmarshal([]byte(line), &space)); err != nil {
					t.Fatal(err)
				}
				got[strings.TrimSpace(node.Kind+" "+node.State)]++
				if node.Now == "" || node.Layout == "" || node.Table != store.Place() || node.Kind != "space" && (node.From == "" || node.Until == "") {
					t.Errorf("got %+v, want all of it", node)
				}
				if node.Kind == "space" && node.Space == "default" && (space.ID != keepers[0].State().ID || space.Held != 1 || space.Mark == "" || space.Numbers != 1024) {
					t.Errorf("got %+v", space)
				}
				if node.Kind == "space" && node.Space == "orders" && (space.ID != keepers[2].State().ID || space.Ended != 1 || space.Mark != "" || space.Losses != 1) {
					t.Errorf("got %+v", space)
				}
			}
			if want := map[string]int{"space": 2, "node held": 2, "node ended": 1, "loss lost": 1}; !maps.Equal(got, want) {
				t.Errorf("got the lines %v, want %v", got, want)
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

// A space in two tables is listed from both, and fails.
func TestNodesTwoTables(t *testing.T) {
	for name, make := range map[string]func(testing.TB) dbtest.Database{"mysql": dbtest.MySQL, "postgres": dbtest.Postgres} {
		t.Run(name, func(t *testing.T) {
			database := make(t)
			pool := database.Open(t)
			dialect, err := grant.LookupDialect(name)
			if err != nil {
				t.Fatal(err)
			}
			second, statement := "second", "CREATE SCHEMA second"
			if name == "mysql" {
				if err := pool.QueryRowContext(t.Context(), "SELECT CONCAT(DATABASE(), '_2')").Scan(&second); err != nil {
					t.Fatal(err)
				}
				statement = "CREATE DATABASE " + second
				t.Cleanup(func() {
					if _, err := pool.Exec("DROP DATABASE " + second); err != nil {
						t.Error(err)
					}
				})
			}
			store := grant.SQL(pool, dialect)
			for _, space := range []string{"carts", "orders"} {
				if _, err := store.Prepare(t.Context(), space, idgen.Snowkey.String()); err != nil {
					t.Fatal(err)
				}
			}
			ddl, err := grant.DDL(dialect, second+".snowkey_nodes")
			if err != nil {
				t.Fatal(err)
			}
			for _, statement := range []string{statement, ddl, "INSERT INTO " + second + ".snowkey_nodes SELECT * FROM snowkey_nodes WHERE space = 'orders'"} {
				if _, err := pool.ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			places := []string{store.Place(), strings.Replace(store.Place(), "public.", "second.", 1)}
			if name == "mysql" {
				places[1] = second + ".snowkey_nodes"
			}
			for _, command := range [][]string{{"nodes"}, {"nodes", "--json"}, {"nodes", "doubt"}} {
				var out, errOut bytes.Buffer
				status := run(t.Context(), append(command, "--db", database.DSN), nil, &out, &errOut)
				if status != 1 || !strings.Contains(errOut.String(), "two tables") || !strings.Contains(errOut.String(), places[0]) || !strings.Contains(errOut.String(), places[1]) {
					t.Errorf("%q: got status %d and %q, want both of %q", command, status, &errOut, places)
				}
				if len(command) == 1 {
					for what, want := range map[string]int{"space carts": 1, "space orders": 2, "table " + places[0] + "\n": 2, "table " + places[1] + "\n": 1} {
						if got := strings.Count(out.String(), what); got != want {
							t.Errorf("got %q %d times, want %d, in\n%s", what, got, want, &out)
						}
					}
				}
			}
			var out, errOut bytes.Buffer
			if status := run(t.Context(), []string{"nodes", "--db", database.DSN, "--space", "carts"}, nil, &out, &errOut); status != 0 {
				t.Errorf("a space in one table: got status %d and %q", status, &errOut)
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
			k, err := grant.Open(t.Context(), grant.SQL(pool, dialect, grant.WithTable("numbers")), grant.Config{})
			if err != nil {
				t.Fatal(err)
			}
			if err := k.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
