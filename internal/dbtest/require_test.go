package dbtest_test

import (
	"strings"
	"testing"
)

// TestMissingPrograms runs tests where no server's programs can be found.
func TestMissingPrograms(t *testing.T) {
	t.Parallel()
	const none = "SNOWKEY_TEST_REQUIRE="
	for _, test := range []struct {
		name, kind, require string
		want                []string
	}{
		{"mysql", "mysql", none, []string{"--- SKIP", "no MySQL or MariaDB server found", "install mariadb-server-core", "SNOWKEY_TEST_MYSQL"}},
		{"postgres", "postgres", none, []string{"--- SKIP", "no PostgreSQL server found", "install postgresql", "SNOWKEY_TEST_POSTGRES"}},
		{"the other is required", "mysql", none + "postgres", []string{"--- SKIP", "no MySQL or MariaDB server found"}},
		{"mysql is required", "mysql", none + "mysql", []string{"--- FAIL", "SNOWKEY_TEST_REQUIRE requires mysql", "install mariadb-server-core"}},
		{"postgres is required", "postgres", none + "mysql, postgres", []string{"--- FAIL", "SNOWKEY_TEST_REQUIRE requires postgres", "install postgresql"}},
		{"unknown word", "mysql", none + "postgres,mariadb", []string{"--- FAIL", `unknown word "mariadb"`, "mysql and postgres"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			output, _ := child(t, test.kind, "PATH="+t.TempDir(), "SNOWKEY_TEST_MYSQL=", "SNOWKEY_TEST_POSTGRES=", test.require).CombinedOutput()
			for _, want := range test.want {
				if !strings.Contains(string(output), want) {
					t.Errorf("got\n%s\nwant %q in it", output, want)
				}
			}
		})
	}
}

// TestMisspeltRequirement fails although no server is missing.
func TestMisspeltRequirement(t *testing.T) {
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
