package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// malformedDSNs hold the password sesame, or a part of it.
var malformedDSNs = []string{
	"sesame", "sesame:x", "oracle:u:sesame@h/d", "u:sesame@tcp(h:1)/d",
	"mysql:u:sesame@h/d", "mysql:u:sesame/d", "mysql:u:x/sesame@tcp(h:1)", "mysql:u:sesame@tcp(h:1)/d?parseTime=x", "mysql:u:sesame@tcp(h:1)/",
	"postgres://u:sesame@h:port/d", "postgres://u:x/sesame@h/d", "postgres://u:5?sesame@h/d", "postgres:host=h password=sesame",
	"sqlite://u:sesame@h/d", "sqlite:u:sesame@tcp(h:1)/d",
}

// absentDSNs lead to no database.
var absentDSNs = []string{
	"mysql:u:sesame@unix(/nonexistent.sock)/d", "postgres://u:sesame@127.0.0.1:1/d", "postgres://127.0.0.1:1/d?user=u&password=sesame",
	"sqlite:/nonexistent/x.db?_auth_user=u&_auth_pass=sesame",
}

// No command prints a password, wherever the DSN is from. A command that takes a database and is not looked at here fails the test.
func TestNoPasswordInErrors(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	there := dbtest.SQLite(t)
	for _, statement := range []string{"CREATE TABLE users (id integer PRIMARY KEY AUTOINCREMENT)"} {
		if _, err := there.Open(t).ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	plan := filepath.Join(folder, "plan.sql")
	for _, args := range [][]string{
		{"migrate", "plan", "--db", there.DSN, "--table", "users", "--window", "1ms", "--out", plan},
	} {
		var stderr bytes.Buffer
		if run(t.Context(), args, nil, &stderr, &stderr) != 0 {
			t.Fatalf("%q: %s", args, &stderr)
		}
	}
	// What else a command needs to come to its database, or, after a slash, to another one.
	commands := map[string][]string{
		"ddl function": {"--table", "users"}, "serve": {"--http", "127.0.0.1:0"}, "nodes": nil, "nodes doubt": nil, "nodes change": {"--to", "packed"}, "check": nil,
		"migrate inspect": nil, "migrate plan": nil, "migrate run": {plan}, "migrate rollback": {plan}, "migrate verify": {plan}, "migrate status": nil,
		"migrate run/replica": {"--db", there.DSN, plan}, "migrate rollback/replica": {"--db", there.DSN, plan},
		"migrate merge": {"--from", there.DSN}, "migrate merge/from": {"--into", there.DSN},
		"partition plan": {"--table", "orders", "--every", "day"}, "partition run": {"--table", "orders", "--every", "day"}, "partition status": {"--table", "orders", "--every", "day"}, "partition adopt": {"--table", "orders", "--every", "day"},
		"compare": {"--rows", "10"}, "compare/second": {"--rows", "10", "--db", there.DSN},
	}
	denied := dbtest.MySQL(t).DSN
	absent := append(slices.Clone(absentDSNs), "mysql:nobody:sesame"+denied[strings.Index(denied, "@"):])
	var seen []string
	root, _ := newRoot(nil, nil, nil)
	for _, c := range descendants(root) {
		path := strings.TrimPrefix(c.CommandPath(), "snowkey ")
		for _, flag := range []string{"db", "into", "second", "from", "replica"} {
			if c.Flags().Lookup(flag+"-file") == nil {
				if flag == "db" && c.Flags().Lookup("db") != nil {
					t.Errorf("%s has --db and no --db-file", path)
				}
				continue
			}
			name := path
			if flag != "db" && flag != "into" {
				name += "/" + flag
			}
			seen = append(seen, name)
			more, known := commands[name]
			if !known {
				t.Errorf("--%s of %s is not looked at", flag, path)
			}
			dsns := append(absent, malformedDSNs[0])
			if path == "check" || path == "compare" { // which read the texts, others do so like check
				dsns = slices.Concat(absent, malformedDSNs)
			}
			fails := func(args ...string) {
				t.Helper()
				if status := silent(t, args...); status == 0 && flag != "replica" { // which is not connected to before a batch
					t.Errorf("%q: got status 0, want a failure", args)
				}
			}
			args := append(strings.Fields(path), more...)
			for _, secret := range dsns {
				file := filepath.Join(folder, "dsn")
				if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				fails(append(args, "--"+flag, secret)...)
				fails(append(args, "--"+flag+"-file", file)...)
				if flag == "db" || flag == "into" {
					t.Setenv(databaseVariable, secret)
					fails(args...)
					t.Setenv(databaseVariable, "")
				}
			}
		}
	}
	for name := range commands {
		if !slices.Contains(seen, name) {
			t.Errorf("there is no %s", name)
		}
	}
}

// Nor is a DSN printed that is where none belongs.
func TestNoPasswordOfMisplacedDSN(t *testing.T) {
	for _, secret := range []string{"postgres://u:sesame@h/d", "mysql:u:sesame@tcp(h:1)/d", "u:sesame@tcp(h:1)/d", "mysql:u:sesame/d", "postgres://h/d?user=u&password=sesame", `postgres://u:"sesame\@h/d`} {
		for _, args := range [][]string{
			{secret}, {"nodes", secret}, {"nodes", "-db=" + secret}, {"nodes", "-db", secret}, {"nodes", "--dsn=" + secret}, {"nodes", "--db-file", secret}, {"help", secret}, {"compare", "--rows", secret},
			{"compare", "--from", secret}, {"migrate", "run", "--db", "sqlite::memory:", secret}, {"nodes", "--db", "sqlite::memory:", "--table", secret},
			{"check", "--db", "sqlite::memory:", "--layout", secret}, {"decode", secret}, {"partition", "run", "--db", "sqlite::memory:", "--every", "day", "--table", secret}, {"next", "-n" + secret},
		} {
			if status := silent(t, args...); status == 0 {
				t.Errorf("%q: got status 0, want a failure", args)
			}
		}
	}
}

// silent runs a command that has to print no password, and returns its exit status.
func silent(t *testing.T, args ...string) int {
	t.Helper()
	var output bytes.Buffer
	status := run(t.Context(), args, strings.NewReader(""), &output, &output)
	if strings.Contains(output.String(), "sesame") || status != 0 && output.Len() == 0 {
		t.Errorf("%q with %q: got status %d and %q, want an error without a password", args, os.Getenv(databaseVariable), status, &output)
	}
	return status
}

// descendants are all commands below a command.
func descendants(c *cobra.Command) (all []*cobra.Command) {
	for _, child := range c.Commands() {
		all = append(append(all, child), descendants(child)...)
	}
	return all
}

// What has no password stays in an error.
func TestErrorNamesDatabase(t *testing.T) {
	for _, text := range []string{"mysql:u@unix(/nonexistent.sock)/d", "postgres://u@127.0.0.1:1/d"} {
		var stderr bytes.Buffer
		if status := run(t.Context(), []string{"check", "--db", text}, nil, &stderr, &stderr); status != 1 || !strings.Contains(stderr.String(), text) {
			t.Errorf("got status %d and %q, want the database %s", status, &stderr, text)
		}
	}
}
