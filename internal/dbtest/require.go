package dbtest

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbserver"
)

// requireVariable lists the kinds of server, and the programs, that a test may not be skipped without.
const requireVariable = "SNOWKEY_TEST_REQUIRE"

// required reports whether list, the value of requireVariable, has the kind.
func required(list, kind string) (bool, error) {
	var kinds []string
	for word := range strings.SplitSeq(list, ",") {
		switch word = strings.TrimSpace(word); word {
		case "", "chromium", "etcd", "patroni", "promtool", "redis", "zookeeper": // package testprocess looks for the programs
		case dbserver.MySQL, dbserver.Postgres, galera:
			kinds = append(kinds, word)
		default:
			return false, fmt.Errorf("dbtest: %s=%s has the unknown word %q; it is a comma-separated list of chromium, etcd, galera, mysql, patroni, postgres, promtool, redis and zookeeper",
				requireVariable, list, word)
		}
	}
	return slices.Contains(kinds, kind), nil
}

// checkRequired skips the test with -short, which is for SQLite alone. It fails the test
// if the requirement cannot be read, so that a misspelt one is noticed although every
// server is there.
func checkRequired(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short starts no servers")
	}
	if _, err := required(os.Getenv(requireVariable), ""); err != nil {
		t.Fatal(err)
	}
}

// giveUp ends a test that cannot have its server: with a skip if the error is a
// [dbserver.UnavailableError] and the kind is not required, else with a failure.
func giveUp(t testing.TB, kind string, err error) {
	t.Helper()
	var unavailable *dbserver.UnavailableError
	if !errors.As(err, &unavailable) {
		t.Fatal(err)
	}
	what := unavailable.Missing + ": "
	if unavailable.Install != "" {
		what += "install " + unavailable.Install + ", as `make test` does, or "
	}
	skip(t, kind, what+"set "+variables[kind]+" to a server's DSN")
}

// skip ends a test that cannot have something of a kind of server: with a failure if the kind is required.
func skip(t testing.TB, kind, what string) {
	t.Helper()
	isRequired, err := required(os.Getenv(requireVariable), kind)
	switch {
	case err != nil:
		t.Fatal(err)
	case isRequired:
		t.Fatalf("dbtest: %s requires %s, but %s", requireVariable, kind, what)
	default:
		t.Skip(what)
	}
}
