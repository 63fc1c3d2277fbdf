package dbtest

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbserver"
)

// RequirePlugin ends the test unless MariaDB's server, one of this machine, can load a plugin: with a failure if SNOWKEY_TEST_REQUIRE names mysql,
// as for a server that is missing, else with a skip that says which package to install. MySQL has none of MariaDB's plugins, so there it is a skip
// always.
func RequirePlugin(t testing.TB, db *sql.DB, file, install string) {
	t.Helper()
	var folder, version string
	if err := db.QueryRowContext(t.Context(), "SELECT @@plugin_dir, VERSION()").Scan(&folder, &version); err != nil {
		t.Fatalf("dbtest: asking for the folder of plugins: %v", err)
	}
	if !strings.Contains(version, "MariaDB") {
		t.Skipf("the plugin %s is MariaDB's, and the server is MySQL %s", file, version)
	}
	switch _, err := os.Stat(filepath.Join(folder, file)); {
	case err == nil:
		return
	case !errors.Is(err, os.ErrNotExist):
		t.Fatalf("dbtest: looking for a plugin: %v", err)
	}
	skip(t, dbserver.MySQL, "no plugin "+file+" in "+folder+": install "+install+", as `make test` does")
}
