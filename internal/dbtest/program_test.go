package dbtest_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

func TestPostgresFoldersNewestFirst(t *testing.T) {
	root := t.TempDir()
	for _, folder := range []string{"9.6/bin", "9/bin", "15/bin", "110/bin", "16", "contrib/bin"} {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{filepath.Join(root, "110/bin"), filepath.Join(root, "15/bin"), filepath.Join(root, "9/bin")}
	if got := dbtest.PostgresFolders([]string{"/nonexistent", root}); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
