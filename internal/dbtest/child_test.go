package dbtest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// childVariable says what TestChild does. It does nothing without it.
const childVariable = "SNOWKEY_DBTEST_CHILD"

// child is a command that runs TestChild of this test binary in a process of its own.
func child(t *testing.T, what string, env ...string) *exec.Cmd {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(executable, "-test.run=^TestChild$", "-test.v", "-test.timeout=3m")
	cmd.Env = append(os.Environ(), childVariable+"="+what)
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// childServer is what a child says about a server of its own, in one line of JSON.
type childServer struct {
	Kind, Dir string
	PID       int
}

// TestChild is not a test, but what the tests run in processes of its own.
func TestChild(t *testing.T) {
	what := os.Getenv(childVariable)
	switch what {
	case "":
		t.Skip("not a test: others run it in a process of its own")
	case "start mysql":
		dbtest.MySQL(t)
		select {}
	case "start postgres":
		dbtest.Postgres(t)
		select {}
	case "mysql":
		dbtest.ForgetProgramFolders()
		dbtest.MySQL(t)
		return
	case "postgres":
		dbtest.ForgetProgramFolders()
		dbtest.Postgres(t)
		return
	}
	// Only a test's own server may be paused. The others are the shared ones: no cleanup
	// of a test ends them.
	mysql, postgres := dbtest.MySQLServer, dbtest.PostgresServer
	if what == "paused" || what == "busy" {
		mysql = func(t testing.TB) *dbtest.Server { return dbtest.StartMySQL(t) }
		postgres = func(t testing.TB) *dbtest.Server { return dbtest.StartPostgres(t) }
	}
	servers := map[string]*dbtest.Server{"mysql": mysql(t), "postgres": postgres(t)}
	var lines []string
	for kind, server := range servers {
		if what == "paused" {
			if err := server.Pause(); err != nil {
				t.Fatal(err)
			}
		}
		line, err := json.Marshal(childServer{kind, server.Dir(), server.PID(t)})
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
	}
	fmt.Printf("\n%s\nready\n", strings.Join(lines, "\n"))
	// The parent's line says that it has seen enough.
	if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	switch what {
	case "exit":
		os.Exit(7)
	case "panic":
		go panic("of a goroutine that no test waits for")
		select {}
	case "busy":
		for {
			for _, server := range servers {
				_ = server.Pause() // until it is killed, perhaps in the middle
				_ = server.Resume()
			}
		}
	case "end":
	default:
		select {} // until it is killed
	}
}
