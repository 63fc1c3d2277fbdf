package dbserver_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbserver"
)

// TestMissingPrograms looks for programs where there are none.
func TestMissingPrograms(t *testing.T) {
	t.Cleanup(dbserver.ForgetProgramFolders())
	t.Setenv("PATH", t.TempDir())
	for kind, want := range map[string]string{
		"mysql":    "no MySQL or MariaDB server found (mariadbd or mysqld, in PATH and the system's program folders): install mariadb-server-core and mariadb-client-core",
		"postgres": "no PostgreSQL server found (initdb and postgres, in PATH and the system's program folders): install postgresql",
	} {
		_, err := dbserver.Start(t.Context(), kind)
		unavailable := new(dbserver.UnavailableError)
		if !errors.As(err, &unavailable) || unavailable.Kind != kind || runtime.GOOS == "linux" && err.Error() != want {
			t.Errorf("%s: got error %v, want an UnavailableError: %s", kind, err, want)
		}
	}
}

func TestPostgresFoldersNewestFirst(t *testing.T) {
	root := t.TempDir()
	for _, folder := range []string{"9.6/bin", "9/bin", "15/bin", "110/bin", "16", "contrib/bin"} {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{filepath.Join(root, "110/bin"), filepath.Join(root, "15/bin"), filepath.Join(root, "9/bin")}
	if got := dbserver.PostgresFolders([]string{"/nonexistent", root}); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
