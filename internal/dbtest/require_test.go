package dbtest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbserver"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestMissingPrograms gives up where no server's programs can be found.
func TestMissingPrograms(t *testing.T) {
	programs := &dbserver.UnavailableError{Kind: "mysql", Missing: "no server found", Install: "mariadb-server-core"}
	system := &dbserver.UnavailableError{Kind: "postgres", Missing: "private servers need Linux"}
	for _, test := range []struct {
		name, require string
		err           *dbserver.UnavailableError
		skipped       bool
		want          string
	}{
		{"mysql", "", programs, true, "no server found: install mariadb-server-core, as `make test` does, or set SNOWKEY_TEST_MYSQL to a server's DSN"},
		{"postgres", "", system, true, "private servers need Linux: set SNOWKEY_TEST_POSTGRES to a server's DSN"},
		{"the other is required", "postgres", programs, true, "no server found"},
		{"mysql is required", "mysql", programs, false, "SNOWKEY_TEST_REQUIRE requires mysql, but no server found: install"},
		{"postgres is required", "mysql, postgres", system, false, "SNOWKEY_TEST_REQUIRE requires postgres, but private servers"},
		{"the browser is required", "chromium", programs, true, "no server found"},
		{"promtool is required", "promtool", programs, true, "no server found"},
		{"Redis is required", "redis", programs, true, "no server found"},
		{"etcd is required", "etcd", programs, true, "no server found"},
		{"Patroni is required", "patroni", programs, true, "no server found"},
		{"ZooKeeper is required", "zookeeper", programs, true, "no server found"},
		{"unknown word", "postgres,mariadb", programs, false, `unknown word "mariadb"; it is a comma-separated list of chromium, etcd, galera, mysql, patroni, postgres, promtool, redis and zookeeper`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("SNOWKEY_TEST_REQUIRE", test.require)
			r := record(t, func(r testing.TB) { dbtest.GiveUp(r, test.err.Kind, fmt.Errorf("wrapped: %w", test.err)) })
			if got := r.messages.String(); r.skipped != test.skipped || r.failed == test.skipped || !strings.Contains(got, test.want) {
				t.Errorf("got skipped=%v, failed=%v and\n%s\nwant skipped=%v and %q", r.skipped, r.failed, got, test.skipped, test.want)
			}
		})
	}
}

// TestBrokenServer wants a failure, and no skip, with the server's own words.
func TestBrokenServer(t *testing.T) {
	r := record(t, func(t testing.TB) { dbtest.StartMySQL(t, "--no-such-option") })
	if r.skipped {
		t.Skip(r.messages.String())
	}
	if got := r.messages.String(); !r.failed || !strings.Contains(got, "unknown option '--no-such-option'") {
		t.Errorf("got failed=%v and\n%s\nwant a failure with what the server says", r.failed, got)
	}
}

// TestMisspeltRequirement fails although no server is missing.
func TestMisspeltRequirement(t *testing.T) {
	if testing.Short() {
		t.Skip("-short starts no servers")
	}
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Setenv("SNOWKEY_TEST_REQUIRE", "mysq,postgres")
			r := record(t, func(t testing.TB) { kind.start(t) })
			if got := r.messages.String(); !r.failed || !strings.Contains(got, `unknown word "mysq"`) {
				t.Errorf("got failed=%v and\n%s\nwant a failure that names the word", r.failed, got)
			}
		})
	}
}
