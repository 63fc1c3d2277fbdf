//go:build unix

package gormsuite

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// suiteFile is the Go file that is added to GORM's tests.
//
//go:embed suite.go.txt
var suiteFile []byte

// errCheckout is the error for a folder that GORM's tests cannot be taken from.
var errCheckout = errors.New("no checkout of go-gorm/gorm")

const checkoutHint = "; git clone https://github.com/go-gorm/gorm makes one (the module that go get downloads is without the tests)"

// edits are what tests/tests_test.go has once, and what that becomes.
var edits = [][2]string{
	{"func OpenTestConnection(", "func openTestConnection("}, // suiteFile has one that calls it
	// GORM's tests have PRAGMA foreign_keys on a single connection of the pool. The plugin uses others in the background.
	{`"gorm.db"`, `"gorm.db?_foreign_keys=on"`},
}

var modulePath = regexp.MustCompile(`(?m)^module gorm\.io/gorm$`)

// checkCheckout returns an error that wraps errCheckout unless the folder has GORM and its tests.
func checkCheckout(folder string) error {
	mod, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil || !modulePath.Match(mod) {
		return fmt.Errorf("%w: %s has no go.mod of the module gorm.io/gorm%s", errCheckout, folder, checkoutHint)
	}
	for _, name := range []string{"go.mod", "tests_test.go"} {
		if _, err := os.Stat(filepath.Join(folder, "tests", name)); err != nil {
			return fmt.Errorf("%w: %s has no tests/%s%s", errCheckout, folder, name, checkoutHint)
		}
	}
	return nil
}

// copyCheckout copies GORM without its history to a folder that does not exist yet.
func copyCheckout(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o755); err != nil {
		return err
	}
	for _, entry := range entries {
		source, target := filepath.Join(from, entry.Name()), filepath.Join(to, entry.Name())
		switch {
		case entry.Name() == ".git":
		case entry.IsDir():
			err = os.CopyFS(target, os.DirFS(source))
		default:
			var content []byte
			if content, err = os.ReadFile(source); err == nil {
				err = os.WriteFile(target, content, 0o644)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addPlugin has the tests in the folder open their connections with the plugin.
func addPlugin(tests string) error {
	path := filepath.Join(tests, "tests_test.go")
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text := string(content)
	for _, edit := range edits {
		if n := strings.Count(text, edit[0]); n != 1 {
			return fmt.Errorf("%w with tests as they are known here: tests/tests_test.go has %s %d times, want 1", errCheckout, edit[0], n)
		}
		text = strings.Replace(text, edit[0], edit[1], 1)
	}
	return errors.Join(
		os.WriteFile(path, []byte(text), 0o644),
		os.WriteFile(filepath.Join(tests, "snowkey_test.go"), suiteFile, 0o644),
	)
}

// prepareCheckout makes a copy of GORM whose tests use the plugin of this tree, and returns the folder of the tests.
func prepareCheckout(ctx context.Context, from, to, tree string) (tests string, err error) {
	if err := checkCheckout(from); err != nil {
		return "", err
	}
	if err := copyCheckout(from, to); err != nil {
		return "", fmt.Errorf("copy %s: %w", from, err)
	}
	tests = filepath.Join(to, "tests")
	if err := addPlugin(tests); err != nil {
		return "", err
	}
	for _, args := range [][]string{
		{"mod", "edit", "-require=github.com/snowkey-go/snowkey@v0.0.0", "-replace=github.com/snowkey-go/snowkey=" + tree},
		{"test", "-c", "-o", filepath.Join(to, "programs") + "/", "./..."}, // does it compile?
	} {
		if out, err := goCommand(ctx, tests, args...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("go %s in %s: %w\n%s", strings.Join(args, " "), tests, err, out)
		}
	}
	return tests, nil
}

// goCommand is the go command in a folder. It may add what is missing in go.mod and go.sum: GORM's tests have no go.sum. Its whole process
// group is killed when the context ends.
func goCommand(ctx context.Context, folder string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = folder
	command.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	killGroup(command)
	return command
}
