package snowkey_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// block is a code block of a page.
type block struct{ language, text string }

// run reports whether the tests run a block: a program, commands, or a script.
func (b block) run() bool { return b.language == "go" || b.language == "console" || b.isScript() }

// interpreters run the scripts of clients in other languages.
var interpreters = map[string]string{"python": "python3", "js": "node"}

func (b block) isScript() bool { return interpreters[b.language] != "" }

// pages returns the documents: all of docs, that of the examples, and those at the root but the changelog.
func pages(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("docs/*.md")
	if err != nil || len(found) == 0 {
		t.Fatalf("there are no pages in docs: %v", err)
	}
	return append(found, "README.md", "CONTRIBUTING.md", "SECURITY.md", "examples/README.md")
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var fence = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")

// blocksOf returns the code blocks of a page, in their order.
func blocksOf(t *testing.T, page string) (found []block) {
	t.Helper()
	for _, m := range fence.FindAllStringSubmatch(read(t, page), -1) {
		found = append(found, block{m[1], m[2]})
	}
	return found
}

// goRun is how the documents run the command line.
const goRun = "go run ./cmd/snowkey"

// alone are commands that TestPages leaves out: the tests themselves, and what TestFirstCommand runs.
var alone = []string{"make test", goRun + " compare"}

// TestPages runs the programs and commands of each page from its beginning to its end, as its reader does.
func TestPages(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: programs and commands are checked, and not run")
	}
	t.Parallel()
	build := newBuild(t)
	for _, page := range pages(t) {
		if blocks := blocksOf(t, page); slices.ContainsFunc(blocks, block.run) {
			t.Run(page, func(t *testing.T) {
				t.Parallel()
				r := newReader(t, build, blocks)
				programs := 0
				for _, b := range blocks {
					switch b.language {
					case "go":
						programs++
						r.runProgram(b.text, programName(page, programs))
					case "python", "js":
						r.runScript(b)
					case "console":
						for _, c := range consoles(b.text) {
							if !slices.Contains(alone, c.line) {
								r.runCommand(c)
							}
						}
					}
				}
			})
		}
	}
}

// TestFirstCommand runs what a newcomer runs first. It measures for a minute, so that the test has it measure for less; SNOWKEY_TORTURE has the whole.
func TestFirstCommand(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: commands are not run")
	}
	t.Parallel()
	first := console{line: alone[1]}
	for _, b := range blocksOf(t, "README.md") {
		if b.language == "console" && slices.Contains(consoles(b.text), first) {
			line := first.line
			if os.Getenv("SNOWKEY_TORTURE") == "" {
				line += " --budget 10s"
			}
			first.run(t, ".", line, "TMPDIR="+t.TempDir())
			return
		}
	}
	t.Errorf("the README has no command %q", first.line)
}

// TestPrograms holds each block of Go to be a whole program or test, and not a piece that nobody could run.
func TestPrograms(t *testing.T) {
	for _, page := range pages(t) {
		for _, b := range blocksOf(t, page) {
			if b.language != "go" {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), page, b.text, 0)
			if err != nil {
				t.Error(err)
				continue
			}
			if name := file.Name.Name; name != "main" && !strings.HasSuffix(name, "_test") {
				t.Errorf("%s has a program of the package %s, want main or a test", page, name)
			}
		}
	}
}

// testCommand finds calls of go test, which pages show beside their figures.
var testCommand = regexp.MustCompile("go test [^`\\n]*")

// TestNamedTests checks calls of go test that pages show and no test runs: their folders have tests or benchmarks that the patterns name.
func TestNamedTests(t *testing.T) {
	for _, page := range pages(t) {
		for _, line := range testCommand.FindAllString(read(t, page), -1) {
			fields := strings.Fields(strings.ReplaceAll(line, "'", ""))
			var names []string
			for _, field := range fields {
				if (strings.HasPrefix(field, "./") || field == ".") && !strings.HasSuffix(field, "...") {
					names = append(names, functions(t, page, field)...)
				}
			}
			for i, field := range fields[:len(fields)-1] {
				if pattern, _, _ := strings.Cut(fields[i+1], "/"); (field == "-run" || field == "-bench") && pattern != "^$" && names != nil {
					compiled, err := regexp.Compile(pattern)
					if err != nil {
						t.Errorf("%s: %s: %v", page, line, err)
					} else if !slices.ContainsFunc(names, compiled.MatchString) {
						t.Errorf("%s: %s names no test", page, line)
					}
				}
			}
		}
	}
}

// functions returns the names of the tests and benchmarks of a folder.
func functions(t *testing.T, page, folder string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(files) == 0 {
		t.Errorf("%s names the folder %s, which has no Go files", page, folder)
	}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names
}
