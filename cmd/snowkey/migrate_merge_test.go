package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestMerge takes two servers with one numbering through the plans to the merge, by the commands alone.
func TestMerge(t *testing.T) {
	at := map[string]string{"sqlite": "datetime", "mysql": "datetime", "postgres": "timestamptz"}
	key := map[string]string{"sqlite": "INTEGER PRIMARY KEY AUTOINCREMENT", "mysql": "INT AUTO_INCREMENT PRIMARY KEY", "postgres": "serial PRIMARY KEY"}
	for kind, make := range map[string]func(testing.TB) dbtest.Database{"sqlite": dbtest.SQLite, "mysql": dbtest.MySQL, "postgres": dbtest.Postgres} {
		t.Run(kind, func(t *testing.T) {
			var servers []dbtest.Database
			for range 2 {
				d := make(t)
				for _, s := range []string{"CREATE TABLE players (id " + key[kind] + ", created_at " + at[kind] + " NOT NULL)",
					"INSERT INTO players (created_at) VALUES ('2026-01-01 00:00:00'), ('2026-01-01 00:00:01'), ('2026-01-01 00:00:02')"} {
					if _, err := d.Open(t).ExecContext(t.Context(), s); err != nil {
						t.Fatal(err)
					}
				}
				servers = append(servers, d)
			}
			folder := t.TempDir()
			snowkey := func(want int, args ...string) (stdout, stderr string) {
				t.Helper()
				var out, errOut bytes.Buffer
				if status := run(t.Context(), append([]string{"migrate"}, args...), nil, &out, &errOut); status != want {
					t.Fatalf("%s: got status %d, want %d: %s", args, status, want, errOut.String())
				}
				return out.String(), errOut.String()
			}
			merge := []string{"merge", "--into", servers[0].DSN, "--from", servers[1].DSN}
			planned := append(merge, "--zone", "UTC", "--window", "1ms", "--plans", folder)
			if _, stderr := snowkey(1, planned...); !strings.Contains(stderr, "two databases have the same key") {
				t.Errorf("got %q, want the clash", stderr)
			}
			for name, database := range map[string]dbtest.Database{"rekey-1.sql": servers[1], "widen.sql": servers[0]} {
				path := filepath.Join(folder, name)
				if _, err := os.Stat(path); err != nil {
					if kind == "sqlite" && name == "widen.sql" { // whose integers have 64 bits
						continue
					}
					t.Fatal(err)
				}
				for args := []string{"run", "--db", database.DSN, path}; ; args = append(args[:4], "--continue") {
					if stdout, _ := snowkey(0, args...); strings.HasPrefix(stdout, "done: ") {
						break
					}
				}
			}
			if stdout, _ := snowkey(0, append(merge, "--dry")...); !strings.Contains(stdout, "0 rows copied") {
				t.Errorf("got %q of a dry merge", stdout)
			}
			if stdout, _ := snowkey(0, merge...); !strings.Contains(stdout, "3 rows copied") || !strings.Contains(stdout, "none twice") ||
				kind == "sqlite" && !strings.Contains(stdout, "players still makes keys by ") {
				t.Errorf("got %q, want 3 rows, and what is left to do", stdout)
			}
			snowkey(2, "merge", "--into", servers[0].DSN, "--from", servers[0].DSN)
			snowkey(2, append(merge, "--from", servers[1].DSN)...)
			snowkey(2, append(merge, "--table", "nothing")...)
			snowkey(2, "merge", "--into", servers[0].DSN)
		})
	}
}
