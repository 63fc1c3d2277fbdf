package main

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// The findings are printed with the statements that mend them, which are run as they stand there; then nothing is found.
func TestCheck(t *testing.T) {
	for name, make := range map[string]func(testing.TB) dbtest.Database{"sqlite": dbtest.SQLite, "mysql": dbtest.MySQL, "postgres": dbtest.Postgres} {
		t.Run(name, func(t *testing.T) {
			database := make(t)
			pool := database.Open(t)
			execute := func(statements ...string) {
				t.Helper()
				for _, statement := range statements {
					if _, err := pool.ExecContext(t.Context(), statement); err != nil {
						t.Fatalf("%s: %v", statement, err)
					}
				}
			}
			check := func(args ...string) (status int, stdout, stderr string) {
				var out, errOut bytes.Buffer
				status = run(t.Context(), append([]string{"check", "--db", database.DSN}, args...), nil, &out, &errOut)
				return status, out.String(), errOut.String()
			}
			dialect, err := grant.LookupDialect(name)
			if err != nil {
				t.Fatal(err)
			}
			ddl, err := grant.DDL(dialect, "")
			if err != nil {
				t.Fatal(err)
			}
			key := map[string]string{
				"sqlite": "integer PRIMARY KEY AUTOINCREMENT", "mysql": "int AUTO_INCREMENT PRIMARY KEY", "postgres": "serial PRIMARY KEY",
			}[name]
			execute(ddl, "CREATE TABLE orders (id "+key+")", "CREATE TABLE line (order_id int, FOREIGN KEY (order_id) REFERENCES orders (id))", "CREATE TABLE pure (id integer NOT NULL UNIQUE)")
			if name == "sqlite" {
				execute("DROP TABLE line")
			}
			status, stdout, stderr := check("--table", "orders")
			if status != 1 || !strings.Contains(stderr, "1 table checked, ") || !strings.Contains(stdout, "orders, column id: auto-increment: it is ") {
				t.Fatalf("got status %d, %s and %s", status, stdout, stderr)
			}
			status, lines, stderr := check("--json")
			if want := map[string]string{"sqlite": "2 tables checked, 1 finding\n"}[name]; status != 1 || !strings.HasSuffix(stderr, want) {
				t.Errorf("got status %d, %s and %s", status, lines, stderr)
			}
			for line := range strings.Lines(lines) {
				var f gormplugin.Finding
				if err := json.Unmarshal([]byte(line), &f); err != nil || f.Text == "" || f.Kind == 0 || len(f.Mend) == 0 && f.Kind != gormplugin.NoPrimaryKey && name != "sqlite" {
					t.Errorf("got %+v, %v, want all of it", f, err)
				}
			}
			if name == "sqlite" {
				execute("DROP TABLE orders", "CREATE TABLE orders (id integer PRIMARY KEY)")
			}
			if strings.Contains(stdout, "(mended with orders, column id)") != (name == "mysql") {
				t.Errorf("got %s, want statements once", stdout)
			}
			for _, statement := range regexp.MustCompile(`(?m)^    (.*);$`).FindAllStringSubmatch(stdout, -1) {
				execute(statement[1])
			}
			status, stdout, stderr = check("--table", "orders")
			if status != 0 || stdout != "" || stderr != "1 table checked, nothing found\n" {
				t.Errorf("got status %d, %q and %q", status, stdout, stderr)
			}
			// Ids of Twitter's layout are from the future by that of snowkey.
			execute("INSERT INTO orders VALUES (1541815603606036480)")
			if status, stdout, _ = check("--table", "orders"); status != 1 || !strings.Contains(stdout, "future-key") {
				t.Errorf("got status %d and %q", status, stdout)
			}
			if status, stdout, _ = check("--table", "orders", "--layout", "twitter"); status != 0 {
				t.Errorf("got status %d and %q", status, stdout)
			}
			if status, stdout, _ = check("--table", "nosuch"); status != 1 || !strings.Contains(stdout, "nosuch: no-table: ") {
				t.Errorf("got status %d and %q", status, stdout)
			}
			if status, _, stderr = check("--table", "a..b"); status != 2 || !strings.Contains(stderr, "--table: gormplugin: not a table's name") {
				t.Errorf("got status %d and %q", status, stderr)
			}
			if status, _, stderr = check("--table", `"a`); status != 2 {
				t.Errorf("got status %d and %q", status, stderr)
			}
		})
	}
}
