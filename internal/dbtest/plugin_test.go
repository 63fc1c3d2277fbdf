package dbtest_test

import (
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestMissingPlugin gives up where a server has no file of a plugin.
func TestMissingPlugin(t *testing.T) {
	db := dbtest.MySQL(t).Open(t)
	mariadb := strings.HasPrefix(dbtest.MySQLServer(t).Version(), "MariaDB")
	for _, test := range []struct {
		require, want string
		skipped       bool
	}{
		{"", "install a-package, as `make test` does", true},
		{"postgres", "no plugin no_such.so in /", true},
		{"mysql,postgres", "SNOWKEY_TEST_REQUIRE requires mysql, but no plugin no_such.so in /", false},
		{"mysq", `unknown word "mysq"`, false},
	} {
		t.Run("require="+test.require, func(t *testing.T) {
			t.Setenv("SNOWKEY_TEST_REQUIRE", test.require)
			r := record(t, func(r testing.TB) { dbtest.RequirePlugin(r, db, "no_such.so", "a-package") })
			want, skipped := test.want, test.skipped
			if !mariadb {
				want, skipped = "is MariaDB's", true
			}
			if got := r.messages.String(); r.skipped != skipped || r.failed == skipped || !strings.Contains(got, want) {
				t.Errorf("got skipped=%v, failed=%v and\n%s\nwant skipped=%v and %q", r.skipped, r.failed, got, skipped, want)
			}
		})
	}
}
