//go:build linux

package testprocess

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Path returns the path of a program. It skips the test where the program is missing, and with -short. Where SNOWKEY_TEST_REQUIRE has the word, a missing program fails the test.
func Path(t testing.TB, program, word string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short starts no servers")
	}
	path, err := exec.LookPath(program)
	if err == nil {
		return path
	}
	giveUp(t, word, "no "+program+" found: `internal/dbtest/install.sh` installs it")
	return ""
}

// giveUp ends a test that misses something: with a failure where SNOWKEY_TEST_REQUIRE has the word, else with a skip.
func giveUp(t testing.TB, word, missing string) {
	t.Helper()
	required := strings.Split(strings.ReplaceAll(os.Getenv("SNOWKEY_TEST_REQUIRE"), " ", ""), ",")
	if slices.Contains(required, word) {
		t.Fatalf("SNOWKEY_TEST_REQUIRE requires %s, but %s", word, missing)
	}
	t.Skip(missing)
}

// Process is a program that a test has started.
type Process struct {
	t       testing.TB
	process *os.Process
	ended   chan struct{} // closed when it has ended
}

// Start starts a command. The kernel kills it with the test process.
func Start(t testing.TB, command *exec.Cmd) *Process {
	t.Helper()
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started, ended := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread() // the kernel ends the program with the thread that started it
		defer runtime.UnlockOSThread()
		err := command.Start()
		started <- err
		if err == nil {
			_ = command.Wait() // killed
		}
		close(ended)
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	p := &Process{t: t, process: command.Process, ended: ended}
	t.Cleanup(p.Kill)
	return p
}

// Kill kills the program, and returns when it has ended. It may be called again.
func (p *Process) Kill() {
	_ = p.process.Kill() // fails when it has ended
	<-p.ended
}

// Signal sends a signal. After SIGSTOP it returns when all threads of the program stand still.
func (p *Process) Signal(signal syscall.Signal) {
	p.t.Helper()
	if err := p.process.Signal(signal); err != nil {
		p.t.Fatal(err)
	}
	if signal == syscall.SIGSTOP {
		p.Until("the program stands still", p.standsStill)
	}
}

// standsStill reports whether each thread is stopped: the state after the name in parentheses is T.
func (p *Process) standsStill() bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.process.Pid))
	if err != nil || len(threads) == 0 {
		return false
	}
	return !slices.ContainsFunc(threads, func(thread string) bool {
		stat, err := os.ReadFile(thread)
		return err == nil && !bytes.HasPrefix(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" T"))
	})
}

// Until waits for something to come about, up to twenty seconds, and fails the test where the program ends before.
func (p *Process) Until(what string, done func() bool) {
	p.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		if done() {
			return
		}
		select {
		case <-p.ended:
			p.t.Fatalf("the program has ended before %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
	p.t.Fatalf("twenty seconds, and not yet: %s", what)
}

// FreePort returns a port of the loopback interface on which nobody listens.
func FreePort(t testing.TB) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}
