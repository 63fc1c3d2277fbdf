package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

func TestExitStatus(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		args string
		ctx  context.Context
		want int
	}{
		{"", t.Context(), 0},
		{"help", t.Context(), 0},
		{"--version", t.Context(), 0},
		{"next", t.Context(), 0},
		{"decode 5", t.Context(), 0},
		{"completion bash", t.Context(), 0},
		{"help next", t.Context(), 0},
		{"completion", t.Context(), 0},
		{"layouts", t.Context(), 0},
		{"help nosuch", t.Context(), 2},
		{"help next extra", t.Context(), 2},
		{"completion nosuch", t.Context(), 2},
		{"bounds", t.Context(), 2},
		{"next --layout node=5", t.Context(), 2},
		{"next --format roman", t.Context(), 2},
		{"nosuch", t.Context(), 2},
		{"--nosuch", t.Context(), 2},
		{"next --nosuch", t.Context(), 2},
		{"next extra", t.Context(), 2},
		{"next -n 0", t.Context(), 2},
		{"next -n 1e3", t.Context(), 2},
		{"next --node 5000", t.Context(), 2},
		{"next --layout nosuch", t.Context(), 2},
		{"decode", t.Context(), 2},
		{"decode x", t.Context(), 2},
		{"decode -", t.Context(), 2}, // standard input is no id
		{"compare --strategies nosuch", t.Context(), 2},
		{"compare --db nosuch:x", t.Context(), 2},
		{"compare --db sqlite:/nonexistent/x.db", t.Context(), 2},
		{"compare --out /dev/null/x", t.Context(), 2},
		{"compare --out /proc/nosuch", t.Context(), 2},
		{"compare --rows -1", t.Context(), 2},
		{"compare --rows 10 --db mysql:root@unix(/nonexistent.sock)/x", t.Context(), 1},
		{"nodes", t.Context(), 2},
		{"nodes --db nosuch:x", t.Context(), 2},
		{"nodes --db sqlite:/nonexistent/x.db", t.Context(), 2},
		{"nodes --db sqlite:file:/nonexistent/x.db?cache=shared", t.Context(), 2},
		{"nodes --db sqlite::memory: --table a-b", t.Context(), 2},
		{"nodes --db sqlite::memory:", t.Context(), 1}, // no table
		{"nodes --db mysql:root@unix(/nonexistent.sock)/x", t.Context(), 1},
		{"nodes extra", t.Context(), 2},
		{"nodes ddl", t.Context(), 2},
		{"nodes ddl --dialect oracle", t.Context(), 2},
		{"nodes ddl --dialect mysql --table 1", t.Context(), 2},
		{"nodes ddl --dialect mysql", t.Context(), 0},
		{"check", t.Context(), 2},
		{"check --db nosuch:x", t.Context(), 2},
		{"check --db sqlite:/nonexistent/x.db", t.Context(), 2},
		{"check --db sqlite::memory: --table a.b.c", t.Context(), 2},
		{"check --db sqlite::memory: --layout nosuch", t.Context(), 2},
		{"check --db sqlite::memory: --table nosuch", t.Context(), 1},
		{"check --db mysql:root@unix(/nonexistent.sock)/x", t.Context(), 1},
		{"check --db sqlite::memory:", cancelled, 1},
		{"check extra", t.Context(), 2},
		{"compare --rows 10", cancelled, 1},
		{"next -n 1000000", cancelled, 1},
	} {
		t.Run(tt.args, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			var stdout, stderr bytes.Buffer
			got := run(tt.ctx, strings.Fields(tt.args), strings.NewReader("no id\n"), &stdout, &stderr)
			if got != tt.want {
				t.Errorf("got status %d, want %d; standard error:\n%s", got, tt.want, &stderr)
			}
			if (got == 0) != (stderr.Len() == 0) {
				t.Errorf("status %d with the standard error %q", got, &stderr)
			}
		})
	}
}

func TestCompareOnServers(t *testing.T) {
	for name, make := range map[string]func(testing.TB) dbtest.Database{"mysql": dbtest.MySQL, "postgres": dbtest.Postgres} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if status := run(t.Context(), []string{"compare", "--rows", "2000", "--db", make(t).DSN}, nil, &stdout, &stderr); status != 0 {
				t.Fatalf("got status %d: %s", status, &stderr)
			}
			if !strings.Contains(stdout.String(), "snowflake") || stderr.Len() > 0 {
				t.Errorf("got %s and %s", &stdout, &stderr)
			}
		})
	}
}
