package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

func TestMain(m *testing.M) { testscript.Main(tests{m}, map[string]func(){"snowkey": main}) }

// tests are all tests, which have databases of their own.
type tests struct{ *testing.M }

// Run is not called in the processes that are the command.
func (t tests) Run() int {
	_ = os.Unsetenv(databaseVariable) // fails for no such name
	return t.M.Run()
}

// TestScript runs the command as its users do. The scripts say of themselves what they guard.
func TestScript(t *testing.T) { runScripts(t, "") }

// TestScriptMySQL does so on a database of a server with the table orders, which SNOWKEY_DB names.
func TestScriptMySQL(t *testing.T) {
	d := dbtest.MySQL(t)
	if _, err := d.Open(t).Exec("CREATE TABLE orders (id INT AUTO_INCREMENT PRIMARY KEY, created_at DATETIME NOT NULL)"); err != nil {
		t.Fatal(err)
	}
	runScripts(t, d.DSN, "mysql")
}

// runScripts runs those of a folder, with a database that they may use or an empty text.
func runScripts(t *testing.T, database string, folder ...string) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join(append([]string{"testdata", "script"}, folder...)...),
		Setup: func(env *testscript.Env) error {
			env.Setenv(databaseVariable, database)
			temporary := filepath.Join(env.WorkDir, "tmp")
			env.Setenv("TMPDIR", temporary)
			env.Values["t"] = env.T()                 // of the script, for its servers
			env.Setenv("GORACE", "atexit_sleep_ms=0") // else the race detector ends each command a second late
			return os.Mkdir(temporary, 0o755)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"increasing": increasing, "shop": shop, "query": query, "same": same, "status": status,
			"server": server, "paste": paste, "rows": rows, "lines": lines,
			"divided": divided, "undivided": undivided, "rowat": rowAt,
		},
	})
}

// increasing fails unless the last output is the given number of ids, each greater than the one before.
func increasing(ts *testscript.TestScript, _ bool, args []string) {
	lines := strings.Split(strings.TrimSuffix(ts.ReadFile("stdout"), "\n"), "\n")
	if len(args) != 1 || strconv.Itoa(len(lines)) != args[0] {
		ts.Fatalf("got %d lines, want %v", len(lines), args)
	}
	last := int64(-1)
	for _, line := range lines {
		id, err := strconv.ParseInt(line, 10, 64)
		if err != nil || id <= last {
			ts.Fatalf("got %q after %d: %v", line, last, err)
		}
		last = id
	}
}
