//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/testprocess"
)

// service is snowkey serve in a process of its own, at sockets in a folder.
type service struct {
	*process
	folder string
	client *http.Client
}

// serveAt starts a service, and returns when it is ready.
func serveAt(t testing.TB, folder string, args ...string) service {
	t.Helper()
	p := begin(t, t.TempDir(), append([]string{"serve", "--http", "unix:" + folder + "/http", "--redis", "unix:" + folder + "/redis"}, args...)...)
	s := service{process: p, folder: folder, client: &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", folder+"/http")
	}}}}
	t.Cleanup(s.client.CloseIdleConnections)
	p.until(t, "ready", func() bool {
		text, err := s.get("/ready")
		return err == nil && text == "ready\n"
	})
	return s
}

// get returns an answer of the status 200.
func (s service) get(path string) (string, error) {
	answer, err := s.client.Get("http://service" + path)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusOK {
		return "", errors.New(answer.Status)
	}
	return string(body), err
}

// madeFile is a file of SQLite that is there.
func madeFile(t *testing.T) dbtest.Database {
	t.Helper()
	database := dbtest.SQLite(t)
	database.DSN += "?_journal_mode=WAL&_synchronous=FULL"
	if err := database.Open(t).PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return database
}

// socketFolder returns a folder whose name is short enough for sockets.
func socketFolder(t testing.TB) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "snowkey-serve-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	return folder
}

// A signal ends the service with status 0, and its number is given back. systemd hears when it is ready, and when it stops. What decode --json prints is what
// the service answers, in both protocols.
func TestServeGivesNumberBack(t *testing.T) {
	database, folder := madeFile(t), socketFolder(t)
	heard, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: folder + "/notify", Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer heard.Close()
	hear := func(want string) {
		t.Helper()
		state := make([]byte, 100)
		_ = heard.SetReadDeadline(time.Now().Add(20 * time.Second))
		if n, err := heard.Read(state); string(state[:n]) != want || err != nil {
			t.Errorf("systemd heard %q, %v, want %q", state[:n], err, want)
		}
	}
	t.Setenv("NOTIFY_SOCKET", folder+"/notify")
	keys := filepath.Join(folder, "keys")
	if err := os.WriteFile(keys, []byte("1:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveAt(t, folder, "--db", database.DSN, "--public-id-keys", keys, "--drain", "1s")
	hear("READY=1")
	command := func(args ...string) string {
		t.Helper()
		var stdout, stderr bytes.Buffer
		if status := run(t.Context(), args, nil, &stdout, &stderr); status != 0 {
			t.Fatalf("%q: got status %d: %s", args, status, &stderr)
		}
		return stdout.String()
	}
	if held := command("nodes", "--db", database.DSN); !strings.HasPrefix(held, "space default, 1 of 1024 held") {
		t.Errorf("got %s", held)
	}
	cli := testprocess.Path(t, "redis-cli", "redis")
	for _, query := range []string{"/id", "/id?prefix=ord"} {
		text, err := s.get(query)
		if err != nil {
			t.Fatal(err)
		}
		id := strings.TrimSuffix(text, "\n")
		want := command("decode", "--json", "--public-id-keys", keys, id)
		if got, err := s.get("/id/" + id); got != want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
		if got, err := exec.CommandContext(t.Context(), cli, "-s", folder+"/redis", "DECODE", id).Output(); string(got) != want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	if got, err := exec.CommandContext(t.Context(), cli, "-s", folder+"/redis", "NEXT", "3").Output(); len(strings.Fields(string(got))) != 3 || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := s.get("/id?n=10001"); err == nil || !strings.HasPrefix(err.Error(), "400 ") {
		t.Errorf("beyond --max-batch: got %v", err)
	}
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	hear("STOPPING=1")
	if text, err := s.get("/id"); err != nil || text == "" {
		t.Errorf("during the drain: got %q, %v", text, err)
	}
	s.until(t, "not ready during the drain", func() bool { // systemd hears of it before
		_, err := s.get("/ready")
		return err != nil && strings.HasPrefix(err.Error(), "503 ")
	})
	<-s.ended
	if status, stderr := s.ProcessState.ExitCode(), s.stderr.String(); status != 0 || s.stdout.Len() > 0 || !strings.HasSuffix(stderr, "\nReady.\nStopped.\n") {
		t.Errorf("got status %d, %q and %q", status, &s.stdout, stderr)
	}
	if held := command("nodes", "--db", database.DSN); !strings.HasPrefix(held, "space default, 0 of 1024 held") || !strings.Contains(held, " 1 given back, 0 ended") {
		t.Errorf("got %s", held)
	}
}

// The number is given back to a store too, whose client lives on after the signal.
func TestServeStore(t *testing.T) {
	for name, start := range map[string]func(*testing.T) string{"redis": startRedis, "etcd": startEtcd} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := filepath.Join(t.TempDir(), "store")
			if err := os.WriteFile(store, []byte(start(t)), 0o600); err != nil {
				t.Fatal(err)
			}
			s := serveAt(t, socketFolder(t), "--store-file", store)
			if err := s.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			<-s.ended
			if status, stderr := s.ProcessState.ExitCode(), s.stderr.String(); status != 0 || strings.Contains(stderr, "cret") {
				t.Errorf("got status %d and %q", status, stderr)
			}
			var stdout, stderr bytes.Buffer
			if status := run(t.Context(), []string{"nodes", "--store-file", store}, nil, &stdout, &stderr); status != 0 || !strings.Contains(stdout.String(), " 1 given back, 0 ended") {
				t.Errorf("got status %d, %s%s", status, &stdout, &stderr)
			}
		})
	}
}

// Where the store does not answer, the service ends all the same, with status 1 and the time from which the number is free.
func TestServeStoreGone(t *testing.T) {
	t.Parallel() // it waits for the store
	redis, store := launchRedis(t)
	file := filepath.Join(t.TempDir(), "store")
	if err := os.WriteFile(file, []byte(store), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveAt(t, socketFolder(t), "--store-file", file)
	redis.Kill()
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-s.ended
	if status, stderr := s.ProcessState.ExitCode(), s.stderr.String(); status != 1 || !strings.Contains(stderr, "giving number 0 back, which is free from ") || strings.Contains(stderr, "cret") {
		t.Errorf("got status %d and %q", status, stderr)
	}
}

// Two services of one database are killed amid requests, one by one, and started again at once: no key is sent twice.
func TestServeKilled(t *testing.T) {
	database := madeFile(t)
	var mu sync.Mutex
	seen, twice := map[string]bool{}, 0
	folders := []string{socketFolder(t), socketFolder(t)}
	services := make([]service, len(folders))
	for i, folder := range folders {
		services[i] = serveAt(t, folder, "--db", database.DSN)
	}
	var clients sync.WaitGroup
	ask := func(s service) {
		for range 3 {
			clients.Go(func() {
				for {
					text, err := s.get("/id?n=100")
					if err != nil {
						return // killed, or at the end
					}
					mu.Lock()
					for _, key := range strings.Fields(text) {
						if seen[key] {
							twice++
						}
						seen[key] = true
					}
					mu.Unlock()
				}
			})
		}
	}
	made := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(seen)
	}
	for _, s := range services {
		ask(s)
	}
	for kill := range 4 {
		before := made()
		services[0].until(t, "keys", func() bool { return made() > before+2000 })
		i := kill % len(services)
		if err := services[i].Process.Kill(); err != nil {
			t.Fatal(err)
		}
		err := <-services[i].ended
		services[i].ended <- err // for until
		services[i] = serveAt(t, folders[i], "--db", database.DSN)
		ask(services[i])
	}
	for _, s := range services {
		_ = s.Process.Kill()
	}
	clients.Wait()
	if twice > 0 || len(seen) < 8000 {
		t.Errorf("%d of %d keys were sent twice", twice, len(seen))
	}
}

// The unit of systemd and the container's file call the command as it is.
func TestServeUnit(t *testing.T) {
	folder := filepath.Join("..", "..", "examples", "service")
	unit, err := os.ReadFile(filepath.Join(folder, "snowkey.service"))
	if err != nil {
		t.Fatal(err)
	}
	image, err := os.ReadFile(filepath.Join(folder, "Containerfile"))
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string][]string{}
	var entry, rest []string
	for line := range strings.Lines(string(unit) + string(image)) {
		line = strings.TrimSpace(line)
		if words, ok := strings.CutPrefix(line, "ExecStart=/usr/local/bin/snowkey "); ok {
			calls["unit"] = strings.Fields(words)
		}
		for instruction, into := range map[string]*[]string{"ENTRYPOINT ": &entry, "CMD ": &rest} {
			if words, ok := strings.CutPrefix(line, instruction); ok {
				if err := json.Unmarshal([]byte(words), into); err != nil {
					t.Errorf("%s: %v", line, err)
				}
			}
		}
	}
	if calls["image"] = slices.Concat(entry[1:], rest); entry[0] != "/snowkey" || !strings.Contains(string(image), "\nCOPY --from=build /snowkey /snowkey\n") {
		t.Errorf("the image has no %s", entry[0])
	}
	for name, args := range calls {
		root, _ := newRoot(nil, io.Discard, io.Discard)
		c, flags, err := root.Find(args)
		if err != nil || c.Name() != "serve" {
			t.Fatalf("%s: got %v, %v of %q", name, c, err, args)
		}
		if err := c.ParseFlags(flags); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if c.Flags().NArg() > 0 {
			t.Errorf("%s: %q is left", name, c.Flags().Args())
		}
	}
	if len(calls) != 2 {
		t.Fatalf("got %v", calls)
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("no systemd-analyze found: the unit's settings are not looked at")
	}
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "snowkey.service")
	if err := os.WriteFile(copied, bytes.Replace(unit, []byte("/usr/local/bin/snowkey"), []byte(executable), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", copied).CombinedOutput(); err != nil || strings.Contains(string(out), "snowkey.service") {
		t.Errorf("got %v: %s", err, out)
	}
}
