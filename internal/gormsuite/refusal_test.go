//go:build unix

package gormsuite

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// TestRefusal is about folders that are no checkout, and names that there are not.
func TestRefusal(t *testing.T) {
	folder := t.TempDir()
	write(t, folder+"/other/go.mod", "module example.org/other\n")
	write(t, folder+"/module/go.mod", "module gorm.io/gorm\n")
	write(t, folder+"/strange/go.mod", "module gorm.io/gorm\n")
	write(t, folder+"/strange/tests/go.mod", "module gorm.io/gorm/tests\n")
	write(t, folder+"/strange/tests/tests_test.go", "package tests_test\n")
	for name, c := range map[string]struct{ folder, want string }{
		"nothing there":  {folder + "/nothing", "no checkout of go-gorm/gorm: " + folder + "/nothing has no go.mod of the module gorm.io/gorm"},
		"another module": {folder + "/other", "/other has no go.mod of the module gorm.io/gorm; git clone https://github.com/go-gorm/gorm"},
		"without tests":  {folder + "/module", "/module has no tests/go.mod; git clone https://github.com/go-gorm/gorm"},
		"other tests":    {folder + "/strange", `tests/tests_test.go has func OpenTestConnection( 0 times, want 1`},
	} {
		t.Run(name, func(t *testing.T) {
			s := suite{stdout: io.Discard, stderr: io.Discard}
			if _, err := s.run(t.Context(), c.folder); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got the error %v, want %q", err, c.want)
			}
		})
	}
	for _, names := range []string{"oracle", "all,none"} {
		if _, err := choose(names, modes); err == nil || !strings.Contains(err.Error(), "is none of keys, prepare") {
			t.Errorf("%q: got the error %v", names, err)
		}
	}
}

// makeCheckout makes a folder like a checkout, of GORM as it is a module and of the tests in testdata.
func makeCheckout(t *testing.T) string {
	t.Helper()
	gorm, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "gorm.io/gorm").Output()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "checkout")
	if err := copyCheckout(strings.TrimSpace(string(gorm)), folder); err != nil {
		t.Fatal(err)
	}
	// The folders of modules are read-only.
	if err := filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error { return errors.Join(err, os.Chmod(path, 0o755)) }); err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile("testdata/tests_test.go")
	if err != nil {
		t.Fatal(err)
	}
	write(t, folder+"/tests/tests_test.go", string(tests))
	write(t, folder+"/tests/go.mod", "module gorm.io/gorm/tests\n\ngo 1.25.0\n\nrequire gorm.io/gorm v1.31.2\n\nreplace gorm.io/gorm => ../\n")
	write(t, folder+"/.git/HEAD", "ref: refs/heads/master\n")
	return folder
}

// TestRun runs the tests in testdata instead of GORM's.
func TestRun(t *testing.T) {
	dbtest.Long(t)
	checkout := makeCheckout(t)
	tree, err := moduleFolder(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "gorm")
	tests, err := prepareCheckout(t.Context(), checkout, copied, tree)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(copied + "/.git"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v of .git in the copy, want that it is not there", err)
	}
	if _, err := os.Stat(checkout + "/tests/snowkey_test.go"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v of a file added to the checkout itself, want that it is not there", err)
	}
	listed := "TestCounter/first all all\n\tWhy.\nTestPlain all keys\n\tWhy.\n"
	for name, c := range map[string]struct {
		mode, list string
		want       []string // in what is printed; nothing when all is as listed
	}{
		"keys":    {"keys", listed, nil},
		"prepare": {"prepare", listed, nil},
		"without": {without, listed, []string{
			"SQLite, none: TestKey failed and is not on the list:\n=== RUN   TestKey\n", "got the key 1, want a snowflake", "TestPlain failed and is not",
		}},
		"stale": {"prepare", listed + "TestKey all all\n\tWhy.\n", []string{"SQLite, prepare: TestKey is on the list and did not fail\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := parseList(c.list)
			if err != nil {
				t.Fatal(err)
			}
			var stdout strings.Builder
			s := suite{stdout: &stdout, stderr: io.Discard, list: list}
			ok, err := s.runOn(t.Context(), tests, sqlite, c.mode)
			if err != nil || ok != (c.want == nil) || ok && stdout.Len() > 0 {
				t.Errorf("got %v, %v and %q, want it to hold %q", ok, err, stdout.String(), c.want)
			}
			for _, want := range c.want {
				if !strings.Contains(stdout.String(), want) {
					t.Errorf("got %q, want it to hold %q", stdout.String(), want)
				}
			}
		})
	}
	t.Run("interrupted", func(t *testing.T) { testInterrupt(t, tests) })
}

// testInterrupt ends the context while a test runs. Then the process of that test is gone.
func testInterrupt(t *testing.T, tests string) {
	path := filepath.Join(t.TempDir(), "wait")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GORMSUITE_WAIT", path)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	failed := make(chan error, 1)
	go func() {
		s := suite{stdout: io.Discard, stderr: io.Discard}
		_, err := s.runOn(ctx, tests, sqlite, without) // nothing in the process writes then, which would end it too
		failed <- err
	}()
	file, err := os.Open(path) // returns when TestWait opens it too
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	reader := bufio.NewReader(file)
	if line, err := reader.ReadString('\n'); line != "waiting\n" {
		t.Fatalf("got %q and %v from the test", line, err)
	}
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the end of the context", err)
	}
	if _, err := reader.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("got %v from the test's process, want its end", err)
	}
}
