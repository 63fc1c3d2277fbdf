package dbtest

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// requireVariable lists the kinds of server that a test may not be skipped without.
const requireVariable = "SNOWKEY_TEST_REQUIRE"

// unavailableError says why there cannot be a server on this machine as it is. The
// test is skipped then; any other error fails it.
type unavailableError struct {
	reason string // a sentence that names what is missing and what to do
}

func (e *unavailableError) Error() string { return e.reason }

// required tells whether list, the value of requireVariable, has the kind.
func required(list, kind string) (bool, error) {
	var kinds []string
	for word := range strings.SplitSeq(list, ",") {
		switch word = strings.TrimSpace(word); word {
		case "":
		case mysqlEngine{}.kind(), postgresEngine{}.kind():
			kinds = append(kinds, word)
		default:
			return false, fmt.Errorf("dbtest: %s=%s has the unknown word %q; it is a comma-separated list of mysql and postgres",
				requireVariable, list, word)
		}
	}
	return slices.Contains(kinds, kind), nil
}

// checkRequired fails the test if the requirement cannot be read, so that a misspelt
// one is noticed although every server is there.
func checkRequired(t testing.TB) {
	t.Helper()
	if _, err := required(os.Getenv(requireVariable), ""); err != nil {
		t.Fatal(err)
	}
}

// giveUp ends a test that cannot have its server: with a skip if the server is
// unavailable and not required, else with a failure.
func giveUp(t testing.TB, e engine, err error) {
	t.Helper()
	var unavailable *unavailableError
	if !errors.As(err, &unavailable) {
		t.Fatal(err)
	}
	isRequired, requireErr := required(os.Getenv(requireVariable), e.kind())
	switch {
	case requireErr != nil:
		t.Fatal(requireErr)
	case isRequired:
		t.Fatalf("dbtest: %s requires %s, but %v", requireVariable, e.kind(), err)
	default:
		t.Skip(err)
	}
}
