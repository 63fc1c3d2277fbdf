package dbtest_test

import (
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

func TestLong(t *testing.T) {
	for value, want := range map[string]bool{"": true, "1": testing.Short()} {
		t.Setenv("SNOWKEY_TEST_LONG", value)
		skipped := false
		t.Run("long", func(t *testing.T) {
			defer func() { skipped = t.Skipped() }()
			dbtest.Long(t)
		})
		if skipped != want {
			t.Errorf("%q: skipped is %t, want %t", value, skipped, want)
		}
	}
}
