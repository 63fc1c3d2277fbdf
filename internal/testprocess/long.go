package testprocess

import (
	"os"
	"testing"
)

// LongVariable, set to any text, has the long tests run.
const LongVariable = "SNOWKEY_TEST_LONG"

// IsLong reports whether the long tests run, see package dbtest.
func IsLong() bool { return os.Getenv(LongVariable) != "" && !testing.Short() }
