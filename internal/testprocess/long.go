package testprocess

import (
	"os"
	"testing"
)

// LongVariable is the variable of the environment that has the long tests run, set to any text.
const LongVariable = "SNOWKEY_TEST_LONG"

// IsLong reports whether the long tests run, see package dbtest.
func IsLong() bool { return os.Getenv(LongVariable) != "" && !testing.Short() }
