package dbtest

import (
	"slices"
	"testing"

	"github.com/snowkey-go/snowkey/internal/testprocess"
)

// IsLong reports whether the long tests run: all cases, where a test has a choice of them. `make race` and continuous integration run them.
func IsLong() bool { return testprocess.IsLong() }

// Long skips a test that takes long and guards what others guard too, in a shorter or simpler form, unless the long tests run.
func Long(t testing.TB) {
	t.Helper()
	testprocess.Long(t)
}

// LongOn skips as Long does where the kind of database is one of those given: what a test guards there it guards on the other kinds too.
func LongOn(t testing.TB, kind string, kinds ...string) {
	t.Helper()
	if slices.Contains(kinds, kind) {
		Long(t)
	}
}
