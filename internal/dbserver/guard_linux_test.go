package dbserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbserver"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestNothingOutlives ends processes in all ways, and wants each server, all that
// descends from it, and its folder to be gone with them.
func TestNothingOutlives(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	templates := t.TempDir()
	for _, test := range []struct {
		name, what string
		kill       bool
	}{
		{"it ends", "end", false},
		{"os.Exit", "exit", false},
		{"panic", "panic", false},
		{"interrupt of its process group", "interrupt", false},
		{"SIGKILL", "wait", true},
		{"SIGKILL while servers are paused", "paused", true},
		{"SIGKILL while its guards work", "busy", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.what != "interrupt" && test.what != "paused" {
				dbtest.Long(t)
			}
			t.Parallel()
			cmd := child(t, test.what, templatesVariable+"="+templates)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer cmd.Process.Kill() // should this test fail before it does

			servers, said := childServers(stdout)
			if strings.Contains(said, "--- SKIP") {
				t.Skip(said)
			}
			if len(servers) != 2 {
				t.Fatalf("got %d servers, want 2; the process said\n%s", len(servers), said)
			}
			alive := descendants(t, cmd.Process.Pid)
			for _, server := range servers {
				if _, ok := alive[server.PID]; !ok {
					t.Fatalf("the %s server, process %d, is not among the descendants %v", server.Kind, server.PID, alive)
				}
			}
			// Two guards, two servers, and what PostgreSQL starts.
			if len(alive) < 7 {
				t.Fatalf("got %d descendants, want 7 at least", len(alive))
			}

			if test.what == "busy" {
				if _, err := io.WriteString(stdin, "\n"); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Duration(len(test.name)) * time.Millisecond) // any moment will do
			}
			if test.kill {
				err = cmd.Process.Kill()
			} else if test.what == "interrupt" {
				err = syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) // as Ctrl-C does
			} else {
				_, err = io.WriteString(stdin, "\n")
			}
			if err != nil {
				t.Fatal(err)
			}
			// Its output ends with it, as nothing else holds that.
			rest, err := io.ReadAll(stdout)
			if err != nil {
				t.Error(err)
			}
			waitErr := cmd.Wait()
			if ended := test.what == "end" || test.what == "interrupt"; ended != (waitErr == nil) {
				t.Errorf("the process ended with %v, and said\n%s", waitErr, rest)
			}

			var dirs []string
			for _, server := range servers {
				dirs = append(dirs, server.Dir)
			}
			eventually(t, func() string { return anythingLeft(alive, dirs) })
			for pid := range alive {
				if segment := sharedMemoryOf(t, pid); segment != "" {
					t.Errorf("process %d has left shared memory: %s", pid, segment)
				}
			}
		})
	}
}

// TestNothingOutlivesStart kills processes while their server's data folder is
// being made.
func TestNothingOutlivesStart(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			cmd := child(t, "start "+kind.name)
			output, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			// The guard, the program that makes the folder, and one that this has started.
			var alive map[int]string
			eventually(t, func() string {
				if alive = descendants(t, cmd.Process.Pid); len(alive) < 3 {
					if _, ok := startTime(cmd.Process.Pid); ok {
						return fmt.Sprintf("%d descendants", len(alive))
					}
				}
				return ""
			})
			var dirs []string
			for pid := range alive {
				dir, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
				if err == nil && strings.HasPrefix(filepath.Base(filepath.Dir(dir)), "snowkey-") {
					dir = filepath.Dir(dir) // initdb's server works in the data folder
				}
				if err == nil && strings.HasPrefix(filepath.Base(dir), "snowkey-") {
					dirs = append(dirs, dir)
				}
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			said, err := io.ReadAll(output)
			if err != nil {
				t.Error(err)
			}
			_ = cmd.Wait() // killed
			if strings.Contains(string(said), "--- SKIP") {
				t.Skip(string(said))
			}
			if len(dirs) == 0 {
				t.Errorf("none of the processes %v worked in a server's folder", alive)
			}
			eventually(t, func() string { return anythingLeft(alive, dirs) })
		})
	}
}

// TestStoppedStart ends the context of a start while the data folder is being made.
func TestStoppedStart(t *testing.T) {
	if testing.Short() {
		t.Skip("-short starts no servers")
	}
	for kind, file := range map[string]string{"mysql": "ibdata1", "postgres": "PG_VERSION"} {
		t.Run(kind, func(t *testing.T) {
			temp, err := os.MkdirTemp("", "snowkey-test-") // short enough for a socket's path, unlike the test's own
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(temp)
			if err := os.Chmod(temp, 0o755); err != nil { // the server's user is another one
				t.Fatal(err)
			}
			t.Setenv("TMPDIR", temp)
			why := errors.New("the test has seen enough")
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			ended := make(chan error, 1)
			go func() {
				server, err := dbserver.Start(ctx, kind)
				if err == nil {
					err = errors.Join(errors.New("it was started"), server.Close())
				}
				ended <- err
			}()
			eventually(t, func() string {
				found, err := filepath.Glob(filepath.Join(temp, "snowkey-*", "data", file))
				if err != nil || len(found) == 0 && len(ended) == 0 {
					return fmt.Sprintf("no %s below %s (%v)", file, temp, err)
				}
				return ""
			})
			cancel(why)
			err = <-ended
			if unavailable := new(dbserver.UnavailableError); errors.As(err, &unavailable) {
				t.Skip(err)
			}
			if !errors.Is(err, why) {
				t.Errorf("got %v, want the context's cause", err)
			}
			if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
				t.Errorf("%v is left behind (%v)", left, err)
			}
		})
	}
}

// TestKilledGuard wants the server to go with its guard.
func TestKilledGuard(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			s := startHere(t, kind.name)
			server, dir := s.PID(t), s.Dir()
			alive := descendants(t, server)
			alive[server], _ = startTime(server)
			if err := s.KillGuard(); err != nil {
				t.Error(err)
			}
			eventually(t, func() string { return anythingLeft(alive, nil) })
			wantError(t, "Kill", s.Kill(), "no answer from the server's guard")
			wantError(t, "Close", s.Close(), "signal: killed")
			// Only here nobody else does.
			dbserver.RemoveSharedMemory(filepath.Join(dir, "data"))
			if err := os.RemoveAll(dir); err != nil {
				t.Error(err)
			}
		})
	}
}

// childServers reads what TestChild says, up to the line "ready".
func childServers(stdout io.Reader) (servers []childServer, said string) {
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		said += lines.Text() + "\n"
		var server childServer
		if json.Unmarshal(lines.Bytes(), &server) == nil {
			servers = append(servers, server)
		}
		if lines.Text() == "ready" {
			break
		}
	}
	return servers, said
}

// descendants returns the start times of all that descends from the process.
func descendants(t testing.TB, pid int) map[int]string {
	t.Helper()
	found := map[int]string{}
	for parents := []int{pid}; len(parents) > 0; {
		parents = dbserver.ChildrenOf(parents...)
		for _, pid := range parents {
			if started, ok := startTime(pid); ok {
				found[pid] = started
			}
		}
	}
	return found
}

// anythingLeft names one of the processes that is alive or one of the folders that is
// there, and returns "" if there is none.
func anythingLeft(processes map[int]string, dirs []string) string {
	for pid, started := range processes {
		if now, ok := startTime(pid); ok && now == started {
			command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			return fmt.Sprintf("process %d is alive: %s (%v)", pid, strings.ReplaceAll(string(command), "\x00", " "), err)
		}
	}
	for _, dir := range dirs {
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			return fmt.Sprintf("the folder %s is there (%v)", dir, err)
		}
	}
	return ""
}

// startTime returns when a process started, and whether it exists and has not ended.
// A process number and this make a process.
func startTime(pid int) (string, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", false
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	return fields[19], fields[0] != "Z" && fields[0] != "X"
}

// sharedMemoryOf returns the lines of the System V segments that a process made.
func sharedMemoryOf(t testing.TB, pid int) (found string) {
	t.Helper()
	text, err := os.ReadFile("/proc/sysvipc/shm")
	if os.IsNotExist(err) {
		return "" // a kernel without any
	} else if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		// key, shmid, perms, size, cpid, …
		if fields := strings.Fields(line); len(fields) > 4 && fields[4] == strconv.Itoa(pid) {
			found += line
		}
	}
	return found
}

// eventually waits until wrong returns "", and fails the test with what it returns
// when that takes too long.
func eventually(t testing.TB, wrong func() string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		problem := wrong()
		if problem == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("after 30s: %s", problem)
			return
		}
	}
}
