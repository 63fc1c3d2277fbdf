package snowkey_test

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// reserved are names that no file of a module may have, with any extension, since Windows has them for devices. The go command downloads no module
// with such a file.
var reserved = regexp.MustCompile(`^(?i:con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?$`)

// TestFileNames holds all files to names that the go command takes into a module. One name that it does not take, and nobody can download the module.
func TestFileNames(t *testing.T) {
	folded := map[string]string{}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case path == ".":
			return nil
		case entry.IsDir() && slices.Contains([]string{".git", "bin"}, path):
			return filepath.SkipDir
		case reserved.MatchString(name), strings.ContainsAny(name, "\"'*<>?`|\\:;"), strings.HasSuffix(name, "."):
			t.Errorf("%s: the go command takes no file of this name into a module", path)
		}
		if other, ok := folded[strings.ToLower(path)]; ok {
			t.Errorf("%s and %s differ in the case of letters alone", path, other)
		}
		folded[strings.ToLower(path)] = path
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
