package dbserver

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
)

// programFolders are searched after PATH, which leaves out the sbin folders for most
// users. dbtest/install.sh searches the same ones.
var programFolders = []string{
	"/usr/sbin", "/usr/bin", "/usr/libexec",
	"/usr/local/bin", "/usr/local/sbin", "/usr/local/libexec",
	"/usr/local/mysql/bin", "/usr/local/pgsql/bin",
	"/usr/lib/postgresql",
}

// findProgram returns the path of the first of names that is found, in PATH and then
// in folders.
func findProgram(folders []string, names ...string) (string, bool) {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			if path, err = filepath.Abs(path); err == nil {
				return path, true
			}
		}
		for _, folder := range folders {
			if path := filepath.Join(folder, name); isProgram(path) {
				return path, true
			}
		}
	}
	return "", false
}

// isProgram reports whether path is a file that may be executed.
func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// postgresFolders returns the folders VERSION/bin that are in any of folders, as
// Debian has them in /usr/lib/postgresql, the newest version first.
func postgresFolders(folders []string) (bins []string) {
	version := func(bin string) int {
		number, _ := strconv.Atoi(filepath.Base(filepath.Dir(bin))) // 0 for what is none
		return number
	}
	for _, folder := range folders {
		found, _ := filepath.Glob(filepath.Join(folder, "[0-9]*", "bin")) // the pattern is well formed
		bins = append(bins, found...)
	}
	slices.SortStableFunc(bins, func(a, b string) int { return version(b) - version(a) })
	return slices.DeleteFunc(bins, func(bin string) bool { return version(bin) == 0 })
}
