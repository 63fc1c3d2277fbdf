package grant_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/idgen/grant/granttest"
)

func TestFileConforms(t *testing.T) {
	granttest.Run(t, func(t *testing.T) grant.Store { return grant.File(filepath.Join(t.TempDir(), "node.json")) })
}

// The file is the memory of a number that is set by hand: after a restart with the clock set back, by an end in good order or a crash, no
// id comes again; and a second process with the number is refused.
func TestFileRemembersAcrossRestarts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "node.json")
	config := func(clock *steppedClock) grant.Config {
		return grant.Config{
			Generator: []idgen.Option{idgen.WithNode(7), idgen.WithClock(clock)}, For: 300 * time.Millisecond, Wait: time.Minute, MaxSkew: time.Hour,
		}
	}
	last := int64(0)
	for i, by := range []time.Duration{0, 50 * time.Second, -50 * time.Second, 0, -20 * time.Minute} {
		k, err := grant.Open(t.Context(), grant.File(path), config(&steppedClock{by: by}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := grant.Open(t.Context(), grant.File(path), grant.Config{Generator: []idgen.Option{idgen.WithNode(7)}, Wait: time.Nanosecond}); !errors.Is(err, grant.ErrTaken) {
			t.Errorf("a second process: got %v, want ErrTaken", err)
		}
		id, err := k.Next(t.Context())
		if err != nil || id <= last {
			t.Errorf("start %d: got %d after %d, %v", i, id, last, err)
		}
		last = id
		if err := k.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// By a link the file is the same one, and the link stays.
func TestFileByALink(t *testing.T) {
	real, link := filepath.Join(t.TempDir(), "node.json"), filepath.Join(t.TempDir(), "link.json")
	k := open(t, grant.File(real), grant.Config{})
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	other := open(t, grant.File(link), grant.Config{})
	if k.State().Number == other.State().Number {
		t.Error("both have the same number")
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("got %v, %v, want the link", info, err)
	}
}

func TestFileRefused(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "other.json")
	if err := os.WriteFile(path, []byte(`{"name": "not grants"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) { // in which Open tries again at once
		for _, path := range []string{path, folder, filepath.Join(folder, "missing", "x"), ""} {
			if _, err := grant.Open(t.Context(), grant.File(path), grant.Config{Generator: with()}); !errors.Is(err, grant.ErrFile) {
				t.Errorf("%q: got %v, want ErrFile", path, err)
			}
		}
	})
	if text, err := os.ReadFile(path); err != nil || string(text) != `{"name": "not grants"}` {
		t.Errorf("got %q, %v, want the file as it was", text, err)
	}
}
