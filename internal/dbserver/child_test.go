package dbserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbserver"
)

// childVariable says what TestChild does. It does nothing without it. Its servers are
// copies of templates in the folder of templatesVariable, when that is there.
const (
	childVariable     = "SNOWKEY_DBSERVER_CHILD"
	templatesVariable = "SNOWKEY_DBSERVER_TEMPLATES"
)

// child is a command that runs TestChild of this test binary in a process of its own.
func child(t *testing.T, what string, env ...string) *exec.Cmd {
	t.Helper()
	if testing.Short() {
		t.Skip("-short starts no servers")
	}
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(executable, "-test.run=^TestChild$", "-test.v", "-test.timeout=3m")
	// The race detector would end it a second late.
	cmd.Env = append(os.Environ(), childVariable+"="+what, "GORACE=atexit_sleep_ms=0")
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// childServer is what a child says about a server of its own, in one line of JSON.
type childServer struct {
	Kind, Dir string
	PID       int
}

// startHere starts a server that no cleanup of a test ends.
func startHere(t *testing.T, kind string) *dbserver.Server {
	t.Helper()
	if testing.Short() {
		t.Skip("-short starts no servers")
	}
	begin := dbserver.Start
	if templates := os.Getenv(templatesVariable); templates != "" {
		begin = func(ctx context.Context, kind string, settings ...string) (*dbserver.Server, error) {
			return dbserver.StartCopy(ctx, templates, kind, settings...)
		}
	}
	server, err := begin(t.Context(), kind)
	if unavailable := new(dbserver.UnavailableError); errors.As(err, &unavailable) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	return server
}

// TestChild is not a test, but what the tests run in processes of its own.
func TestChild(t *testing.T) {
	what := os.Getenv(childVariable)
	switch what {
	case "":
		t.Skip("not a test: others run it in a process of its own")
	case "start mysql", "start postgres":
		startHere(t, strings.TrimPrefix(what, "start "))
		select {}
	}
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, syscall.SIGINT)
	servers := map[string]*dbserver.Server{"mysql": startHere(t, "mysql"), "postgres": startHere(t, "postgres")}
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
	if what == "interrupt" {
		<-interrupts
		for kind, server := range servers {
			if _, err := server.Database(t.Context(), "made_after_the_interrupt"); err != nil {
				t.Errorf("the %s server after the interrupt: %v", kind, err)
			}
		}
		return
	}
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
