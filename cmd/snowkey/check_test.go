package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/migrate/check"
)

// The findings are printed with the statements that fix them, which are run as they stand there; then nothing is found.
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
			command := func(args ...string) (status int, stdout, stderr string) {
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
			status, stdout, stderr := command("--table", "orders")
			if status != 1 || !strings.Contains(stderr, "1 table checked, ") || !strings.Contains(stdout, "orders, column id: auto-increment: it is ") {
				t.Fatalf("got status %d, %s and %s", status, stdout, stderr)
			}
			status, lines, stderr := command("--json")
			if want := map[string]string{"sqlite": "2 tables checked, 1 finding\n"}[name]; status != 1 || !strings.HasSuffix(stderr, want) {
				t.Errorf("got status %d, %s and %s", status, lines, stderr)
			}
			for line := range strings.Lines(lines) {
				var f check.Finding
				if err := json.Unmarshal([]byte(line), &f); err != nil || f.Text == "" || f.Kind == 0 || len(f.Fix) == 0 && f.Kind != check.NoPrimaryKey && name != "sqlite" {
					t.Errorf("got %+v, %v, want all of it", f, err)
				}
			}
			if name == "sqlite" {
				execute("DROP TABLE orders", "CREATE TABLE orders (id integer PRIMARY KEY)")
			}
			if strings.Contains(stdout, "(fixed with orders, column id)") != (name == "mysql") {
				t.Errorf("got %s, want statements once", stdout)
			}
			for _, statement := range regexp.MustCompile(`(?m)^    (.*);$`).FindAllStringSubmatch(stdout, -1) {
				execute(statement[1])
			}
			status, stdout, stderr = command("--table", "orders")
			if status != 0 || stdout != "" || stderr != "1 table checked, nothing found\n" {
				t.Errorf("got status %d, %q and %q", status, stdout, stderr)
			}
			// Ids of Twitter's layout are from the future by that of snowkey.
			execute("INSERT INTO orders VALUES (1541815603606036480)")
			if status, stdout, _ = command("--table", "orders"); status != 1 || !strings.Contains(stdout, "future-key") {
				t.Errorf("got status %d and %q", status, stdout)
			}
			if status, stdout, _ = command("--table", "orders", "--layout", "twitter"); status != 0 {
				t.Errorf("got status %d and %q", status, stdout)
			}
			if status, stdout, _ = command("--table", "nosuch"); status != 1 || !strings.Contains(stdout, "nosuch: no-table: ") {
				t.Errorf("got status %d and %q", status, stdout)
			}
			if status, _, stderr = command("--table", "a..b"); status != 2 || !strings.Contains(stderr, "--table: check: not a table's name") {
				t.Errorf("got status %d and %q", status, stderr)
			}
			if status, _, stderr = command("--table", `"a`); status != 2 {
				t.Errorf("got status %d and %q", status, stderr)
			}
		})
	}
}

// Half empty pages are told, and the exit status is 0.
func TestCheckHalfEmpty(t *testing.T) {
	database := dbtest.MySQL(t)
	pool := database.Open(t)
	for _, statement := range []string{
		"CREATE TABLE orders (id bigint PRIMARY KEY, note varchar(200))",
		"INSERT INTO orders SELECT seq, REPEAT('x', 200) FROM seq_1_to_80000 ORDER BY seq + 64 * RAND(1)",
		"ANALYZE TABLE orders",
	} {
		if _, err := pool.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	var stdout, stderr bytes.Buffer
	status := run(t.Context(), []string{"check", "--db", database.DSN}, nil, &stdout, &stderr)
	out := regexp.MustCompile(`[0-9]+ %`).ReplaceAllString(stdout.String(), "N %")
	if status != 0 || !strings.HasPrefix(out, "orders, column id: half-empty: its pages are N % full: a row has about ") || stderr.String() != "1 table checked, 1 finding, which harms no key\n" {
		t.Errorf("got status %d, %s and %s", status, out, stderr.String())
	}
}

// Who may not read a table is told which right is missing, and nothing of a table that is not to be seen.
func TestCheckWithoutRights(t *testing.T) {
	for name, make := range map[string]func(testing.TB) dbtest.Database{"mysql": dbtest.MySQL, "postgres": dbtest.Postgres} {
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
			user := fmt.Sprintf("limited%d", time.Now().UnixNano())
			execute("CREATE TABLE orders (id bigint PRIMARY KEY)", "CREATE TABLE hidden (id int PRIMARY KEY)")
			limited, denied := "", "permission denied"
			if name == "mysql" {
				execute("CREATE USER "+user, "GRANT INSERT ON orders TO "+user)
				limited, denied = "mysql:"+user+database.DSN[strings.Index(database.DSN, "@"):], "SELECT command denied"
			} else {
				execute("CREATE USER " + user)
				address, err := url.Parse(database.DSN)
				if err != nil {
					t.Fatal(err)
				}
				options := address.Query()
				options.Set("options", "-c role="+user)
				address.RawQuery = strings.ReplaceAll(options.Encode(), "+", "%20")
				limited = address.String()
			}
			t.Cleanup(func() {
				if _, err := pool.Exec("DROP USER " + user); err != nil {
					t.Error(err)
				}
			})
			command := func(args ...string) (status int, stdout, stderr string) {
				var out, errOut bytes.Buffer
				status = run(t.Context(), append([]string{"check", "--db", limited}, args...), nil, &out, &errOut)
				return status, out.String(), errOut.String()
			}
			for _, args := range [][]string{{"--table", "orders"}, {"--table", "orders", "--json"}, {}} {
				status, stdout, stderr := command(args...)
				if status != 1 || stdout != "" || !strings.Contains(stderr, denied) {
					t.Errorf("%q: got status %d, %q and %q, want %q", args, status, stdout, stderr, denied)
				}
			}
			if status, stdout, stderr := command("--table", "hidden"); name == "mysql" && (status != 1 || !strings.Contains(stdout, "hidden: no-table: there is no such table, or this user has no right to see it")) {
				t.Errorf("got status %d, %q and %q", status, stdout, stderr)
			}
		})
	}
}

// Ctrl-C ends a check that waits for a table which somebody else has locked.
func TestCheckInterrupted(t *testing.T) {
	for name, make := range map[string]func(testing.TB) dbtest.Database{"mysql": dbtest.MySQL, "postgres": dbtest.Postgres} {
		t.Run(name, func(t *testing.T) {
			database := make(t)
			pool := database.Open(t)
			locker, err := pool.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = locker.Close() }()
			lock := map[string][]string{
				"mysql": {"LOCK TABLES orders WRITE"}, "postgres": {"BEGIN", "LOCK TABLE orders IN ACCESS EXCLUSIVE MODE"},
			}[name]
			for _, statement := range append([]string{"CREATE TABLE orders (id bigint PRIMARY KEY)"}, lock...) {
				if _, err := locker.ExecContext(t.Context(), statement); err != nil {
					t.Fatalf("%s: %v", statement, err)
				}
			}
			command := exec.CommandContext(t.Context(), "snowkey", "check", "--db", database.DSN)
			var stdout, stderr bytes.Buffer
			command.Stdout, command.Stderr = &stdout, &stderr
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			waiting := map[string]string{
				"mysql":    "SELECT count(*) FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND STATE LIKE 'Waiting for%lock'",
				"postgres": "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
			}[name]
			for n, begin := 0, time.Now(); n == 0; {
				if err := pool.QueryRowContext(t.Context(), waiting).Scan(&n); err != nil || time.Since(begin) > 30*time.Second {
					t.Fatalf("the check does not wait: %v", err)
				}
			}
			if err := command.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			err = command.Wait()
			if command.ProcessState.ExitCode() != 1 || stdout.Len() > 0 || !strings.Contains(stderr.String(), "context canceled") || time.Since(begin) > 10*time.Second {
				t.Errorf("got %v after %v, %q and %q, want status 1 soon", err, time.Since(begin), stdout.String(), stderr.String())
			}
		})
	}
}
