package testprocess

import (
	"os"
	"testing"
)

// LongVariable is the variable of the environment that has the long tests run, set to any text.
const LongVariable = "SNOWKEY_TEST_LONG"

// IsLong reports whether the long tests run, see package dbtest.
func IsLong() bool { return os.Getenv(LongVariable) != "" && !testing.Short() }

// Long skips a test that takes long and guards what others guard too, in a shorter or simpler form, unless the long tests run.
func Long(t testing.TB) {
	t.Helper()
	if !IsLong() {
		t.Skip("a long test: " + LongVariable + "=1 runs it, as make race does")
	}
}
