//go:build unix

package gormsuite

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"
)

// modes are the ways to use the plugin, see suite.go.txt, in the order in which they run.
var modes = []string{"keys", "prepare"}

// without is the mode without the plugin, which has no list: it shows what GORM's tests do by themselves.
const without = "none"

// The flags of TestGORM.
var (
	gormFolder    = flag.String("gorm", "", "folder of a checkout of go-gorm/gorm; without one TestGORM is skipped")
	databaseNames = flag.String("db", "all", "databases, with commas: "+strings.Join(databases, ", "))
	modeNames     = flag.String("mode", "all", "modes, with commas: "+strings.Join(modes, ", ")+"; or "+without+", without the plugin and the list")
	pattern       = flag.String("tests", "", "run the tests that this pattern matches, as go test does; then nothing on the list is missed")
	outFolder     = flag.String("out", "", "keep what go test -json prints in this folder")
)

// TestGORM runs the tests of GORM in a checkout with the plugin of this tree on their connections, and compares what fails with expected.txt.
func TestGORM(t *testing.T) {
	if *gormFolder == "" {
		t.Skip("no checkout of go-gorm/gorm: make gorm-suite GORM=<folder>")
	}
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s := suite{pattern: *pattern, out: *outFolder, stdout: os.Stdout, stderr: os.Stderr}
	var wrongDatabase, wrongMode, wrongList error
	s.databases, wrongDatabase = choose(*databaseNames, databases)
	if s.modes, wrongMode = choose(*modeNames, modes); *modeNames == without {
		s.modes, wrongMode = []string{without}, nil
	}
	s.list, wrongList = parseList(expectedFile)
	if err := errors.Join(wrongDatabase, wrongMode, wrongList); err != nil {
		t.Fatal(err)
	}
	if ok, err := s.run(ctx, *gormFolder); err != nil || !ok {
		t.Errorf("what failed is not what expected.txt lists: %v", err)
	}
}

// suite is one run of the tests.
type suite struct {
	databases, modes []string
	pattern, out     string
	list             []entry
	stdout, stderr   io.Writer
	table            strings.Builder
}

// run reports whether what failed is what the list says.
func (s *suite) run(ctx context.Context, checkout string) (ok bool, err error) {
	if s.out != "" {
		if err := os.MkdirAll(s.out, 0o755); err != nil {
			return false, err
		}
	}
	tree, err := moduleFolder(ctx)
	if err != nil {
		return false, err
	}
	folder, err := os.MkdirTemp("", "snowkey-gormsuite-")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	fmt.Fprintln(s.stderr, "copying and compiling the tests")
	tests, err := prepareCheckout(ctx, checkout, filepath.Join(folder, "gorm"), tree)
	if err != nil {
		return false, err
	}
	ok = true
	for _, database := range s.databases {
		for _, mode := range s.modes {
			agrees, err := s.runOn(ctx, tests, database, mode)
			if err != nil {
				return false, fmt.Errorf("%s, %s: %w", database, mode, err)
			}
			ok = ok && agrees
		}
	}
	return ok, s.printTable()
}

// moduleFolder returns the folder of this module, which the command is called in.
func moduleFolder(ctx context.Context) (string, error) {
	out, err := goCommand(ctx, "", "list", "-mod=readonly", "-m", "-f", "{{.Dir}}", "github.com/snowkey-go/snowkey").Output()
	if err != nil {
		return "", fmt.Errorf("find the folder of snowkey's module, which this is to be called in: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// runOn runs the tests on a database of their own, and reports whether what failed is what the list says.
func (s *suite) runOn(ctx context.Context, tests, kind, mode string) (ok bool, err error) {
	product, environment, done, err := openDatabase(ctx, kind)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, done()) }()
	began := time.Now()
	name := fmt.Sprintf("%s, %s", product, mode)
	fmt.Fprintf(s.stderr, "%s: started\n", name)
	args := []string{"test", "-json", "-count=1", "-vet=off", "-timeout=15m", "-run=" + s.pattern}
	if pattern := skipPattern(s.list, kind, mode); pattern != "" {
		args = append(args, "-skip="+pattern)
	}
	command := goCommand(ctx, tests, append(args, "./...")...)
	command.Env = append(append(command.Env, environment...), "SNOWKEY_MODE="+mode)
	res, err := s.test(command, kind+"-"+mode+".json", func(n int) {
		if n%50 == 0 {
			fmt.Fprintf(s.stderr, "%s: %d tests\n", name, n)
		}
	})
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if err != nil {
		return false, err
	}
	c := compare(s.list, res, kind, mode)
	if s.pattern != "" {
		c.stale = nil
	}
	s.report(name, res, c)
	fmt.Fprintf(&s.table, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s\n",
		product, mode, res.passed, res.skipped, c.expected, len(c.unexpected), len(c.stale), time.Since(began).Round(time.Second))
	return res.complete && len(c.unexpected) == 0 && len(c.stale) == 0, nil
}

// test runs go test -json, which ends with an error when a test fails: that is none here.
func (s *suite) test(command *exec.Cmd, out string, each func(int)) (results, error) {
	command.Stderr = s.stderr
	pipe, err := command.StdoutPipe()
	if err != nil {
		return results{}, err
	}
	var from io.Reader = pipe
	if s.out != "" {
		file, err := os.Create(filepath.Join(s.out, out))
		if err != nil {
			return results{}, err
		}
		defer func() { _ = file.Close() }()
		from = io.TeeReader(pipe, file)
	}
	if err := command.Start(); err != nil {
		return results{}, err
	}
	res, err := readResults(from, each)
	var failed *exec.ExitError
	if exit := command.Wait(); exit != nil && !errors.As(exit, &failed) {
		err = errors.Join(err, exit)
	}
	return res, err
}

// report prints what disagrees with the list.
func (s *suite) report(name string, res results, c comparison) {
	for _, test := range c.unexpected {
		fmt.Fprintf(s.stdout, "%s: %s failed and is not on the list:\n%s\n", name, test, res.failed[test])
	}
	for _, test := range c.stale {
		fmt.Fprintf(s.stdout, "%s: %s is on the list and did not fail\n", name, test)
	}
	if !res.complete {
		fmt.Fprintf(s.stdout, "%s: the tests ended early:\n%s\n", name, res.output)
	}
}

func (s *suite) printTable() error {
	w := tabwriter.NewWriter(s.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "database\tmode\tpassed\tskipped\tfailed as listed\tfailed\tlisted, not failed\ttime\n%s", s.table.String())
	return w.Flush()
}
