package snowkey_test

import (
	"context"
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/migratetest"
)

// block is a code block of a page.
type block struct{ language, text string }

// blocksOf returns the code blocks of a page that are run, in their order.
func blocksOf(t *testing.T, page string) (found []block) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?ms)^```(go|console)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		found = append(found, block{m[1], m[2]})
	}
	return found
}

// blocks returns the README's code blocks of a language.
func blocks(t *testing.T, language string) []string {
	t.Helper()
	var found []string
	for _, b := range blocksOf(t, "README.md") {
		if b.language == language {
			found = append(found, b.text)
		}
	}
	if len(found) == 0 {
		t.Fatalf("the README has no block of %s", language)
	}
	return found
}

// command returns a command that is killed with its children when the test has run out of time.
func command(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	t.Cleanup(cancel)
	return exec.CommandContext(ctx, name, args...)
}

// TestReadmeProgram compiles and runs each Go program in a module of its own, as a newcomer would who pasted it there. It prints what it says, or two
// snowflake keys.
func TestReadmeProgram(t *testing.T) {
	t.Parallel()
	for _, program := range blocks(t, "go") {
		runProgram(t, program, "DATABASE="+t.TempDir()+"/readme.db")
	}
}

func runProgram(t *testing.T, program string, env ...string) {
	t.Helper()
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	sums, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	mod := "module pasted\n\ngo 1.25.0\n\nrequire github.com/snowkey-go/snowkey v0.0.0\n\nreplace github.com/snowkey-go/snowkey => " + root + "\n"
	for name, content := range map[string]string{"main.go": program, "go.mod": mod, "go.sum": string(sums)} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := command(t, "go", "run", "-mod=mod", ".")
	run.Dir = folder
	run.Env = append(append(os.Environ(), "GOWORK=off"), env...)
	out, err := run.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, errorOutput(err))
	}
	want := `\d{15,19} \d{15,19}`
	if said := regexp.MustCompile(`// prints (.*)`).FindStringSubmatch(program); said != nil {
		want = said[1]
	}
	if !regexp.MustCompile("^" + want + "\n$").Match(out) {
		t.Errorf("got %q, want %q", out, want)
	}
}

func errorOutput(err error) []byte {
	if exit, ok := err.(*exec.ExitError); ok {
		return exit.Stderr
	}
	return nil
}

// goRun is how the README runs the command line.
const goRun = "go run ./cmd/snowkey"

// firstCommand is what a newcomer runs first. It measures for a fixed time, and so it is run beside the others.
const firstCommand = goRun + " compare"

// console is a command of the README, and what stands below it.
type console struct{ line, want string }

// commands returns every command of the README but "make test", which runs this.
func commands(t *testing.T) (all []console) {
	t.Helper()
	for _, block := range blocks(t, "console") {
		for _, c := range consoles(block) {
			if c.line != "make test" {
				all = append(all, c)
			}
		}
	}
	return all
}

// consoles returns the commands of a block.
func consoles(block string) (all []console) {
	for _, entry := range strings.Split("\n"+block, "\n$ ")[1:] {
		line, want, _ := strings.Cut(entry, "\n")
		all = append(all, console{line, strings.TrimSuffix(want, "\n")})
	}
	return all
}

// run runs the command in a folder, as it stands, or as it was changed, and compares what it prints with what stands below it, where something does.
func (c console) run(t *testing.T, folder, line string, env ...string) {
	t.Helper()
	run := command(t, "bash", "-c", "set -o pipefail; "+line)
	run.Dir = folder
	run.Env = append(append(os.Environ(), "SNOWKEY_DB="), env...) // the commands have databases of the test's
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

func TestReadmeFirstCommand(t *testing.T) {
	t.Parallel()
	for _, c := range commands(t) {
		if c.line == firstCommand {
			c.run(t, ".", c.line, "TMPDIR="+t.TempDir())
			return
		}
	}
	t.Errorf("the README has no command %q", firstCommand)
}

// TestReadmeCommands runs all others, with a program that is built once: go run would look through all its packages some forty times, and
// TestReadmeFirstCommand shows that it runs.
func TestReadmeCommands(t *testing.T) {
	t.Parallel()
	mysql, database := dbtest.MySQL(t).DSN, dbtest.Postgres(t)
	postgres := database.DSN
	keeper, err := grant.Open(t.Context(), grant.SQL(database.Open(t), grant.Postgres), grant.Config{}) // what the commands list
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = keeper.Close() }()
	folder := t.TempDir()
	program := build(t)
	makeShop(t, folder+"/shop.db") // what the commands migrate
	for _, c := range commands(t) {
		if c.line == firstCommand {
			continue
		}
		t.Run(c.line, func(t *testing.T) {
			// What the commands write goes to the test's folder.
			line := strings.NewReplacer(goRun, program, "sqlite:bench.db", "sqlite:"+folder+"/bench.db", "--out results", "--out "+folder+"/results", "--from results/", "--from "+folder+"/results/",
				"sqlite:shop.db", "sqlite:"+folder+"/shop.db", "rekey.sql", folder+"/rekey.sql").Replace(c.line)
			c.run(t, ".", line, "MYSQL_DSN="+mysql, "POSTGRES_DSN="+postgres, "TMPDIR="+folder)
		})
	}
}

// build builds the command line, and returns where it is.
func build(t *testing.T) string {
	t.Helper()
	program := t.TempDir() + "/snowkey"
	if out, err := command(t, "go", "build", "-o", program, "./cmd/snowkey").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// TestDocs runs the commands and programs of each page of docs from its beginning to its end, as its reader does, in a folder with the shop.
func TestDocs(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("there are no pages in docs: %v", err)
	}
	program := build(t)
	for _, page := range pages {
		t.Run(filepath.Base(page), func(t *testing.T) {
			folder := t.TempDir()
			makeShop(t, folder+"/shop.db")
			postgres := dbtest.Postgres(t).DSN
			env := []string{"POSTGRES_DSN=" + postgres, "DATABASE=" + postgres, "GRANTS=" + dbtest.Postgres(t).DSN, "MYSQL_DSN=" + dbtest.MySQL(t).DSN}
			for _, b := range blocksOf(t, page) {
				if b.language == "go" {
					runProgram(t, b.text, env...)
					continue
				}
				for _, c := range consoles(b.text) {
					// Nothing else writes to the shop, so that a second is enough to see that.
					line := strings.NewReplacer(goRun, program, "migrate plan", "migrate plan --window 1s").Replace(c.line)
					c.run(t, folder, line, env...)
				}
			}
		})
	}
}

// makeShop makes a database of SQLite as auto-increment has left it.
func makeShop(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for _, statement := range migratetest.Schema("sqlite") {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := migratetest.Fill(t.Context(), db, "sqlite", 50, 1); err != nil {
		t.Fatal(err)
	}
}
