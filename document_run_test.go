package snowkey_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// command returns a command that is killed when the test has run out of time.
func command(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	t.Cleanup(cancel)
	return exec.CommandContext(ctx, name, args...)
}

// build has the programs of all pages, built in a module of its own, as a newcomer would who pasted them there, and the command line: go run would
// look through all its packages at each command, and TestFirstCommand shows that it runs.
type build struct{ folder, snowkey string }

// programName is the name of a page's program, counted from 1.
func programName(page string, n int) string {
	return fmt.Sprintf("%s_%d", strings.TrimSuffix(strings.ReplaceAll(page, "/", "_"), ".md"), n)
}

func newBuild(t *testing.T) build {
	t.Helper()
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	write := func(name, content string) {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var mod, sum strings.Builder
	mod.WriteString("module pasted\n\ngo 1.25.0\n")
	// With compare come the versions of the drivers that the other tests are built with, so that SQLite is compiled once.
	for _, folder := range []string{"", "/monitor/promcollector", "/compare"} {
		fmt.Fprintf(&mod, "\nrequire %[1]s%[2]s v0.0.0\nreplace %[1]s%[2]s => %[3]s%[2]s\n", module, folder, root)
		sum.WriteString(read(t, root+folder+"/go.sum"))
	}
	write("go.mod", mod.String())
	write("go.sum", sum.String())
	var tests []string
	for _, page := range pages(t) {
		programs := 0
		for _, b := range blocksOf(t, page) {
			if b.language != "go" {
				continue
			}
			programs++
			if name := programName(page, programs); isTest(b.text) {
				write(name+"/page_test.go", b.text)
				tests = append(tests, name)
			} else {
				write(name+"/main.go", b.text)
			}
		}
	}
	run := func(folder string, env []string, args ...string) {
		t.Helper()
		build := command(t, "go", args...)
		build.Dir, build.Env = folder, append(os.Environ(), env...)
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v: %s", strings.Join(args, " "), err, out)
		}
	}
	bin := filepath.Join(folder, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	run(folder, []string{"GOWORK=off"}, "build", "-mod=mod", "-o", bin, "./...")
	for _, name := range tests {
		run(folder, []string{"GOWORK=off"}, "test", "-mod=mod", "-c", "-o", filepath.Join(bin, name), "./"+name)
	}
	run(root, nil, "build", "-o", filepath.Join(bin, "snowkey"), "./cmd/snowkey")
	return build{bin, filepath.Join(bin, "snowkey")}
}

// isTest reports whether a program is a test.
func isTest(program string) bool {
	return regexp.MustCompile(`(?m)^package \w+_test$`).MatchString(program)
}

// reader goes through a page, in a folder with what a checkout has.
type reader struct {
	t      *testing.T
	build  build
	folder string
	env    []string
}

// newReader starts the servers that the blocks ask for.
func newReader(t *testing.T, b build, blocks []block) reader {
	t.Helper()
	r := reader{t: t, build: b, folder: t.TempDir()}
	names, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !name.IsDir() || strings.HasPrefix(name.Name(), ".") {
			continue
		}
		target, err := filepath.Abs(name.Name())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(r.folder, name.Name())); err != nil {
			t.Fatal(err)
		}
	}
	var all strings.Builder
	for _, b := range blocks {
		if b.run() {
			all.WriteString(b.text)
		}
	}
	has := func(text string) bool { return strings.Contains(all.String(), text) }
	database := r.folder + "/app.db"
	if has("POSTGRES_DSN") || has("gorm.io/driver/postgres") {
		database = dbtest.Postgres(t).DSN
		r.env = append(r.env, "POSTGRES_DSN="+database)
	}
	if has("MYSQL_DSN") {
		r.env = append(r.env, "MYSQL_DSN="+dbtest.MySQL(t).DSN)
	}
	if has("$SERVICE") {
		r.env = append(r.env, startService(t, b.snowkey)...)
	}
	// SNOWKEY_DB is the reader's, and not that of who runs the tests.
	r.env = append(r.env, "DATABASE="+database, "SNOWKEY_DB=", "TMPDIR="+r.folder)
	return r
}

// slowSQL is what GORM prints of a statement that took long, on a machine that is busy.
var slowSQL = regexp.MustCompile(`\r\n[^\n]*SLOW SQL[^\n]*\n[^\n]*\n`)

// runProgram runs a program, which prints what its comment says or else two snowflake keys.
func (r reader) runProgram(program, name string) {
	r.t.Helper()
	run := command(r.t, filepath.Join(r.build.folder, name))
	run.Dir = r.folder
	run.Env = append(os.Environ(), r.env...)
	out, err := run.Output()
	if err != nil {
		r.t.Errorf("%s: %v: %s%s", name, err, out, errorOutput(err))
		return
	}
	out = slowSQL.ReplaceAll(out, nil)
	want := `\d{15,19} \d{15,19}`
	if said := regexp.MustCompile(`// prints (.*)`).FindStringSubmatch(program); said != nil {
		want = said[1]
	}
	if isTest(program) {
		want = "PASS"
	}
	if !regexp.MustCompile("^" + want + "\n$").Match(out) {
		r.t.Errorf("%s: got %q, want %q", name, out, want)
	}
}

// startService starts snowkey serve with a number set by hand, and returns the variables by which pages name it. It ends with the test.
func startService(t *testing.T, snowkey string) []string {
	t.Helper()
	service := command(t, snowkey, "serve", "--node", "7", "--http", "127.0.0.1:0", "--redis", "127.0.0.1:0")
	service.Env = append(os.Environ(), "SNOWKEY_DB=", "SNOWKEY_STORE=", "SNOWKEY_TOKEN=")
	said, err := service.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = service.Process.Kill() // it may have ended
		_ = service.Wait()
	})
	var all strings.Builder
	var env []string
	for lines := bufio.NewScanner(said); lines.Scan(); {
		all.WriteString(lines.Text() + "\n")
		if at := regexp.MustCompile(`^Listening for (http|redis) at (.*):(\d+)\.$`).FindStringSubmatch(lines.Text()); at != nil && at[1] == "http" {
			env = append(env, "SERVICE=http://"+at[2]+":"+at[3])
		} else if at != nil {
			env = append(env, "SERVICE_PORT="+at[3])
		}
		if lines.Text() == "Ready." && len(env) == 2 {
			return append(env, "SNOWKEY_TOKEN=")
		}
	}
	t.Fatalf("the service is not ready: %s", &all)
	return nil
}

// runScript runs a script, which prints what its comment says, where its interpreter is there.
func (r reader) runScript(b block) {
	r.t.Run(b.language, func(t *testing.T) {
		path, err := exec.LookPath(interpreters[b.language])
		if err != nil {
			t.Skipf("no %s found: the script is not run", interpreters[b.language])
		}
		said := regexp.MustCompile(`(?:#|//) prints (.*)`).FindStringSubmatch(b.text)
		if said == nil {
			t.Fatal("the script does not say what it prints")
		}
		run := command(t, path, "-")
		run.Dir, run.Env, run.Stdin = r.folder, append(os.Environ(), r.env...), strings.NewReader(b.text)
		if out, err := run.Output(); err != nil || string(out) != said[1]+"\n" {
			t.Errorf("got %q, %v, want %q: %s", out, err, said[1], errorOutput(err))
		}
	})
}

func errorOutput(err error) []byte {
	if exit, ok := err.(*exec.ExitError); ok {
		return exit.Stderr
	}
	return nil
}

// console is a command of a page, and what stands below it.
type console struct{ line, want string }

// consoles returns the commands of a block.
func consoles(block string) (all []console) {
	for _, entry := range strings.Split("\n"+block, "\n$ ")[1:] {
		line, want, _ := strings.Cut(entry, "\n")
		all = append(all, console{line, strings.TrimSuffix(want, "\n")})
	}
	return all
}

// runCommand runs a command in the reader's folder; one of go or make, in the checkout.
func (r reader) runCommand(c console) {
	r.t.Run(c.line, func(t *testing.T) {
		if strings.HasPrefix(c.line, "go test ") || strings.HasPrefix(c.line, "make ") {
			c.run(t, ".", c.line, r.env...)
			return
		}
		// Nothing else writes to the shop, so that a second is enough to see that.
		line := strings.NewReplacer(goRun, r.build.snowkey, "migrate plan", "migrate plan --window 1s").Replace(c.line)
		c.run(t, r.folder, line, r.env...)
	})
}

// run runs the command in a folder, as it stands, or as it was changed, and compares what it prints with what stands below it, where something does.
func (c console) run(t *testing.T, folder, line string, env ...string) {
	t.Helper()
	run := command(t, "bash", "-c", "set -o pipefail; "+line)
	run.Dir = folder
	run.Env = append(append(os.Environ(), "SNOWKEY_DB="), env...)
	out, err := run.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, errorOutput(err))
	}
	if len(out) == 0 {
		t.Error("it prints nothing")
	}
	if c.want != "" && strings.TrimSuffix(string(out), "\n") != c.want {
		t.Errorf("got\n%s\nwant\n%s", out, c.want)
	}
}
